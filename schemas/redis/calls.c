/* calls.c - the calls of a link that wait for their replies, in order. */
#include "schemas/redis/calls.h"

#include <stdlib.h>

void calls_init(struct calls *calls)
{
    calls->first = NULL;
    calls->end = &calls->first;
    calls->deadline = NEVER;
}

void calls_add(struct calls *calls, link_done *done, void *owner,
               uint64_t deadline)
{
    struct call *call = calloc(1, sizeof(*call));

    if (!call)
        abort();
    *call = (struct call){ NULL, done, owner, deadline };
    *calls->end = call;
    calls->end = &call->next;
    if (deadline < calls->deadline)
        calls->deadline = deadline;
}

static void answer(struct call *call, const redisReply *reply,
                   const struct err *why)
{
    if (call->done)
        call->done(call->owner, reply, why);
    free(call);
}

bool calls_answer(struct calls *calls, const redisReply *reply)
{
    struct call *call = calls->first;

    if (!call)
        return false;
    calls->first = call->next;
    if (!calls->first)
        calls->end = &calls->first;
    answer(call, reply, NULL);
    return true;
}

void calls_answer_all(struct calls *calls, const struct err *why)
{
    struct call *call = calls->first;

    calls_init(calls);
    while (call) {
        struct call *next = call->next;
        answer(call, NULL, why);
        call = next;
    }
}

/* The deadline may be that of a call long answered: only when it has passed is
 * the list walked for the one that is next. */
bool calls_are_late(struct calls *calls, uint64_t now)
{
    if (now < calls->deadline)
        return false;
    calls->deadline = NEVER;
    for (const struct call *call = calls->first; call; call = call->next)
        if (call->deadline < calls->deadline)
            calls->deadline = call->deadline;
    return now >= calls->deadline;
}
