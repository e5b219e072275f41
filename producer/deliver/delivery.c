/* delivery.c - one delivery: its request, and what becomes of its answer. */
#include "producer/deliver/delivery.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "schemas/message/internet.h"
#include "schemas/service/log.h"

enum {
    ANSWER_BYTES = 4096, /* of a body that nobody reads */
    MOST_RETRY_AFTER_MS = 24 * 3600 * 1000,
};

uint64_t delivery_about(uint64_t ms)
{
    uint64_t random = 0;

    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        abort(); /* so few bytes are never cut short */
    return ms - ms / 10 + random % (ms / 5 + 1);
}

struct delivery *delivery_new(const struct hook_delivery *taken,
                              const struct deliver_settings *settings)
{
    struct delivery *delivery;

    if (taken->name.len >= DELIVERY_NAME_BYTES)
        return NULL;
    delivery = calloc(1, sizeof(*delivery));
    if (!delivery)
        abort();
    memcpy(delivery->name, taken->name.data, taken->name.len);
    memcpy(delivery->hook, taken->hook.data, HOOK_ID_BYTES);
    delivery->taken = taken->taken;
    delivery->tries = taken->tries;
    delivery->private_addresses = settings->private_addresses;
    return delivery;
}

void delivery_free(struct delivery *delivery)
{
    http_cancel(delivery->call);
    free(delivery);
}

/* ----------------------------------------------------------------- how it went
 */

static void decide(struct delivery *delivery, int outcome, uint64_t wait_ms,
                   unsigned int status)
{
    delivery->is_over = true;
    delivery->settlement = (struct hook_settlement){
        .name = view_of(delivery->name),
        .taken = delivery->taken,
        .outcome = outcome,
        .wait_ms = wait_ms,
        .status = status,
        .why = view_of(delivery->why),
    };
}

void delivery_put_off(struct delivery *delivery, uint64_t wait_ms)
{
    decide(delivery, HOOK_LATER, wait_ms, 0);
}

/* Who reads it has set up the URL, whose host and addresses curl's sentence
 * names. The body of the answer is read by nobody. */
static void explain(struct delivery *delivery,
                    const struct http_response *response)
{
    struct view text = view_of(response->text);
    char *why = delivery->why;
    size_t size = sizeof(delivery->why);

    if (delivery->refused)
        snprintf(why, size, "its address is not of the public internet");
    else if (response->status == 410)
        snprintf(why, size, "it answers 410: it wants no more");
    else if (response->status / 100 == 3)
        snprintf(why, size, "it answers %u, and redirects are not followed",
                 response->status);
    else if (response->status >= 200)
        snprintf(why, size, "it answers %u", response->status);
    else
        snprintf(why, size, "%.*s",
                 VIEW_ARG(view_is_utf8(text) ? view_head(text, HOOK_WHY_BYTES)
                                             : VIEW("there is no answer")));
}

static bool is_busy(unsigned int status)
{
    return status == 429 || (status >= 502 && status <= 504);
}

/* The next attempt, or none. */
static void fail(struct delivery *delivery, unsigned int status,
                 uint64_t retry_after_ms, const struct deliver_retries *retries)
{
    uint64_t wait_ms = 0;

    if (delivery->tries >= retries->count) {
        decide(delivery, HOOK_GIVEN_UP, 0, status);
        return;
    }
    wait_ms = delivery_about(retries->ms[delivery->tries]);
    if (retry_after_ms > MOST_RETRY_AFTER_MS)
        retry_after_ms = MOST_RETRY_AFTER_MS;
    if (is_busy(status) && retry_after_ms > wait_ms)
        wait_ms = retry_after_ms;
    decide(delivery, HOOK_AGAIN, wait_ms, status);
}

/* ---------------------------------------------------------------- the request
 */

/* What a receiver writes is of no use. */
static enum http_verdict on_body(void *owner, unsigned status,
                                 struct view bytes)
{
    (void)owner;
    (void)status;
    (void)bytes;
    return HTTP_STOP;
}

static void delivery_log(const struct delivery *delivery)
{
    const struct hook_settlement *settled = &delivery->settlement;

    if (settled->outcome == HOOK_DONE)
        log_line("hook.delivered", "{s:s, s:I}", "delivery", delivery->name,
                 "status", (json_int_t)settled->status);
    else
        log_line(settled->outcome == HOOK_AGAIN ? "hook.failed" : "hook.ended",
                 "{s:s, s:I, s:s, s:I}", "delivery", delivery->name, "status",
                 (json_int_t)settled->status, "why", delivery->why, "again_ms",
                 (json_int_t)settled->wait_ms);
}

/* Its status says all, also when the rest of the answer did not come. */
static void delivery_on_done(void *owner, const struct http_response *response)
{
    struct delivery *delivery = owner;
    unsigned int status = response->status;

    delivery->call = NULL;
    if (status / 100 != 2)
        explain(delivery, response);
    if (status / 100 == 2)
        decide(delivery, HOOK_DONE, 0, status);
    else if (status == 410)
        decide(delivery, HOOK_GONE, 0, status);
    else
        fail(delivery, status, response->retry_after_ms, delivery->retries);
    delivery_log(delivery);
    delivery->over(delivery->owner, delivery);
}

static bool may_connect(void *owner, const struct sockaddr *address)
{
    struct delivery *delivery = owner;
    bool may = delivery->private_addresses || internet_has(address);

    delivery->refused = !may;
    return may;
}

static void start_request(struct delivery *delivery, struct http *http,
                          const struct hook_delivery *taken,
                          uint64_t timeout_ms)
{
    const struct http_events events = { .on_body = on_body,
                                        .on_done = delivery_on_done };
    char id[HOOK_EVENT_ID_BYTES + 16], stamp[48],
        signature[HOOK_SIGNATURE_BYTES], line[HOOK_SIGNATURE_BYTES + 32],
        url[HOOK_URL_BYTES + 1];
    static const char agent[] = "user-agent: quern-deliverer/" QUERN_VERSION;
    const char *const headers[] = { id,    stamp,
                                    line,  "content-type: application/json",
                                    agent, NULL };
    uint64_t now = (uint64_t)time(NULL);

    snprintf(url, sizeof(url), "%.*s", VIEW_ARG(taken->url));
    hook_event_sign(signature, &delivery->event, now, taken);
    snprintf(id, sizeof(id), "webhook-id: %s", delivery->event.id);
    snprintf(stamp, sizeof(stamp), "webhook-timestamp: %" PRIu64, now);
    snprintf(line, sizeof(line), "webhook-signature: %s", signature);
    delivery->call = http_start(
        http,
        &(struct http_request){ .url = url,
                                .headers = headers,
                                .body = view_of(delivery->event.body),
                                .connect_ms = timeout_ms,
                                .first_byte_ms = timeout_ms,
                                .idle_ms = timeout_ms,
                                .total_ms = timeout_ms,
                                .max_bytes = ANSWER_BYTES,
                                .guard = may_connect },
        events, delivery);
}

bool delivery_send(struct delivery *delivery, struct http *http,
                   const struct hook_delivery *taken,
                   const struct deliver_settings *settings,
                   const struct deliver_retries *retries)
{
    delivery->retries = retries;
    if (!hook_event_make(&delivery->event, taken)) {
        snprintf(delivery->why, sizeof(delivery->why),
                 "nobody is told of a job in the state \"%.*s\"",
                 VIEW_ARG(view_head(taken->state, 20)));
        decide(delivery, HOOK_GIVEN_UP, 0, 0);
    } else if (!settings->plain_http && !view_starts(taken->url, "https://")) {
        snprintf(delivery->why, sizeof(delivery->why),
                 "its URL does not begin with https://");
        fail(delivery, 0, 0, retries);
    } else {
        start_request(delivery, http, taken, settings->timeout_ms);
        return true;
    }
    delivery_log(delivery);
    return false;
}
