/* reply_detail.c - the reasoning_details of one reply. */
#include "consumer/model/reply_detail.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/model/reply.h"
#include "consumer/model/reply_json.h"

/* What comes in pieces. */
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

static bool is_same(const json_t *a, const json_t *b, const char *name)
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

        if (is_same(block->members, piece, "type") &&
            (!numbered || is_same(block->members, piece, "index")))
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

/* "" and null say nothing about what was said before. */
static bool says_nothing(const json_t *value)
{
    return json_is_null(value) ||
           (json_is_string(value) && json_string_length(value) == 0);
}

static void keep(struct reply_details *details, struct reply_detail *block,
                 const char *name, json_t *value)
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
            keep(details, block, name, value);
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
