/* Who waits gets what is for it, whoever reads: threads and a warden that
 * answers as it likes, over a real socket. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "executor/guest/inbox.h"

enum { NONCE = 77, BOUND_S = 30 };

static int warden; /* the other end */

static int open_channel(void **state)
{
    int pair[2];
    (void)state;
    alarm(BOUND_S); /* who waits for ever fails */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    warden = fcntl(pair[1], F_DUPFD_CLOEXEC, 64);
    int own = fcntl(pair[0], F_DUPFD_CLOEXEC, 64);
    close(pair[0]);
    close(pair[1]);
    if (dup2(own, CHANNEL_FD) < 0)
        return -1;
    close(own);
    inbox_init();
    return 0;
}

static int close_channel(void **state)
{
    (void)state;
    close(CHANNEL_FD);
    return warden >= 0 ? close(warden) : 0;
}

static void send_frame(const struct guest_frame *frame)
{
    struct err err;
    assert_true(channel_write(warden, frame, -1, &err));
}

static void answer(uint64_t nonce, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    send_frame(&(struct guest_frame){
        .type = GUEST_ANSWER,
        .nonce = nonce,
        .number = number,
        .data = view_of(text),
    });
}

static enum inbox_news wait_long(struct inbox_waiter *waiter)
{
    struct err err;
    enum inbox_news news;
    do
        news = inbox_wait(waiter, &err);
    while (news == INBOX_LOOK);
    return news;
}

/* A thread that asks, and what it got: its number, or why it got none. */
struct asker {
    pthread_t thread;
    uint64_t number;
    bool watchful;
    struct inbox_waiter waiter;
    enum inbox_news news;
    char got[24];
};

static void *wait_for_one(void *owner)
{
    struct asker *asker = owner;
    asker->news = wait_long(&asker->waiter);
    if (asker->news == INBOX_HERE) {
        const struct guest_frame *frame = &asker->waiter.frame;
        struct view said =
            frame->error.name.len > 0 ? frame->error.name : frame->data;
        snprintf(asker->got, sizeof(asker->got), "%.*s", VIEW_ARG(said));
    }
    inbox_forget(&asker->waiter);
    return NULL;
}

static void start(struct asker *asker, uint64_t number)
{
    *asker = (struct asker){ .number = number, .watchful = number % 3 == 0 };
    inbox_expect(&asker->waiter, NONCE, number);
    asker->waiter.watchful = asker->watchful;
    assert_int_equal(pthread_create(&asker->thread, NULL, wait_for_one, asker),
                     0);
}

static void finish(struct asker *asker, const char *got)
{
    pthread_join(asker->thread, NULL);
    assert_string_equal(asker->got, got);
}

static void finish_own(struct asker *asker)
{
    char own[24];
    snprintf(own, sizeof(own), "%llu", (unsigned long long)asker->number);
    finish(asker, own);
}

enum { ASKERS = 9 };

static void answers_in_disorder_reach_who_asked(void **state)
{
    (void)state;
    struct asker askers[ASKERS];
    for (size_t i = 0; i < ASKERS; i++)
        start(&askers[i], i + 1);
    for (size_t i = ASKERS; i-- > 0;)
        answer(NONCE, i + 1);
    for (size_t i = 0; i < ASKERS; i++)
        finish_own(&askers[i]);
}

/* Whoever reads leaves first each time: another must take over. */
static void who_has_read_gives_way(void **state)
{
    (void)state;
    struct asker askers[ASKERS];
    for (size_t i = 0; i < ASKERS; i++)
        start(&askers[i], i + 1);
    for (size_t i = 0; i < ASKERS; i++) {
        answer(NONCE, i + 1);
        finish_own(&askers[i]);
    }
}

static void the_next_cell_comes_through_whoever_reads(void **state)
{
    (void)state;
    struct inbox_waiter next;
    struct asker asker;
    inbox_expect(&next, 0, 0);
    start(&asker, 1);
    send_frame(&(struct guest_frame){
        .type = GUEST_CELL, .nonce = 5, .code = VIEW("x = 1") });
    assert_int_equal(wait_long(&next), INBOX_HERE);
    assert_int_equal(next.frame.type, GUEST_CELL);
    assert_true(view_is(next.frame.code, "x = 1"));
    inbox_forget(&next);
    answer(NONCE, 1);
    finish_own(&asker);
}

static void what_nobody_waits_for_goes_nowhere(void **state)
{
    (void)state;
    struct asker asker;
    start(&asker, 2);
    answer(NONCE, 1);     /* of one that has given up */
    answer(NONCE + 1, 2); /* of another cell */
    answer(NONCE, 2);
    answer(NONCE, 2); /* twice */
    finish_own(&asker);
    start(&asker, 3);
    answer(NONCE, 3);
    finish_own(&asker);
}

static void the_end_of_the_cell_answers_who_still_waits(void **state)
{
    (void)state;
    struct inbox_waiter next;
    struct asker askers[ASKERS];
    inbox_expect(&next, 0, 0);
    for (size_t i = 0; i < ASKERS; i++)
        start(&askers[i], i + 1);
    inbox_end_cell();
    send_frame(&(struct guest_frame){ .type = GUEST_SNAPSHOT });
    assert_int_equal(wait_long(&next), INBOX_HERE);
    assert_int_equal(next.frame.type, GUEST_SNAPSHOT);
    for (size_t i = 0; i < ASKERS; i++)
        finish(&askers[i], "cell_ended");
    inbox_forget(&next);
}

static void a_warden_that_is_gone_is_told_to_all(void **state)
{
    (void)state;
    struct asker askers[ASKERS];
    for (size_t i = 0; i < ASKERS; i++)
        start(&askers[i], i + 1);
    close(warden);
    warden = -1;
    for (size_t i = 0; i < ASKERS; i++) {
        finish(&askers[i], "");
        assert_int_equal(askers[i].news, INBOX_CLOSED);
    }
    struct inbox_waiter late;
    struct err err = { .kind = ERR_RETRY };
    inbox_expect(&late, NONCE, 1);
    assert_int_equal(inbox_wait(&late, &err), INBOX_CLOSED);
    assert_int_equal(err.kind, ERR_NONE); /* it is just gone */
    inbox_forget(&late);
}

static void a_broken_frame_is_an_error_for_all(void **state)
{
    (void)state;
    struct inbox_waiter waiter;
    struct err err = { .kind = ERR_NONE };
    inbox_expect(&waiter, NONCE, 1);
    assert_int_equal(write(warden, "\0\0\0\1\xc1", 5), 5);
    enum inbox_news news;
    do
        news = inbox_wait(&waiter, &err);
    while (news == INBOX_LOOK);
    assert_int_equal(news, INBOX_CLOSED);
    assert_string_equal(err.code, "bad_message");
    inbox_forget(&waiter);
}

/* Python's main thread looks after signals, whether it reads or sleeps. */
static void who_is_watchful_looks_up_now_and_then(void **state)
{
    (void)state;
    struct err err;
    struct inbox_waiter first;
    struct asker asker;
    inbox_expect(&first, NONCE, 100);
    first.watchful = true;
    assert_int_equal(inbox_wait(&first, &err), INBOX_LOOK); /* it reads */
    start(&asker, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(inbox_wait(&first, &err), INBOX_LOOK);
    inbox_forget(&first); /* a KeyboardInterrupt: it waits no more */
    answer(NONCE, 1);
    finish_own(&asker);
}

static void a_descriptor_comes_with_its_frame(void **state)
{
    (void)state;
    struct err err;
    struct inbox_waiter next;
    inbox_expect(&next, 0, 0);
    assert_true(channel_write(
        warden, &(struct guest_frame){ .type = GUEST_SNAPSHOT }, warden, &err));
    assert_int_equal(wait_long(&next), INBOX_HERE);
    assert_int_equal(next.frame_fds.count, 1);
    int fd = next.frame_fds.fds[0];
    inbox_forget(&next); /* and goes with it */
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* The child: one thread, and another channel; what the parent waited for is
 * none of its business. */
static int be_a_snapshot(int channel)
{
    struct inbox_waiter next;
    if (dup2(channel, CHANNEL_FD) < 0)
        return 1;
    inbox_init();
    inbox_expect(&next, 0, 0);
    return wait_long(&next) == INBOX_HERE &&
                   view_is(next.frame.code, "for the child")
               ? 0
               : 2;
}

static void a_fork_has_an_inbox_of_its_own(void **state)
{
    (void)state;
    int pair[2], status;
    struct err err;
    struct asker askers[ASKERS];
    for (size_t i = 0; i < ASKERS; i++)
        start(&askers[i], i + 1);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(BOUND_S);
        _exit(be_a_snapshot(pair[1]));
    }
    for (size_t i = 0; i < ASKERS; i++)
        answer(NONCE, i + 1);
    assert_true(channel_write(pair[0],
                              &(struct guest_frame){
                                  .type = GUEST_CELL,
                                  .code = VIEW("for the child"),
                              },
                              -1, &err));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (size_t i = 0; i < ASKERS; i++)
        finish_own(&askers[i]);
    close(pair[0]);
    close(pair[1]);
}

/* ------------------------------------------------------ many, for a while */

enum { THREADS = 12, ROUNDS = 200 };
static atomic_uint_fast64_t numbers;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

static void *ask_and_ask(void *owner)
{
    bool *wrong = owner;
    for (int i = 0; i < ROUNDS; i++) {
        struct asker asker = { .number = atomic_fetch_add(&numbers, 1) + 1 };
        char own[24];
        struct err err;
        inbox_expect(&asker.waiter, NONCE, asker.number);
        asker.waiter.watchful = asker.number % 5 == 0;
        pthread_mutex_lock(&writing); /* Python's lock does that */
        bool asked = channel_write(CHANNEL_FD,
                                   &(struct guest_frame){
                                       .type = GUEST_TOOL,
                                       .number = asker.number,
                                   },
                                   -1, &err);
        pthread_mutex_unlock(&writing);
        wait_for_one(&asker);
        snprintf(own, sizeof(own), "%llu", (unsigned long long)asker.number);
        *wrong |= !asked || strcmp(asker.got, own) != 0;
    }
    return NULL;
}

/* Answers all, some later than those that came after them. */
static void *answer_all(void *owner)
{
    enum { HELD = 5, MOMENT_MS = 2 };
    uint64_t held[HELD];
    size_t count = 0;
    struct pollfd more = { .fd = warden, .events = POLLIN };
    CLEANUP(buf_finish) struct buf bytes;
    buf_init(&bytes, 1 << 20);
    for (int left = THREADS * ROUNDS; left > 0 || count > 0;) {
        CLEANUP(arena_finish) struct arena arena = { 0 };
        struct guest_frame asked;
        struct err err;
        if (count == HELD || (count > 0 && poll(&more, 1, MOMENT_MS) == 0)) {
            while (count > 0)
                answer(NONCE, held[--count]);
            continue;
        }
        if (!channel_read(warden, &asked, &bytes, &arena, NULL, &err))
            return owner; /* the threads wait, and the alarm tells */
        held[count++] = asked.number;
        left--;
    }
    return NULL;
}

static void many_threads_ask_for_a_while(void **state)
{
    (void)state;
    pthread_t threads[THREADS], other;
    bool wrong[THREADS] = { false };
    pthread_create(&other, NULL, answer_all, NULL);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, ask_and_ask, &wrong[i]);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(wrong[i]);
    }
    pthread_join(other, NULL);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_channel, close_channel)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_in_disorder_reach_who_asked),
        TEST(who_has_read_gives_way),
        TEST(the_next_cell_comes_through_whoever_reads),
        TEST(what_nobody_waits_for_goes_nowhere),
        TEST(the_end_of_the_cell_answers_who_still_waits),
        TEST(a_warden_that_is_gone_is_told_to_all),
        TEST(a_broken_frame_is_an_error_for_all),
        TEST(who_is_watchful_looks_up_now_and_then),
        TEST(a_descriptor_comes_with_its_frame),
        TEST(a_fork_has_an_inbox_of_its_own),
        TEST(many_threads_ask_for_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
