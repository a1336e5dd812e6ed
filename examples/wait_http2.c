/* SPDX-License-Identifier: MIT */
/* The HTTP/2 half of wait_server: nghttp2 reads and writes frames, one session per connection. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "wait_server.h"
#include <nghttp2/nghttp2.h>

enum { STREAMS = 256 };

static struct exchange *exchange_of(nghttp2_session *session, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(session, stream);
}

static int on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *connection)
{
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    struct exchange *exchange = exchange_new(connection);
    if (!exchange) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    exchange->stream = frame->hd.stream_id;
    exchange->stream_open = true;
    return nghttp2_session_set_stream_user_data(session, exchange->stream, exchange);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_size,
                     const uint8_t *value, size_t size, uint8_t flags, void *connection)
{
    (void)name_size, (void)flags, (void)connection;
    struct exchange *exchange = exchange_of(session, frame->hd.stream_id);
    if (!exchange) return 0;
    const char *key = (const char *)name, *text = (const char *)value;
    if (strcmp(key, ":path") == 0) {
        if (size >= sizeof exchange->uri) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        memcpy(exchange->uri, text, size + 1);
    } else if (strcmp(key, ":method") == 0) {
        exchange->is_head = strcmp(text, "HEAD") == 0;
        exchange->is_options = strcmp(text, "OPTIONS") == 0;
    } else if (strcmp(key, "authorization") == 0) {
        snprintf(exchange->authorization, sizeof exchange->authorization, "%s", text);
    }
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *connection)
{
    (void)connection;
    bool is_last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (!is_last || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)) return 0;
    struct exchange *exchange = exchange_of(session, frame->hd.stream_id);
    if (exchange) exchange_begin(exchange);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *connection)
{
    (void)code, (void)connection;
    struct exchange *exchange = exchange_of(session, stream);
    if (!exchange) return 0;
    nghttp2_session_set_stream_user_data(session, stream, NULL);
    exchange->stream_open = false;
    exchange_leave(exchange);
    return 0;
}

bool http2_flush(struct connection *connection)
{
    const uint8_t *bytes;
    for (;;) {
        ssize_t size = nghttp2_session_mem_send(connection->session, &bytes);
        if (size < 0) return false;
        if (size == 0) break;
        if (!connection_write(connection, bytes, (size_t)size)) return false;
    }
    return nghttp2_session_want_read(connection->session) || nghttp2_session_want_write(connection->session);
}

bool http2_begin(struct connection *connection)
{
    nghttp2_session_callbacks *callbacks;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) return false;
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    int failed = nghttp2_session_server_new(&connection->session, callbacks, connection);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_settings_entry most = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS};
    return !failed && nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, &most, 1) == 0;
}

bool http2_receive(struct connection *connection, const char *bytes, size_t size)
{
    ssize_t used = nghttp2_session_mem_recv(connection->session, (const uint8_t *)bytes, size);
    return used == (ssize_t)size && http2_flush(connection);
}

static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *room, size_t size, uint32_t *flags,
                         nghttp2_data_source *source, void *connection)
{
    (void)session, (void)stream, (void)connection;
    struct exchange *exchange = source->ptr;
    size_t left = exchange->size - exchange->sent, now = left < size ? left : size;
    memcpy(room, exchange->body + exchange->sent, now);
    exchange->sent += now;
    if (exchange->sent == exchange->size) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)now;
}

bool http2_reply(struct exchange *exchange)
{
    char status[16], length[24];
    snprintf(status, sizeof status, "%d", exchange->status);
    snprintf(length, sizeof length, "%zu", exchange->size);
#define FIELD(name, value) \
    {(uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE}
    nghttp2_nv fields[] = {FIELD(":status", status), FIELD("content-type", "application/json"),
                           FIELD("content-length", length)};
    nghttp2_data_provider body = {.source.ptr = exchange, .read_callback = read_body};
    struct connection *connection = exchange->connection;
    nghttp2_data_provider *sends = exchange->is_head ? NULL : &body;
    if (nghttp2_submit_response(connection->session, exchange->stream, fields, 3, sends) != 0) return false;
    if (connection->is_refused)
        nghttp2_submit_goaway(connection->session, 0, exchange->stream, NGHTTP2_NO_ERROR, NULL, 0);
    return true;
}

void http2_end(struct connection *connection)
{
    nghttp2_session_del(connection->session);
    connection->session = NULL;
}
