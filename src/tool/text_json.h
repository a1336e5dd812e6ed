/* SPDX-License-Identifier: MIT */
/*
 * Texts of servers and of other processes as JSON, with any bytes: everything readable is kept.
 */
#ifndef CENOTE_TOOL_TEXT_JSON_H
#define CENOTE_TOOL_TEXT_JSON_H

#include <jansson.h>

/* Each byte that is not valid UTF-8 becomes U+FFFD. NULL: null. */
json_t *text_as_json(const char *from);

#endif
