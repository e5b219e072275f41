/* job_follower.c - one who follows a job: reads the stream, then is given what
 * is published. */
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/fleet_links.h"
#include "producer/gateway/followers_state.h"
#include "producer/gateway/http/event_stream.h"
#include "schemas/redis/reply.h"
#include "schemas/service/alarm.h"

enum { AGAIN_MS = 500 }; /* Redis is away */

/* ----------------------------------------------------------------- the bytes
 */

/* An event as server-sent event, encoded once for all who get it. A new
 * reference; NULL: its bytes cannot be read. */
static struct http_bytes *encode_event(struct job_feed *feed, uint64_t id,
                                       const char *type, struct view bytes)
{
    uint64_t print = followed_job_print(bytes);
    struct recent_event *recent = &feed->recent[id % FOLLOWERS_RECENT];

    if (recent->bytes && recent->id == id && recent->print == print)
        return http_bytes_take(recent->bytes);
    CLEANUP(cleanup_free)
    char *json = quern_json(bytes.data, bytes.len, NULL);
    struct http_bytes *made =
        json ? event_stream_numbered(id, view_of(type), view_of(json), NULL)
             : NULL;

    if (!made)
        return NULL;
    if (TAILQ_FIRST(&feed->list) == TAILQ_LAST(&feed->list, job_follower_list))
        return made; /* nobody else will want it */
    http_bytes_free(recent->bytes);
    *recent = (struct recent_event){ id, print, http_bytes_take(made) };
    return made;
}

/* -------------------------------------------------------------------- life */

static void set_state(struct job_follower *follower,
                      enum job_follower_state state)
{
    struct followers *followers = follower->feed->all;

    if (follower->state == FOLLOWER_DUE)
        TAILQ_REMOVE(&followers->due, follower, of_due);
    if (follower->state == FOLLOWER_READING)
        followers->reading--;
    if (follower->state == FOLLOWER_PAUSED)
        followers->urgent--;
    follower->state = state;
    if (state == FOLLOWER_DUE)
        TAILQ_INSERT_TAIL(&followers->due, follower, of_due);
    if (state == FOLLOWER_READING)
        followers->reading++;
    if (state == FOLLOWER_PAUSED)
        followers->urgent++;
}

static void destroy(struct job_follower *follower)
{
    struct job_feed *feed = follower->feed;

    set_state(follower, FOLLOWER_WAITING);
    feed->all->urgent -= follower->is_over;
    TAILQ_REMOVE(&feed->list, follower, of_feed);
    quern_status_finish(&follower->status);
    followed_job_free(follower->job);
    free(follower);
    followers_release(feed);
}

/* Nothing is told to it any more. It is freed when its calls are answered; by
 * who is in the middle of it, afterwards. */
static void job_follower_end(struct job_follower *follower)
{
    follower->feed->all->urgent += !follower->is_over;
    follower->is_over = true;
}

static bool is_to_be_freed(const struct job_follower *follower)
{
    return follower->is_over && follower->calls == 0;
}

static void job_follower_fail(struct job_follower *follower,
                              const struct err *why)
{
    job_follower_end(follower);
    follower->events->on_failed(follower->owner, why);
}

/* The event as it is, and as it was encoded for those who want it so. False:
 * the follower is over. */
static bool give_bytes(struct job_follower *follower, struct view raw,
                       struct http_bytes *bytes, bool is_last)
{
    const struct job_follower_events *events = follower->events;

    if (is_last)
        job_follower_end(follower);
    if (events->on_bytes)
        events->on_bytes(follower->owner, raw, is_last);
    else
        events->on_event(follower->owner, bytes, is_last);
    if (follower->is_over)
        return false;
    followed_job_forget_event(follower->job); /* it may follow for hours */
    return true;
}

static bool give_event(struct job_follower *follower,
                       const struct quern_event *given)
{
    struct view bytes = { given->bytes, given->size };

    if (follower->events->on_bytes)
        return give_bytes(follower, bytes, NULL, given->terminal);
    struct http_bytes *made =
        encode_event(follower->feed, follower->job->last, given->type, bytes);
    struct err bad;
    bool goes_on;

    if (!made) {
        err_set(&bad, ERR_REJECT, "bad_message",
                "event %llu of the job cannot be read",
                (unsigned long long)given->seq);
        job_follower_fail(follower, &bad);
        return false;
    }
    goes_on = give_bytes(follower, bytes, made, given->terminal);
    http_bytes_free(made);
    return goes_on;
}

/* ----------------------------------------------------------------- reading */

static void rest(struct job_follower *follower)
{
    followed_job_drop_page(follower->job);
    set_state(follower, follower->is_stale ? FOLLOWER_DUE : FOLLOWER_LIVE);
}

static void pause_reading(struct job_follower *follower)
{
    followed_job_drop_page(follower->job);
    set_state(follower, FOLLOWER_PAUSED);
    follower->again_at = followers_now(follower->feed->all) + AGAIN_MS;
}

static bool may_send(const struct job_follower *follower)
{
    return !follower->events->may_send ||
           follower->events->may_send(follower->owner);
}

static void ask_result(struct job_follower *follower);

/* Goes on with an outcome of followed_job.h, until the page is used up. */
static void job_follower_step(struct job_follower *follower,
                              enum followed_outcome outcome,
                              struct quern_event *given, struct err *err)
{
    for (;; outcome = followed_job_row(follower->job, given, err)) {
        switch (outcome) {
        case FOLLOWED_EVENT:
        case FOLLOWED_GAP:
            if (!give_event(follower, given))
                return;
            if (may_send(follower))
                break;
            followed_job_drop_page(follower->job);
            set_state(follower, FOLLOWER_FULL);
            return;
        case FOLLOWED_AGAIN:
            break;
        case FOLLOWED_READ: /* it may wait for its turn: without the page */
            followed_job_drop_page(follower->job);
            set_state(follower, FOLLOWER_DUE);
            return;
        case FOLLOWED_QUIET:
            rest(follower);
            return;
        case FOLLOWED_RESULT:
            followed_job_drop_page(follower->job);
            ask_result(follower);
            return;
        case FOLLOWED_END:
            give_bytes(follower, (struct view){ "", 0 }, NULL, true);
            return;
        case FOLLOWED_FAILED:
            job_follower_fail(follower, err);
            return;
        }
    }
}

/* The last of the calls of a read has come back. */
static void after_calls(struct job_follower *follower)
{
    struct followers *followers = follower->feed->all;
    bool freeing = followers->freeing;

    if (is_to_be_freed(follower))
        destroy(follower);
    if (!freeing) /* else all may be gone now */
        job_followers_read(followers);
}

/* Redis has not answered, or refused. */
static void fail_reading(struct job_follower *follower, const struct err *why)
{
    if (why->kind == ERR_RETRY)
        pause_reading(follower);
    else
        job_follower_fail(follower, why);
}

static void on_result(void *owner, const redisReply *reply,
                      const struct err *why)
{
    struct job_follower *follower = owner;
    struct quern_event given;
    struct err err = { 0 };

    follower->calls--;
    if (follower->is_over) {
        /* It has left meanwhile. */
    } else if (!reply) {
        fail_reading(follower, why);
    } else if (!reply_ok(reply, &err)) {
        fail_reading(follower, &err);
    } else {
        status_take_result(&follower->status, reply);
        job_follower_step(
            follower,
            followed_job_end(follower->job, &follower->status, &given, &err),
            &given, &err);
    }
    after_calls(follower);
}

static void follower_call(struct job_follower *follower,
                          const struct command *command, link_done *done)
{
    struct err err = { 0 };

    if (fleet_links_call(follower->feed->all->gateway->links,
                         follower->feed->partition, command, done, follower,
                         &err))
        follower->calls++;
    else if (!follower->is_over)
        fail_reading(follower, &err);
}

static void ask_result(struct job_follower *follower)
{
    struct view id = view_of(follower->job->id.text);
    struct key key = names_result(&follower->feed->all->gateway->names, id);
    struct command command;

    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    follower_call(follower, &command, on_result);
    command_finish(&command);
}

static void on_status(void *owner, const redisReply *reply,
                      const struct err *why)
{
    struct job_follower *follower = owner;

    follower->calls--;
    quern_status_finish(&follower->status);
    follower->knows_status = false;
    if (!reply)
        follower->fault = *why;
    else if (reply_ok(reply, &follower->fault))
        follower->knows_status =
            status_told(reply, view_of(follower->job->id.text),
                        &follower->status, &follower->fault);
}

static void on_page(void *owner, const redisReply *reply, const struct err *why)
{
    struct job_follower *follower = owner;
    struct job_feed *feed = follower->feed;
    struct quern_event given;
    struct err err = { 0 };

    follower->calls--;
    if (follower->is_over) {
        /* It has left meanwhile. */
    } else if (!reply) {
        fail_reading(follower, why);
    } else if (!reply_ok(reply, &err)) {
        fail_reading(follower, &err);
    } else if (!follower->knows_status) {
        fail_reading(follower, &follower->fault);
    } else {
        redisReply *page =
            fleet_links_keep_reply(feed->all->gateway->links, feed->partition);

        job_follower_step(follower,
                          followed_job_read(follower->job, &follower->status,
                                            page, &given, &err),
                          &given, &err);
    }
    after_calls(follower);
}

/* The status first: an event is in the stream when the status counts it. */
static void job_follower_read(struct job_follower *follower)
{
    struct command command;

    set_state(follower, FOLLOWER_READING);
    follower->is_stale = false;
    status_ask(&command, &follower->feed->all->gateway->names,
               view_of(follower->job->id.text));
    follower_call(follower, &command, on_status);
    command_finish(&command);
    if (follower->state != FOLLOWER_READING)
        return;
    followed_job_ask_page(&command, follower->job, FOLLOWERS_PAGE);
    follower_call(follower, &command, on_page);
    command_finish(&command);
}

void job_followers_read(struct followers *followers)
{
    while (followers->reading < FOLLOWERS_READS &&
           !TAILQ_EMPTY(&followers->due)) {
        struct job_follower *follower = TAILQ_FIRST(&followers->due);

        if (follower->is_over)
            set_state(follower, FOLLOWER_WAITING);
        else
            job_follower_read(follower);
        if (is_to_be_freed(follower))
            destroy(follower);
    }
}

void job_follower_wake(struct job_follower *follower)
{
    if (follower->is_over)
        return;
    if (follower->state == FOLLOWER_READING || follower->state == FOLLOWER_FULL)
        follower->is_stale = true;
    else if (follower->state != FOLLOWER_DUE)
        set_state(follower, FOLLOWER_DUE);
}

/* ----------------------------------------------------------------- hearing */

/* One event that was published, decoded and encoded at most once. */
struct heard_event {
    struct view bytes;
    uint64_t seq, print;
    char type[64];
    bool is_last;
    struct http_bytes *made; /* NULL: nobody has needed it yet */
};

static void pass_on(struct job_follower *follower, struct heard_event *heard)
{
    bool raw = follower->events->on_bytes;
    enum followed_outcome outcome =
        followed_job_weigh(follower->job, heard->seq, heard->print);

    if (outcome == FOLLOWED_QUIET)
        return;
    if (outcome == FOLLOWED_EVENT && !heard->made && !raw)
        heard->made =
            encode_event(follower->feed, heard->seq, heard->type, heard->bytes);
    if (outcome != FOLLOWED_EVENT || (!heard->made && !raw)) {
        job_follower_wake(follower);
        return;
    }
    followed_job_pass(follower->job, heard->seq, heard->print);
    give_bytes(follower, heard->bytes, heard->made, heard->is_last);
}

static bool hear_event(struct heard_event *heard, struct view bytes)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct event event;

    *heard = (struct heard_event){ .bytes = bytes };
    if (!event_decode(&event, bytes, &arena, NULL) ||
        event.type.len >= sizeof(heard->type))
        return false;
    heard->seq = event.seq;
    heard->print = followed_job_print(bytes);
    heard->is_last = event_is_terminal(event.type);
    memcpy(heard->type, event.type.data, event.type.len);
    return true;
}

void job_feed_hear(struct job_feed *feed, struct view bytes)
{
    struct followers *followers = feed->all;
    struct heard_event heard;
    bool is_good = hear_event(&heard, bytes);
    struct job_follower *next;

    /* A follower that is freed may be the last one, and the feed goes with it:
     * so it is not looked at behind the loop. */
    for (struct job_follower *at = TAILQ_FIRST(&feed->list); at; at = next) {
        next = TAILQ_NEXT(at, of_feed);
        if (at->is_over)
            continue;
        if (at->state != FOLLOWER_LIVE || !is_good)
            job_follower_wake(at);
        else if (may_send(at))
            pass_on(at, &heard);
        else
            set_state(at, FOLLOWER_FULL); /* it falls behind, and reads on */
        if (is_to_be_freed(at))
            destroy(at);
    }
    http_bytes_free(heard.made);
    job_followers_read(followers);
}

/* ------------------------------------------------------------ for the owner */

/* Within the next 15 s, and not when the others have theirs: ten thousand
 * comments at once would hold up the loop. */
static uint64_t first_beat(struct followers *followers)
{
    enum { GOLDEN_MS = 9271 }; /* of 15 s, so that many are spread evenly */

    followers->beat_phase =
        (followers->beat_phase + GOLDEN_MS) % FOLLOWERS_BEAT_MS;
    return followers_now(followers) + followers->beat_phase;
}

struct job_follower *job_follower_new(struct followers *followers,
                                      struct view id, uint64_t after,
                                      const struct job_follower_events *events,
                                      void *owner)
{
    struct job_follower *follower = calloc(1, sizeof(*follower));

    if (!follower)
        abort();
    follower->feed = followers_feed(followers, id);
    follower->job = followed_job_new(&followers->gateway->names, id, after);
    follower->events = events;
    follower->owner = owner;
    follower->beat_at = first_beat(followers);
    TAILQ_INSERT_TAIL(&follower->feed->list, follower, of_feed);
    if (follower->feed->is_subscribed) {
        set_state(follower, FOLLOWER_DUE);
        alarm_set(followers->soon, 0);
    }
    return follower;
}

void job_follower_go_on(struct job_follower *follower)
{
    if (follower->state == FOLLOWER_FULL && !follower->is_over) {
        set_state(follower, FOLLOWER_DUE);
        alarm_set(follower->feed->all->soon, 0);
    }
}

/* It may be in the middle of something: the next tick frees it. */
void job_follower_free(struct job_follower *follower)
{
    if (follower)
        job_follower_end(follower);
}

void job_feed_sweep(struct job_feed *feed)
{
    struct job_follower *next;

    for (struct job_follower *at = TAILQ_FIRST(&feed->list); at; at = next) {
        next = TAILQ_NEXT(at, of_feed);
        if (is_to_be_freed(at))
            destroy(at);
    }
}
