/* lease.c - renews the leases of the jobs that run in this consumer. */
#include "consumer/queue/lease.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/numbers.h"
#include "consumer/queue/jobs.h"
#include "consumer/queue/upkeep.h"
#include "schemas/redis/transition.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

enum { BATCH = 512 }; /* jobs of one beat: what quern_v1_beat takes */

struct lease {
    struct partition *partition;
    struct link *ears; /* subscribes to the control channel */
    struct alarm *alarm;
};

/* The jobs of one command, until its reply. */
struct beat_batch {
    struct partition *partition;
    size_t count;
    struct {
        size_t slot;
        uint64_t serial; /* the slot may have another attempt by then */
    } jobs[BATCH];
};

/* False: the attempt that the beat was for is gone. */
static bool lease_find_job(const struct beat_batch *batch, size_t index,
                           struct slot_job *job)
{
    const struct partition *partition = batch->partition;
    return partition->consumer->jobs->find(partition, batch->jobs[index].slot,
                                           job) &&
           job->serial == batch->jobs[index].serial;
}

/* While the end of a job is being written, Redis may have carried that out, so
 * that the lease is over: the answer to the end tells. */
static void heed(const struct beat_batch *batch, size_t index,
                 const struct beat_reply *beat)
{
    struct consumer *consumer = batch->partition->consumer;
    size_t slot = batch->jobs[index].slot;
    struct slot_job job;
    if (!lease_find_job(batch, index, &job) || (!beat->held && job.ends))
        return;
    if (!beat->held) {
        log_job_line(&job.log, "job.lost", "{s:I}", "epoch",
                     (json_int_t)job.epoch);
        metric_add(NUMBER_LEASES_LOST, 1, NO_LABELS);
        consumer->jobs->on_lost(consumer, slot);
    } else if (beat->cancel) {
        consumer->jobs->on_cancel(consumer, slot);
    }
}

static void on_beaten(void *owner, const redisReply *reply,
                      const struct err *why)
{
    CLEANUP(cleanup_free) struct beat_batch *batch = owner;
    struct beat_reply beat[BATCH];
    struct err err;
    (void)why;
    if (!reply)
        return; /* the next beat asks again */
    if (!transition_beaten(reply, beat, batch->count, &err)) {
        log_line("beat.refused", "{s:s}", "why", err.text);
        return;
    }
    for (size_t i = 0; i < batch->count; i++)
        heed(batch, i, &beat[i]);
}

static struct beat_batch *batch_new(struct partition *partition)
{
    struct beat_batch *batch = calloc(1, sizeof(*batch));
    if (!batch)
        abort();
    batch->partition = partition;
    return batch;
}

static struct job_lease batch_add(struct beat_batch *batch, size_t slot,
                                  const struct slot_job *job)
{
    batch->jobs[batch->count].slot = slot;
    batch->jobs[batch->count++].serial = job->serial;
    return (struct job_lease){ view_of(job->id), job->epoch };
}

static void send_batch(struct beat_batch *batch, const struct job_lease *leases)
{
    const struct partition *partition = batch->partition;
    const struct consumer *consumer = partition->consumer;
    struct command command;
    transition_beat(&command, &consumer->names, partition->number,
                    view_of(consumer->name), leases, batch->count);
    if (!control_send(partition->control, &command, on_beaten, batch))
        free(batch);
    command_finish(&command);
}

/* Also for jobs whose ends are being written: while Redis is full, that may
 * take longer than a lease.
 */
static void beat_all(struct partition *partition)
{
    const struct consumer *consumer = partition->consumer;
    struct job_lease leases[BATCH];
    struct beat_batch *batch = NULL;
    struct slot_job job;
    for (size_t slot = 0; slot < consumer->settings.slots; slot++) {
        if (consumer->jobs->find(partition, slot, &job)) {
            if (!batch)
                batch = batch_new(partition);
            size_t at = batch->count;
            leases[at] = batch_add(batch, slot, &job);
        }
        bool last = slot + 1 == consumer->settings.slots;
        if (batch && (batch->count == BATCH || last)) {
            send_batch(batch, leases);
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
    struct slot_job job;
    for (size_t slot = 0; slot < consumer->settings.slots; slot++) {
        if (!consumer->jobs->find(partition, slot, &job) ||
            !view_is(id, job.id))
            continue;
        struct beat_batch *batch = batch_new(partition);
        struct job_lease lease = batch_add(batch, slot, &job);
        send_batch(batch, &lease);
    }
}

/* [message, channel, text]. The text is "cancel <id>" or "drain <consumer>". It
 * is only a hint to ask Redis sooner, so a false one does no harm. */
static void on_push(void *owner, const redisReply *message)
{
    const struct lease *lease = owner;
    struct partition *partition = lease->partition;
    if (message->type != REDIS_REPLY_ARRAY || message->elements < 3 ||
        message->element[2]->type != REDIS_REPLY_STRING)
        return;
    const redisReply *notice = message->element[2];
    struct view text = { notice->str, notice->len };
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
    if (!lease)
        abort();
    lease->partition = partition;
    lease->alarm = alarm_new(consumer->loop, on_alarm, lease);
    /* No on_lost: the next beat brings what a lost message would have said. */
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
    if (!lease)
        return;
    alarm_free(lease->alarm);
    link_free(lease->ears, on_closed, lease);
}
