/* schedule.c - schedules: listed, set, removed, paused, run once. A schedule is
 * in the partition of its job's tenant. Its name belongs to the whole fleet: so
 * a call that has only the name looks in every partition. */
#include <stdlib.h>
#include <string.h>

#include "producer/client/draft.h"
#include "producer/client/fleet.h"
#include "schemas/message/cron.h"
#include "schemas/message/limits.h"
#include "schemas/redis/operate.h"

/* --- the list ------------------------------------------------------------- */

static void read_facts(const redisReply *hash, struct quern_schedule *schedule)
{
    view_copy(schedule->spec, sizeof(schedule->spec),
              reply_field(hash, "spec"));
    view_copy(schedule->zone, sizeof(schedule->zone),
              reply_field(hash, "zone"));
    view_copy(schedule->last_id, sizeof(schedule->last_id),
              reply_field(hash, "last_id"));
    view_copy(schedule->refused, sizeof(schedule->refused),
              reply_field(hash, "last_error"));
    schedule->paused = reply_field_number(hash, "paused") == 1;
    schedule->next_at = reply_field_number(hash, "next_at");
    schedule->last_at = reply_field_number(hash, "last_at");
    schedule->created_at = reply_field_number(hash, "created_at");
}

static redisReply *schedule_read_hash(struct quern *quern,
                                      unsigned int partition, struct view name,
                                      struct err *err)
{
    struct key key = names_schedule(&quern->fleet->names, partition, name);

    return fleet_read(quern, partition, "HGETALL", &key,
                      (const char *const[]){ NULL }, err);
}

static bool schedule_read_partition(struct quern *quern, unsigned int partition,
                                    struct quern_schedules *schedules,
                                    struct err *err)
{
    struct key key =
        names_of_root(&quern->fleet->names, partition, "schedules");
    CLEANUP(cleanup_reply)
    redisReply *listed =
        FLEET_READ(quern, partition, "ZRANGE", &key, err, "0", "-1");

    for (size_t i = 0; listed && i < listed->elements; i++) {
        struct view name = reply_view(listed->element[i]);
        struct quern_schedule *schedule;

        if (!name_is_valid(name))
            continue;
        CLEANUP(cleanup_reply)
        redisReply *hash = schedule_read_hash(quern, partition, name, err);

        if (!hash)
            return false;
        schedules->items = list_grow(schedules->items, schedules->count,
                                     sizeof(*schedules->items));
        schedule = &schedules->items[schedules->count++];
        view_copy(schedule->name, sizeof(schedule->name), name);
        read_facts(hash, schedule);
    }
    return listed;
}

/* The next one first; those that never go off again (0) last: 0 - 1 is the
 * largest number. */
static int schedule_by_time(const void *a, const void *b)
{
    const struct quern_schedule *one = a, *other = b;

    if (one->next_at != other->next_at)
        return one->next_at - 1 < other->next_at - 1 ? -1 : 1;
    return strcmp(one->name, other->name);
}

static bool read_schedules(struct quern *quern,
                           struct quern_schedules *schedules, struct err *err)
{
    unsigned int partitions;

    if (!handle_partitions(quern, &partitions, err))
        return false;
    for (unsigned int p = 0; p < partitions; p++)
        if (!schedule_read_partition(quern, p, schedules, err))
            return false;
    if (schedules->count > 0)
        qsort(schedules->items, schedules->count, sizeof(*schedules->items),
              schedule_by_time);
    return fleet_now(quern, &schedules->now, err);
}

bool quern_schedules(struct quern *quern, struct quern_schedules *schedules,
                     struct quern_error *error)
{
    struct err err = { 0 };

    *schedules = (struct quern_schedules){ 0 };
    if (read_schedules(quern, schedules, &err))
        return true;
    free(schedules->items);
    *schedules = (struct quern_schedules){ 0 };
    return handle_fail(error, &err);
}

/* --- adding one ----------------------------------------------------------- */

static void cleanup_zone(struct zone **zone)
{
    zone_free(*zone);
}

static bool next_time(struct view spec, struct view zone_name, uint64_t after,
                      uint64_t *next, struct err *err)
{
    CLEANUP(cleanup_zone) struct zone *zone = zone_open(zone_name, err);
    struct cron cron;

    if (!zone || !cron_parse(&cron, spec, err))
        return false;
    *next = cron_next(&cron, zone, after);
    return true;
}

bool quern_schedule_next(const char *spec, const char *zone, uint64_t after,
                         uint64_t *next, struct quern_error *error)
{
    struct err err = { 0 };

    return next_time(view_of(spec), view_of(zone), after, next, &err) ||
           handle_fail(error, &err);
}

/* Each time submits a job of its own: so the draft may have nothing that
 * belongs to one job. Its id must be the placeholder SCHEDULE_ID. */
static bool check_scheduled(const struct submit *job, struct err *err)
{
    if (!view_is(job->id, SCHEDULE_ID))
        return err_set(
            err, ERR_REJECT, "bad_field",
            "id: leave it out, because each job of a schedule gets its own");
    if (job->idempotency_key.len > 0)
        return err_set(err, ERR_REJECT, "bad_field",
                       "idempotency_key: leave it out, because each job of a "
                       "schedule gets its own");
    return job->not_before == 0 ||
           err_set(err, ERR_REJECT, "bad_field",
                   "not_before: leave it out, because the schedule says when");
}

/* *was: there was one. */
static bool remove_one(struct quern *quern, unsigned int partition,
                       struct view name, bool *was, struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    transition_schedule_rm(&command, &quern->fleet->names, partition, name);
    reply = handle_write(quern, partition, &command, err);
    command_finish(&command);
    return reply && transition_schedule_removed(reply, was, err);
}

static bool set_one(struct quern *quern, unsigned int partition,
                    const struct schedule *schedule, struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    transition_schedule_set(&command, &quern->fleet->names, partition,
                            schedule);
    reply = handle_write(quern, partition, &command, err);
    command_finish(&command);
    return reply;
}

/* Writes the schedule, then removes those of its name from other partitions:
 * the old one may have been of another tenant. In this order a failure in
 * between leaves two of them, and the same call again puts that right; the
 * other order could leave none. */
static bool replace(struct quern *quern, const struct schedule *schedule,
                    struct err *err)
{
    unsigned int partitions, home;
    bool was;

    if (!handle_partitions(quern, &partitions, err) ||
        !handle_partition(quern, schedule->job->tenant, &home, err) ||
        !set_one(quern, home, schedule, err))
        return false;
    for (unsigned int p = 0; p < partitions; p++)
        if (p != home && !remove_one(quern, p, schedule->name, &was, err))
            return false;
    return true;
}

/* Checks name, times and zone before Redis is asked for anything. */
static bool check_times(struct schedule *schedule, struct err *err)
{
    uint64_t any;

    if (schedule->zone.len == 0)
        schedule->zone = VIEW("UTC");
    return check_name("schedule", schedule->name, err) &&
           next_time(schedule->spec, schedule->zone, 0, &any, err);
}

/* The id that a schedule's job has until it is submitted; each time it gets one
 * of its own. */
static const struct quern_id no_id = { SCHEDULE_ID };

static bool set_schedule(struct quern *quern, struct schedule *schedule,
                         const struct draft *draft, struct err *err)
{
    uint64_t now;

    schedule->job = &draft->submit;
    return check_scheduled(schedule->job, err) && fleet_now(quern, &now, err) &&
           next_time(schedule->spec, schedule->zone, now, &schedule->next_at,
                     err) &&
           replace(quern, schedule, err);
}

bool quern_schedule_set(struct quern *quern, const char *name, const char *spec,
                        const char *zone, const char *text,
                        const struct quern_submit_options *options,
                        struct quern_error *error)
{
    struct schedule schedule = { .name = view_of(name),
                                 .spec = view_of(spec),
                                 .zone = view_of(zone) };
    CLEANUP(draft_finish) struct draft draft = { 0 };
    struct err err = { 0 };
    bool read = check_times(&schedule, &err) &&
                draft_read_json(&draft, quern, text, options, &no_id, &err);

    if (options && options->note)
        draft_note(&draft, options->note);
    return (read && set_schedule(quern, &schedule, &draft, &err)) ||
           handle_fail(error, &err);
}

/* --- one of them ---------------------------------------------------------- */

static bool schedule_unknown(const char *name, struct err *err)
{
    return err_set(err, ERR_REJECT, "unknown_schedule",
                   "there is no schedule \"%.64s\": see quern schedule ls",
                   name);
}

static bool remove_schedule(struct quern *quern, const char *name,
                            struct err *err)
{
    unsigned int partitions;
    bool was = false;

    if (!check_name("schedule", view_of(name), err) ||
        !handle_partitions(quern, &partitions, err))
        return false;
    for (unsigned int p = 0; p < partitions; p++) {
        bool here = false;

        if (!remove_one(quern, p, view_of(name), &here, err))
            return false;
        was = was || here;
    }
    return was || schedule_unknown(name, err);
}

bool quern_schedule_remove(struct quern *quern, const char *name,
                           struct quern_error *error)
{
    struct err err = { 0 };

    return remove_schedule(quern, name, &err) || handle_fail(error, &err);
}

/* Finds the partition that has it, and gives its hash; freeReplyObject() it. */
static redisReply *find_schedule(struct quern *quern, const char *name,
                                 unsigned int *partition, struct err *err)
{
    unsigned int partitions;

    if (!check_name("schedule", view_of(name), err) ||
        !handle_partitions(quern, &partitions, err))
        return NULL;
    for (unsigned int p = 0; p < partitions; p++) {
        redisReply *hash = schedule_read_hash(quern, p, view_of(name), err);

        *partition = p;
        if (!hash || hash->elements > 0)
            return hash;
        freeReplyObject(hash);
    }
    schedule_unknown(name, err);
    return NULL;
}

/* To resume, the next time is worked out here: Redis cannot read a cron
 * expression. */
static bool pause_schedule(struct quern *quern, const char *name, bool pause,
                           struct err *err)
{
    unsigned int partition;
    uint64_t now, next = 0;
    bool was = false;
    struct command command;
    CLEANUP(cleanup_reply)
    redisReply *hash = find_schedule(quern, name, &partition, err);
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    if (!hash || !fleet_now(quern, &now, err) ||
        (!pause && !next_time(reply_field(hash, "spec"),
                              reply_field(hash, "zone"), now, &next, err)))
        return false;
    transition_schedule_pause(&command, &quern->fleet->names, partition,
                              view_of(name), pause, next);
    reply = handle_write(quern, partition, &command, err);
    command_finish(&command);
    if (!reply || !transition_schedule_removed(reply, &was, err))
        return false;
    return was || schedule_unknown(name, err);
}

bool quern_schedule_pause(struct quern *quern, const char *name, bool pause,
                          struct quern_error *error)
{
    struct err err = { 0 };

    return pause_schedule(quern, name, pause, &err) || handle_fail(error, &err);
}

static bool run_schedule(struct quern *quern, const char *name,
                         struct quern_id *id, struct err *err)
{
    unsigned int partition;
    bool existed;
    struct view given;
    struct command command;
    CLEANUP(cleanup_reply)
    redisReply *hash = find_schedule(quern, name, &partition, err);
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    if (!hash || !draft_new_id(partition, id, err))
        return false;
    transition_schedule_run(&command, &quern->fleet->names, partition,
                            view_of(name), view_of(id->text));
    reply = handle_write(quern, partition, &command, err);
    command_finish(&command);
    if (!reply)
        return strcmp(err->code, "unknown_job") == 0
                   ? schedule_unknown(name, err)
                   : false;
    return transition_submitted(reply, &given, &existed, err);
}

bool quern_schedule_run(struct quern *quern, const char *name,
                        struct quern_id *id, struct quern_error *error)
{
    struct err err = { 0 };
    struct quern_id own;

    return run_schedule(quern, name, id ? id : &own, &err) ||
           handle_fail(error, &err);
}

static bool schedule_read_job(struct quern *quern, const char *name,
                              void **bytes, size_t *size, struct err *err)
{
    unsigned int partitions;

    if (!check_name("schedule", view_of(name), err) ||
        !handle_partitions(quern, &partitions, err))
        return false;
    for (unsigned int p = 0; p < partitions; p++) {
        CLEANUP(cleanup_reply)
        redisReply *hash = schedule_read_hash(quern, p, view_of(name), err);

        if (!hash)
            return false;
        if (hash->elements > 0) {
            struct view body = reply_field(hash, "job");

            *bytes = view_dup(body);
            *size = body.len;
            return true;
        }
    }
    return schedule_unknown(name, err);
}

bool quern_schedule_job(struct quern *quern, const char *name, void **bytes,
                        size_t *size, struct quern_error *error)
{
    struct err err = { 0 };

    return schedule_read_job(quern, name, bytes, size, &err) ||
           handle_fail(error, &err);
}
