/* server.c - consumers' connections: frames in, frames out.
 *
 * Nothing is closed or handled in the middle of a call from a session: it is
 * noted, and an alarm of the connection does it in the next turn. */
#include "executor/warden/server.h"

#include <stdlib.h>

#include "executor/base/log.h"
#include "executor/warden/numbers.h"
#include "schemas/metrics/relay.h"

enum {
    BACKLOG = 64,
    MAX_CONNECTIONS = 64,
    READ_BYTES = 64 << 10,
    HELLO_MS = 5000,               /* for the first frame */
    MAX_QUEUED_BYTES = 8 << 20,    /* of requests that wait */
    MAX_BACKLOG_BYTES = 256 << 20, /* then the consumer is taken for dead */
    NUMBERS_MS = 25 * 1000, /* one that asks no more makes room for others */
};

struct peer_conn {
    struct peer peer; /* first: a peer is its connection */
    struct peer_conn *next;
    struct server *server;
    uv_pipe_t pipe;
    struct buf input;
    struct loop_alarm *alarm; /* hello is due; or: look at the input again */
    bool greeted;             /* hello has come */
    uint64_t counts_since;    /* among those that ask for our numbers */
    uint64_t counts_last_ms;  /* when it last did; 0: never */
    bool lagged;  /* its sessions wait until it has read everything */
    bool stopped; /* not read: too much waits, or it lags */
    bool broken;  /* to be closed at the next alarm */
};

struct server {
    struct sessions *sessions;
    uv_pipe_t listener;
    struct frame welcome;
    struct peer_conn *conns;
    size_t count;
    uint64_t counting; /* connections that have begun to ask for our numbers */
};

/* ---------------------------------------------------------------- closing */

static void on_conn_closed(uv_handle_t *handle)
{
    struct peer_conn *conn = handle->data;
    buf_finish(&conn->input);
    free(conn);
}

/* Sessions forget it before its memory goes. on_sent() may still come: alarm is
 * NULL then. */
static void close_conn(struct peer_conn *conn)
{
    struct server *server = conn->server;
    for (struct peer_conn **link = &server->conns; *link; link = &(*link)->next)
        if (*link == conn) {
            *link = conn->next;
            server->count--;
            break;
        }
    alarm_free(conn->alarm);
    conn->alarm = NULL;
    sessions_leave(server->sessions, &conn->peer);
    uv_close((uv_handle_t *)&conn->pipe, on_conn_closed);
}

/* Closed in the next turn of the loop: a session may be in the middle of using
 * it. */
static void break_conn(struct peer_conn *conn)
{
    conn->broken = true;
    uv_read_stop((uv_stream_t *)&conn->pipe);
    alarm_set(conn->alarm, 0);
}

/* ---------------------------------------------------------------- writing */

/* Bytes that libuv is writing, freed when they are written. */
struct sent_bytes {
    uv_write_t write;
    struct buf bytes;
};

static size_t backlog(const struct peer *peer)
{
    const struct peer_conn *conn = (const struct peer_conn *)peer;
    return uv_stream_get_write_queue_size(
        (const uv_stream_t *)(const void *)&conn->pipe);
}

static void on_sent(uv_write_t *write, int status)
{
    struct sent_bytes *sending = write->data;
    struct peer_conn *conn = write->handle->data;
    buf_finish(&sending->bytes);
    free(sending);
    if (!conn->alarm || conn->broken)
        return; /* it is being closed */
    if (status < 0) {
        break_conn(conn); /* it may not be read */
        return;
    }
    if (!conn->lagged || backlog(&conn->peer) > 0)
        return;
    conn->lagged = false;
    if (conn->stopped)
        alarm_set(conn->alarm, 0);
    sessions_caught_up(conn->server->sessions);
}

/* Takes the bytes. A peer that does not read first makes its sessions wait, and
 * is disconnected at MAX_BACKLOG_BYTES. */
static void server_write_bytes(struct peer_conn *conn, struct buf bytes)
{
    bool lagged = peer_lags(&conn->peer);
    struct sent_bytes *sending = allocate(sizeof(*sending));
    sending->write.data = sending;
    sending->bytes = bytes;
    uv_buf_t part = uv_buf_init(bytes.data, (unsigned int)bytes.len);
    if (uv_write(&sending->write, (uv_stream_t *)&conn->pipe, &part, 1,
                 on_sent) < 0) {
        buf_finish(&sending->bytes);
        free(sending);
        break_conn(conn);
        return;
    }
    if (backlog(&conn->peer) > MAX_BACKLOG_BYTES)
        break_conn(conn);
    if (lagged || !peer_lags(&conn->peer))
        return;
    conn->lagged = true;
    sessions_hold(conn->server->sessions);
}

/* A frame that cannot be encoded fails the one request that it answers. */
static void send_frame(struct peer *peer, const struct frame *frame)
{
    struct peer_conn *conn = (struct peer_conn *)peer;
    struct buf bytes;
    struct err err;
    if (conn->broken)
        return;
    buf_init(&bytes, MAX_FRAME_BYTES + FRAME_HEADER_BYTES);
    if (frame_encode(&schema_frame, frame, &bytes, &err)) {
        server_write_bytes(conn, bytes);
        return;
    }
    buf_finish(&bytes);
    log_line("frame.refused", NULL, "%s", err.text);
    peer_fail(peer, frame->ref, &err);
}

/* ---------------------------------------------------------------- reading */

static void greet(struct peer_conn *conn, const struct frame *hello)
{
    conn->greeted = true;
    alarm_stop(conn->alarm);
    peer_answer(&conn->peer, hello->ref, conn->server->welcome);
}

/* Whether no other connection has asked for the numbers for longer: of several
 * consumers one gets them, or their sum would count twice. */
static bool is_first_to_count(const struct peer_conn *conn, uint64_t now_ms)
{
    for (const struct peer_conn *other = conn->server->conns; other;
         other = other->next) {
        bool asks = other->counts_last_ms > 0 && !other->broken &&
                    now_ms - other->counts_last_ms < NUMBERS_MS;
        if (asks && other->counts_since < conn->counts_since)
            return false;
    }
    return true;
}

static void answer_numbers(struct peer_conn *conn, uint64_t ref)
{
    uint64_t now_ms = clock_ms();
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, RELAY_BYTES);
    if (conn->counts_last_ms == 0 ||
        now_ms - conn->counts_last_ms >= NUMBERS_MS)
        conn->counts_since = ++conn->server->counting;
    conn->counts_last_ms = now_ms;
    if (is_first_to_count(conn, now_ms)) {
        sessions_count(conn->server->sessions);
        metrics_write(&text);
    }
    peer_answer(
        &conn->peer, ref,
        (struct frame){ .type = FRAME_NUMBERS,
                        .data = buf_ok(&text) ? buf_view(&text) : VIEW("") });
}

static bool server_take_frame(struct peer_conn *conn, struct view body,
                              struct err *err)
{
    struct peer_request *request = request_new(&conn->peer, body, err);
    if (!request)
        return false;
    bool hello = request->frame.type == FRAME_HELLO;
    if (hello == conn->greeted) {
        request_free(request);
        return err_set(err, ERR_REJECT, "bad_message",
                       hello ? "hello twice" : "the first frame is not hello");
    }
    if (hello) {
        greet(conn, &request->frame);
        request_free(request);
        return true;
    }
    if (request->frame.type == FRAME_NUMBERS) {
        answer_numbers(conn, request->frame.ref);
        request_free(request);
        return true;
    }
    sessions_ask(conn->server->sessions, request);
    return true;
}

/* A peer that lags is not read: what it asks for may be megabytes. */
static bool has_enough(const struct peer_conn *conn)
{
    return conn->peer.queued_bytes > MAX_QUEUED_BYTES || peer_lags(&conn->peer);
}

/* Handles whole frames, until there are enough. A session may break the
 * connection meanwhile. */
static bool server_take_frames(struct peer_conn *conn, struct err *err)
{
    size_t at = 0, total = 0;
    bool good = true;
    while (good && !conn->broken && !has_enough(conn)) {
        struct view rest = { conn->input.data + at, conn->input.len - at };
        good = frame_length(rest, MAX_FRAME_BYTES, &total, err);
        if (!good || total == 0 || total > rest.len)
            break;
        struct view body = { rest.data + FRAME_HEADER_BYTES,
                             total - FRAME_HEADER_BYTES };
        good = server_take_frame(conn, body, err);
        at += total;
    }
    buf_drop(&conn->input, at);
    return good;
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *bytes)
{
    struct peer_conn *conn = handle->data;
    (void)suggested;
    char *room = buf_reserve(&conn->input, READ_BYTES);
    *bytes = uv_buf_init(room, room ? READ_BYTES : 0);
}

static void look(struct peer_conn *conn);

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *bytes)
{
    struct peer_conn *conn = stream->data;
    (void)bytes;
    if (got < 0) {
        close_conn(conn);
        return;
    }
    conn->input.len += (size_t)got;
    look(conn);
}

static void look(struct peer_conn *conn)
{
    struct err err;
    if (!server_take_frames(conn, &err)) {
        log_line("connection.refused", NULL, "%s", err.text);
        peer_fail(&conn->peer, 0, &err);
        break_conn(conn);
        return;
    }
    conn->stopped = has_enough(conn);
    if (conn->stopped)
        uv_read_stop((uv_stream_t *)&conn->pipe);
    else
        uv_read_start((uv_stream_t *)&conn->pipe, on_room, on_read);
}

static void on_alarm(void *owner)
{
    struct peer_conn *conn = owner;
    if (conn->broken || !conn->greeted)
        close_conn(conn);
    else
        look(conn);
}

/* In the next turn of the loop: a session is in the middle of its work. */
static void relieved(struct peer *peer)
{
    struct peer_conn *conn = (struct peer_conn *)peer;
    if (conn->alarm && conn->stopped && !conn->broken &&
        peer->queued_bytes <= MAX_QUEUED_BYTES / 2)
        alarm_set(conn->alarm, 0);
}

/* ------------------------------------------------------------- connecting */

static void turn_away(struct peer_conn *conn)
{
    struct err err;
    err_set(&err, ERR_RETRY, "executor_unavailable",
            "more than %d connections at once", MAX_CONNECTIONS);
    log_line("connection.refused", NULL, "%s", err.text);
    peer_fail(&conn->peer, 0, &err);
    break_conn(conn);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct server *server = listener->data;
    if (status < 0)
        return;
    struct peer_conn *conn = allocate(sizeof(*conn));
    conn->server = server;
    conn->peer = (struct peer){ send_frame, backlog, relieved, 0 };
    conn->pipe.data = conn;
    uv_pipe_init(server->sessions->loop, &conn->pipe, 0);
    buf_init(&conn->input, MAX_FRAME_BYTES + FRAME_HEADER_BYTES + READ_BYTES);
    conn->alarm = alarm_new(server->sessions->loop, on_alarm, conn);
    conn->next = server->conns;
    server->conns = conn;
    server->count++;
    if (uv_accept(listener, (uv_stream_t *)&conn->pipe) < 0) {
        close_conn(conn);
        return;
    }
    if (server->count > MAX_CONNECTIONS) {
        turn_away(conn);
        return;
    }
    alarm_set(conn->alarm, HELLO_MS);
    uv_read_start((uv_stream_t *)&conn->pipe, on_room, on_read);
}

static void on_server_closed(uv_handle_t *handle)
{
    free(handle->data);
}

struct server *server_new(struct sessions *sessions, int listener,
                          const struct frame *welcome, struct err *err)
{
    struct server *server = allocate(sizeof(*server));
    server->sessions = sessions;
    server->welcome = *welcome;
    server->listener.data = server;
    uv_pipe_init(sessions->loop, &server->listener, 0);
    int failed = uv_pipe_open(&server->listener, listener);
    if (failed == 0)
        failed =
            uv_listen((uv_stream_t *)&server->listener, BACKLOG, on_connection);
    if (failed == 0)
        return server;
    err_set(err, ERR_RETRY, "executor_unavailable", "listen: %s",
            uv_strerror(failed));
    uv_close((uv_handle_t *)&server->listener, on_server_closed);
    return NULL;
}

void server_free(struct server *server)
{
    if (!server)
        return;
    while (server->conns)
        close_conn(server->conns);
    uv_close((uv_handle_t *)&server->listener, on_server_closed);
}
