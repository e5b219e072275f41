/* reasoning.h - reasoning that goes back to the endpoint that said it, as it
 * was and where it was. Endpoints have two ways: blocks that are signed or
 * encrypted, in the member "opaque", and the list "reasoning_details". */
#ifndef CONSUMER_REASONING_H
#define CONSUMER_REASONING_H

#include <jansson.h>

#include "schemas/message/buf.h"
#include "schemas/message/view.h"

/* ----------------------------------------------------- blocks of a message */

/* The blocks of one message, in the order in which they came.
 *
 * Signed and encrypted reasoning has to go back as it was, where it was, to
 * the endpoint that said it, and to no other: nobody else takes it. The
 * message keeps it in
 *
 *   "opaque": {"dialect": NAME, "endpoint": NAME, "blocks": [BLOCK, ...]}
 *
 * A BLOCK is a kept one as it goes back, or marks what the message has in its
 * chat form: {"text_bytes": N}, the next so many of the content, {"call": N},
 * a tool call. Without a kept block there is no such member. */
enum block_kind { BLOCK_TEXT, BLOCK_CALL, BLOCK_KEPT };

struct reply_block {
    enum block_kind kind;
    size_t bytes;     /* of a text */
    json_t *kept;     /* of a kept one, whole; NULL: its place only */
    json_int_t index; /* of a place */
    json_t *about;    /* of a text: more members of its mark; or NULL */
};

struct reply_blocks {
    struct reply_block *items;
    size_t count;
    size_t bytes;  /* of what is kept */
    bool has_kept; /* some are, or marks say more */
    bool overflow; /* too many, or too long together */
};

void reply_blocks_finish(struct reply_blocks *blocks);

/* So many bytes more of the content: of the text that is the last block, else
 * of a new one. */
void reply_blocks_text(struct reply_blocks *blocks, size_t bytes);
void reply_blocks_call(struct reply_blocks *blocks);
/* A place for what will be kept under that index: it may come whole only after
 * what follows it. */
void reply_blocks_place(struct reply_blocks *blocks, json_int_t index);
/* Takes what comes there, or at the end if it has no place. */
void reply_blocks_fill(struct reply_blocks *blocks, json_int_t index,
                       json_t *kept);
/* Takes the block, or what there is to be said of the text that begins. */
void reply_blocks_keep(struct reply_blocks *blocks, json_t *kept);
void reply_blocks_begin(struct reply_blocks *blocks, json_t *about);

/* The member "opaque" without its endpoint; NULL: nothing is kept. */
json_t *reply_blocks_json(const struct reply_blocks *blocks,
                          const char *dialect);

/* Puts its endpoint into what a message keeps. */
void opaque_sign(json_t *message, const char *endpoint);

/* A message block by block, each told to one of these. What it keeps is told
 * to the endpoint that said it only, and only before a text or a call: nobody
 * takes reasoning that leads to nothing. */
struct block_events {
    void (*on_kept)(void *owner, json_t *kept);
    void (*on_text)(void *owner, struct view text, const json_t *mark);
    void (*on_call)(void *owner, const json_t *call);
};
void opaque_walk(const json_t *message, const char *dialect,
                 const char *endpoint, const struct block_events *events,
                 void *owner);

/* Whether a walk would tell of something kept. */
bool opaque_is_for(const json_t *message, const char *dialect,
                   const char *endpoint);

/* ------------------------------------------------------- reasoning_details */

/* The reasoning_details of one reply: blocks of reasoning, some of them signed
 * or encrypted, that the endpoint wants back as they came.
 *
 * Streams bring a block in pieces. A piece goes on with the last block of its
 * index and type; without an index only text goes on, with the last block.
 * What may come in pieces is joined, of anything else the latest counts. */
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
