/* conn.c - a blocking connection to Redis.
 *
 * The socket itself never blocks: all waiting is done in one place, by poll(),
 * against one deadline for the whole call. */
#include "schemas/redis/conn.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "schemas/redis/route.h"
#include "schemas/redis/wire.h"

enum {
    ENOUGH_BYTES = 64 << 10, /* for one write of many commands */
    SEND_MS = 10000,         /* what was gathered, where nobody gave a time */
};

struct conn {
    struct route route;
    char where[300]; /* the server that was last connected to, for people */
    char *role;
    redisContext *wire; /* NULL: closed */
    size_t owed;        /* replies to what was sent and not yet received */
    size_t unsent;      /* bytes of commands that conn_send() has gathered */
    bool subscribed;    /* messages come unasked */
    bool refused;       /* the server would not do what was received last */
    time_t peer_ends;   /* its certificate; 0: it has none */
};

struct deadline {
    uint64_t at_ms;
    uint64_t given_ms;
};

static uint64_t conn_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct deadline deadline_in(uint64_t ms)
{
    uint64_t now = conn_now_ms();

    return (struct deadline){ ms < UINT64_MAX - now ? now + ms : UINT64_MAX,
                              ms };
}

struct conn *conn_new(const struct address *address, unsigned int slot,
                      const char *role)
{
    struct conn *conn = calloc(1, sizeof(*conn));

    if (!conn)
        abort();
    route_init(&conn->route, address, slot);
    conn->role = strdup(role);
    if (!conn->role)
        abort();
    return conn;
}

static void conn_hang_up(struct conn *conn)
{
    if (conn->wire)
        redisFree(conn->wire);
    conn->wire = NULL;
    conn->owed = conn->unsent = 0;
    conn->subscribed = false;
}

void conn_close(struct conn *conn)
{
    conn_hang_up(conn);
    route_leave(&conn->route);
}

void conn_free(struct conn *conn)
{
    if (!conn)
        return;
    conn_close(conn);
    route_finish(&conn->route);
    free(conn->role);
    free(conn);
}

/* Every failure comes here: closes the connection, and puts the server in front
 * of the sentence. */
static bool conn_fail(struct conn *conn, struct err *err)
{
    conn_close(conn);
    return err_prefix(err, "Redis at %s", conn->where);
}

/* 1 when one of the events is there, 0 when the time is up, -1 with err. */
static int wait_events(struct conn *conn, short events,
                       struct deadline deadline, struct err *err)
{
    struct pollfd fd = { .fd = conn->wire->fd, .events = events };

    for (;;) {
        uint64_t now = conn_now_ms();
        uint64_t left = now < deadline.at_ms ? deadline.at_ms - now : 0;
        int ready = poll(&fd, 1, left < INT_MAX ? (int)left : INT_MAX);

        if (ready >= 0 || errno != EINTR) {
            if (ready < 0)
                err_set(err, ERR_RETRY, "redis_unavailable", "poll: %s",
                        strerror(errno));
            return ready;
        }
    }
}

/* Waits for the events; fails when the time is up. what: for the sentence. */
static bool conn_await(struct conn *conn, short events,
                       struct deadline deadline, const char *what,
                       struct err *err)
{
    int ready = wait_events(conn, events, deadline, err);

    if (ready == 0)
        return err_set(err, ERR_RETRY, "redis_unavailable",
                       "%s: not within %" PRIu64 " ms", what,
                       deadline.given_ms);
    return ready > 0;
}

/* Reads while it writes: a server whose answers nobody reads stops reading,
 * too, and both would wait for each other. */
static bool write_out(struct conn *conn, struct deadline deadline,
                      struct err *err)
{
    bool done = false;

    conn->unsent = 0;
    while (wire_flush(conn->wire, &done, err)) {
        if (done)
            return true;
        if (!conn_await(conn, POLLIN | POLLOUT, deadline, "sending", err) ||
            !wire_fill(conn->wire, err))
            return false;
    }
    return false;
}

/* A write to a connection that the other side has closed raises SIGPIPE, which
 * kills a program that does not ignore it; a library cannot ask programs to do
 * so. So this thread blocks the signal during the write, and takes the one that
 * the write has caused; one that was pending before is left alone. */
static bool flush(struct conn *conn, struct deadline deadline, struct err *err)
{
    const struct timespec at_once = { 0 };
    sigset_t pipe, before, pending;
    bool sent;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    sent = write_out(conn, deadline, err);
    if (!sent && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return sent;
}

static redisReply *receive(struct conn *conn, struct deadline deadline,
                           struct err *err)
{
    redisReply *reply = NULL;

    while (wire_next(conn->wire, &reply, err)) {
        if (reply)
            return reply;
        if (!conn_await(conn, POLLIN, deadline, "its answer", err) ||
            !wire_fill(conn->wire, err))
            return NULL;
    }
    return NULL;
}

/* Where there are several servers to try, one of them may take only a part of
 * the time that is left. */
static struct deadline deadline_on_the_way(const struct conn *conn,
                                           struct deadline whole)
{
    struct deadline one = deadline_in(route_step_ms(&conn->route));
    bool alone = conn->route.address.kind == ADDRESS_SERVER;

    return alone || whole.at_ms < one.at_ms ? whole : one;
}

/* Connects to the next server of the route, sends the greeting and reads the
 * answers. */
static enum route_step visit(struct conn *conn, struct deadline deadline,
                             struct err *err)
{
    const struct address *address = &conn->route.address;
    const struct node *node = route_node(&conn->route);
    enum route_step step = ROUTE_LISTEN;

    route_print(&conn->route, conn->where, sizeof(conn->where));
    conn->wire = wire_open(address, node, node->host, err);
    if (!conn->wire ||
        !conn_await(conn, POLLOUT, deadline, "connecting", err) ||
        !wire_connected(conn->wire, address, node, err))
        return ROUTE_ASTRAY;
    route_greet(&conn->route, conn->wire, conn->role);
    if (!flush(conn, deadline, err))
        return ROUTE_ASTRAY;
    while (step == ROUTE_LISTEN) {
        redisReply *reply = receive(conn, deadline, err);
        if (!reply)
            return ROUTE_ASTRAY;
        step = route_hear(&conn->route, reply, err);
        freeReplyObject(reply);
    }
    conn->peer_ends = address->tls ? tls_peer_ends() : 0;
    return step;
}

/* Goes from server to server until one is the right one, all have failed, or
 * the time is up. */
static bool conn_find_server(struct conn *conn, struct deadline deadline,
                             struct err *err)
{
    for (;;) {
        enum route_step step =
            visit(conn, deadline_on_the_way(conn, deadline), err);
        if (step == ROUTE_ARRIVED)
            return true;
        if (step == ROUTE_ASTRAY && conn_now_ms() >= deadline.at_ms)
            return false;
        conn_hang_up(conn);
        if (step == ROUTE_ASTRAY && !route_stray(&conn->route))
            return false;
    }
}

/* Nothing is owed, so what can be read now is an end of file, or bytes that
 * nobody asked for: either way not a connection for the next command. */
static bool is_stale(struct conn *conn)
{
    struct pollfd fd = { .fd = conn->wire->fd, .events = POLLIN };

    return !conn->owed && !conn->subscribed && poll(&fd, 1, 0) != 0;
}

static bool connect_wire(struct conn *conn, struct deadline deadline,
                         struct err *err)
{
    if (conn->wire && is_stale(conn))
        conn_close(conn);
    if (conn->wire)
        return true;
    return conn_find_server(conn, deadline, err);
}

/* The next reply. NULL also when it ends the connection (reply.h): then the
 * command has no answer. */
static redisReply *conn_take_answer(struct conn *conn, struct deadline deadline,
                                    struct err *err)
{
    redisReply *reply = receive(conn, deadline, err);
    enum reply_cure cure = reply ? reply_cure(reply) : CURE_NONE;

    conn->refused = reply && reply_is_refusal(reply);
    if (cure == CURE_FOLLOW)
        route_follow(&conn->route, reply, err);
    else if (cure == CURE_RENEW)
        reply_ok(reply, err);
    else if (reply)
        return reply;
    freeReplyObject(reply);
    return NULL;
}

redisReply *conn_call(struct conn *conn, const struct command *command,
                      uint64_t timeout_ms, struct err *err)
{
    struct deadline deadline = deadline_in(timeout_ms);
    redisReply *reply = NULL;

    /* Replies of conn_send() must be received first, or the next one would be
     * taken for the answer to this command. */
    assert(conn->owed == 0);
    if (connect_wire(conn, deadline, err)) {
        wire_put(conn->wire, command);
        if (flush(conn, deadline, err))
            reply = conn_take_answer(conn, deadline, err);
    }
    if (!reply) {
        conn_fail(conn, err);
        return NULL;
    }
    if (!reply_ok(reply, err)) {
        freeReplyObject(reply);
        return NULL;
    }
    if (strcasecmp(command->argv[0], "SUBSCRIBE") == 0)
        conn->subscribed = true;
    return reply;
}

bool conn_send(struct conn *conn, const struct command *command,
               uint64_t timeout_ms, struct err *err)
{
    struct deadline deadline = deadline_in(timeout_ms);

    conn->refused = false;
    if (!connect_wire(conn, deadline, err))
        return conn_fail(conn, err);
    wire_put(conn->wire, command);
    conn->owed++;
    for (int i = 0; i < command->argc; i++)
        conn->unsent += command->argvlen[i];
    return conn->unsent < ENOUGH_BYTES || flush(conn, deadline, err) ||
           conn_fail(conn, err);
}

redisReply *conn_receive(struct conn *conn, uint64_t timeout_ms,
                         struct err *err)
{
    /* A failure since the send has closed the connection, and its replies are
     * lost. */
    if (conn->owed == 0) {
        conn->refused = false;
        err_set(err, ERR_RETRY, "redis_unavailable",
                "the connection was lost before this reply");
        return NULL;
    }
    struct deadline deadline = deadline_in(timeout_ms);
    redisReply *reply = NULL;

    conn->refused = false;
    if (conn->unsent == 0 || flush(conn, deadline, err))
        reply = conn_take_answer(conn, deadline, err);
    if (!reply) {
        conn_fail(conn, err);
        return NULL;
    }
    conn->owed--;
    return reply;
}

bool conn_was_refused(const struct conn *conn)
{
    return conn->refused;
}

bool conn_was_answered(const struct conn *conn)
{
    return conn->route.answered;
}

void conn_print_server(const struct conn *conn, char *text, size_t size)
{
    node_print(route_node(&conn->route), text, size);
}

bool conn_is_at_one(const struct conn *conn, const struct conn *other)
{
    return conn && other &&
           route_is_at(&conn->route, route_node(&other->route));
}

time_t conn_peer_ends(const struct conn *conn)
{
    return conn->peer_ends;
}

bool conn_is_open(const struct conn *conn)
{
    return conn->wire;
}

bool conn_wait_any(struct conn *const *conns, size_t count, uint64_t wait_ms)
{
    int limit = wait_ms < INT_MAX ? (int)wait_ms : INT_MAX;
    struct pollfd *fds = calloc(count, sizeof(*fds));
    int ready;

    if (!fds)
        abort();
    for (size_t i = 0; i < count; i++) {
        fds[i].fd = conns[i]->wire ? conns[i]->wire->fd : -1;
        fds[i].events = POLLIN;
    }
    ready = poll(fds, count, limit);
    free(fds);
    return ready != 0;
}

redisReply *conn_wait(struct conn *conn, uint64_t wait_ms, struct err *err)
{
    struct deadline deadline = deadline_in(wait_ms);
    redisReply *reply = NULL;
    int ready = 1;

    if (!conn->wire) {
        err_set(err, ERR_RETRY, "redis_unavailable", "not subscribed");
        return NULL;
    }
    if (conn->unsent > 0 && !flush(conn, deadline_in(SEND_MS), err)) {
        conn_fail(conn, err);
        return NULL;
    }
    while (ready > 0 && wire_next(conn->wire, &reply, err)) {
        if (reply)
            return reply;
        ready = wait_events(conn, POLLIN, deadline, err);
        if (ready == 0) {
            *err = (struct err){ .kind = ERR_NONE };
            return NULL;
        }
        if (ready > 0 && !wire_fill(conn->wire, err))
            break;
    }
    conn_fail(conn, err);
    return NULL;
}
