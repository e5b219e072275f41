/* key_look.c - looks at the jobs of a key: which have ended, and what they
 * cost.
 */
#include <stdlib.h>

#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/key_use_state.h"
#include "schemas/message/field.h"
#include "schemas/message/result.h"
#include "schemas/redis/reply.h"

enum {
    AT_ONCE = 8,            /* jobs that are asked for: bounds their results */
    UNSENT_MS = 60000,      /* after so long a job that is not there was not
                               submitted, or is gone */
    COST_S = 2 * 24 * 3600, /* the sum of a day lives */
};

/* One job that is being looked at. */
struct job_look {
    struct key_use *use;
    struct id id;
    uint64_t at, cost;
};

/* ------------------------------------------------------------------ one job */

static void look_end(struct job_look *look)
{
    struct key_use *use = look->use;

    free(look);
    use->open--;
    key_look_more(use);
}

/* What is asked next of it; without an answer it stays. */
static void look_ask(struct job_look *look, unsigned int partition,
                     struct command *command, link_done *done)
{
    if (!key_use_call(look->use, partition, command, done, look))
        look_end(look);
}

static void add_cost(const struct job_look *look)
{
    const struct api_request *request = look->use->request;
    const struct key key = key_use_costs(request);
    struct command command;

    command_init(&command, "HINCRBY");
    command_add(&command, key_view(&key));
    command_add_text(&command, "cost");
    command_add_uint(&command, look->cost);
    key_use_tell(request, &command);
    key_use_expire(request, &key, COST_S);
}

/* Of several gateways that see the same end, the one that took the job out
 * counts it. */
static void on_taken_out(void *owner, const redisReply *reply,
                         const struct err *why)
{
    struct job_look *look = owner;

    if (key_use_hears(look->use, reply, why) && reply_number(reply) == 1) {
        look->use->has_ended = true;
        if (look->cost > 0)
            add_cost(look);
    }
    look_end(look);
}

static void take_out(struct job_look *look)
{
    const struct key key = key_use_jobs(look->use->request);
    struct command command;

    command_init(&command, "ZREM");
    command_add(&command, key_view(&key));
    command_add_text(&command, look->id.text);
    look_ask(look, FLEET_SLOT, &command, on_taken_out);
}

static uint64_t cost_of_result(struct view bytes)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct result result;

    if (bytes.len == 0 ||
        !message_decode(&schema_result, bytes, &result, &arena, NULL))
        return 0;
    return result.usage.cost;
}

static void on_result(void *owner, const redisReply *reply,
                      const struct err *why)
{
    struct job_look *look = owner;

    if (!key_use_hears(look->use, reply, why)) {
        look_end(look);
        return;
    }
    look->cost = cost_of_result(reply_view(reply));
    take_out(look);
}

static unsigned int partition_of(const struct id *id)
{
    unsigned int partition = 0;

    id_parse(view_of(id->text), &partition);
    return partition;
}

static void read_cost(struct job_look *look)
{
    const struct key key = names_result(&look->use->request->gateway->names,
                                        view_of(look->id.text));
    struct command command;

    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    look_ask(look, partition_of(&look->id), &command, on_result);
}

/* It comes behind those that were not looked at for longer. */
static void keep_job(struct job_look *look)
{
    const struct api_request *request = look->use->request;
    const struct key key = key_use_jobs(request);
    struct command command;

    command_init(&command, "ZADD");
    command_add(&command, key_view(&key));
    command_add_text(&command, "XX");
    command_add_uint(&command, access_now_ms());
    command_add_text(&command, look->id.text);
    key_use_tell(request, &command);
    look_end(look);
}

static void on_state(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct job_look *look = owner;
    int state;

    if (!key_use_hears(look->use, reply, why)) {
        look_end(look);
        return;
    }
    state = job_state_of(reply_view(reply));
    if (state >= 0 && !job_state_is_terminal(state))
        keep_job(look);
    else if (state >= 0 && look->use->request->caller.max_cost > 0)
        read_cost(look);
    else if (state >= 0 || access_now_ms() > look->at + UNSENT_MS)
        take_out(look);
    else
        look_end(look);
}

/* ------------------------------------------------------------------ looks */

static void look_begin(struct key_use *use, const struct seen_job *seen)
{
    const struct key key =
        names_job(&use->request->gateway->names, view_of(seen->id.text));
    struct job_look *look = calloc(1, sizeof(*look));
    struct command command;

    if (!look)
        abort();
    *look = (struct job_look){ .use = use, .id = seen->id, .at = seen->at };
    use->open++;
    command_init(&command, "HGET");
    command_add(&command, key_view(&key));
    command_add_text(&command, "state");
    look_ask(look, partition_of(&look->id), &command, on_state);
}

/* Where a call cannot be sent, look_end() comes back here; has_failed ends
 * that. */
void key_look_more(struct key_use *use)
{
    use->open++; /* the end is not within a look_begin() */
    while (use->open <= AT_ONCE && use->next < use->count && !use->has_failed)
        look_begin(use, &use->seen[use->next++]);
    if (--use->open > 0)
        return;
    key_use_looked(use);
}

static void page_read(struct key_use *use, const redisReply *reply)
{
    use->count = use->next = 0;
    use->has_ended = false;
    use->is_full = reply->elements / 2 == KEY_USE_PAGE;
    for (size_t i = 0; i + 1 < reply->elements && use->count < KEY_USE_PAGE;
         i += 2) {
        struct seen_job *seen = &use->seen[use->count];
        struct view id = reply_view(reply->element[i]);

        if (!id_parse(id, NULL) || view_is(id, use->job.text))
            continue;
        view_copy(seen->id.text, sizeof(seen->id.text), id);
        seen->at = reply_number(reply->element[i + 1]);
        use->count++;
    }
}

static void on_page(void *owner, const redisReply *reply, const struct err *why)
{
    struct key_use *use = owner;

    if (!key_use_hears(use, reply, why)) {
        key_use_looked(use);
        return;
    }
    page_read(use, reply);
    key_look_more(use);
}

void key_look_page(struct key_use *use)
{
    const struct key key = key_use_jobs(use->request);
    struct command command;

    use->looks++;
    command_init(&command, "ZRANGE");
    command_add(&command, key_view(&key));
    command_add_uint(&command, 0);
    command_add_uint(&command, KEY_USE_PAGE - 1);
    command_add_text(&command, "WITHSCORES");
    if (!key_use_call(use, FLEET_SLOT, &command, on_page, use))
        key_use_looked(use);
}
