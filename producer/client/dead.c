/* dead.c - jobs that failed for good: lists them, requeues or forgets one, and
 * reads what was submitted. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "schemas/redis/operate.h"

/* A member of a queue's sorted set of dead jobs, before its facts are read. */
struct dead_member {
    char id[QUERN_NAME];
    size_t queue; /* among those that were asked for */
    unsigned int partition;
    uint64_t at;
};

struct dead_members {
    struct dead_member *items;
    size_t count;
};

struct dead_range { /* the latest are at 0 */
    uint64_t from, to;
};

static bool read_members(struct quern *quern, unsigned int partition,
                         size_t queue, const struct key *key,
                         struct dead_range piece, struct dead_members *members,
                         struct err *err)
{
    char from[24], to[24];

    snprintf(from, sizeof(from), "%" PRIu64, piece.from);
    snprintf(to, sizeof(to), "%" PRIu64, piece.to - 1);
    CLEANUP(cleanup_reply)
    redisReply *reply = FLEET_READ(quern, partition, "ZRANGE", key, err, from,
                                   to, "REV", "WITHSCORES");

    for (size_t i = 0; reply && i + 1 < reply->elements; i += 2) {
        struct dead_member *member;

        members->items =
            list_grow(members->items, members->count, sizeof(*members->items));
        member = &members->items[members->count++];
        view_copy(member->id, sizeof(member->id),
                  reply_view(reply->element[i]));
        member->at = reply_number(reply->element[i + 1]);
        member->queue = queue;
        member->partition = partition;
    }
    return reply;
}

/* The latest first. Those of one millisecond are in the order of ZRANGE REV:
 * the caller reads the list in pages, which would overlap in another order. */
static int dead_by_time(const void *a, const void *b)
{
    const struct dead_member *one = a, *other = b;

    if (one->at != other->at)
        return one->at > other->at ? -1 : 1;
    return strcmp(other->id, one->id);
}

static bool count_members(struct quern *quern, unsigned int partition,
                          const struct key *key, uint64_t *total,
                          struct err *err)
{
    CLEANUP(cleanup_reply)
    redisReply *reply = fleet_read(quern, partition, "ZCARD", key,
                                   (const char *const[]){ NULL }, err);

    *total += reply ? reply_number(reply) : 0;
    return reply;
}

/* Reads the facts of one. The job may have expired: then they are empty. */
static bool read_dead(struct quern *quern, const struct dead_member *member,
                      const char *queue, struct quern_dead_job *dead,
                      struct err *err)
{
    struct key root = names_root(&quern->fleet->names, member->partition), key;

    key.len = (size_t)snprintf(key.text, sizeof(key.text), "%sjob:%s",
                               root.text, member->id);
    CLEANUP(cleanup_reply)
    redisReply *reply = FLEET_READ(quern, member->partition, "HMGET", &key, err,
                                   "tenant", "error_code", "attempts", "errors",
                                   "crashes", "submitted_at");

    if (!reply || reply->elements != 6)
        return false;
    snprintf(dead->id, sizeof(dead->id), "%s", member->id);
    snprintf(dead->queue, sizeof(dead->queue), "%s", queue);
    struct view tenant = reply_view(reply->element[0]);

    view_copy(dead->tenant, sizeof(dead->tenant), names_or_default(tenant));
    view_copy(dead->error_code, sizeof(dead->error_code),
              reply_view(reply->element[1]));
    dead->attempts = reply_number(reply->element[2]);
    dead->errors = reply_number(reply->element[3]);
    dead->crashes = reply_number(reply->element[4]);
    dead->submitted_at = reply_number(reply->element[5]);
    dead->finished_at = member->at;
    return true;
}

/* Reads the dead of all queues and partitions, the latest first. Any of these
 * sets may have the latest ones, so each is read from its beginning to the end
 * of the range. When there is only one set, the range alone is read; *piece
 * then says where it is in members: from 0. */
static bool dead_read_all(struct quern *quern,
                          const struct quern_queues *queues,
                          struct dead_range *piece,
                          struct dead_members *members, uint64_t *total,
                          struct err *err)
{
    unsigned int partitions;

    if (!handle_partitions(quern, &partitions, err))
        return false;

    bool alone = partitions == 1 && queues->count == 1;
    struct dead_range each = { alone ? piece->from : 0, piece->to };

    for (unsigned int p = 0; p < partitions; p++)
        for (size_t i = 0; i < queues->count; i++) {
            struct key key = names_dead(&quern->fleet->names, p,
                                        view_of(queues->items[i].name));

            if (!count_members(quern, p, &key, total, err) ||
                !read_members(quern, p, i, &key, each, members, err))
                return false;
        }
    if (members->count > 0)
        qsort(members->items, members->count, sizeof(*members->items),
              dead_by_time);
    *piece =
        (struct dead_range){ piece->from - each.from, piece->to - each.from };
    return true;
}

/* The bounds on skip and limit keep their sum, and sums of it, from
 * overflowing. */
bool quern_dead_list(struct quern *quern, const char *queue, uint64_t skip,
                     uint64_t limit, struct quern_dead_jobs *deads,
                     struct quern_error *error)
{
    struct dead_range piece = { skip, skip + limit };
    struct quern_queues queues;
    struct dead_members members = { 0 };
    struct err err = { 0 };
    bool ok;

    *deads = (struct quern_dead_jobs){ 0 };
    if (limit == 0 || skip > UINT64_MAX / 4 || limit > UINT64_MAX / 4)
        return err_set(&err, ERR_REJECT, "bad_field",
                       "limit: 1 or more of the dead") ||
               handle_fail(error, &err);
    if (!quern_queues(quern, queue, &queues, error))
        return false;
    ok = dead_read_all(quern, &queues, &piece, &members, &deads->total, &err);
    for (uint64_t i = piece.from; ok && i < members.count && i < piece.to;
         i++) {
        deads->items =
            list_grow(deads->items, deads->count, sizeof(*deads->items));
        ok = read_dead(quern, &members.items[i],
                       queues.items[members.items[i].queue].name,
                       &deads->items[deads->count++], &err);
    }
    free(members.items);
    free(queues.items);
    if (ok)
        return true;
    free(deads->items);
    *deads = (struct quern_dead_jobs){ 0 };
    return handle_fail(error, &err);
}

/* --- one of them ---------------------------------------------------------- */

static bool dead_unknown(const char *id, struct err *err)
{
    return err_set(err, ERR_REJECT, "unknown_job",
                   "no job %.64s: never submitted here, or forgotten", id);
}

/* A stream entry that was not a job is among the dead under "entry-...": this
 * id names no partition. */
static bool is_entry(const char *id)
{
    return strncmp(id, "entry-", 6) == 0 && strlen(id) < 64 &&
           strspn(id + 6, "0123456789-") == strlen(id + 6);
}

/* *key: that of the job's facts. The id of a job names its partition; for an
 * entry every partition is asked. */
static bool find_partition(struct quern *quern, const char *id,
                           unsigned int *partition, struct key *key,
                           struct err *err)
{
    unsigned int partitions;
    struct view view;

    if (!is_entry(id)) {
        if (!handle_id(&view, id, err))
            return false;
        *key = names_job(&quern->fleet->names, view);
        return id_parse(view, partition);
    }
    if (!handle_partitions(quern, &partitions, err))
        return false;
    for (*partition = 0; *partition < partitions; ++*partition) {
        struct key root = names_root(&quern->fleet->names, *partition);

        key->len = (size_t)snprintf(key->text, sizeof(key->text), "%sjob:%s",
                                    root.text, id);
        CLEANUP(cleanup_reply)
        redisReply *reply = fleet_read(quern, *partition, "EXISTS", key,
                                       (const char *const[]){ NULL }, err);

        if (!reply)
            return false;
        if (reply_number(reply) == 1)
            return true;
    }
    return dead_unknown(id, err);
}

static bool not_dead(const char *id, struct err *err)
{
    return err_set(err, ERR_REJECT, "not_dead",
                   "job %.64s is not among the dead: it runs again, or has "
                   "ended otherwise",
                   id);
}

static bool not_again(const char *id, struct err *err)
{
    return err_set(err, ERR_REJECT, "not_dead",
                   "job %.64s is not among the dead, or what was asked is not "
                   "kept any more: it cannot run again",
                   id);
}

static bool requeue(struct quern *quern, const char *id, bool anew,
                    struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;
    struct quern_id ticket;
    struct view view;
    bool late = false;

    if (is_entry(id))
        return err_set(err, ERR_REJECT, "bad_field",
                       "%.64s is an entry that was not a job: it cannot run",
                       id);
    if (!handle_id(&view, id, err))
        return false;
    /* The ticket marks this call: sent again after a lost reply, Redis knows
     * it by the ticket. A new id serves, since nobody else has it. */
    if (!quern_id_new(quern, NULL, &ticket, NULL))
        return err_set(err, ERR_RETRY, "internal",
                       "cannot make a ticket for job %.64s", id);
    transition_requeue(&command, &quern->fleet->names, view, anew,
                       view_of(ticket.text));
    reply = handle_write_job(quern, view, &command, err);
    command_finish(&command);
    return reply && transition_requeued(reply, &late, err) &&
           (!late || not_again(id, err));
}

bool quern_requeue(struct quern *quern, const char *id, bool anew,
                   struct quern_error *error)
{
    struct err err = { 0 };

    return requeue(quern, id, anew, &err) || handle_fail(error, &err);
}

/* The library wants the queue, which only the facts have: so they are read
 * first. */
static bool dead_forget_job(struct quern *quern, const char *id,
                            struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *facts = NULL;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;
    unsigned int partition;
    struct view queue;
    struct key key;
    bool late = false;

    if (!find_partition(quern, id, &partition, &key, err))
        return false;
    facts = FLEET_READ(quern, partition, "HMGET", &key, err, "state", "queue");
    if (!facts || facts->elements != 2)
        return false;
    if (reply_view(facts->element[0]).len == 0)
        return dead_unknown(id, err);
    queue = reply_view(facts->element[1]);
    transition_forget(&command, &quern->fleet->names, partition,
                      names_or_default(queue), view_of(id));
    reply = handle_write(quern, partition, &command, err);
    command_finish(&command);
    return reply && transition_forgotten(reply, &late, err) &&
           (!late || not_dead(id, err));
}

bool quern_forget(struct quern *quern, const char *id,
                  struct quern_error *error)
{
    struct err err = { 0 };

    return dead_forget_job(quern, id, &err) || handle_fail(error, &err);
}

static bool read_body(struct quern *quern, const char *id, void **bytes,
                      size_t *size, struct err *err)
{
    unsigned int partition;
    struct key job, body;

    if (!find_partition(quern, id, &partition, &job, err))
        return false;
    struct key root = names_root(&quern->fleet->names, partition);

    body.len = (size_t)snprintf(body.text, sizeof(body.text), "%sbody:%s",
                                root.text, id);
    CLEANUP(cleanup_reply)
    redisReply *reply = fleet_read(quern, partition, "GET", &body,
                                   (const char *const[]){ NULL }, err);

    if (!reply)
        return false;
    if (reply->type != REDIS_REPLY_STRING)
        return err_set(err, ERR_REJECT, "expired",
                       "what was submitted as job %.64s is no longer kept", id);
    *bytes = view_dup(reply_view(reply));
    *size = reply->len;
    return true;
}

bool quern_body(struct quern *quern, const char *id, void **bytes, size_t *size,
                struct quern_error *error)
{
    struct err err = { 0 };

    return read_body(quern, id, bytes, size, &err) || handle_fail(error, &err);
}
