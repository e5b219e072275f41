/* linking.h - the answer for clients: when the operator has set a template of
 * addresses (--blob-url), names of the job's images and files become links. */
#ifndef CONSUMER_LINKING_H
#define CONSUMER_LINKING_H

#include "consumer/conversation/conversation.h"

/* The answer, in the arena; empty: it is as the model has written it. template:
 * see links.h; NULL: none. */
struct view linking_answer(const struct conversation *conversation,
                           const char *template, struct arena *arena);

#endif
