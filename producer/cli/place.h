/* place.h - asks a process at the place of its --metrics, over HTTP: what
 * `quern metrics PLACE` and `quern probe` print.
 *
 * One request, one answer; whatever the other side does, it ends in time and
 * within PLACE_MOST_BYTES. */
#ifndef PRODUCER_CLI_PLACE_H
#define PRODUCER_CLI_PLACE_H

#include <stdint.h>

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

enum { PLACE_MOST_BYTES = 5 << 20 };

struct place_answer {
    unsigned int status; /* 200 */
    struct view body;    /* borrows */
};

/* GET path at place (listen_place.h). Puts what came into bytes, which answer
 * borrows from. Errors: bad_setting (of place), no_answer. */
bool place_get(const char *place, const char *path, uint64_t timeout_ms,
               struct buf *bytes, struct place_answer *answer, struct err *err);

enum place_reading { PLACE_MORE, PLACE_WHOLE, PLACE_WRONG };

/* Reads an answer of HTTP/1; is_end: nothing comes after these bytes.
 * PLACE_WRONG: err says what is no answer that we read. */
enum place_reading place_read(struct view bytes, bool is_end,
                              struct place_answer *answer, struct err *err);

#endif
