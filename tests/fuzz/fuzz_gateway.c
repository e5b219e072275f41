/* fuzz_gateway.c - what the gateway reads of a request beside its head and
 * body. The first byte says what: a Range, with the size of the file before it;
 * the places of --listen; or a path, for which a route is looked for. */
#include <string.h>

#include "producer/gateway/native/byte_range.h"
#include "producer/gateway/route.h"
#include "producer/gateway/settings.h"
#include "schemas/message/buf.h"
#include "tests/fuzz/fuzz.h"

static void read_range(struct view text)
{
    struct byte_range range = { 0, 0 };
    uint64_t size = 0;

    if (text.len < 2)
        return;
    memcpy(&size, text.data, 2);
    text.data += 2;
    text.len -= 2;
    enum byte_range_kind kind = byte_range_read(text, size, &range);
    if (kind == BYTE_RANGE_PART)
        MUST(range.first <= range.last && range.last < size);
    if (kind != BYTE_RANGE_ALL)
        MUST(view_starts(text, "bytes="));
}

static void read_places(struct view text)
{
    CLEANUP(cleanup_free) char *copy = view_dup(text);
    const char *list = copy;
    struct listen_place place;
    struct err err = { 0 };

    while (listen_place_read(&list, &place, &err))
        MUST((place.path[0] != '\0') != (place.address[0] != '\0'));
    if (err.kind == ERR_NONE)
        MUST(*list == '\0');
    else
        MUST(err.text[0] != '\0');
}

static void find_route(struct view text)
{
    CLEANUP(cleanup_free) char *copy = view_dup(text);
    struct http_head head = { .method = HTTP_METHOD_GET };
    struct route_match match;

    if (!http_target_decode(&head.target, copy, text.len, NULL))
        return;
    for (int method = 0; method < HTTP_METHODS; method++) {
        head.method = (enum http_method_kind)method;
        route_find(&match, route_tables, &head);
        MUST(!match.route || match.route->method == head.method ||
             head.method == HTTP_METHOD_HEAD);
        MUST(memchr(match.allow, '\0', sizeof(match.allow)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(
        struct view text) = { read_range, read_places, find_route };

    if (size > 0)
        readers[data[0] % 3]((struct view){ (const char *)data + 1, size - 1 });
    return 0;
}
