/* fuzz_http.c - any bytes in any pieces into a connection of HTTP.
 *
 * The first byte is the seed of the pieces. First: the same answers as in one
 * piece. Then with a handler that refuses, waits, pauses, streams and cuts as
 * the seed has it, on a wire that is full now and then, while time goes by.
 * Always: each request is answered once or told gone once, nothing is sent or
 * called back after the end, and no answer of a connection has a header of a
 * peer's making. */
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/http/event_stream.h"
#include "producer/gateway/http/http_connection.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_BODY = 1 << 20, LITTLE = 300 };

struct world {
    struct http_service service;
    struct http_connection *connection;
    struct buf out;
    unsigned int seed; /* 0: the handler answers at once */
    size_t waiting;
    bool reads, finished, closed, stirred;
    struct http_exchange *request; /* that is not answered yet */
    struct http_stream *stream;
    bool is_paused;
    bool sends_event;      /* of a stream, or its end */
    unsigned int answered; /* by the handler */
    unsigned int answers;  /* that were sent */
};

static unsigned int choice(struct world *world, unsigned int of)
{
    return world->seed ? (unsigned int)rand_r(&world->seed) % of : 0;
}

/* ------------------------------------------------------------------ the wire
 */

/* Lines end by CRLF, and no other control byte is in any of them. */
static void judge_lines(struct view head)
{
    for (size_t i = 0; i < head.len; i++) {
        unsigned char byte = (unsigned char)head.data[i];
        MUST((byte >= ' ' && byte != 0x7f) || byte == '\t' ||
             (byte == '\r' && i + 1 < head.len && head.data[i + 1] == '\n') ||
             (byte == '\n' && i > 0 && head.data[i - 1] == '\r'));
    }
}

/* Each answer is sent at once: a head, and all of the body or nothing. */
static void judge_answer(struct world *world, struct view part)
{
    static const char name[] = "\r\nContent-Length: ";
    const char *end = memmem(part.data, part.len, "\r\n\r\n", 4), *length;

    MUST(end && part.len > 12 && memcmp(part.data, "HTTP/1.1 ", 9) == 0);
    struct view head = { part.data, (size_t)(end - part.data) + 2 };
    size_t body = part.len - head.len - 2;
    judge_lines(head);
    world->answers += part.data[9] != '1';
    length = memmem(head.data, head.len, name, sizeof(name) - 1);
    MUST(body == 0 ||
         (length && strtoull(length + sizeof(name) - 1, NULL, 10) == body));
}

static void world_send(void *owner, struct http_bytes *bytes, struct view part)
{
    struct world *world = owner;

    MUST(!world->closed);
    (void)bytes;
    if (world->finished)
        return;
    if (!world->sends_event)
        judge_answer(world, part);
    MUST(buf_add(&world->out, part));
    world->waiting += choice(world, 4) == 1 ? part.len : 0;
}

static size_t world_waiting(const void *owner)
{
    const struct world *world = owner;
    return world->waiting;
}

static void world_read(void *owner, bool on)
{
    struct world *world = owner;

    MUST(!world->closed && world->reads != on);
    world->reads = on;
}

static void world_finish(void *owner)
{
    struct world *world = owner;

    MUST(!world->closed && !world->finished);
    world->finished = true;
}

static void world_soon(void *owner)
{
    struct world *world = owner;

    MUST(!world->closed);
    world->stirred = true;
}

static void world_close(void *owner)
{
    struct world *world = owner;

    MUST(!world->closed && !world->request && !world->stream);
    world->closed = true;
}

static const struct http_wire wire = {
    world_send,   world_waiting, world_read,
    world_finish, world_soon,    world_close,
};

/* --------------------------------------------------------------- the handler
 */

static void on_gone(void *owner, enum http_gone why)
{
    struct world *world = owner;

    MUST(world->request && why <= HTTP_GONE_SERVER);
    world->request = NULL;
}

static void on_stream_gone(void *owner, enum http_gone why)
{
    struct world *world = owner;

    MUST(world->stream && why <= HTTP_GONE_SERVER);
    world->stream = NULL;
}

static const struct http_stream_events stream_events = { .on_gone =
                                                             on_stream_gone };

static void answer(struct world *world, struct view body)
{
    struct http_exchange *request = world->request;
    const struct http_head *head = http_request_head(request);
    struct view agent;

    world->request = NULL;
    world->answered++;
    /* A peer's value as a header: what must never break an answer. */
    http_request_value(request, "user-agent", &agent, NULL);
    struct http_pair pairs[2] = {
        { VIEW("X-Agent"), agent },
        { VIEW("X-Path"),
          head->target.segment_count ? head->target.segments[0] : VIEW("") },
    };
    http_answer(request, 200, pairs, 2, body);
}

static void begin_stream(struct world *world)
{
    struct http_exchange *request = world->request;

    world->request = NULL;
    world->answered++;
    world->stream = http_stream_begin(request, 200, NULL, 0,
                                      choice(world, 2) ? 100 : HTTP_CHUNKED,
                                      &stream_events, world);
}

static void on_end(void *owner, struct view body)
{
    struct world *world = owner;

    MUST(world->request);
    if (choice(world, 4) == 3) {
        begin_stream(world);
    } else if (choice(world, 4) < 3) {
        answer(world, body);
    }
}

static void on_piece(void *owner, struct view piece)
{
    struct world *world = owner;

    MUST(world->request && piece.len > 0);
    if (choice(world, 3) == 1) {
        http_body_pause(world->request);
        world->is_paused = true;
    }
    if (choice(world, 20) == 1)
        answer(world, piece);
    else if (choice(world, 20) == 1)
        begin_stream(world);
}

static const struct http_request_events events = { on_gone, on_piece, on_end };

static void choose(struct world *world)
{
    world->is_paused = false;
    switch (choice(world, 8)) {
    case 1:
        http_body_receive(world->request, choice(world, 200));
        break;
    case 2:
        answer(world, VIEW("at once"));
        break;
    case 3:
        break; /* later */
    case 4:
        begin_stream(world);
        break;
    default:
        http_body_collect(world->request, MAX_BODY);
    }
}

static void on_request(void *owner, struct http_exchange *request)
{
    struct world *world = owner;

    MUST(!world->request && !world->stream);
    world->request = request;
    http_request_follow(request, &events, world);
    choose(world);
}

/* ----------------------------------------------------------------- the world
 */

/* What a handler does of itself, between two events of the connection. */
static void act(struct world *world)
{
    struct http_bytes *event;

    if (world->stream) {
        world->sends_event = true;
        event = event_stream_event(VIEW("e"), VIEW("{}"), NULL);
        http_stream_send(world->stream, event);
        http_bytes_free(event);
        if (choice(world, 4) == 1) {
            http_stream_end(world->stream);
            world->stream = NULL;
        }
        world->sends_event = false;
    } else if (world->request && world->is_paused) {
        http_body_resume(world->request);
        world->is_paused = false;
    } else if (world->request && choice(world, 3) == 1) {
        answer(world, VIEW("later"));
    }
    if (choice(world, 100) == 1)
        http_connection_retire(world->connection);
    if (choice(world, 200) == 1)
        http_connection_cut(world->connection, HTTP_GONE_SERVER);
}

static void turn(struct world *world)
{
    while (world->stirred && !world->closed) {
        world->stirred = false;
        http_connection_run(world->connection);
    }
}

static void pass_time(struct world *world)
{
    act(world);
    turn(world);
    world->service.now_ms += choice(world, 3) * 200;
    if (!world->closed)
        http_connection_tick(world->connection);
    turn(world);
    if (!world->closed && world->waiting > 0 && choice(world, 2)) {
        world->waiting = 0;
        http_connection_drained(world->connection);
    }
    turn(world);
}

static void feed(struct world *world, const char *data, size_t len,
                 unsigned int pieces)
{
    while (len > 0 && !world->closed) {
        size_t size = pieces ? 1 + (size_t)rand_r(&pieces) % 40 : len;
        size = size > len ? len : size;
        if (world->seed)
            pass_time(world);
        if (world->closed)
            break;
        if (!world->reads && choice(world, 8))
            continue; /* now and then it comes all the same */
        http_connection_feed(world->connection, (struct view){ data, size });
        turn(world);
        data += size;
        len -= size;
    }
}

static void live(struct world *world, const uint8_t *data, size_t size,
                 unsigned int seed, unsigned int pieces)
{
    *world = (struct world){
        .service = { .limits = HTTP_LIMITS_DEFAULT,
                     .handler = { .on_request = on_request, .owner = world } },
        .out = { .max = 64 << 20 },
        .seed = seed,
        .reads = true,
    };
    world->service.now_ms = 1000;
    if (seed)
        world->service.limits.collected_bytes = LITTLE;
    world->connection =
        http_connection_new(&world->service, &wire, world, "::1");
    feed(world, (const char *)data, size, pieces);
    if (!world->closed)
        http_connection_lost(world->connection, choice(world, 2));
    turn(world);
    if (!world->closed)
        http_connection_cut(world->connection, HTTP_GONE_SERVER);
    turn(world);
    MUST(world->closed && !world->request && !world->stream);
    /* The connection itself answers once at most, and that is the last. */
    MUST(world->answers <= world->answered + 1);
    MUST(world->service.collected == 0);
    http_connection_free(world->connection);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world whole, pieces, wild;

    if (size == 0)
        return 0;
    live(&whole, data + 1, size - 1, 0, 0);
    live(&pieces, data + 1, size - 1, 0, data[0] + 1u);
    live(&wild, data + 1, size - 1, data[0] + 1u, data[0] + 1u);
    /* 100 (Continue) is sent only when no byte of the body has come. */
    if (!memmem(data, size, "xpect", 5) && !memmem(data, size, "XPECT", 5))
        MUST(view_equal(buf_view(&whole.out), buf_view(&pieces.out)));
    buf_finish(&whole.out);
    buf_finish(&pieces.out);
    buf_finish(&wild.out);
    return 0;
}
