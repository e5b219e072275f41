/* any_reply.h - what the replies of every dialect are put through. */
#ifndef TESTS_FUZZ_ANY_REPLY_H
#define TESTS_FUZZ_ANY_REPLY_H

#include <jansson.h>

#include "consumer/model/dialect.h"
#include "tests/fuzz/fuzz.h"

/* The first byte is the seed of the pieces, and says how many tokens there may
 * be. */
int fuzz_any_reply(const struct dialect *dialect, const uint8_t *data,
                   size_t size);

/* Written in every dialect, the messages give a body that is JSON. */
void fuzz_requests(json_t *messages);

#endif
