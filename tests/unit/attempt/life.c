/* life.c - one seed: a job is made up, started, disturbed, judged. */
#include "tests/unit/attempt/life.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/journal.h"
#include "schemas/message/limits.h"
#include "tests/unit/attempt/boxes.h"
#include "tests/unit/attempt/judge.h"
#include "tests/unit/attempt/ports.h"
#include "tests/unit/attempt/server.h"
#include "tests/unit/attempt/store.h"

enum {
    MOST_PLANS = 6,
    MOST_LETTERS = 20000,
    MOST_SERVED = 256,
    SOON_US = 20 * 1000 * 1000,
    CANCEL_MS = 150 * 1000,
    SETTLE_LETTERS = 4000,
};

enum disturbance {
    KILL,
    LOSE_LEASE,
    BREAK_REDIS,
    FILL_REDIS,
    BREAK_EXECUTOR,
    KILL_EXECUTOR,
    CANCEL,
    DRAIN,
    UPSET_MODEL,
    TEACH_MODEL,
    DISTURBANCES,
};

struct plan {
    uint64_t at; /* letters */
    enum disturbance what;
    bool done;
};

struct served_tool {
    uint64_t value;
    char word[32], hash[65];
};

static struct {
    struct job job;
    struct plan plans[MOST_PLANS];
    size_t plan_count;
    uint64_t disturbed_ms; /* when it was last */
    bool lost[HOSTS];      /* it has an attempt that was superseded */
    bool over;
    size_t timers; /* of the world: nobody's work */
    struct letter *take, *wake, *person, *lapse, *late, *full;
    struct letter *opens[HOSTS];
    struct served_tool served[MOST_SERVED];
    size_t served_count;
    uint64_t max_turns;
} life;

struct tally tally;

bool life_is_conversation(void)
{
    return life.job.kind == JOB_CONVERSATION;
}

bool life_has_function(void)
{
    return life.job.functions.count > 0;
}

bool life_is_codeact(void)
{
    return life.job.mode == MODE_CODEACT;
}

uint64_t life_max_turns(void)
{
    return life.max_turns;
}

bool life_was_lost(int host)
{
    return life.lost[host];
}

void life_tool_served(uint64_t value, const char *word, const char *hash)
{
    demand(life.served_count < MOST_SERVED, "bounded", "calls of tools");
    struct served_tool *served = &life.served[life.served_count++];
    served->value = value;
    snprintf(served->word, sizeof(served->word), "%s", word);
    snprintf(served->hash, sizeof(served->hash), "%s", hash);
}

bool life_tool_answer(uint64_t value, const char *word, const char *hash)
{
    for (size_t i = 0; i < life.served_count; i++)
        if (life.served[i].value == value &&
            (strcmp(life.served[i].word, word) == 0 ||
             strcmp(life.served[i].hash, hash) == 0))
            return true;
    return false;
}

/* ----------------------------------------------------------------- the job */

static void name_blob(struct view bytes, char name[65])
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    EVP_Digest(bytes.data, bytes.len, hash, NULL, EVP_sha256(), NULL);
    for (size_t i = 0; i < 32; i++)
        snprintf(name + 2 * i, 3, "%02x", hash[i]);
}

/* What its lists are made of; it lives as long as the seed. */
static struct {
    struct buf codes[4];
    struct view cells[4], approve[2], names[1];
    struct file_ref file;
    char blob[65], picture[65], earlier[65];
    struct job_function function;
} stuff;

static void make_cells(struct job *job)
{
    size_t count = 1 + chance(4);
    for (size_t i = 0; i < count; i++) {
        buf_finish(&stuff.codes[i]);
        buf_init(&stuff.codes[i], 1024);
        server_code(&stuff.codes[i], 1000 + i);
        stuff.cells[i] = buf_view(&stuff.codes[i]);
    }
    job->cells = (struct list){ stuff.cells, count };
}

static void make_file(struct job *job)
{
    struct view bytes = VIEW("a,b\n1,2\n");
    name_blob(bytes, stuff.blob);
    store_blob(stuff.blob, bytes);
    stuff.file = (struct file_ref){ .name = VIEW("data.csv"),
                                    .blob = view_of(stuff.blob),
                                    .bytes = bytes.len,
                                    .mime = VIEW("text/csv") };
    job->files = (struct list){ &stuff.file, 1 };
}

static void make_action(struct job *job)
{
    static const int verbs[] = { ACTION_SHOW, ACTION_FILES, ACTION_CLOSE,
                                 ACTION_FORK, ACTION_PUT };
    job->action.verb = verbs[chance(5)];
    if (job->action.verb == ACTION_FORK)
        job->action.to = VIEW("copy");
    if (job->action.verb == ACTION_PUT)
        make_file(job);
}

/* A call of it ends the job, when what is ours has been run. */
static void make_functions(struct job *job)
{
    stuff.function.name = VIEW("callers");
    job->functions = (struct list){ &stuff.function, 1 };
    if (chance_of(30))
        job->tool_choice = VIEW("required");
    if (chance_of(30))
        job->limits.max_tool_calls = 1 + chance(4);
    if (chance_of(30))
        job->limits.max_output_tokens = 600 + chance(10000);
}

/* By the seed alone, so that all else of a seed's life stays as it was. */
static void go_on_from_another(struct job *job)
{
    struct view earlier = VIEW("\x82\xa1v\x01\xa8messages\x92"
                               "\x82\xa4role\xa4user\xa7"
                               "content\xa3"
                               "Go!"
                               "\x82\xa4role\xa9"
                               "assistant\xa7"
                               "content\xa5"
                               "Gone.");
    if (world.seed % 4 == 1)
        job->keep_ms = UINT64_C(7) * 24 * 3600 * 1000;
    if (world.seed % 5 != 2)
        return;
    name_blob(earlier, stuff.earlier);
    store_blob(stuff.earlier, earlier);
    job->earlier = view_of(stuff.earlier);
}

static void make_conversation(struct job *job)
{
    job->prompt = VIEW("What is it?");
    go_on_from_another(job);
    job->mode = chance_of(40) ? MODE_CODEACT : MODE_TOOLS;
    if (chance_of(15)) {
        stuff.approve[0] = VIEW("execute_python_code");
        stuff.approve[1] = VIEW("order");
        job->approve = (struct list){ &stuff.approve[chance(2)], 1 };
    }
    job->approval_ms = 60 * 1000 + chance(600 * 1000);
    job->approval_default = chance(2)   ? APPROVAL_SKIP
                            : chance(2) ? APPROVAL_ABORT
                                        : APPROVAL_UNSAID;
    if (chance_of(30))
        job->model = chance(2) ? VIEW("kept") : VIEW("making");
    if (chance_of(20))
        job->limits.max_turns = life.max_turns = 1 + chance(3);
    if (chance_of(10))
        job->limits.max_total_tokens = 3000 + chance(10000);
    if (chance_of(5))
        job->limits.max_cost = 2000 + chance(20000);
    if (job->mode == MODE_TOOLS && chance_of(20))
        make_functions(job);
}

static void make_limits(struct job *job)
{
    if (chance_of(10))
        job->limits.deadline_ms = 1000 + chance(120 * 1000);
    if (chance_of(30))
        job->retry.max_attempts = 1 + chance(8);
    if (chance_of(10)) {
        facts.bars = 1 + chance(2);
        facts.bar_ms = chance(4) ? 500 + chance(30 * 1000) : 0;
    }
}

/* A session that an earlier job has left; who had it is gone. */
static void make_record(void)
{
    struct session_record record = {
        .name = VIEW("lab"),
        .tenant = VIEW("default"),
        .holder = VIEW("an older one"),
        .generation = 1,
        .cells = 2,
        .job = VIEW("018bcfe5-0000-7000-8000-000000000000"),
        .created_ms = world_ms(),
        .updated_ms = world_ms(),
    };
    struct err err = { 0 };
    if (chance(2)) {
        name_blob(VIEW("names"), stuff.picture);
        store_blob(stuff.picture, VIEW("names"));
        record.picture = view_of(stuff.picture);
        record.picture_bytes = 5;
    }
    buf_init(&facts.session_record, MAX_SESSION_BYTES);
    demand(message_encode(&schema_session_record, &record,
                          &facts.session_record, &err),
           "store", "%s", err.text);
    facts.generation = 1;
}

static void make_job(void)
{
    struct job *job = &life.job;
    struct err err = { 0 };
    bool named = chance_of(35);
    *job = (struct job){ .id = view_of(facts.id) };
    job->kind = chance_of(70)            ? JOB_CONVERSATION
                : named && chance_of(40) ? JOB_SESSION
                                         : JOB_CODE;
    if (named)
        job->session = VIEW("lab");
    if (named && chance_of(40))
        make_record();
    life.max_turns = 12;
    if (job->kind == JOB_CODE)
        make_cells(job);
    else if (job->kind == JOB_SESSION)
        make_action(job);
    else
        make_conversation(job);
    if (job->kind != JOB_SESSION && chance_of(20))
        make_file(job);
    make_limits(job);
    buf_init(&facts.body, MAX_JOB_BYTES);
    uint64_t max_turns = job->limits.max_turns;
    if (sown(SOWN_LIMIT_IGNORED))
        job->limits.max_turns = 0;
    demand(message_encode(&schema_job, job, &facts.body, &err), "store", "%s",
           err.text);
    job->limits.max_turns = max_turns;
    snprintf(facts.tenant, sizeof(facts.tenant), "default");
    snprintf(facts.session, sizeof(facts.session), "%s", named ? "lab" : "");
    facts.submitted_ms = world_ms();
    if (job->limits.deadline_ms > 0)
        facts.deadline_ms = world_ms() + job->limits.deadline_ms;
    facts.state = STATE_QUEUED;
}

/* ----------------------------------------------------------- disturbances */

static void make_plans(void)
{
    uint64_t most = chance(4) == 0 ? 0 : chance(MOST_PLANS + 1);
    for (life.plan_count = 0; life.plan_count < most; life.plan_count++)
        life.plans[life.plan_count] =
            (struct plan){ .at = 5 + chance(chance(2) ? 60 : 300),
                           .what = (enum disturbance)chance(DISTURBANCES) };
    world.trouble = (unsigned)(chance(3) == 0 ? 0 : chance(35));
}

static void on_open(void *about)
{
    int host = *(int *)about;
    life.timers--;
    life.opens[host] = NULL;
    if (!life.over && !host_is_up(host))
        host_open(host);
}

static void open_later(int host)
{
    static int numbers[HOSTS] = { 0, 1 };
    if (life.opens[host] != NULL)
        return;
    life.timers++;
    life.opens[host] = post(NULL, chance(5000 * 1000), on_open, &numbers[host]);
}

static void kill_host(int host)
{
    host_kill(host);
    life.lost[host] = false;
    open_later(host);
    tally.kills++;
}

/* It stands still for as long as its lease, and comes back. */
static void lose_lease(void)
{
    int host = facts.owner;
    if (facts.state != STATE_IN_PROGRESS)
        return;
    trace("the lease of host %d ends", host);
    facts.lease_ms = 0;
    store_lapse();
    life.lost[host] = true;
    tally.losses++;
}

static void on_room(void *about)
{
    (void)about;
    life.full = NULL;
    facts.full = false;
    trace("Redis takes writes again");
}

static void fill_redis(void)
{
    if (facts.full)
        return;
    trace("Redis is full");
    facts.full = true;
    life.full = post(NULL, chance(3000 * 1000), on_room, NULL);
}

static void cancel(void)
{
    int host = facts.owner;
    trace("the job is cancelled");
    if (store_cancel() && chance(2))
        host_hear_cancel(host, facts.id);
    tally.cancels++;
}

static void kill_executor(int host)
{
    trace("the executor of host %d dies", host);
    boxes_die(host);
    host_break_executor(host, chance(2) ? chance(2000 * 1000)
                                        : chance(20 * 1000 * 1000));
}

static void disturb(enum disturbance what)
{
    int host =
        facts.owner >= 0 && chance(8) > 0 ? facts.owner : (int)chance(HOSTS);
    life.disturbed_ms = world_ms();
    switch (what) {
    case KILL:
        kill_host(host);
        break;
    case LOSE_LEASE:
        lose_lease();
        break;
    case BREAK_REDIS:
        host_break_redis(host);
        tally.breaks++;
        break;
    case FILL_REDIS:
        fill_redis();
        break;
    case BREAK_EXECUTOR:
        trace("host %d loses its executor", host);
        host_break_executor(host, 50 * 1000 + chance(2000 * 1000));
        tally.breaks++;
        break;
    case KILL_EXECUTOR:
        kill_executor(host);
        break;
    case CANCEL:
        cancel();
        break;
    case DRAIN:
        host_drain(host);
        tally.drains++;
        break;
    case UPSET_MODEL:
        model_upset();
        break;
    case TEACH_MODEL:
        model_teach();
        break;
    case DISTURBANCES:
    default:
        break;
    }
}

static void disturb_as_planned(void)
{
    bool left = false;
    for (size_t i = 0; i < life.plan_count; i++) {
        struct plan *plan = &life.plans[i];
        if (!plan->done && world.letters >= plan->at) {
            plan->done = true;
            disturb(plan->what);
        }
        left = left || !plan->done;
    }
    if (!left && world.letters > 600)
        world.calm = true;
}

/* ------------------------------------------------- queue, people, deadlines */

static void on_take(void *about)
{
    int first = (int)chance(HOSTS);
    (void)about;
    life.timers--;
    life.take = NULL;
    for (int i = 0; i < HOSTS; i++) {
        int host = (first + i) % HOSTS;
        if (facts.state != STATE_QUEUED || !host_takes(host) || life.lost[host])
            continue;
        redisReply *answer = store_take(host, 30 * 1000);
        if (answer != NULL)
            host_give(host, answer);
        return;
    }
}

static void on_wake(void *about)
{
    (void)about;
    life.timers--;
    life.wake = NULL;
    store_promote();
}

static void on_person(void *about)
{
    static const int verdicts[] = { VERDICT_APPROVE, VERDICT_APPROVE,
                                    VERDICT_APPROVE, VERDICT_REJECT,
                                    VERDICT_SKIP,    VERDICT_REGENERATE,
                                    VERDICT_ASK,     VERDICT_ABORT };
    int verdict = verdicts[chance(8)];
    (void)about;
    life.timers--;
    life.person = NULL;
    trace("a person says %s", verdict_names[verdict]);
    tally.verdicts++;
    store_approve(verdict, verdict == VERDICT_ASK ? "Why?" : "");
}

static void on_lapse(void *about)
{
    (void)about;
    life.timers--;
    life.lapse = NULL;
    int host = facts.owner;
    store_lapse();
    if (facts.owner < 0 && host >= 0 && host_jobs(host) > 0)
        life.lost[host] = true;
}

static void on_late(void *about)
{
    (void)about;
    life.timers--;
    store_late();
}

static void set_timer(struct letter **timer, uint64_t after_us,
                      letter_open *open)
{
    if (*timer != NULL)
        return;
    life.timers++;
    *timer = post(NULL, after_us, open, NULL);
}

static uint64_t until_us(uint64_t ms)
{
    return ms > world_ms() ? (ms - world_ms()) * 1000 : 0;
}

/* Whoever waits is brought back by somebody. */
static void tend(void)
{
    if (facts.state == STATE_QUEUED)
        set_timer(&life.take, chance_delay(), on_take);
    if (facts.state == STATE_WAITING) {
        uint64_t left = until_us(facts.wake_ms);
        bool asks = strcmp(facts.reason, "approval") == 0;
        if (asks && life.wake == NULL && chance_of(80))
            set_timer(&life.person, chance(left + 1), on_person);
        set_timer(&life.wake, left, on_wake);
    }
    if (facts.state == STATE_IN_PROGRESS)
        set_timer(&life.lapse, until_us(facts.lease_ms) + 1000, on_lapse);
    if (facts.deadline_ms > 0)
        set_timer(&life.late, until_us(facts.deadline_ms) + 1000, on_late);
    for (int host = 0; host < HOSTS; host++) {
        if (host_jobs(host) == 0)
            life.lost[host] = false;
        if (host_jobs(host) == 0 && host_is_up(host) && !host_takes(host) &&
            host_has_executor(host) && chance_of(5)) {
            host_kill(host); /* it was drained, and has left */
            open_later(host);
        }
    }
}

/* --------------------------------------------------------------- one seed */

static void judge_progress(void)
{
    bool idle = letters_count() == ports_timers() + life.timers;
    uint64_t since = facts.cancelled_ms > life.disturbed_ms ? facts.cancelled_ms
                                                            : life.disturbed_ms;
    size_t jobs = host_jobs(0) + host_jobs(1);
    if (idle && jobs > 0 && !store_is_over()) {
        uint64_t due = host_timer_us(0);
        demand(due <= world.now_us + SOON_US, "no_hang",
               "nothing is on its way, and the next timer rings in %llu s",
               (unsigned long long)((due - world.now_us) / 1000000));
    }
    demand(!facts.cancel || store_is_over() || world_ms() < since + CANCEL_MS,
           "cancel_bounded", "cancelled %llu s ago, and it goes on",
           (unsigned long long)((world_ms() - facts.cancelled_ms) / 1000));
    demand(world.letters < MOST_LETTERS, "no_hang", "it goes on and on");
}

static void begin(uint64_t seed)
{
    for (size_t i = 0; i < 4; i++)
        buf_finish(&stuff.codes[i]);
    memset(&life, 0, sizeof(life));
    world_reset(seed);
    boxes_reset();
    server_reset();
    store_reset();
    judge_reset();
    ports_reset();
    snprintf(facts.id, sizeof(facts.id), "018bcfe5-6800-7000-8000-%012llx",
             (unsigned long long)(seed & 0xffffffffffff));
    make_job();
    make_plans();
    for (int host = 0; host < HOSTS; host++)
        host_open(host);
}

/* The job's own session is closed by who has ended it, if that could be. */
static void judge_sessions(int owner)
{
    char name[80];
    snprintf(name, sizeof(name), "job-%s", facts.id);
    if (owner < 0 || !host_is_up(owner) || !host_has_executor(owner))
        return;
    demand(boxes_of(owner, name) == 0, "nothing_left",
           "the job's own session is open on host %d", owner);
}

/* Everybody who still works on it learns that it is over. */
static void settle(int owner)
{
    uint64_t end = world.letters + SETTLE_LETTERS;
    bool clean = life.disturbed_ms == 0;
    uint64_t end_us = world.now_us + 60 * 1000 * 1000;
    world.calm = true;
    while (host_jobs(0) + host_jobs(1) > 0 || world.now_us < end_us) {
        demand(world.letters < end, "nothing_left",
               "the job is over, and an "
               "attempt goes on");
        if (letters_due_us() > end_us && host_jobs(0) + host_jobs(1) == 0)
            break;
        demand(letter_next(), "nothing_left", "an attempt waits for ever");
    }
    for (int host = 0; host < HOSTS && sown(SOWN_LATE_ANSWER); host++)
        server_lose(host); /* it is to be found by what comes of it */
    demand(server_open() == 0, "nothing_left", "%zu requests go on",
           server_open());
    if (clean && facts.result.len > 0)
        judge_sessions(owner);
    for (int host = 0; host < HOSTS; host++) {
        host_judge(host);
        host_kill(host);
    }
    life.over = true;
    while (letter_next())
        ;
    boxes_reset();
    server_reset();
    demand(ports_timers() == 0, "nothing_left", "%zu timers are set",
           ports_timers());
}

void life_run(uint64_t seed)
{
    int owner = -1;
    begin(seed);
    while (!store_is_over()) {
        tend();
        disturb_as_planned();
        owner = facts.owner >= 0 ? facts.owner : owner;
        if (!store_is_over() && !letter_next())
            demand(false, "no_hang", "nothing will happen any more");
        judge_progress();
    }
    if (facts.owner >= 0)
        owner = facts.owner;
    judge_over();
    settle(owner);
    tally.seeds++;
    tally.letters += world.letters;
    tally.records += facts.record_count;
    tally.states[facts.state]++;
    trace("the job is %s after %llu letters", job_state_names[facts.state],
          (unsigned long long)world.letters);
}
