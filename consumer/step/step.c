/* step.c - what all activities of a job have in common. */
#include "consumer/step/step.h"

static uint64_t limit_ms(const struct step *step)
{
    return step->machine.state == step->kind->resting
               ? step->attempt->patience.wait_ms
               : machine_limit_ms(&step->machine);
}

void step_entered(void *owner)
{
    struct step *step = owner;
    alarm_set(step->alarm, limit_ms(step));
}

static void on_alarm(void *owner)
{
    struct step *step = owner;
    if (step->machine.state == step->kind->resting) {
        step_land(step);
        return;
    }
    attempt_overdue(step->attempt, machine_state_name(&step->machine),
                    limit_ms(step), limit_ms(step) == STEP_REDIS_MS);
}

void step_init(struct step *step, const struct step_kind *kind,
               struct attempt *attempt)
{
    step->kind = kind;
    step->attempt = attempt;
    step->alarm = alarm_new(attempt->consumer->loop, on_alarm, step);
    machine_init(&step->machine, &kind->machine, step, 0);
    step_entered(step);
    attempt->step = step;
}

void step_free(struct step *step)
{
    if (step == NULL)
        return;
    alarm_free(step->alarm);
    step->kind->free(step);
}

void step_land(struct step *step)
{
    step->machine.landed = true;
    attempt_run(step->attempt);
}

struct step *step_find(const struct attempt *attempt,
                       const struct step_kind *kind, unsigned int state)
{
    struct step *step = attempt->step;
    bool is_it = step != NULL && step->kind == kind &&
                 step->machine.state == state && step->end == STEP_GOES_ON;
    return is_it ? step : NULL;
}

enum pace step_rested(void *owner)
{
    struct step *step = owner;
    return machine_go(&step->machine, step->resume);
}

static enum pace end(struct step *step, enum step_end how)
{
    step->end = how;
    alarm_stop(step->alarm);
    return WAIT;
}

enum pace step_done(struct step *step)
{
    return end(step, STEP_OVER);
}

enum pace step_park(struct step *step)
{
    return end(step, STEP_PARKS);
}

enum pace step_fail(struct step *step, const struct err *why)
{
    attempt_fail(step->attempt, why);
    return WAIT; /* the attempt stops */
}

enum pace step_request(struct step *step, const struct session_request *request)
{
    session_request(step->attempt->session, request);
    return WAIT;
}

bool step_is_granted(struct step *step, enum pace *pace)
{
    const struct err *fault = session_fault(step->attempt->session);
    if (fault->kind == ERR_NONE)
        return true;
    *pace = step_delay(step, wait_retry(step->attempt, fault, 0), fault,
                       step->machine.state);
    return false;
}

enum pace step_delay(struct step *step, enum delay delay, const struct err *why,
                     unsigned int resume)
{
    switch (delay) {
    case DELAY_HERE:
        wait_tell(step->attempt, why);
        step->resume = resume;
        return machine_go(&step->machine, step->kind->resting);
    case DELAY_IN_QUEUE:
        wait_tell(step->attempt, why);
        return step_park(step);
    case DELAY_ELSEWHERE:
        return WAIT; /* the attempt stops */
    case DELAY_NONE:
        break;
    }
    return step_fail(step, why);
}
