/* listing.c - commands and replies of library/list.lua, explain.lua, tidy.lua.
 */
#include "schemas/redis/listing.h"

#include "schemas/redis/conn.h"
#include "schemas/redis/step.h"

/* The columns of a row, as list.lua has them. */
enum {
    ROW_ID,
    ROW_STATE,
    ROW_PLACE,
    ROW_QUEUE,
    ROW_TENANT,
    ROW_SESSION,
    ROW_WORKER,
    ROW_REASON,
    ROW_PRIORITY,
    ROW_CALL,
    ROW_ERROR_CODE,
    ROW_SUBMITTED_AT,
    ROW_STARTED_AT,
    ROW_FINISHED_AT,
    ROW_ATTEMPTS,
    ROW_TOKENS,
    ROW_COST,
    ROW_DUE_AT,
    ROW_COLUMNS
};

void transition_jobs(struct command *command, const struct names *names,
                     unsigned int partition, struct view cursor, uint64_t count,
                     const struct job_filter *filter)
{
    step_begin(command, "quern_v1_jobs", names, partition);
    command_add(command, cursor);
    command_add_uint(command, count);
    step_add_pair(command, "state", filter->states);
    step_add_pair(command, "place", filter->places);
    step_add_pair(command, "queue", filter->queue);
    step_add_pair(command, "tenant", filter->tenant);
    step_add_pair(command, "session", filter->session);
    step_add_pair(command, "worker", filter->worker);
    step_add_pair(command, "error_code", filter->error_code);
    step_add_pair(command, "id", filter->id);
    step_add_pair(command, "model", filter->model);
    step_add_pair(command, "metadata", filter->metadata);
    step_add_pair(command, "reason", filter->reason);
    step_add_number(command, "since", filter->since);
    step_add_number(command, "until", filter->until);
}

bool transition_jobs_listed(const redisReply *reply, struct view *cursor,
                            size_t *rows, struct err *err)
{
    redisReply **part = step_expect(reply, "jobs", 2, err);

    if (!part)
        return false;
    if (part[1]->type != REDIS_REPLY_ARRAY)
        return step_misfit(err, "jobs");
    *cursor = step_text(part[0]);
    *rows = part[1]->elements;
    return true;
}

uint64_t transition_jobs_since(const redisReply *reply)
{
    return reply->elements > 2 ? step_uint(reply->element[2]) : 0;
}

static bool state_of(struct view name, int *state)
{
    *state = job_state_of(name);
    return *state >= 0;
}

bool transition_job_row(const redisReply *reply, size_t at, struct job_row *row,
                        struct err *err)
{
    const redisReply *one = reply->element[1]->element[at];
    redisReply **part = step_expect(one, "jobs", ROW_COLUMNS, err);

    if (!part)
        return false;
    *row = (struct job_row){
        .id = step_text(part[ROW_ID]),
        .place = step_text(part[ROW_PLACE]),
        .queue = step_text(part[ROW_QUEUE]),
        .tenant = step_text(part[ROW_TENANT]),
        .session = step_text(part[ROW_SESSION]),
        .worker = step_text(part[ROW_WORKER]),
        .reason = step_text(part[ROW_REASON]),
        .priority = step_text(part[ROW_PRIORITY]),
        .call = step_text(part[ROW_CALL]),
        .error_code = step_text(part[ROW_ERROR_CODE]),
        .submitted_at = step_uint(part[ROW_SUBMITTED_AT]),
        .started_at = step_uint(part[ROW_STARTED_AT]),
        .finished_at = step_uint(part[ROW_FINISHED_AT]),
        .attempts = step_uint(part[ROW_ATTEMPTS]),
        .tokens = step_uint(part[ROW_TOKENS]),
        .cost = step_uint(part[ROW_COST]),
        .due_at = step_uint(part[ROW_DUE_AT]),
    };
    return state_of(step_text(part[ROW_STATE]), &row->state) ||
           step_misfit(err, "jobs");
}

void transition_explain(struct command *command, const struct names *names,
                        struct view id)
{
    step_begin_job(command, "quern_v1_explain", names, id);
}

void transition_body(struct command *command, const struct names *names,
                     struct view id)
{
    step_begin_job(command, "quern_v1_body", names, id);
}

bool transition_explained(const redisReply *reply, size_t *pairs,
                          struct err *err)
{
    if (!step_expect(reply, "explain", 2, err))
        return false;
    *pairs = reply->elements / 2;
    return true;
}

void transition_figures(struct command *command, const struct names *names,
                        unsigned int partition, struct view queue,
                        uint64_t first, size_t periods)
{
    step_begin(command, "quern_v1_figures", names, partition);
    command_add(command, queue);
    for (size_t i = 0; i < periods; i++)
        command_add_uint(command, first + i);
}

bool figure_read(struct view field, unsigned int *minute, char *what,
                 size_t *bucket)
{
    if (field.len < 2 || field.data[0] < '0' || field.data[0] > '9')
        return false;
    *minute = (unsigned int)(field.data[0] - '0');
    *what = field.data[1];
    *bucket = 0;
    for (size_t i = 2; i < field.len && i < 5; i++) {
        if (field.data[i] < '0' || field.data[i] > '9')
            return false;
        *bucket = *bucket * 10 + (size_t)(field.data[i] - '0');
    }
    if (*what != 'w' && *what != 'r')
        return field.len == 2;
    return (*bucket)-- > 0;
}

void transition_tidy(struct command *command, const struct names *names,
                     unsigned int partition, struct view cursor,
                     const struct tidy *tidy)
{
    step_begin(command, "quern_v1_tidy", names, partition);
    command_add(command, cursor);
    command_add_uint(command, LISTING_TIDY_STEP);
    command_add_uint(command, tidy->before);
    command_add(command, tidy->state);
    command_add(command, tidy->queue);
    command_add_text(command, tidy->dry ? "1" : "0");
}

bool transition_tidied(const redisReply *reply, struct view *cursor,
                       uint64_t *jobs, struct err *err)
{
    redisReply **part = step_expect(reply, "tidy", 2, err);

    if (!part)
        return false;
    *cursor = step_text(part[0]);
    *jobs = step_uint(part[1]);
    return true;
}
