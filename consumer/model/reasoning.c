/* reasoning.c - reasoning that has to go back to its endpoint. */
#include "consumer/model/reasoning.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/model/reply.h"
#include "consumer/model/reply_json.h"

/* ----------------------------------------------------- blocks of a message */

void reply_blocks_finish(struct reply_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++) {
        json_decref(blocks->items[i].kept);
        json_decref(blocks->items[i].about);
    }
    free(blocks->items);
    *blocks = (struct reply_blocks){ 0 };
}

static struct reply_block *reply_blocks_add(struct reply_blocks *blocks,
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
        last = reply_blocks_add(blocks, BLOCK_TEXT);
    if (bytes > 0 && last)
        last->bytes += bytes;
}

void reply_blocks_call(struct reply_blocks *blocks)
{
    reply_blocks_add(blocks, BLOCK_CALL);
}

static bool reply_blocks_have_room(struct reply_blocks *blocks,
                                   const json_t *json)
{
    blocks->bytes += json_dumpb(json, NULL, 0, JSON_COMPACT);
    blocks->overflow =
        blocks->overflow || blocks->bytes > (size_t)REPLY_MAX_TEXT;
    return !blocks->overflow;
}

void reply_blocks_keep(struct reply_blocks *blocks, json_t *kept)
{
    struct reply_block *block = reply_blocks_have_room(blocks, kept)
                                    ? reply_blocks_add(blocks, BLOCK_KEPT)
                                    : NULL;

    if (block)
        block->kept = json_incref(kept);
    blocks->has_kept = true;
    json_decref(kept);
}

void reply_blocks_place(struct reply_blocks *blocks, json_int_t index)
{
    struct reply_block *block = reply_blocks_add(blocks, BLOCK_KEPT);

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
        if (reply_blocks_have_room(blocks, kept))
            block->kept = json_incref(kept);
        json_decref(kept);
        return;
    }
    reply_blocks_keep(blocks, kept);
}

void reply_blocks_begin(struct reply_blocks *blocks, json_t *about)
{
    struct reply_block *block = reply_blocks_have_room(blocks, about)
                                    ? reply_blocks_add(blocks, BLOCK_TEXT)
                                    : NULL;

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

/* ----------------------------------------------------------------- walking */

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
    struct view content; /* what is left of it */
    const json_t *calls;
    size_t call;          /* the next of these */
    const json_t *blocks; /* NULL: kept for another endpoint, or none */
    size_t from;          /* the first kept block that is not told yet */
};

/* Tells the kept blocks before position until, which lead to a text or a call.
 */
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
    /* What the marks have not covered: all of it without marks. */
    tell_text(&walk, json_array_size(walk.blocks), walk.content.len, NULL);
    for (i = walk.call; i < json_array_size(walk.calls); i++)
        tell_call(&walk, json_array_size(walk.blocks));
}

/* ------------------------------------------------------- reasoning_details */

/* The members that come in pieces. */
static const char *const joined[] = { "text", "summary", "data" };
enum { JOINED = sizeof(joined) / sizeof(*joined) };

struct reply_detail {
    json_t *members; /* those that are joined are "" here */
    struct buf texts[JOINED];
};

void reply_details_finish(struct reply_details *details)
{
    for (size_t i = 0; i < details->count; i++) {
        json_decref(details->items[i].members);
        for (size_t j = 0; j < JOINED; j++)
            buf_finish(&details->items[i].texts[j]);
    }
    free(details->items);
    *details = (struct reply_details){ 0 };
}

static struct reply_detail *open_block(struct reply_details *details)
{
    struct reply_detail *block;

    if (details->count == REPLY_MAX_DETAILS) {
        details->overflow = true;
        return NULL;
    }
    details->items =
        realloc(details->items, (details->count + 1) * sizeof(*details->items));
    if (!details->items)
        abort();
    block = &details->items[details->count++];
    *block = (struct reply_detail){ .members = json_object() };
    for (size_t j = 0; j < JOINED; j++)
        buf_init(&block->texts[j], REPLY_MAX_TEXT);
    return block;
}

static bool reply_details_agree(const json_t *a, const json_t *b,
                                const char *name)
{
    return json_equal(json_object_get(a, name), json_object_get(b, name));
}

static struct reply_detail *find_block(const struct reply_details *details,
                                       const json_t *piece)
{
    bool numbered = json_is_integer(json_object_get(piece, "index"));

    if (!numbered && !view_is(reply_json_text(piece, "type"), "reasoning.text"))
        return NULL;
    for (size_t i = details->count; i > 0; i--) {
        struct reply_detail *block = &details->items[i - 1];

        if (reply_details_agree(block->members, piece, "type") &&
            (!numbered || reply_details_agree(block->members, piece, "index")))
            return block;
        if (!numbered)
            break;
    }
    return NULL;
}

static void count_bytes(struct reply_details *details, size_t bytes)
{
    details->bytes += bytes;
    details->overflow =
        details->overflow || details->bytes > (size_t)REPLY_MAX_TEXT;
}

/* Streams repeat members as "" or null, which must not replace a value. */
static bool says_nothing(const json_t *value)
{
    return json_is_null(value) ||
           (json_is_string(value) && json_string_length(value) == 0);
}

static void reply_details_keep(struct reply_details *details,
                               struct reply_detail *block, const char *name,
                               json_t *value)
{
    const json_t *before = json_object_get(block->members, name);

    if (before && (says_nothing(value) || json_equal(before, value)))
        return;
    count_bytes(details, json_dumpb(value, NULL, 0, JSON_ENCODE_ANY));
    if (!details->overflow)
        json_object_set(block->members, name, value);
}

/* True: the member is one that is joined, and was. */
static bool join(struct reply_details *details, struct reply_detail *block,
                 const char *name, const json_t *piece)
{
    for (size_t j = 0; j < JOINED; j++) {
        struct view text = reply_json_text(piece, name);

        if (strcmp(name, joined[j]) != 0 ||
            !json_is_string(json_object_get(piece, name)))
            continue;
        count_bytes(details, text.len);
        buf_add(&block->texts[j], text);
        json_object_set_new(block->members, name, json_string(""));
        return true;
    }
    return false;
}

static void add_piece(struct reply_details *details, json_t *piece, bool alone)
{
    struct reply_detail *block = alone ? NULL : find_block(details, piece);
    const char *name;
    json_t *value;

    if (!block)
        block = open_block(details);
    if (!block)
        return;
    json_object_foreach(piece, name, value)
        if (!join(details, block, name, piece))
            reply_details_keep(details, block, name, value);
}

void reply_details_add(struct reply_details *details, const json_t *pieces,
                       bool alone)
{
    json_t *piece;
    size_t i;

    json_array_foreach(pieces, i, piece)
        if (json_is_object(piece) && !details->overflow)
            add_piece(details, piece, alone);
}

static json_t *block_json(const struct reply_detail *block)
{
    json_t *json = json_copy(block->members);

    for (size_t j = 0; j < JOINED; j++)
        if (block->texts[j].len > 0)
            json_object_set_new(
                json, joined[j],
                json_stringn(block->texts[j].data, block->texts[j].len));
    return json;
}

json_t *reply_details_json(const struct reply_details *details)
{
    json_t *list = json_array();

    for (size_t i = 0; i < details->count; i++)
        json_array_append_new(list, block_json(&details->items[i]));
    return list;
}
