/* model.c - one request to a model endpoint, and what came of it.
 *
 * First the request as its endpoint takes it, then the machine that sends it
 * and judges the answer. */
#include "consumer/model/model.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/model/reasoning.h"
#include "consumer/model/reply_error.h"
#include "consumer/model/retrieval.h"
#include "schemas/message/machine.h"

enum {
    /* Large, because messages hold all images of a conversation. */
    MAX_BODY = 64 << 20,
    /* Of all bytes of a stream, which are many more than those of its text. */
    MAX_ANSWER = 64 << 20,
};

/* ---------------------------------------------------------------- the body */

uint64_t model_body_max_tokens(const struct model_endpoint *endpoint,
                               const struct model_request *request)
{
    return endpoint->dialect->max_tokens(endpoint, request);
}

static int model_write_piece(const char *data, size_t len, void *owner)
{
    return buf_append(owner, data, len) ? 0 : -1;
}

static void make_hash(char hash[65], struct view body)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;

    EVP_Digest(body.data, body.len, digest, &len, EVP_sha256(), NULL);
    for (unsigned i = 0; i < 32; i++)
        snprintf(hash + (size_t)i * 2, 3, "%02x", digest[i]);
}

bool model_body_make(struct buf *body, char hash[65],
                     const struct model_endpoint *endpoint,
                     const struct model_request *request, struct err *err)
{
    json_t *json = endpoint->dialect->write(endpoint, request);

    buf_finish(body);
    buf_init(body, MAX_BODY);
    /* 16 digits: 0.1 stays 0.1, and pi is as precise as it is in Python. */
    json_dump_callback(json, model_write_piece, body,
                       JSON_COMPACT | JSON_REAL_PRECISION(16));
    json_decref(json);
    if (!buf_ok(body))
        return err_set(err, ERR_REJECT, "too_large",
                       "the conversation is longer than %d bytes as JSON",
                       MAX_BODY);
    make_hash(hash, buf_view(body));
    return true;
}

/* --------------------------------------------------------- URL and headers */

/* Whether the operator has set a header of the same name as line, "Name: ...".
 * Then it replaces ours. */
static bool names(const struct model_endpoint *endpoint, const char *line)
{
    char name[64];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, ":"), line);
    return headers_have(&endpoint->headers, name);
}

static char *key_line(const struct model_endpoint *endpoint)
{
    const char *header = endpoint->dialect->key_header;
    const char *place = strstr(header, "%s");
    char *line = NULL;

    /* "Authorization" and "x-api-key" may be among the operator's own. */
    if (names(endpoint, header))
        return NULL;
    if (endpoint->key && asprintf(&line, "%.*s%s", (int)(place - header),
                                  header, endpoint->key) < 0)
        abort();
    return line;
}

void model_head_make(struct model_head *head,
                     const struct model_endpoint *endpoint, const char *path)
{
    size_t count = 2;

    *head = (struct model_head){
        .key = key_line(endpoint),
        .lines = { "Content-Type: application/json",
                   "Accept: text/event-stream, application/json" },
    };
    if (asprintf(&head->url, "%s%s%s%s", endpoint->url, path,
                 !endpoint->query    ? ""
                 : strchr(path, '?') ? "&"
                                     : "?",
                 endpoint->query ? endpoint->query : "") < 0)
        abort();
    if (endpoint->dialect->header &&
        !names(endpoint, endpoint->dialect->header))
        head->lines[count++] = endpoint->dialect->header;
    for (size_t i = 0; endpoint->headers.lines[i]; i++)
        head->lines[count++] = endpoint->headers.lines[i];
    head->lines[count] = head->key;
}

void model_head_finish(struct model_head *head)
{
    free(head->url);
    free(head->key);
    *head = (struct model_head){ 0 };
}

/* ---------------------------------------------------------------- the call */

enum model_call_state { READY, ASKING, JUDGING, DONE, STATES };

struct model_call {
    struct machine machine;
    struct http *http;
    struct model_endpoint *endpoint;
    struct model_request request;
    struct model_events events;
    void *owner;
    struct buf body; /* freed as soon as it is sent */
    char hash[65];
    uint64_t number;  /* of the request among those of its endpoint */
    uint64_t wait_ms; /* until its limits allow a request again; 0: now */
    struct http_call *running;            /* ASKING; else NULL */
    const struct http_response *response; /* JUDGING: borrowed from http */
    struct reply *reply;                  /* NULL: no byte of it has come */
    struct buf error_body;                /* of an answer that is no success */
    struct model_reply result;            /* borrows from reply */
    struct model_failure failure;         /* why.kind ERR_NONE: success */
    unsigned held; /* how often we are inside it: it must not be freed */
    bool freed;    /* by its owner, while it was held */
};

static machine_step step_asking, step_judging, step_done;

/* READY waits for model_call_start(); the deadlines of ASKING are http's. */
static const struct machine_state states[STATES] = {
    [READY] = { .name = "ready", .next = TO(ASKING) },
    [ASKING] = { "asking", TO(JUDGING), .enter = step_asking },
    [JUDGING] = { "judging", TO(ASKING) | TO(DONE), .enter = step_judging },
    [DONE] = { "done", .enter = step_done },
};
static const struct machine_kind kind = { "a model call", states, STATES, NULL,
                                          NULL };

static void call_destroy(struct model_call *call)
{
    reply_free(call->reply);
    endpoint_free(call->endpoint);
    json_decref(call->request.messages);
    json_decref(call->request.tools);
    json_decref(call->request.parameters);
    buf_finish(&call->body);
    buf_finish(&call->error_body);
    free(call);
}

/* The owner may free the call from inside a callback. It stays allocated until
 * the outermost function that uses it has returned. */
static void model_call_hold(struct model_call *call)
{
    call->held++;
}

static void model_call_release(struct model_call *call)
{
    if (--call->held == 0 && call->freed)
        call_destroy(call);
}

static void model_call_run(struct model_call *call)
{
    model_call_hold(call);
    machine_run(&call->machine);
    model_call_release(call);
}

static void on_text(void *owner, struct view text)
{
    struct model_call *call = owner;

    if (!call->freed && call->events.on_text)
        call->events.on_text(call->owner, text);
}

static void on_reasoning(void *owner, struct view text)
{
    struct model_call *call = owner;

    if (!call->freed && call->events.on_reasoning)
        call->events.on_reasoning(call->owner, text);
}

static void on_call(void *owner, struct view tool)
{
    struct model_call *call = owner;

    if (!call->freed && call->events.on_call)
        call->events.on_call(call->owner, tool);
}

static void on_id(void *owner, struct view id)
{
    struct model_call *call = owner;

    if (!call->freed && call->events.on_kept &&
        retrieval_knows(call->endpoint, id))
        call->events.on_kept(call->owner, id);
}

/* Made with the first byte only: thousands of calls wait for theirs. */
static struct reply *reply_of(struct model_call *call)
{
    struct reply_events events = { on_text, on_reasoning, on_call, on_id };

    if (!call->reply) {
        call->reply = reply_new(call->endpoint->dialect, events, call);
        reply_limit(call->reply,
                    model_body_max_tokens(call->endpoint, &call->request));
    }
    return call->reply;
}

static enum http_verdict feed_reply(struct model_call *call, struct view bytes)
{
    enum http_verdict verdict = HTTP_NOISE;

    model_call_hold(call);
    if (reply_feed(reply_of(call), bytes))
        verdict = HTTP_PAYLOAD;
    if (reply_is_over(call->reply))
        verdict = HTTP_STOP;
    model_call_release(call);
    return verdict;
}

static bool is_success(unsigned status)
{
    return status >= 200 && status < 300;
}

static enum http_verdict on_body(void *owner, unsigned status,
                                 struct view bytes)
{
    struct model_call *call = owner;

    if (is_success(status))
        return feed_reply(call, bytes);
    buf_add(&call->error_body,
            view_head(bytes, REPLY_MAX_ERROR - call->error_body.len));
    return HTTP_PAYLOAD;
}

static void on_done(void *owner, const struct http_response *response)
{
    struct model_call *call = owner;

    model_call_hold(call);
    call->running = NULL;
    call->response = response;
    machine_go(&call->machine, JUDGING);
    model_call_run(call);
    call->response = NULL;
    model_call_release(call);
}

/* Frees the body: thousands of calls wait for an answer, and a request may be
 * long. */
static void on_sent(void *owner)
{
    struct model_call *call = owner;

    buf_finish(&call->body);
}

/* Nothing is left of a limit for so long: tells the breaker, and the fleet. */
static void learn_wait(struct model_call *call, uint64_t wait_ms)
{
    if (wait_ms == 0)
        return;
    breaker_wait(&call->endpoint->breaker, http_now_ms(call->http), wait_ms);
    if (!call->freed && call->events.on_wait)
        call->events.on_wait(call->owner);
}

/* Rates are read when the answer begins: by its end, minutes later, a limit may
 * have been reset. */
static void on_headers(void *owner, struct http_headers *headers)
{
    struct model_call *call = owner;
    struct rate_report said = { 0 };
    uint64_t unix_ms = http_header_time(headers);
    struct view name, value;

    while (http_header_next(headers, &name, &value))
        rate_hear(&said, name, value, unix_ms);
    call->wait_ms = rate_take(&call->endpoint->breaker.rate, &said,
                              call->number, http_now_ms(call->http));
    learn_wait(call, call->wait_ms);
}

static void send_body(struct model_call *call)
{
    const struct model_endpoint *endpoint = call->endpoint;
    CLEANUP(model_head_finish) struct model_head head;
    struct http_request request = { .headers = head.lines,
                                    .trace = call->request.trace,
                                    .body = buf_view(&call->body),
                                    .on_sent = on_sent,
                                    .on_headers = on_headers,
                                    .keep = "content-encoding",
                                    .first_byte_ms = endpoint->first_byte_ms,
                                    .idle_ms = endpoint->idle_ms,
                                    .total_ms = endpoint->total_ms,
                                    .max_bytes = MAX_ANSWER };

    model_head_make(&head, endpoint, endpoint->dialect->path);
    request.url = head.url;
    call->number = rate_sent(&call->endpoint->breaker.rate);
    call->wait_ms = 0;
    call->running = http_start(call->http, &request,
                               (struct http_events){ on_body, on_done }, call);
}

/* Sends the request, the first time or without the parameter that was refused.
 */
static enum pace step_asking(void *owner)
{
    struct model_call *call = owner;

    if (call->freed)
        return WAIT;
    reply_free(call->reply);
    call->reply = NULL;
    buf_clear(&call->error_body);
    send_body(call);
    return WAIT;
}

/* An error of the endpoint. False: it has refused a parameter; the same request
 * is to be made again at once, without it. A request with pictures cannot be:
 * its messages were not kept, so the owner is told to make it anew. */
static bool judge_error(struct model_call *call)
{
    struct model_endpoint *endpoint = call->endpoint;
    struct err *why = &call->failure.why;
    unsigned status = call->response->status;
    struct reply_error error;

    reply_error_parse(&error, buf_view(&call->error_body));
    reply_error_name(&error, status, call->response->location,
                     call->response->kept);
    bool pictures = call->request.pictures;
    bool blind = pictures && reply_error_learn_blind(&error, status, endpoint);
    bool news = !blind && (status == 400 || status == 422) &&
                reply_error_learn(&error, endpoint);
    if (news && !pictures)
        return false;
    call->failure.blind = blind;
    call->failure.anew = blind || news;
    reply_error_judge(&error, status, call->response->should_retry, why);
    struct reply_size size = reply_error_size(&error);
    call->failure.counted = size.request;
    if (endpoint->window == 0 && size.window > 0)
        endpoint->window = size.window;
    if (status == 429 && call->failure.retry_after_ms == 0)
        call->failure.retry_after_ms = call->wait_ms;
    if (endpoint->unnamed && why->kind == ERR_REJECT &&
        (status == 404 || strcasestr(error.message, "model")))
        err_prefix(why, "OPENAI_MODEL is not set, and there is no \"default\"");
    err_prefix(why, "HTTP %u", status);
    return true;
}

/* No answer, or half of one. A reply that had come to its end before the
 * connection broke counts as whole. */
static void judge_break(struct model_call *call)
{
    const struct http_response *response = call->response;
    struct err *why = &call->failure.why;
    bool late = response->end == HTTP_TIMEOUT;

    if (response->end == HTTP_TOO_LARGE)
        err_set(why, ERR_REJECT, "model_too_long", "%s", response->text);
    else if (response->end == HTTP_NOT_SENT || response->status == 0)
        err_set(why, ERR_RETRY, "model_unavailable", "%s", response->text);
    else if (!reply_end(reply_of(call), false, &call->result, why) &&
             strcmp(why->code, "model_cut") == 0)
        err_set(why, ERR_RETRY, late ? "model_unavailable" : "model_cut",
                "the reply broke off: %s", response->text);
    call->failure.unknown = response->end != HTTP_NOT_SENT;
    call->failure.late = late;
}

static void learn_use(struct model_call *call)
{
    struct model_endpoint *endpoint = call->endpoint;
    const struct usage *usage = &call->result.usage;
    struct rate_use use = { .input = usage->input_tokens,
                            .cached = usage->cached_tokens,
                            .output = usage->output_tokens,
                            .free_cache = endpoint->dialect->free_cache };

    learn_wait(call, rate_used(&endpoint->breaker.rate, &use,
                               http_now_ms(call->http)));
}

static void judge_answer(struct model_call *call)
{
    const char *encoding = call->response->kept;
    struct err *why = &call->failure.why;
    struct reply_error error = { 0 };

    if (reply_end(reply_of(call), true, &call->result, why)) {
        learn_use(call);
        return;
    }
    call->failure.unknown = true;
    reply_error_name(&error, call->response->status, "", encoding);
    if (*error.message)
        err_set(why, ERR_RETRY, "model_garbage", "%s", error.message);
}

/* A whole reply that is no use may be charged for: its usage is reported. */
static void finish_failure(struct model_call *call)
{
    struct err *why = &call->failure.why;

    call->failure.usage = call->result.usage;
    call->failure.has_cost = call->result.has_cost;
    endpoint_hide(call->endpoint, why->text);
    err_prefix(why, "model %s", call->endpoint->name);
}

static enum pace step_judging(void *owner)
{
    struct model_call *call = owner;
    const struct http_response *response = call->response;

    call->failure = (struct model_failure){
        .http_status = response->status,
        .retry_after_ms = response->retry_after_ms,
    };
    /* A status below 200 is provisional: then the connection broke, and
     * judge_break() tells what that means. */
    if (response->status >= 300) {
        if (!judge_error(call) &&
            model_body_make(&call->body, call->hash, call->endpoint,
                            &call->request, &call->failure.why)) {
            return machine_go(&call->machine, ASKING);
        }
    } else if (response->end == HTTP_ANSWERED ||
               response->end == HTTP_STOPPED) {
        judge_answer(call);
    } else {
        judge_break(call);
    }
    if (call->failure.why.kind != ERR_NONE)
        finish_failure(call);
    return machine_go(&call->machine, DONE);
}

static enum pace step_done(void *owner)
{
    struct model_call *call = owner;
    bool failed = call->failure.why.kind != ERR_NONE;

    if (call->freed)
        return WAIT;
    if (!failed)
        opaque_sign(call->result.message, call->endpoint->name);
    call->events.on_done(call->owner, failed ? NULL : &call->result,
                         failed ? &call->failure : NULL);
    return WAIT;
}

struct model_call *model_call_new(struct http *http,
                                  struct model_endpoint *endpoint,
                                  const struct model_request *request,
                                  struct model_events events, void *owner,
                                  struct err *err)
{
    struct model_call *call = calloc(1, sizeof(*call));

    if (!call)
        abort();
    machine_init(&call->machine, &kind, call, READY);
    call->http = http;
    call->endpoint = endpoint_take(endpoint);
    call->request = *request;
    json_incref(request->tools);
    json_incref(request->parameters);
    call->events = events;
    call->owner = owner;
    buf_init(&call->error_body, REPLY_MAX_ERROR);
    bool made =
        model_body_make(&call->body, call->hash, endpoint, request, err);
    /* Pictures are large, and not kept while the model is waited for. */
    call->request.messages =
        request->pictures ? NULL : json_incref(request->messages);
    if (made)
        return call;
    call_destroy(call);
    return NULL;
}

const char *model_call_hash(const struct model_call *call)
{
    return call->hash;
}

struct view model_call_text(const struct model_call *call)
{
    return call && call->reply ? reply_text(call->reply) : VIEW("");
}

void model_call_start(struct model_call *call)
{
    machine_go(&call->machine, ASKING);
    model_call_run(call);
}

void model_call_free(struct model_call *call)
{
    if (!call)
        return;
    http_cancel(call->running);
    call->running = NULL;
    call->freed = true;
    if (call->held == 0)
        call_destroy(call);
}
