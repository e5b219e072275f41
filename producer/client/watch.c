/* watch.c - the events of jobs, each once and in order, until the last.
 *
 *   AWAY --> LISTENING        any --> BROKEN
 *     ^----------'
 *
 * One connection, an *ear*, is subscribed to all of the jobs. In a Cluster each
 * partition has an ear of its own, at the node that has its slot: events are
 * published there alone (SPUBLISH). When the slot moves, the node ends the
 * subscription, and the watch subscribes anew. It subscribes to the plain
 * channel as well: a server may have the functions of an older build, which
 * PUBLISH to every node. When one ear fails, the watch is AWAY: the streams of
 * that node's jobs could not be read either.
 *
 * The order is: subscribe, then read the stream, then follow what is published.
 * A job is *due* from the confirmation of its subscription until its stream has
 * nothing newer, and *quiet* from then on. An event of the time in between
 * comes twice, and is dropped by its seq; the other order could lose it.
 * Pub/sub may lose messages, the stream does not: a published message saves a
 * read of the stream, and whatever is missing between two of them is read
 * there. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/followed_job.h"
#include "schemas/message/machine.h"
#include "schemas/redis/slot.h"

enum {
    SILENCE_MS = 5000, /* without a message of a job its stream is read: the
                          message may have been lost ... */
    LOOK_EVERY_MS = 5, /* ... but not more than one stream in so long: a watch
                          of many jobs is more patient */
    REPLY_TIMEOUT_MS = 2000, /* a watch finds out soon that Redis is away */
};

enum watch_state { AWAY, LISTENING, BROKEN, STATES };
TAILQ_HEAD(followed_list, followed_job);

struct quern_watch {
    struct quern quern;  /* copy of the handle, with a shorter timeout: reads
                            streams and statuses */
    struct conn **ears;  /* the subscribers; none until a job is followed */
    unsigned int *slots; /* of the ears */
    size_t ear_count, ear_next; /* the latter: which one is read first */
    struct machine machine;
    void *jobs; /* search tree, by id; each is in one of: */
    struct followed_list due, quiet; /* the latter by look_at */
    size_t count;
    struct followed_job
        *last;           /* followed no more: its last event is borrowed */
    redisReply *live;    /* the message that an event borrows from */
    uint64_t give_up_at; /* of this call of quern_watch_next() */
    uint64_t retry_at;   /* AWAY: next try */
    uint64_t backoff_ms;
    struct err err;            /* AWAY: what it waits for; BROKEN: why */
    struct quern_event *event; /* to fill; NULL once ... */
    enum quern_next given;     /* ... this is there for the caller, */
    struct err fault;          /* and why it is QUERN_BROKEN */
};

static machine_step step_away, step_listening, step_broken;

static const struct machine_state states[STATES] = {
    [AWAY] = { "away", TO(AWAY) | TO(LISTENING) | TO(BROKEN),
               .step = step_away },
    [LISTENING] = { "listening", TO(AWAY) | TO(BROKEN),
                    .step = step_listening },
    [BROKEN] = { "broken", .step = step_broken },
};
static const struct machine_kind kind = { "a watch", states, STATES, NULL,
                                          NULL };

static void watch_enter(struct quern_watch *watch, enum watch_state next)
{
    machine_go(&watch->machine, next);
    if (next == LISTENING)
        return;
    for (size_t i = 0; i < watch->ear_count; i++)
        conn_close(watch->ears[i]);
    watch->retry_at = clock_ms() + watch->backoff_ms;
    if (watch->backoff_ms < LAST_BACKOFF_MS)
        watch->backoff_ms *= 2;
}

/* After watch->err: a lost connection is waited for; any other fault (the login
 * may not subscribe) ends the watch. */
static enum pace watch_fail(struct quern_watch *watch)
{
    watch_enter(watch, watch->err.kind == ERR_RETRY ? AWAY : BROKEN);
    return AGAIN;
}

static enum pace watch_give(struct quern_watch *watch, enum quern_next given)
{
    watch->given = given;
    watch->event = NULL;
    return WAIT; /* until the caller asks for the next one */
}

/* --- the jobs --------------------------------------------------------------
 */

static int watch_compare(const void *a, const void *b)
{
    const struct followed_job *one = a, *other = b;

    return strcmp(one->id.text, other->id.text);
}

static struct followed_job *watch_find(const struct quern_watch *watch,
                                       struct view id)
{
    struct followed_job wanted = { 0 };
    void *found;

    if (id.len >= sizeof(wanted.id.text))
        return NULL;
    memcpy(wanted.id.text, id.data, id.len);
    found = tfind(&wanted, &watch->jobs, watch_compare);
    return found ? *(struct followed_job **)found : NULL;
}

static void leave_list(struct quern_watch *watch, struct followed_job *job)
{
    struct followed_list *list = job->due ? &watch->due : &watch->quiet;

    TAILQ_REMOVE(list, job, link);
}

static void add_due(struct quern_watch *watch, struct followed_job *job)
{
    leave_list(watch, job);
    job->due = true;
    TAILQ_INSERT_TAIL(&watch->due, job, link);
}

static void add_quiet(struct quern_watch *watch, struct followed_job *job)
{
    uint64_t silence_ms = watch->count * LOOK_EVERY_MS;

    if (silence_ms < SILENCE_MS)
        silence_ms = SILENCE_MS;
    job->due = false;
    job->look_at = clock_ms() + silence_ms;
    TAILQ_INSERT_TAIL(&watch->quiet, job, link);
}

static void make_quiet(struct quern_watch *watch, struct followed_job *job)
{
    leave_list(watch, job);
    add_quiet(watch, job);
}

static bool is_sharded(const struct quern_watch *watch)
{
    return watch->quern.fleet->address.kind == ADDRESS_CLUSTER;
}

static bool send_name(struct quern_watch *watch, const char *name,
                      const struct followed_job *job)
{
    struct command command;
    bool sent;

    command_init(&command, name);
    command_add(&command, view_of(job->events));
    sent = conn_send(watch->ears[job->ear], &command, REPLY_TIMEOUT_MS,
                     &watch->err);
    command_finish(&command);
    return sent;
}

static bool send_subscribe(struct quern_watch *watch,
                           const struct followed_job *job)
{
    return send_name(watch, "SUBSCRIBE", job) &&
           (!is_sharded(watch) || send_name(watch, "SSUBSCRIBE", job));
}

static bool send_unsubscribe(struct quern_watch *watch,
                             const struct followed_job *job)
{
    return send_name(watch, "UNSUBSCRIBE", job) &&
           (!is_sharded(watch) || send_name(watch, "SUNSUBSCRIBE", job));
}

/* The ear that hears of keys in that slot. Outside of a cluster there is one.
 */
static size_t ear_of(struct quern_watch *watch, unsigned int slot)
{
    size_t i = 0;

    while (i < watch->ear_count && is_sharded(watch) && watch->slots[i] != slot)
        i++;
    if (i < watch->ear_count)
        return i;
    watch->ears = realloc(watch->ears, (i + 1) * sizeof(struct conn *));
    watch->slots = realloc(watch->slots, (i + 1) * sizeof(unsigned int));
    if (!watch->ears || !watch->slots)
        abort();
    watch->ears[i] = conn_new(&watch->quern.fleet->address, slot, "watch");
    watch->slots[i] = slot;
    watch->ear_count++;
    return i;
}

/* Follows the job no more. It is freed only with the next one that ends, since
 * the event that the caller has just been given borrows from it. */
static void part_with(struct quern_watch *watch, struct followed_job *job)
{
    leave_list(watch, job);
    tdelete(job, &watch->jobs, watch_compare);
    watch->count--;
    followed_job_free(watch->last);
    watch->last = job;
    if (watch->machine.state == LISTENING && !send_unsubscribe(watch, job))
        watch_fail(watch);
}

static enum pace give_event(struct quern_watch *watch, struct followed_job *job)
{
    if (watch->event->terminal)
        part_with(watch, job);
    return watch_give(watch, QUERN_EVENT);
}

/* --- what there is of them ------------------------------------------------ */

/* A fault of this job alone (it is unknown, its stream has bad bytes): it is
 * followed no more, and the others go on. */
static enum pace give_fault(struct quern_watch *watch, struct followed_job *job)
{
    if (watch->err.kind == ERR_RETRY)
        return watch_fail(watch);
    *watch->event = (struct quern_event){ .job = job->id.text };
    watch->fault = watch->err;
    part_with(watch, job);
    return watch_give(watch, QUERN_BROKEN);
}

static enum pace watch_look(struct quern_watch *watch, struct followed_job *job)
{
    switch (followed_job_look(job, &watch->quern, watch->event, &watch->err)) {
    case FOLLOWED_EVENT:
        return give_event(watch, job);
    case FOLLOWED_GAP:
        return watch_give(watch, QUERN_GAP);
    case FOLLOWED_AGAIN:
        break;
    case FOLLOWED_QUIET:
        watch->backoff_ms = FIRST_BACKOFF_MS;
        make_quiet(watch, job);
        break;
    case FOLLOWED_END:
        part_with(watch, job);
        break;
    case FOLLOWED_FAILED:
    case FOLLOWED_READ: /* these two are not for a watch */
    case FOLLOWED_RESULT:
        return give_fault(watch, job);
    }
    return AGAIN;
}

static struct view watch_text_at(const redisReply *reply, size_t i)
{
    const redisReply *text = reply->element[i];

    if (text->type != REDIS_REPLY_STRING)
        return (struct view){ 0 };
    return (struct view){ text->str, text->len };
}

/* The server confirms that it has ended a subscription: of a job that is
 * followed, an earlier one, when this one is not confirmed yet. Or the slot has
 * moved, and it ends those of all jobs there. */
static enum pace hear_end(struct quern_watch *watch,
                          const struct followed_job *job, struct view word)
{
    if (view_is(word, "unsubscribe") || !job->is_confirmed)
        return AGAIN;
    err_set(&watch->err, ERR_RETRY, "redis_unavailable",
            "another node of the cluster has the events now");
    return watch_fail(watch);
}

/* Takes a message of a subscriber: [kind, channel, data]. The data of "message"
 * and "smessage" are an event's bytes; those of "subscribe" are a number, which
 * followed_job_hear() takes for no event, so that the job becomes due; in a
 * cluster those of "ssubscribe", which comes after it. The channel ends in the
 * job's id. */
static enum pace hear(struct quern_watch *watch)
{
    const redisReply *news = watch->live;
    enum followed_outcome turn;
    struct followed_job *job;
    struct view channel, word;

    if (news->type == REDIS_REPLY_ERROR && !reply_ok(news, &watch->err))
        return watch_fail(watch);
    if (news->type != REDIS_REPLY_ARRAY || news->elements != 3)
        return AGAIN;
    channel = watch_text_at(news, 1);
    if (channel.len < ID_LEN)
        return AGAIN;
    job = watch_find(
        watch, (struct view){ channel.data + channel.len - ID_LEN, ID_LEN });
    word = watch_text_at(news, 0);
    if (!job || (is_sharded(watch) && view_is(word, "subscribe")))
        return AGAIN;
    if (view_is(word, "unsubscribe") || view_is(word, "sunsubscribe"))
        return hear_end(watch, job, word);
    job->is_confirmed |= view_is(word, "ssubscribe");
    turn = followed_job_hear(job, watch_text_at(news, 2), watch->event);
    if (turn == FOLLOWED_AGAIN)
        add_due(watch, job);
    if (turn != FOLLOWED_EVENT)
        return AGAIN;
    make_quiet(watch, job);
    return give_event(watch, job);
}

/* --- AWAY: wait for the next try, then subscribe ------------------------- */

static void add_channels(struct command *of_ears,
                         const struct followed_list *list)
{
    for (const struct followed_job *job = TAILQ_FIRST(list); job;
         job = TAILQ_NEXT(job, link))
        command_add(&of_ears[job->ear], view_of(job->events));
}

/* Subscribes one ear to its jobs. The first confirmation of SUBSCRIBE is
 * watch->live; all others are heard in LISTENING. */
static bool subscribe_ear(struct quern_watch *watch, struct conn *ear,
                          struct command *command)
{
    cleanup_reply(&watch->live);
    watch->live = conn_call(ear, command, REPLY_TIMEOUT_MS, &watch->err);
    if (!watch->live || !is_sharded(watch))
        return watch->live;
    command->argv[0] = "SSUBSCRIBE";
    command->argvlen[0] = strlen(command->argv[0]);
    return conn_send(ear, command, REPLY_TIMEOUT_MS, &watch->err);
}

/* Subscribes to all jobs, by one command for each ear that has some. */
static bool subscribe(struct quern_watch *watch)
{
    struct command *of_ears = calloc(watch->ear_count, sizeof(*of_ears));
    bool good = true;

    if (!of_ears)
        abort();
    for (size_t i = 0; i < watch->ear_count; i++)
        command_init(&of_ears[i], "SUBSCRIBE");
    add_channels(of_ears, &watch->due);
    add_channels(of_ears, &watch->quiet);
    for (size_t i = 0; i < watch->ear_count; i++) {
        if (good && of_ears[i].argc > 1)
            good = subscribe_ear(watch, watch->ears[i], &of_ears[i]);
        command_finish(&of_ears[i]);
    }
    free(of_ears);
    return good;
}

/* The next message of any ear; each has its turn. NULL: none came in time, or
 * watch->err says why. */
static redisReply *ears_wait(struct quern_watch *watch, uint64_t wait_ms)
{
    if (watch->ear_count == 1)
        return conn_wait(watch->ears[0], wait_ms, &watch->err);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < watch->ear_count; i++) {
            size_t ear = watch->ear_next++ % watch->ear_count;
            redisReply *reply;

            if (!conn_is_open(watch->ears[ear]))
                continue;
            reply = conn_wait(watch->ears[ear], 0, &watch->err);
            if (reply || watch->err.kind != ERR_NONE)
                return reply;
        }
        if (round == 0 &&
            !conn_wait_any(watch->ears, watch->ear_count, wait_ms))
            break;
    }
    watch->err = (struct err){ .kind = ERR_NONE };
    return NULL;
}

static enum pace step_away(void *owner)
{
    struct quern_watch *watch = owner;
    uint64_t now = clock_ms();
    uint64_t until = watch->retry_at < watch->give_up_at ? watch->retry_at
                                                         : watch->give_up_at;

    if (watch->count == 0)
        return WAIT;
    if (until > now)
        sleep_ms(until - now);
    if (until < watch->retry_at)
        return WAIT;
    if (!subscribe(watch))
        return watch_fail(watch);
    watch_enter(watch, LISTENING);
    return hear(watch);
}

/* --- LISTENING: what is due, then what is published ----------------------- */

/* Due jobs first: while one is due, nothing is read from the subscriber, so
 * what is published waits in its socket. Then the quiet job whose silence lasts
 * longest, or a message, whichever comes first. */
static enum pace step_listening(void *owner)
{
    struct quern_watch *watch = owner;
    struct followed_job *job = TAILQ_FIRST(&watch->due);
    uint64_t now = clock_ms(), until;

    if (watch->count == 0)
        return WAIT;
    if (job)
        return watch_look(watch, job);
    job = TAILQ_FIRST(&watch->quiet);
    if (now >= job->look_at) {
        add_due(watch, job);
        return AGAIN;
    }
    until = job->look_at < watch->give_up_at ? job->look_at : watch->give_up_at;
    cleanup_reply(&watch->live);
    watch->live = ears_wait(watch, until > now ? until - now : 0);
    if (watch->live)
        return hear(watch);
    if (watch->err.kind != ERR_NONE)
        return watch_fail(watch);
    return clock_ms() < job->look_at ? WAIT : AGAIN;
}

static enum pace step_broken(void *owner)
{
    struct quern_watch *watch = owner;

    if (watch->count == 0)
        return WAIT;
    *watch->event = (struct quern_event){ 0 };
    watch->fault = watch->err;
    return watch_give(watch, QUERN_BROKEN);
}

/* --- the public side ------------------------------------------------------ */

struct quern_watch *quern_watch_open(struct quern *quern, const char *id,
                                     uint64_t after, struct quern_error *error)
{
    struct quern_watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        abort();
    machine_init(&watch->machine, &kind, watch, AWAY);
    watch->quern = *quern;
    watch->quern.timeout_ms = REPLY_TIMEOUT_MS;
    watch->backoff_ms = FIRST_BACKOFF_MS;
    TAILQ_INIT(&watch->due);
    TAILQ_INIT(&watch->quiet);
    if (id && !quern_watch_add(watch, id, after, error)) {
        quern_watch_close(watch);
        return NULL;
    }
    return watch;
}

bool quern_watch_add(struct quern_watch *watch, const char *id_text,
                     uint64_t after, struct quern_error *error)
{
    const struct fleet_conns *fleet = watch->quern.fleet;
    struct followed_job *job;
    struct err err = { 0 };
    struct view id;

    if (!handle_id(&id, id_text, &err))
        return handle_fail(error, &err);
    if (watch_find(watch, id)) {
        err_set(&err, ERR_REJECT, "bad_field", "id: %s is followed already",
                id_text);
        return handle_fail(error, &err);
    }
    job = followed_job_new(&fleet->names, id, after);
    if (!tsearch(job, &watch->jobs, watch_compare))
        abort();
    watch->count++;
    add_quiet(watch, job); /* due when its subscription is confirmed */
    job->ear = ear_of(watch, slot_of(view_of(job->events)));
    if (watch->machine.state == LISTENING && !send_subscribe(watch, job))
        watch_fail(watch);
    return true;
}

void quern_watch_drop(struct quern_watch *watch, const char *id)
{
    struct followed_job *job = watch_find(watch, view_of(id));

    if (job)
        part_with(watch, job);
}

static void free_all(struct quern_watch *watch, struct followed_list *jobs)
{
    struct followed_job *job;

    while ((job = TAILQ_FIRST(jobs))) {
        TAILQ_REMOVE(jobs, job, link);
        tdelete(job, &watch->jobs, watch_compare);
        followed_job_free(job);
    }
}

void quern_watch_close(struct quern_watch *watch)
{
    if (!watch)
        return;
    free_all(watch, &watch->quiet);
    free_all(watch, &watch->due);
    followed_job_free(watch->last);
    cleanup_reply(&watch->live);
    for (size_t i = 0; i < watch->ear_count; i++)
        conn_free(watch->ears[i]);
    free(watch->ears);
    free(watch->slots);
    free(watch);
}

enum quern_next quern_watch_next(struct quern_watch *watch,
                                 struct quern_event *event, uint64_t timeout_ms,
                                 struct quern_error *error)
{
    watch->give_up_at = clock_after(timeout_ms);
    watch->event = event;
    machine_run(&watch->machine);
    if (watch->event)
        return watch->count > 0 ? QUERN_NOTHING : QUERN_END;
    if (watch->given == QUERN_BROKEN)
        handle_fail(error, &watch->fault);
    return watch->given;
}

const char *quern_watch_trouble(const struct quern_watch *watch)
{
    return watch->machine.state == AWAY && watch->err.kind != ERR_NONE
               ? watch->err.text
               : NULL;
}
