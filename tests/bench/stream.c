/* stream.c - how soon who follows a job sees what its model says.
 *
 * Reads "N" a line: submits N conversations at once, follows all of them, and
 * prints as JSON the milliseconds from when the model wrote a delta, which it
 * says itself ("stamp" of the practice model), to when it was here. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer/client/quern.h"
#include "schemas/message/event.h"

enum { MOST = 1000, STAMP_LEN = 12, QUIET_MS = 60 * 1000 };

static const uint64_t ROUND_US = 1000000000000; /* a stamp begins anew */

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Several deltas may have been put together. */
static void tell_delays(struct view text, uint64_t seen_us, bool *any)
{
    for (; text.len >= STAMP_LEN;
         text.data += STAMP_LEN, text.len -= STAMP_LEN) {
        char stamp[STAMP_LEN + 1] = "";

        memcpy(stamp, text.data, STAMP_LEN);
        uint64_t sent_us = strtoull(stamp, NULL, 10);
        uint64_t took_us = (seen_us + ROUND_US - sent_us) % ROUND_US;
        printf("%s%.3f", *any ? "," : "", (double)took_us / 1e3);
        *any = true;
    }
}

static void take(const struct quern_event *given, uint64_t seen_us, bool *any)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct view bytes = { given->bytes, given->size };
    struct event event;
    struct err why;

    if (given->terminal && strcmp(given->type, "job.completed") != 0)
        errx(EXIT_FAILURE, "%s: %s", given->job, given->type);
    if (strcmp(given->type, "message.delta") != 0)
        return;
    if (!event_decode(&event, bytes, &arena, &why))
        errx(EXIT_FAILURE, "%s", why.text);
    tell_delays(event.data.text, seen_us, any);
}

static void submit(struct quern *quern, struct quern_watch *watch, size_t count)
{
    static struct quern_submit_outcome submitted[MOST];
    static struct quern_job jobs[MOST];
    struct quern_error error;

    for (size_t i = 0; i < count; i++)
        jobs[i] = (struct quern_job){ .prompt = "stream" };
    if (!quern_submit_many(quern, jobs, count, submitted, &error))
        errx(EXIT_FAILURE, "submit: %s", error.text);
    for (size_t i = 0; i < count; i++)
        if (!quern_watch_add(watch, submitted[i].id.text, 0, &error))
            errx(EXIT_FAILURE, "watch: %s", error.text);
}

static void follow(struct quern_watch *watch)
{
    enum quern_next next;
    bool any = false;

    printf("[");
    do {
        struct quern_event event;
        struct quern_error error = { 0 };

        next = quern_watch_next(watch, &event, QUIET_MS, &error);
        if (next == QUERN_EVENT)
            take(&event, now_us(), &any);
        else if (next != QUERN_END)
            errx(EXIT_FAILURE, "a gap, or nothing for a minute: %s",
                 error.text);
    } while (next != QUERN_END);
    puts("]");
}

int main(void)
{
    struct quern *quern = quern_open(NULL, NULL);
    struct quern_watch *watch =
        quern ? quern_watch_open(quern, NULL, 0, NULL) : NULL;
    char line[64];

    if (!watch)
        errx(EXIT_FAILURE, "no watch");
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        size_t count = strtoul(line, NULL, 10);

        if (count < 1 || count > MOST)
            errx(EXIT_FAILURE, "%zu jobs, from 1 to %d", count, MOST);
        submit(quern, watch, count);
        follow(watch);
        fflush(stdout);
    }
    quern_watch_close(watch);
    quern_close(quern);
    return EXIT_SUCCESS;
}
