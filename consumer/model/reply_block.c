/* reply_block.c - the blocks of one message, in the order in which they came.
 */
#include "consumer/model/reply_block.h"

#include <stdlib.h>

#include "consumer/model/reply.h"
#include "consumer/model/reply_json.h"

void reply_blocks_finish(struct reply_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++) {
        json_decref(blocks->items[i].kept);
        json_decref(blocks->items[i].about);
    }
    free(blocks->items);
    *blocks = (struct reply_blocks){ 0 };
}

static struct reply_block *add(struct reply_blocks *blocks,
                               enum block_kind kind)
{
    struct reply_block *block;

    if (blocks->count == REPLY_MAX_BLOCKS) {
        blocks->overflow = true;
        return NULL;
    }
    blocks->items =
        realloc(blocks->items, (blocks->count + 1) * sizeof(*blocks->items));
    if (!blocks->items)
        abort();
    block = &blocks->items[blocks->count++];
    *block = (struct reply_block){ .kind = kind };
    return block;
}

void reply_blocks_text(struct reply_blocks *blocks, size_t bytes)
{
    struct reply_block *last =
        blocks->count > 0 ? &blocks->items[blocks->count - 1] : NULL;

    if (bytes > 0 && (!last || last->kind != BLOCK_TEXT))
        last = add(blocks, BLOCK_TEXT);
    if (bytes > 0 && last)
        last->bytes += bytes;
}

void reply_blocks_call(struct reply_blocks *blocks)
{
    add(blocks, BLOCK_CALL);
}

static bool has_room(struct reply_blocks *blocks, const json_t *json)
{
    blocks->bytes += json_dumpb(json, NULL, 0, JSON_COMPACT);
    blocks->overflow =
        blocks->overflow || blocks->bytes > (size_t)REPLY_MAX_TEXT;
    return !blocks->overflow;
}

void reply_blocks_keep(struct reply_blocks *blocks, json_t *kept)
{
    struct reply_block *block =
        has_room(blocks, kept) ? add(blocks, BLOCK_KEPT) : NULL;

    if (block)
        block->kept = json_incref(kept);
    blocks->has_kept = true;
    json_decref(kept);
}

void reply_blocks_place(struct reply_blocks *blocks, json_int_t index)
{
    struct reply_block *block = add(blocks, BLOCK_KEPT);

    if (block)
        block->index = index;
}

void reply_blocks_fill(struct reply_blocks *blocks, json_int_t index,
                       json_t *kept)
{
    for (size_t i = blocks->count; i > 0; i--) {
        struct reply_block *block = &blocks->items[i - 1];

        if (block->kind != BLOCK_KEPT || block->kept || block->index != index)
            continue;
        blocks->has_kept = true;
        if (has_room(blocks, kept))
            block->kept = json_incref(kept);
        json_decref(kept);
        return;
    }
    reply_blocks_keep(blocks, kept);
}

void reply_blocks_begin(struct reply_blocks *blocks, json_t *about)
{
    struct reply_block *block =
        has_room(blocks, about) ? add(blocks, BLOCK_TEXT) : NULL;

    if (block)
        block->about = json_incref(about);
    blocks->has_kept = true;
    json_decref(about);
}

static json_t *mark_json(const struct reply_block *block)
{
    json_t *mark;

    if (block->kind == BLOCK_KEPT)
        return json_incref(block->kept);
    if (block->kind == BLOCK_CALL)
        return json_pack("{s:i}", "call", 1);
    mark = json_pack("{s:I}", "text_bytes", (json_int_t)block->bytes);
    if (block->about)
        json_object_update_missing(mark, block->about);
    return mark;
}

json_t *reply_blocks_json(const struct reply_blocks *blocks,
                          const char *dialect)
{
    json_t *list;

    if (!blocks->has_kept)
        return NULL;
    list = json_array();
    for (size_t i = 0; i < blocks->count; i++)
        if (blocks->items[i].kind != BLOCK_KEPT || blocks->items[i].kept)
            json_array_append_new(list, mark_json(&blocks->items[i]));
    return json_pack("{s:s, s:o}", "dialect", dialect, "blocks", list);
}

void opaque_sign(json_t *message, const char *endpoint)
{
    json_t *opaque = json_object_get(message, "opaque");

    if (opaque)
        json_object_set_new(opaque, "endpoint", json_string(endpoint));
}

/* ------------------------------------------------------------------ walking
 */

bool opaque_is_for(const json_t *message, const char *dialect,
                   const char *endpoint)
{
    const json_t *opaque = json_object_get(message, "opaque");

    return opaque && endpoint &&
           view_is(reply_json_text(opaque, "dialect"), dialect) &&
           view_is(reply_json_text(opaque, "endpoint"), endpoint);
}

struct walk {
    const struct block_events *events;
    void *owner;
    struct view content; /* what has not been told yet */
    const json_t *calls;
    size_t call;          /* the next one */
    const json_t *blocks; /* all of them, */
    size_t from;          /* and the first that may still be told of */
};

/* What was kept before the block at that place. */
static void tell_kept(struct walk *walk, size_t until)
{
    for (; walk->from < until; walk->from++) {
        json_t *block = json_array_get(walk->blocks, walk->from);

        if (json_is_object(block) && !json_object_get(block, "text_bytes") &&
            !json_object_get(block, "call"))
            walk->events->on_kept(walk->owner, block);
    }
}

static void tell_text(struct walk *walk, size_t at, size_t bytes,
                      const json_t *mark)
{
    struct view text = view_head(walk->content, bytes);

    if (text.len == 0)
        return;
    tell_kept(walk, at);
    walk->content.data += text.len;
    walk->content.len -= text.len;
    walk->events->on_text(walk->owner, text, mark);
}

static void tell_call(struct walk *walk, size_t at)
{
    const json_t *call = json_array_get(walk->calls, walk->call);

    if (!json_is_object(call))
        return;
    tell_kept(walk, at);
    walk->call++;
    walk->events->on_call(walk->owner, call);
}

void opaque_walk(const json_t *message, const char *dialect,
                 const char *endpoint, const struct block_events *events,
                 void *owner)
{
    struct walk walk = { .events = events,
                         .owner = owner,
                         .content = reply_json_text(message, "content"),
                         .calls = json_object_get(message, "tool_calls") };
    const json_t *block, *content = json_object_get(message, "content");
    size_t i;

    json_array_foreach(content, i, block)
        if (reply_json_text(block, "text").len > 0)
            events->on_text(owner, reply_json_text(block, "text"), NULL);
    if (opaque_is_for(message, dialect, endpoint))
        walk.blocks =
            json_object_get(json_object_get(message, "opaque"), "blocks");
    json_array_foreach(walk.blocks, i, block) {
        json_int_t bytes =
            json_integer_value(json_object_get(block, "text_bytes"));

        if (bytes > 0)
            tell_text(&walk, i, (size_t)bytes, block);
        else if (json_object_get(block, "call"))
            tell_call(&walk, i);
    }
    tell_text(&walk, json_array_size(walk.blocks), walk.content.len, NULL);
    for (i = walk.call; i < json_array_size(walk.calls); i++)
        tell_call(&walk, json_array_size(walk.blocks));
}
