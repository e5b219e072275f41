/* api_request.c - one request, from its route to its answer. */
#include "producer/gateway/api_request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/api_error.h"
#include "producer/gateway/cors.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/numbers.h"
#include "producer/gateway/work.h"
#include "schemas/json/convert.h"
#include "schemas/redis/reply.h"
#include "schemas/settings/amount.h"

/* -------------------------------------------------------------------- life */

void api_request_hold(struct api_request *request)
{
    request->holds++;
}

/* Not inlined: gcc would take the last hold for gone where there are two. */
__attribute__((noinline)) void api_request_drop(struct api_request *request)
{
    if (--request->holds > 0)
        return;
    if (request->state_free)
        request->state_free(request->state);
    free(request);
}

/* The exchange is over for us: it was answered, or has gone. */
static void api_request_part(struct api_request *request)
{
    request->exchange = NULL;
    api_request_drop(request);
}

enum { ERROR_BYTES = 16 << 10 };

static void on_gone(void *owner, enum http_gone why)
{
    (void)why;
    numbers_count_request(owner, 0);
    api_request_part(owner);
}

static void on_piece(void *owner, struct view piece)
{
    struct api_request *request = owner;

    if (request->on_piece)
        request->on_piece(request, piece);
}

static void on_end(void *owner, struct view body)
{
    struct api_request *request = owner;

    request->body = body;
    if (request->on_whole)
        request->on_whole(request);
    else
        request->route->handle(request);
}

static const struct http_request_events events = { on_gone, on_piece, on_end };

/* --------------------------------------------------------------- the answer */

/* The values of the headers that every answer has. */
struct own_headers {
    char limit[24], remaining[24], reset[24];
};

/* What the key's rate says, as OpenAI's servers write it: "12s". */
static unsigned int add_rate(const struct access_rate *rate,
                             struct own_headers *own, struct http_pair *pairs)
{
    uint64_t now = access_now_ms();
    uint64_t left_ms = rate->resets_at > now ? rate->resets_at - now : 0;

    if (rate->limit == 0)
        return 0;
    snprintf(own->limit, sizeof(own->limit), "%llu",
             (unsigned long long)rate->limit);
    snprintf(own->remaining, sizeof(own->remaining), "%llu",
             (unsigned long long)rate->remaining);
    snprintf(own->reset, sizeof(own->reset), "%llus",
             (unsigned long long)(left_ms + 999) / 1000);
    pairs[0] = (struct http_pair){ VIEW("x-ratelimit-limit-requests"),
                                   view_of(own->limit) };
    pairs[1] = (struct http_pair){ VIEW("x-ratelimit-remaining-requests"),
                                   view_of(own->remaining) };
    pairs[2] = (struct http_pair){ VIEW("x-ratelimit-reset-requests"),
                                   view_of(own->reset) };
    return 3;
}

/* Those that every answer has, in front of its own. */
static unsigned int add_own(const struct api_request *request,
                            struct own_headers *own,
                            struct http_pair all[API_MOST_HEADERS],
                            const struct http_pair *headers, unsigned int count)
{
    unsigned int own_count = 1;

    all[0] = (struct http_pair){ VIEW("x-request-id"), view_of(request->id) };
    own_count += add_rate(&request->rate, own, all + own_count);
    own_count += cors_answer(request->gateway->settings.cors_origins,
                             request->exchange, all + own_count);
    if (count > API_MOST_HEADERS - own_count)
        count = API_MOST_HEADERS - own_count;
    for (unsigned int i = 0; i < count; i++)
        all[own_count + i] = headers[i];
    return own_count + count;
}

void api_request_answer(struct api_request *request, unsigned int status,
                        const struct http_pair *headers, unsigned int count,
                        struct view body)
{
    struct http_pair all[API_MOST_HEADERS];
    struct own_headers own;

    if (!request->exchange)
        return;
    count = add_own(request, &own, all, headers, count);
    numbers_count_request(request, status);
    http_answer(request->exchange, status, all, count, body);
    api_request_part(request);
}

static void answer_error(struct api_request *request, unsigned int status,
                         const struct err *err, const char *param,
                         const struct http_pair *headers, unsigned int count)
{
    const struct api_route *route = request->route;
    struct http_pair all[API_MOST_HEADERS] = { { VIEW("Content-Type"),
                                                 VIEW("application/json") } };
    CLEANUP(buf_finish) struct buf body = { .max = ERROR_BYTES };

    if (route && route->short_errors)
        http_error_write_short(err->text, &body);
    else
        api_error_write(status, err, param, &body);
    for (unsigned int i = 0; i < count && i + 2 < API_MOST_HEADERS; i++)
        all[i + 1] = headers[i];
    api_request_answer(request, status, all, count + 1, buf_view(&body));
}

/* ------------------------------------------------------- before the handler */

static bool query_is_known(const struct api_route *route, struct view name)
{
    for (const char *const *known = route->query; known && *known; known++)
        if (view_is(name, *known))
            return true;
    return false;
}

/* False: answered. */
/* "include[]=a&include[]=b": how OpenAI's clients send a list. */
static bool may_come_twice(struct view name)
{
    return view_is(name, "include") ||
           (name.len > 2 && memcmp(name.data + name.len - 2, "[]", 2) == 0);
}

static bool check_query(struct api_request *request)
{
    const struct http_target *target =
        &http_request_head(request->exchange)->target;

    for (unsigned int i = 0; i < target->pair_count; i++) {
        struct view name = target->pairs[i].name;
        char param[64];

        view_copy(param, sizeof(param), name);
        if (!query_is_known(request->route, name)) {
            api_request_wrong(request, param,
                              "the query has \"%s\", which this route does not "
                              "know",
                              param);
            return false;
        }
        for (unsigned int j = 0; j < i && !may_come_twice(name); j++)
            if (view_equal(name, target->pairs[j].name)) {
                api_request_wrong(request, param, "the query has \"%s\" twice",
                                  param);
                return false;
            }
    }
    return true;
}

enum { JSON_FOR_FORM_BYTES = 16 << 10 };

static const char *types_wanted(enum route_body body)
{
    switch (body) {
    case ROUTE_FORM:
        return "multipart/form-data";
    case ROUTE_FORM_JSON:
        return "multipart/form-data or application/json";
    case ROUTE_NO_BODY:
    case ROUTE_JSON:
    case ROUTE_JSON_NEEDED:
    case ROUTE_BYTES:
        break;
    }
    return "application/json";
}

static bool is_json(const struct api_request *request)
{
    return view_is_caseless(http_request_type(request->exchange),
                            "application/json");
}

static bool is_form(const struct api_request *request)
{
    return view_is_caseless(http_request_type(request->exchange),
                            "multipart/form-data");
}

static bool type_fits(const struct api_request *request)
{
    enum route_body body = request->route->body;

    return (body != ROUTE_FORM && is_json(request)) ||
           (body >= ROUTE_FORM && is_form(request));
}

/* False: answered. */
static bool is_plain(const struct api_request *request, struct view *coding)
{
    struct err err;

    *coding = VIEW("");
    if (!http_request_value(request->exchange, "Content-Encoding", coding,
                            &err)) {
        *coding = VIEW("there twice");
        return false;
    }
    return coding->len == 0 || view_is_caseless(*coding, "identity");
}

static bool check_body(struct api_request *request)
{
    enum route_body body = request->route->body;
    bool has_body = http_request_has_body(request->exchange);
    struct view type = http_request_type(request->exchange), coding;
    struct err err;

    if (body == ROUTE_BYTES || (!has_body && body <= ROUTE_JSON))
        return true;
    if (body == ROUTE_NO_BODY)
        err_set(&err, ERR_REJECT, "bad_message",
                "this route takes no body, the request has one");
    else if (!has_body)
        err_set(&err, ERR_REJECT, "bad_message",
                "the request has no body, should have one of %s",
                types_wanted(body));
    else if (!is_plain(request, &coding))
        err_set(&err, ERR_REJECT, "bad_field",
                "Content-Encoding is \"%.*s\", should be absent: bodies are "
                "not unpacked here",
                VIEW_ARG(view_head(coding, 40)));
    else if (!type_fits(request))
        err_set(&err, ERR_REJECT, "bad_field",
                "Content-Type is \"%.*s\", should be %s",
                VIEW_ARG(view_head(type, 80)), types_wanted(body));
    else
        return true;
    api_request_refuse_as(
        request, has_body && body != ROUTE_NO_BODY ? 415 : 400, &err, 0);
    return false;
}

/* The caller is known: now the body. */
static void api_request_admit(struct api_request *request)
{
    const struct api_route *route = request->route;
    bool collects =
        route->body == ROUTE_JSON || route->body == ROUTE_JSON_NEEDED;

    if (collects && http_request_has_body(request->exchange))
        http_body_collect(request->exchange, route->max_body);
    else if (route->body == ROUTE_FORM_JSON && is_json(request))
        http_body_collect(request->exchange, JSON_FOR_FORM_BYTES);
    else
        route->handle(request);
}

static void on_access(void *owner, const struct access_outcome *outcome)
{
    struct api_request *request = owner;
    enum scope scope = request->route->scope;
    struct err err;

    request->rate = outcome->rate;
    if (!request->exchange) {
        /* It went away meanwhile. */
    } else if (!outcome->caller) {
        api_request_refuse_as(request, outcome->status, &outcome->err,
                              outcome->after_ms);
    } else if (!(outcome->caller->scopes & scope)) {
        err_set(&err, ERR_REJECT, "missing_scope",
                "the key does not have the scope \"%s\", which this route "
                "needs",
                scope_word(scope));
        api_request_refuse_as(request, 403, &err, 0);
    } else {
        request->caller = *outcome->caller;
        api_request_admit(request);
    }
    api_request_drop(request);
}

static bool answer_preflight(struct api_request *request,
                             const struct route_match *match)
{
    struct http_pair pairs[CORS_HEADERS];
    unsigned int count = cors_preflight(request->gateway->settings.cors_origins,
                                        request->exchange, match->allow, pairs);

    if (count == 0)
        return false;
    numbers_count_request(request, 204);
    http_answer(request->exchange, 204, pairs, count, VIEW(""));
    api_request_part(request);
    return true;
}

static void refuse_route(struct api_request *request,
                         const struct route_match *match)
{
    const struct http_pair allow = { VIEW("Allow"), view_of(match->allow) };
    struct http_exchange *exchange = request->exchange;
    struct err err;

    if (match->allow[0] == '\0') {
        err_set(&err, ERR_REJECT, "unknown_path", "there is no such path");
        api_request_refuse_as(request, 404, &err, 0);
        return;
    }
    if (answer_preflight(request, match))
        return;
    err_set(&err, ERR_REJECT, "unknown_method", "%s is not possible here: %s",
            http_request_method(exchange), match->allow);
    answer_error(request, 405, &err, NULL, &allow, 1);
}

/* "req_" and 16 digits. The step is odd, so all numbers come before one comes
 * again; it is large, so that two ids are told apart at a glance. */
static void make_id(struct gateway *gateway, char id[API_REQUEST_ID_BYTES])
{
    gateway->request_id += UINT64_C(0x9e3779b97f4a7c15);
    snprintf(id, API_REQUEST_ID_BYTES, "req_%016" PRIx64, gateway->request_id);
}

void api_request_begin(void *gateway, struct http_exchange *exchange)
{
    struct api_request *request = calloc(1, sizeof(*request));
    struct route_match match;

    if (!request)
        abort();
    *request = (struct api_request){ .gateway = gateway,
                                     .exchange = exchange,
                                     .begun_ns = uv_hrtime(),
                                     .holds = 1 };
    make_id(gateway, request->id);
    http_request_follow(exchange, &events, request);
    route_find(&match, route_tables, http_request_head(exchange));
    request->route = match.route;
    request->kind = match.kind;
    memcpy(request->params, match.params, sizeof(request->params));
    if (!match.route) {
        refuse_route(request, &match);
    } else if (check_query(request) && check_body(request)) {
        if (match.route->scope == SCOPE_NONE) {
            api_request_admit(request);
            return;
        }
        api_request_hold(request); /* on_access() drops it */
        access_check(request->gateway->access, exchange, on_access, request);
    }
}

/* ------------------------------------------------------------ what it says */

struct view api_request_query(const struct api_request *request,
                              const char *name)
{
    const struct http_target *target =
        &http_request_head(request->exchange)->target;

    for (unsigned int i = 0; i < target->pair_count; i++)
        if (view_is(target->pairs[i].name, name))
            return target->pairs[i].value;
    return (struct view){ "", 0 };
}

static bool read_amount(struct api_request *request, const char *name,
                        const struct amount_range *range, uint64_t *value)
{
    struct view text = api_request_query(request, name);
    char copy[40];
    struct err err;

    if (text.len == 0)
        return true;
    view_copy(copy, sizeof(copy), text);
    if (text.len < sizeof(copy) && amount_read(value, range, copy, &err))
        return true;
    if (text.len >= sizeof(copy))
        api_request_wrong(request, name, "%s is too long for a number", name);
    else
        api_request_wrong(request, name, "%s is \"%s\", %s", name, copy,
                          err.text);
    return false;
}

bool api_request_number(struct api_request *request, const char *name,
                        uint64_t otherwise, uint64_t max, uint64_t *number)
{
    const struct amount_range range = { .kind = AMOUNT_COUNT, .max = max };

    *number = otherwise;
    return read_amount(request, name, &range, number);
}

bool api_request_time(struct api_request *request, const char *name,
                      uint64_t otherwise, uint64_t max_ms, uint64_t *ms)
{
    const struct amount_range range = { .kind = AMOUNT_TIME, .max = max_ms };

    *ms = otherwise;
    return read_amount(request, name, &range, ms);
}

json_t *api_request_object(struct api_request *request)
{
    json_error_t fault;

    if (request->body.len == 0)
        return json_object();
    json_t *json = json_loadb(request->body.data, request->body.len,
                              JSON_REJECT_DUPLICATES, &fault);
    if (json_is_object(json))
        return json;
    if (json)
        api_request_wrong(request, NULL, "the body must be a JSON object");
    else
        api_request_wrong(request, NULL,
                          "the body is not JSON: line %d, column %d: %s",
                          fault.line, fault.column, fault.text);
    json_decref(json);
    return NULL;
}

bool api_request_key(struct api_request *request, char **key)
{
    struct view value;
    struct err err;

    *key = NULL;
    if (!http_request_value(request->exchange, "Idempotency-Key", &value,
                            &err)) {
        api_request_refuse(request, &err);
        return false;
    }
    if (value.len > 0)
        *key = view_dup(value);
    return true;
}

bool api_request_may_see(const struct api_request *request, struct view tenant)
{
    return (request->caller.scopes & SCOPE_OPERATE) ||
           view_is(names_or_default(tenant), request->caller.tenant);
}

void api_request_receive(struct api_request *request,
                         void (*piece)(struct api_request *request,
                                       struct view piece),
                         void (*whole)(struct api_request *request))
{
    request->on_piece = piece;
    request->on_whole = whole;
    http_body_receive(request->exchange, request->route->max_body);
}

/* --------------------------------------------------------------- the answer */

void api_request_json(struct api_request *request, unsigned int status,
                      json_t *json)
{
    const struct http_pair type = { VIEW("Content-Type"),
                                    VIEW("application/json") };
    CLEANUP(buf_finish) struct buf text = { .max = SIZE_MAX };
    bool is_written = json_add_text(&text, json);
    struct err err;

    json_decref(json);
    if (is_written) {
        api_request_answer(request, status, &type, 1, buf_view(&text));
        return;
    }
    err_set(&err, ERR_REJECT, "internal",
            "the answer cannot be written as JSON: a text in Redis is not "
            "UTF-8");
    api_request_refuse(request, &err);
}

void api_request_refuse_as(struct api_request *request, unsigned int status,
                           const struct err *err, uint64_t after_ms)
{
    struct http_exchange *exchange = request->exchange;
    bool is_in_vain = strcmp(err->code, "insufficient_quota") == 0;
    struct http_pair headers[2];
    unsigned int count = 0;
    char seconds[24];

    if (!exchange)
        return;
    if (is_in_vain) {
        headers[count++] =
            (struct http_pair){ VIEW("x-should-retry"), VIEW("false") };
    } else if (after_ms > 0) {
        snprintf(seconds, sizeof(seconds), "%llu",
                 (unsigned long long)(after_ms + 999) / 1000);
        headers[count++] =
            (struct http_pair){ VIEW("Retry-After"), view_of(seconds) };
    }
    if (status == 401)
        headers[count++] = (struct http_pair){ VIEW("WWW-Authenticate"),
                                               VIEW("Bearer realm=\"quern\"") };
    answer_error(request, status, err, NULL, headers, count);
}

void api_request_refuse(struct api_request *request, const struct err *err)
{
    unsigned int status = api_error_status(err);
    bool may_pass = status == 503 || status == 429;
    struct err away = *err;

    /* Where Redis is, is nothing for those who have a key: the log has it. */
    if (view_starts(view_of(err->text), "Redis at "))
        snprintf(away.text, sizeof(away.text), "Redis is away; try again");
    api_request_refuse_as(request, status, &away, may_pass ? 1000 : 0);
}

void api_request_refuse_error(struct api_request *request,
                              const struct quern_error *error)
{
    struct err err;

    err_set(&err, error->kind == QUERN_RETRY ? ERR_RETRY : ERR_REJECT,
            error->code, "%s", error->text);
    api_request_refuse(request, &err);
}

void api_request_wrong(struct api_request *request, const char *param,
                       const char *format, ...)
{
    struct http_exchange *exchange = request->exchange;
    char text[256];
    struct err err;
    va_list arguments;

    if (!exchange)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    err_set(&err, ERR_REJECT, "bad_field", "%s", text);
    answer_error(request, 400, &err, param, NULL, 0);
}

void api_request_unknown(struct api_request *request, const char *what,
                         struct view id)
{
    char code[40];
    struct err err;

    snprintf(code, sizeof(code), "unknown_%s", what);
    err_set(&err, ERR_REJECT, code, "there is no %s \"%.*s\"", what,
            VIEW_ARG(view_head(id, 100)));
    api_request_refuse_as(request, 404, &err, 0);
}

struct http_stream *api_request_stream(struct api_request *request,
                                       unsigned int status,
                                       const struct http_pair *headers,
                                       unsigned int count, int64_t length,
                                       const struct http_stream_events *heard,
                                       void *owner)
{
    struct http_pair all[API_MOST_HEADERS];
    struct own_headers own;
    struct http_stream *begun;

    count = add_own(request, &own, all, headers, count);
    numbers_count_request(request, status);
    begun = http_stream_begin(request->exchange, status, all, count, length,
                              heard, owner);
    api_request_part(request);
    return begun;
}

/* --------------------------------------------------------------- its calls */

struct api_call {
    struct api_request *request;
    unsigned int partition;
    api_request_reply *reply;
};

static void api_call_settle(const struct api_call *call,
                            const redisReply *reply, const struct err *why)
{
    struct api_request *request = call->request;
    struct err err = { 0 };

    if (!request->exchange)
        return;
    if (!reply)
        api_request_refuse(request, why);
    else if (reply_ok(reply, &err))
        call->reply(request, reply);
    else
        api_request_refuse(request, &err);
}

static void on_reply(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct api_call *call = owner;

    if (reply)
        fleet_links_heed(call->request->gateway->links, call->partition, reply);
    api_call_settle(call, reply, why);
    api_request_drop(call->request);
    free(call);
}

static bool api_call_send(const struct api_call *wanted,
                          const struct command *command)
{
    struct api_call *call = malloc(sizeof(*call));
    struct err err = { 0 };

    if (!call)
        abort();
    *call = *wanted;
    if (fleet_links_call(call->request->gateway->links, call->partition,
                         command, on_reply, call, &err)) {
        api_request_hold(call->request);
        return true;
    }
    free(call);
    api_request_refuse(wanted->request, &err);
    return false;
}

bool api_request_call(struct api_request *request, unsigned int partition,
                      const struct command *command, api_request_reply *done)
{
    return api_call_send(&(struct api_call){ request, partition, done },
                         command);
}

/* -------------------------------------------------------------- in threads */

struct api_work {
    struct api_request *request;
    void *state;
    void (*run)(void *state, struct quern *quern);
    void (*done)(struct api_request *request);
};

static void api_work_run(void *owner, struct quern *quern)
{
    const struct api_work *work = owner;

    work->run(work->state, quern);
}

static void api_work_done(void *owner)
{
    struct api_work *work = owner;

    if (work->request->exchange)
        work->done(work->request);
    api_request_drop(work->request);
    free(work);
}

void api_request_work(struct api_request *request,
                      void (*run)(void *state, struct quern *quern),
                      void (*done)(struct api_request *request))
{
    struct api_work *work = malloc(sizeof(*work));
    struct err err;

    if (!work)
        abort();
    *work = (struct api_work){ request, request->state, run, done };
    const struct work_job job = { api_work_run, api_work_done, work };

    if (work_add(request->gateway->work, &job, &err)) {
        api_request_hold(request);
        return;
    }
    free(work);
    api_request_refuse(request, &err);
}

bool api_request_partition(struct api_request *request, struct view tenant,
                           unsigned int *partition)
{
    unsigned int count = fleet_links_partitions(request->gateway->links);
    struct err err;

    if (count > 0) {
        *partition = names_partition(tenant, count);
        return true;
    }
    err_set(&err, ERR_RETRY, "redis_unavailable",
            "the gateway does not know the fleet yet: no connection to Redis");
    api_request_refuse(request, &err);
    return false;
}
