/* check.c - what the parts of quern check share: commands to Redis, the map of
 * places, the list of faults, the walk over all keys. */
#include "producer/cli/check.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_MS = 30000, FIRST_ROOM = 1024 };

/* --- places --------------------------------------------------------------- */

/* FNV-1a. */
uint32_t mark_of(struct view text)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * 16777619u;
    return hash;
}

static struct check_place *check_find(struct check_place *items, size_t room,
                                      struct view id)
{
    size_t at = mark_of(id) & (room - 1);

    while (*items[at].id && !view_is(id, items[at].id))
        at = (at + 1) & (room - 1);
    return &items[at];
}

/* Doubles the room, so that the map is at most half full and probes stay short.
 */
static void grow(struct places *places)
{
    size_t room = places->room ? 2 * places->room : FIRST_ROOM;
    struct check_place *items = calloc(room, sizeof(*items));

    if (!items)
        abort();
    for (size_t i = 0; i < places->room; i++)
        if (*places->items[i].id)
            *check_find(items, room, view_of(places->items[i].id)) =
                places->items[i];
    free(places->items);
    places->items = items;
    places->room = room;
}

struct check_place *places_of(struct places *places, struct view id)
{
    struct check_place *place;

    if (2 * places->count >= places->room)
        grow(places);
    place = check_find(places->items, places->room, id);
    if (!*place->id) {
        snprintf(place->id, sizeof(place->id), "%.*s", VIEW_ARG(id));
        places->count++;
    }
    return place;
}

/* Only the last key is compared: the same key comes many times in a row. */
uint32_t places_key(struct places *places, const char *key)
{
    size_t count = places->key_count;

    if (count > 0 && strcmp(places->keys[count - 1], key) == 0)
        return (uint32_t)count - 1;
    if ((count & (count - 1)) == 0)
        places->keys =
            realloc(places->keys, (count ? 2 * count : 1) * sizeof(char *));
    if (!places->keys)
        abort();
    places->keys[places->key_count++] = view_dup(view_of(key));
    return (uint32_t)count;
}

void places_finish(struct places *places)
{
    for (size_t i = 0; i < places->key_count; i++)
        free(places->keys[i]);
    free(places->keys);
    free(places->items);
    *places = (struct places){ 0 };
}

/* --- faults --------------------------------------------------------------- */

void check_fault(struct check *check, const char *key, const char *format, ...)
{
    struct faults *faults = &check->faults;
    char text[1024];
    va_list args;
    int len = snprintf(text, sizeof(text), "%.600s: ", key);

    if (faults->count == MAX_FAULTS) {
        faults->more++;
        return;
    }
    va_start(args, format);
    vsnprintf(text + len, sizeof(text) - (size_t)len, format, args);
    va_end(args);
    if (!faults->items)
        faults->items = calloc(MAX_FAULTS, sizeof(char *));
    if (!faults->items)
        abort();
    faults->items[faults->count++] = view_dup(view_of(text));
}

void faults_finish(struct faults *faults)
{
    for (size_t i = 0; i < faults->count; i++)
        free(faults->items[i]);
    free(faults->items);
    *faults = (struct faults){ 0 };
}

/* --- asking --------------------------------------------------------------- */

void cleanup_asked(redisReply **reply)
{
    if (*reply)
        freeReplyObject(*reply);
}

static bool send_words(struct check *check, int count, const char *const *words)
{
    struct command command;
    bool sent;

    command_init(&command, words[0]);
    for (int i = 1; i < count; i++)
        command_add_text(&command, words[i]);
    sent = conn_send(check->conn, &command, CALL_MS, &check->err);
    command_finish(&command);
    check->broken = check->broken || !sent;
    return sent;
}

void check_prefetch(struct check *check, int count, const char *const *words)
{
    struct prefetch *prefetch = &check->prefetch;

    if (check->broken || prefetch->count == MAX_PREFETCHED ||
        !send_words(check, count, words))
        return;
    prefetch->items[prefetch->count].command = words[0];
    prefetch->items[prefetch->count].key = words[1];
    prefetch->items[prefetch->count++].reply = NULL;
}

static void receive_prefetched(struct check *check)
{
    struct prefetch *prefetch = &check->prefetch;

    for (size_t i = 0; i < prefetch->count && !check->broken; i++) {
        prefetch->items[i].reply =
            conn_receive(check->conn, CALL_MS, &check->err);
        check->broken = !prefetch->items[i].reply;
    }
}

static void forget_prefetched(struct prefetch *prefetch)
{
    for (size_t i = prefetch->at; i < prefetch->count; i++)
        if (prefetch->items[i].reply)
            freeReplyObject(prefetch->items[i].reply);
    prefetch->at = prefetch->count = 0;
}

/* The reply to the command, when it is the next one that was prefetched; NULL:
 * it was not prefetched. */
static redisReply *take_prefetched(struct prefetch *prefetch,
                                   const char *const *words)
{
    if (prefetch->at == prefetch->count ||
        strcmp(prefetch->items[prefetch->at].command, words[0]) != 0 ||
        strcmp(prefetch->items[prefetch->at].key, words[1]) != 0)
        return NULL;
    return prefetch->items[prefetch->at++].reply;
}

/* A WRONGTYPE is a fault of the key, not of the run: somebody else has written
 * there. Any other error would make every further answer doubtful, so the run
 * ends. */
redisReply *check_ask(struct check *check, int count, const char *const *words)
{
    redisReply *reply =
        check->broken ? NULL : take_prefetched(&check->prefetch, words);
    struct err err = { 0 };

    if (check->broken)
        return NULL;
    if (!reply && send_words(check, count, words)) {
        reply = conn_receive(check->conn, CALL_MS, &check->err);
        check->broken = !reply;
    }
    if (!reply || reply_ok(reply, &err))
        return reply;
    freeReplyObject(reply);
    if (view_starts(view_of(err.text), "WRONGTYPE")) {
        check_fault(check, words[1],
                    "holds something that quern has not put "
                    "there");
    } else {
        check->broken = true;
        check->err = err;
    }
    return NULL;
}

static void walk_page(struct check *check, const redisReply *keys, size_t root,
                      check_key *each)
{
    for (size_t i = 0; i < keys->elements && !check->broken; i++)
        each(check, keys->element[i]->str, keys->element[i]->str + root);
}

void check_scan(struct check *check, check_key *prefetch, check_key *each)
{
    struct key root = names_root(&check->names, check->partition);
    char pattern[NAMES_MAX_KEY + 1], cursor[32] = "0";

    snprintf(pattern, sizeof(pattern), "%s*", root.text);
    do {
        CLEANUP(cleanup_asked)
        redisReply *page =
            CHECK_ASK(check, "SCAN", cursor, "MATCH", pattern, "COUNT", "500");

        if (!page || page->elements != 2)
            return;
        snprintf(cursor, sizeof(cursor), "%s", page->element[0]->str);
        walk_page(check, page->element[1], root.len, prefetch);
        receive_prefetched(check);
        walk_page(check, page->element[1], root.len, each);
        forget_prefetched(&check->prefetch);
        progress_add(&check->progress, page->element[1]->elements);
    } while (strcmp(cursor, "0") != 0 && !check->broken);
}

void check_blobs(struct check *check, const char *key, struct view names,
                 bool kept)
{
    struct key root = names_root(&check->names, check->partition);
    CLEANUP(cleanup_free) char *all = view_dup(names);
    char *rest = all, *name;

    while ((name = strsep(&rest, " "))) {
        char blob[NAMES_MAX_KEY + 80];

        if (!*name) /* there are none */
            continue;
        snprintf(blob, sizeof(blob), "%sblob:%.64s", root.text, name);
        CLEANUP(cleanup_asked)
        redisReply *there = CHECK_ASK(check, "EXISTS", blob);

        if (there && there->integer == 0)
            check_fault(check, key, "its blob %.64s is not there", name);
        else if (!kept)
            check_fault(check, key, "nothing keeps its blob %.64s", name);
    }
}
