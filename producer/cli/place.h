/* place.h - asks a process at the place of its --metrics, over HTTP: what
 * `quern metrics PLACE` and `quern probe` print.
 *
 * One request, one answer; whatever the other side does, it ends in time and
 * within PLACE_MOST_BYTES. */
#ifndef PRODUCER_CLI_PLACE_H
#define PRODUCER_CLI_PLACE_H

#include <stdint.h>

#include "producer/cli/place_answer.h"
#include "schemas/message/buf.h"
#include "schemas/message/err.h"

/* GET path at place (listen_place.h). Puts what came into bytes, which answer
 * borrows from. Errors: bad_setting (of place), no_answer. */
bool place_get(const char *place, const char *path, uint64_t timeout_ms,
               struct buf *bytes, struct place_answer *answer, struct err *err);

#endif
