/* retrieval.c - a reply that its endpoint has kept, fetched by its id. */
#include "consumer/model/retrieval.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/model/reasoning.h"
#include "consumer/model/reply_error.h"
#include "schemas/message/limits.h"

enum {
    MAX_PATH = MAX_REPLY_ID_BYTES + 64,
    /* Short: the reply is there or it is not, no model has to work first. */
    ANSWER_MS = 30 * 1000,
    TOTAL_MS = 120 * 1000,
};

struct retrieval {
    struct model_endpoint *endpoint;
    struct retrieval_events events;
    void *owner;
    struct http_call *running;
    struct reply *reply;
    struct buf error_body;
    bool held;  /* we are inside it: it must not be freed */
    bool freed; /* by its owner, while it was held */
};

/* --------------------------------------------------------------------- ids */

static bool is_sane(struct view id)
{
    static const char bytes[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789_-=";

    if (id.len == 0 || id.len > MAX_REPLY_ID_BYTES)
        return false;
    for (size_t i = 0; i < id.len; i++)
        if (!memchr(bytes, id.data[i], sizeof(bytes) - 1))
            return false;
    return true;
}

static enum reply_storage keeping_of(const struct model_endpoint *endpoint)
{
    const struct dialect *dialect = endpoint->dialect;

    return dialect->keeping ? dialect->keeping(endpoint) : KEEPS_NONE;
}

bool retrieval_knows(const struct model_endpoint *endpoint, struct view id)
{
    return keeping_of(endpoint) != KEEPS_NONE && is_sane(id);
}

/* The path of a kept reply. behind: an action on it, or a query. */
static void make_path(char path[MAX_PATH],
                      const struct model_endpoint *endpoint, struct view id,
                      const char *behind)
{
    const char *form = endpoint->dialect->kept_path;
    const char *place = strstr(form, "%s");

    snprintf(path, MAX_PATH, "%.*s%.*s%s%s", (int)(place - form), form,
             VIEW_ARG(id), place + 2, behind);
}

/* ----------------------------------------------------------------- hearing */

static void on_text(void *owner, struct view text)
{
    struct retrieval *retrieval = owner;

    if (!retrieval->freed && retrieval->events.on_text)
        retrieval->events.on_text(retrieval->owner, text);
}

static void on_reasoning(void *owner, struct view text)
{
    struct retrieval *retrieval = owner;

    if (!retrieval->freed && retrieval->events.on_reasoning)
        retrieval->events.on_reasoning(retrieval->owner, text);
}

static void retrieval_destroy(struct retrieval *retrieval)
{
    reply_free(retrieval->reply);
    endpoint_free(retrieval->endpoint);
    buf_finish(&retrieval->error_body);
    free(retrieval);
}

/* The owner may free it from inside a callback: it stays allocated until here.
 */
static void retrieval_release(struct retrieval *retrieval)
{
    retrieval->held = false;
    if (retrieval->freed)
        retrieval_destroy(retrieval);
}

static enum http_verdict on_body(void *owner, unsigned status,
                                 struct view bytes)
{
    struct retrieval *retrieval = owner;
    struct buf *error = &retrieval->error_body;

    retrieval->held = true;
    if (status >= 300)
        buf_add(error, view_head(bytes, REPLY_MAX_ERROR - error->len));
    else
        reply_feed(retrieval->reply, bytes);
    retrieval_release(retrieval);
    return HTTP_PAYLOAD;
}

/* ----------------------------------------------------------------- judging */

static enum retrieval_outcome judge_error(const struct retrieval *retrieval,
                                          const struct http_response *response,
                                          struct err *why)
{
    struct reply_error error;

    reply_error_parse(&error, buf_view(&retrieval->error_body));
    reply_error_name(&error, response->status, response->location, "");
    reply_error_judge(&error, response->status, response->should_retry, why);
    err_prefix(why, "HTTP %u", response->status);
    return why->kind == ERR_RETRY ? RETRIEVED_AWAY : RETRIEVED_NONE;
}

static enum retrieval_outcome judge_answer(struct retrieval *retrieval,
                                           struct model_reply *result,
                                           struct err *why)
{
    struct reply *reply = retrieval->reply;

    if (reply_end(reply, true, result, why))
        return RETRIEVED_REPLY;
    if (reply_is_unfinished(reply))
        return RETRIEVED_UNFINISHED;
    return why->kind == ERR_REJECT ? RETRIEVED_BAD : RETRIEVED_NONE;
}

static enum retrieval_outcome
retrieval_judge(struct retrieval *retrieval,
                const struct http_response *response,
                struct model_reply *result, struct err *why)
{
    if (response->status >= 300)
        return judge_error(retrieval, response, why);
    if (response->end == HTTP_ANSWERED)
        return judge_answer(retrieval, result, why);
    if (response->end == HTTP_TOO_LARGE) {
        err_set(why, ERR_REJECT, "model_too_long", "%s", response->text);
        return RETRIEVED_BAD;
    }
    err_set(why, ERR_RETRY, "model_unavailable", "%s", response->text);
    return RETRIEVED_AWAY;
}

static void on_done(void *owner, const struct http_response *response)
{
    struct retrieval *retrieval = owner;
    const struct model_endpoint *endpoint = retrieval->endpoint;
    struct model_failure failure = {
        .http_status = response->status,
        .retry_after_ms = response->retry_after_ms,
        .unknown = true, /* the outcome of the original request */
    };
    struct err *why = &failure.why;
    struct model_reply result = { 0 };

    retrieval->running = NULL;
    retrieval->held = true;
    enum retrieval_outcome what =
        retrieval_judge(retrieval, response, &result, why);
    if (what == RETRIEVED_REPLY) {
        opaque_sign(result.message, endpoint->name);
    } else {
        failure.usage = result.usage;
        failure.has_cost = result.has_cost;
        endpoint_hide(endpoint, why->text);
        err_prefix(why, "model %s: fetching its reply", endpoint->name);
    }
    if (!retrieval->freed)
        retrieval->events.on_done(retrieval->owner, what,
                                  what == RETRIEVED_REPLY ? &result : NULL,
                                  what == RETRIEVED_REPLY ? NULL : &failure);
    retrieval_release(retrieval);
}

/* --------------------------------------------------------------- beginning */

struct retrieval *retrieval_new(struct http *http,
                                struct model_endpoint *endpoint, struct view id,
                                const struct trace *trace,
                                struct retrieval_events events, void *owner)
{
    struct retrieval *retrieval = calloc(1, sizeof(*retrieval));
    struct reply_events heard = { .on_text = on_text,
                                  .on_reasoning = on_reasoning };
    CLEANUP(model_head_finish) struct model_head head;
    char path[MAX_PATH];

    if (!retrieval)
        abort();
    retrieval->endpoint = endpoint_take(endpoint);
    retrieval->events = events;
    retrieval->owner = owner;
    retrieval->reply = reply_new(endpoint->dialect, heard, retrieval);
    buf_init(&retrieval->error_body, REPLY_MAX_ERROR);
    make_path(path, endpoint, id, endpoint->dialect->kept_query(endpoint));
    model_head_make(&head, endpoint, path);
    struct http_request request = { .url = head.url,
                                    .headers = head.lines,
                                    .trace = *trace,
                                    .first_byte_ms = ANSWER_MS,
                                    .idle_ms = ANSWER_MS,
                                    .total_ms = TOTAL_MS,
                                    .max_bytes = REPLY_MAX_PLAIN };
    retrieval->running = http_start(
        http, &request, (struct http_events){ on_body, on_done }, retrieval);
    return retrieval;
}

void retrieval_free(struct retrieval *retrieval)
{
    if (!retrieval)
        return;
    http_cancel(retrieval->running);
    retrieval->running = NULL;
    retrieval->freed = true;
    if (!retrieval->held)
        retrieval_destroy(retrieval);
}

/* -------------------------------------------------------------- cancelling */

static enum http_verdict pass_over(void *owner, unsigned status,
                                   struct view bytes)
{
    (void)owner;
    (void)status;
    (void)bytes;
    return HTTP_NOISE;
}

static void on_cancelled(void *owner, const struct http_response *response)
{
    (void)owner;
    (void)response;
}

void retrieval_cancel(struct http *http, const struct model_endpoint *endpoint,
                      struct view id, const struct trace *trace)
{
    CLEANUP(model_head_finish) struct model_head head = { 0 };
    char path[MAX_PATH];

    if (keeping_of(endpoint) != KEEPS_MAKING || !is_sane(id))
        return;
    make_path(path, endpoint, id, "/cancel");
    model_head_make(&head, endpoint, path);
    struct http_request request = { .url = head.url,
                                    .headers = head.lines,
                                    .trace = *trace,
                                    .body = VIEW("{}"),
                                    .first_byte_ms = ANSWER_MS,
                                    .total_ms = ANSWER_MS,
                                    .max_bytes = REPLY_MAX_PLAIN };
    http_start(http, &request, (struct http_events){ pass_over, on_cancelled },
               NULL);
}
