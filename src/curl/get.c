/* SPDX-License-Identifier: MIT */
/* The calls of a holder on a handle of a pool. */
#include "curl/internal.h"

static ceni_curl_record *own(CURL *handle)
{
    return handle ? ceni_curl_record_of(handle) : NULL;
}

static cen_status set_path(const ceni_curl_record *record, const char *path)
{
    char *url = ceni_curl_site_url(record->site, path);
    CURLcode code = url ? curl_easy_setopt(record->easy, CURLOPT_URL, url) : CURLE_OUT_OF_MEMORY;
    free(url);
    return code == CURLE_OK ? CEN_OK : CEN_NO_MEMORY;
}

cen_status cen_curl_path(CURL *handle, const char *path)
{
    ceni_curl_record *record = own(handle);
    return record && path && path[0] == '/' ? set_path(record, path) : CEN_INVALID;
}

cen_status cen_curl_progress(CURL *handle, curl_xferinfo_callback progress, void *argument)
{
    ceni_curl_record *record = own(handle);
    if (!record) return CEN_INVALID;
    record->progress = progress;
    record->progress_argument = argument;
    return CEN_OK;
}

cen_status cen_curl_result(CURL *handle, CURLcode code, cen_error *error)
{
    ceni_curl_record *record = own(handle);
    if (!record) return ceni_curl_error(error, CEN_INVALID, 0, "handle is not an HTTP client of this driver's pools");
    if (code == CURLE_OK) return CEN_OK;
    pthread_mutex_lock(record->sockets.mutex);
    bool interrupted = record->interrupted;
    pthread_mutex_unlock(record->sockets.mutex);
    bool lost = code == CURLE_COULDNT_CONNECT && record->site->only_open_connects;
    const char *url = NULL;
    curl_easy_getinfo(handle, CURLINFO_EFFECTIVE_URL, &url);
    const char *said = record->said[0] ? record->said : curl_easy_strerror(code);
    cen_status status = interrupted ? CEN_INTERRUPTED : lost ? CEN_LOST : ceni_curl_status(code);
    return ceni_curl_error(error, status, (int)code, "HTTP request to %s %s: %s (curl %d)",
                           url && url[0] ? url : record->site->base, interrupted ? "interrupted" : "failed",
                           lost ? "connection closed by the server" : said, (int)code);
}

/* Store the received data in the response. */
static cen_status receive(ceni_curl_record *record, ceni_curl_body *body, cen_curl_response *response)
{
    const char *type = NULL;
    curl_easy_getinfo(record->easy, CURLINFO_RESPONSE_CODE, &response->status);
    curl_easy_getinfo(record->easy, CURLINFO_CONTENT_TYPE, &type);
    snprintf(response->type, sizeof response->type, "%s", type ? type : "");
    if (!body->bytes) body->bytes = calloc(1, 1);
    if (!body->bytes) return CEN_NO_MEMORY;
    response->body = body->bytes, response->size = body->size;
    body->bytes = NULL;
    return CEN_OK;
}

cen_status cen_curl_get(CURL *handle, const char *path, cen_curl_response *response, cen_error *error)
{
    ceni_curl_record *record = own(handle);
    if (!record || !response || !path || path[0] != '/')
        return ceni_curl_error(error, CEN_INVALID, 0,
                               "cen_curl_get: invalid handle, response NULL or path without a leading slash");
    cen_curl_response_free(response);
    ceni_curl_body body = {.most = response->max_body ? response->max_body : (size_t)1 << 20};
    cen_status status = ceni_curl_record_apply(record) ? set_path(record, path) : CEN_NO_MEMORY;
    if (status == CEN_OK) {
        curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, ceni_curl_body_write);
        curl_easy_setopt(handle, CURLOPT_WRITEDATA, &body);
        CURLcode code = curl_easy_perform(handle);
        if (body.too_large)
            status =
                ceni_curl_error(error, CEN_FULL, (int)code, "HTTP request to %s%s: body too large (limit %zu bytes)",
                                record->site->base, path, body.most);
        else if (body.no_memory) status = CEN_NO_MEMORY;
        else status = cen_curl_result(handle, code, error);
        if (status == CEN_OK) status = receive(record, &body, response);
        if (!ceni_curl_record_apply(record)) status = CEN_NO_MEMORY;
    }
    free(body.bytes);
    if (status == CEN_NO_MEMORY)
        ceni_curl_error(error, CEN_NO_MEMORY, 0, "HTTP request to %s%s: out of memory", record->site->base, path);
    return status;
}

void cen_curl_response_free(cen_curl_response *response)
{
    if (!response) return;
    free(response->body);
    *response = (cen_curl_response){.max_body = response->max_body};
}
