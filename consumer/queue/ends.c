/* ends.c - sends the ends of a partition's jobs, many in one command. */
#include "consumer/queue/ends.h"

#include <stdlib.h>

#include "consumer/alarm.h"
#include "schemas/redis/reply.h"

enum {
    /* Of one command: Redis serves nobody else while it carries it out. */
    MOST = 32,
    MOST_BYTES = 1 << 20, /* an end that is larger goes alone */
};

struct ends {
    const struct names *names;
    unsigned int partition;
    struct ends_events events;
    void *owner;
    struct end *first, **end; /* not sent yet, in order */
    struct alarm *alarm;      /* of 0 ms: rings when all callbacks of this
                                 iteration of the loop have added theirs */
};

/* A command that is on its way; it may outlive struct ends. */
struct end_batch {
    end_told *told;
    size_t count;
    struct end *ends[MOST];
};

static void ends_tell(const struct end_batch *batch, size_t index,
                      const redisReply *reply)
{
    struct err err;
    if (reply_ok(reply, &err))
        batch->told(batch->ends[index]->sender, reply, NULL);
    else
        batch->told(batch->ends[index]->sender, NULL, &err);
}

static void on_answer(void *owner, const redisReply *reply,
                      const struct err *lost)
{
    struct end_batch *batch = owner;
    struct err err;
    (void)lost;
    bool told = reply && transition_finished_many(reply, batch->count, &err);
    for (size_t i = 0; i < batch->count; i++) {
        if (told)
            ends_tell(batch, i, reply->element[i]);
        else
            batch->told(batch->ends[i]->sender, NULL, reply ? &err : NULL);
    }
    free(batch);
}

static size_t size_of(const struct finish *finish)
{
    return finish->result.len + finish->event_data.len;
}

/* The oldest ones, as many as fit in one command. */
static struct end_batch *next_batch(struct ends *ends)
{
    size_t bytes = 0;
    struct end_batch *batch = malloc(sizeof(*batch));
    if (!batch)
        abort();
    batch->told = ends->events.told;
    batch->count = 0;
    do {
        struct end *end = ends->first;
        ends->first = end->next;
        bytes += size_of(&end->finish);
        batch->ends[batch->count++] = end;
    } while (ends->first && batch->count < MOST &&
             bytes + size_of(&ends->first->finish) <= MOST_BYTES);
    if (!ends->first)
        ends->end = &ends->first;
    return batch;
}

static void send_batch(struct ends *ends, struct end_batch *batch)
{
    struct finish finishes[MOST];
    struct command command;
    for (size_t i = 0; i < batch->count; i++)
        finishes[i] = batch->ends[i]->finish;
    transition_finish_many(&command, ends->names, ends->partition, finishes,
                           batch->count);
    if (!ends->events.send(ends->owner, &command, on_answer, batch))
        on_answer(batch, NULL, NULL);
    command_finish(&command);
}

static void on_turn(void *owner)
{
    struct ends *ends = owner;
    while (ends->first)
        send_batch(ends, next_batch(ends));
}

struct ends *ends_new(uv_loop_t *loop, const struct names *names,
                      unsigned int partition, struct ends_events events,
                      void *owner)
{
    struct ends *ends = calloc(1, sizeof(*ends));
    if (!ends)
        abort();
    *ends = (struct ends){
        .names = names, .partition = partition, .events = events, .owner = owner
    };
    ends->end = &ends->first;
    ends->alarm = alarm_new(loop, on_turn, ends);
    return ends;
}

void ends_add(struct ends *ends, struct end *end)
{
    end->next = NULL;
    *ends->end = end;
    ends->end = &end->next;
    if (!alarm_is_set(ends->alarm))
        alarm_set(ends->alarm, 0);
}

void ends_free(struct ends *ends)
{
    if (!ends)
        return;
    while (ends->first)
        on_answer(next_batch(ends), NULL, NULL);
    alarm_free(ends->alarm);
    free(ends);
}
