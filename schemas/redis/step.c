/* step.c - how the commands of library/ begin and how their replies are read.
 */
#include "schemas/redis/step.h"

#include "schemas/message/id.h"
#include "schemas/redis/conn.h"

void step_begin(struct command *command, const char *function,
                const struct names *names, unsigned int partition)
{
    struct key root = names_root(names, partition);

    command_init(command, "FCALL");
    command_add_text(command, function);
    command_add_text(command, "1");
    command_add_copy(command, key_view(&root));
}

void step_begin_job(struct command *command, const char *function,
                    const struct names *names, struct view id)
{
    unsigned int partition = 0;

    /* When it is no id: the function of partition 0 refuses it, and its
     * sentence says why. */
    id_parse(id, &partition);
    step_begin(command, function, names, partition);
    command_add(command, id);
}

void step_begin_held(struct command *command, const char *function,
                     const struct names *names, struct job_lease lease)
{
    step_begin_job(command, function, names, lease.id);
    command_add_uint(command, lease.epoch);
}

/* ---------------------------------------------------- reading the replies */

bool step_misfit(struct err *err, const char *function)
{
    return err_set(err, ERR_RETRY, "internal",
                   "%s answered in a form that this build does not know",
                   function);
}

redisReply **step_expect(const redisReply *reply, const char *function,
                         size_t count, struct err *err)
{
    if (!reply_ok(reply, err))
        return NULL;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements >= count)
        return reply->element;
    step_misfit(err, function);
    return NULL;
}

static bool step_is_text(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING ||
           reply->type == REDIS_REPLY_STATUS;
}

struct view step_text(const redisReply *reply)
{
    if (!step_is_text(reply))
        return (struct view){ "", 0 };
    return (struct view){ reply->str, reply->len };
}

uint64_t step_uint(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_INTEGER && reply->integer > 0
               ? (uint64_t)reply->integer
               : 0;
}

void step_add_pair(struct command *command, const char *name, struct view value)
{
    if (value.len == 0)
        return;
    command_add_text(command, name);
    command_add(command, value);
}

void step_add_number(struct command *command, const char *name, uint64_t value)
{
    if (value == 0)
        return;
    command_add_text(command, name);
    command_add_uint(command, value);
}

void step_add_events(struct command *command, const struct event_text *events,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        command_add_text(command, events[i].type);
        command_add(command, events[i].data);
    }
}

void step_add_submit(struct command *command, const struct submit *submit)
{
    const struct file_ref *files = submit->files.items;

    /* libquern has read the job, so Redis need not. */
    step_add_pair(command, "pairs", VIEW("all"));
    step_add_pair(command, "queue", submit->queue);
    if (submit->priority != PRIORITY_NORMAL)
        step_add_pair(command, "priority",
                      view_of(priority_names[submit->priority]));
    step_add_pair(command, "tenant", submit->tenant);
    step_add_pair(command, "session", submit->session);
    step_add_pair(command, "unique_key", submit->unique_key);
    step_add_number(command, "deadline_ms", submit->deadline_ms);
    step_add_number(command, "delay_ms", submit->delay_ms);
    step_add_number(command, "max_depth", submit->max_depth);
    step_add_number(command, "tenant_depth", submit->tenant_depth);
    for (size_t i = 0; i < submit->files.count; i++)
        step_add_pair(command, "blob", files[i].blob);
    step_add_pair(command, "blob", submit->earlier);
    if (submit->notify)
        step_add_pair(command, "notify", VIEW("1"));
    step_add_pair(command, "asked", submit->asked);
    step_add_number(command, "asked_ttl_ms", submit->asked_ttl_ms);
}

bool step_word(const redisReply *reply, const char *function,
               const char *const words[], size_t count, size_t *word,
               struct err *err)
{
    if (!reply_ok(reply, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (view_is(step_text(reply), words[i])) {
            *word = i;
            return true;
        }
    return step_misfit(err, function);
}
