/* upkeep.c - what each consumer does now and then, for all of them. */
#include "consumer/queue/upkeep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "consumer/numbers.h"
#include "consumer/queue/jobs.h"
#include "consumer/queue/lease.h"
#include "consumer/queue/store.h"
#include "schemas/message/cron.h"
#include "schemas/message/id.h"
#include "schemas/redis/clock.h"
#include "schemas/redis/upkeep.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"
#include "schemas/settings/tell.h"

enum {
    /* Of one step: Redis does nothing else while it carries it out. */
    STEP_JOBS = 100,
    STEP_KEYS = 200,
    STEP_ENTRIES = 100,
    PROMOTE_MS = 1000,
    MEND_STEP_MS = 50, /* between two steps of a walk */
    MAX_ENTRY = 64,
    MOST_SETTINGS_BYTES = 4096, /* MAX_FACT_BYTES of library/upkeep.lua */
};

struct chore {
    struct upkeep *upkeep;
    void (*begin)(struct chore *chore);
    uint64_t rest_ms;        /* from its end until it begins again */
    struct alarm *alarm;     /* set while it rests */
    struct chore_step *step; /* on its way; NULL: none */
};
typedef void chore_step_done(struct chore *chore, const redisReply *reply);

/* A command on its way. Its answer may come when nobody waits for it any more:
 * chore is NULL then. */
struct chore_step {
    struct chore *chore;
    chore_step_done *done;
};

/* A schedule that is due. */
struct firing {
    char name[MAX_NAME_BYTES + 1];
    char spec[MAX_CRON_BYTES + 1];
    char zone[MAX_ZONE_NAME + 1];
    uint64_t at; /* when it was due, ms since 1970 */
};

enum { REPORT, PROMOTE, LAPSE, SWEEP, MEND, CHORES };
struct upkeep {
    struct partition *partition;
    struct consumer *consumer;
    struct upkeep_events events;
    void *owner;
    uint64_t started_at; /* ms since 1970, of this host's clock */
    struct chore chores[CHORES];
    struct firing firings[PROMOTED_MAX_DUE]; /* of the last promote */
    size_t firing_count, firing_at;          /* the one that is next */
    uint64_t now; /* by Redis's clock, just before the first of them is fired */
    char cursor[32];     /* of the walk of mend; "0": begin and end */
    struct key *streams; /* that sweep walks */
    size_t stream_count, stream_at;
    char entry[MAX_ENTRY]; /* where it goes on in that one; "-": begin, end */
    bool reported;         /* and answered, at least once */
    bool changed;          /* since the report that is on its way */
    bool departed;         /* nothing is reported any more */
    void (*on_departed)(void *owner);
    void *departed_owner;
};

/* --- chores --------------------------------------------------------------- */

static void on_departed(struct chore *chore, const redisReply *reply);

/* Up to a quarter sooner, so that consumers do not come all at once. */
static void rest(struct chore *chore, uint64_t ms)
{
    alarm_set(chore->alarm, ms - ms / 4 * (uint64_t)(rand() % 256) / 256);
}

static void on_step(void *owner, const redisReply *reply, const struct err *why)
{
    CLEANUP(cleanup_free) struct chore_step *step = owner;
    struct chore *chore = step->chore;
    (void)why;
    if (!chore)
        return;
    chore->step = NULL;
    /* A consumer that leaves does not wait for Redis, and reports nothing more.
     */
    if (reply || step->done == on_departed)
        step->done(chore, reply);
    else
        rest(chore, chore->rest_ms);
}

static void send_step(struct chore *chore, struct command *command,
                      chore_step_done *done)
{
    struct chore_step *step = malloc(sizeof(*step));
    if (!step)
        abort();
    *step = (struct chore_step){ chore, done };
    if (control_send(chore->upkeep->partition->control, command, on_step,
                     step)) {
        chore->step = step;
    } else {
        free(step);
        rest(chore, chore->rest_ms);
    }
    command_finish(command);
}

static void refused(struct chore *chore, const struct err *err)
{
    log_line("upkeep.refused", "{s:s}", "why", err->text);
    rest(chore, chore->rest_ms);
}

/* --- report --------------------------------------------------------------- */

static void on_reported(struct chore *chore, const redisReply *reply)
{
    struct upkeep *upkeep = chore->upkeep;
    bool draining = false, first = !upkeep->reported;
    struct err err = { 0 };
    bool answered = transition_reported(reply, &draining, &err);
    /* A report that Redis refuses must not keep the consumer from working. */
    upkeep->reported = true;
    if (!answered)
        refused(chore, &err);
    else if (upkeep->changed)
        alarm_set(chore->alarm, 0);
    else
        rest(chore, chore->rest_ms);
    upkeep->changed = false;
    if (answered)
        upkeep->events.on_drain(upkeep->owner, draining);
    if (first)
        upkeep->events.on_known(upkeep->owner);
}

enum { MOST_JOBS = 100 }; /* that are named; all are counted */

/* The ids of the jobs of this partition that run, with spaces between them. */
static void list_jobs(const struct upkeep *upkeep, struct buf *ids)
{
    const struct consumer *consumer = upkeep->consumer;
    size_t count = 0;
    buf_init(ids, (size_t)MOST_JOBS * (ID_LEN + 1));
    for (size_t i = 0; i < consumer->settings.slots && count < MOST_JOBS; i++) {
        struct slot_job job;
        if (consumer->jobs->find(upkeep->partition, i, &job))
            buf_printf(ids, "%s%s", count++ > 0 ? " " : "", job.id);
    }
}

struct executor_report {
    struct view path, word, text;
    char since[24]; /* ms since 1970; "0": it is there, or there is none */
};

static void tell_executor(const struct consumer *consumer,
                          struct executor_report *told)
{
    struct executor_absence absence = { .word = "", .text = "" };
    executor_is_away(consumer->executor, &absence);
    told->path = view_of(consumer->settings.executor);
    told->word = view_of(absence.word);
    told->text = view_of(absence.text);
    snprintf(told->since, sizeof(told->since), "%" PRIu64, absence.since_ms);
}

static void on_departed(struct chore *chore, const redisReply *reply)
{
    struct upkeep *upkeep = chore->upkeep;
    (void)reply;
    upkeep->on_departed(upkeep->departed_owner);
}

/* A report that is on its way comes to Redis before this, so it cannot put the
 * consumer back on the list; its answer is of no use any more. */
bool upkeep_depart(struct upkeep *upkeep, void (*done)(void *owner),
                   void *owner)
{
    struct chore *chore = &upkeep->chores[REPORT];
    struct command command;
    if (chore->step)
        chore->step->chore = NULL;
    chore->step = NULL;
    upkeep->departed = true;
    upkeep->on_departed = done;
    upkeep->departed_owner = owner;
    transition_depart(&command, &upkeep->consumer->names,
                      upkeep->partition->number,
                      view_of(upkeep->consumer->name));
    send_step(chore, &command, on_departed);
    alarm_stop(chore->alarm);
    return chore->step;
}

static uint64_t report_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void chore_report(struct chore *chore)
{
    static const char *const modes[] = { "serving", "quiet", "draining" };
    const struct upkeep *upkeep = chore->upkeep;
    const struct consumer *consumer = upkeep->consumer;
    const struct consumer_settings *settings = &consumer->settings;
    char host[65] = "", numbers[7][24];
    const uint64_t values[] = { (uint64_t)getpid(), settings->slots,
                                consumer->running,  upkeep->started_at,
                                report_clock_ms(),  settings->drain_ms,
                                settings->grace_ms };
    for (int i = 0; i < 7; i++)
        snprintf(numbers[i], sizeof(numbers[i]), "%" PRIu64, values[i]);
    struct executor_report executor;
    CLEANUP(buf_finish) struct buf jobs, shared;
    buf_init(&shared, MOST_SETTINGS_BYTES);
    setting_tell(&settings_table, settings, &shared);
    tell_executor(consumer, &executor);
    list_jobs(upkeep, &jobs);
    CLEANUP(cleanup_free) char *models = endpoints_names(&consumer->endpoints);
    gethostname(host, sizeof(host) - 1);
    const struct report_field about[] = {
        { "host", view_of(host) },
        { "pid", view_of(numbers[0]) },
        { "slots", view_of(numbers[1]) },
        { "running", view_of(numbers[2]) },
        { "started_at", view_of(numbers[3]) },
        { "version", view_of(QUERN_VERSION) },
        { "mode", view_of(modes[consumer->mode]) },
        { "queues", view_of(settings->queues) },
        { "jobs", buf_view(&jobs) },
        { "models", view_of(models ? models : "[]") },
        { "executor", executor.path },
        { "executor_away_since", view_of(executor.since) },
        { "executor_away", executor.word },
        { "executor_reason", executor.text },
        { "clock", view_of(numbers[4]) },
        { "drain", view_of(numbers[5]) },
        { "grace", view_of(numbers[6]) },
        { "settings", buf_view(&shared) },
    };
    struct command command;
    transition_report(&command, &consumer->names, upkeep->partition->number,
                      view_of(consumer->name), settings->lease_ms, about,
                      sizeof(about) / sizeof(about[0]));
    send_step(chore, &command, on_reported);
}

/* --- promote, and schedules that are due ---------------------------------- */

static void promote(struct chore *chore);
static void fire_next(struct chore *chore);

/* When the schedule is due next, ms since 1970. 0: never again, or the time
 * cannot be computed. Times that were missed are left out. */
static uint64_t next_time(const struct firing *firing, uint64_t now)
{
    struct err err = { 0 };
    struct zone *zone = zone_open(view_of(firing->zone), &err);
    struct cron cron;
    uint64_t next = 0;
    if (zone && cron_parse(&cron, view_of(firing->spec), &err))
        next = cron_next(&cron, zone, now > firing->at ? now : firing->at);
    else
        log_line("schedule.broken", "{s:s, s:s}", "schedule", firing->name,
                 "why", err.text);
    zone_free(zone);
    return next;
}

static void on_fired(struct chore *chore, const redisReply *reply)
{
    struct upkeep *upkeep = chore->upkeep;
    const struct firing *firing = &upkeep->firings[upkeep->firing_at];
    enum fire_outcome fired;
    struct view what;
    struct err err;
    if (!transition_fired(reply, &fired, &what, &err)) {
        refused(chore, &err);
        return;
    }
    if (fired != FIRE_LATE) /* late: somebody has fired or changed it */
        log_line(fired == FIRE_DONE ? "schedule.fired" : "schedule.refused",
                 "{s:s, s:s%}", "schedule", firing->name,
                 fired == FIRE_DONE ? "job" : "why", what.data, what.len);
    upkeep->firing_at++;
    fire_next(chore);
}

/* Fires one after the other; then promotes again, for more may be due. */
static void fire_next(struct chore *chore)
{
    struct upkeep *upkeep = chore->upkeep;
    const struct firing *firing = &upkeep->firings[upkeep->firing_at];
    unsigned char chance[8];
    struct command command;
    struct id id;
    if (upkeep->firing_at == upkeep->firing_count) {
        promote(chore);
        return;
    }
    if (getrandom(chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
        abort();
    id = id_make(upkeep->now, upkeep->partition->number, chance);
    const struct fire fire = {
        .name = view_of(firing->name),
        .at = firing->at,
        .next_at = next_time(firing, upkeep->now),
        .id = view_of(id.text),
    };
    transition_fire(&command, &upkeep->consumer->names,
                    upkeep->partition->number, &fire);
    send_step(chore, &command, on_fired);
}

static void on_time(struct chore *chore, const redisReply *reply)
{
    if (clock_read(reply, &chore->upkeep->now))
        fire_next(chore);
    else
        rest(chore, chore->rest_ms);
}

static void upkeep_copy(char *text, size_t size, struct view view)
{
    snprintf(text, size, "%.*s", VIEW_ARG(view_head(view, size - 1)));
}

/* Asks Redis for the time first: hosts whose clocks differ must compute the
 * same next time. */
static void fire_due(struct chore *chore, const struct due_schedule *due,
                     size_t count)
{
    struct upkeep *upkeep = chore->upkeep;
    struct command command;
    for (size_t i = 0; i < count; i++) {
        struct firing *firing = &upkeep->firings[i];
        upkeep_copy(firing->name, sizeof(firing->name), due[i].name);
        upkeep_copy(firing->spec, sizeof(firing->spec), due[i].spec);
        upkeep_copy(firing->zone, sizeof(firing->zone), due[i].zone);
        firing->at = due[i].at;
    }
    upkeep->firing_count = count;
    upkeep->firing_at = 0;
    clock_ask(&command);
    send_step(chore, &command, on_time);
}

static void on_promoted(struct chore *chore, const redisReply *reply)
{
    struct due_schedule due[PROMOTED_MAX_DUE];
    struct promote_reply promoted;
    struct err err;
    if (!transition_promoted(reply, &promoted, due, &err)) {
        refused(chore, &err);
        return;
    }
    if (promoted.mend)
        upkeep_mend(chore->upkeep);
    if (promoted.due_count > 0)
        fire_due(chore, due, promoted.due_count);
    else if (promoted.moved > 0)
        promote(chore);
    else if (promoted.more && promoted.wait_ms < PROMOTE_MS)
        alarm_set(chore->alarm, promoted.wait_ms + 1); /* rounded up */
    else
        rest(chore, chore->rest_ms);
}

static void promote(struct chore *chore)
{
    const struct upkeep *upkeep = chore->upkeep;
    struct command command;
    transition_promote(&command, &upkeep->consumer->names,
                       upkeep->partition->number, STEP_JOBS);
    send_step(chore, &command, on_promoted);
}

/* --- lapse, sweep, mend --------------------------------------------------- */

static void lapse(struct chore *chore);

static void on_lapsed(struct chore *chore, const redisReply *reply)
{
    uint64_t jobs = 0;
    bool more = false;
    struct err err;
    if (!transition_lapsed(reply, &jobs, &more, &err)) {
        refused(chore, &err);
        return;
    }
    if (jobs > 0)
        log_line("lapse.found", "{s:I}", "jobs", (json_int_t)jobs);
    metric_add(NUMBER_JOBS_RECLAIMED, (double)jobs, LABELS(VIEW("lapsed")));
    if (more)
        lapse(chore);
    else
        rest(chore, chore->rest_ms);
}

static void lapse(struct chore *chore)
{
    const struct upkeep *upkeep = chore->upkeep;
    const struct consumer *consumer = upkeep->consumer;
    struct command command;
    transition_lapse(&command, &consumer->names, upkeep->partition->number,
                     consumer->settings.max_crashes, STEP_JOBS);
    send_step(chore, &command, on_lapsed);
}

/* Our own leases are renewed first, on the same connection: after the process
 * stood still they may be over, and this would put back the jobs that run here.
 */
static void begin_lapse(struct chore *chore)
{
    lease_beat(chore->upkeep->partition->lease);
    lapse(chore);
}

static void chore_sweep(struct chore *chore);

static void on_swept(struct chore *chore, const redisReply *reply)
{
    struct upkeep *upkeep = chore->upkeep;
    struct view cursor;
    uint64_t jobs = 0;
    struct err err;
    if (!transition_reclaimed(reply, &cursor, &jobs, &err)) {
        refused(chore, &err);
        return;
    }
    if (jobs > 0)
        log_line("sweep.found", "{s:s%, s:I}", "stream",
                 upkeep->streams[upkeep->stream_at].text,
                 upkeep->streams[upkeep->stream_at].len, "jobs",
                 (json_int_t)jobs);
    metric_add(NUMBER_JOBS_RECLAIMED, (double)jobs, LABELS(VIEW("unstarted")));
    upkeep_copy(upkeep->entry, sizeof(upkeep->entry), cursor);
    if (view_is(cursor, "-") && ++upkeep->stream_at == upkeep->stream_count) {
        upkeep->stream_at = 0;
        rest(chore, chore->rest_ms);
        return;
    }
    chore_sweep(chore);
}

/* Each step goes on where the last one ended: if every step began at the start,
 * the walk might never reach the last entries. */
static void chore_sweep(struct chore *chore)
{
    const struct upkeep *upkeep = chore->upkeep;
    const struct consumer *consumer = upkeep->consumer;
    struct command command;
    struct reclaim reclaim = {
        .stream = key_view(&upkeep->streams[upkeep->stream_at]),
        .lease_ms = consumer->settings.lease_ms,
        .count = STEP_ENTRIES,
        .cursor = view_of(upkeep->entry),
    };
    transition_reclaim(&command, &consumer->names, upkeep->partition->number,
                       &reclaim);
    send_step(chore, &command, on_swept);
}

/* Here, too: what follows can take a while. */
static void begin_sweep(struct chore *chore)
{
    lease_beat(chore->upkeep->partition->lease);
    chore_sweep(chore);
}

static void on_mended(struct chore *chore, const redisReply *reply)
{
    struct upkeep *upkeep = chore->upkeep;
    struct view cursor;
    uint64_t mended = 0;
    struct err err;
    if (!transition_mended(reply, &cursor, &mended, &err)) {
        refused(chore, &err);
        return;
    }
    if (mended > 0)
        log_line("mend.found", "{s:I}", "keys", (json_int_t)mended);
    metric_add(NUMBER_JOBS_RECLAIMED, (double)mended, LABELS(VIEW("mended")));
    upkeep_copy(upkeep->cursor, sizeof(upkeep->cursor), cursor);
    if (!view_is(cursor, "0"))
        rest(chore, MEND_STEP_MS);
}

static void mend(struct chore *chore)
{
    const struct upkeep *upkeep = chore->upkeep;
    struct command command;
    transition_mend(&command, &upkeep->consumer->names,
                    upkeep->partition->number, STEP_KEYS,
                    view_of(upkeep->cursor));
    send_step(chore, &command, on_mended);
}

/* A walk that is going on is given up: it may have passed what is gone. */
void upkeep_mend(struct upkeep *upkeep)
{
    struct chore *chore = &upkeep->chores[MEND];
    if (chore->step)
        chore->step->chore = NULL;
    chore->step = NULL;
    upkeep_copy(upkeep->cursor, sizeof(upkeep->cursor), view_of("0"));
    alarm_set(chore->alarm, 0);
}

/* --- life ----------------------------------------------------------------- */

static void on_alarm(void *owner)
{
    struct chore *chore = owner;
    chore->begin(chore);
}

struct upkeep *upkeep_new(struct partition *partition,
                          struct upkeep_events events, void *owner)
{
    struct consumer *consumer = partition->consumer;
    uint64_t lease_ms = consumer->settings.lease_ms;
    const struct {
        void (*begin)(struct chore *chore);
        uint64_t rest_ms;
    } all[] = {
        [REPORT] = { chore_report, lease_ms / 3 },
        [PROMOTE] = { promote, PROMOTE_MS },
        [LAPSE] = { begin_lapse, lease_ms / 2 },
        [SWEEP] = { begin_sweep, lease_ms / 2 },
        [MEND] = { mend, PROMOTE_MS },
    };
    struct upkeep *upkeep = calloc(1, sizeof(*upkeep));
    struct timespec now;
    if (!upkeep)
        abort();
    clock_gettime(CLOCK_REALTIME, &now);
    upkeep->partition = partition;
    upkeep->consumer = consumer;
    upkeep->events = events;
    upkeep->owner = owner;
    upkeep->started_at =
        (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    upkeep->streams =
        consumer_streams(consumer, partition->number, &upkeep->stream_count);
    upkeep_copy(upkeep->entry, sizeof(upkeep->entry), VIEW("-"));
    for (int i = 0; i < CHORES; i++)
        upkeep->chores[i] = (struct chore){
            .upkeep = upkeep,
            .begin = all[i].begin,
            .rest_ms = all[i].rest_ms,
            .alarm = alarm_new(consumer->loop, on_alarm, &upkeep->chores[i]),
        };
    return upkeep;
}

/* A report that is on its way does not have the change: on_reported() sends
 * another one. */
void upkeep_report(struct upkeep *upkeep)
{
    struct chore *chore = &upkeep->chores[REPORT];
    if (upkeep->departed)
        return;
    upkeep->changed = chore->step != NULL;
    if (!chore->step && upkeep->reported)
        alarm_set(chore->alarm, 0);
}

bool upkeep_has_reported(const struct upkeep *upkeep)
{
    return upkeep->reported;
}

/* The report is sent at once, the other chores rest first. No lease is ended
 * before a whole lease has passed, so that other consumers that were cut off as
 * well can beat, and start what they have read. */
void upkeep_wake(struct upkeep *upkeep)
{
    const uint64_t lease_ms = upkeep->consumer->settings.lease_ms;
    const uint64_t first[] = {
        [REPORT] = 0,
        [PROMOTE] = PROMOTE_MS,
        [LAPSE] = lease_ms,
        [SWEEP] = lease_ms,
    };
    for (int i = upkeep->departed ? PROMOTE : REPORT; i < MEND; i++)
        if (!upkeep->chores[i].step)
            alarm_set(upkeep->chores[i].alarm, first[i]);
}

void upkeep_free(struct upkeep *upkeep)
{
    if (!upkeep)
        return;
    for (int i = 0; i < CHORES; i++) {
        if (upkeep->chores[i].step)
            upkeep->chores[i].step->chore = NULL;
        alarm_free(upkeep->chores[i].alarm);
    }
    free(upkeep->streams);
    free(upkeep);
}
