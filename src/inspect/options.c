/* SPDX-License-Identifier: MIT */
/* Options and their checks; errors. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/internal.h"

enum { TOKEN_LEAST = 16, TOKEN_MOST = 256, TITLE_MOST = 120, CLIENTS_USUAL = 32 };

cen_status ceni_inspect_error(cen_error *error, cen_status status, int code, const char *format, ...)
{
    if (!error) return status;
    *error = (cen_error){.status = status, .code = code};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

/* Accept only tokens that need no escaping in a header or a URL. */
static cen_status check_token(const char *token, bool anywhere, cen_error *error)
{
    size_t length = token ? strlen(token) : 0;
    if (token && (length == 0 || length > TOKEN_MOST))
        return ceni_inspect_error(error, CEN_INVALID, 0,
                                  "cen_inspect_start: options.token must have 1 to %d bytes (got %zu)", TOKEN_MOST,
                                  length);
    for (size_t i = 0; i < length; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", token[i]))
            return ceni_inspect_error(
                error, CEN_INVALID, 0,
                "cen_inspect_start: options.token: byte %zu is invalid; use letters, digits and - . _ ~", i + 1);
    if (anywhere && length < TOKEN_LEAST)
        return ceni_inspect_error(error, CEN_INVALID, 0,
                                  "cen_inspect_start: options.anywhere needs an options.token of at least %d bytes",
                                  TOKEN_LEAST);
    return CEN_OK;
}

static cen_status check(const cen_inspect_options *o, cen_error *error)
{
    if (o->clients > CENI_INSPECT_CLIENTS_MOST)
        return ceni_inspect_error(error, CEN_INVALID, 0, "cen_inspect_start: options.clients must be 1 to %d (got %u)",
                                  CENI_INSPECT_CLIENTS_MOST, o->clients);
    if (o->title && strlen(o->title) > TITLE_MOST)
        return ceni_inspect_error(error, CEN_INVALID, 0, "cen_inspect_start: options.title must have at most %d bytes",
                                  TITLE_MOST);
    return check_token(o->token, o->anywhere, error);
}

cen_status ceni_inspect_settle(cen_inspect *inspect, const cen_inspect_options *options, cen_error *error)
{
    cen_status status = check(options, error);
    if (status != CEN_OK) return status;
    inspect->control = options->control;
    inspect->anywhere = options->anywhere;
    inspect->clients = options->clients ? options->clients : CLIENTS_USUAL;
    inspect->title = strdup(options->title && options->title[0] ? options->title : ceni_inspect_program());
    inspect->token = options->token ? strdup(options->token) : NULL;
    if (!inspect->title || (options->token && !inspect->token))
        return ceni_inspect_error(error, CEN_NO_MEMORY, 0, "cen_inspect_start: out of memory");
    return CEN_OK;
}
