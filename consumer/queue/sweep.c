/* sweep.c - puts back entries of streams that were read and never started. */
#include "consumer/queue/sweep.h"

#include <stdlib.h>

#include "consumer/alarm.h"
#include "consumer/log.h"
#include "consumer/queue/lease.h"
#include "schemas/redis/upkeep.h"

enum {
    STEP_ENTRIES = 100, /* in one step: Redis does nothing else meanwhile */
    MAX_CURSOR = 64,
};

struct sweep {
    const struct partition *partition;
    struct alarm *alarm;
    struct key *streams;
    size_t count, at;        /* of streams; the one that is walked */
    char cursor[MAX_CURSOR]; /* where the next step goes on; "-": begin and end
                                of a stream */
    bool *alive;             /* of the step on its way; NULL: there is none */
};

/* Its reply may come after the sweep was freed: alive is false then. */
struct sweep_step {
    struct sweep *sweep;
    bool alive;
};

static void take_step(struct sweep *sweep);

/* Up to a quarter sooner, so that consumers do not come all at once. */
static void rest(struct sweep *sweep)
{
    uint64_t half = sweep->partition->consumer->settings.lease_ms / 2;
    alarm_set(sweep->alarm, half - half / 4 * (uint64_t)(rand() % 256) / 256);
}

static void on_step(void *owner, const redisReply *reply, const struct err *why)
{
    CLEANUP(cleanup_free) struct sweep_step *step = owner;
    struct sweep *sweep = step->sweep;
    struct err err;
    struct view cursor;
    uint64_t jobs = 0;
    (void)why;
    if (!step->alive)
        return;
    sweep->alive = NULL;
    if (!reply) {
        rest(sweep);
        return;
    }
    if (!transition_reclaimed(reply, &cursor, &jobs, &err)) {
        log_line("sweep.refused", "{s:s}", "why", err.text);
        rest(sweep);
        return;
    }
    if (jobs > 0)
        log_line("sweep.found", "{s:s%, s:I}", "stream",
                 sweep->streams[sweep->at].text, sweep->streams[sweep->at].len,
                 "jobs", (json_int_t)jobs);
    snprintf(sweep->cursor, sizeof(sweep->cursor), "%.*s", VIEW_ARG(cursor));
    if (view_is(cursor, "-") && ++sweep->at == sweep->count) {
        sweep->at = 0;
        rest(sweep);
        return;
    }
    take_step(sweep);
}

static void take_step(struct sweep *sweep)
{
    const struct partition *partition = sweep->partition;
    const struct consumer *consumer = partition->consumer;
    struct reclaim reclaim = {
        .stream = key_view(&sweep->streams[sweep->at]),
        .lease_ms = consumer->settings.lease_ms,
        .count = STEP_ENTRIES,
        .cursor = view_of(sweep->cursor),
    };
    struct sweep_step *step = malloc(sizeof(*step));
    if (!step)
        abort();
    *step = (struct sweep_step){ sweep, true };
    struct command command;
    transition_reclaim(&command, &consumer->names, partition->number, &reclaim);
    if (control_send(partition->control, &command, on_step, step)) {
        sweep->alive = &step->alive;
    } else {
        free(step);
        rest(sweep);
    }
    command_finish(&command);
}

/* Our own leases first: after the process stood still they may be over, and
 * what follows can take a while.
 */
static void on_alarm(void *owner)
{
    struct sweep *sweep = owner;
    lease_beat(sweep->partition->lease);
    take_step(sweep);
}

struct sweep *sweep_new(const struct partition *partition)
{
    const struct consumer *consumer = partition->consumer;
    struct sweep *sweep = calloc(1, sizeof(*sweep));
    if (!sweep)
        abort();
    sweep->partition = partition;
    sweep->cursor[0] = '-';
    sweep->streams =
        consumer_streams(consumer, partition->number, &sweep->count);
    sweep->alarm = alarm_new(consumer->loop, on_alarm, sweep);
    return sweep;
}

void sweep_wake(struct sweep *sweep)
{
    if (!sweep->alive)
        alarm_set(sweep->alarm, sweep->partition->consumer->settings.lease_ms);
}

void sweep_free(struct sweep *sweep)
{
    if (!sweep)
        return;
    if (sweep->alive)
        *sweep->alive = false;
    alarm_free(sweep->alarm);
    free(sweep->streams);
    free(sweep);
}
