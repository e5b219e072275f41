/* Connections of consumers; what is asked of sessions, the test answers. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "executor/base/wire.h"
#include "executor/warden/numbers.h"
#include "executor/warden/server.h"
#include "schemas/message/limits.h"

enum { TURNS = 20 }; /* of the loop: enough for what has come to be seen */

static uv_loop_t loop;
static struct sessions every;
static struct server *server;
static struct sockaddr_un address;
static socklen_t address_bytes;

/* What the sessions would do. */
static struct {
    void (*answer)(struct peer_request *request);
    size_t asked, holds, caught_up, left;
    struct peer_request *waiting[64];
    size_t waits;
} world;

void sessions_ask(struct sessions *sessions, struct peer_request *request)
{
    (void)sessions;
    world.asked++;
    world.answer(request);
}

void sessions_leave(struct sessions *sessions, struct peer *peer)
{
    (void)sessions;
    (void)peer;
    world.left++;
}

void sessions_hold(struct sessions *sessions)
{
    (void)sessions;
    world.holds++;
}

void sessions_caught_up(struct sessions *sessions)
{
    (void)sessions;
    world.caught_up++;
}

void sessions_count(struct sessions *sessions)
{
    (void)sessions;
    metric_set(NUMBER_SESSIONS, 7, LABELS(VIEW("busy")));
}

/* ---------------------------------------------------------------- consumer */

static int fd; /* of the consumer */
static struct buf heard;

static void turn(void)
{
    for (int i = 0; i < TURNS; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
}

/* As much as there is room for; the rest when the server has taken some. */
static void say_bytes(struct view bytes)
{
    for (int i = 0; bytes.len > 0 && i < 1000; i++, turn()) {
        ssize_t sent = wire_send(fd, bytes, NULL, 0, MSG_DONTWAIT);
        size_t len = sent > 0 ? (size_t)sent : 0;
        bytes.data += len;
        bytes.len -= len;
    }
    assert_int_equal(bytes.len, 0);
}

static void say(const struct frame *frame)
{
    CLEANUP(buf_finish) struct buf bytes;
    struct err err;
    buf_init(&bytes, MAX_FRAME_BYTES + FRAME_HEADER_BYTES);
    assert_true(frame_encode(&schema_frame, frame, &bytes, &err));
    say_bytes(buf_view(&bytes));
}

static void listen_some(void)
{
    ssize_t got = 1;
    while (got > 0) {
        char *room = buf_reserve(&heard, 1 << 20);
        assert_non_null(room);
        got = recv(fd, room, 1 << 20, MSG_DONTWAIT);
        heard.len += got > 0 ? (size_t)got : 0;
    }
}

/* The type of the next frame, and its ref: "failed 7". */
static const char *next(void)
{
    static char text[64];
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct frame frame;
    struct err err;
    size_t total = 0;
    for (int i = 0; i < 1000 && (total == 0 || total > heard.len); i++) {
        turn();
        listen_some();
        assert_true(
            frame_length(buf_view(&heard), MAX_FRAME_BYTES, &total, &err));
    }
    if (total == 0 || total > heard.len)
        return "nothing";
    struct view body = { heard.data + FRAME_HEADER_BYTES,
                         total - FRAME_HEADER_BYTES };
    assert_true(message_decode(&schema_frame, body, &frame, &arena, &err));
    snprintf(text, sizeof(text), "%s %llu%s", frame_type_names[frame.type],
             (unsigned long long)frame.ref,
             frame.data.len == 0 ? ""
             : memmem(frame.data.data, frame.data.len,
                      "quern_sessions{state=\"busy\"} 7\n", 31)
                 ? " with numbers"
                 : " without numbers");
    buf_drop(&heard, total);
    return text;
}

static int connect_one(void **state)
{
    static const struct frame welcome = { .type = FRAME_WELCOME };
    struct err err;
    (void)state;
    memset(&world, 0, sizeof(world));
    uv_loop_init(&loop);
    every.loop = &loop;
    int listener =
        socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The kernel chooses an abstract name. */
    address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    address_bytes = sizeof(address);
    if (bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &address_bytes) < 0)
        return -1;
    server = server_new(&every, listener, &welcome, &err);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!server || connect(fd, (struct sockaddr *)&address, address_bytes) < 0)
        return -1;
    buf_init(&heard, 64 << 20);
    say(&(struct frame){ .type = FRAME_HELLO, .ref = 1 });
    assert_string_equal(next(), "welcome 1");
    return 0;
}

static int disconnect(void **state)
{
    (void)state;
    close_fd(&fd);
    buf_finish(&heard);
    server_free(server);
    turn();
    return uv_loop_close(&loop);
}

/* ------------------------------------------------------------------- tests */

static void answer_done(struct peer_request *request)
{
    struct frame done = { .type = FRAME_DONE };
    if (request->frame.ref == 2)
        done.cell.line = UINT64_MAX; /* the format has no such number */
    peer_answer(request->peer, request->frame.ref, done);
    request_free(request);
}

static void what_cannot_be_said_fails_for_who_asked(void **state)
{
    (void)state;
    world.answer = answer_done;
    for (uint64_t ref = 2; ref <= 3; ref++)
        say(&(struct frame){ .type = FRAME_RUN, .ref = ref });
    assert_string_equal(next(), "failed 2");
    assert_string_equal(next(), "done 3");
}

/* As after a link that broke: each call that goes on is told from its start. */
static void answer_much(struct peer_request *request)
{
    static char bytes[15 << 20];
    struct pair part = { VIEW("a/b"), { bytes, sizeof(bytes) } };
    peer_answer(
        request->peer, request->frame.ref,
        (struct frame){ .type = FRAME_DISPLAY, .bundle = { &part, 1 } });
    request_free(request);
}

enum { MANY = 20 }; /* answers: more bytes than any connection may owe */

static void who_lags_is_told_all_in_time(void **state)
{
    char expected[32];
    (void)state;
    world.answer = answer_much;
    for (uint64_t ref = 1; ref <= MANY; ref++)
        say(&(struct frame){ .type = FRAME_RUN, .ref = ref });
    turn();
    assert_int_equal(world.asked, 1);
    assert_int_equal(world.holds, 1);
    for (int ref = 1; ref <= MANY; ref++) {
        snprintf(expected, sizeof(expected), "display %d", ref);
        assert_string_equal(next(), expected);
    }
    assert_int_equal(world.asked, MANY);
    assert_int_equal(world.holds, MANY);
    turn();
    assert_int_equal(world.caught_up, MANY);
    assert_int_equal(world.left, 0);
}

static void who_lags_and_ends_is_missed(void **state)
{
    (void)state;
    world.answer = answer_much;
    say(&(struct frame){ .type = FRAME_RUN, .ref = 1 });
    turn();
    assert_int_equal(world.left, 0);
    close_fd(&fd);
    turn();
    assert_int_equal(world.left, 1);
}

static void keep_waiting(struct peer_request *request)
{
    world.waiting[world.waits++] = request;
}

static void who_asks_too_much_is_heard_in_time(void **state)
{
    static char bytes[MAX_TOOL_BYTES];
    (void)state;
    world.answer = keep_waiting;
    for (uint64_t ref = 1; ref <= 8; ref++)
        say(&(struct frame){
            .type = FRAME_PUT, .ref = ref, .data = { bytes, sizeof(bytes) } });
    say(&(struct frame){ .type = FRAME_LIST, .ref = 9 });
    turn();
    assert_int_equal(world.asked, 8);
    for (size_t i = 0; i < 8; i++)
        request_free(world.waiting[i]);
    turn();
    assert_int_equal(world.asked, 9);
    request_free(world.waiting[8]);
}

static void there_are_so_many_connections(void **state)
{
    int others[80], open = 0, told = 0;
    char byte;
    (void)state;
    for (size_t i = 0; i < 80; i++) {
        others[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(
            connect(others[i], (struct sockaddr *)&address, address_bytes), 0);
        turn();
    }
    for (size_t i = 0; i < 80; i++) {
        ssize_t got = recv(others[i], &byte, 1, MSG_DONTWAIT);
        open += got < 0;
        told += got > 0; /* why it is closed */
        close(others[i]);
    }
    assert_int_equal(open, 63);
    assert_int_equal(told, 17);
}

/* Takes the place of fd. Greets, as the first one did. */
static int connect_another(void)
{
    int first = fd;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, address_bytes),
                     0);
    say(&(struct frame){ .type = FRAME_HELLO, .ref = 1 });
    assert_string_equal(next(), "welcome 1");
    return first;
}

/* Or a sum over all consumers of the host would count it twice. */
static void one_connection_gets_the_numbers(void **state)
{
    (void)state;
    metrics_declare(warden_numbers, WARDEN_NUMBERS);
    int idle = connect_another(); /* it never asks */
    say(&(struct frame){ .type = FRAME_NUMBERS, .ref = 2 });
    assert_string_equal(next(), "numbers 2 with numbers");
    int first = connect_another();
    say(&(struct frame){ .type = FRAME_NUMBERS, .ref = 3 });
    assert_string_equal(next(), "numbers 3");
    close_fd(&first);
    turn();
    say(&(struct frame){ .type = FRAME_NUMBERS, .ref = 4 });
    assert_string_equal(next(), "numbers 4 with numbers");
    close_fd(&idle);
    assert_int_equal(world.asked, 0);
    metrics_finish();
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, connect_one, disconnect)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_cannot_be_said_fails_for_who_asked),
        TEST(who_lags_is_told_all_in_time),
        TEST(who_lags_and_ends_is_missed),
        TEST(who_asks_too_much_is_heard_in_time),
        TEST(there_are_so_many_connections),
        TEST(one_connection_gets_the_numbers),
    };
    signal(SIGPIPE, SIG_IGN); /* as the executor does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
