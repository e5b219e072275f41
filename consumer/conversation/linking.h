/* linking.h - the answer as clients get it: with links to the images and files
 * of the job, where the operator has said how they are reached. */
#ifndef CONSUMER_LINKING_H
#define CONSUMER_LINKING_H

#include "consumer/conversation/conversation.h"

/* The answer, in the arena; empty: it is as the model has written it. template:
 * see links.h; NULL: none. */
struct view linking_answer(const struct conversation *conversation,
                           const char *template, struct arena *arena);

#endif
