/* lease.c - keeps what we hold. */
#include "consumer/queue/lease.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/alarm.h"
#include "consumer/job/attempt.h"
#include "consumer/log.h"
#include "consumer/queue/upkeep.h"
#include "schemas/redis/transition.h"

enum { BATCH = 512 };

struct lease {
    struct partition *partition;
    struct link *ears; /* the control channel */
    struct alarm *alarm;
};

/* One command's worth; outlives nothing but its reply. */
struct batch {
    struct partition *partition;
    size_t count;
    struct {
        size_t slot;
        uint64_t serial; /* the slot may have another attempt by then */
    } held[BATCH];
};

static struct attempt *find(const struct batch *batch, size_t index)
{
    const struct consumer *consumer = batch->partition->consumer;
    struct attempt *attempt = consumer->slots[batch->held[index].slot];
    bool same = attempt != NULL && attempt->serial == batch->held[index].serial;
    return same ? attempt : NULL;
}

static void on_beaten(void *owner, const redisReply *reply,
                      const struct err *why)
{
    CLEANUP(cleanup_free) struct batch *batch = owner;
    struct beaten beaten[BATCH];
    struct err err;
    (void)why;
    if (reply == NULL)
        return; /* the next beat tells */
    if (!transition_beaten(reply, beaten, batch->count, &err)) {
        log_line("beat.refused", "{s:s}", "why", err.text);
        return;
    }
    for (size_t i = 0; i < batch->count; i++) {
        struct attempt *attempt = find(batch, i);
        if (attempt == NULL)
            continue;
        if (!beaten[i].held && attempt->machine.state >= FINISHING) {
            continue; /* it has ended, or its own write will tell */
        } else if (!beaten[i].held) {
            log_line("job.lost", "{s:s, s:I}", "job", attempt->origin.id,
                     "epoch", (json_int_t)attempt->origin.epoch);
            attempt_stop(attempt, STOP_LOST);
        } else if (beaten[i].cancel) {
            attempt_stop(attempt, STOP_CANCEL);
        }
    }
}

/* Also while its end is being written: Redis may be full for long. */
static bool is_beaten(const struct partition *partition,
                      const struct attempt *attempt)
{
    return attempt != NULL && attempt->partition == partition &&
           attempt->machine.state != ENDED;
}

static void send_batch(struct batch *batch, const struct holding *holdings)
{
    const struct partition *partition = batch->partition;
    const struct consumer *consumer = partition->consumer;
    struct command command;
    transition_beat(&command, &consumer->names, partition->number,
                    view_of(consumer->name), holdings, batch->count);
    if (!control_send(partition->control, &command, on_beaten, batch))
        free(batch);
    command_finish(&command);
}

static void beat_all(struct partition *partition)
{
    const struct consumer *consumer = partition->consumer;
    struct holding holdings[BATCH];
    struct batch *batch = NULL;
    for (size_t slot = 0; slot < consumer->settings.slots; slot++) {
        const struct attempt *attempt = consumer->slots[slot];
        if (is_beaten(partition, attempt)) {
            if (batch == NULL && (batch = calloc(1, sizeof(*batch))) == NULL)
                abort();
            batch->partition = partition;
            batch->held[batch->count].slot = slot;
            batch->held[batch->count].serial = attempt->serial;
            holdings[batch->count++] = attempt_holding(attempt);
        }
        bool last = slot + 1 == consumer->settings.slots;
        if (batch != NULL && (batch->count == BATCH || last)) {
            send_batch(batch, holdings);
            batch = NULL;
        }
    }
}

void lease_beat(struct lease *lease)
{
    alarm_set(lease->alarm, lease->partition->consumer->settings.lease_ms / 3);
    beat_all(lease->partition);
}

static void on_alarm(void *owner)
{
    lease_beat(owner);
}

/* A beat for that job alone, if we have it. */
static void beat_one(struct partition *partition, struct view id)
{
    const struct consumer *consumer = partition->consumer;
    for (size_t slot = 0; slot < consumer->settings.slots; slot++) {
        const struct attempt *attempt = consumer->slots[slot];
        if (is_beaten(partition, attempt) && view_is(id, attempt->origin.id)) {
            struct batch *batch = calloc(1, sizeof(*batch));
            if (batch == NULL)
                abort();
            batch->partition = partition;
            batch->count = 1;
            batch->held[0].slot = slot;
            batch->held[0].serial = attempt->serial;
            struct holding holding = attempt_holding(attempt);
            send_batch(batch, &holding);
        }
    }
}

/* [message, channel, "cancel <id>"], or "drain <consumer>": there is something
 * to be asked for sooner. */
static void on_push(void *owner, const redisReply *message)
{
    const struct lease *lease = owner;
    struct partition *partition = lease->partition;
    if (message->type != REDIS_REPLY_ARRAY || message->elements < 3 ||
        message->element[2]->type != REDIS_REPLY_STRING)
        return;
    const redisReply *said = message->element[2];
    struct view text = { said->str, said->len };
    if (view_starts(text, "cancel "))
        beat_one(partition, (struct view){ text.data + 7, text.len - 7 });
    else if (view_starts(text, "drain ") &&
             view_is((struct view){ text.data + 6, text.len - 6 },
                     partition->consumer->name))
        upkeep_report(partition->upkeep);
}

struct lease *lease_new(struct partition *partition,
                        const struct address *address)
{
    struct consumer *consumer = partition->consumer;
    struct lease *lease = calloc(1, sizeof(*lease));
    if (lease == NULL)
        abort();
    lease->partition = partition;
    lease->alarm = alarm_new(consumer->loop, on_alarm, lease);
    /* Deaf ears are no matter: beats carry the same news, later. */
    struct link_events events = { .on_push = on_push };
    lease->ears = link_new(consumer->loop, address,
                           names_slot(&consumer->names, partition->number),
                           "consumer-ears", events, lease);
    return lease;
}

void lease_open(struct lease *lease)
{
    struct key channel = names_control(&lease->partition->consumer->names,
                                       lease->partition->number);
    link_subscribe(lease->ears, key_view(&channel));
    link_open(lease->ears);
}

void lease_switch(struct lease *lease, const struct node *master)
{
    link_switch(lease->ears, master);
}

static void on_closed(void *owner)
{
    free(owner);
}

void lease_free(struct lease *lease)
{
    if (lease == NULL)
        return;
    alarm_free(lease->alarm);
    link_free(lease->ears, on_closed, lease);
}
