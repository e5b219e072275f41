/* test_threads.c - a handle each is all that threads need: run under TSan. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "producer/client/quern.h"
#include "tests/unit/redis/server.h"

enum { THREADS = 4, JOBS = 8 };

struct thread {
    pthread_t id;
    const char *url;
    int done; /* jobs that went the whole way */
    struct quern_error error;
};

/* Reads events until the end; tells whether it came. */
static bool follows(struct quern *quern, const char *id,
                    struct quern_error *error)
{
    struct quern_watch *watch = quern_watch_open(quern, id, 0, error);
    enum quern_next next = QUERN_EVENT;

    while (watch && next == QUERN_EVENT) {
        struct quern_event event;

        next = quern_watch_next(watch, &event, 20000, error);
        if (next == QUERN_EVENT)
            free(quern_json(event.bytes, event.size, error));
    }
    quern_watch_close(watch);
    return watch && next == QUERN_END;
}

/* One job through every call that a client makes. */
static bool goes_through(struct quern *quern, struct quern_error *error)
{
    const struct quern_file file = { .name = "x", .data = "x", .size = 1 };
    const struct quern_job job = { .prompt = "q",
                                   .files = &file,
                                   .file_count = 1 };
    enum quern_cancel_outcome cancelled;
    struct quern_status status;
    struct quern_id id;

    if (!quern_submit(quern, &job, &id, NULL, error) ||
        !quern_cancel(quern, id.text, NULL, &cancelled, error) ||
        !follows(quern, id.text, error) ||
        !quern_wait(quern, id.text, 20000, &status, error))
        return false;
    quern_status_finish(&status);
    return true;
}

static void *work(void *data)
{
    struct thread *thread = data;
    const struct quern_options options = { .url = thread->url,
                                           .timeout_ms = 20000 };
    struct quern *quern = quern_open(&options, &thread->error);

    while (quern && thread->done < JOBS && goes_through(quern, &thread->error))
        thread->done++;
    quern_close(quern);
    return NULL;
}

static void threads_with_a_handle_each_do_not_meet(void **state)
{
    struct thread threads[THREADS] = { 0 };
    struct server server;

    (void)state;
    server_start(&server, 0, NULL);
    for (size_t i = 0; i < THREADS; i++) {
        threads[i].url = server.url;
        assert_int_equal(
            pthread_create(&threads[i].id, NULL, work, &threads[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i].id, NULL);
    server_stop(&server);
    for (size_t i = 0; i < THREADS; i++) {
        assert_string_equal(threads[i].error.text, "");
        assert_int_equal(threads[i].done, JOBS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_with_a_handle_each_do_not_meet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
