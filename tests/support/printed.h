/* SPDX-License-Identifier: MIT */
/* What a process prints to stderr between two calls. */
#ifndef TESTS_SUPPORT_PRINTED_H
#define TESTS_SUPPORT_PRINTED_H

#include <stdio.h>
#include <unistd.h>

#include "support/test.h"

typedef struct printed {
    FILE *file;
    int kept;
} printed;

static inline printed printed_begin(void)
{
    fflush(stderr);
    printed self = {.file = tmpfile(), .kept = dup(STDERR_FILENO)};
    expect(self.file && self.kept >= 0 && dup2(fileno(self.file), STDERR_FILENO) == STDERR_FILENO);
    return self;
}

/* From here on stderr is as before. */
static inline void printed_end(printed *self, char *text, size_t room)
{
    fflush(stderr);
    dup2(self->kept, STDERR_FILENO);
    ssize_t length = pread(fileno(self->file), text, room - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    close(self->kept);
    fclose(self->file);
}

#endif
