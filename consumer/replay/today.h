/* today.h - the terms of a journal, and what they would be today.
 *
 * Prompts of ours, the description of Python and of final_answer() are this
 * program's; prompts of an operator's own are those of the folder that is
 * given. All else is as the journal has it. */
#ifndef CONSUMER_TODAY_H
#define CONSUMER_TODAY_H

#include "consumer/conversation/terms.h"

struct today {
    struct terms terms; /* borrows from the rest */
    struct prompts prompts;
    struct catalog catalog;
    struct buf functions;
    struct model_endpoint endpoint;
    json_t *json;
    bool hidden; /* a parameter is kept secret: requests cannot be compared */
};

enum replay_time { WHEN_RECORDED, WHEN_TODAY };

/* prompts: the folder's, or NULL. Initializes today. Error: bad_message, the
 * terms are not ours. */
bool today_load(struct today *today, struct view terms, const struct job *job,
                enum replay_time when, const char *prompts, struct err *err);
void today_finish(struct today *today);

#endif
