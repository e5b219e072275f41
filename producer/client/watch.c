/* watch.c - a job's events, each once and in order, until the last.
 *
 *   AWAY --> REPLAYING --> LIVE        any --> ENDED, BROKEN
 *     ^----------+----------'  `--> REPLAYING: a gap, or long silence
 *
 * Subscribe first, replay second, live third: what happens in between comes
 * twice and is dropped by its seq. A published message is only a wake-up that
 * carries its bytes; the stream is the truth and fills every gap. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/handle.h"
#include "schemas/message/event.h"
#include "schemas/redis/slot.h"

enum {
    PAGE = 64,         /* events read at once */
    SILENCE_MS = 5000, /* then look at the stream all the same */
    REPLY_TIMEOUT_MS = 2000,
};

enum state { AWAY, REPLAYING, LIVE, ENDED, BROKEN, STATES };
enum turn { AGAIN, WAIT };

struct quern_watch {
    struct quern quern; /* shares the handle's fleet, with less patience */
    struct conn *conn;  /* the subscriber */
    struct quern_id id;
    struct key events; /* stream and channel */
    enum state state;
    uint64_t last;       /* seq of the last event given */
    uint64_t give_up_at; /* of this call of quern_watch_next() */
    uint64_t retry_at;   /* AWAY: next try */
    uint64_t backoff_ms;
    uint64_t look_at; /* LIVE: end of silence */
    redisReply *page; /* REPLAYING: entries; row is the next one */
    size_t row;
    redisReply *live;   /* LIVE: the message that the event borrows from */
    struct arena arena; /* of the event */
    char type[64];
    struct err err;            /* AWAY: what it waits for; BROKEN: why */
    struct quern_event *event; /* to fill; NULL once it is */
};

struct rule {
    const char *name;
    unsigned int next; /* states that may follow */
    enum turn (*step)(struct quern_watch *watch);
};
static const struct rule table[STATES];
#define TO(state) (1u << (state))

static void watch_enter(struct quern_watch *watch, enum state next)
{
    assert(table[watch->state].next & TO(next));
    watch->state = next;
    if (next == AWAY) {
        conn_close(watch->conn);
        watch->retry_at = clock_ms() + watch->backoff_ms;
        if (watch->backoff_ms < LAST_BACKOFF_MS)
            watch->backoff_ms *= 2;
    } else if (next == LIVE) {
        watch->backoff_ms = FIRST_BACKOFF_MS;
        watch->look_at = clock_ms() + SILENCE_MS;
        watch->err.kind = ERR_NONE;
    }
}

/* A lost connection is waited for; all else ends the watch. */
static enum turn watch_fail(struct quern_watch *watch)
{
    watch_enter(watch, watch->err.kind == ERR_RETRY ? AWAY : BROKEN);
    return AGAIN;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void drop_reply(redisReply **reply)
{
    cleanup_reply(reply);
    *reply = NULL;
}

static bool watch_decode(struct quern_watch *watch, struct view bytes,
                         struct event *event)
{
    arena_finish(&watch->arena);
    watch->arena = (struct arena){ 0 };
    return event_decode(event, bytes, &watch->arena, &watch->err) ||
           err_prefix(&watch->err, "the event after %" PRIu64, watch->last);
}

/* Gives the event to the caller, unless it is not newer than the last one. */
static void watch_give(struct quern_watch *watch, const struct event *event,
                       struct view bytes)
{
    if (event->seq <= watch->last)
        return;
    watch->last = event->seq;
    snprintf(watch->type, sizeof(watch->type), "%.*s", VIEW_ARG(event->type));
    *watch->event = (struct quern_event){
        .seq = event->seq,
        .at = event->at,
        .attempt = event->attempt,
        .type = watch->type,
        .terminal = event_is_terminal(event->type),
        .bytes = bytes.data,
        .size = bytes.len,
    };
    if (watch->event->terminal)
        watch_enter(watch, ENDED);
    watch->event = NULL;
}

/* --- AWAY: wait for the next try, then subscribe ------------------------- */

static bool watch_subscribe(struct quern_watch *watch)
{
    struct command command;
    redisReply *reply;

    command_init(&command, "SUBSCRIBE");
    command_add(&command, key_view(&watch->events));
    reply = conn_call(watch->conn, &command, REPLY_TIMEOUT_MS, &watch->err);
    command_finish(&command);
    cleanup_reply(&reply);
    return reply != NULL;
}

static enum turn step_away(struct quern_watch *watch)
{
    uint64_t now = clock_ms();
    uint64_t until = earlier(watch->retry_at, watch->give_up_at);

    if (until > now)
        sleep_ms(until - now);
    if (until < watch->retry_at)
        return WAIT;
    if (!watch_subscribe(watch))
        return watch_fail(watch);
    watch_enter(watch, REPLAYING);
    return AGAIN;
}

/* --- REPLAYING: the stream after the last seq, page by page --------------- */

static redisReply *read_page(struct quern_watch *watch)
{
    struct command command;
    redisReply *reply;
    char start[32];

    snprintf(start, sizeof(start), "(%" PRIu64 "-0", watch->last);
    command_init(&command, "XRANGE");
    command_add(&command, key_view(&watch->events));
    command_add_text(&command, start);
    command_add_text(&command, "+");
    command_add_text(&command, "COUNT");
    command_add_uint(&command, PAGE);
    reply = handle_call_job(&watch->quern, view_of(watch->id.text), &command,
                            &watch->err);
    command_finish(&command);
    return reply;
}

/* A user who may read no job (a dashboard's) learns from events alone what
 * becomes of it: then this is a job of which nothing is known. */
static bool read_status(struct quern_watch *watch, struct quern_status *status)
{
    if (status_read(&watch->quern, view_of(watch->id.text), false, status,
                    &watch->err))
        return true;
    *status = (struct quern_status){ .state = QUERN_QUEUED };
    return strcmp(watch->err.code, "redis_refused") == 0;
}

/* Nothing is newer: is there more to come? The status was read before the
 * stream, so a job that had ended then has all its events in it. */
static enum turn replayed(struct quern_watch *watch,
                          const struct quern_status *status)
{
    if (!quern_state_is_terminal(status->state)) {
        watch_enter(watch, LIVE);
    } else if (status->seq > 0 && status->seq <= watch->last) {
        watch_enter(watch, ENDED);
    } else {
        err_set(&watch->err, ERR_REJECT, "expired",
                "job %s is %s, its events are no longer kept", watch->id.text,
                quern_state_name(status->state));
        watch_enter(watch, BROKEN);
    }
    return AGAIN;
}

static enum turn give_row(struct quern_watch *watch)
{
    struct view bytes = entry_event(watch->page->element[watch->row++]);
    struct event event;

    if (!watch_decode(watch, bytes, &event))
        return watch_fail(watch);
    watch_give(watch, &event, bytes);
    return AGAIN;
}

static enum turn step_replaying(struct quern_watch *watch)
{
    struct quern_status status;

    if (watch->page && watch->row < watch->page->elements)
        return give_row(watch);
    drop_reply(&watch->page);
    watch->row = 0;
    if (!read_status(watch, &status))
        return watch_fail(watch);
    watch->page = read_page(watch);
    if (!watch->page)
        return watch_fail(watch);
    return watch->page->elements > 0 ? AGAIN : replayed(watch, &status);
}

/* --- LIVE: what is published ---------------------------------------------- */

/* An empty view: a message that is not ours to read. */
static struct view message_event(const redisReply *message)
{
    if (message->type != REDIS_REPLY_ARRAY || message->elements != 3 ||
        message->element[2]->type != REDIS_REPLY_STRING)
        return (struct view){ 0 };
    return (struct view){ message->element[2]->str, message->element[2]->len };
}

static enum turn step_live(struct quern_watch *watch)
{
    uint64_t now = clock_ms();
    uint64_t until = earlier(watch->look_at, watch->give_up_at);
    struct event event;
    struct view bytes;

    drop_reply(&watch->live);
    watch->live =
        conn_wait(watch->conn, until > now ? until - now : 0, &watch->err);
    if (!watch->live && watch->err.kind != ERR_NONE)
        return watch_fail(watch);
    if (!watch->live && clock_ms() < watch->look_at)
        return WAIT;
    bytes = watch->live ? message_event(watch->live) : (struct view){ 0 };
    if (bytes.len == 0 || !watch_decode(watch, bytes, &event) ||
        event.seq > watch->last + 1) {
        watch_enter(watch, REPLAYING); /* silence, or a gap */
        return AGAIN;
    }
    watch->look_at = clock_ms() + SILENCE_MS;
    watch_give(watch, &event, bytes);
    return AGAIN;
}

static enum turn step_last(struct quern_watch *watch)
{
    (void)watch;
    return WAIT;
}

static const struct rule table[STATES] = {
    [AWAY] = { "away", TO(AWAY) | TO(REPLAYING) | TO(BROKEN), step_away },
    [REPLAYING] = { "replaying", TO(AWAY) | TO(LIVE) | TO(ENDED) | TO(BROKEN),
                    step_replaying },
    [LIVE] = { "live", TO(AWAY) | TO(REPLAYING) | TO(ENDED) | TO(BROKEN),
               step_live },
    [ENDED] = { "ended", 0, step_last },
    [BROKEN] = { "broken", 0, step_last },
};

/* --- the public side ------------------------------------------------------ */

struct quern_watch *quern_watch_open(struct quern *quern, const char *id_text,
                                     uint64_t after, struct quern_error *error)
{
    struct quern_watch *watch;
    struct err err = { 0 };
    struct view id;

    if (!handle_id(&id, id_text, &err)) {
        handle_fail(error, &err);
        return NULL;
    }
    watch = calloc(1, sizeof(*watch));
    if (!watch)
        abort();
    watch->quern = *quern;
    watch->quern.timeout_ms = REPLY_TIMEOUT_MS;
    watch->events = names_events(&quern->fleet->names, id);
    watch->conn = conn_new(&quern->fleet->address,
                           slot_of(key_view(&watch->events)), "watch");
    watch->last = after;
    watch->backoff_ms = FIRST_BACKOFF_MS;
    memcpy(watch->id.text, id.data, id.len);
    return watch;
}

void quern_watch_close(struct quern_watch *watch)
{
    if (!watch)
        return;
    drop_reply(&watch->page);
    drop_reply(&watch->live);
    arena_finish(&watch->arena);
    conn_free(watch->conn);
    free(watch);
}

enum quern_next quern_watch_next(struct quern_watch *watch,
                                 struct quern_event *event, uint64_t timeout_ms,
                                 struct quern_error *error)
{
    watch->give_up_at = clock_after(timeout_ms);
    watch->event = event;
    while (watch->event && table[watch->state].step(watch) == AGAIN)
        ;
    if (!watch->event)
        return QUERN_EVENT;
    if (watch->state == ENDED)
        return QUERN_END;
    if (watch->state != BROKEN)
        return QUERN_NOTHING;
    handle_fail(error, &watch->err);
    return QUERN_BROKEN;
}

const char *quern_watch_trouble(const struct quern_watch *watch)
{
    return watch->state == AWAY && watch->err.kind != ERR_NONE ? watch->err.text
                                                               : NULL;
}
