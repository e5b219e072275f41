/* http_connection.c - one connection of HTTP/1.1.
 *
 * A function of the handler only notes what it wants; http_connection_run()
 * acts on it, and frees what has ended, in a step of the machine. So no
 * callback comes inside of a call of the handler, and nothing is freed under
 * it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/http/http_exchange.h"

#define NEVER UINT64_MAX

enum connection_state {
    IDLE,
    HEAD,
    DECIDING,
    BODY,
    ANSWERING,
    STREAMING,
    LINGERING,
    CLOSED,
};

static machine_step enter_deciding, enter_body, enter_answering,
    enter_lingering, enter_closed, step_idle, step_head, step_deciding,
    step_body, step_answering, step_streaming, step_lingering;
static void connection_entered(void *owner);
static void connection_heed(void *owner);

#define ENDS (TO(LINGERING) | TO(CLOSED))

static const struct machine_state states[] = {
    [IDLE] = { "idle", TO(HEAD) | ENDS, .step = step_idle },
    [HEAD] = { "head", TO(DECIDING) | TO(ANSWERING) | ENDS, .step = step_head },
    [DECIDING] = { "deciding", TO(BODY) | TO(STREAMING) | ENDS,
                   .enter = enter_deciding, .step = step_deciding },
    [BODY] = { "body", TO(ANSWERING) | TO(STREAMING) | ENDS,
               .enter = enter_body, .step = step_body },
    [ANSWERING] = { "answering", TO(IDLE) | TO(STREAMING) | ENDS,
                    .enter = enter_answering, .step = step_answering },
    [STREAMING] = { "streaming", TO(IDLE) | ENDS, .step = step_streaming },
    [LINGERING] = { "lingering", TO(CLOSED), .enter = enter_lingering,
                    .step = step_lingering },
    [CLOSED] = { "closed", 0, .enter = enter_closed },
};
static const struct machine_kind kind = {
    .name = "a connection of HTTP",
    .states = states,
    .count = sizeof(states) / sizeof(states[0]),
    .entered = connection_entered,
    .before = connection_heed,
};

static void connection_entered(void *owner)
{
    struct http_connection *connection = owner;
    const struct http_limits *limits = &connection->service->limits;
    uint64_t limit = 0;

    if (connection->machine.state == IDLE && connection->was_used)
        limit = limits->keep_alive_ms;
    else if (connection->machine.state == IDLE ||
             connection->machine.state == HEAD)
        limit = limits->head_ms;
    else if (connection->machine.state == LINGERING)
        limit = limits->linger_ms;
    connection->deadline_ms =
        limit ? connection->service->now_ms + limit : NEVER;
}

/* ------------------------------------------------------------------- ends */

static void connection_free_request(struct http_connection *connection)
{
    if (connection->request)
        http_body_free(connection->request);
    free(connection->request);
    connection->request = NULL;
}

/* Tells the handler of a request that it will not answer. */
static void connection_tell_gone(struct http_connection *connection,
                                 enum http_gone why)
{
    struct http_exchange *request = connection->request;

    if (!request || request->is_answered)
        return;
    request->is_answered = true;
    if (request->events && request->events->on_gone)
        request->events->on_gone(request->owner, why);
}

static enum pace connection_next(struct http_connection *connection)
{
    connection_free_request(connection);
    connection->was_used = true;
    return machine_go(&connection->machine,
                      connection->ends ? LINGERING : IDLE);
}

/* The handler has answered, or begun a stream. */
static enum pace connection_leave(struct http_connection *connection)
{
    if (!connection->stream)
        return connection_next(connection);
    connection_free_request(connection);
    return machine_go(&connection->machine, STREAMING);
}

/* Answers by itself, and ends the connection. When the handler has answered
 * already, or begun a stream, then that is the answer. */
static enum pace connection_refuse(struct http_connection *connection,
                                   unsigned int status, const struct err *err)
{
    connection->ends = true;
    if (connection->request && connection->request->is_answered)
        return connection_leave(connection);
    connection_tell_gone(connection,
                         status == 408 ? HTTP_GONE_SLOW : HTTP_GONE_BAD);
    http_answer_refuse(
        connection,
        &(struct http_error){
            .status = status,
            .message = err->text,
            .type = status == 503 ? "server_error" : "invalid_request_error",
            .code = err->code,
        });
    return machine_go(&connection->machine, LINGERING);
}

/* After the last answer nothing will be read: what comes is dropped, and
 * reading goes on, so that the peer's going away is seen. */
static void connection_drop_input(struct http_connection *connection)
{
    if (connection->ends)
        connection->input.len = 0;
}

/* Between two requests: after what waits, if anything does. */
static enum pace connection_end_idle(struct http_connection *connection)
{
    if (connection->wire->waiting(connection->owner) > 0)
        return machine_go(&connection->machine, LINGERING);
    connection->wire->finish(connection->owner);
    return machine_go(&connection->machine, CLOSED);
}

static void connection_be_late(struct http_connection *connection)
{
    struct err err;

    switch (connection->machine.state) {
    case HEAD:
        err_set(&err, ERR_REJECT, "request_timeout",
                "the head of the request was not whole in time");
        connection_refuse(connection, 408, &err);
        break;
    case BODY:
        err_set(&err, ERR_REJECT, "request_timeout",
                "the body of the request comes too slowly");
        connection_refuse(connection, 408, &err);
        break;
    case IDLE:
        connection_end_idle(connection);
        break;
    default:
        machine_go(&connection->machine, CLOSED);
    }
}

/* Before each step: what was noted since the last one. */
static void connection_heed(void *owner)
{
    struct http_connection *connection = owner;
    unsigned int state = connection->machine.state;
    bool is_late = connection->is_late;

    connection->is_late = false;
    if (state == CLOSED)
        return;
    if (connection->is_half && state != IDLE &&
        (state != LINGERING ||
         connection->wire->waiting(connection->owner) == 0))
        connection->is_cut = true;
    if (connection->is_cut)
        machine_go(&connection->machine, CLOSED);
    else if (connection->is_half && state == IDLE)
        connection_end_idle(connection);
    else if (is_late)
        connection_be_late(connection);
}

/* ------------------------------------------------------------------ states */

static enum pace step_idle(void *owner)
{
    struct http_connection *connection = owner;
    const struct http_service *service = connection->service;

    if (connection->input.len == 0)
        return connection->ends ? connection_end_idle(connection) : WAIT;
    /* A peer that asks and does not read must not fill our memory. */
    if (connection->wire->waiting(connection->owner) >
        service->limits.queue_bytes)
        return WAIT;
    connection->request = malloc(sizeof(*connection->request));
    if (!connection->request)
        abort();
    memset(connection->request, 0, offsetof(struct http_exchange, head));
    connection->request->text_len = 0;
    connection->request->connection = connection;
    return machine_go(&connection->machine, HEAD);
}

static enum pace connection_parse(struct http_connection *connection)
{
    struct http_exchange *request = connection->request;
    struct http_head *head = &request->head;
    struct view text = { request->text, request->text_len };
    unsigned int status;
    struct err err;

    if (!http_head_parse(head, text, &status, &err))
        return connection_refuse(connection, status, &err);
    connection->is_old = head->minor == 0;
    if (!http_body_begin(request, &err) ||
        !http_target_decode(&head->target,
                            request->text + (head->raw_target.data - text.data),
                            head->raw_target.len, &err))
        return connection_refuse(connection, 400, &err);
    connection->ends = connection->ends || !head->keeps_alive;
    return machine_go(&connection->machine,
                      request->is_whole ? ANSWERING : DECIDING);
}

static enum pace step_head(void *owner)
{
    struct http_connection *connection = owner;
    struct http_exchange *request = connection->request;
    struct view piece = connection->input;
    size_t room = sizeof(request->text) - request->text_len, used = 0;
    struct err err;

    if (piece.len > room)
        piece.len = room;
    enum http_head_found found = http_head_scan(&request->scan, piece, &used);
    if (found == HTTP_HEAD_BAD) {
        err_set(&err, ERR_REJECT, "invalid_request",
                "the head of the request has a byte that is not allowed there");
        return connection_refuse(connection, 400, &err);
    }
    if (used > 0)
        memcpy(request->text + request->text_len, piece.data, used);
    request->text_len += used;
    connection->input.data += used;
    connection->input.len -= used;
    if (found == HTTP_HEAD_WHOLE)
        return connection_parse(connection);
    if (request->text_len < sizeof(request->text))
        return WAIT;
    err_set(&err, ERR_REJECT, "headers_too_large",
            "the head of the request is longer than %d bytes", HTTP_MAX_HEAD);
    return connection_refuse(connection, 431, &err);
}

static void connection_ask(struct http_connection *connection)
{
    const struct http_handler *handler = &connection->service->handler;

    handler->on_request(handler->owner, connection->request);
}

static enum pace enter_deciding(void *owner)
{
    connection_ask(owner);
    return AGAIN;
}

static enum pace step_deciding(void *owner)
{
    struct http_connection *connection = owner;
    struct http_exchange *request = connection->request;
    struct err err;

    if (request->is_answered)
        return connection_leave(connection);
    if (!request->is_chosen)
        return WAIT;
    if (request->head.length > request->max) {
        err_set(&err, ERR_REJECT, "request_too_large",
                "the body has %llu bytes; at most %llu are allowed",
                (unsigned long long)request->head.length,
                (unsigned long long)request->max);
        return connection_refuse(connection, 413, &err);
    }
    if (request->head.expects_continue && connection->input.len == 0)
        http_answer_put(connection, VIEW("HTTP/1.1 100 Continue\r\n\r\n"));
    return machine_go(&connection->machine, BODY);
}

static enum pace enter_body(void *owner)
{
    struct http_connection *connection = owner;

    connection->request->began_ms = connection->service->now_ms;
    return AGAIN;
}

static enum pace step_body(void *owner)
{
    struct http_connection *connection = owner;
    struct http_exchange *request = connection->request;
    unsigned int status;
    struct err err;

    if (request->is_answered)
        return connection_leave(connection);
    if (request->is_whole)
        return machine_go(&connection->machine, ANSWERING);
    if (connection->input.len == 0)
        return WAIT;
    if (!http_body_feed(request, &connection->input, &status, &err))
        return connection_refuse(connection, status, &err);
    return AGAIN;
}

static enum pace enter_answering(void *owner)
{
    struct http_connection *connection = owner;

    if (!http_request_has_body(connection->request))
        connection_ask(connection);
    return AGAIN;
}

static enum pace step_answering(void *owner)
{
    struct http_connection *connection = owner;
    struct http_exchange *request = connection->request;

    if (request->is_answered)
        return connection_leave(connection);
    connection_drop_input(connection);
    if (!request->is_chosen || request->is_told)
        return WAIT;
    request->is_told = true;
    if (request->events && request->events->on_end)
        request->events->on_end(request->owner, buf_view(&request->body));
    return AGAIN;
}

static void connection_free_stream(struct http_connection *connection)
{
    connection->service->streams -= connection->stream != NULL;
    free(connection->stream);
    connection->stream = NULL;
}

static enum pace step_streaming(void *owner)
{
    struct http_connection *connection = owner;
    struct http_stream *stream = connection->stream;

    connection_drop_input(connection);
    if (stream->ended) {
        connection_free_stream(connection);
        return connection_next(connection);
    }
    if (stream->was_full && connection->wire->waiting(connection->owner) == 0) {
        stream->was_full = false;
        if (stream->events->on_drained)
            stream->events->on_drained(stream->owner);
        return AGAIN;
    }
    return WAIT;
}

static enum pace enter_lingering(void *owner)
{
    struct http_connection *connection = owner;

    connection_free_request(connection);
    connection->wire->finish(connection->owner);
    return AGAIN;
}

static enum pace step_lingering(void *owner)
{
    struct http_connection *connection = owner;

    connection->input.len = 0;
    return WAIT;
}

static enum pace enter_closed(void *owner)
{
    struct http_connection *connection = owner;
    struct http_stream *stream = connection->stream;

    connection_tell_gone(connection, connection->why);
    if (stream && !stream->ended && stream->events->on_gone)
        stream->events->on_gone(stream->owner, connection->why);
    connection_free_stream(connection);
    connection_free_request(connection);
    connection->input.len = 0;
    connection->wire->close(connection->owner);
    return WAIT;
}

/* -------------------------------------------------------------------- runs */

/* Input that no state has taken is held until one does. */
static void connection_hold(struct http_connection *connection)
{
    struct buf *held = connection->held;
    struct view rest = connection->input;

    connection->input.len = 0;
    if (held && rest.len > 0) {
        buf_drop(held, held->len - rest.len);
    } else if (held) {
        buf_finish(held);
        free(held);
        connection->held = NULL;
    } else if (rest.len > 0) {
        held = malloc(sizeof(*held));
        if (!held)
            abort();
        buf_init(held, (size_t)2 * HTTP_READ_BYTES);
        buf_add(held, rest);
        connection->held = held;
    }
}

static void connection_settle(struct http_connection *connection)
{
    const struct http_exchange *request = connection->request;
    bool reads;

    connection_hold(connection);
    if (connection->machine.state == CLOSED)
        return;
    reads = !connection->held && !(request && request->is_paused);
    if (reads != connection->is_reading)
        connection->wire->read(connection->owner, reads);
    connection->is_reading = reads;
}

void http_connection_run(struct http_connection *connection)
{
    assert(!connection->machine.running);
    if (connection->held && connection->input.len == 0)
        connection->input = buf_view(connection->held);
    machine_run(&connection->machine);
    connection_settle(connection);
}

void http_connection_stir(struct http_connection *connection)
{
    if (connection->machine.running)
        machine_run(&connection->machine); /* it goes round once more */
    else if (connection->machine.state != CLOSED)
        connection->wire->soon(connection->owner);
}

struct http_connection *http_connection_new(struct http_service *service,
                                            const struct http_wire *wire,
                                            void *owner, const char *address)
{
    struct http_connection *connection = calloc(1, sizeof(*connection));

    if (!connection)
        abort();
    connection->service = service;
    connection->wire = wire;
    connection->owner = owner;
    connection->address = address;
    connection->is_reading = true;
    connection->moved_ms = service->now_ms;
    machine_init(&connection->machine, &kind, connection, IDLE);
    connection_entered(connection);
    return connection;
}

size_t http_connection_count(struct http_connection *connection)
{
    size_t waiting = connection->wire->waiting(connection->owner);

    connection->service->waiting += waiting;
    connection->service->waiting -= connection->waiting;
    connection->waiting = waiting;
    return waiting;
}

void http_connection_free(struct http_connection *connection)
{
    assert(connection->machine.state == CLOSED && !connection->held);
    connection->service->waiting -= connection->waiting;
    free(connection);
}

void http_connection_feed(struct http_connection *connection, struct view bytes)
{
    if (connection->held) {
        /* It came although reading was stopped: what libuv had already. */
        buf_add(connection->held, bytes);
        connection->is_cut = connection->is_cut || !buf_ok(connection->held);
    } else {
        connection->input = bytes;
    }
    http_connection_run(connection);
}

void http_connection_lost(struct http_connection *connection, bool is_half)
{
    if (is_half)
        connection->is_half = true;
    else
        connection->is_cut = true;
    http_connection_run(connection);
}

void http_connection_drained(struct http_connection *connection)
{
    connection->moved_ms = connection->service->now_ms;
    http_connection_run(connection);
}

void http_connection_send(struct http_connection *connection,
                          struct http_bytes *bytes, struct view part)
{
    connection->sent += part.len;
    connection->wire->send(connection->owner, bytes, part);
}

/* What is sent meanwhile is no sign of life, only what the peer takes. More may
 * wait than was sent: what TLS adds. */
static void connection_note_taken(struct http_connection *connection,
                                  size_t waiting)
{
    uint64_t sent = connection->sent;
    uint64_t taken = sent > waiting ? sent - waiting : 0;

    if (waiting == 0 || taken > connection->taken)
        connection->moved_ms = connection->service->now_ms;
    connection->taken = taken;
}

void http_connection_tick(struct http_connection *connection)
{
    const struct http_limits *limits = &connection->service->limits;
    uint64_t now = connection->service->now_ms;
    size_t waiting = http_connection_count(connection);

    connection_note_taken(connection, waiting);
    if (now - connection->moved_ms >= limits->stall_ms) {
        connection->is_cut = true;
        connection->why = HTTP_GONE_SLOW;
    } else if (connection->machine.state == LINGERING && waiting > 0) {
        connection->deadline_ms = now + limits->linger_ms;
    }
    connection->is_late = now >= connection->deadline_ms ||
                          (connection->machine.state == BODY &&
                           http_body_is_slow(connection->request));
    if (connection->is_cut || connection->is_late)
        http_connection_run(connection);
}

void http_connection_retire(struct http_connection *connection)
{
    connection->ends = true;
    http_connection_stir(connection);
}

void http_connection_cut(struct http_connection *connection, enum http_gone why)
{
    if (connection->is_cut)
        return;
    connection->is_cut = true;
    connection->why = why;
    http_connection_stir(connection);
}
