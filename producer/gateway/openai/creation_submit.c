/* creation_submit.c - POST /v1/responses: what is asked is kept, the job is
 * submitted, and its response is the answer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/openai/creation.h"
#include "producer/gateway/submits.h"
#include "schemas/json/convert.h"
#include "schemas/redis/reply.h"

enum { DAY_MS = 24 * 3600 * 1000 };

/* --------------------------------------------------------------- the answer */

static struct kept_response *take_kept(struct api_request *request)
{
    struct creation *creation = request->state;
    struct kept_response *kept = malloc(sizeof(*kept));

    if (!kept)
        abort();
    kept_response_init(kept, request, view_of(creation->kept.job),
                       json_incref(creation->kept.asked));
    kept->repeat = creation->repeat;
    return kept;
}

static void answer_created(struct api_request *request)
{
    struct creation *creation = request->state;
    const struct response_request *asked = &creation->asked;

    creation->kept.repeat = creation->repeat;
    creation->may_run = false;
    if (asked->stream) {
        response_reader_stream(request, take_kept(request), -1,
                               asked->obfuscate, !asked->background);
    } else if (asked->background) {
        repeat_settle(&creation->repeat, request->gateway,
                      view_of(creation->kept.job));
        if (creation->existed)
            openai_show(request);
        else
            openai_show_new(request);
    } else {
        response_reader_wait(request);
    }
}

/* What the response object repeats, and what is needed to make it. */
static json_t *asked_json(const struct creation *creation)
{
    const struct response_request *asked = &creation->asked;

    json_t *chat = creation->is_chat ? json_pack("{s:b}", "usage",
                                                 (int)creation->chat.with_usage)
                                     : NULL;

    return json_pack(
        "{s:I, s:b, s:b, s:s, s:O, s:O?, s:O?, s:o*, s:s*}", "created_at",
        (json_int_t)time(NULL), "background", (int)asked->background,
        "with_outputs", (int)asked->with_outputs, "container",
        creation->record.id, "asked", asked->asked, "input",
        json_object_get(asked->job, "messages"), "earlier",
        json_object_get(asked->job, "earlier"), "chat", chat, "sha256",
        creation->sha256[0] != '\0' ? creation->sha256 : NULL);
}

/* ------------------------------------------ a job that an earlier try has made
 */

/* Whether this is what an earlier request with the same key has asked; one of a
 * gateway that kept no SHA-256 is taken for it. kept: NULL: the key is that of
 * a job of another API. */
static bool is_asked_again(const struct creation *creation, const json_t *kept)
{
    const char *sha256 = json_string_value(json_object_get(kept, "sha256"));

    if (!creation->key)
        return true;
    return kept && (!sha256 || strcmp(sha256, creation->sha256) == 0);
}

/* What the earlier try has kept; else what this one would have. */
static void on_standing_asked(struct api_request *request,
                              const redisReply *reply)
{
    struct creation *creation = request->state;
    struct view text = reply_view(reply);
    json_t *kept = json_loadb(text.data, text.len, 0, NULL);

    if (!is_asked_again(creation, kept)) {
        openai_refuse(request, 409, "idempotency_key_reused", NULL,
                      "the Idempotency-Key names another request: use a new "
                      "key for each");
    } else {
        kept_response_finish(&creation->kept);
        kept_response_init(&creation->kept, request, view_of(creation->id.text),
                           kept_response_is_stored(kept)
                               ? json_incref(kept)
                               : asked_json(creation));
        answer_created(request);
    }
    json_decref(kept);
}

static void release_turn(struct api_request *request)
{
    struct creation *creation = request->state;

    if (creation->has_turn)
        conversation_log_release(request->gateway, &creation->log);
    creation->has_turn = creation->took_turn = false;
}

void creation_answer_standing(struct api_request *request)
{
    struct creation *creation = request->state;
    struct view id = view_of(creation->id.text);
    struct key key = names_asked(&request->gateway->names, id);

    creation->existed = true;
    creation->may_run = creation->repeat.is_noted;
    if (strcmp(creation->id.text, creation->draft.id.text) != 0)
        release_turn(request);
    repeat_note(&creation->repeat, request->gateway, id);
    creation_ask(request, "GET", &key, on_standing_asked);
}

/* ------------------------------------------------------------- the answer of
 * Redis
 */

static void on_refused_state(struct api_request *request,
                             const redisReply *reply)
{
    struct creation *creation = request->state;

    if (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1) {
        creation->id = creation->repeated;
        creation_answer_standing(request);
    } else {
        release_turn(request);
        api_request_refuse(request, &creation->refused);
    }
}

/* A repeat finds the job that its first try has made meanwhile, with other
 * bytes: a container that was chosen by chance. */
static void refuse_submitted(struct api_request *request, const struct err *why)
{
    struct creation *creation = request->state;
    struct key key;

    creation->refused = *why;
    if (strcmp(why->code, "too_many_jobs") == 0) /* as OpenAI calls it */
        snprintf(creation->refused.code, sizeof(creation->refused.code),
                 "rate_limit_exceeded");
    creation->may_run = strcmp(why->code, "unknown_outcome") == 0;
    creation->is_sent = creation->may_run;
    if (!creation->may_run && creation->repeated.text[0] != '\0') {
        key = names_job(&request->gateway->names,
                        view_of(creation->repeated.text));
        creation_ask(request, "EXISTS", &key, on_refused_state);
        return;
    }
    if (!creation->may_run)
        release_turn(request);
    api_request_refuse(request, &creation->refused);
}

static void on_submitted(struct api_request *request, const redisReply *reply,
                         const struct err *lost)
{
    struct creation *creation = request->state;
    struct err err = *lost;

    if (!reply || !draft_submitted(reply, creation->fresh, &creation->id,
                                   &creation->existed, &err))
        refuse_submitted(request, &err);
    else if (creation->existed)
        creation_answer_standing(request);
    else
        answer_created(request);
}

/* --------------------------------------------------------------- submitting */

static void submit_draft(struct api_request *request)
{
    struct creation *creation = request->state;

    creation->may_run = creation->is_sent = true;
    submits_add(request, &creation->draft, on_submitted);
}

static void on_turn_taken(struct api_request *request, const redisReply *reply)
{
    struct creation *creation = request->state;

    creation->has_turn =
        reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
    creation->took_turn = creation->has_turn;
    if (creation->has_turn)
        conversation_log_keep(request, submit_draft);
    else
        creation_answer_locked(request);
}

/* The job has a turn of its conversation before it is submitted, so that no
 * other one can come between. */
static void take_turn(struct api_request *request)
{
    struct creation *creation = request->state;

    if (creation->log.metadata && !creation->has_turn)
        conversation_log_take(request, view_of(creation->draft.id.text),
                              on_turn_taken);
    else
        submit_draft(request);
}

/* What is asked goes with the submit, so that no job is without it. */
static void keep_asked(struct api_request *request)
{
    struct creation *creation = request->state;
    struct view id = view_of(creation->draft.id.text);
    struct submit *submit = &creation->draft.submit;
    json_t *asked = asked_json(creation);

    kept_response_init(&creation->kept, request, id, asked);
    repeat_note(&creation->repeat, request->gateway, id);
    if (creation->record.id[0] != '\0')
        container_touch(request->gateway, &creation->record,
                        request->caller.tenant, id);
    if (creation->asked.store) {
        json_add_text(&creation->asked_text, asked);
        submit->asked_ttl_ms = request->gateway->settings.response_ttl_ms;
        if (submit->asked_ttl_ms < DAY_MS) /* not longer than the SHA-256 */
            submit->idempotency_ttl_ms = submit->asked_ttl_ms;
    } else if (creation->key) { /* for is_asked_again() alone */
        buf_printf(&creation->asked_text, "{\"sha256\":\"%s\"}",
                   creation->sha256);
        submit->asked_ttl_ms = DAY_MS;
    }
    submit->asked = buf_view(&creation->asked_text);
    take_turn(request);
}

/* How long the result is kept, at least; 0: as usual, which is a day. A chat's
 * files are there as long as the links to them work. */
static uint64_t keep_ms_of(const struct creation *creation,
                           const struct gateway_settings *settings)
{
    if (creation->asked.store)
        return settings->response_ttl_ms;
    return creation->is_chat && settings->link_ttl_ms > DAY_MS
               ? settings->link_ttl_ms
               : 0;
}

static void submit_job_of(struct api_request *request)
{
    struct creation *creation = request->state;
    const struct draft_finder finder = { fleet_links_find,
                                         request->gateway->links };
    json_t *job = creation->asked.job;
    uint64_t keep_ms = keep_ms_of(creation, &request->gateway->settings);
    struct err err;

    const struct quern_submit_options options = { .idempotency_key =
                                                      creation->key };

    if (creation->record.id[0] != '\0') {
        json_object_set_new(job, "session", json_string(creation->record.id));
        json_object_set_new(job, "history", json_string("off"));
    }
    if (keep_ms > 0)
        json_object_set_new(job, "keep_ms", json_integer((json_int_t)keep_ms));
    if (creation->asked.background)
        json_object_set_new(job, "notify", json_true());
    json_object_set_new(job, "tenant", json_string(request->caller.tenant));
    if (!draft_read_object(&creation->draft, &finder, job, &options,
                           &creation->repeated, &err)) {
        api_request_refuse(request, &err);
        return;
    }
    creation->id = creation->draft.id;
    creation->fresh = creation->draft.fresh;
    keep_asked(request);
}

/* ---------------------------------------------------------------- container */

static void use_new_container(struct api_request *request)
{
    struct creation *creation = request->state;

    container_new(&creation->record, creation->partition,
                  request->gateway->settings.container_ttl_ms / 60000);
    submit_job_of(request);
}

/* One that the request names must be there. Another one may have expired: then
 * there is a new one. */
static void on_container(struct api_request *request)
{
    const struct creation *creation = request->state;

    if (creation->record.found)
        submit_job_of(request);
    else if (creation->asked.container.len == 0)
        use_new_container(request);
    else
        openai_refuse(request, 400, "invalid_value", "tools",
                      "Container with id '%.*s' not found.",
                      VIEW_ARG(view_head(creation->asked.container, 64)));
}

/* A container is a session, which is made when the first cell runs: the one
 * that the request names; that of the response before; that of a call of its
 * input; or a new one. */
void creation_submit(struct api_request *request)
{
    struct creation *creation = request->state;
    const struct response_request *asked = &creation->asked;
    struct view id = asked->container;

    if (id.len == 0)
        id = view_of(creation->container);
    if (id.len == 0)
        id = asked->input_container;
    if (!asked->wants_code)
        submit_job_of(request);
    else if (id.len > 0)
        container_find(request, &creation->record, id, on_container);
    else
        use_new_container(request);
}
