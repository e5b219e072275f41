/* conversation_log.c - a conversation of the Responses API: a list of turns, to
 * which one job at a time adds. */
#include "producer/gateway/openai/conversation_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer/client/draft.h"
#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/openai/openai.h"
#include "producer/gateway/responses/wire_item.h"
#include "schemas/message/id.h"
#include "schemas/message/result.h"
#include "schemas/redis/reply.h"
#include "schemas/service/log.h"

/* A job that Redis does not know, and that is so young, may be about to be
 * submitted. */
enum { SUBMITTED_WITHIN_MS = 60 * 1000 };

void conversation_log_finish(struct conversation_log *log)
{
    json_decref(log->metadata);
    json_decref(log->removed);
    free(log->values);
    log->metadata = NULL;
    log->removed = NULL;
    log->values = NULL;
}

bool conversation_log_new(struct conversation_log *log, unsigned int partition,
                          struct err *err)
{
    struct quern_id id;

    if (!draft_new_id(partition, &id, err))
        return false;
    memcpy(log->uuid, id.text, sizeof(log->uuid));
    log->partition = partition;
    log->created_at = (uint64_t)time(NULL);
    return true;
}

void conversation_log_id(char id[CONVERSATION_ID_BYTES],
                         const struct conversation_log *log)
{
    char response[RESPONSE_ID_BYTES];

    response_id_write(response, view_of(log->uuid));
    snprintf(id, CONVERSATION_ID_BYTES, "conv_%.32s",
             response + strlen("resp_"));
}

static struct key log_key_of(const struct gateway *gateway,
                             const struct conversation_log *log)
{
    return names_conversation(&gateway->names, log->partition,
                              view_of(log->uuid));
}

static struct key log_key(const struct api_request *request)
{
    return log_key_of(request->gateway, request->conversation);
}

/* ------------------------------------------------------------------ reading */

/* The number of a field's name; 0: it is no turn. */
static size_t turn_number(struct view field)
{
    size_t number = 0;

    for (size_t i = 0; i < field.len; i++) {
        if (field.data[i] < '0' || field.data[i] > '9')
            return 0;
        number = number * 10 + (size_t)(field.data[i] - '0');
    }
    return number <= CONVERSATION_MOST_TURNS ? number : 0;
}

static size_t count_turns(const redisReply *fields)
{
    size_t most = 0;

    for (size_t i = 0; i + 1 < fields->elements; i += 2) {
        size_t number = turn_number(reply_view(fields->element[i]));

        most = number > most ? number : most;
    }
    return most;
}

static void take_field(struct conversation_log *log, struct view name,
                       const redisReply *value)
{
    size_t number = turn_number(name);
    struct view text = reply_view(value);

    if (number > 0)
        view_copy(log->values[number - 1], CONVERSATION_VALUE_BYTES, text);
    else if (view_is(name, "created_at"))
        log->created_at = reply_number(value);
    else if (view_is(name, "metadata"))
        log->metadata = json_loadb(text.data, text.len, 0, NULL);
}

static void insert_place(json_t *places, json_int_t place)
{
    size_t at = 0;

    while (at < json_array_size(places) &&
           json_integer_value(json_array_get(places, at)) < place)
        at++;
    json_array_insert_new(places, at, json_integer(place));
}

/* Those behind the SHA-256 of a turn's value. */
static void note_removed(struct conversation_log *log, const char *value)
{
    const char *at = strchr(value, ':');

    while (at) {
        insert_place(log->removed, (json_int_t)strtoull(at + 1, NULL, 10));
        at = strchr(at + 1, ',');
    }
}

static bool is_of_caller(const struct api_request *request,
                         const redisReply *fields)
{
    for (size_t i = 0; i + 1 < fields->elements; i += 2)
        if (view_is(reply_view(fields->element[i]), "tenant"))
            return view_is(reply_view(fields->element[i + 1]),
                           request->caller.tenant);
    return false;
}

static void on_log(struct api_request *request, const redisReply *reply)
{
    struct conversation_log *log = request->conversation;

    if (reply->type == REDIS_REPLY_ARRAY && is_of_caller(request, reply)) {
        log->turns = count_turns(reply);
        log->values = calloc(log->turns + 1, sizeof(*log->values));
        if (!log->values)
            abort();
        for (size_t i = 0; i + 1 < reply->elements; i += 2)
            take_field(log, reply_view(reply->element[i]),
                       reply->element[i + 1]);
        log->removed = json_array();
        for (size_t i = 0; i < log->turns; i++)
            note_removed(log, log->values[i]);
    }
    log->done(request);
}

void conversation_log_find(struct api_request *request,
                           struct conversation_log *log, struct view id,
                           void (*done)(struct api_request *request))
{
    char response[RESPONSE_ID_BYTES];
    struct command command;
    unsigned int own;
    struct key key;

    request->conversation = log;
    log->done = done;
    if (!api_request_partition(request, view_of(request->caller.tenant), &own))
        return;
    snprintf(response, sizeof(response), "resp_%.*s",
             id.len > 5 && id.len < CONVERSATION_ID_BYTES ? (int)id.len - 5 : 0,
             id.len > 5 ? id.data + 5 : "");
    if (!view_starts(id, "conv_") ||
        !response_id_read(view_of(response), log->uuid) ||
        !id_parse(view_of(log->uuid), &log->partition) ||
        log->partition != own) {
        done(request);
        return;
    }
    key = log_key(request);
    command_init(&command, "HGETALL");
    command_add(&command, key_view(&key));
    api_request_call(request, log->partition, &command, on_log);
    command_finish(&command);
}

/* --------------------------------------------------------------------- head */

static void look_at_turn(struct api_request *request);

static void on_turn_result(struct api_request *request, const redisReply *reply)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct conversation_log *log = request->conversation;
    struct view bytes = reply_view(reply);
    struct result result;

    if (bytes.len == 0 && !log->has_begun) {
        log->at--; /* its queue was purged, it has left nothing */
        look_at_turn(request);
        return;
    }
    if (bytes.len == 0 ||
        !message_decode(&schema_result, bytes, &result, &arena, NULL)) {
        log->is_gone = true;
        log->done(request);
        return;
    }
    if (result.conversation.len > 0) {
        view_copy(log->blob, sizeof(log->blob), result.conversation);
        if (view_starts(result.session, "cntr_"))
            view_copy(log->container, sizeof(log->container), result.session);
        log->done(request);
        return;
    }
    log->at--; /* it has left nothing */
    look_at_turn(request);
}

/* A UUIDv7 begins with its time in ms. */
static uint64_t age_ms(const char *job)
{
    uint64_t made_ms = strtoull(job, NULL, 16) << 16;
    uint64_t now_ms = access_now_ms();

    made_ms |= strtoull(job + 9, NULL, 16);
    return now_ms > made_ms ? now_ms - made_ms : 0;
}

/* A job that Redis does not know: it is about to be submitted, never was, or
 * has expired. */
static void judge_unknown(struct api_request *request)
{
    struct conversation_log *log = request->conversation;
    uint64_t age = age_ms(log->values[log->at - 1]);

    if (age > request->gateway->settings.response_ttl_ms) {
        log->is_gone = true;
        log->done(request);
        return;
    }
    log->busy |= age < SUBMITTED_WITHIN_MS;
    log->at--;
    look_at_turn(request);
}

static void on_turn_state(struct api_request *request, const redisReply *reply)
{
    struct conversation_log *log = request->conversation;
    const char *job = log->values[log->at - 1];
    bool whole = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2;
    struct view state = whole ? reply_view(reply->element[0]) : VIEW("");
    struct key key = names_result(&request->gateway->names, view_of(job));
    struct command command;

    if (state.len == 0) {
        judge_unknown(request);
        return;
    }
    if (!job_state_is_terminal(job_state_of(state))) {
        log->busy = true;
        log->at--;
        look_at_turn(request);
        return;
    }
    log->has_begun = reply_number(reply->element[1]) > 0;
    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    api_request_call(request, log->partition, &command, on_turn_result);
    command_finish(&command);
}

/* The last turn first. */
static void look_at_turn(struct api_request *request)
{
    struct conversation_log *log = request->conversation;
    struct command command;
    struct view value;
    struct key key;

    while (log->at > 0 && log->values[log->at - 1][0] == '\0')
        log->at--;
    value = log->at > 0 ? view_of(log->values[log->at - 1]) : VIEW("");
    if (!id_parse(value, NULL)) {
        value.len = strcspn(value.data, ":");
        view_copy(log->blob, sizeof(log->blob), value);
        log->done(request);
        return;
    }
    key = names_job(&request->gateway->names, value);
    command_init(&command, "HMGET");
    command_add(&command, key_view(&key));
    command_add_text(&command, "state");
    command_add_text(&command, "attempts");
    api_request_call(request, log->partition, &command, on_turn_state);
    command_finish(&command);
}

void conversation_log_head(struct api_request *request,
                           void (*done)(struct api_request *request))
{
    struct conversation_log *log = request->conversation;

    log->done = done;
    log->at = log->turns;
    look_at_turn(request);
}

/* ------------------------------------------------------------------ writing */

void conversation_log_take(struct api_request *request, struct view value,
                           api_request_reply *done)
{
    struct conversation_log *log = request->conversation;
    struct key key = log_key(request);
    struct command command;

    if (log->turns == CONVERSATION_MOST_TURNS) {
        openai_refuse(request, 400, "invalid_value", "conversation",
                      "the conversation has %d turns, which is the most",
                      CONVERSATION_MOST_TURNS);
        return;
    }
    command_init(&command, "HSETNX");
    command_add(&command, key_view(&key));
    command_add_uint(&command, log->turns + 1);
    command_add(&command, value);
    api_request_call(request, log->partition, &command, done);
    command_finish(&command);
}

void conversation_log_release(struct gateway *gateway,
                              const struct conversation_log *log)
{
    struct key key = log_key_of(gateway, log);
    struct command command;

    command_init(&command, "HDEL");
    command_add(&command, key_view(&key));
    command_add_uint(&command, log->turns + 1);
    fleet_links_tell(gateway->links, log->partition, &command,
                     "a turn that is given back");
    command_finish(&command);
}

static void on_tenant_there(struct api_request *request,
                            const redisReply *reply)
{
    struct conversation_log *log = request->conversation;

    if (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1) {
        log->done(request);
        return;
    }
    conversation_log_release(request->gateway,
                             log); /* and with it what is left */
    openai_refuse(request, 404, "not_found", "conversation",
                  "the conversation has been deleted meanwhile");
}

static void on_kept(struct api_request *request, const redisReply *reply)
{
    struct conversation_log *log = request->conversation;
    struct key key = log_key(request);
    struct command command;

    (void)reply;
    command_init(&command, "HEXISTS");
    command_add(&command, key_view(&key));
    command_add_text(&command, "tenant");
    api_request_call(request, log->partition, &command, on_tenant_there);
    command_finish(&command);
}

/* The expiry first: a turn of a deleted conversation must not stay for ever,
 * when the gateway is killed in between. */
void conversation_log_keep(struct api_request *request,
                           void (*done)(struct api_request *request))
{
    struct conversation_log *log = request->conversation;
    struct key key = log_key(request);
    struct command command;

    log->done = done;
    command_init(&command, "PEXPIRE");
    command_add(&command, key_view(&key));
    command_add_uint(&command, request->gateway->settings.response_ttl_ms);
    api_request_call(request, log->partition, &command, on_kept);
    command_finish(&command);
}

static void on_expiry_set(struct api_request *request, const redisReply *reply)
{
    (void)reply;
    request->conversation->done(request);
}

static void on_written(struct api_request *request, const redisReply *reply)
{
    struct conversation_log *log = request->conversation;
    struct key key = log_key(request);
    struct command command;

    (void)reply;
    command_init(&command, "PEXPIRE");
    command_add(&command, key_view(&key));
    command_add_uint(&command, request->gateway->settings.response_ttl_ms);
    command_add_text(&command, "NX"); /* not longer than its messages */
    api_request_call(request, log->partition, &command, on_expiry_set);
    command_finish(&command);
}

void conversation_log_write(struct api_request *request,
                            void (*done)(struct api_request *request))
{
    struct conversation_log *log = request->conversation;
    CLEANUP(cleanup_free) char *text = json_dumps(log->metadata, JSON_COMPACT);
    struct key key = log_key(request);
    struct command command;

    log->done = done;
    command_init(&command, "HSET");
    command_add(&command, key_view(&key));
    command_add_text(&command, "tenant");
    command_add_text(&command, request->caller.tenant);
    command_add_text(&command, "created_at");
    command_add_uint(&command, log->created_at);
    command_add_text(&command, "metadata");
    command_add_text(&command, text);
    api_request_call(request, log->partition, &command, on_written);
    command_finish(&command);
}
