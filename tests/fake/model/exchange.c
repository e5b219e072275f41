/* exchange.c - plays the plan of a reply. */
#include "exchange.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "practice.h"
#include "script.h"
#include "window.h"

enum { MAX_BODY = 64 << 20 };

struct exchange *exchange_new(struct server *server,
                              struct MHD_Connection *connection)
{
    struct exchange *exchange = calloc(1, sizeof(*exchange));

    assert(exchange);
    exchange->server = server;
    exchange->connection = connection;
    return exchange;
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle);
}

bool exchange_feed(struct exchange *exchange, const char *data, size_t len)
{
    char *grown;

    if (exchange->len + len > MAX_BODY)
        return false;
    grown = realloc(exchange->body, exchange->len + len + 1);
    assert(grown);
    memcpy(grown + exchange->len, data, len);
    exchange->body = grown;
    exchange->len += len;
    return true;
}

void exchange_resume(struct exchange *exchange)
{
    uv_close((uv_handle_t *)exchange->timer, on_timer_closed);
    exchange->timer = NULL;
    LIST_REMOVE(exchange, others);
    MHD_resume_connection(exchange->connection);
}

static void on_due(uv_timer_t *timer)
{
    struct exchange *exchange = timer->data;
    struct server *server = exchange->server;

    exchange_resume(exchange);
    server_run(server);
}

/* A body in one piece is gone with its headers; where the connection is cut on
 * purpose, the reply was made all the same. */
static bool heard_all(const struct exchange *exchange)
{
    const struct plan *plan = &exchange->plan;

    return plan->broken || plan->pieces <= 1 || exchange->piece == plan->pieces;
}

void exchange_free(struct exchange *exchange)
{
    if (!exchange)
        return;
    if (exchange->planned) {
        kept_heard(exchange->kept, heard_all(exchange));
        plan_finish(&exchange->plan);
        exchange->server->counts.open--;
    }
    json_decref(exchange->reply);
    json_decref(exchange->request);
    json_decref(exchange->heard);
    free(exchange->body);
    free(exchange);
}

static void pause_ms(struct exchange *exchange, uint64_t wait_ms)
{
    exchange->timer = calloc(1, sizeof(*exchange->timer));
    assert(exchange->timer);
    uv_timer_init(exchange->server->loop, exchange->timer);
    exchange->timer->data = exchange;
    /* The loop's time is that at which it woke up: on a busy machine a pause
     * from there would be too short. */
    uv_update_time(exchange->server->loop);
    uv_timer_start(exchange->timer, on_due, wait_ms, 0);
    LIST_INSERT_HEAD(&exchange->server->paused, exchange, others);
    MHD_suspend_connection(exchange->connection);
}

/* The pause before the piece that comes next, once. */
static bool must_wait(struct exchange *exchange)
{
    const struct plan *plan = &exchange->plan;
    uint64_t wait_ms = exchange->piece > 0 ? plan->chunk_ms : plan->first_ms;

    if (wait_ms == 0 ||
        (exchange->paused && exchange->paused_at == exchange->piece))
        return false;
    exchange->paused = true;
    exchange->paused_at = exchange->piece;
    pause_ms(exchange, wait_ms);
    return true;
}

static ssize_t on_read(void *owner, uint64_t at, char *room, size_t size)
{
    struct exchange *exchange = owner;
    const struct plan *plan = &exchange->plan;
    size_t left;

    while (exchange->piece < plan->pieces && at >= plan->ends[exchange->piece])
        exchange->piece++;
    if (exchange->piece == plan->pieces)
        return plan->broken ? MHD_CONTENT_READER_END_WITH_ERROR
                            : MHD_CONTENT_READER_END_OF_STREAM;
    if (must_wait(exchange))
        return 0;
    left = (plan->apart ? plan->ends[exchange->piece] : plan->len) - (size_t)at;
    if (left > size)
        left = size;
    memcpy(room, plan->body + at, left);
    if (plan->stamped)
        plan_stamp(room, left);
    return (ssize_t)left;
}

/* A piece at a time only where the pieces matter; a whole body goes with its
 * length. */
static struct MHD_Response *make_response(struct exchange *exchange)
{
    struct plan *plan = &exchange->plan;

    if (plan->pieces <= 1 && !plan->broken && plan->first_ms == 0)
        return MHD_create_response_from_buffer(plan->len, plan->body,
                                               MHD_RESPMEM_PERSISTENT);
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, on_read,
                                             exchange, NULL);
}

static enum MHD_Result answer(struct exchange *exchange)
{
    const struct plan *plan = &exchange->plan;
    struct MHD_Response *response = make_response(exchange);
    enum MHD_Result queued;
    const char *name;
    json_t *value;

    MHD_add_response_header(response, "Content-Type", plan->type);
    json_object_foreach(plan->headers, name, value) {
        MHD_del_response_header(response, name, plan->type);
        MHD_add_response_header(response, name, json_string_value(value));
    }
    queued = MHD_queue_response(exchange->connection, plan->status, response);
    MHD_destroy_response(response);
    return queued;
}

static json_t *refusal(unsigned status, const char *message)
{
    return json_pack("{s:i, s:s}", "status", (int)status, "error", message);
}

bool exchange_is_authorized(const struct exchange *exchange)
{
    const char *key = exchange->server->key;
    const struct speech *speech = exchange->speech;
    size_t prefix = strlen(speech->key_prefix);
    const char *given = MHD_lookup_connection_value(
        exchange->connection, MHD_HEADER_KIND, speech->key_header);

    return !key || (given && strncmp(given, speech->key_prefix, prefix) == 0 &&
                    strcmp(given + prefix, key) == 0);
}

/* "refuse": members that this endpoint does not take. */
static json_t *refused_member(const struct exchange *exchange,
                              const json_t *reply)
{
    const json_t *refused;
    const char *name;
    size_t i;

    json_array_foreach(json_object_get(reply, "refuse"), i, refused) {
        name = json_string_value(refused);
        if (name && json_object_get(exchange->request, name))
            return json_pack("{s:i, s:{s:o, s:s, s:s}}", "status", 400, "error",
                             "message",
                             json_sprintf("Unsupported parameter: '%s'.", name),
                             "param", name, "code", "unsupported_parameter");
    }
    return NULL;
}

static json_t *choose_reply(struct exchange *exchange)
{
    struct server *server = exchange->server;
    json_t *scripted, *refused;
    const char *why;
    size_t seen;

    if (!exchange_is_authorized(exchange))
        return refusal(401, "Incorrect API key provided.");
    exchange->request = json_loadb(exchange->body ? exchange->body : "",
                                   exchange->len, JSON_ALLOW_NUL, NULL);
    why = exchange->speech->refuse(exchange->request);
    if (why)
        return refusal(400, why);
    exchange->heard = exchange->speech->read(exchange->request);
    seen = counts_add(&server->counts, exchange->request);
    scripted = script_reply(server->script, exchange->heard, seen);
    refused = refused_member(exchange, scripted);
    if (!refused)
        refused = window_refusal(exchange->heard, scripted);
    if (refused)
        return refused;
    return scripted ? json_incref(scripted) : practice_reply(exchange->heard);
}

/* Under an id of its own, unless the script has one for it. */
static void name_reply(struct exchange *exchange)
{
    json_t *own = json_copy(exchange->reply);

    if (!json_object_get(own, "id"))
        json_object_set_new(
            own, "id",
            json_sprintf("resp_practice_%zu", exchange->server->counts.total));
    json_decref(exchange->reply);
    exchange->reply = own;
}

/* As it is when it is over: the plain body of a request that waits for it. */
static json_t *whole_reply(const struct exchange *exchange)
{
    static const char *const ways[] = { "chunk",    "chunk_ms", "cut",
                                        "stream",   "stamp",    "delay_ms",
                                        "first_ms", "drop",     "stream_error",
                                        "done" };
    json_t *request = json_copy(exchange->request);
    json_t *reply = json_copy(exchange->reply), *whole;
    struct plan plan;

    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        json_object_del(reply, ways[i]);
    json_object_del(request, "stream");
    json_object_del(request, "background");
    plan_make(&plan, exchange->speech, reply, request);
    whole = json_loadb(plan.body, plan.len, JSON_ALLOW_NUL, NULL);
    plan_finish(&plan);
    json_decref(request);
    json_decref(reply);
    return whole;
}

static void keep_reply(struct exchange *exchange)
{
    const struct plan *plan = &exchange->plan;
    json_t *rules = json_object_get(exchange->reply, "kept");
    json_t *after = json_object_get(rules, "after_ms");
    uint64_t takes_ms =
        plan->delay_ms + plan->first_ms + plan->chunk_ms * plan->pieces;
    struct server *server = exchange->server;

    exchange->kept =
        kept_add(&server->kept,
                 json_string_value(json_object_get(exchange->reply, "id")),
                 whole_reply(exchange), rules);
    if (after)
        takes_ms = (uint64_t)json_integer_value(after);
    exchange->kept->background =
        json_is_true(json_object_get(exchange->request, "background"));
    exchange->kept->ready_ms = uv_now(server->loop) + takes_ms;
}

static void make_plan(struct exchange *exchange)
{
    struct counts *counts = &exchange->server->counts;
    bool kept, made;

    exchange->reply = choose_reply(exchange);
    made = reply_integer(exchange->reply, "status", 200) == 200 &&
           !json_object_get(exchange->reply, "error");
    kept = made && exchange->speech == &speech_responses &&
           json_is_true(json_object_get(exchange->request, "store"));
    if (kept)
        name_reply(exchange);
    plan_make(&exchange->plan, exchange->speech, exchange->reply,
              exchange->request);
    if (kept)
        keep_reply(exchange);
    counts->made += made;
    exchange->planned = true;
    if (++counts->open > counts->peak)
        counts->peak = counts->open;
}

enum MHD_Result exchange_complete(struct exchange *exchange)
{
    if (!exchange->planned)
        make_plan(exchange);
    if (exchange->plan.delay_ms > 0 && !exchange->delayed) {
        exchange->delayed = true;
        pause_ms(exchange, exchange->plan.delay_ms);
        return MHD_YES;
    }
    return exchange->plan.drop ? MHD_NO : answer(exchange);
}
