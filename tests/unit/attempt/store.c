/* store.c - what the function library of Redis promises, for one job. */
#include "tests/unit/attempt/store.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/event.h"
#include "schemas/message/journal.h"
#include "schemas/message/limits.h"
#include "schemas/redis/transition.h"
#include "tests/unit/attempt/judge.h"

enum { MOST_CRASHES = 8 };

struct facts_of_job facts;

static struct blob {
    char name[65];
    struct buf bytes;
} blobs[MOST_BLOBS];
static size_t blob_count;

/* ----------------------------------------------------------------- replies */

static redisReply *reply_new(int type)
{
    redisReply *reply = calloc(1, sizeof(*reply));
    assert(reply != NULL);
    reply->type = type;
    return reply;
}

static redisReply *reply_number(uint64_t number)
{
    redisReply *reply = reply_new(REDIS_REPLY_INTEGER);
    reply->integer = (long long)number;
    return reply;
}

static redisReply *reply_bytes(int type, struct view bytes)
{
    redisReply *reply = reply_new(type);
    reply->str = calloc(1, bytes.len + 1);
    assert(reply->str != NULL);
    if (bytes.len > 0)
        memcpy(reply->str, bytes.data, bytes.len);
    reply->len = bytes.len;
    return reply;
}

static redisReply *reply_text(const char *text)
{
    return reply_bytes(REDIS_REPLY_STRING, view_of(text));
}

static redisReply *reply_list(size_t count)
{
    redisReply *reply = reply_new(REDIS_REPLY_ARRAY);
    reply->elements = count;
    reply->element = calloc(count + 1, sizeof(*reply->element));
    assert(reply->element != NULL);
    return reply;
}

static redisReply *refuse(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
static redisReply *refuse(const char *format, ...)
{
    char text[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    trace("  redis: %s", text);
    return reply_bytes(REDIS_REPLY_ERROR, view_of(text));
}

/* --------------------------------------------------------------- arguments */

struct args {
    int host;
    int count;
    const char **argv;
    const size_t *lengths;
};

static struct view arg(const struct args *args, int at)
{
    if (at >= args->count)
        return (struct view){ "", 0 };
    return (struct view){ args->argv[at], args->lengths[at] };
}

static uint64_t number(const struct args *args, int at)
{
    struct view text = arg(args, at);
    uint64_t value = 0;
    for (size_t i = 0; i < text.len; i++)
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    return value;
}

static void copy(struct buf *to, struct view bytes)
{
    buf_finish(to);
    buf_init(to, bytes.len + 1);
    buf_add(to, bytes);
}

#define SET(text, view) snprintf(text, sizeof(text), "%.*s", VIEW_ARG(view))

/* ------------------------------------------------------------------- facts */

void store_reset(void)
{
    for (size_t i = 0; i < facts.record_count; i++)
        buf_finish(&facts.records[i]);
    for (size_t i = 0; i < facts.event_count; i++)
        buf_finish(&facts.events[i].data);
    for (size_t i = 0; i < blob_count; i++)
        buf_finish(&blobs[i].bytes);
    blob_count = 0;
    buf_finish(&facts.body);
    buf_finish(&facts.result);
    buf_finish(&facts.session_record);
    /* The two long lists are counted. */
    size_t head = offsetof(struct facts_of_job, records);
    size_t middle = offsetof(struct facts_of_job, event_count);
    memset(&facts, 0, head);
    facts.record_count = 0;
    memset((char *)&facts + middle, 0, sizeof(facts) - middle);
    facts.owner = -1;
}

static struct blob *find_blob(struct view name)
{
    for (size_t i = 0; i < blob_count; i++)
        if (view_is(name, blobs[i].name))
            return &blobs[i];
    return NULL;
}

static struct blob *add_blob(struct view name)
{
    struct blob *blob = find_blob(name);
    if (blob != NULL)
        return blob;
    assert(blob_count < MOST_BLOBS && name.len == 64);
    blob = &blobs[blob_count++];
    SET(blob->name, name);
    blob->bytes = (struct buf){ 0 };
    return blob;
}

void store_blob(const char *name, struct view bytes)
{
    copy(&add_blob(view_of(name))->bytes, bytes);
}

bool store_is_over(void)
{
    return facts.state >= STATE_COMPLETED;
}

static void emit(struct view type, struct view data)
{
    assert(facts.event_count < MOST_EVENTS);
    struct published *published = &facts.events[facts.event_count++];
    SET(published->type, type);
    published->attempt = facts.attempts;
    published->data = (struct buf){ 0 };
    copy(&published->data, data);
    facts.seq++;
    judge_event(published);
}

static void append(struct view record, bool by_consumer)
{
    assert(facts.record_count < MOST_RECORDS);
    struct buf *place = &facts.records[facts.record_count++];
    *place = (struct buf){ 0 };
    copy(place, record);
    judge_record(record, by_consumer);
}

static void forget_hold(void)
{
    if (facts.holds)
        facts.spent += facts.reserved;
    facts.holds = false;
}

static void finish(int state, struct view result, struct view data)
{
    char type[32];
    snprintf(type, sizeof(type), "job.%s", job_state_names[state]);
    facts.ends++;
    facts.owner = -1;
    facts.ended_ms = world_ms();
    forget_hold();
    facts.state = state;
    copy(&facts.result, result);
    emit(view_of(type), data);
    judge_end(result);
}

/* An end that no consumer wrote: its result is made here, of the journal. */
static void end_here(int state)
{
    facts.epoch++;
    finish(state, VIEW(""), VIEW("\x80"));
}

/* ------------------------------------------------------------------- fence */

/* NULL: the caller holds the job. */
static redisReply *fenced(const struct args *args)
{
    uint64_t epoch = number(args, 5);
    if (!view_is(arg(args, 4), facts.id))
        return refuse("GONE no such job");
    if (facts.state != STATE_IN_PROGRESS || facts.epoch != epoch)
        return refuse(
            "STALE epoch %llu, now %llu and %s", (unsigned long long)epoch,
            (unsigned long long)facts.epoch, job_state_names[facts.state]);
    demand(args->host == facts.owner, "fence",
           "host %d writes for the job that host %d holds", args->host,
           facts.owner);
    return NULL;
}

static bool left_before(const struct args *args)
{
    return facts.state != STATE_IN_PROGRESS &&
           facts.epoch == number(args, 5) + 1;
}

static void emit_all(const struct args *args, int first)
{
    for (int i = first; i + 1 < args->count; i += 2)
        emit(arg(args, i), arg(args, i + 1));
}

/* ------------------------------------------------------------------- steps */

/* The answer where the record is not to be written now; NULL: it is. */
static redisReply *place_for(const struct args *args)
{
    uint64_t index = number(args, 6);
    struct view record = arg(args, 7);
    if (index < facts.record_count &&
        view_equal(buf_view(&facts.records[index]), record))
        return reply_number(facts.record_count);
    if (index != facts.record_count)
        return refuse("MISPLACED record %llu of a journal that has %zu",
                      (unsigned long long)index, facts.record_count);
    return NULL;
}

static redisReply *step_journal(const struct args *args)
{
    redisReply *answer = fenced(args);
    if (answer == NULL)
        answer = place_for(args);
    if (answer != NULL)
        return answer;
    append(arg(args, 7), true);
    emit_all(args, 8);
    return reply_number(facts.record_count);
}

static redisReply *bar(void)
{
    redisReply *answer = reply_list(6);
    answer->element[0] = reply_text("tenant_tokens");
    answer->element[1] = reply_number(0);
    answer->element[2] = reply_number(100000);
    answer->element[3] = reply_number(99999);
    answer->element[4] = reply_number(60000);
    answer->element[5] = reply_number(facts.bar_ms);
    facts.bars--;
    return answer;
}

static redisReply *step_spend(const struct args *args)
{
    bool reserves = view_is(arg(args, 8), "reserve");
    redisReply *answer = fenced(args);
    if (answer == NULL)
        answer = place_for(args);
    if (answer != NULL)
        return answer;
    if (reserves)
        forget_hold();
    if (reserves && facts.bars > 0)
        return bar();
    if (reserves) {
        facts.reserved = number(args, 9);
        facts.holds = true;
    } else {
        judge_settled(facts.holds, number(args, 9));
        facts.spent += facts.holds ? number(args, 9) : 0;
        facts.holds = false;
    }
    append(arg(args, 7), true);
    emit_all(args, 11);
    return reply_number(facts.record_count);
}

static uint64_t hash_from(const struct args *args, int first)
{
    uint64_t hash = 14695981039346656037U;
    for (int i = first; i < args->count; i++)
        for (size_t j = 0; j < args->lengths[i]; j++)
            hash = (hash ^ (unsigned char)args->argv[i][j]) * 1099511628211U;
    return hash;
}

/* Again with the same or a smaller number: no change. What comes so must be
 * what came before, or nobody ever sees it. */
static redisReply *step_event(const struct args *args)
{
    uint64_t count = number(args, 6), hash = hash_from(args, 7);
    redisReply *answer = fenced(args);
    if (answer != NULL)
        return answer;
    if (count <= facts.number) {
        demand(count != facts.number || hash == facts.event_hash,
               "event_numbers", "write %llu of events comes twice, and differs",
               (unsigned long long)count);
        return reply_number(facts.seq);
    }
    demand(count == facts.number + 1, "event_numbers",
           "write %llu of events follows write %llu", (unsigned long long)count,
           (unsigned long long)facts.number);
    facts.number = count;
    facts.event_hash = hash;
    emit_all(args, 7);
    return reply_number(facts.seq);
}

static int state_of(struct view word)
{
    int state = 0;
    while (job_state_names[state] != NULL &&
           !view_is(word, job_state_names[state]))
        state++;
    return state;
}

static redisReply *step_finish(const struct args *args)
{
    redisReply *answer = reply_list(1);
    int state = state_of(arg(args, 6));
    redisReply *refusal = fenced(args);
    demand(args->count == 14, "one_end", "%d arguments of one end",
           args->count);
    if (refusal == NULL) {
        finish(state, arg(args, 7), arg(args, 8));
    } else if (facts.state == state && facts.epoch == number(args, 5)) {
        demand(view_equal(buf_view(&facts.result), arg(args, 7)), "one_result",
               "the result is written again, and differs");
        freeReplyObject(refusal);
        refusal = NULL;
    }
    answer->element[0] =
        refusal != NULL ? refusal : reply_text(job_state_names[state]);
    return answer;
}

static void leave(int state)
{
    facts.epoch++;
    facts.state = state;
    facts.owner = -1;
}

/* Instead of going back into the queue. */
static bool ends_instead(void)
{
    if (facts.cancel)
        end_here(STATE_CANCELLED);
    else if (facts.deadline_ms != 0 && world_ms() >= facts.deadline_ms)
        end_here(STATE_FAILED);
    else
        return false;
    return true;
}

static redisReply *step_release(const struct args *args)
{
    redisReply *answer = fenced(args);
    if (answer != NULL && left_before(args)) {
        freeReplyObject(answer);
        return reply_text(job_state_names[facts.state]);
    }
    if (answer != NULL)
        return answer;
    leave(STATE_QUEUED);
    facts.attempts--;
    if (!ends_instead())
        emit(VIEW("job.queued"), VIEW("\x80"));
    return reply_text(job_state_names[facts.state]);
}

static redisReply *step_wait(const struct args *args)
{
    uint64_t delay_ms = number(args, 6), errors = number(args, 8);
    struct view reason = arg(args, 7);
    bool rests = view_is(reason, "budget") || view_is(reason, "endpoint");
    redisReply *answer = fenced(args);
    if (answer != NULL && left_before(args)) {
        freeReplyObject(answer);
        return reply_text(job_state_names[facts.state]);
    }
    if (answer != NULL)
        return answer;
    leave(STATE_WAITING);
    if (errors > 0)
        facts.errors = errors;
    facts.attempts -= errors == 0 || rests;
    SET(facts.reason, reason);
    SET(facts.call, arg(args, 10));
    SET(facts.fallback, arg(args, 11));
    facts.wake_ms = world_ms() + delay_ms;
    if (!ends_instead())
        emit(VIEW("job.waiting"), arg(args, 9));
    return reply_text(job_state_names[facts.state]);
}

static redisReply *step_beat(const struct args *args)
{
    redisReply *answer = reply_list((size_t)(args->count - 5));
    for (int i = 5; i + 1 < args->count; i += 2) {
        bool held = facts.state == STATE_IN_PROGRESS &&
                    number(args, i + 1) == facts.epoch &&
                    args->host == facts.owner;
        if (held)
            facts.lease_ms = world_ms() + 30000;
        answer->element[i - 5] = reply_number(held);
        answer->element[i - 4] =
            reply_number(held && facts.cancel && !sown(SOWN_CANCEL_IGNORED));
    }
    return answer;
}

static redisReply *step_session_claim(const struct args *args)
{
    redisReply *answer = fenced(args);
    if (answer != NULL)
        return answer;
    answer = reply_list(2);
    answer->element[0] = reply_number(1);
    bool own = arg(args, 6).len > 0 &&
               strstr(arg(args, 6).data, facts.session) != NULL;
    answer->element[1] =
        reply_bytes(REDIS_REPLY_STRING, own ? buf_view(&facts.session_record)
                                            : (struct view){ "", 0 });
    return answer;
}

static redisReply *step_session_save(const struct args *args)
{
    uint64_t generation = number(args, 7);
    struct view record = arg(args, 11);
    redisReply *answer = fenced(args);
    if (answer != NULL)
        return answer;
    for (int i = 13; i < args->count; i++)
        if (find_blob(arg(args, i)) == NULL)
            return refuse("NOBLOB session: there is no blob '%.*s'",
                          VIEW_ARG(arg(args, i)));
    if (strstr(arg(args, 6).data, facts.session) == NULL)
        return reply_number(generation + 1); /* a fork's */
    if (facts.generation == generation + 1 &&
        view_equal(buf_view(&facts.session_record), record))
        return reply_number(facts.generation);
    if (facts.generation != generation)
        return refuse("MISPLACED the session is at generation %llu",
                      (unsigned long long)facts.generation);
    facts.generation++;
    facts.session_saved = true;
    copy(&facts.session_record, record);
    return reply_number(facts.generation);
}

static redisReply *step_build(const struct args *args)
{
    (void)args;
    return reply_number(transition_build);
}

static const struct {
    const char *name;
    redisReply *(*step)(const struct args *args);
    bool writes;
} steps[] = {
    { "quern_v1_journal", step_journal, true },
    { "quern_v1_spend", step_spend, true },
    { "quern_v1_event", step_event, true },
    { "quern_v1_finish_many", step_finish, true },
    { "quern_v1_release", step_release, true },
    { "quern_v1_wait", step_wait, true },
    { "quern_v1_beat", step_beat, false },
    { "quern_v1_session_claim", step_session_claim, true },
    { "quern_v1_session_save", step_session_save, true },
    { "quern_v1_build", step_build, false },
};

static redisReply *call_function(const struct args *args)
{
    struct view name = arg(args, 1);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (!view_is(name, steps[i].name))
            continue;
        if (steps[i].writes && facts.full)
            return refuse("OOM command not allowed when used memory > "
                          "'maxmemory'");
        return steps[i].step(args);
    }
    demand(false, "known_commands", "FCALL %.*s", VIEW_ARG(name));
    return NULL;
}

static redisReply *call_blob(const struct args *args)
{
    struct view key = arg(args, 1);
    struct view name = { key.data + key.len - 64, 64 };
    struct blob *blob = find_blob(name);
    if (view_is(arg(args, 0), "STRLEN"))
        return reply_number(blob == NULL ? 0 : blob->bytes.len);
    if (view_is(arg(args, 0), "GET"))
        return blob == NULL
                   ? reply_new(REDIS_REPLY_NIL)
                   : reply_bytes(REDIS_REPLY_STRING, buf_view(&blob->bytes));
    if (view_is(arg(args, 0), "PEXPIRE"))
        return reply_number(blob != NULL);
    demand(view_is(arg(args, 0), "SET"), "known_commands", "%.*s",
           VIEW_ARG(arg(args, 0)));
    if (blob == NULL && view_is(arg(args, 3), "XX"))
        return reply_new(REDIS_REPLY_NIL);
    if (blob != NULL && view_is(arg(args, args->count - 1), "NX"))
        return reply_new(REDIS_REPLY_NIL);
    copy(&add_blob(name)->bytes, arg(args, 2));
    return reply_bytes(REDIS_REPLY_STATUS, VIEW("OK"));
}

/* The last events, the newest first. */
static redisReply *call_latest(const struct args *args)
{
    size_t most = (size_t)number(args, 5), count = facts.event_count;
    if (sown(SOWN_ITEM_REUSED))
        count = 0;
    size_t given = count < most ? count : most;
    redisReply *answer = reply_list(given);
    for (size_t i = 0; i < given; i++) {
        const struct published *published = &facts.events[count - 1 - i];
        CLEANUP(arena_finish) struct arena arena = { 0 };
        CLEANUP(buf_finish) struct buf bytes;
        struct event event = { .seq = facts.event_count - i,
                               .type = view_of(published->type) };
        struct err err;
        buf_init(&bytes, MAX_EVENT_BYTES);
        demand(published->data.len == 0 ||
                   message_decode(&schema_event_data,
                                  buf_view(&published->data), &event.data,
                                  &arena, &err),
               "event_numbers", "an event that cannot be read");
        demand(message_encode(&schema_event, &event, &bytes, &err),
               "event_numbers", "an event that cannot be written");
        redisReply *entry = reply_list(2), *fields = reply_list(2);
        entry->element[0] = reply_bytes(REDIS_REPLY_STRING, VIEW("1-0"));
        entry->element[1] = fields;
        fields->element[0] = reply_bytes(REDIS_REPLY_STRING, VIEW("event"));
        fields->element[1] = reply_bytes(REDIS_REPLY_STRING, buf_view(&bytes));
        answer->element[i] = entry;
    }
    return answer;
}

redisReply *store_call(int host, int argc, const char **argv,
                       const size_t *lengths)
{
    const struct args args = { host, argc, argv, lengths };
    bool function = view_is(arg(&args, 0), "FCALL");
    trace("host %d -> redis: %.*s%s%.*s", host, VIEW_ARG(arg(&args, 0)),
          function ? " " : "", VIEW_ARG(function ? arg(&args, 1) : VIEW("")));
    if (view_is(arg(&args, 0), "XREVRANGE"))
        return call_latest(&args);
    return function ? call_function(&args) : call_blob(&args);
}

/* --------------------------------------------------------- steps of others */

static redisReply *journal_reply(void)
{
    size_t count = facts.record_count;
    struct err err;
    struct record last;
    struct arena arena = { 0 };
    redisReply *journal = reply_list(count);
    if (sown(SOWN_REPLY_AGAIN) && count > 1 &&
        message_decode(&schema_record, buf_view(&facts.records[count - 1]),
                       &last, &arena, &err) &&
        last.kind == RECORD_MODEL_REPLY)
        journal->elements = --count;
    arena_finish(&arena);
    for (size_t i = 0; i < count; i++)
        journal->element[i] =
            reply_bytes(REDIS_REPLY_STRING, buf_view(&facts.records[i]));
    return journal;
}

/* As answer() of start.lua has it. */
static redisReply *answer_of_take(void)
{
    const char *const texts[] = { "",       "",           "default",
                                  "normal", facts.tenant, facts.session };
    const uint64_t numbers[] = { facts.epoch,       facts.attempts,
                                 facts.crashes,     facts.cancel,
                                 world_ms(),        facts.deadline_ms,
                                 facts.submitted_ms };
    redisReply *answer = reply_list(19);
    answer->element[0] = reply_number(1);
    answer->element[1] = reply_text("");
    answer->element[2] = reply_text(facts.id);
    for (size_t i = 0; i < 7; i++)
        answer->element[3 + i] = reply_number(numbers[i]);
    answer->element[10] =
        reply_bytes(REDIS_REPLY_STRING, buf_view(&facts.body));
    answer->element[11] = journal_reply();
    answer->element[12] = reply_number(facts.errors);
    for (size_t i = 0; i < 6; i++)
        answer->element[13 + i] = reply_text(texts[i]);
    return answer;
}

redisReply *store_take(int host, uint64_t lease_ms)
{
    if (facts.state != STATE_QUEUED || ends_instead())
        return NULL;
    if (facts.crashes > MOST_CRASHES) {
        end_here(STATE_FAILED);
        return NULL;
    }
    facts.state = STATE_IN_PROGRESS;
    facts.epoch = facts.epoch + 1 > world_ms() ? facts.epoch + 1 : world_ms();
    facts.attempts++;
    facts.owner = host;
    facts.number = 0;
    facts.lease_ms = world_ms() + lease_ms;
    emit(VIEW("job.started"), VIEW("\x80"));
    return answer_of_take();
}

void store_lapse(void)
{
    if (facts.state != STATE_IN_PROGRESS || world_ms() < facts.lease_ms)
        return;
    leave(STATE_QUEUED);
    facts.crashes++;
    emit(VIEW("job.lost"), VIEW("\x80"));
    ends_instead();
}

static void put_back(void)
{
    facts.state = STATE_QUEUED;
    if (!ends_instead())
        emit(VIEW("job.queued"), VIEW("\x80"));
}

static void record_verdict(int verdict, const char *text, bool late)
{
    struct record record = {
        .kind = RECORD_APPROVAL,
        .attempt = facts.attempts,
        .turn = strtoull(facts.call, NULL, 10),
        .call = view_of(facts.call),
        .verdict = verdict,
        .arguments = view_of(text),
        .failed = late,
    };
    CLEANUP(buf_finish) struct buf bytes;
    struct err err = { 0 };
    buf_init(&bytes, MAX_RECORD_BYTES);
    if (record.turn == 0)
        record.turn = 1;
    demand(message_encode(&schema_record, &record, &bytes, &err), "verdict",
           "%s", err.text);
    append(buf_view(&bytes), false);
}

void store_promote(void)
{
    if (facts.state != STATE_WAITING || world_ms() < facts.wake_ms)
        return;
    if (strcmp(facts.reason, "approval") != 0) {
        put_back();
    } else if (strcmp(facts.fallback, "skip") == 0) {
        record_verdict(VERDICT_SKIP, "", true);
        put_back();
    } else {
        end_here(STATE_FAILED);
    }
}

void store_late(void)
{
    if (!store_is_over() && facts.state != STATE_IN_PROGRESS &&
        facts.deadline_ms != 0 && world_ms() >= facts.deadline_ms)
        end_here(STATE_FAILED);
}

bool store_cancel(void)
{
    if (store_is_over())
        return false;
    facts.cancel = true;
    facts.cancelled_ms = world_ms();
    if (facts.state == STATE_IN_PROGRESS)
        return true;
    end_here(STATE_CANCELLED);
    return false;
}

void store_approve(int verdict, const char *text)
{
    if (facts.state != STATE_WAITING || strcmp(facts.reason, "approval") != 0)
        return;
    record_verdict(verdict, text, false);
    facts.aborted = facts.aborted || verdict == VERDICT_ABORT;
    put_back();
}
