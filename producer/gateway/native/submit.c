/* submit.c - POST /v1/jobs: a job into its queue, once.
 *
 * The body is a job as "quern submit" reads it ("Job" in schemas/MESSAGES.md).
 * Its tenant is the key's, and its id is made here. */
#include <stdlib.h>
#include <string.h>

#include "producer/client/draft.h"
#include "producer/gateway/api_error.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/native/api_job.h"
#include "producer/gateway/native/native.h"
#include "producer/gateway/submits.h"
#include "schemas/message/limits.h"

struct sent_job {
    struct draft draft;
    struct quern_id id;
    bool existed;
    char note[QUERN_NOTE];
};

static void sent_job_free(void *state)
{
    struct sent_job *sent = state;

    draft_finish(&sent->draft);
    free(sent);
}

static void on_state(struct api_request *request, const redisReply *reply)
{
    struct sent_job *sent = request->state;
    struct view state = reply->type == REDIS_REPLY_STRING
                            ? (struct view){ reply->str, reply->len }
                            : VIEW("queued");
    json_t *json = json_pack("{s:s, s:s%}", "id", sent->id.text, "state",
                             state.data, state.len);

    if (sent->note[0] != '\0')
        json_object_set_new(json, "note", json_string(sent->note));
    api_request_json(request, sent->existed ? 200 : 201, json);
}

/* A job that existed may have ended; a new one may be scheduled. */
static void ask_state(struct api_request *request)
{
    const struct sent_job *sent = request->state;
    struct view id = view_of(sent->id.text);
    struct key key = names_job(&request->gateway->names, id);
    unsigned int partition = 0;
    struct command command;

    id_parse(id, &partition);
    command_init(&command, "HGET");
    command_add(&command, key_view(&key));
    command_add_text(&command, "state");
    api_request_call(request, partition, &command, on_state);
    command_finish(&command);
}

static void on_submitted(struct api_request *request, const redisReply *reply,
                         const struct err *lost)
{
    struct sent_job *sent = request->state;
    struct err err = *lost;

    if (reply && draft_submitted(reply, sent->draft.fresh, &sent->id,
                                 &sent->existed, &err))
        ask_state(request);
    else
        api_request_refuse(request, &err);
}

/* The tenant is the key's, the id is ours. False: answered. */
static bool claim_members(struct api_request *request, json_t *json)
{
    const char *tenant = json_string_value(json_object_get(json, "tenant"));

    if (json_object_get(json, "id")) {
        api_request_wrong(request, "id",
                          "id: the gateway makes ids; send an Idempotency-Key "
                          "to be able to repeat the request");
        return false;
    }
    if (json_object_get(json, "tenant") && !tenant) {
        api_request_wrong(request, "tenant", "tenant: should be a text");
        return false;
    }
    if (tenant && strcmp(tenant, request->caller.tenant) != 0) {
        api_request_wrong(request, "tenant",
                          "tenant: \"%.100s\" is not the tenant of the key, "
                          "which is \"%.100s\"",
                          tenant, request->caller.tenant);
        return false;
    }
    json_object_set_new(json, "tenant", json_string(request->caller.tenant));
    return true;
}

/* *key: of the header, NULL when there is none; free() it. False: answered. */
static bool read_key(struct api_request *request, const json_t *json,
                     char **key)
{
    const char *member =
        json_string_value(json_object_get(json, "idempotency_key"));

    if (!api_request_key(request, key))
        return false;
    if (!*key || !member || strcmp(*key, member) == 0)
        return true;
    api_request_wrong(request, "idempotency_key",
                      "idempotency_key is \"%.100s\", the header "
                      "Idempotency-Key says otherwise",
                      member);
    return false;
}

static void submit_object(struct api_request *request, json_t *json)
{
    static const struct quern_id none;
    const struct draft_finder finder = { fleet_links_find,
                                         request->gateway->links };
    struct sent_job *sent = calloc(1, sizeof(*sent));
    CLEANUP(cleanup_free) char *key = NULL;
    struct err err;

    if (!sent)
        abort();
    request->state = sent;
    request->state_free = sent_job_free;
    if (!claim_members(request, json) || !read_key(request, json, &key))
        return;
    const struct quern_submit_options options = { .idempotency_key = key };

    if (!draft_read_object(&sent->draft, &finder, json, &options, &none,
                           &err)) {
        api_request_refuse(request, &err);
        return;
    }
    sent->id = sent->draft.id;
    draft_note(&sent->draft, sent->note);
    submits_add(request, &sent->draft, on_submitted);
}

void submit_job(struct api_request *request)
{
    unsigned int partition;
    json_t *json;

    if (!api_request_partition(request, view_of(request->caller.tenant),
                               &partition))
        return;
    json = api_request_object(request);
    if (json)
        submit_object(request, json);
    json_decref(json);
}
