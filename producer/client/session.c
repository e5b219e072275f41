/* session.c - what is kept of sessions, read as it stands.
 *
 * Redis lists those that are kept, by when they expire; one that was closed is
 * not in the list. */
#include "schemas/message/session.h"

#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "schemas/message/job.h"

/* record->bytes NULL: it has expired. */
static bool read_record(struct quern *quern, struct view tenant,
                        struct view name, struct quern_record *record,
                        struct err *err)
{
    struct key key = names_session(&quern->names, PARTITION, tenant, name);
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    *record = (struct quern_record){ 0 };
    command_init(&command, "HGET");
    command_add(&command, key_view(&key));
    command_add_text(&command, "record");
    reply = handle_call(quern, &command, err);
    command_finish(&command);
    if (reply && reply->type == REDIS_REPLY_STRING) {
        record->bytes = view_dup((struct view){ reply->str, reply->len });
        record->size = reply->len;
    }
    return reply != NULL;
}

/* One that was closed is remembered for a while. */
static bool is_open(const struct quern_record *record, bool *open,
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

    if (!check_name("tenant", tenant, err) ||
        !check_name("session", name, err) ||
        !read_record(quern, tenant, name, record, err) ||
        !is_open(record, &open, err))
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

/* "<tenant>/<name>", which Redis lists. */
static bool split(struct view member, struct view *tenant, struct view *name)
{
    const char *slash = memchr(member.data, '/', member.len);

    if (!slash)
        return false;
    tenant->data = member.data;
    tenant->len = (size_t)(slash - member.data);
    name->data = slash + 1;
    name->len = member.len - tenant->len - 1;
    return name_is_valid(*tenant) && name_is_valid(*name);
}

static redisReply *read_index(struct quern *quern, struct err *err)
{
    struct key key = names_sessions(&quern->names, PARTITION);
    struct command command;
    redisReply *reply;

    command_init(&command, "ZRANGE");
    command_add(&command, key_view(&key));
    command_add_text(&command, "0");
    command_add_text(&command, "-1");
    command_add_text(&command, "REV");
    reply = handle_call(quern, &command, err);
    command_finish(&command);
    return reply;
}

/* All within the time of one call. */
static bool read_all(struct quern *quern, const redisReply *index,
                     struct view wanted, struct quern_records *records,
                     struct err *err)
{
    struct quern hurried = *quern; /* borrows all of it */
    uint64_t end = clock_after(quern->timeout_ms);

    for (size_t i = 0; i < index->elements; i++) {
        const redisReply *member = index->element[i];
        struct view tenant, name;
        struct quern_record *record = &records->items[records->count];
        uint64_t now = clock_ms();

        if (!split((struct view){ member->str, member->len }, &tenant, &name) ||
            (wanted.len > 0 && !view_equal(tenant, wanted)))
            continue;
        hurried.timeout_ms = now < end ? end - now : 1;
        if (!read_record(&hurried, tenant, name, record, err))
            return false;
        records->count += record->bytes != NULL;
    }
    return true;
}

bool quern_sessions(struct quern *quern, const char *tenant,
                    struct quern_records *records, struct quern_error *error)
{
    CLEANUP(cleanup_reply) redisReply *index = NULL;
    struct view wanted = view_of(tenant);
    struct err err = { 0 };

    *records = (struct quern_records){ 0 };
    if (tenant && !check_name("tenant", wanted, &err))
        return handle_fail(error, &err);
    index = read_index(quern, &err);
    if (!index)
        return handle_fail(error, &err);
    records->items = calloc(index->elements + 1, sizeof(*records->items));
    if (!records->items)
        abort();
    if (read_all(quern, index, wanted, records, &err))
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
