/* upkeep.c - commands and replies of library/upkeep.lua, schedule.lua's fire
 * and mend.lua. */
#include "schemas/redis/upkeep.h"

#include "schemas/redis/conn.h"
#include "schemas/redis/step.h"

/* ------------------------------------------------------- what is due */

void transition_promote(struct command *command, const struct names *names,
                        unsigned int partition, uint64_t count)
{
    step_begin(command, "quern_v1_promote", names, partition);
    command_add_uint(command, count);
}

bool transition_promoted(const redisReply *reply,
                         struct promote_reply *promoted,
                         struct due_schedule due[PROMOTED_MAX_DUE],
                         struct err *err)
{
    enum { NAME, SPEC, ZONE, AT, PARTS };
    redisReply **part = step_expect(reply, "promote", 4, err);

    if (!part)
        return false;
    if (part[2]->type != REDIS_REPLY_ARRAY || part[2]->elements % PARTS != 0 ||
        part[2]->elements > (size_t)PROMOTED_MAX_DUE * PARTS)
        return step_misfit(err, "promote");
    *promoted = (struct promote_reply){
        .moved = step_uint(part[0]),
        .more = part[1]->type == REDIS_REPLY_INTEGER && part[1]->integer >= 0,
        .wait_ms = step_uint(part[1]),
        .due_count = part[2]->elements / PARTS,
        .mend = step_uint(part[3]) == 1,
    };
    for (size_t i = 0; i < promoted->due_count; i++) {
        redisReply **facts = part[2]->element + i * PARTS;
        due[i] = (struct due_schedule){
            .name = step_text(facts[NAME]),
            .spec = step_text(facts[SPEC]),
            .zone = step_text(facts[ZONE]),
            .at = step_uint(facts[AT]),
        };
    }
    return true;
}

void transition_fire(struct command *command, const struct names *names,
                     unsigned int partition, const struct fire *fire)
{
    step_begin(command, "quern_v1_fire", names, partition);
    command_add(command, fire->name);
    command_add_uint(command, fire->at);
    command_add_uint(command, fire->next_at);
    command_add(command, fire->id);
}

bool transition_fired(const redisReply *reply, enum fire_outcome *fired,
                      struct view *what, struct err *err)
{
    redisReply **part = step_expect(reply, "fire", 2, err);

    if (!part)
        return false;
    struct view word = step_text(part[1]);
    *what = step_text(part[0]);
    *fired = view_is(word, "late")      ? FIRE_LATE
             : view_is(word, "refused") ? FIRE_REFUSED
                                        : FIRE_DONE;
    return what->len > 0 || *fired == FIRE_LATE || step_misfit(err, "fire");
}

/* ------------------------------------------------------------ leases */

void transition_lapse(struct command *command, const struct names *names,
                      unsigned int partition, uint64_t max_crashes,
                      uint64_t count)
{
    step_begin(command, "quern_v1_lapse", names, partition);
    command_add_uint(command, max_crashes);
    command_add_uint(command, count);
}

bool transition_lapsed(const redisReply *reply, uint64_t *jobs, bool *more,
                       struct err *err)
{
    redisReply **part = step_expect(reply, "lapse", 2, err);

    if (!part)
        return false;
    *jobs = step_uint(part[0]);
    *more = step_uint(part[1]);
    return true;
}

void transition_reclaim(struct command *command, const struct names *names,
                        unsigned int partition, const struct reclaim *reclaim)
{
    step_begin(command, "quern_v1_reclaim", names, partition);
    command_add(command, reclaim->stream);
    command_add_uint(command, reclaim->lease_ms);
    command_add_uint(command, reclaim->count);
    command_add(command, reclaim->cursor);
}

bool transition_reclaimed(const redisReply *reply, struct view *cursor,
                          uint64_t *jobs, struct err *err)
{
    redisReply **part = step_expect(reply, "reclaim", 2, err);

    if (!part)
        return false;
    *cursor = step_text(part[0]);
    *jobs = step_uint(part[1]);
    return cursor->len > 0 || step_misfit(err, "reclaim");
}

void transition_mend(struct command *command, const struct names *names,
                     unsigned int partition, uint64_t count, struct view cursor)
{
    step_begin(command, "quern_v1_mend", names, partition);
    command_add_uint(command, count);
    command_add(command, cursor);
}

bool transition_mended(const redisReply *reply, struct view *cursor,
                       uint64_t *mended, struct err *err)
{
    redisReply **part = step_expect(reply, "mend", 2, err);

    if (!part)
        return false;
    *cursor = step_text(part[0]);
    *mended = step_uint(part[1]);
    return cursor->len > 0 || step_misfit(err, "mend");
}

/* ----------------------------------------------------------- workers */

void transition_report(struct command *command, const struct names *names,
                       unsigned int partition, struct view consumer,
                       uint64_t ttl_ms, const struct report_field *about,
                       size_t count)
{
    step_begin(command, "quern_v1_report", names, partition);
    command_add(command, consumer);
    command_add_uint(command, ttl_ms);
    for (size_t i = 0; i < count; i++) {
        command_add_text(command, about[i].name);
        command_add(command, about[i].value);
    }
}

void transition_depart(struct command *command, const struct names *names,
                       unsigned int partition, struct view consumer)
{
    transition_report(command, names, partition, consumer, 0, NULL, 0);
}

bool transition_reported(const redisReply *reply, bool *draining,
                         struct err *err)
{
    redisReply **part = step_expect(reply, "report", 2, err);

    if (!part)
        return false;
    *draining = step_uint(part[0]);
    return part[1]->type == REDIS_REPLY_ARRAY || step_misfit(err, "report");
}
