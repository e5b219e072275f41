/* place_answer.h - an answer of HTTP/1, from whoever listens at a place. */
#ifndef PRODUCER_CLI_PLACE_ANSWER_H
#define PRODUCER_CLI_PLACE_ANSWER_H

#include "schemas/message/err.h"
#include "schemas/message/view.h"

enum { PLACE_MOST_BYTES = 5 << 20 };

struct place_answer {
    unsigned int status; /* 200 */
    struct view body;    /* borrows */
};

enum place_reading { PLACE_MORE, PLACE_WHOLE, PLACE_WRONG };

/* is_end: nothing comes after these bytes. PLACE_WRONG: err (no_answer) says
 * why we do not read it. */
enum place_reading place_read(struct view bytes, bool is_end,
                              struct place_answer *answer, struct err *err);

#endif
