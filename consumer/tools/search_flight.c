/* search_flight.c - one request to a search provider, for all who wait for it.
 */
#include "consumer/tools/search_flight.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/model/secret.h"
#include "consumer/text.h"
#include "consumer/tools/reader.h"

enum {
    TOTAL_MS = 20000,
    MAX_PATH = 4 << 10,
    MAX_BODY = 16 << 10,
    MAX_ANSWER = MAX_DOCUMENT,
    ERROR_BYTES = 120,
};

struct search_flight {
    struct search_flight *next;
    struct search_flights *all; /* NULL: it has landed */
    struct tool_host *host;
    const struct search_source *source;
    char *query;
    int count;
    struct search_waiter *waiters;
    bool started;
    struct http_call *http;
    struct reader *reader;
    struct buf url, body, answer;
};

static void start(struct search_flight *flight);

/* ------------------------------------------------------------- life cycle */

static void flight_free(struct search_flight *flight)
{
    http_cancel(flight->http);
    reader_cancel(flight->reader);
    buf_finish(&flight->url);
    buf_finish(&flight->body);
    buf_finish(&flight->answer);
    free(flight->query);
    free(flight);
}

/* Another one of that provider is under way, and it wants one at a time. */
static bool must_wait(const struct search_flight *flight)
{
    if (!flight->source->provider->serially)
        return false;
    for (const struct search_flight *other = flight->all->first; other;
         other = other->next)
        if (other->started && other->source == flight->source)
            return true;
    return false;
}

/* Joined by nobody any more; whoever waited for its end may start. */
static void take_out(struct search_flight *flight)
{
    struct search_flights *all = flight->all;
    struct search_flight **link = &all->first;
    while (*link != flight)
        link = &(*link)->next;
    *link = flight->next;
    flight->all = NULL;
    for (struct search_flight *next = all->first; next; next = next->next)
        if (!next->started && !must_wait(next))
            start(next);
}

static void land(struct search_flight *flight, struct view json,
                 const struct err *why)
{
    take_out(flight);
    while (flight->waiters) {
        struct search_waiter *waiter = flight->waiters;
        flight->waiters = waiter->next;
        waiter->flight = NULL;
        waiter->landed(waiter->owner, json, why);
    }
    flight_free(flight);
}

static bool is_same(const struct search_flight *flight,
                    const struct search_source *source, const char *query,
                    int count)
{
    return flight->source == source && flight->count == count &&
           strcmp(flight->query, query) == 0;
}

static struct search_flight *flight_new(struct search_flights *flights,
                                        struct tool_host *host,
                                        const struct search_source *source,
                                        const char *query, int count)
{
    struct search_flight *flight = calloc(1, sizeof(*flight));
    if (!flight)
        abort();
    flight->all = flights;
    flight->host = host;
    flight->source = source;
    flight->query = view_dup(view_of(query));
    flight->count = count;
    buf_init(&flight->url, (size_t)3 * MAX_PATH);
    buf_init(&flight->body, MAX_BODY);
    buf_init(&flight->answer, MAX_ANSWER);
    struct search_flight **last = &flights->first;
    while (*last)
        last = &(*last)->next;
    *last = flight;
    return flight;
}

void search_flight_join(struct search_flights *flights, struct tool_host *host,
                        const struct search_source *source, const char *query,
                        int count, struct search_waiter *waiter)
{
    struct search_flight *flight = flights->first;
    while (flight && !is_same(flight, source, query, count))
        flight = flight->next;
    bool is_new = !flight;
    if (is_new)
        flight = flight_new(flights, host, source, query, count);
    waiter->flight = flight;
    waiter->next = flight->waiters;
    flight->waiters = waiter;
    if (is_new && !must_wait(flight))
        start(flight);
}

void search_flight_leave(struct search_waiter *waiter)
{
    struct search_flight *flight = waiter->flight;
    if (!flight)
        return;
    struct search_waiter **link = &flight->waiters;
    while (*link != waiter)
        link = &(*link)->next;
    *link = waiter->next;
    waiter->flight = NULL;
    if (flight->waiters || !flight->all)
        return;
    take_out(flight);
    flight_free(flight);
}

/* ----------------------------------------------------------------- reading */

static void fail(struct search_flight *flight, struct err *why)
{
    secret_hide(why->text, flight->source->key);
    land(flight, (struct view){ 0 }, why);
}

static void give(struct search_flight *flight, json_t *results, json_t *answer)
{
    CLEANUP(buf_finish) struct buf json;
    const struct err none = { .kind = ERR_NONE };
    buf_init(&json, 1 << 20);
    while (json_array_size(results) > (size_t)flight->count)
        json_array_remove(results, (size_t)flight->count);
    json_t *object =
        json_pack("{s:s, s:s, s:O}", "query", flight->query, "provider",
                  flight->source->provider->name, "results", results);
    if (answer)
        json_object_set(object, "answer", answer);
    char *const secrets[] = { flight->source->key, NULL };
    object = secret_mask_json(object, (struct view){ 0 }, secrets);
    char *text = json_dumps(object, JSON_COMPACT);
    buf_add(&json, view_of(text));
    free(text);
    json_decref(object);
    land(flight, buf_view(&json), &none);
}

static void read_reply(struct search_flight *flight, struct view text)
{
    struct err why = { .kind = ERR_NONE };
    json_t *reply = json_loadb(!text.data ? "" : text.data, text.len, 0, NULL);
    json_t *results = json_array(), *answer = NULL;
    if (!json_is_object(reply))
        err_set(&why, ERR_RETRY, "tool_failed", "its answer is no JSON");
    else
        flight->source->provider->read(reply, results, &answer, &why);
    if (why.kind != ERR_NONE)
        fail(flight, &why);
    else
        give(flight, results, answer);
    json_decref(reply);
    json_decref(results);
    json_decref(answer);
}

static void on_read(void *owner, struct view json, const struct err *why)
{
    struct search_flight *flight = owner;
    struct err err = *why;
    flight->reader = NULL;
    if (why->kind != ERR_NONE)
        fail(flight, &err);
    else
        read_reply(flight, json);
}

static void read_page(struct search_flight *flight,
                      const struct http_response *response)
{
    struct document document = {
        .kind = DOCUMENT_RESULTS,
        .url = "",
        .type = response->type,
        .bytes = buf_view(&flight->answer),
    };
    flight->reader = reader_start(flight->host, &document, on_read, flight);
}

/* ------------------------------------------------------------------ asking */

static void refusal(const struct search_flight *flight, unsigned status,
                    struct err *why)
{
    const struct search_provider *provider = flight->source->provider;
    CLEANUP(buf_finish) struct buf head;
    buf_init(&head, (size_t)3 * ERROR_BYTES);
    if (status == 429 || status == 202) {
        err_set(why, ERR_RETRY, "tool_failed",
                "HTTP %u, too many searches for now", status);
    } else if (status == 403 && strcmp(provider->name, "searxng") == 0) {
        err_set(why, ERR_RETRY, "tool_failed",
                "HTTP 403, it needs json among search.formats of its "
                "settings.yml");
    } else if ((status == 401 || status == 403) && provider->variable) {
        err_set(why, ERR_RETRY, "tool_failed",
                "HTTP %u, it does not take the key of %s", status,
                provider->variable);
    } else {
        text_add_line(&head, buf_view(&flight->answer), ERROR_BYTES);
        err_set(why, ERR_RETRY, "tool_failed", "HTTP %u%s%.*s", status,
                head.len > 0 ? ", " : "", VIEW_ARG(buf_view(&head)));
    }
}

static enum http_verdict on_body(void *owner, unsigned status,
                                 struct view bytes)
{
    struct search_flight *flight = owner;
    (void)status;
    buf_add(&flight->answer, bytes);
    return HTTP_PAYLOAD;
}

static void on_done(void *owner, const struct http_response *response)
{
    struct search_flight *flight = owner;
    struct err why = { .kind = ERR_NONE };
    flight->http = NULL;
    if (response->end != HTTP_ANSWERED)
        err_set(&why, ERR_RETRY, "tool_failed", "%s", response->text);
    else if (response->status != 200)
        refusal(flight, response->status, &why);
    if (why.kind != ERR_NONE)
        fail(flight, &why);
    else if (flight->source->provider->is_page)
        read_page(flight, response);
    else
        read_reply(flight, buf_view(&flight->answer));
}

static void start(struct search_flight *flight)
{
    static const struct http_events events = { on_body, on_done };
    const struct search_source *source = flight->source;
    const char *headers[MAX_SEARCH_HEADERS] = { "Accept: application/json" };
    size_t count = 1;
    if (source->provider->is_page)
        headers[0] = "Accept: text/html";
    buf_printf(&flight->url, "%s", source->base);
    source->provider->ask(flight->query, flight->count, &flight->url,
                          &flight->body);
    buf_append(&flight->url, "", 1);
    if (source->header)
        headers[count++] = source->header;
    if (flight->body.len > 0)
        headers[count] = "Content-Type: application/json";
    struct http_request request = {
        .url = flight->url.data,
        .headers = headers,
        .body = buf_view(&flight->body),
        .first_byte_ms = TOTAL_MS,
        .idle_ms = TOTAL_MS,
        .total_ms = TOTAL_MS,
        .max_bytes = MAX_ANSWER,
    };
    flight->started = true;
    flight->http = http_start(flight->host->http, &request, events, flight);
}
