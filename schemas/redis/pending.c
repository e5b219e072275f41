/* pending.c - the calls of a link that wait for their replies, in order. */
#include "schemas/redis/pending.h"

#include <stdlib.h>

void pending_init(struct pending_replies *pending)
{
    pending->first = NULL;
    pending->end = &pending->first;
    pending->deadline = NEVER;
}

struct pending_reply *pending_add(struct pending_replies *pending,
                                  link_done *done, void *owner,
                                  uint64_t deadline)
{
    struct pending_reply *entry = calloc(1, sizeof(*entry));

    if (!entry)
        abort();
    *entry = (struct pending_reply){
        .done = done, .owner = owner, .deadline = deadline, .sort = -1
    };
    *pending->end = entry;
    pending->end = &entry->next;
    if (deadline < pending->deadline)
        pending->deadline = deadline;
    return entry;
}

static void pending_answer_one(struct pending_reply *entry,
                               const redisReply *reply, const struct err *why)
{
    if (entry->done)
        entry->done(entry->owner, reply, why);
    free(entry);
}

bool pending_answer(struct pending_replies *pending, const redisReply *reply)
{
    struct pending_reply *entry = pending->first;

    if (!entry)
        return false;
    /* Off the list first: done() may add calls. */
    pending->first = entry->next;
    if (!pending->first)
        pending->end = &pending->first;
    pending_answer_one(entry, reply, NULL);
    return true;
}

void pending_answer_all(struct pending_replies *pending, const struct err *why)
{
    struct pending_reply *entry = pending->first;

    /* Emptied first: a call that done() adds is not one of these. */
    pending_init(pending);
    while (entry) {
        struct pending_reply *next = entry->next;
        pending_answer_one(entry, NULL, why);
        entry = next;
    }
}

/* The deadline kept may be that of a call that was answered long ago. The list
 * is walked for the earliest one only when it has passed, so that answering a
 * call costs nothing. */
bool pending_are_late(struct pending_replies *pending, uint64_t now)
{
    if (now < pending->deadline)
        return false;
    pending->deadline = NEVER;
    for (const struct pending_reply *entry = pending->first; entry;
         entry = entry->next)
        if (entry->deadline < pending->deadline)
            pending->deadline = entry->deadline;
    return now >= pending->deadline;
}
