/* server.c - models and tools, as an HTTP client sees them. */
#include "tests/unit/attempt/server.h"

#include <assert.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/attempt/judge.h"
#include "tests/unit/attempt/life.h"
#include "tests/unit/attempt/store.h"

enum { MOST_REPLIES = 64, PATIENCE_US = 300 * 1000 * 1000 };

static struct visit *open_ones;
static struct served replies[MOST_REPLIES];
static size_t reply_count;
static uint64_t serials, asked;

void server_reset(void)
{
    while (open_ones != NULL)
        server_drop(open_ones);
    for (size_t i = 0; i < reply_count; i++)
        free(replies[i].kept);
    reply_count = 0;
    serials = asked = 0;
}

size_t server_open(void)
{
    size_t count = 0;
    for (struct visit *one = open_ones; one; one = one->next)
        count++;
    return count;
}

const struct served *server_reply(uint64_t serial)
{
    for (size_t i = 0; i < reply_count; i++)
        if (replies[i].serial == serial)
            return &replies[i];
    return NULL;
}

bool server_missed(uint64_t serial)
{
    const struct served *served = server_reply(serial);
    return served == NULL || served->missed;
}

static void free_visit(struct visit *visit)
{
    struct visit **link = &open_ones;
    while (*link != visit)
        link = &(*link)->next;
    *link = visit->next;
    letter_burn(visit->letter);
    for (size_t i = 0; i < visit->piece_count; i++)
        free(visit->pieces[i]);
    free(visit);
}

void server_drop(struct visit *visit)
{
    trace("http %llu: nobody wants it any more",
          (unsigned long long)visit->serial);
    visit->asker = NULL;
    if (sown(SOWN_NOT_CANCELLED) || sown(SOWN_LATE_ANSWER))
        return;
    free_visit(visit);
}

void server_lose(int host)
{
    struct visit *next;
    for (struct visit *one = open_ones; one; one = next) {
        next = one->next;
        if (one->host != host)
            continue;
        free(one->asker); /* of a request that nothing waits for */
        free_visit(one);
    }
}

/* ------------------------------------------------------------------ pieces */

static void add_piece(struct visit *visit, char *piece)
{
    assert(visit->piece_count < MOST_PIECES && piece != NULL);
    visit->pieces[visit->piece_count++] = piece;
}

static void add_chunk(struct visit *visit, json_t *chunk)
{
    char *json = json_dumps(chunk, JSON_COMPACT);
    char *line = NULL;
    if (asprintf(&line, "data: %s\n\n", json) < 0)
        abort();
    free(json);
    json_decref(chunk);
    add_piece(visit, line);
}

static void add_delta(struct visit *visit, json_t *delta)
{
    add_chunk(visit, json_pack("{s:[{s:i, s:o}]}", "choices", "index", 0,
                               "delta", delta));
}

/* What a reply that is kept consists of, while it is written. */
static json_t *items;
static struct buf said;

static void add_item(struct visit *visit, const char *type, size_t index,
                     json_t *item)
{
    add_chunk(visit, json_pack("{s:s, s:I, s:o}", "type", type, "output_index",
                               (json_int_t)index, "item", item));
}

static json_t *message_item(void)
{
    return json_pack("{s:s, s:s, s:[{s:s, s:s#}]}", "type", "message", "role",
                     "assistant", "content", "type", "output_text", "text",
                     said.data, said.len);
}

static void add_begin(struct visit *visit, uint64_t serial)
{
    char id[32];
    snprintf(id, sizeof(id), "resp_%llu", (unsigned long long)serial);
    items = json_array();
    buf_init(&said, 8192);
    add_chunk(visit,
              json_pack("{s:s, s:{s:s, s:s}}", "type", "response.created",
                        "response", "id", id, "status", "in_progress"));
}

static void add_text(struct visit *visit, const char *text)
{
    if (!visit->is_kept) {
        add_delta(visit, json_pack("{s:s}", "content", text));
        return;
    }
    buf_add(&said, view_of(text));
    add_chunk(visit,
              json_pack("{s:s, s:i, s:s}", "type", "response.output_text.delta",
                        "output_index", 0, "delta", text));
}

static void add_call(struct visit *visit, int index, const char *id,
                     const char *name, const char *arguments)
{
    if (!visit->is_kept) {
        add_delta(visit,
                  json_pack("{s:[{s:i, s:s, s:s, s:{s:s, s:s}}]}", "tool_calls",
                            "index", index, "id", id, "type", "function",
                            "function", "name", name, "arguments", arguments));
        return;
    }
    json_t *item =
        json_pack("{s:s, s:s, s:s, s:s}", "type", "function_call", "call_id",
                  id, "name", name, "arguments", arguments);
    json_array_append(items, item);
    add_item(visit, "response.output_item.done", (size_t)index + 1, item);
}

/* All of it once more, as it is kept. */
static void add_whole(struct visit *visit, struct served *served, bool stopped)
{
    char id[32];
    snprintf(id, sizeof(id), "resp_%llu", (unsigned long long)served->serial);
    json_array_insert_new(items, 0, message_item());
    json_t *whole =
        json_pack("{s:s, s:s, s:o}", "id", id, "status",
                  stopped ? "incomplete" : "completed", "output", items);
    if (stopped)
        json_object_set_new(whole, "incomplete_details",
                            json_pack("{s:s}", "reason", "max_output_tokens"));
    if (served->counted)
        json_object_set_new(whole, "usage",
                            json_pack("{s:i, s:i}", "input_tokens",
                                      SERVED_TOKENS - 10, "output_tokens", 10));
    served->kept = json_dumps(whole, JSON_COMPACT);
    add_item(visit, "response.output_item.done", 0, message_item());
    add_chunk(visit,
              json_pack("{s:s, s:o}", "type",
                        stopped ? "response.incomplete" : "response.completed",
                        "response", whole));
    buf_finish(&said);
}

static void add_end(struct visit *visit, const char *why, bool counted)
{
    json_t *end = json_pack("{s:[{s:i, s:{}, s:s}]}", "choices", "index", 0,
                            "delta", "finish_reason", why);
    if (counted)
        json_object_set_new(end, "usage",
                            json_pack("{s:i, s:i}", "prompt_tokens",
                                      SERVED_TOKENS - 10, "completion_tokens",
                                      10));
    add_chunk(visit, end);
    add_piece(visit, strdup("data: [DONE]\n\n"));
}

/* --------------------------------------------------------- what it writes */

static const char *const tools[] = { "look_up", "order", "stamp", "pay" };

void server_code(struct buf *out, uint64_t serial)
{
    size_t lines = 1 + chance(3);
    for (size_t i = 0; i < lines; i++) {
        uint64_t kind = chance(12);
        if (kind < 6)
            buf_printf(out, "print('W%llu.%zu')\n", (unsigned long long)serial,
                       i);
        else if (kind < 9)
            buf_printf(out, "%s(word='W%llu.%zu')\n", tools[chance(3)],
                       (unsigned long long)serial, i);
        else if (kind == 9)
            buf_printf(out, "rest(%zu)\n", i);
        else if (kind == 10)
            buf_printf(out, "raise(%zu)\n", i);
        else
            buf_printf(out, "crash(%zu)\n", i);
    }
}

static void write_python(struct visit *visit, int index, uint64_t serial)
{
    CLEANUP(buf_finish) struct buf code;
    char id[32];
    buf_init(&code, 1024);
    server_code(&code, serial * 10 + (uint64_t)index);
    json_t *arguments = json_pack("{s:s#}", "code", code.data, code.len);
    char *text = json_dumps(arguments, JSON_COMPACT);
    snprintf(id, sizeof(id), "call_%llu_%d", (unsigned long long)serial, index);
    add_call(visit, index, id, "execute_python_code", text);
    free(text);
    json_decref(arguments);
}

static void write_tool(struct visit *visit, int index, uint64_t serial)
{
    char id[32], arguments[64];
    snprintf(id, sizeof(id), "call_%llu_%d", (unsigned long long)serial, index);
    snprintf(arguments, sizeof(arguments), "{\"word\":\"W%llu.%d\"}",
             (unsigned long long)(serial * 10 + 9), index);
    if (chance_of(3))
        snprintf(arguments, sizeof(arguments), "{\"word\":%d", index);
    const char *name = chance_of(3) ? "nobody" : tools[chance(4)];
    if (life_has_function() && chance_of(40))
        name = "callers";
    add_call(visit, index, id, name, arguments);
}

static void write_code_block(struct visit *visit, uint64_t serial)
{
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, 2048);
    buf_printf(&text, "\n```python\n");
    server_code(&text, serial * 10);
    if (!chance_of(3))
        buf_printf(&text, "```\n");
    char *copy = view_dup(buf_view(&text));
    size_t half = chance(text.len);
    char *tail = strdup(copy + half);
    copy[half] = '\0';
    if (half > 0)
        add_text(visit, copy);
    add_text(visit, tail);
    free(tail);
    free(copy);
}

static void write_reply(struct visit *visit, struct served *served)
{
    uint64_t serial = served->serial;
    char word[64];
    bool ends = reply_count > 6 ? !chance_of(5) : chance_of(30);
    snprintf(served->text, sizeof(served->text), "R%llu says",
             (unsigned long long)serial);
    if (visit->is_kept)
        add_begin(visit, serial);
    add_text(visit, served->text);
    snprintf(word, sizeof(word), " more of %llu.", (unsigned long long)serial);
    add_text(visit, word);
    strcat(served->text, word);
    if (!ends && life_is_codeact()) {
        write_code_block(visit, serial);
    } else if (!ends) {
        int calls = 1 + (int)chance(3);
        for (int i = 0; i < calls; i++)
            if (chance_of(45))
                write_python(visit, i, serial);
            else
                write_tool(visit, i, serial);
    }
    served->counted = !chance_of(10);
    bool stopped = chance_of(2);
    if (visit->is_kept)
        add_whole(visit, served, stopped);
    else
        add_end(visit,
                stopped                       ? "length"
                : !ends && !life_is_codeact() ? "tool_calls"
                                              : "stop",
                served->counted);
}

/* ------------------------------------------------------------- its troubles */

static void refuse(struct visit *visit, unsigned status, const char *sentence)
{
    char *body = NULL;
    visit->status = status;
    if (asprintf(&body, "{\"error\": {\"message\": \"%s\"}}", sentence) < 0)
        abort();
    add_piece(visit, body);
}

static bool refuse_model(struct visit *visit)
{
    switch (chance(6)) {
    case 0:
        refuse(visit, 429, "too many");
        visit->retry_after_ms = chance(2) ? 2000 : 20000;
        return true;
    case 1:
        refuse(visit, 400,
               "This model's maximum context length is 100 tokens.");
        return true;
    case 2:
        refuse(visit, 401, "who are you");
        return true;
    default:
        refuse(visit, chance(2) ? 500 : 503, "not now");
        return true;
    }
}

/* Behind so many pieces nothing comes any more. */
static void cut(struct visit *visit)
{
    size_t keep = chance(visit->piece_count);
    while (visit->piece_count > keep)
        free(visit->pieces[--visit->piece_count]);
    visit->outcome = chance(3) ? OUT_BROKEN : OUT_TIMEOUT;
    if (keep == 0)
        visit->status = 0;
}

static bool has_trouble(void)
{
    return !world.calm && chance_of(world.trouble);
}

static void plan_model(struct visit *visit)
{
    judge_request(visit);
    visit->status = 200;
    if (has_trouble() && chance(2) && refuse_model(visit))
        return;
    assert(reply_count < MOST_REPLIES);
    struct served *served = &replies[reply_count++];
    *served =
        (struct served){ .serial = ++serials, .intent = judge_charge(visit) };
    write_reply(visit, served);
    served->whole = true;
    size_t pieces = visit->piece_count;
    if (has_trouble()) {
        cut(visit);
        /* The last one says nothing but that there are no more. */
        served->whole = visit->piece_count + !visit->is_kept >= pieces;
    }
    trace("http %llu: model writes R%llu, %s, as record %zu has asked",
          (unsigned long long)visit->serial, (unsigned long long)served->serial,
          served->whole ? "whole" : "a part of it", served->intent);
}

/* It is there, or being made, or nobody knows of it. */
static void plan_fetch(struct visit *visit)
{
    const char *id = strstr(visit->url, "resp_") + 5;
    uint64_t serial = strtoull(id, NULL, 10);
    visit->status = 200;
    for (size_t i = 0; i < reply_count; i++) {
        struct served *served = &replies[i];
        if (served->serial != serial || served->kept == NULL)
            continue;
        bool trouble = has_trouble() && !served->fetched;
        if (visit->post) {
            served->missed = true; /* nobody wants it */
            add_piece(visit, strdup("{}"));
        } else if (trouble && chance(3) == 0) {
            served->missed = true;
            refuse(visit, chance(2) ? 404 : 503, "no such reply");
        } else if (trouble) {
            char *body = NULL;
            if (asprintf(&body,
                         "{\"id\": \"resp_%llu\", \"status\": "
                         "\"in_progress\"}",
                         (unsigned long long)serial) < 0)
                abort();
            add_piece(visit, body);
        } else {
            served->fetched = true;
            add_piece(visit, strdup(served->kept));
        }
        return;
    }
    refuse(visit, 404, "no such reply");
}

static void plan_tool(struct visit *visit)
{
    char *body = NULL;
    judge_tool(visit);
    visit->status = 200;
    if (has_trouble() && chance(2)) {
        refuse(visit, 500, "no such thing");
        return;
    }
    if (asprintf(&body, "{\"value\": %llu}",
                 (unsigned long long)visit->serial -
                     sown(SOWN_RESULT_CHANGED)) < 0)
        abort();
    add_piece(visit, body);
    if (has_trouble())
        cut(visit);
}

/* ----------------------------------------------------------------- letters */

static void on_piece(void *about)
{
    struct visit *visit = about;
    visit->letter = NULL;
    bool last = visit->piece_at == visit->piece_count;
    if (visit->asker == NULL && last) {
        free_visit(visit);
        return;
    }
    if (!last) {
        uint64_t wait = chance_delay();
        const char *piece = visit->pieces[visit->piece_at++];
        last = visit->piece_at == visit->piece_count;
        if (last && visit->outcome == OUT_TIMEOUT)
            wait = PATIENCE_US;
        visit->letter = post(NULL, wait, on_piece, visit);
        if (visit->asker != NULL)
            visit_say(visit, view_of(piece)); /* it may be gone */
        return;
    }
    trace("http %llu: ends, status %u, outcome %d",
          (unsigned long long)visit->serial, visit->status, visit->outcome);
    visit_end(visit);
    free_visit(visit);
}

static void on_arrival(void *about)
{
    struct visit *visit = about;
    visit->letter = NULL;
    trace("http %llu: arrives, %s %s", (unsigned long long)visit->serial,
          visit->post ? "POST" : "GET", visit->url);
    if (visit->is_model)
        plan_model(visit);
    else if (visit->is_fetch)
        plan_fetch(visit);
    else
        plan_tool(visit);
    bool hangs = visit->piece_count == 0 && visit->outcome == OUT_TIMEOUT;
    visit->letter =
        post(NULL, hangs ? PATIENCE_US : chance_delay(), on_piece, visit);
}

/* It never leaves, or nobody knows whether it has. */
static void on_failure(void *about)
{
    struct visit *visit = about;
    visit->letter = NULL;
    visit->outcome = chance(2) ? OUT_NOT_SENT : OUT_BROKEN;
    trace("http %llu: does not arrive", (unsigned long long)visit->serial);
    if (visit->asker != NULL)
        visit_end(visit);
    free_visit(visit);
}

/* Sown: what is left of an earlier answer is taken for this one's. */
static void take_over(struct visit *visit)
{
    for (struct visit *one = open_ones; one; one = one->next) {
        if (one == visit || one->asker != NULL || !one->is_model ||
            one->piece_count == 0 || !visit->is_model)
            continue;
        for (size_t i = 0; i < one->piece_count; i++)
            visit->pieces[i] = one->pieces[i];
        visit->piece_count = one->piece_count;
        visit->outcome = one->outcome;
        visit->status = one->status;
        one->piece_count = one->piece_at = 0;
        letter_burn(visit->letter);
        visit->letter = post(NULL, 100, on_piece, visit);
        return;
    }
}

struct visit *server_ask(const struct visit *request, struct view body)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    struct visit *visit = calloc(1, sizeof(*visit));
    if (visit == NULL)
        abort();
    *visit = *request;
    visit->next = open_ones;
    open_ones = visit;
    visit->serial = ++asked;
    visit->is_fetch = strstr(visit->url, "/responses/") != NULL;
    visit->is_kept = strstr(visit->url, "/responses") != NULL;
    visit->is_model = strstr(visit->url, "/chat/") != NULL ||
                      (visit->is_kept && !visit->is_fetch);
    visit->post = body.len > 0;
    snprintf(visit->body, sizeof(visit->body), "%.*s",
             VIEW_ARG(view_head(body, sizeof(visit->body) - 1)));
    if (visit->is_model) {
        EVP_Digest(body.data, body.len, hash, NULL, EVP_sha256(), NULL);
        for (size_t i = 0; i < 32; i++)
            snprintf(visit->hash + 2 * i, 3, "%02x", hash[i]);
    }
    trace("http %llu: host %d asks %s", (unsigned long long)visit->serial,
          visit->host, visit->url);
    visit->letter =
        post(NULL, chance_delay(),
             has_trouble() && chance_of(20) ? on_failure : on_arrival, visit);
    if (sown(SOWN_LATE_ANSWER))
        take_over(visit);
    return visit;
}
