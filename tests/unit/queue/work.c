/* work.c - what is done with a job here: it is started, writes its journal and
 * some events, and ends, waits, or goes back; or it is stopped. As the attempt
 * of consumer/job does it, as far as the queue can see. */
#include <stdlib.h>
#include <string.h>

#include "schemas/message/result.h"
#include "schemas/service/alarm.h"
#include "tests/unit/queue/world.h"

/* Each start of each job, for ever: no two of them are alike. */
enum { MOST_STARTS = 64 };
static struct {
    uint64_t epochs[MOST_STARTS];
    size_t count;
} starts[MOST_JOBS];

void work_reset(void)
{
    memset(starts, 0, sizeof(starts));
}

/* The last two digits of an id say whose it is. */
size_t work_job(const char *id, size_t len)
{
    if (len != ID_LEN)
        return MOST_JOBS;
    char digits[3] = { id[ID_LEN - 2], id[ID_LEN - 1], '\0' };
    size_t job = strtoul(digits, NULL, 16);
    return job < world.job_count && memcmp(world.ids[job], id, len) == 0
               ? job
               : MOST_JOBS;
}

struct work *work_find(size_t job, uint64_t epoch)
{
    for (size_t i = 0; i < world.host_count; i++) {
        struct host *host = world.hosts[i];
        for (size_t slot = 0; host != NULL && slot < world.slots; slot++) {
            struct work *work = &host->works[slot];
            if (work->host != NULL && work->job == job && work->epoch == epoch)
                return work;
        }
    }
    return NULL;
}

static struct job_lease lease(const struct work *work)
{
    return (struct job_lease){ view_of(work->id), work->epoch };
}

/* --------------------------------------------------------------------- end */

static void end(struct work *work)
{
    struct host *host = work->host;
    watch_ended(work);
    if (world.trace)
        world_tell("  host %zu: job %zu leaves slot %zu", host->number,
                   work->job, work->slot);
    store_finish(&work->store);
    alarm_free(work->alarm);
    *work = (struct work){ 0 };
    host->consumer.slots[work - host->works] = NULL;
    host->consumer.running--;
    host->consumer.on_ended(&host->consumer);
}

static void lose(struct work *work)
{
    store_drop(&work->store);
    end(work);
}

static void on_left(void *owner, const redisReply *reply, const struct err *why)
{
    (void)reply;
    (void)why; /* refused: somebody else has it */
    end(owner);
}

/* ------------------------------------------------------------------ writes */

static void send_end(struct work *work, int state)
{
    struct finish finish = { .lease = lease(work),
                             .state = state,
                             .result = VIEW("result"),
                             .event_data = VIEW("data") };
    if (state == STATE_FAILED)
        finish.error_code = VIEW("internal");
    work->ending = true;
    work->end = state;
    alarm_stop(work->alarm);
    store_end(&work->store, &finish, on_left, work);
}

static void hand_back(struct work *work)
{
    struct command command;
    work->leaving = true;
    alarm_stop(work->alarm);
    transition_release(&command, &world.keys, lease(work), VIEW("released"));
    store_send(&work->store, &command, on_left, work);
    command_finish(&command);
}

static void park(struct work *work)
{
    struct wait wait = { .lease = lease(work),
                         .delay_ms = between(50, 6000),
                         .errors = 1,
                         .reason = VIEW("retry") };
    struct command command;
    work->leaving = true;
    alarm_stop(work->alarm);
    transition_wait(&command, &world.keys, &wait);
    store_send(&work->store, &command, on_left, work);
    command_finish(&command);
}

static void go_on(struct work *work);

/* Durable: a replica has it, or a later one of this job. */
static void check_durable(const struct work *work)
{
    const struct row *row = &redis.copy.rows[work->job];
    if (world.durability.kind == DURABLE_ASYNC)
        return;
    if (row->epoch < work->epoch ||
        (row->epoch == work->epoch && row->journal < work->records))
        broken("what counts as durable is", "job %zu: record %u of epoch %llu",
               work->job, work->records, (unsigned long long)work->epoch);
}

static void on_journaled(void *owner, const redisReply *reply,
                         const struct err *why)
{
    struct work *work = owner;
    work->writing = false;
    if (reply != NULL) {
        check_durable(work);
    } else if (strcmp(why->code, "misplaced") == 0 &&
               work->losses == redis.losses) {
        broken("writes come in order", "job %zu: %s", work->job, why->text);
    } else if (strcmp(why->code, "misplaced") != 0) {
        lose(work);
        return;
    } else if (!work->ending && !work->leaving) {
        send_end(work, STATE_FAILED);
        return;
    }
    if (!work->ending && !work->leaving)
        go_on(work);
}

static void on_told(void *owner, const redisReply *reply, const struct err *why)
{
    struct work *work = owner;
    (void)why;
    if (reply == NULL)
        lose(work);
}

static void write_record(struct work *work)
{
    char record[64];
    struct command command;
    snprintf(record, sizeof(record), "%llu %u", (unsigned long long)work->epoch,
             work->records);
    transition_journal(&command, &world.keys, lease(work), work->records++,
                       view_of(record), NULL, 0);
    work->writing = true;
    store_commit(&work->store, &command, on_journaled, work);
    command_finish(&command);
}

static void write_event(struct work *work)
{
    struct event_text text = { "message.delta", VIEW("data") };
    struct command command;
    transition_event(&command, &world.keys, lease(work), ++work->told, &text,
                     1);
    store_send(&work->store, &command, on_told, work);
    command_finish(&command);
}

/* ------------------------------------------------------------------- steps */

static void choose_end(struct work *work)
{
    uint64_t which = chance(100);
    if (work->cancelled)
        send_end(work, STATE_CANCELLED);
    else if (which < 8)
        park(work);
    else if (which < 12)
        hand_back(work);
    else
        send_end(work, which < 20 ? STATE_FAILED : STATE_COMPLETED);
}

static void go_on(struct work *work)
{
    if (work->cancelled || work->steps == 0)
        choose_end(work);
    else
        alarm_set(work->alarm, odds(85)   ? chance(900)
                               : odds(80) ? chance(7000)
                                          : chance(30000));
}

static void on_alarm(void *owner)
{
    struct work *work = owner;
    work->steps--;
    if (odds(60) && work->records < MOST_RECORDS) {
        write_record(work);
        return;
    }
    if (odds(70))
        write_event(work);
    go_on(work);
}

/* ---------------------------------------------------------- for the queue */

static void note_start(const struct work *work)
{
    size_t count = starts[work->job].count;
    for (size_t i = 0; i < count; i++)
        if (starts[work->job].epochs[i] == work->epoch)
            broken("no job runs twice in one epoch", "job %zu epoch %llu",
                   work->job, (unsigned long long)work->epoch);
    if (count < MOST_STARTS)
        starts[work->job].epochs[starts[work->job].count++] = work->epoch;
    world.starts++;
    watch_started(work);
}

static struct work *free_slot(struct host *host)
{
    for (size_t slot = 0; slot < world.slots; slot++)
        if (host->works[slot].host == NULL)
            return &host->works[slot];
    broken("never more than the slots", "host %zu has %zu jobs", host->number,
           host->consumer.running);
}

static void on_started(const struct partition *partition,
                       const struct take_reply *started)
{
    struct host *host = host_of(partition->consumer->loop);
    struct work *work = free_slot(host);
    *work = (struct work){
        .host = host,
        .partition = partition,
        .job = work_job(started->id.data, started->id.len),
        .slot = (size_t)(work - host->works),
        .epoch = started->epoch,
        .serial = ++host->next_serial,
        .records = (unsigned int)started->records,
        .steps = (unsigned int)chance(4),
        .losses = redis.losses,
        .since = world_now(),
    };
    snprintf(work->id, sizeof(work->id), "%.*s", VIEW_ARG(started->id));
    host->consumer.running++;
    host->consumer.slots[work->slot] = (struct attempt *)work;
    work->alarm = alarm_new(host->consumer.loop, on_alarm, work);
    store_init(&work->store, partition->control);
    if (world.trace)
        world_tell("  host %zu: job %zu epoch %llu starts in slot %zu",
                   host->number, work->job, (unsigned long long)work->epoch,
                   work->slot);
    note_start(work);
    if (started->cancel)
        send_end(work, STATE_CANCELLED);
    else if (!consumer_claims(&host->consumer))
        hand_back(work);
    else
        go_on(work);
}

static bool find(const struct partition *partition, size_t slot,
                 struct slot_job *job)
{
    const struct host *host = (const struct host *)partition->consumer;
    const struct work *work = &host->works[slot];
    if (work->host == NULL || work->partition != partition)
        return false;
    *job = (struct slot_job){ .id = work->id,
                              .log = { .job = work->id, .trace = "" },
                              .epoch = work->epoch,
                              .serial = work->serial,
                              .ends = work->ending || work->leaving };
    return true;
}

static struct work *at(struct consumer *consumer, size_t slot)
{
    struct work *work = &((struct host *)consumer)->works[slot];
    return work->host != NULL ? work : NULL;
}

static void on_lost(struct consumer *consumer, size_t slot)
{
    struct work *work = at(consumer, slot);
    if (work == NULL)
        return;
    const struct row *row = &redis.now.rows[work->job];
    if (!work->host->left && row->state == ROW_RUNNING &&
        row->epoch == work->epoch && work->losses == redis.losses)
        broken("only who has lost a job gives it up", "job %zu", work->job);
    lose(work);
}

static void on_cancel(struct consumer *consumer, size_t slot)
{
    struct work *work = at(consumer, slot);
    if (work == NULL || work->ending || work->leaving || work->cancelled)
        return;
    work->cancelled = true;
    if (!work->writing)
        send_end(work, STATE_CANCELLED);
}

static void on_release(struct consumer *consumer, size_t slot)
{
    struct work *work = at(consumer, slot);
    if (work != NULL && !work->ending && !work->leaving)
        hand_back(work);
}

static void print(const struct consumer *consumer, size_t slot)
{
    (void)consumer;
    (void)slot;
}

static void on_waits_read(struct consumer *consumer)
{
    (void)consumer;
}

const struct jobs world_jobs = {
    .on_started = on_started,
    .find = find,
    .on_lost = on_lost,
    .on_cancel = on_cancel,
    .on_release = on_release,
    .print = print,
    .on_waits_read = on_waits_read,
};
