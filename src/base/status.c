/* SPDX-License-Identifier: MIT */
#include <cenote/status.h>

#include <stdarg.h>
#include <stdio.h>

#include <cenote/version.h>

#include "base/error.h"

const char *cen_status_name(cen_status status)
{
    switch (status) {
#define CEN_STATUS_NAME_(code, name, sentence) \
    case CEN_##name: return "CEN_" #name;
        CEN_STATUS_LIST(CEN_STATUS_NAME_)
    }
    return "CEN_?";
}

const char *cen_status_text(cen_status status)
{
    switch (status) {
#define CEN_STATUS_TEXT_(code, name, sentence) \
    case CEN_##name: return sentence;
        CEN_STATUS_LIST(CEN_STATUS_TEXT_)
    }
    return "unknown status";
}

const char *cen_cause_name(cen_cause cause)
{
    switch (cause) {
#define CEN_CAUSE_NAME_(code, name, word) \
    case CEN_CAUSE_##name: return word;
        CEN_CAUSE_LIST(CEN_CAUSE_NAME_)
    }
    return "?";
}

unsigned cen_version(void)
{
    return CEN_VERSION_MAJOR * 1000000u + CEN_VERSION_MINOR * 1000u + CEN_VERSION_PATCH;
}

cen_status ceni_error_set(cen_error *error, cen_status status, int code, const char *format, ...)
{
    if (!error) return status;
    error->status = status;
    error->code = code;
    error->cause = CEN_CAUSE_NONE;
    error->retry_after_ns = 0;
    error->current = error->max = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}
