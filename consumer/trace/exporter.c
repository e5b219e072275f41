/* exporter.c - the machine of the exporter. */
#include "consumer/trace/exporter.h"

#include <stdio.h>
#include <string.h>

static machine_step enter_gathering, step_gathered, enter_sending,
    step_answered, enter_resting, step_rested, enter_left;
static void heed_leave(void *owner);

static const struct machine_state states[EXPORT_STATES] = {
    [EXPORT_GATHERING] = { "gathering",
                           TO(EXPORT_GATHERING) | TO(EXPORT_SENDING) |
                               TO(EXPORT_LEFT),
                           .enter = enter_gathering, .landed = step_gathered },
    [EXPORT_SENDING] = { "sending",
                         TO(EXPORT_GATHERING) | TO(EXPORT_RESTING) |
                             TO(EXPORT_LEFT),
                         .enter = enter_sending, .landed = step_answered },
    [EXPORT_RESTING] = { "resting", TO(EXPORT_SENDING) | TO(EXPORT_LEFT),
                         .enter = enter_resting, .landed = step_rested },
    [EXPORT_LEFT] = { "left", 0, .enter = enter_left },
};
static const struct machine_kind kind = { "an exporter of spans", states,
                                          EXPORT_STATES, NULL, heed_leave };

static enum pace exporter_go(struct exporter *exporter, enum export_state next)
{
    return machine_go(&exporter->machine, next);
}

/* ------------------------------------------------------------------ counts */

/* Says what was lost, unless that was done just now: then with the next loss,
 * or at the end. */
static void tell_losses(struct exporter *exporter, bool last)
{
    struct export_counts *told = &exporter->told, *now = &exporter->counts;
    struct export_counts since = { now->sent - told->sent,
                                   now->dropped - told->dropped,
                                   now->refused - told->refused };
    uint64_t now_ms = exporter->ports->now_ms(exporter->owner);
    if ((since.dropped + since.refused == 0 && *exporter->why == '\0') ||
        (!last && exporter->told_ms != 0 &&
         now_ms - exporter->told_ms < EXPORT_TELL_MS))
        return;
    exporter->ports->tell(exporter->owner, &since, exporter->why);
    *told = *now;
    exporter->told_ms = now_ms > 0 ? now_ms : 1;
    *exporter->why = '\0';
}

static void note(struct exporter *exporter, const char *why)
{
    if (*why != '\0')
        snprintf(exporter->why, sizeof(exporter->why), "%s", why);
}

static void drop(struct exporter *exporter, size_t count, const char *why)
{
    if (count == 0)
        return;
    exporter->counts.dropped += count;
    note(exporter, why);
    tell_losses(exporter, false);
}

/* ------------------------------------------------------------------- batch */

static void batch_fill(struct exporter *exporter)
{
    struct buf *batch = &exporter->batch;
    batch->max = EXPORT_BATCH_BYTES;
    buf_add(batch, exporter->head);
    exporter->batched = ring_take(&exporter->ring, batch, EXPORT_BATCH);
    batch->max += exporter->tail.len;
    buf_add(batch, exporter->tail);
    exporter->tries = 0;
}

/* Keeps the memory for the next one. */
static void batch_clear(struct exporter *exporter)
{
    exporter->batched = 0;
    buf_clear(&exporter->batch);
}

/* ----------------------------------------------------------------- machine */

/* Before each step: nothing outlasts the time that is left to a process that
 * leaves. */
static void heed_leave(void *owner)
{
    struct exporter *exporter = owner;
    enum export_state state = exporter->machine.state;
    if (state == EXPORT_LEFT || !exporter->leaving)
        return;
    if (exporter->overdue)
        exporter_go(exporter, EXPORT_LEFT);
    else if (state == EXPORT_RESTING)
        exporter_go(exporter, EXPORT_SENDING);
    else if (state == EXPORT_GATHERING)
        exporter_go(exporter,
                    exporter->ring.count > 0 ? EXPORT_SENDING : EXPORT_LEFT);
}

static enum pace enter_gathering(void *owner)
{
    struct exporter *exporter = owner;
    size_t count = exporter->ring.count;
    if (count > 0)
        exporter->ports->set_alarm(exporter->owner,
                                   count < EXPORT_BATCH ? EXPORT_EVERY_MS : 0);
    return WAIT;
}

static enum pace step_gathered(void *owner)
{
    struct exporter *exporter = owner;
    return exporter_go(exporter, exporter->ring.count > 0 ? EXPORT_SENDING
                                                          : EXPORT_GATHERING);
}

static enum pace enter_sending(void *owner)
{
    struct exporter *exporter = owner;
    if (exporter->batched == 0)
        batch_fill(exporter);
    exporter->tries++;
    exporter->ports->send(exporter->owner, buf_view(&exporter->batch));
    return WAIT;
}

static enum pace step_answered(void *owner)
{
    struct exporter *exporter = owner;
    const struct export_answer *answer = &exporter->answer;
    struct export_counts *counts = &exporter->counts;
    size_t count = exporter->batched;
    bool again = answer->verdict == EXPORT_AGAIN;
    if (again && !exporter->leaving && exporter->tries < EXPORT_TRIES)
        return exporter_go(exporter, EXPORT_RESTING);
    batch_clear(exporter);
    if (again) {
        drop(exporter, count, answer->why);
        exporter->overdue = exporter->leaving; /* no other would do better */
        return exporter_go(exporter, EXPORT_GATHERING);
    }
    uint64_t refused =
        answer->verdict == EXPORT_REFUSED || answer->refused > count
            ? count
            : answer->refused;
    counts->refused += refused;
    counts->sent += count - refused;
    note(exporter, answer->why);
    tell_losses(exporter, false);
    return exporter_go(exporter, EXPORT_GATHERING);
}

static uint64_t rest_ms(const struct exporter *exporter)
{
    uint64_t asked = exporter->answer.retry_after_ms;
    uint64_t doubled = (uint64_t)EXPORT_BACKOFF_MS << (exporter->tries - 1);
    uint64_t less =
        exporter->ports->chance(exporter->owner) % (doubled / 2 + 1);
    uint64_t ms = asked > 0 ? asked : doubled - less;
    return ms < EXPORT_MOST_BACKOFF_MS ? ms : EXPORT_MOST_BACKOFF_MS;
}

static enum pace enter_resting(void *owner)
{
    struct exporter *exporter = owner;
    exporter->ports->set_alarm(exporter->owner, rest_ms(exporter));
    return WAIT;
}

static enum pace step_rested(void *owner)
{
    return exporter_go(owner, EXPORT_SENDING);
}

static enum pace enter_left(void *owner)
{
    struct exporter *exporter = owner;
    size_t count = exporter->batched + ring_clear(&exporter->ring);
    if (exporter->batched > 0)
        exporter->ports->give_up(exporter->owner);
    batch_clear(exporter);
    drop(exporter, count, "the process left before they could be sent");
    tell_losses(exporter, true);
    return WAIT;
}

/* -------------------------------------------------------------- life cycle */

void exporter_init(struct exporter *exporter, const struct export_ports *ports,
                   void *owner, struct view head, struct view tail)
{
    *exporter = (struct exporter){
        .ports = ports, .owner = owner, .head = head, .tail = tail
    };
    buf_init(&exporter->batch, EXPORT_BATCH_BYTES);
    machine_init(&exporter->machine, &kind, exporter, EXPORT_GATHERING);
    machine_run(&exporter->machine);
}

void exporter_finish(struct exporter *exporter)
{
    ring_finish(&exporter->ring);
    buf_finish(&exporter->batch);
}

/* Only the outermost call ends with left(), after which the exporter may be
 * gone. */
static void exporter_run(struct exporter *exporter)
{
    bool inside = exporter->machine.running;
    bool had_left = exporter->machine.state == EXPORT_LEFT;
    machine_run(&exporter->machine);
    if (!inside && !had_left && exporter->machine.state == EXPORT_LEFT)
        exporter->ports->left(exporter->owner);
}

void exporter_add(struct exporter *exporter, struct view span)
{
    enum export_state state = exporter->machine.state;
    if (span.len == 0 || state == EXPORT_LEFT) {
        drop(exporter, 1, "a span was longer than 64 KiB");
        return;
    }
    drop(exporter, ring_add(&exporter->ring, span),
         "the collector does not keep up");
    size_t count = exporter->ring.count;
    if (state == EXPORT_GATHERING && (count == 1 || count == EXPORT_BATCH))
        enter_gathering(exporter);
}

void exporter_rang(struct exporter *exporter)
{
    enum export_state state = exporter->machine.state;
    exporter->overdue = exporter->leaving;
    exporter->machine.landed |=
        state == EXPORT_GATHERING || state == EXPORT_RESTING;
    exporter_run(exporter);
}

void exporter_answered(struct exporter *exporter,
                       const struct export_answer *answer)
{
    if (exporter->machine.state != EXPORT_SENDING)
        return;
    exporter->answer = *answer;
    exporter->machine.landed = true;
    exporter_run(exporter);
}

void exporter_leave(struct exporter *exporter)
{
    exporter->leaving = true;
    exporter->ports->set_alarm(exporter->owner, EXPORT_LEAVE_MS);
    exporter_run(exporter);
}
