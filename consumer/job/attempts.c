/* attempts.c - the functions of job/ that the queue calls. */
#include "consumer/job/attempts.h"

#include "consumer/activity/model_turn.h"
#include "consumer/job/attempt.h"
#include "consumer/log.h"

/* An attempt that has ended still has its slot while its machine is on the
 * stack: nothing is asked of it any more. */
static bool attempts_find(const struct partition *partition, size_t slot,
                          struct slot_job *job)
{
    const struct attempt *attempt = partition->consumer->slots[slot];
    if (!attempt || attempt->partition != partition ||
        attempt->machine.state == ENDED)
        return false;
    *job = (struct slot_job){
        .id = attempt->origin.id,
        .epoch = attempt->origin.epoch,
        .serial = attempt->serial,
        .ends = attempt->machine.state >= FINISHING,
    };
    return true;
}

static void attempts_stop(struct consumer *consumer, size_t slot,
                          enum stop_reason why)
{
    if (consumer->slots[slot])
        attempt_stop(consumer->slots[slot], why);
}

static void on_lost(struct consumer *consumer, size_t slot)
{
    attempts_stop(consumer, slot, STOP_LOST);
}

static void on_cancel(struct consumer *consumer, size_t slot)
{
    attempts_stop(consumer, slot, STOP_CANCEL);
}

static void on_release(struct consumer *consumer, size_t slot)
{
    attempts_stop(consumer, slot, STOP_RELEASE);
}

static void print(const struct consumer *consumer, size_t slot)
{
    const struct attempt *attempt = consumer->slots[slot];
    if (!attempt)
        return;
    log_line("state.attempt", "{s:s, s:s, s:I, s:I, s:I}", "job",
             attempt->origin.id, "state", attempt_state_name(attempt),
             "attempt", (json_int_t)attempt->origin.number, "turn",
             (json_int_t)attempt->conversation.turn, "records",
             (json_int_t)attempt->conversation.records);
}

/* Running one attempt may end it, so each slot is looked at again. */
static void on_waits_read(struct consumer *consumer)
{
    for (size_t i = 0; i < consumer->settings.slots; i++) {
        struct attempt *attempt = consumer->slots[i];
        if (attempt && model_turn_is_held(attempt))
            attempt_run(attempt);
    }
}

const struct jobs attempts = {
    .on_started = attempt_new,
    .find = attempts_find,
    .on_lost = on_lost,
    .on_cancel = on_cancel,
    .on_release = on_release,
    .print = print,
    .on_waits_read = on_waits_read,
};
