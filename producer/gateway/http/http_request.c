/* http_request.c - what a handler asks of a request. */
#include <string.h>

#include "producer/gateway/http/http_exchange.h"

void http_request_follow(struct http_exchange *request,
                         const struct http_request_events *events, void *owner)
{
    request->events = events;
    request->owner = owner;
}

const struct http_head *http_request_head(const struct http_exchange *request)
{
    return &request->head;
}

const char *http_request_method(const struct http_exchange *request)
{
    return http_method_text(request->head.method);
}

bool http_request_has_body(const struct http_exchange *request)
{
    return request->head.is_chunked || request->head.length > 0;
}

bool http_request_value(const struct http_exchange *request, const char *name,
                        struct view *value, struct err *err)
{
    return http_head_value(&request->head, name, value, err);
}

struct view http_request_type(const struct http_exchange *request)
{
    struct view type;

    http_head_value(&request->head, "content-type", &type, NULL);
    const char *end = type.len ? memchr(type.data, ';', type.len) : NULL;
    if (end)
        type.len = (size_t)(end - type.data);
    return view_trimmed(type);
}

const char *http_request_address(const struct http_exchange *request)
{
    return request->connection->address;
}
