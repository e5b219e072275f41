/* jobs.c - one job: reading it, cancelling it, approving a call, running it
 * again, removing it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "producer/client/fleet.h"
#include "producer/gateway/followers.h"
#include "producer/gateway/key_use.h"
#include "producer/gateway/native/api_job.h"
#include "producer/gateway/native/native.h"
#include "schemas/json/convert.h"
#include "schemas/message/result.h"
#include "schemas/redis/listing.h"
#include "schemas/redis/operate.h"
#include "schemas/service/alarm.h"

enum { MAX_WAIT_MS = 60000 };

/* -------------------------------------------------------------------- show */

static void free_json(void *json)
{
    json_decref(json);
}

/* state: the facts as JSON. A result that was expired is not there. */
static void on_result(struct api_request *request, const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    json_t *json = json_incref(request->state);
    struct view bytes = reply_view(reply);
    const msgpack_object *value;

    if (bytes.len == 0)
        json_object_set_new(json, "expired", json_true());
    else if (value_decode(bytes, &value, &arena, NULL))
        json_object_set_new(json, "result", json_from_value(value));
    api_request_json(request, 200, json);
}

static void show_result(struct api_request *request)
{
    struct key key = names_result(&request->gateway->names, request->params[0]);
    struct command command;

    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    api_request_call(request, api_job_partition(request), &command, on_result);
    command_finish(&command);
}

static bool has_ended(const redisReply *facts)
{
    return job_state_is_terminal(api_job_state(facts));
}

static void show_facts(struct api_request *request, const redisReply *facts)
{
    json_t *json = api_job_json(request->params[0], facts);

    if (!has_ended(facts)) {
        api_request_json(request, 200, json);
        return;
    }
    request->state = json;
    request->state_free = free_json;
    show_result(request);
}

/* -------------------------------------------------------------------- body */

/* Values of environment variables may be secrets, which whoever reads jobs need
 * not know. */
static void hide_env(json_t *job)
{
    json_t *env = json_object_get(job, "env"), *value;
    const char *name;

    json_object_foreach(env, name, value)
        json_object_set_new(env, name, json_string("(hidden)"));
}

static void on_body(struct api_request *request, const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct view bytes = reply_view(reply);
    const msgpack_object *value;
    json_t *json = NULL;
    struct err err;

    if (bytes.len > 0 && value_decode(bytes, &value, &arena, NULL))
        json = json_from_value(value);
    if (json_is_object(json)) {
        hide_env(json);
        api_request_json(request, 200, json);
        return;
    }
    json_decref(json);
    err_set(&err, ERR_REJECT, "expired", "what was submitted as job %.64s %s",
            request->params[0].data,
            bytes.len > 0 ? "is no map of MessagePack" : "is no longer kept");
    api_request_refuse_as(request, 404, &err, 0);
}

static void body_found(struct api_request *request, const redisReply *facts)
{
    struct command command;

    (void)facts;
    transition_body(&command, &request->gateway->names, request->params[0]);
    api_request_call(request, api_job_partition(request), &command, on_body);
    command_finish(&command);
}

void jobs_body(struct api_request *request)
{
    api_job_load(request, body_found);
}

/* -------------------------------------------------------------------- wait */

/* GET /v1/jobs/{id}?wait=30s follows the job, to be told when it has ended. */
struct job_wait {
    struct api_request *request;
    struct job_follower *follower; /* NULL: it has left */
    struct alarm *patience;
};

static void job_wait_free(void *state)
{
    struct job_wait *wait = state;

    job_follower_free(wait->follower);
    alarm_free(wait->patience);
    free(wait);
}

/* The job has ended, or the time is over: its facts are read again. */
static void end_wait(struct job_wait *wait)
{
    struct api_request *request = wait->request;

    request->state = NULL;
    request->state_free = NULL;
    job_wait_free(wait);
    api_job_load(request, show_facts);
}

static void on_wait_over(void *owner)
{
    end_wait(owner);
}

static void on_wait_event(void *owner, struct http_bytes *event, bool is_last)
{
    struct job_wait *wait = owner;

    (void)event;
    if (!is_last)
        return;
    wait->follower = NULL;
    end_wait(wait);
}

static void on_wait_failed(void *owner, const struct err *why)
{
    struct job_wait *wait = owner;

    (void)why; /* what is read next says it, too */
    wait->follower = NULL;
    end_wait(wait);
}

static const struct job_follower_events waited = { .on_event = on_wait_event,
                                                   .on_failed =
                                                       on_wait_failed };

static void wait_found(struct api_request *request, const redisReply *facts)
{
    struct gateway *gateway = request->gateway;
    struct job_wait *wait;
    uint64_t ms;

    if (!api_request_time(request, "wait", 0, MAX_WAIT_MS, &ms))
        return;
    if (ms == 0 || has_ended(facts)) {
        show_facts(request, facts);
        return;
    }
    wait = calloc(1, sizeof(*wait));
    if (!wait)
        abort();
    wait->request = request;
    wait->patience = alarm_new(gateway->loop, on_wait_over, wait);
    alarm_set(wait->patience, ms);
    wait->follower =
        job_follower_new(gateway->followers, request->params[0],
                         api_job_number(facts, FACT_SEQ), &waited, wait);
    request->state = wait;
    request->state_free = job_wait_free;
}

void jobs_show(struct api_request *request)
{
    api_job_load(request, wait_found);
}

/* ------------------------------------------------------------------ cancel */

static void answer_outcome(struct api_request *request, const char *word)
{
    struct view id = request->params[0];

    api_request_json(
        request, 200,
        json_pack("{s:s%, s:s}", "id", id.data, id.len, "outcome", word));
}

static void on_cancelled(struct api_request *request, const redisReply *reply)
{
    static const char *const words[] = { [CANCEL_DONE] = "cancelled",
                                         [CANCEL_ASKED] = "asked",
                                         [CANCEL_TOO_LATE] = "too_late" };
    enum cancel_outcome outcome;
    struct err err;

    if (transition_cancelled(reply, &outcome, &err))
        answer_outcome(request, words[outcome]);
    else
        api_request_refuse(request, &err);
}

/* A text of the body; "" when it is absent. False: answered. */
static bool read_text(struct api_request *request, const json_t *json,
                      const char *name, struct view *text)
{
    const json_t *member = json_object_get(json, name);

    *text = (struct view){ "", 0 };
    if (!member || json_is_null(member))
        return true;
    if (!json_is_string(member)) {
        api_request_wrong(request, name, "%s: should be a text", name);
        return false;
    }
    *text =
        (struct view){ json_string_value(member), json_string_length(member) };
    return true;
}

/* Members that no route knows are refused: they may be misspelt. */
static bool check_members(struct api_request *request, json_t *json,
                          const char *const *known)
{
    const char *name;
    json_t *value;

    json_object_foreach(json, name, value) {
        size_t i = 0;

        while (known[i] && strcmp(known[i], name) != 0)
            i++;
        if (!known[i]) {
            api_request_wrong(request, name,
                              "%.100s: no member of this body has that name",
                              name);
            return false;
        }
    }
    return true;
}

static void cancel_found(struct api_request *request, const redisReply *facts)
{
    static const char *const known[] = { "reason", NULL };
    json_t *json = api_request_object(request);
    struct view reason;
    struct command command;

    (void)facts;
    if (json && check_members(request, json, known) &&
        read_text(request, json, "reason", &reason)) {
        transition_cancel(&command, &request->gateway->names,
                          request->params[0], reason);
        api_request_call(request, api_job_partition(request), &command,
                         on_cancelled);
        command_finish(&command);
    }
    json_decref(json);
}

void jobs_cancel(struct api_request *request)
{
    api_job_load(request, cancel_found);
}

/* ----------------------------------------------------------------- approve */

static void refuse_late(struct api_request *request, const char *code,
                        const char *text)
{
    struct err err;

    err_set(&err, ERR_REJECT, code, "job %.*s: %s",
            VIEW_ARG(request->params[0]), text);
    api_request_refuse_as(request, 409, &err, 0);
}

static void on_approved(struct api_request *request, const redisReply *reply)
{
    struct err err;
    bool late;

    if (!transition_approved(reply, &late, &err))
        api_request_refuse(request, &err);
    else if (late)
        refuse_late(request, "too_late",
                    "it does not wait for a verdict on this call");
    else
        answer_outcome(request, "approved");
}

static bool read_verdict(struct api_request *request, const json_t *json,
                         int *verdict)
{
    struct view word;

    if (!read_text(request, json, "verdict", &word))
        return false;
    if (word.len == 0)
        word = view_of(verdict_names[VERDICT_APPROVE]);
    for (*verdict = 0; verdict_names[*verdict]; ++*verdict)
        if (view_is(word, verdict_names[*verdict]))
            return true;
    api_request_wrong(request, "verdict",
                      "verdict: \"%.*s\" is none; approve, reject, edit, skip, "
                      "regenerate, ask or abort are",
                      VIEW_ARG(view_head(word, 40)));
    return false;
}

static void approve_found(struct api_request *request, const redisReply *facts)
{
    static const char *const known[] = { "verdict", "call", "note", "text",
                                         NULL };
    json_t *json = api_request_object(request);
    struct approval approval = { .id = request->params[0] };
    struct command command;

    (void)facts;
    if (json && check_members(request, json, known) &&
        read_verdict(request, json, &approval.verdict) &&
        read_text(request, json, "call", &approval.call) &&
        read_text(request, json, "note", &approval.note) &&
        read_text(request, json, "text", &approval.text)) {
        transition_approve(&command, &request->gateway->names, &approval);
        api_request_call(request, api_job_partition(request), &command,
                         on_approved);
        command_finish(&command);
    }
    json_decref(json);
}

void jobs_approve(struct api_request *request)
{
    api_job_load(request, approve_found);
}

/* ------------------------------------------------------------------- retry */

static void on_requeued(struct api_request *request, const redisReply *reply)
{
    struct err err;
    bool late = false;
    bool is_told = transition_requeued(reply, &late, &err);

    if (!is_told || late)
        key_use_drop(request, request->params[0]);
    if (!is_told)
        api_request_refuse(request, &err);
    else if (late)
        refuse_late(request, "not_dead",
                    "it is not among the dead jobs, or what was asked is not "
                    "kept any more");
    else
        answer_outcome(request, "queued");
}

/* Nobody repeats this call by itself, but its text must not be an old one. */
static void make_ticket(char ticket[33])
{
    unsigned char random[16];

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        abort();
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(ticket + 2 * i, 3, "%02x", random[i]);
}

/* The limits of the key allow it, or refuse. */
static void on_retry_limits(void *owner, const struct err *refused)
{
    struct api_request *request = owner;
    struct command command;
    char ticket[33];

    if (!request->exchange)
        return;
    if (refused) {
        api_request_refuse(request, refused);
        return;
    }
    json_t *json = api_request_object(request);

    make_ticket(ticket);
    transition_requeue(&command, &request->gateway->names, request->params[0],
                       json_is_true(json_object_get(json, "anew")),
                       view_of(ticket));
    json_decref(json);
    api_request_call(request, api_job_partition(request), &command,
                     on_requeued);
    command_finish(&command);
}

static void retry_found(struct api_request *request, const redisReply *facts)
{
    static const char *const known[] = { "anew", NULL };
    json_t *json = api_request_object(request);
    const json_t *anew = json_object_get(json, "anew");

    (void)facts;
    if (!json || !check_members(request, json, known)) {
        /* answered */
    } else if (anew && !json_is_boolean(anew)) {
        api_request_wrong(request, "anew", "anew: should be true or false");
    } else {
        key_use_add(request, request->params[0], on_retry_limits, request);
    }
    json_decref(json);
}

void jobs_retry(struct api_request *request)
{
    api_job_load(request, retry_found);
}

/* ------------------------------------------------------------------ remove */

static void on_removed(struct api_request *request, const redisReply *reply)
{
    struct err err;
    bool late;

    if (!transition_removed(reply, &late, &err))
        api_request_refuse(request, &err);
    else if (late)
        refuse_late(request, "not_ended", "it has not ended: cancel it first");
    else
        api_request_answer(request, 204, NULL, 0, (struct view){ 0 });
}

static void remove_counted(struct api_request *request)
{
    struct command command;

    transition_remove(&command, &request->gateway->names, request->params[0]);
    api_request_call(request, api_job_partition(request), &command, on_removed);
    command_finish(&command);
}

static void remove_found(struct api_request *request, const redisReply *facts)
{
    (void)facts;
    key_use_count(request, request->params[0], remove_counted);
}

void jobs_remove(struct api_request *request)
{
    api_job_load(request, remove_found);
}
