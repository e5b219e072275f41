/* reply_detail.h - the reasoning_details of one reply: blocks of reasoning,
 * some of them signed or encrypted, that the endpoint wants back as they came.
 *
 * Streams bring a block in pieces. A piece goes on with the last block of its
 * index and type; without an index only text goes on, with the last block.
 * What may come in pieces is joined, of anything else the latest counts. */
#ifndef CONSUMER_REPLY_DETAIL_H
#define CONSUMER_REPLY_DETAIL_H

#include <jansson.h>

#include "schemas/message/buf.h"

struct reply_detail;

struct reply_details {
    struct reply_detail *items;
    size_t count;
    size_t bytes;  /* of all that is kept */
    bool overflow; /* too many, or too long together */
};

void reply_details_finish(struct reply_details *details);

/* A list of pieces; alone: each is a whole block, as a plain body holds them.
 * Anything else than objects is passed over. */
void reply_details_add(struct reply_details *details, const json_t *pieces,
                       bool alone);

/* As an assistant message holds them; a new reference. */
json_t *reply_details_json(const struct reply_details *details);

#endif
