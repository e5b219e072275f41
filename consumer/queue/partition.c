/* partition.c - the partitions that a consumer serves. */
#include "consumer/queue/partition.h"

#include <stdlib.h>

#include "consumer/queue/intake.h"
#include "consumer/queue/lease.h"
#include "consumer/queue/upkeep.h"

struct partitions {
    struct consumer *consumer;
    struct partitions_events events;
    void *owner;
    size_t next;    /* the partition to be offered slots first */
    size_t offered; /* slots that takes and reads keep until on_round() */
    size_t count;
    struct partition list[];
};

/* ------------------------------------------------------------------ slots */

static size_t free_slots(const struct partitions *partitions)
{
    const struct consumer *consumer = partitions->consumer;
    size_t taken = consumer->running + partitions->offered;
    return taken < consumer->settings.slots ? consumer->settings.slots - taken
                                            : 0;
}

/* Not before the answer to the first report: the consumer may have to drain. */
static bool can_take(const struct partition *partition)
{
    return upkeep_has_reported(partition->upkeep) &&
           intake_can_take(partition->intake);
}

static size_t count_takers(const struct partitions *partitions)
{
    size_t takers = 0;
    for (size_t i = 0; i < partitions->count; i++)
        takers += can_take(&partitions->list[i]);
    return takers;
}

/* Each that can take is offered an equal share of what is left, rounded up.
 * When there are fewer than two slots for each, a read that waits must be
 * short: the slot that it keeps may be wanted elsewhere. */
void partitions_wake(struct partitions *partitions)
{
    if (!partitions)
        return;
    const struct consumer *consumer = partitions->consumer;
    size_t unused = consumer->settings.slots - consumer->running;
    bool scarce = partitions->count > 1 && unused < 2 * partitions->count;
    size_t takers = count_takers(partitions);
    for (size_t i = 0; i < partitions->count && takers > 0; i++) {
        size_t left = free_slots(partitions);
        struct partition *partition = &partitions->list[partitions->next];
        if (left == 0)
            return;
        partitions->next = (partitions->next + 1) % partitions->count;
        if (!can_take(partition))
            continue;
        partitions->offered += intake_offer(
            partition->intake, (left + takers - 1) / takers, scarce);
        takers--;
    }
}

/* A take or read has ended; the jobs that it brought run by now. */
static void on_round(void *owner, size_t offered)
{
    const struct partition *partition = owner;
    struct partitions *partitions = partition->all;
    struct consumer *consumer = partitions->consumer;
    partitions->offered -= offered;
    partitions_wake(partitions);
    if (consumer->mode != MODE_SERVING)
        consumer->on_ended(consumer); /* a drain may have waited for this */
}

static void on_made(void *owner)
{
    const struct partition *partition = owner;
    upkeep_mend(partition->upkeep);
}

static void on_drain(void *owner, bool draining)
{
    const struct partition *partition = owner;
    const struct partitions *partitions = partition->all;
    partitions->events.on_drain(partitions->owner, draining);
}

static void on_known(void *owner)
{
    const struct partition *partition = owner;
    partitions_wake(partition->all);
}

/* ------------------------------------------------------------------- life */

bool partitions_are_ready(const struct partitions *partitions)
{
    if (!partitions)
        return false;
    for (size_t i = 0; i < partitions->count; i++)
        if (!control_is_ready(partitions->list[i].control))
            return false;
    return true;
}

bool partitions_are_well(struct partitions *partitions)
{
    bool well = true;
    for (size_t i = 0; partitions && i < partitions->count; i++)
        well = intake_is_well(partitions->list[i].intake) && well;
    return well;
}

static bool partition_serves(const struct partition *partition, struct err *err)
{
    if (!control_is_ready(partition->control))
        return err_set(err, ERR_RETRY, "redis_unavailable",
                       "Redis is away, or has not said yet that partition %u "
                       "can be served",
                       partition->number);
    if (!upkeep_has_reported(partition->upkeep))
        return err_set(err, ERR_RETRY, "redis_unavailable",
                       "partition %u has not answered the first report yet",
                       partition->number);
    return intake_serves(partition->intake, err);
}

bool partitions_serve(const struct partitions *partitions, struct err *err)
{
    if (!partitions)
        return err_set(err, ERR_RETRY, "redis_unavailable",
                       "Redis has not told yet how many partitions there are");
    for (size_t i = 0; i < partitions->count; i++)
        if (!partition_serves(&partitions->list[i], err))
            return false;
    return true;
}

/* Beats first: after an outage that was longer than a lease, our leases are
 * over until they are renewed. */
static void on_ready(void *owner)
{
    struct partition *partition = owner;
    struct partitions *partitions = partition->all;
    lease_beat(partition->lease);
    upkeep_wake(partition->upkeep);
    if (partitions_are_ready(partitions))
        partitions->events.on_ready(partitions->owner);
    partitions_wake(partitions);
}

static void on_refused(void *owner, const struct err *why)
{
    const struct partition *partition = owner;
    const struct partitions *partitions = partition->all;
    partitions->events.on_refused(partitions->owner, why);
}

static void open_partition(struct partitions *partitions, unsigned int number,
                           const struct address *address)
{
    struct consumer *consumer = partitions->consumer;
    struct partition *partition = &partitions->list[number];
    struct control_events events = { on_ready, on_refused };
    struct intake_events reading = { on_round, on_made };
    struct upkeep_events reporting = { on_drain, on_known };
    *partition = (struct partition){ .all = partitions,
                                     .consumer = consumer,
                                     .number = number };
    struct control_setup setup = {
        .address = address,
        .names = &consumer->names,
        .partition = number,
        .look_ms = consumer->settings.lease_ms,
        .answer_ms = consumer->settings.redis_ms,
        .durability = consumer->durability,
        /* Without a cluster all partitions are on one server. */
        .looks = number == 0 || address->kind == ADDRESS_CLUSTER,
    };
    partition->control = control_new(consumer->loop, &setup, events, partition);
    partition->intake = intake_new(partition, address, reading, partition);
    partition->lease = lease_new(partition, address);
    partition->upkeep = upkeep_new(partition, reporting, partition);
    control_open(partition->control);
    intake_open(partition->intake);
    lease_open(partition->lease);
}

struct partitions *partitions_new(struct consumer *consumer, size_t count,
                                  const struct address *address,
                                  struct partitions_events events, void *owner)
{
    struct partitions *partitions =
        calloc(1, sizeof(*partitions) + count * sizeof(struct partition));
    if (!partitions)
        abort();
    *partitions = (struct partitions){
        .consumer = consumer, .events = events, .owner = owner, .count = count
    };
    for (size_t i = 0; i < count; i++)
        open_partition(partitions, (unsigned int)i, address);
    return partitions;
}

void partitions_stop(struct partitions *partitions)
{
    partitions_wake(partitions); /* starts entries that were read, whose jobs
                                    are handed back */
    for (size_t i = 0; partitions && i < partitions->count; i++)
        intake_stop(partitions->list[i].intake);
}

void partitions_report(struct partitions *partitions)
{
    for (size_t i = 0; partitions && i < partitions->count; i++)
        upkeep_report(partitions->list[i].upkeep);
}

size_t partitions_depart(struct partitions *partitions,
                         void (*done)(void *owner), void *owner)
{
    size_t count = 0;
    for (size_t i = 0; partitions && i < partitions->count; i++)
        count += upkeep_depart(partitions->list[i].upkeep, done, owner);
    return count;
}

bool partitions_are_over(const struct partitions *partitions)
{
    for (size_t i = 0; partitions && i < partitions->count; i++)
        if (!intake_is_over(partitions->list[i].intake))
            return false;
    return true;
}

void partitions_switch(struct partitions *partitions, const struct node *master)
{
    for (size_t i = 0; partitions && i < partitions->count; i++) {
        struct partition *partition = &partitions->list[i];
        control_switch(partition->control, master);
        intake_switch(partition->intake, master);
        lease_switch(partition->lease, master);
    }
}

/* No callback of theirs comes from here on. The controls go last, because the
 * others send through them. */
void partitions_free(struct partitions *partitions)
{
    for (size_t i = 0; partitions && i < partitions->count; i++) {
        struct partition *partition = &partitions->list[i];
        intake_free(partition->intake);
        lease_free(partition->lease);
        upkeep_free(partition->upkeep);
        control_free(partition->control);
    }
    free(partitions);
}
