/* model_list.h - the models that a request may name: those that the consumers
 * of the fleet report.
 *
 *   thread: model_look_run() --> loop: model_list_take() --> model_list_has()
 *
 * The list is remembered, so a request that names a model asks Redis only when
 * the list does not have it, or is old. */
#ifndef PRODUCER_GATEWAY_OPENAI_MODEL_LIST_H
#define PRODUCER_GATEWAY_OPENAI_MODEL_LIST_H

#include <jansson.h>

#include "producer/client/quern_operate.h"

/* What a thread has read. */
struct model_look {
    struct quern_workers workers;
    struct quern_error error;
    bool known; /* else error says why not */
};
void model_look_run(struct model_look *look, struct quern *quern);
void model_look_finish(struct model_look *look); /* accepts zeros */

struct model_list *model_list_new(void);
void model_list_free(struct model_list *list); /* accepts NULL */
/* Of a look that is known. now: of the loop's clock. */
void model_list_take(struct model_list *list, const struct model_look *look,
                     uint64_t now);
/* An array of names; borrowed. */
const json_t *model_list_names(const struct model_list *list);
/* True also while no consumer has reported, or one has not said its models: the
 * job then waits for whom it finds. */
bool model_list_has(const struct model_list *list, const char *name);
/* The list can be asked: it was read a moment ago, or has the name and was read
 * within a minute. False: the caller reads it; of many that come after a minute
 * one does, and the others go by what was known. */
bool model_list_knows(struct model_list *list, const char *name, uint64_t now);

#endif
