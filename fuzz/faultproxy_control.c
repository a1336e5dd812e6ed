/* SPDX-License-Identifier: MIT */
/*
 * Lines as somebody may say them to the fault proxy. What is refused is told why in one printable sentence; what is
 * understood has values within their limits, and is understood alike with other blanks and when said as a copy of just
 * its size, so that a byte too many is found by the sanitizer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faultproxy/command.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void complain(const char *text)
{
    fprintf(stderr, "%s\n", text);
    abort();
}

static void look_at_sentence(const char *why)
{
    size_t size = strnlen(why, FP_SENTENCE);
    if (size == FP_SENTENCE) complain("the sentence has no end");
    if (size < 2 || why[size - 1] != '.') complain("it is no sentence");
    for (size_t i = 0; i < size; i++)
        if (why[i] < ' ' || why[i] > '~') complain("the sentence is not printable");
}

static void look_at_command(const fp_command *command)
{
    if (command->verb >= FP_VERBS) complain("there is no such verb");
    if (command->way < FP_TO_SERVER || command->way > FP_BOTH) complain("there is no such way");
    for (unsigned i = 0; i < sizeof command->value / sizeof *command->value; i++)
        if (command->value[i] > 1000000000000 || (command->value[i] && !(command->given & (1u << i))))
            complain("a value is wrong");
    if (command->verb == FP_RESET && command->value[0] > 100) complain("a share is more than all");
    if (command->verb == FP_TO) {
        char text[FP_ADDRESS_TEXT];
        fp_address again;
        fp_address_text(&command->address, text);
        if (!fp_address_parse(&again, text, strlen(text))) complain("the address cannot be read again");
        if (memcmp(&again, &command->address, sizeof again) != 0) complain("it is another address");
    }
}

/* The same words with one blank between them. */
static size_t squeeze(const char *line, size_t size, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        bool blank = line[i] == ' ' || line[i] == '\t' || line[i] == '\r';
        if (!blank) out[used++] = line[i];
        else if (used && out[used - 1] != ' ') out[used++] = ' ';
    }
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fp_command command, again;
    char why[FP_SENTENCE], other[FP_SENTENCE];
    char *copy = malloc(size ? size : 1), *squeezed = malloc(size ? size : 1);
    if (!copy || !squeezed) abort();
    if (size) memcpy(copy, bytes, size);
    if (!fp_command_parse(&command, copy, size, why)) {
        look_at_sentence(why);
    } else {
        look_at_command(&command);
        size_t used = squeeze(copy, size, squeezed);
        if (!fp_command_parse(&again, squeezed, used, other)) complain("with other blanks it is refused");
        if (memcmp(&command, &again, sizeof again) != 0) complain("with other blanks it is another command");
    }
    free(copy);
    free(squeezed);
    return 0;
}
