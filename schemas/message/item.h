/* item.h - the items of a job: what its model says and does, in parts.
 *
 * A reasoning, a message, a call of a function of the caller, a call of Python
 * and a web search are items. Calls of other tools are none, nor are calls that
 * the code of a cell makes.
 *
 * Items are numbered 1, 2, 3, ... in the order in which they begin, over all
 * attempts at the job. A number is never used twice: when a turn begins again,
 * the text of the first try is void, and keeps its number. A call keeps its
 * number when it runs again. So events of one number are about one item, and a
 * follower who begins in the middle knows how many there were before. */
#ifndef SCHEMAS_MESSAGE_ITEM_H
#define SCHEMAS_MESSAGE_ITEM_H

#include <stdint.h>

#include "schemas/message/view.h"

enum item_kind {
    ITEM_MESSAGE,
    ITEM_REASONING,
    ITEM_FUNCTION, /* a call of a function of the caller */
    ITEM_CODE,     /* a call of Python, or a cell of kind code */
    ITEM_SEARCH,   /* a call of the web search */
};
extern const char *const item_kind_names[];

enum { ITEM_ID_BYTES = 64 };

/* The id of an item: "msg_", the 32 hexadecimal digits of the job's id, and the
 * number in at least four more; "rs_", "fc_", "ci_", "ws_" for the other kinds.
 * So events need not carry it. job: a valid id. */
void item_id_write(char id[ITEM_ID_BYTES], enum item_kind kind, struct view job,
                   uint64_t number);

#endif
