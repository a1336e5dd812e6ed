/* SPDX-License-Identifier: MIT */
/* A program outside the tree that uses libcenote-route, and libcenote beside it. */
#include <stdio.h>

#include <cenote/cenote.h>
#include <cenote/read.h>

int main(void)
{
    cen_read_begin();
    cen_read_begin();
    cen_read_end();
    cen_read_end();
    cen_error error;
    cen_runtime *runtime;
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.name = "outside");
    if (cen_runtime_new(&options, &runtime, &error) != CEN_OK) {
        printf("%s\n", error.text);
        return 1;
    }
    printf("read in a section, with version %u\n", cen_version());
    return cen_runtime_free(runtime) == CEN_OK ? 0 : 1;
}
