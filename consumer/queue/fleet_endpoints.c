/* fleet_endpoints.c - what the consumers of a fleet share about endpoints. */
#include "consumer/queue/fleet_endpoints.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "consumer/blob.h"
#include "consumer/queue/jobs.h"
#include "schemas/redis/clock.h"
#include "schemas/redis/reply.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

enum {
    LOOK_MS = 100,    /* between two readings, at least */
    AWAIT_MS = 1000,  /* how long a request waits for a reading */
    AGAIN_MS = 5000,  /* until what Redis has refused is written again */
    ANSWER_MS = 5000, /* for any command; then the link is given up */
    COUNT_MS = 1000,  /* between two writes of counts */
    BRIEF_MS = 1000,  /* a shorter wait is over before others know of it */
    NOTE_BYTES = 256,
};

/* What was counted of an endpoint, and is not written yet. */
struct tally {
    struct endpoint_id id;
    uint64_t counts[ENDPOINT_COUNTS];
    char notes[ENDPOINT_NOTES][NOTE_BYTES]; /* "": nothing new */
};

struct fleet_endpoints {
    struct consumer *consumer;
    struct link *link;
    struct alarm *waiting; /* set while requests wait for a reading */
    unsigned unanswered;   /* commands of readings, on their way */
    uint64_t read_ms; /* when the last reading began, by the loop's clock */
    bool knows_clock; /* ahead_ms is valid */
    int64_t ahead_ms; /* how far Redis's clock is ahead of the loop's */
    bool bad_wait_logged, refusal_logged; /* since the link is ready */
    bool refused;      /* Redis refused a write: all is written again, */
    uint64_t again_ms; /* ... at most AGAIN_MS after this, the last time */
    struct tally tallies[MAX_ENDPOINTS];
    size_t tally_count;
    struct alarm *counting; /* until the tallies are written */
};

static uint64_t fleet_endpoints_now_ms(const struct fleet_endpoints *shared)
{
    return uv_now(shared->consumer->loop);
}

static uint64_t redis_now_ms(const struct fleet_endpoints *shared)
{
    return (uint64_t)((int64_t)fleet_endpoints_now_ms(shared) +
                      shared->ahead_ms);
}

/* The same for all consumers whose endpoint is the same. */
static struct endpoint_id id_of(const struct model_endpoint *endpoint)
{
    char hash[BLOB_NAME_LEN + 1];
    CLEANUP(buf_finish) struct buf all;
    buf_init(&all, SIZE_MAX / 2);
    /* With the NUL behind each: none runs into the next. */
    const char *const parts[] = { endpoint->name, endpoint->url,
                                  endpoint->model, endpoint->dialect->name };
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        buf_append(&all, parts[i], strlen(parts[i]) + 1);
    blob_name(buf_view(&all), hash);
    return endpoint_id_make(view_of(endpoint->name), hash);
}

static void log_refusal(struct fleet_endpoints *shared, const char *why)
{
    if (!shared->refusal_logged)
        log_line("endpoints.refused", "{s:s}", "why", why);
    shared->refusal_logged = true;
}

/* False: there is no answer to use. A refusal is logged once. */
static bool is_answer(struct fleet_endpoints *shared, const redisReply *reply)
{
    struct err err;
    if (!reply)
        return false; /* fleet_endpoints_ready() begins anew */
    if (reply_ok(reply, &err))
        return true;
    log_refusal(shared, err.text);
    return false;
}

/* --------------------------------------------------------------- writing */

/* A refusal (Redis is full, or the login may not write) may end while the
 * connection stands, so what was refused is written again later. */
static void on_written(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct fleet_endpoints *shared = owner;
    (void)why;
    if (!is_answer(shared, reply) && reply)
        shared->refused = true;
}

/* Finishes the command. */
static void write_command(struct fleet_endpoints *shared,
                          struct command *command)
{
    link_send(shared->link, command, ANSWER_MS, on_written, shared);
    command_finish(command);
}

static void write_wait(struct fleet_endpoints *shared,
                       const struct endpoint_id *id, uint64_t wait_ms)
{
    const struct names *names = &shared->consumer->names;
    uint64_t now = redis_now_ms(shared);
    struct command command;
    endpoint_begin(&command);
    write_command(shared, &command);
    endpoint_add_wait(&command, names, id, now + wait_ms);
    write_command(shared, &command);
    endpoint_drop_waits(&command, names, now);
    write_command(shared, &command);
    endpoint_keep_waits(&command, names);
    write_command(shared, &command);
    endpoint_end(&command);
    write_command(shared, &command);
}

void fleet_endpoints_tell_wait(struct fleet_endpoints *shared,
                               struct model_endpoint *endpoint)
{
    const struct breaker *breaker = &endpoint->breaker;
    uint64_t wait_ms = breaker_waits(breaker, fleet_endpoints_now_ms(shared));
    /* asked_ms is the end of the wait, shared_ms that of the one Redis has. */
    bool news = breaker->asked_ms > endpoint->shared_ms + BRIEF_MS;
    if (wait_ms <= BRIEF_MS || !news || !shared->knows_clock ||
        !link_is_ready(shared->link))
        return;
    struct endpoint_id id = id_of(endpoint);
    write_wait(shared, &id, wait_ms);
    endpoint->shared_ms = breaker->asked_ms;
}

/* Waits that were written may not have arrived, or may be lost since: the next
 * reading writes them again. */
static void forget_written(struct fleet_endpoints *shared)
{
    const struct endpoints *endpoints = &shared->consumer->endpoints;
    for (size_t i = 0; i < endpoints->count; i++)
        endpoints->items[i]->shared_ms = 0;
    shared->refused = false;
}

static void try_again(struct fleet_endpoints *shared)
{
    uint64_t now = fleet_endpoints_now_ms(shared);
    if (!shared->refused || now - shared->again_ms < AGAIN_MS)
        return;
    shared->again_ms = now;
    forget_written(shared);
}

/* --------------------------------------------------------------- reading */

static void go_on(struct fleet_endpoints *shared)
{
    shared->consumer->jobs->on_waits_read(shared->consumer);
}

static void on_await_over(void *owner)
{
    go_on(owner);
}

/* When the last answer of a reading is there, requests go on. */
static void count_answer(struct fleet_endpoints *shared)
{
    if (--shared->unanswered > 0 || !alarm_is_set(shared->waiting))
        return;
    alarm_stop(shared->waiting);
    go_on(shared);
}

static void on_time(void *owner, const redisReply *reply, const struct err *why)
{
    struct fleet_endpoints *shared = owner;
    uint64_t now;
    (void)why;
    bool usable = is_answer(shared, reply);
    if (usable && clock_read(reply, &now)) {
        shared->ahead_ms =
            (int64_t)now - (int64_t)fleet_endpoints_now_ms(shared);
        shared->knows_clock = true;
    } else if (usable) {
        log_refusal(shared, "TIME: the answer is not two numbers");
    }
    count_answer(shared);
}

/* A wait that is too long to be true. It is removed: since the longest wait
 * wins, no true one would ever replace it. */
static void drop_bad_wait(struct fleet_endpoints *shared, const char *name,
                          struct view id)
{
    struct command command;
    if (!shared->bad_wait_logged)
        log_line("endpoints.bad_wait", "{s:s, s:s}", "model", name, "text",
                 "the time that Redis has for it is removed");
    shared->bad_wait_logged = true;
    endpoint_drop_wait(&command, &shared->consumer->names, id);
    link_send(shared->link, &command, ANSWER_MS, NULL, NULL);
    command_finish(&command);
}

static void take_wait(struct fleet_endpoints *shared,
                      struct model_endpoint *endpoint, const redisReply *id,
                      const redisReply *until)
{
    struct breaker *breaker = &endpoint->breaker;
    uint64_t now = fleet_endpoints_now_ms(shared);
    double left = strtod(until->str, NULL) - (double)redis_now_ms(shared);
    if (!(left <= (double)ENDPOINT_LONGEST_MS)) {
        drop_bad_wait(shared, endpoint->name,
                      (struct view){ id->str, id->len });
    } else if (left > 0) {
        uint64_t wait_ms = (uint64_t)left;
        if (wait_ms <= breaker_waits(breaker, now) + BRIEF_MS)
            return; /* no longer than ours, but for a difference of clocks */
        log_line("model.heard", "{s:s, s:I}", "model", endpoint->name,
                 "wait_ms", (json_int_t)wait_ms);
        breaker_wait(breaker, now, wait_ms);
        endpoint->shared_ms = breaker->asked_ms;
    }
}

static void take_waits(struct fleet_endpoints *shared,
                       struct model_endpoint *endpoint, const redisReply *reply)
{
    struct endpoint_id id = id_of(endpoint);
    for (size_t i = 0; i + 1 < reply->elements; i += 2)
        if (strcmp(reply->element[i]->str, id.text) == 0)
            take_wait(shared, endpoint, reply->element[i],
                      reply->element[i + 1]);
}

/* Takes the waits of other consumers, and writes those of ours that Redis does
 * not have. */
static void on_waits(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct fleet_endpoints *shared = owner;
    const struct endpoints *endpoints = &shared->consumer->endpoints;
    (void)why;
    bool usable = is_answer(shared, reply);
    if (usable && !reply_is_texts(reply, 0)) {
        log_refusal(shared, "ZRANGE: the answer is not a list of texts");
        usable = false;
    }
    usable = usable && shared->knows_clock;
    for (size_t i = 0; i < endpoints->count && reply; i++) {
        if (usable)
            take_waits(shared, endpoints->items[i], reply);
        fleet_endpoints_tell_wait(shared, endpoints->items[i]);
    }
    count_answer(shared);
}

/* Finishes the command. */
static void fleet_endpoints_ask(struct fleet_endpoints *shared,
                                struct command *command, link_done *done)
{
    shared->unanswered +=
        link_send(shared->link, command, ANSWER_MS, done, shared);
    command_finish(command);
}

void fleet_endpoints_read(struct fleet_endpoints *shared)
{
    struct command command;
    if (!link_is_ready(shared->link) || shared->consumer->endpoints.count == 0)
        return;
    try_again(shared);
    shared->read_ms = fleet_endpoints_now_ms(shared);
    alarm_set(shared->waiting, AWAIT_MS);
    /* Counts this function as well: an answer of the first command must not end
     * the reading before the second is sent. */
    shared->unanswered++;
    clock_ask(&command);
    fleet_endpoints_ask(shared, &command, on_time);
    endpoint_ask_waits(&command, &shared->consumer->names);
    fleet_endpoints_ask(shared, &command, on_waits);
    count_answer(shared);
}

void fleet_endpoints_look(struct fleet_endpoints *shared)
{
    if (shared->unanswered == 0 &&
        fleet_endpoints_now_ms(shared) - shared->read_ms >= LOOK_MS)
        fleet_endpoints_read(shared);
}

bool fleet_endpoints_are_awaited(const struct fleet_endpoints *shared)
{
    return alarm_is_set(shared->waiting);
}

void fleet_endpoints_ready(struct fleet_endpoints *shared)
{
    forget_written(shared);
    shared->refusal_logged = shared->bad_wait_logged = false;
    fleet_endpoints_read(shared);
}

/* -------------------------------------------------------------- counting */

/* NULL: there are too many, of endpoints that were loaded anew again and again
 * while Redis was away. */
static struct tally *find_tally(struct fleet_endpoints *shared,
                                const struct model_endpoint *endpoint)
{
    struct endpoint_id id = id_of(endpoint);
    for (size_t i = 0; i < shared->tally_count; i++)
        if (strcmp(shared->tallies[i].id.text, id.text) == 0)
            return &shared->tallies[i];
    if (shared->tally_count == MAX_ENDPOINTS)
        return NULL;
    struct tally *tally = &shared->tallies[shared->tally_count++];
    *tally = (struct tally){ .id = id };
    if (!alarm_is_set(shared->counting))
        alarm_set(shared->counting, COUNT_MS);
    return tally;
}

void fleet_endpoints_count(struct fleet_endpoints *shared,
                           const struct model_endpoint *endpoint,
                           enum endpoint_count what)
{
    struct tally *tally = find_tally(shared, endpoint);
    if (tally)
        tally->counts[what]++;
}

/* "https://user@host:8443/v1" as "host:8443". */
static struct view host_of(const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *begin = scheme ? scheme + 3 : url;
    size_t len = strcspn(begin, "/?#");
    const char *at = memrchr(begin, '@', len);
    if (at) {
        len -= (size_t)(at + 1 - begin);
        begin = at + 1;
    }
    return (struct view){ begin, len };
}

static void tally_note(struct tally *tally, enum endpoint_note what,
                       struct view value)
{
    struct view head = view_head(value, NOTE_BYTES - 1);
    snprintf(tally->notes[what], NOTE_BYTES, "%.*s", VIEW_ARG(head));
}

/* The time now: by Redis's clock, or by this host's until that is known. */
static void note_time(const struct fleet_endpoints *shared, struct tally *tally,
                      enum endpoint_note what)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    if (shared->knows_clock)
        ms = redis_now_ms(shared);
    snprintf(tally->notes[what], NOTE_BYTES, "%" PRIu64, ms);
}

void fleet_endpoints_count_end(struct fleet_endpoints *shared,
                               const struct model_endpoint *endpoint,
                               const struct err *why)
{
    struct tally *tally = find_tally(shared, endpoint);
    if (!tally)
        return;
    tally_note(tally, NOTE_HOST, host_of(endpoint->url));
    tally_note(tally, NOTE_MODEL, view_of(endpoint->model));
    if (!why) {
        note_time(shared, tally, NOTE_ANSWERED_AT);
        return;
    }
    tally->counts[COUNT_FAILURES]++;
    note_time(shared, tally, NOTE_FAILED_AT);
    tally_note(tally, NOTE_ERROR_CODE, view_of(why->code));
    tally_note(tally, NOTE_ERROR, view_of(why->text));
}

static void write_counts(struct fleet_endpoints *shared,
                         const struct tally *tally)
{
    struct command command;
    for (enum endpoint_count what = 0; what < ENDPOINT_COUNTS; what++)
        if (tally->counts[what] > 0) {
            endpoint_add_count(&command, &shared->consumer->names, &tally->id,
                               what, tally->counts[what]);
            write_command(shared, &command);
        }
}

static void write_notes(struct fleet_endpoints *shared,
                        const struct tally *tally)
{
    struct view notes[ENDPOINT_NOTES];
    size_t bytes = 0;
    for (enum endpoint_note what = 0; what < ENDPOINT_NOTES; what++) {
        notes[what] = view_of(tally->notes[what]);
        bytes += notes[what].len;
    }
    if (bytes == 0)
        return;
    struct command command;
    endpoint_set_notes(&command, &shared->consumer->names, &tally->id, notes);
    write_command(shared, &command);
}

/* Writes all tallies in one transaction, once. If the connection breaks, what
 * may have arrived is not written again: the totals may be too small, never too
 * large. */
static void on_count(void *owner)
{
    struct fleet_endpoints *shared = owner;
    struct command command;
    if (!link_is_ready(shared->link)) {
        alarm_set(shared->counting, COUNT_MS);
        return;
    }
    endpoint_begin(&command);
    write_command(shared, &command);
    for (size_t i = 0; i < shared->tally_count; i++)
        write_counts(shared, &shared->tallies[i]);
    for (size_t i = 0; i < shared->tally_count; i++)
        write_notes(shared, &shared->tallies[i]);
    endpoint_keep_counts(&command, &shared->consumer->names);
    write_command(shared, &command);
    endpoint_end(&command);
    write_command(shared, &command);
    shared->tally_count = 0;
}

/* ------------------------------------------------------------------ life */

struct fleet_endpoints *fleet_endpoints_new(struct consumer *consumer,
                                            struct link *link)
{
    struct fleet_endpoints *shared = calloc(1, sizeof(*shared));
    if (!shared)
        abort();
    shared->consumer = consumer;
    shared->link = link;
    shared->waiting = alarm_new(consumer->loop, on_await_over, shared);
    shared->counting = alarm_new(consumer->loop, on_count, shared);
    return shared;
}

void fleet_endpoints_free(struct fleet_endpoints *shared)
{
    if (!shared)
        return;
    alarm_free(shared->waiting);
    alarm_free(shared->counting);
    free(shared);
}
