/* SPDX-License-Identifier: MIT */
/* Errors: curl's codes as statuses, and their texts. */
#include <stdarg.h>

#include "curl/internal.h"

cen_status ceni_curl_error(cen_error *error, cen_status status, int code, const char *format, ...)
{
    if (!error) return status;
    *error = (cen_error){.status = status, .code = code};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

cen_status ceni_curl_status(CURLcode code)
{
    switch (code) {
    case CURLE_OK: return CEN_OK;
    case CURLE_OPERATION_TIMEDOUT: return CEN_TIMEOUT;
    case CURLE_OUT_OF_MEMORY: return CEN_NO_MEMORY;
    case CURLE_ABORTED_BY_CALLBACK: return CEN_INTERRUPTED;
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return CEN_DOWN;
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return CEN_LOST;
    default: return CEN_DRIVER;
    }
}
