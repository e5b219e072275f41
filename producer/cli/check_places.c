/* check_places.c - the first pass of a look: every key that names jobs, by its
 * kind, into the map of places; and keys that must expire. */
#include <stdlib.h>
#include <string.h>

#include "producer/cli/check.h"
#include "schemas/message/limits.h"

enum { PAGE = 1000 };

static struct view check_places_text_of(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING
               ? (struct view){ reply->str, reply->len }
               : VIEW("");
}

/* Notes that the key names the job. NULL: the name is no job id, which is a
 * fault. */
static struct check_place *check_note_place(struct check *check,
                                            const char *key, struct view id,
                                            uint32_t where)
{
    struct check_place *place;

    if (!id_parse(id, NULL)) {
        check_fault(check, key, "names \"%.*s\", which is no job id",
                    VIEW_ARG(view_head(id, 64)));
        return NULL;
    }
    place = places_of(&check->places, id);
    place->where |= where;
    place->key = places_key(&check->places, key);
    return place;
}

/* --- streams -------------------------------------------------------------- */

static struct view entry_job(const redisReply *entry)
{
    const redisReply *fields = entry->element[1];

    for (size_t i = 0;
         fields->type == REDIS_REPLY_ARRAY && i + 1 < fields->elements; i += 2)
        if (view_is(check_places_text_of(fields->element[i]), "id"))
            return check_places_text_of(fields->element[i + 1]);
    return VIEW("");
}

/* Passes over what is pending up to that entry. Stream and pending list have
 * the same order: a pending id before the entry's is in no stream, which is a
 * fault. */
static void pass_pending(const redisReply *pending, size_t *at,
                         struct check *check, const char *key,
                         const struct view entry)
{
    for (; *at < pending->elements; ++*at) {
        const redisReply *row = pending->element[*at];
        struct view here = check_places_text_of(row->element[0]);

        if (view_equal(here, entry)) {
            ++*at;
            return;
        }
        if (here.len < entry.len ||
            (here.len == entry.len &&
             memcmp(here.data, entry.data, here.len) < 0))
            check_fault(check, key,
                        "entry %.*s is pending, but not in the stream",
                        VIEW_ARG(here));
        else
            return;
    }
}

static void note_entry(struct check *check, const char *key,
                       const redisReply *entry)
{
    struct view name = check_places_text_of(entry->element[0]),
                id = entry_job(entry);
    struct check_place *place;

    if (id.len == 0) {
        check_fault(check, key, "entry %.*s names no job", VIEW_ARG(name));
        return;
    }
    place = check_note_place(check, key, id, IN_STREAM);
    if (!place)
        return;
    if (place->mark && place->mark != mark_of(name))
        place->where |= IN_STREAM_TWICE;
    place->mark = mark_of(name);
}

/* Reads the stream page by page, and for each page what is pending in its
 * range. The range of the last page has no end: entries may come meanwhile. */
static void note_stream(struct check *check, const char *key)
{
    char from[72] = "-", to[64];
    bool last = false;

    while (!last && !check->broken) {
        size_t at = 0;
        CLEANUP(cleanup_asked)
        redisReply *page =
            CHECK_ASK(check, "XRANGE", key, from, "+", "COUNT", "1000");

        if (!page)
            return;
        last = page->elements < PAGE;
        snprintf(to, sizeof(to), "%s",
                 last ? "+" : page->element[PAGE - 1]->element[0]->str);
        CLEANUP(cleanup_asked)
        redisReply *pending =
            CHECK_ASK(check, "XPENDING", key, NAMES_GROUP, from, to, "1000000");

        if (!pending)
            return;
        for (size_t i = 0; i < page->elements; i++) {
            pass_pending(pending, &at, check, key,
                         check_places_text_of(page->element[i]->element[0]));
            note_entry(check, key, page->element[i]);
        }
        for (; at < pending->elements; at++)
            check_fault(check, key,
                        "entry %s is pending, but not in the stream",
                        pending->element[at]->element[0]->str);
        snprintf(from, sizeof(from), "(%s", to);
    }
}

/* --- sets and lists ------------------------------------------------------- */

/* Takes the word up to the next colon, and the colon, from *rest. */
static struct view next_word(struct view *rest)
{
    const char *colon = memchr(rest->data, ':', rest->len);
    size_t len = colon ? (size_t)(colon - rest->data) : rest->len;
    size_t used = colon ? len + 1 : len;
    struct view word = { rest->data, len };

    *rest = (struct view){ rest->data + used, rest->len - used };
    return word;
}

/* An element of a lane: "<place>:<id>:<body>". In place of the id there may be
 * the byte of the body at which the id stands, from 1. */
static void note_element(struct check *check, const char *key,
                         struct view element)
{
    struct view body = element, number = next_word(&body);
    struct view id = next_word(&body);
    unsigned long at = id.len < ID_LEN ? strtoul(id.data, NULL, 10) : 0;
    struct check_place *place;

    if (at > 0 && at <= body.len && body.len - at + 1 >= ID_LEN)
        id = (struct view){ body.data + at - 1, ID_LEN };
    place = check_note_place(check, key, id, IN_LANE);

    if (!place)
        return;
    if (place->lane_mark)
        place->where |= IN_LANE_TWICE;
    if (body.len > 0)
        place->where |= BODY_IN_LANE;
    place->lane_mark = mark_of(number);
}

/* Splits "<queue>/<tenant>:<priority>"; both are encoded. */
static bool split_lane(const char *name, struct view *queue,
                       struct view *tenant)
{
    const char *slash = strchr(name, '/');
    const char *colon = slash ? strrchr(slash, ':') : NULL;

    if (!colon)
        return false;
    *queue = (struct view){ name, (size_t)(slash - name) };
    *tenant = (struct view){ slash + 1, (size_t)(colon - slash) - 1 };
    return true;
}

/* Jobs of a lane are moved into the stream only while the queue's hash "lanes"
 * names the tenant. */
static void check_served(struct check *check, const char *key)
{
    struct key root = names_root(&check->names, check->partition);
    char lanes[NAMES_MAX_KEY + 160], name[sizeof(struct encoded_label)];
    struct view queue, tenant;

    if (!split_lane(key + root.len + strlen("lane:"), &queue, &tenant))
        return;
    snprintf(lanes, sizeof(lanes), "%slanes:%.*s", root.text,
             VIEW_ARG(view_head(queue, MAX_NAME_BYTES)));
    snprintf(name, sizeof(name), "%.*s",
             VIEW_ARG(view_head(tenant, sizeof(name) - 1)));
    CLEANUP(cleanup_asked)
    redisReply *served = CHECK_ASK(check, "HEXISTS", lanes, name);

    if (served && served->integer == 0)
        check_fault(check, key,
                    "nobody will look at it: its tenant is not in "
                    "lanes:%.*s",
                    VIEW_ARG(queue));
}

/* Reads a page by LRANGE or ZRANGE, from start on; NULL: there is nothing more.
 */
static redisReply *ask_page(struct check *check, const char *command,
                            const char *key, long long start)
{
    char from[24], to[24];
    redisReply *page;

    snprintf(from, sizeof(from), "%lld", start);
    snprintf(to, sizeof(to), "%lld", start + PAGE - 1);
    page = CHECK_ASK(check, command, key, from, to);
    if (page && page->elements > 0)
        return page;
    cleanup_asked(&page);
    return NULL;
}

static void note_lane(struct check *check, const char *key)
{
    check_served(check, key);
    for (long long start = 0; !check->broken; start += PAGE) {
        CLEANUP(cleanup_asked)
        redisReply *page = ask_page(check, "LRANGE", key, start);

        if (!page)
            return;
        for (size_t i = 0; i < page->elements; i++)
            note_element(check, key, check_places_text_of(page->element[i]));
    }
}

/* Sorted sets, in the order of their scores: the first member of a line is the
 * job that may run. */
static void note_zset(struct check *check, const char *key, uint32_t where)
{
    for (long long start = 0; !check->broken; start += PAGE) {
        CLEANUP(cleanup_asked)
        redisReply *page = ask_page(check, "ZRANGE", key, start);

        if (!page)
            return;
        for (size_t i = 0; i < page->elements; i++) {
            struct view id = check_places_text_of(page->element[i]);
            bool first = where == IN_LINE && start == 0 && i == 0;

            if (where == DEAD && view_starts(id, "entry-"))
                continue; /* it came in, and was no job */
            check_note_place(check, key, id,
                             first ? IN_LINE | FIRST_IN_LINE : where);
        }
    }
}

static void note_set(struct check *check, const char *key, uint32_t where)
{
    CLEANUP(cleanup_asked) redisReply *all = CHECK_ASK(check, "SMEMBERS", key);

    for (size_t i = 0; all && i < all->elements; i++)
        check_note_place(check, key, check_places_text_of(all->element[i]),
                         where);
}

static void note_unique(struct check *check, const char *key)
{
    CLEANUP(cleanup_asked) redisReply *id = CHECK_ASK(check, "GET", key);

    if (id && id->type == REDIS_REPLY_STRING)
        check_note_place(check, key, check_places_text_of(id), UNIQUE);
}

/* In refs: of a blob, jobs and schedules that keep it from expiring have the
 * score 0. */
static void note_refs(struct check *check, const char *key)
{
    CLEANUP(cleanup_asked)
    redisReply *ids = CHECK_ASK(check, "ZRANGE", key, "0", "0", "BYSCORE");

    for (size_t i = 0; ids && i < ids->elements; i++)
        if (!view_starts(check_places_text_of(ids->element[i]), "schedule:"))
            check_note_place(check, key, check_places_text_of(ids->element[i]),
                             NEEDS_BLOBS);
}

/* --- what has to expire --------------------------------------------------- */

static bool is_endless(struct check *check, const char *key)
{
    CLEANUP(cleanup_asked) redisReply *ttl = CHECK_ASK(check, "PTTL", key);

    return ttl && ttl->integer == -1;
}

static void note_endless(struct check *check, const char *key, const char *id)
{
    if (is_endless(check, key))
        check_note_place(check, key, view_of(id), ENDLESS);
}

static void check_expiry(struct check *check, const char *key)
{
    if (is_endless(check, key))
        check_fault(check, key, "does not expire");
}

static void check_blob(struct check *check, const char *key, const char *sha)
{
    struct key root = names_root(&check->names, check->partition);
    char refs[NAMES_MAX_KEY + 80];

    if (!is_endless(check, key))
        return;
    snprintf(refs, sizeof(refs), "%srefs:%.64s", root.text, sha);
    CLEANUP(cleanup_asked)
    redisReply *jobs = CHECK_ASK(check, "ZCOUNT", refs, "0", "0");

    if (jobs && jobs->integer == 0)
        check_fault(check, key, "does not expire, and no job needs it");
}

/* A session's record: its blobs must be there, and it must expire. */
static void check_session(struct check *check, const char *key)
{
    CLEANUP(cleanup_asked)
    redisReply *facts = CHECK_ASK(check, "HMGET", key, "files", "picture");

    for (size_t i = 0; facts && i < facts->elements; i++)
        check_blobs(check, key, check_places_text_of(facts->element[i]), true);
    check_expiry(check, key);
}

/* --- every key ------------------------------------------------------------ */

/* For most kinds of keys check_places() asks for the time to live first: so
 * that is prefetched. */
void prefetch_places(struct check *check, const char *key, const char *rest)
{
    static const char *const kinds[] = { "body:",   "journal:", "events:",
                                         "result:", "idem:",    "blob:" };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strncmp(rest, kinds[i], strlen(kinds[i])) == 0 &&
            !strstr(rest, ":entry-"))
            CHECK_PREFETCH(check, "PTTL", key);
}

/* Reads the key by its kind, which is what follows the root. Keys "job:" are
 * for the second pass. */
void check_places(struct check *check, const char *key, const char *rest)
{
    static const struct {
        const char *head;
        uint32_t where;
        void (*read)(struct check *, const char *, uint32_t);
    } sets[] = {
        { "line:", IN_LINE, note_zset },
        { "scheduled:", SCHEDULED, note_zset },
        { "ready:", READY, note_zset },
        { "dead:", DEAD, note_zset },
        { "leases", LEASED, note_zset },
        { "deadlines", DUE, note_zset },
        { "running:", RUNNING, note_set },
        { "behind:", BEHIND, note_set },
    };
    static const struct {
        const char *head;
        void (*read)(struct check *, const char *);
    } others[] = {
        { "work:", note_stream },      { "lane:", note_lane },
        { "unique:", note_unique },    { "refs:", note_refs },
        { "session:", check_session }, { "idem:", check_expiry },
        { "result:", check_expiry },   { "worker:", check_expiry },
        { "taken:", check_expiry },    { "rate:", check_expiry },
        { "spent:", check_expiry },
    };
    static const char *const of_jobs[] = { "body:", "journal:", "events:" };

    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        if (strncmp(rest, sets[i].head, strlen(sets[i].head)) == 0)
            sets[i].read(check, key, sets[i].where);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strncmp(rest, others[i].head, strlen(others[i].head)) == 0)
            others[i].read(check, key);
    for (size_t i = 0; i < sizeof(of_jobs) / sizeof(of_jobs[0]); i++)
        if (strncmp(rest, of_jobs[i], strlen(of_jobs[i])) == 0 &&
            strncmp(rest + strlen(of_jobs[i]), "entry-", 6) != 0)
            note_endless(check, key, rest + strlen(of_jobs[i]));
    if (strncmp(rest, "blob:", 5) == 0)
        check_blob(check, key, rest + 5);
}
