/* reasoning.h - reasoning that must go back to the endpoint that it came from,
 * unchanged and in its place. There are two forms: blocks that are signed or
 * encrypted, which a message keeps in its member "opaque", and the list
 * "reasoning_details". */
#ifndef CONSUMER_REASONING_H
#define CONSUMER_REASONING_H

#include <jansson.h>

#include "schemas/message/buf.h"
#include "schemas/message/view.h"

/* ----------------------------------------------------- blocks of a message */

/* The blocks of one message, in the order in which they came.
 *
 * Signed and encrypted reasoning has to go back unchanged, in its place, to the
 * endpoint that it came from, and to no other, which would refuse it. The
 * message keeps it in
 *
 *   "opaque": {"dialect": NAME, "endpoint": NAME, "blocks": [BLOCK, ...]}
 *
 * A BLOCK is a kept one, as it goes back, or a mark for a part that the message
 * has in its chat form: {"text_bytes": N}, the next N bytes of the content, or
 * {"call": 1}, the next tool call. A message without a kept block has no such
 * member. */
enum block_kind { BLOCK_TEXT, BLOCK_CALL, BLOCK_KEPT };

struct reply_block {
    enum block_kind kind;
    size_t bytes;     /* BLOCK_TEXT: its length */
    json_t *kept;     /* BLOCK_KEPT: as it goes back; NULL: a place for it */
    json_int_t index; /* BLOCK_KEPT: of a place; see reply_blocks_place() */
    json_t *about;    /* BLOCK_TEXT: more members of its mark; or NULL */
};

/* Zeroed: empty. */
struct reply_blocks {
    struct reply_block *items;
    size_t count;
    size_t bytes;  /* of JSON that is kept */
    bool has_kept; /* there is something that the chat form cannot say */
    bool overflow; /* too many, or too long together: the reply is refused */
};

void reply_blocks_finish(struct reply_blocks *blocks);

/* The content has grown by so many bytes: they belong to the last block when
 * that is a text, else to a new one. */
void reply_blocks_text(struct reply_blocks *blocks, size_t bytes);
void reply_blocks_call(struct reply_blocks *blocks);
/* Makes a place for a block that will be kept under that index: it may become
 * whole only after the blocks behind it have begun. */
void reply_blocks_place(struct reply_blocks *blocks, json_int_t index);
/* Puts the block into its place, or at the end if it has none. Takes kept. */
void reply_blocks_fill(struct reply_blocks *blocks, json_int_t index,
                       json_t *kept);
/* Appends a block that is whole (takes kept), or begins a text with more
 * members for its mark (takes about). */
void reply_blocks_keep(struct reply_blocks *blocks, json_t *kept);
void reply_blocks_begin(struct reply_blocks *blocks, json_t *about);

/* The member "opaque", without its endpoint; a new reference. NULL: nothing is
 * kept. */
json_t *reply_blocks_json(const struct reply_blocks *blocks,
                          const char *dialect);

/* Adds the endpoint to the member "opaque" of a message that has one. */
void opaque_sign(json_t *message, const char *endpoint);

/* What opaque_walk() calls for each block of a message, in order. on_kept()
 * only for the endpoint that the block came from, and only when a text or a
 * call follows: endpoints refuse reasoning that leads to nothing. mark: the
 * text's own, or NULL. All arguments are borrowed. */
struct block_events {
    void (*on_kept)(void *owner, json_t *kept);
    void (*on_text)(void *owner, struct view text, const json_t *mark);
    void (*on_call)(void *owner, const json_t *call);
};
void opaque_walk(const json_t *message, const char *dialect,
                 const char *endpoint, const struct block_events *events,
                 void *owner);

/* Whether what the message keeps came from this endpoint. */
bool opaque_is_for(const json_t *message, const char *dialect,
                   const char *endpoint);

/* ------------------------------------------------------- reasoning_details */

/* The reasoning_details of one reply: blocks of reasoning, some of them signed
 * or encrypted, that the endpoint wants back as they came.
 *
 * Streams bring a block in pieces. A piece continues the last block of its
 * index and type; without an index only text is continued, in the last block.
 * The members text, summary and data are joined; of others the latest counts.
 */
struct reply_detail;

struct reply_details {
    struct reply_detail *items;
    size_t count;
    size_t bytes;  /* of all that is kept */
    bool overflow; /* too many, or too long together */
};

void reply_details_finish(struct reply_details *details);

/* Adds a list of pieces. alone: each is a whole block, as in a plain body.
 * Items that are no objects are ignored. */
void reply_details_add(struct reply_details *details, const json_t *pieces,
                       bool alone);

/* As an assistant message holds them; a new reference. */
json_t *reply_details_json(const struct reply_details *details);

#endif
