/* kept.h - replies that are kept to be fetched: POST /v1/responses with
 * "store": true, then GET /v1/responses/ID, POST /v1/responses/ID/cancel.
 *
 *   "background": true   it is made on, whoever listens, in the time that the
 *                        stream would have taken
 *   else                 it is made while somebody listens; a listener who goes
 *                        leaves nothing behind
 *
 * A reply of a script says in its member "kept" what is wrong with it. */
#ifndef PRACTICE_KEPT_H
#define PRACTICE_KEPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct kept {
    LIST_ENTRY(kept) others;
    char *id;
    json_t *response; /* as it is when it is over */
    json_t *rules;    /* "kept" of the reply: an object, or one for each time */
    uint64_t ready_ms; /* of the loop's clock; background only */
    bool background;
    bool over, lost, cancelled;
    size_t fetched;
};
LIST_HEAD(kept_list, kept);

/* Takes response. */
struct kept *kept_add(struct kept_list *list, const char *id, json_t *response,
                      json_t *rules);
void kept_finish(struct kept_list *list);

/* Who listened has heard all, or has gone. NULL is none. */
void kept_heard(struct kept *kept, bool all);

struct kept_answer {
    unsigned status;
    char *text; /* free() it */
};
/* encrypted: what it thought is wanted so. */
struct kept_answer kept_get(struct kept_list *list, const char *id,
                            uint64_t now_ms, bool encrypted);
struct kept_answer kept_cancel(struct kept_list *list, const char *id,
                               uint64_t now_ms);

#endif
