/* api_job.c - the job that a path names. */
#include "producer/gateway/native/api_job.h"

#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"
#include "schemas/message/id.h"
#include "schemas/message/result.h"

/* Names in Redis and in JSON; of numbers from FACT_SEQ on. */
static const char *const names[FACTS] = {
    "state",       "queue",      "priority",     "tenant",
    "session",     "reason",     "error_code",   "approval_call",
    "seq",         "attempts",   "submitted_at", "started_at",
    "finished_at", "not_before", "deadline_at",  "approval_until",
};

static struct view api_job_text(const redisReply *facts, enum job_fact fact)
{
    return reply_view(facts->element[fact]);
}

uint64_t api_job_number(const redisReply *facts, enum job_fact fact)
{
    return reply_number(facts->element[fact]);
}

int api_job_state(const redisReply *facts)
{
    return job_state_of(api_job_text(facts, FACT_STATE));
}

json_t *api_job_json(struct view id, const redisReply *facts)
{
    json_t *json = json_object();

    json_object_set_new(json, "id", json_stringn(id.data, id.len));
    for (int i = 0; i < FACTS; i++) {
        struct view text = api_job_text(facts, (enum job_fact)i);

        if (i == FACT_TENANT || i == FACT_QUEUE)
            text = names_or_default(text);
        if (text.len == 0)
            continue;
        json_object_set_new(json, names[i],
                            i < FACT_SEQ
                                ? json_stringn(text.data, text.len)
                                : json_integer((json_int_t)api_job_number(
                                      facts, (enum job_fact)i)));
    }
    return json;
}

unsigned int api_job_partition(const struct api_request *request)
{
    unsigned int partition = 0;

    id_parse(request->params[0], &partition);
    return partition;
}

static void on_facts(struct api_request *request, const redisReply *reply)
{
    bool is_whole =
        reply->type == REDIS_REPLY_ARRAY && reply->elements == FACTS;

    if (!is_whole || api_job_text(reply, FACT_STATE).len == 0 ||
        !api_request_may_see(request, api_job_text(reply, FACT_TENANT)))
        api_request_unknown(request, "job", request->params[0]);
    else
        request->found(request, reply);
}

void api_job_load(struct api_request *request, api_request_reply *found)
{
    const struct gateway *gateway = request->gateway;
    struct view id = request->params[0];
    unsigned int partition, count;
    struct command command;
    struct key key;

    if (!api_request_partition(request, (struct view){ 0 }, &count))
        return;
    count = fleet_links_partitions(gateway->links);
    if (!id_parse(id, &partition) || partition >= count) {
        api_request_unknown(request, "job", id);
        return;
    }
    request->found = found;
    key = names_job(&gateway->names, id);
    command_init(&command, "HMGET");
    command_add(&command, key_view(&key));
    for (size_t i = 0; i < FACTS; i++)
        command_add_text(&command, names[i]);
    api_request_call(request, partition, &command, on_facts);
    command_finish(&command);
}
