/* activity.c - what all activities of a job have in common. */
#include "consumer/activity/activity.h"

/* A rest lasts as long as wait.h has said. */
static uint64_t limit_ms(const struct activity *activity)
{
    return activity->machine.state == activity->kind->resting
               ? activity->attempt->retries.wait_ms
               : machine_limit_ms(&activity->machine);
}

void activity_entered(void *owner)
{
    struct activity *activity = owner;
    alarm_set(activity->alarm, limit_ms(activity));
}

static void on_alarm(void *owner)
{
    struct activity *activity = owner;
    if (activity->machine.state == activity->kind->resting) {
        activity_land(activity);
        return;
    }
    attempt_overdue(activity->attempt, machine_state_name(&activity->machine),
                    limit_ms(activity),
                    limit_ms(activity) == ACTIVITY_REDIS_MS);
}

void activity_init(struct activity *activity, const struct activity_kind *kind,
                   struct attempt *attempt)
{
    activity->kind = kind;
    activity->attempt = attempt;
    activity->alarm = alarm_new(attempt->consumer->loop, on_alarm, activity);
    machine_init(&activity->machine, &kind->machine, activity, 0);
    activity_entered(activity);
    attempt->activity = activity;
}

void activity_free(struct activity *activity)
{
    if (!activity)
        return;
    alarm_free(activity->alarm);
    activity->kind->free(activity);
}

void activity_land(struct activity *activity)
{
    activity->machine.landed = true;
    attempt_run(activity->attempt);
}

struct activity *activity_find(const struct attempt *attempt,
                               const struct activity_kind *kind,
                               unsigned int state)
{
    struct activity *activity = attempt->activity;
    bool is_it = activity && activity->kind == kind &&
                 activity->machine.state == state &&
                 activity->end == ACTIVITY_GOES_ON;
    return is_it ? activity : NULL;
}

enum pace activity_rested(void *owner)
{
    struct activity *activity = owner;
    return machine_go(&activity->machine, activity->resume);
}

static enum pace activity_end_as(struct activity *activity,
                                 enum activity_end how)
{
    activity->end = how;
    alarm_stop(activity->alarm);
    return WAIT; /* step_working() of attempt.c sees the end */
}

enum pace activity_done(struct activity *activity)
{
    return activity_end_as(activity, ACTIVITY_OVER);
}

enum pace activity_park(struct activity *activity)
{
    return activity_end_as(activity, ACTIVITY_PARKS);
}

enum pace activity_fail(struct activity *activity, const struct err *why)
{
    attempt_fail(activity->attempt, why);
    return WAIT; /* step_working() sees the stop, and heed_stop() acts */
}

enum pace activity_request(struct activity *activity,
                           const struct session_request *request)
{
    session_request(activity->attempt->session, request);
    return WAIT;
}

bool activity_is_granted(struct activity *activity, enum pace *pace)
{
    const struct err *fault = session_fault(activity->attempt->session);
    if (fault->kind == ERR_NONE)
        return true;
    *pace = activity_delay(activity, wait_retry(activity->attempt, fault, 0),
                           fault, activity->machine.state);
    return false;
}

enum pace activity_delay(struct activity *activity, enum delay delay,
                         const struct err *why, unsigned int resume)
{
    switch (delay) {
    case DELAY_HERE:
        wait_tell(activity->attempt, why);
        activity->resume = resume;
        return machine_go(&activity->machine, activity->kind->resting);
    case DELAY_IN_QUEUE:
        wait_tell(activity->attempt, why);
        return activity_park(activity);
    case DELAY_ELSEWHERE:
        return WAIT; /* the attempt stops */
    case DELAY_NONE:
        break;
    }
    return activity_fail(activity, why);
}
