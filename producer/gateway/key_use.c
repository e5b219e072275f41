/* key_use.c - what a key with limits has in use. */
#include "producer/gateway/key_use.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/key_use_state.h"
#include "schemas/redis/reply.h"
#include "schemas/settings/amount.h"

enum {
    MOST_LOOKS = 10,         /* of an add: QUERN_KEY_MOST_JOBS together */
    JOBS_S = 31 * 24 * 3600, /* the set lives after the last add */
    DAY_MS = 24 * 3600 * 1000,
};

static bool has_limits(const struct api_request *request)
{
    return request->caller.max_jobs > 0 || request->caller.max_cost > 0;
}

/* ----------------------------------------------------------------- places */

struct key key_use_jobs(const struct api_request *request)
{
    char name[96];

    snprintf(name, sizeof(name), "key_jobs:%s", request->caller.key.text);
    return names_of_fleet(&request->gateway->names, name);
}

struct key key_use_costs(const struct api_request *request)
{
    char name[112];

    snprintf(name, sizeof(name), "key_cost:%s:%llu", request->caller.key.text,
             (unsigned long long)(access_now_ms() / DAY_MS));
    return names_of_fleet(&request->gateway->names, name);
}

void key_use_tell(const struct api_request *request, struct command *command)
{
    fleet_links_tell(request->gateway->links, FLEET_SLOT, command,
                     "what a key uses");
    command_finish(command);
}

bool key_use_call(struct key_use *use, unsigned int partition,
                  struct command *command, link_done *done, void *owner)
{
    bool is_sent = fleet_links_call(use->request->gateway->links, partition,
                                    command, done, owner, &use->fault);

    command_finish(command);
    use->has_failed |= !is_sent;
    return is_sent;
}

bool key_use_hears(struct key_use *use, const redisReply *reply,
                   const struct err *why)
{
    if (reply && reply_ok(reply, &use->fault))
        return true;
    if (!reply)
        use->fault = *why;
    use->has_failed = true;
    return false;
}

void key_use_expire(const struct api_request *request, const struct key *key,
                    uint64_t seconds)
{
    struct command command;

    command_init(&command, "EXPIRE");
    command_add(&command, key_view(key));
    command_add_uint(&command, seconds);
    key_use_tell(request, &command);
}

/* ---------------------------------------------------------------- the end */

static void drop_command(struct command *command,
                         const struct api_request *request, struct view job)
{
    const struct key key = key_use_jobs(request);

    command_init(command, "ZREM");
    command_add_copy(command, key_view(&key));
    command_add(command, job);
}

void key_use_drop(struct api_request *request, struct view job)
{
    struct command command;

    if (!request->key_job_is_new)
        return;
    drop_command(&command, request, job);
    key_use_tell(request, &command);
}

static void use_end(struct key_use *use, const struct err *refused)
{
    use->done(use->owner, refused);
    api_request_drop(use->request);
    free(use);
}

static void on_dropped(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct key_use *use = owner;

    (void)reply;
    (void)why; /* then it is forgotten after UNSENT_MS */
    use_end(use, &use->refused);
}

/* The next one does not find it among those of the key any more, unless it was
 * there before: a job that runs already. */
static void use_refuse(struct key_use *use)
{
    struct command command;

    if (!use->request->key_job_is_new) {
        use_end(use, &use->refused);
        return;
    }
    drop_command(&command, use->request, view_of(use->job.text));
    if (!key_use_call(use, FLEET_SLOT, &command, on_dropped, use))
        use_end(use, &use->refused);
}

static void say_cost(struct key_use *use)
{
    char spent[AMOUNT_BYTES], limit[AMOUNT_BYTES];

    amount_write(spent, AMOUNT_DOLLARS, use->cost);
    amount_write(limit, AMOUNT_DOLLARS, use->request->caller.max_cost);
    err_set(&use->refused, ERR_REJECT, "insufficient_quota",
            "the jobs of this key have cost %s dollars today, it may spend %s "
            "dollars a day (UTC)",
            spent, limit);
}

static void say_jobs(struct key_use *use)
{
    err_set(&use->refused, ERR_REJECT, "too_many_jobs",
            "%llu jobs of this key have not ended, it may have %llu",
            (unsigned long long)use->jobs - 1,
            (unsigned long long)use->request->caller.max_jobs);
}

static void use_judge(struct key_use *use)
{
    const struct access_caller *caller = &use->request->caller;
    bool too_many = caller->max_jobs > 0 && use->jobs > caller->max_jobs;
    bool may_change = use->is_full && use->looks < MOST_LOOKS &&
                      (too_many || (use->has_ended && caller->max_cost > 0));

    if (!use->has_failed && may_change) {
        key_look_page(use);
        return;
    }
    if (use->has_failed)
        use->refused = use->fault;
    else if (too_many)
        say_jobs(use);
    else if (caller->max_cost > 0 && use->cost >= caller->max_cost)
        say_cost(use);
    if (use->refused.kind == ERR_NONE)
        use_end(use, NULL);
    else
        use_refuse(use);
}

static void on_cost(void *owner, const redisReply *reply, const struct err *why)
{
    struct key_use *use = owner;

    if (key_use_hears(use, reply, why))
        use->cost = reply_number(reply);
    use_judge(use);
}

static void on_left(void *owner, const redisReply *reply, const struct err *why)
{
    struct key_use *use = owner;
    const struct key key = key_use_costs(use->request);
    struct command command;

    if (key_use_hears(use, reply, why))
        use->jobs = reply_number(reply);
    command_init(&command, "HGET");
    command_add(&command, key_view(&key));
    command_add_text(&command, "cost");
    if (!key_use_call(use, FLEET_SLOT, &command, on_cost, use))
        use_judge(use);
}

static void count_left(struct key_use *use, link_done *done)
{
    const struct key key = key_use_jobs(use->request);
    struct command command;

    command_init(&command, "ZCARD");
    command_add(&command, key_view(&key));
    if (!key_use_call(use, FLEET_SLOT, &command, done, use))
        use_judge(use);
}

void key_use_looked(struct key_use *use)
{
    if (use->is_count)
        use_end(use, NULL);
    else if (use->has_failed)
        use_judge(use);
    else
        count_left(use, on_left);
}

/* ----------------------------------------------------------------- begins */

/* Without a budget nobody has to look while there is room. */
static void on_counted(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct key_use *use = owner;
    const struct access_caller *caller = &use->request->caller;

    if (!key_use_hears(use, reply, why)) {
        use_judge(use);
        return;
    }
    use->jobs = reply_number(reply);
    if (caller->max_cost > 0 || use->jobs > caller->max_jobs)
        key_look_page(use);
    else
        use_end(use, NULL);
}

static struct key_use *use_new(struct api_request *request, struct view job)
{
    struct key_use *use = calloc(1, sizeof(*use));

    if (!use)
        abort();
    use->request = request;
    view_copy(use->job.text, sizeof(use->job.text), job);
    api_request_hold(request);
    return use;
}

static void on_added(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct key_use *use = owner;
    const struct key key = key_use_jobs(use->request);

    if (!key_use_hears(use, reply, why)) {
        use_judge(use);
        return;
    }
    use->request->key_job_is_new = reply_number(reply) == 1;
    key_use_expire(use->request, &key, JOBS_S);
    count_left(use, on_counted);
}

void key_use_add(struct api_request *request, struct view job,
                 key_use_done *done, void *owner)
{
    const struct key key = key_use_jobs(request);
    struct command command;
    struct key_use *use;

    if (!has_limits(request)) {
        done(owner, NULL);
        return;
    }
    use = use_new(request, job);
    use->done = done;
    use->owner = owner;
    command_init(&command, "ZADD");
    command_add(&command, key_view(&key));
    command_add_uint(&command, access_now_ms());
    command_add(&command, job);
    if (!key_use_call(use, FLEET_SLOT, &command, on_added, use))
        use_judge(use);
}

/* The state of a count: what comes then. */
struct count_end {
    struct api_request *request;
    void (*done)(struct api_request *request);
};

/* Also where Redis did not answer: the caller's next call meets that, too. */
static void on_job_counted(void *owner, const struct err *refused)
{
    struct count_end *end = owner;

    (void)refused;
    if (end->request->exchange)
        end->done(end->request);
    free(end);
}

void key_use_count(struct api_request *request, struct view job,
                   void (*done)(struct api_request *request))
{
    struct count_end *end;
    struct key_use *use;

    if (request->caller.max_cost == 0) {
        done(request);
        return;
    }
    use = use_new(request, job);
    end = malloc(sizeof(*end));
    if (!end)
        abort();
    *end = (struct count_end){ request, done };
    use->is_count = true;
    use->done = on_job_counted;
    use->owner = end;
    use->seen[0] = (struct seen_job){ use->job, access_now_ms() };
    use->count = 1;
    key_look_more(use);
}
