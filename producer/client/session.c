/* session.c - quern_session() and quern_sessions(): the records of sessions
 * that outlive their jobs.
 *
 * Each partition has a sorted set of its sessions, by when they expire. A
 * session that was closed is not in the set, but its record stays for a while.
 */
#include "schemas/message/session.h"

#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "schemas/message/job.h"

/* record->bytes NULL: there is none, or it has expired. free() the bytes. */
static bool read_record(struct quern *quern, struct view tenant,
                        struct view name, struct quern_record *record,
                        struct err *err)
{
    struct command command;
    struct key key;
    unsigned int partition;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    *record = (struct quern_record){ 0 };
    if (!handle_partition(quern, tenant, &partition, err))
        return false;
    key = names_session(&quern->fleet->names, partition, tenant, name);
    command_init(&command, "HGET");
    command_add(&command, key_view(&key));
    command_add_text(&command, "record");
    reply = handle_call(quern, partition, &command, err);
    command_finish(&command);
    if (reply && reply->type == REDIS_REPLY_STRING) {
        record->bytes = view_dup((struct view){ reply->str, reply->len });
        record->size = reply->len;
    }
    return reply;
}

/* *open false: there is no record, or it says that the session was closed. */
static bool session_is_open(const struct quern_record *record, bool *open,
                            struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct session_record known;

    *open = false;
    if (!record->bytes)
        return true;
    if (!message_decode(&schema_session_record,
                        (struct view){ record->bytes, record->size }, &known,
                        &arena, err))
        return err_prefix(err, "what is kept of the session");
    *open = !known.closed;
    return true;
}

static bool read_open(struct quern *quern, struct view tenant, struct view name,
                      struct quern_record *record, struct err *err)
{
    bool open;

    if (!label_check("tenant", tenant, err) ||
        !label_check("session", name, err) ||
        !read_record(quern, tenant, name, record, err) ||
        !session_is_open(record, &open, err))
        return false;
    return open || err_set(err, ERR_REJECT, "unknown_session",
                           "there is no session %.*s of tenant %.*s: never "
                           "used, closed, or expired",
                           VIEW_ARG(name), VIEW_ARG(tenant));
}

bool quern_session(struct quern *quern, const char *tenant, const char *name,
                   struct quern_record *record, struct quern_error *error)
{
    struct err err = { 0 };

    *record = (struct quern_record){ 0 };
    if (read_open(quern, tenant ? view_of(tenant) : VIEW("default"),
                  view_of(name), record, &err))
        return true;
    free(record->bytes);
    *record = (struct quern_record){ 0 };
    return handle_fail(error, &err);
}

/* --- all of them ---------------------------------------------------------- */

/* Whose a session is, and its name; NUL-terminated. */
struct session_labels {
    char tenant[MAX_NAME_BYTES + 1], name[MAX_NAME_BYTES + 1];
};

/* Splits a member of the set, "<tenant>/<name>", both encoded. */
static bool session_split(struct view member, struct session_labels *owned)
{
    const char *slash = memchr(member.data, '/', member.len);

    if (!slash)
        return false;
    struct view tenant = { member.data, (size_t)(slash - member.data) };
    struct view name = { slash + 1, member.len - tenant.len - 1 };

    return names_decode(tenant, owned->tenant) &&
           names_decode(name, owned->name);
}

static redisReply *read_index(struct quern *quern, unsigned int partition,
                              struct err *err)
{
    struct key key = names_sessions(&quern->fleet->names, partition);
    struct command command;
    redisReply *reply;

    command_init(&command, "ZRANGE");
    command_add(&command, key_view(&key));
    command_add_text(&command, "0");
    command_add_text(&command, "-1");
    command_add_text(&command, "REV");
    command_add_text(&command, "WITHSCORES");
    reply = handle_call(quern, partition, &command, err);
    command_finish(&command);
    return reply;
}

/* A session of the list, before it is sorted. */
struct session_entry {
    double expires_at;
    struct quern_record record;
};

struct session_listing {
    struct session_entry *items;
    size_t count, room;
};

static int by_expiry(const void *left, const void *right)
{
    const struct session_entry *a = left, *b = right;

    return a->expires_at < b->expires_at   ? 1
           : a->expires_at > b->expires_at ? -1
                                           : 0;
}

static struct session_entry *listing_add(struct session_listing *listing)
{
    if (listing->count == listing->room) {
        listing->room = listing->room ? 2 * listing->room : 16;
        listing->items =
            realloc(listing->items, listing->room * sizeof(*listing->items));
        if (!listing->items)
            abort();
    }
    return &listing->items[listing->count];
}

/* Reads the records of one partition's sessions; index: [member, score, ...].
 * All calls together take no longer than one may. A record that has expired
 * since the index was read is left out. */
static bool list_index(struct quern *quern, uint64_t end,
                       const redisReply *index, struct view wanted,
                       struct session_listing *listing, struct err *err)
{
    struct quern hurried = *quern; /* for the time that is left */

    for (size_t i = 0; i + 1 < index->elements; i += 2) {
        const redisReply *member = index->element[i];
        struct session_labels owned;
        struct session_entry *listed = listing_add(listing);
        uint64_t now = clock_ms();

        if (!session_split((struct view){ member->str, member->len }, &owned) ||
            (wanted.len > 0 && !view_is(wanted, owned.tenant)))
            continue;
        hurried.timeout_ms = now < end ? end - now : 1;
        if (!read_record(&hurried, view_of(owned.tenant), view_of(owned.name),
                         &listed->record, err))
            return false;
        listed->expires_at = strtod(index->element[i + 1]->str, NULL);
        listing->count += listed->record.bytes != NULL;
    }
    return true;
}

/* wanted: a tenant, whose sessions are all in one partition; empty: all. */
static bool list_sessions(struct quern *quern, struct view wanted,
                          struct session_listing *listing, struct err *err)
{
    uint64_t end = clock_after(quern->timeout_ms);
    unsigned int first = 0, count;

    if (!handle_partitions(quern, &count, err))
        return false;
    if (wanted.len > 0) {
        first = names_partition(wanted, count);
        count = first + 1;
    }
    for (unsigned int i = first; i < count; i++) {
        CLEANUP(cleanup_reply) redisReply *index = read_index(quern, i, err);
        if (!index || !list_index(quern, end, index, wanted, listing, err))
            return false;
    }
    return true;
}

/* On failure what was read so far is moved into records all the same, which
 * frees it. */
bool quern_sessions(struct quern *quern, const char *tenant,
                    struct quern_records *records, struct quern_error *error)
{
    struct view wanted = view_of(tenant);
    struct session_listing listing = { 0 };
    struct err err = { 0 };
    bool whole;

    *records = (struct quern_records){ 0 };
    if (tenant && !label_check("tenant", wanted, &err))
        return handle_fail(error, &err);
    whole = list_sessions(quern, wanted, &listing, &err);
    if (listing.count > 0)
        qsort(listing.items, listing.count, sizeof(*listing.items), by_expiry);
    records->items = calloc(listing.count + 1, sizeof(*records->items));
    if (!records->items)
        abort();
    for (; records->count < listing.count; records->count++)
        records->items[records->count] = listing.items[records->count].record;
    free(listing.items);
    if (whole)
        return true;
    quern_records_finish(records);
    return handle_fail(error, &err);
}

void quern_records_finish(struct quern_records *records)
{
    if (!records)
        return;
    for (size_t i = 0; i < records->count; i++)
        free(records->items[i].bytes);
    free(records->items);
    *records = (struct quern_records){ 0 };
}
