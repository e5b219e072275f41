/* intake.c - takes jobs out of the queues. */
#include "consumer/queue/intake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "consumer/numbers.h"
#include "consumer/queue/jobs.h"
#include "consumer/queue/store.h"
#include "schemas/redis/backoff.h"
#include "schemas/redis/link.h"
#include "schemas/redis/reply.h"
#include "schemas/redis/stream.h"
#include "schemas/redis/transition.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

enum {
    BLOCK_MS = 2000,       /* what a read lets Redis wait for entries */
    SCARCE_BLOCK_MS = 100, /* the same while other partitions need its slot */
    MARGIN_MS = 5000,      /* how much later a server may answer */
    MAX_ENTRY_ID = 48,
    MOST = 32, /* jobs of one take: Redis serves nobody else meanwhile */
};

/* An entry that a blocking read has brought. XREADGROUP counts per stream, so
 * there may be one of each. The job in it is not started and has no lease yet;
 * if this consumer is too slow, the sweep of another one puts it back. */
struct arrival {
    size_t stream; /* index in streams */
    char entry[MAX_ENTRY_ID];
};

/* A take that has no answer yet. */
struct pending_take {
    uint64_t ticket; /* by which Redis knows it again; 0: there is no take */
    size_t count;    /* of jobs, at most: so many slots are kept for them */
    size_t arrivals; /* the first so many arrivals are named in it */
};

/* What Redis may refuse for good: the login, take, the blocking read. */
enum intake_request { WANTED_LINK = 1, WANTED_JOBS = 2, WANTED_ENTRIES = 4 };

struct intake {
    struct partition *partition; /* NULL: freed, its link not yet */
    struct consumer *consumer;
    struct intake_events events;
    void *owner;
    struct link *link;
    /* While the link is ready: the end of healing. While it is not: the end of
     * the leases of what a lost take may have started. */
    struct alarm *alarm;
    struct key *streams; /* the most urgent first */
    size_t count;        /* of streams */
    struct view *queues;
    size_t queue_count;
    bool asked;     /* a take, read or making of groups is on its way */
    bool empty;     /* the last take found less than it could have had: block */
    size_t offered; /* slots, until on_round() */
    uint64_t client; /* the id of our connection in Redis; 0: not known yet */
    bool healing;    /* the alarm is set: nothing is sent before it rings */
    size_t groups;   /* still to be made */
    unsigned int take_heals;      /* takes that failed in a row */
    unsigned int read_heals;      /* reads, which may fail where takes do not */
    uint64_t rounds, rounds_seen; /* answers; as intake_is_well() saw them */
    unsigned
        refused; /* of enum intake_request; until Redis does not refuse it */
    uint64_t tickets; /* the last one */
    struct pending_take pending;
    struct arrival *arrivals; /* at most one of each stream */
    size_t arrival_count;
};

static bool may_claim(const struct intake *intake)
{
    return consumer_claims(intake->consumer);
}

/* The slots that were offered have jobs now, or are free for other partitions.
 * Nothing else is asked of Redis before this. */
static void end_round(struct intake *intake)
{
    size_t offered = intake->offered;
    intake->asked = false;
    intake->offered = 0;
    if (intake->partition)
        intake->events.on_round(intake->owner, offered);
}

static void send_take(struct intake *intake);

static void set_refused(struct intake *intake, enum intake_request what,
                        bool refused)
{
    intake->refused &= ~(unsigned)what;
    if (refused)
        intake->refused |= what;
}

/* --------------------------------------------------------------- healing */

/* The group of a stream may be missing, or Redis be full or loading: makes the
 * groups after a wait that grows, then goes on. */
static void heal_later(struct intake *intake, unsigned int *heals,
                       const char *why)
{
    uint64_t ms = backoff_ms((*heals)++);
    log_line("claim.not_now", "{s:s, s:I}", "why", why, "again_ms",
             (json_int_t)ms);
    intake->healing = true;
    alarm_set(intake->alarm, ms);
}

static void on_group(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct intake *intake = owner;
    (void)why;
    /* BUSYGROUP says that the group is there. Any other error comes again with
     * the next take or read, which heals anew. */
    if (!reply || intake->groups == 0)
        return;
    if (reply->type == REDIS_REPLY_STATUS && intake->partition)
        intake->events.on_made(intake->owner);
    if (--intake->groups > 0)
        return;
    if (intake->pending.ticket != 0)
        send_take(intake);
    else
        end_round(intake);
}

static void make_groups(struct intake *intake)
{
    intake->groups = intake->count;
    intake->asked = true;
    for (size_t i = 0; i < intake->count; i++) {
        struct command command;
        stream_make_group(&command, &intake->streams[i]);
        if (!link_send(intake->link, &command, MARGIN_MS, on_group, intake))
            intake->asked = false;
        command_finish(&command);
    }
}

/* Proof that jobs would come: Redis has answered a take or read. */
static void note_take(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    metric_set(NUMBER_LAST_TAKE, (double)now.tv_sec + (double)now.tv_nsec / 1e9,
               NO_LABELS);
}

/* ---------------------------------------------------------------- taking */

/* The first count of them were named in a take that Redis has answered. */
static void forget_arrivals(struct intake *intake, size_t count)
{
    intake->arrival_count -= count;
    memmove(intake->arrivals, intake->arrivals + count,
            intake->arrival_count * sizeof(struct arrival));
}

/* The take is over, and no slots are kept for it. */
static void end_take(struct intake *intake)
{
    intake->consumer->coming -= intake->pending.count;
    forget_arrivals(intake, intake->pending.arrivals);
    intake->pending = (struct pending_take){ 0 };
}

/* Returns how many jobs it brought. */
static size_t take_jobs(struct intake *intake, const redisReply *reply,
                        size_t count)
{
    size_t jobs = 0;
    for (size_t i = 0; i < count; i++) {
        struct take_reply start;
        struct err err;
        bool told = transition_take_reply(reply->element[i], &start, &err);
        if (told && start.run) {
            intake->consumer->jobs->on_started(intake->partition, &start);
            jobs++;
        } else {
            log_line("entry.dropped", "{s:s%}", "why",
                     told ? start.reason.data : err.text,
                     told ? start.reason.len : strlen(err.text));
        }
    }
    return jobs;
}

static void on_taken(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct intake *intake = owner;
    size_t wanted = intake->pending.count;
    size_t count;
    struct err err;
    (void)why;
    intake->rounds += reply != NULL;
    if (!reply || !intake->partition) {
        /* The take stays pending: Redis may have started its jobs. */
        intake->asked = false;
        return; /* it is sent again when the link is back */
    }
    if (!transition_taken(reply, &count, &err)) {
        set_refused(intake, WANTED_JOBS, err.kind == ERR_REJECT);
        heal_later(intake, &intake->take_heals, err.text);
        if (err.kind != ERR_REJECT) {
            intake->asked = false;
            return; /* it is sent again when the groups are made */
        }
        end_take(intake);
    } else {
        intake->take_heals = 0;
        note_take();
        set_refused(intake, WANTED_JOBS, false);
        if (count > 0) /* jobs come although Redis refuses the read */
            set_refused(intake, WANTED_ENTRIES, false);
        intake->empty = take_jobs(intake, reply, count) < wanted;
        end_take(intake);
    }
    end_round(intake);
}

/* Sends the pending take, also for a second time when the answer was lost. */
static void send_take(struct intake *intake)
{
    const struct consumer *consumer = intake->consumer;
    const struct pending_take *pending = &intake->pending;
    struct stream_entry entries[(size_t)CONSUMER_MAX_QUEUES * 3];
    for (size_t i = 0; i < pending->arrivals; i++)
        entries[i] = (struct stream_entry){
            .stream = key_view(&intake->streams[intake->arrivals[i].stream]),
            .entry = view_of(intake->arrivals[i].entry),
        };
    struct take take = {
        .consumer = view_of(consumer->name),
        .lease_ms = consumer->settings.lease_ms,
        .max_crashes = consumer->settings.max_crashes,
        .count = pending->count,
        .ticket = pending->ticket,
        .entries = entries,
        .entry_count = pending->arrivals,
        .queues = intake->queues,
        /* A consumer that claims no more still starts the entries that it has
         * read, to hand their jobs back; but it names no queues to take from.
         */
        .queue_count = may_claim(intake) ? intake->queue_count : 0,
    };
    struct command command;
    transition_take(&command, &consumer->names, intake->partition->number,
                    &take);
    intake->asked =
        link_send(intake->link, &command, MARGIN_MS, on_taken, intake);
    command_finish(&command);
}

/* Begins a take. Returns how many slots it keeps. */
static size_t ask_for_jobs(struct intake *intake, size_t room)
{
    struct pending_take *pending = &intake->pending;
    size_t arrivals = intake->arrival_count;
    size_t most = may_claim(intake) ? MOST : arrivals;
    pending->ticket = ++intake->tickets;
    pending->count = room < most ? room : most;
    pending->arrivals = arrivals < pending->count ? arrivals : pending->count;
    intake->consumer->coming += pending->count;
    send_take(intake);
    return pending->count;
}

/* --------------------------------------------------------------- waiting */

static size_t find_stream(const struct intake *intake, const redisReply *name)
{
    struct view key = { name->str, name->len };
    size_t at = 0;
    while (at < intake->count &&
           !view_equal(key_view(&intake->streams[at]), key))
        at++;
    return at;
}

/* The answer to XREADGROUP: [[stream, [[entry, fields], ...]], ...] */
static void keep_arrivals(struct intake *intake, const redisReply *reply)
{
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *pair = reply->element[i];
        if (pair->type != REDIS_REPLY_ARRAY || pair->elements != 2 ||
            pair->element[1]->type != REDIS_REPLY_ARRAY)
            continue;
        size_t stream = find_stream(intake, pair->element[0]);
        const redisReply *entries = pair->element[1];
        for (size_t j = 0; j < entries->elements; j++) {
            const redisReply *entry = entries->element[j];
            if (stream == intake->count ||
                intake->arrival_count == intake->count || entry->elements < 1 ||
                entry->element[0]->type != REDIS_REPLY_STRING)
                continue;
            struct arrival *arrival =
                &intake->arrivals[intake->arrival_count++];
            arrival->stream = stream;
            snprintf(arrival->entry, sizeof(arrival->entry), "%s",
                     entry->element[0]->str);
        }
    }
}

static void on_entries(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct intake *intake = owner;
    struct err err;
    (void)why; /* reply NULL: on_ready() begins anew */
    intake->rounds += reply != NULL;
    intake->empty = false;
    if (reply && !reply_ok(reply, &err)) {
        set_refused(intake, WANTED_ENTRIES, err.kind == ERR_REJECT);
        heal_later(intake, &intake->read_heals, reply->str);
    } else if (reply) {
        intake->read_heals = 0;
        note_take();
        set_refused(intake, WANTED_ENTRIES, false);
        if (reply->type == REDIS_REPLY_ARRAY)
            keep_arrivals(intake, reply);
    }
    end_round(intake);
}

static bool wait_for_entries(struct intake *intake, uint64_t block_ms)
{
    struct command command;
    stream_wait(&command, intake->consumer->name, intake->streams,
                intake->count, block_ms);
    bool sent = link_send(intake->link, &command, block_ms + MARGIN_MS,
                          on_entries, intake);
    command_finish(&command);
    return sent;
}

/* Also while the consumer claims no more, if there are entries that it has
 * read: they are started, and their attempts hand the jobs back at once. Left
 * alone they would come back only by a sweep. */
bool intake_can_take(const struct intake *intake)
{
    return !intake->asked && !intake->healing && intake->pending.ticket == 0 &&
           (may_claim(intake) || intake->arrival_count > 0) &&
           link_is_ready(intake->link) &&
           control_is_ready(intake->partition->control);
}

size_t intake_offer(struct intake *intake, size_t slots, bool scarce)
{
    if (intake->arrival_count > 0 || !intake->empty) {
        intake->offered = ask_for_jobs(intake, slots);
    } else {
        intake->asked =
            wait_for_entries(intake, scarce ? SCARCE_BLOCK_MS : BLOCK_MS);
        intake->offered = intake->asked; /* one slot: others may use the rest */
    }
    return intake->offered;
}

bool intake_is_over(const struct intake *intake)
{
    return !link_is_ready(intake->link) ||
           (!intake->asked && intake->arrival_count == 0);
}

bool intake_is_well(struct intake *intake)
{
    bool went_round = intake->rounds != intake->rounds_seen;
    intake->rounds_seen = intake->rounds;
    return intake->refused == 0 &&
           (went_round || !intake->asked || !link_is_ready(intake->link));
}

bool intake_serves(const struct intake *intake, struct err *err)
{
    unsigned int number = intake->partition->number;
    if (!link_is_ready(intake->link))
        return err_set(err, ERR_RETRY, "redis_unavailable",
                       "no connection to Redis to take jobs of partition %u by",
                       number);
    if (intake->refused != 0)
        return err_set(err, ERR_REJECT, "redis_refused",
                       "Redis refuses to give jobs of partition %u", number);
    return !intake->healing ||
           err_set(err, ERR_RETRY, "redis_unavailable",
                   "Redis could not give jobs of partition %u just now; the "
                   "consumer asks again soon",
                   number);
}

/* ------------------------------------------------------------------ life */

void intake_stop(struct intake *intake)
{
    struct command command;
    if (!intake->asked || intake->client == 0)
        return;
    /* Through the control link, because our own is blocked. Without this, a job
     * that is handed back now could come in again by the read that waits. */
    stream_unblock(&command, intake->client);
    control_send(intake->partition->control, &command, NULL, NULL);
    command_finish(&command);
}

static void on_alarm(void *owner)
{
    struct intake *intake = owner;
    intake->healing = false;
    if (link_is_ready(intake->link)) {
        make_groups(intake);
    } else if (intake->pending.ticket != 0) {
        /* Set by on_lost(): the leases of what the take has started are over.
         */
        end_take(intake);
        end_round(intake);
    }
}

static void on_client(void *owner, const redisReply *reply,
                      const struct err *why)
{
    struct intake *intake = owner;
    (void)why;
    if (reply && reply->type == REDIS_REPLY_INTEGER)
        intake->client = (uint64_t)reply->integer;
}

static void ask_client(struct intake *intake)
{
    struct command command;
    intake->client = 0;
    stream_ask_client(&command);
    link_send(intake->link, &command, MARGIN_MS, on_client, intake);
    command_finish(&command);
}

static void on_ready(void *owner)
{
    struct intake *intake = owner;
    intake->empty = intake->healing = false;
    set_refused(intake, WANTED_LINK, false);
    alarm_stop(intake->alarm);
    ask_client(intake);
    make_groups(intake);
}

static void on_lost(void *owner, const struct err *why)
{
    struct intake *intake = owner;
    intake->asked = intake->healing = false;
    intake->groups = 0;
    intake->refused = 0; /* by a connection that is gone */
    set_refused(intake, WANTED_LINK, strcmp(why->code, "redis_refused") == 0);
    /* If the link is not back by then, the leases of jobs that a lost take has
     * started are over, and no slots need be kept for them. */
    alarm_set(intake->alarm, intake->consumer->settings.lease_ms);
    log_line("claim.lost", "{s:s}", "why", why->text);
}

struct intake *intake_new(struct partition *partition,
                          const struct address *address,
                          struct intake_events events, void *owner)
{
    struct consumer *consumer = partition->consumer;
    struct intake *intake = calloc(1, sizeof(*intake));
    if (!intake)
        abort();
    intake->partition = partition;
    intake->consumer = consumer;
    intake->events = events;
    intake->owner = owner;
    intake->streams =
        consumer_streams(consumer, partition->number, &intake->count);
    intake->queues = consumer_queues(consumer, &intake->queue_count);
    intake->arrivals = calloc(intake->count, sizeof(struct arrival));
    if (!intake->arrivals)
        abort();
    /* A random beginning: an earlier consumer of our name may have used small
     * numbers, and Redis would answer its jobs. */
    if (getrandom(&intake->tickets, sizeof(uint32_t), 0) < 0)
        abort();
    intake->alarm = alarm_new(consumer->loop, on_alarm, intake);
    struct link_events heard = { .on_ready = on_ready, .on_lost = on_lost };
    intake->link = link_new(consumer->loop, address,
                            names_slot(&consumer->names, partition->number),
                            "consumer-claim", heard, intake);
    return intake;
}

void intake_open(struct intake *intake)
{
    link_open(intake->link);
}

void intake_switch(struct intake *intake, const struct node *master)
{
    link_switch(intake->link, master);
}

static void on_closed(void *owner)
{
    struct intake *intake = owner;
    free(intake->streams);
    free(intake->queues);
    free(intake->arrivals);
    free(intake);
}

void intake_free(struct intake *intake)
{
    if (!intake)
        return;
    alarm_free(intake->alarm);
    intake->alarm = NULL;
    intake->partition = NULL;
    link_free(intake->link, on_closed, intake);
}
