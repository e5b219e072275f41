/* today.h - the terms of a recorded job, as they were or as they would be
 * today.
 *
 * Today, quern's own prompts and the descriptions of Python and final_answer()
 * are those of this program, and an operator's prompts those of the given
 * folder. All else is as recorded. */
#ifndef CONSUMER_TODAY_H
#define CONSUMER_TODAY_H

#include "consumer/conversation/terms.h"

struct today {
    struct terms terms; /* borrows from the rest */
    struct prompts prompts;
    struct catalog catalog;         /* of tools that cannot be called */
    struct buf functions;           /* stubs, in CodeAct mode */
    struct model_endpoint endpoint; /* borrows from json, but for its names */
    json_t *json;                   /* the terms as recorded */
    bool hidden; /* a parameter is secret, and not recorded: the bytes of
                    requests cannot be compared */
};

enum replay_time { WHEN_RECORDED, WHEN_TODAY };

/* Initializes today from recorded terms, which it copies. prompts: the folder,
 * or NULL. Error: bad_message, they are no terms of quern. */
bool today_load(struct today *today, struct view terms, const struct job *job,
                enum replay_time when, const char *prompts, struct err *err);
void today_finish(struct today *today);

#endif
