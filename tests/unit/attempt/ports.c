/* ports.c - the product in this world: the only file that knows how today's
 * consumer asks for Redis, HTTP, frames, timers and a clock.
 *
 * The functions of redis/link.c, model/http.c, python/executor.c, alarm.c,
 * log.c and queue/fleet_endpoints.c are those below, so the linker takes
 * nothing from there. Sown bugs are sown here, in what goes over the wires. */
#include "tests/unit/attempt/ports.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/consumer.h"
#include "consumer/job/attempt.h"
#include "consumer/queue/fleet.h"
#include "consumer/queue/fleet_endpoints.h"
#include "consumer/queue/lease.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"
#include "tests/unit/attempt/boxes.h"
#include "tests/unit/attempt/server.h"
#include "tests/unit/attempt/store.h"

enum { SLOTS = 4, MOST_WAITS = 64, MOST_ARGUMENTS = 64 };

struct waiting { /* for an answer of the executor */
    uint64_t ref;
    executor_answer *answer;
    void *owner;
};

struct executor {
    int host;
    bool ready;
    uint64_t plug; /* frames of an earlier connection do not arrive */
    uint64_t away_us;
    struct executor_watch *watches;
    struct waiting waits[MOST_WAITS];
    uint64_t refs;
    struct lane lane;
};

struct http {
    int host;
};

struct host {
    bool up, muted;
    struct consumer consumer;
    struct partition partition;
    struct executor executor;
    struct http http;
    struct link *links;
};

static struct host hosts[HOSTS];
static struct consumer_settings settings;
static struct endpoints endpoints;
static struct breaker rested[MAX_ENDPOINTS];
static unsigned quirks[MAX_ENDPOINTS];
static struct prompts prompts;
static struct catalog catalog;
static struct toolset *toolset;
static struct mcp *mcp;
static uv_loop_t loop;
static int opening; /* whose timers are no job's; -1: nobody's */

/* ------------------------------------------------------------------- clock */

uint64_t uv_now(const uv_loop_t *of)
{
    (void)of;
    return world_ms();
}

void uv_update_time(uv_loop_t *of)
{
    (void)of;
}

struct alarm {
    struct alarm *next;
    alarm_ring *ring;
    void *owner;
    bool of_host;
    bool beats; /* again and again: a lease's */
    uint64_t due_us;
    struct letter *letter;
};

static struct alarm *alarms;

struct alarm *alarm_new(uv_loop_t *of, alarm_ring *ring, void *owner)
{
    struct alarm *alarm = calloc(1, sizeof(*alarm));
    (void)of;
    if (alarm == NULL)
        abort();
    *alarm = (struct alarm){
        .next = alarms, .ring = ring, .owner = owner, .of_host = opening >= 0
    };
    alarms = alarm;
    return alarm;
}

static void on_due(void *about)
{
    struct alarm *alarm = about;
    alarm->letter = NULL;
    alarm->ring(alarm->owner);
}

void alarm_set(struct alarm *alarm, uint64_t ms)
{
    letter_burn(alarm->letter);
    alarm->beats = alarm->of_host && ms >= settings.lease_ms / 3;
    alarm->due_us = world.now_us + ms * 1000;
    alarm->letter = post(NULL, ms * 1000, on_due, alarm);
}

void alarm_stop(struct alarm *alarm)
{
    letter_burn(alarm->letter);
    alarm->letter = NULL;
}

bool alarm_is_set(const struct alarm *alarm)
{
    return alarm->letter != NULL;
}

void alarm_free(struct alarm *alarm)
{
    struct alarm **link = &alarms;
    if (alarm == NULL)
        return;
    while (*link != alarm)
        link = &(*link)->next;
    *link = alarm->next;
    letter_burn(alarm->letter);
    free(alarm);
}

size_t ports_timers(void)
{
    size_t count = 0;
    for (struct alarm *alarm = alarms; alarm; alarm = alarm->next)
        count += alarm->letter != NULL;
    return count;
}

/* The hosts have one job between them: whose timer it is matters not. */
uint64_t host_timer_us(int host)
{
    uint64_t first = UINT64_MAX;
    (void)host;
    for (struct alarm *alarm = alarms; alarm; alarm = alarm->next)
        if (alarm->letter != NULL && !alarm->beats && alarm->due_us < first)
            first = alarm->due_us;
    return first;
}

/* --------------------------------------------------------------------- log */

static void trace_log(const char *what, const char *format, va_list arguments)
{
    json_t *said = json_vpack_ex(NULL, 0, format, arguments);
    char *text = json_dumps(said, JSON_COMPACT);
    trace("    log %s %s", what, text == NULL ? "" : text);
    free(text);
    json_decref(said);
}

void log_line(const char *what, const char *format, ...)
{
    va_list arguments;
    if (!world.tracing)
        return;
    va_start(arguments, format);
    trace_log(what, format, arguments);
    va_end(arguments);
}

void log_job_line(const struct log_job *job, const char *what,
                  const char *format, ...)
{
    va_list arguments;
    (void)job;
    if (!world.tracing)
        return;
    va_start(arguments, format);
    trace_log(what, format, arguments);
    va_end(arguments);
}

void log_gather(uv_loop_t *of, uv_prepare_t *turn)
{
    (void)of;
    (void)turn;
}

/* ------------------------------------------------------------------- fleet */

struct fleet_endpoints *fleet_endpoints(const struct fleet *fleet)
{
    (void)fleet;
    return NULL;
}

void fleet_endpoints_look(struct fleet_endpoints *shared)
{
    (void)shared;
}

bool fleet_endpoints_are_awaited(const struct fleet_endpoints *shared)
{
    (void)shared;
    return false;
}

void fleet_endpoints_tell_wait(struct fleet_endpoints *shared,
                               struct model_endpoint *endpoint)
{
    (void)shared;
    (void)endpoint;
}

void fleet_endpoints_count(struct fleet_endpoints *shared,
                           const struct model_endpoint *endpoint,
                           enum endpoint_count what)
{
    (void)shared;
    (void)endpoint;
    (void)what;
}

void fleet_endpoints_count_end(struct fleet_endpoints *shared,
                               const struct model_endpoint *endpoint,
                               const struct err *why)
{
    (void)shared;
    (void)endpoint;
    (void)why;
}

/* ------------------------------------------------------------------- Redis */

struct redis_call {
    struct redis_call *next;
    struct link *link; /* NULL: nobody waits any more */
    int host;
    int argc;
    char *argv[MOST_ARGUMENTS];
    size_t lengths[MOST_ARGUMENTS];
    link_done *done;
    void *owner;
    bool arrived;
    redisReply *reply;
    struct letter *letter;
};

struct link {
    struct link *next;
    struct host *host;
    int number;
    struct link_events events;
    void *owner;
    bool ready, wanted, hears;
    struct lane out, in;
    struct redis_call *calls; /* the oldest first */
    struct letter *letter;
};

static void call_free(struct redis_call *call)
{
    letter_burn(call->letter);
    for (int i = 0; i < call->argc; i++)
        free(call->argv[i]);
    freeReplyObject(call->reply);
    free(call);
}

static void take_out(struct redis_call *call)
{
    struct redis_call **at = &call->link->calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
}

static void on_answer(void *about)
{
    struct redis_call *call = about;
    call->letter = NULL;
    take_out(call);
    trace("redis -> host %d: %s", call->host,
          call->argc > 1 ? call->argv[1] : call->argv[0]);
    bool deaf = sown(SOWN_WRITE_FORGOTTEN) && call->argc > 5 && chance(20) == 0;
    if (call->done != NULL && !deaf)
        call->done(call->owner, call->reply, NULL);
    call_free(call);
}

static bool is_step(const struct redis_call *call, const char *name)
{
    return call->argc > 5 && strcmp(call->argv[1], name) == 0;
}

static void change(struct redis_call *call, int at, const char *text)
{
    free(call->argv[at]);
    call->argv[at] = strdup(text);
    call->lengths[at] = strlen(text);
}

static void change_number(struct redis_call *call, int at, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    change(call, at, text);
}

static bool has_kind(const struct redis_call *call, int at, int kind)
{
    struct arena arena = { 0 };
    struct record record;
    struct err err;
    struct view bytes = { call->argv[at], call->lengths[at] };
    bool good = message_decode(&schema_record, bytes, &record, &arena, &err) &&
                record.kind == kind && !record.failed;
    arena_finish(&arena);
    return good;
}

/* Bugs that are sown in what is written. True: the write is not carried out,
 * and its answer says that it was. */
static bool sow(struct redis_call *call)
{
    bool spends = is_step(call, "quern_v1_spend");
    bool writes = spends || is_step(call, "quern_v1_journal");
    if (sown(SOWN_EPOCH_IGNORED) && call->argc > 5 &&
        !is_step(call, "quern_v1_beat") &&
        !is_step(call, "quern_v1_finish_many"))
        change_number(call, 5, facts.epoch);
    if (sown(SOWN_NOT_CHARGED) && spends &&
        strcmp(call->argv[8], "settle") == 0)
        change(call, 9, "0");
    if (sown(SOWN_NOT_VOIDED) && spends && call->argc > 11 &&
        strcmp(call->argv[11], "turn.started") == 0) {
        free(call->argv[11]);
        free(call->argv[12]);
        call->argc -= 2;
    }
    if (sown(SOWN_EVENT_NUMBER) && is_step(call, "quern_v1_event") &&
        facts.number > 0)
        change_number(call, 6, facts.number);
    bool model = sown(SOWN_INTENT_MISSING) && spends &&
                 has_kind(call, 7, RECORD_MODEL_INTENT);
    bool tool = sown(SOWN_TOOL_INTENT_MISSING) && writes &&
                has_kind(call, 7, RECORD_TOOL_INTENT);
    bool session =
        sown(SOWN_SESSION_UNSAVED) && is_step(call, "quern_v1_session_save");
    return model || tool || session;
}

/* What the server does, as often as a sown bug has it. */
static redisReply *carry_out(struct redis_call *call)
{
    const char *argv[MOST_ARGUMENTS];
    if (sow(call)) {
        redisReply *lie = calloc(1, sizeof(*lie));
        assert(lie != NULL);
        lie->type = REDIS_REPLY_INTEGER;
        lie->integer = 1;
        return lie;
    }
    for (int i = 0; i < call->argc; i++)
        argv[i] = call->argv[i];
    redisReply *reply = store_call(call->host, call->argc, argv, call->lengths);
    if (sown(SOWN_RECORD_TWICE) && is_step(call, "quern_v1_journal") &&
        reply->type == REDIS_REPLY_INTEGER) {
        change_number(call, 6, facts.record_count);
        argv[6] = call->argv[6];
        freeReplyObject(
            store_call(call->host, call->argc, argv, call->lengths));
    }
    if (sown(SOWN_RESULT_TWICE) && is_step(call, "quern_v1_finish_many") &&
        store_is_over()) {
        change(call, 7, "another one");
        argv[7] = call->argv[7];
        freeReplyObject(
            store_call(call->host, call->argc, argv, call->lengths));
    }
    return reply;
}

static void on_call(void *about)
{
    struct redis_call *call = about;
    call->letter = NULL;
    call->arrived = true;
    call->reply = carry_out(call);
    call->letter = post(&call->link->in, chance_delay() / 4, on_answer, call);
}

/* Sown: the answer comes first. */
static void on_late_call(void *about)
{
    struct redis_call *call = about;
    call->letter = NULL;
    call->reply = carry_out(call);
    call_free(call);
}

static void act_early(struct redis_call *call, struct link *link)
{
    struct redis_call *copy = calloc(1, sizeof(*copy));
    assert(copy != NULL);
    copy->host = call->host;
    copy->argc = call->argc;
    for (int i = 0; i < call->argc; i++) {
        copy->argv[i] =
            view_dup((struct view){ call->argv[i], call->lengths[i] });
        copy->lengths[i] = call->lengths[i];
    }
    copy->letter = post(&link->out, 3000, on_late_call, copy);
    call->reply = calloc(1, sizeof(*call->reply));
    assert(call->reply != NULL);
    call->reply->type = REDIS_REPLY_INTEGER;
    call->reply->integer = 1;
    call->arrived = true;
    call->letter = post(&link->in, 500, on_answer, call);
}

bool link_send(struct link *link, const struct command *command,
               uint64_t deadline_ms, link_done *done, void *owner)
{
    (void)deadline_ms;
    if (!link->ready || link->host->muted)
        return false;
    struct redis_call *call = calloc(1, sizeof(*call)), **end = &link->calls;
    assert(call != NULL && command->argc <= MOST_ARGUMENTS);
    call->link = link;
    call->host = link->number;
    call->done = done;
    call->owner = owner;
    call->argc = command->argc;
    for (int i = 0; i < command->argc; i++) {
        call->argv[i] =
            view_dup((struct view){ command->argv[i], command->argvlen[i] });
        call->lengths[i] = command->argvlen[i];
    }
    while (*end != NULL)
        end = &(*end)->next;
    *end = call;
    if (sown(SOWN_ACT_BEFORE_COMMIT) &&
        (is_step(call, "quern_v1_journal") || is_step(call, "quern_v1_spend")))
        act_early(call, link);
    else
        call->letter = post(&link->out, chance_delay() / 4, on_call, call);
    return true;
}

struct link *link_new(uv_loop_t *of, const struct address *address,
                      unsigned int slot, const char *role,
                      struct link_events events, void *owner)
{
    struct link *link = calloc(1, sizeof(*link));
    (void)of;
    (void)address;
    (void)slot;
    assert(link != NULL && opening >= 0);
    link->host = &hosts[opening];
    link->number = opening;
    link->events = events;
    link->owner = owner;
    link->hears = strcmp(role, "consumer-ears") == 0;
    link->next = link->host->links;
    link->host->links = link;
    return link;
}

static void on_connected(void *about)
{
    struct link *link = about;
    link->letter = NULL;
    link->ready = true;
    if (link->events.on_ready != NULL)
        link->events.on_ready(link->owner);
}

void link_open(struct link *link)
{
    link->letter = post(NULL, 100, on_connected, link);
}

bool link_is_ready(const struct link *link)
{
    return link->ready;
}

redisReply *link_keep_reply(struct link *link)
{
    (void)link;
    abort(); /* for who claims: the world does that itself */
}

void link_subscribe(struct link *link, struct view channel)
{
    (void)link;
    (void)channel;
}

void link_switch(struct link *link, const struct node *master)
{
    (void)link;
    (void)master;
}

/* Of what was sent a part arrives, from the first on. */
static void lose_calls(struct link *link, const struct err *why)
{
    bool arrives = true;
    for (struct redis_call *call = link->calls; call; call = call->next) {
        arrives = arrives && chance(2);
        if (arrives && !call->arrived) {
            call->reply = carry_out(call);
            call->arrived = true;
        }
    }
    while (link->calls != NULL) {
        struct redis_call *call = link->calls;
        link->calls = call->next;
        letter_burn(call->letter);
        call->letter = NULL;
        if (call->done != NULL)
            call->done(call->owner, NULL, why);
        call_free(call);
    }
}

static const struct err gone = { ERR_RETRY, "redis_unavailable",
                                 "the connection has gone away" };

static void link_break(struct link *link)
{
    if (!link->ready)
        return;
    link->ready = false;
    lose_calls(link, &gone);
    if (link->events.on_lost != NULL)
        link->events.on_lost(link->owner, &gone);
    link->letter =
        post(NULL, 50 * 1000 + chance(2000 * 1000), on_connected, link);
}

void link_free(struct link *link, void (*closed)(void *owner), void *owner)
{
    if (link == NULL)
        return;
    struct link **at = &link->host->links;
    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    link->ready = false;
    lose_calls(link, &gone);
    letter_burn(link->letter);
    free(link);
    if (closed != NULL)
        closed(owner);
}

/* -------------------------------------------------------------------- HTTP */

struct http_call {
    struct visit *visit;
    struct http_events events;
    void (*on_headers)(void *owner, struct http_headers *headers);
    void *owner;
};

struct http_headers {
    int none;
};

bool http_header_next(struct http_headers *headers, struct view *name,
                      struct view *value)
{
    (void)headers;
    (void)name;
    (void)value;
    return false;
}

uint64_t http_header_time(const struct http_headers *headers)
{
    (void)headers;
    return world_ms();
}

struct http *http_new(uv_loop_t *of)
{
    (void)of;
    return NULL;
}

uint64_t http_now_ms(const struct http *http)
{
    (void)http;
    return world_ms();
}

void http_free(struct http *http, void (*closed)(void *owner), void *owner)
{
    (void)http;
    (void)closed;
    (void)owner;
}

struct http_call *http_start(struct http *http,
                             const struct http_request *request,
                             struct http_events events, void *owner)
{
    struct http_call *call = calloc(1, sizeof(*call));
    struct visit visit = { .host = http->host };
    if (call == NULL)
        abort();
    call->events = events;
    call->on_headers = request->on_headers;
    call->owner = owner;
    snprintf(visit.url, sizeof(visit.url), "%s", request->url);
    visit.asker = call;
    call->visit = server_ask(&visit, request->body);
    return call;
}

void http_cancel(struct http_call *call)
{
    if (call == NULL)
        return;
    if (call->visit != NULL)
        server_drop(call->visit);
    free(call);
}

static void begin_answer(struct http_call *call)
{
    struct http_headers headers = { 0 };
    void (*tell)(void *, struct http_headers *) = call->on_headers;
    call->on_headers = NULL;
    if (tell != NULL)
        tell(call->owner, &headers);
}

static void end_answer(struct http_call *call, enum http_end how,
                       const struct visit *visit)
{
    struct http_response response = {
        .end = how,
        .status = how == HTTP_NOT_SENT ? 0 : visit->status,
        .retry_after_ms = visit->retry_after_ms,
    };
    if (how != HTTP_ANSWERED && how != HTTP_STOPPED)
        snprintf(response.text, sizeof(response.text), "the line is dead");
    struct http_events events = call->events;
    void *owner = call->owner;
    free(call);
    events.on_done(owner, &response);
}

void visit_say(struct visit *visit, struct view piece)
{
    struct http_call *call = visit->asker;
    begin_answer(call);
    enum http_verdict verdict =
        call->events.on_body(call->owner, visit->status, piece);
    if (verdict != HTTP_STOP)
        return;
    struct visit copy = *visit;
    visit->asker = NULL;
    call->visit = NULL;
    server_drop(visit);
    end_answer(call, HTTP_STOPPED, &copy);
}

void visit_end(struct visit *visit)
{
    static const enum http_end ends[] = { [OUT_ANSWERED] = HTTP_ANSWERED,
                                          [OUT_NOT_SENT] = HTTP_NOT_SENT,
                                          [OUT_BROKEN] = HTTP_BROKEN,
                                          [OUT_TIMEOUT] = HTTP_TIMEOUT };
    struct http_call *call = visit->asker;
    visit->asker = NULL;
    call->visit = NULL;
    if (visit->outcome == OUT_ANSWERED)
        begin_answer(call);
    end_answer(call, ends[visit->outcome], visit);
}

/* ---------------------------------------------------------------- executor */

struct sent {
    struct executor *executor;
    uint64_t plug, ref;
    struct buf frame;
};

struct executor *executor_new(uv_loop_t *of, const char *path)
{
    (void)of;
    (void)path;
    return NULL;
}

void executor_open(struct executor *executor)
{
    (void)executor;
}

bool executor_is_ready(const struct executor *executor)
{
    return executor->ready;
}

bool executor_is_off(const struct executor *executor)
{
    (void)executor;
    return false;
}

bool executor_is_away(const struct executor *executor,
                      struct executor_absence *absence)
{
    if (executor->ready)
        return false;
    *absence = (struct executor_absence){
        .word = "lost",
        .text = "the world has taken it away",
        .since_ms = executor->away_us / 1000,
        .ms = (world.now_us - executor->away_us) / 1000,
    };
    return true;
}

void executor_notify(struct executor *executor, void (*on_state)(void *owner),
                     void *owner)
{
    (void)executor;
    (void)on_state;
    (void)owner;
}

const char *executor_isolation(const struct executor *executor)
{
    (void)executor;
    return "world";
}

const char *executor_libraries(const struct executor *executor)
{
    (void)executor;
    return "";
}

void executor_free(struct executor *executor)
{
    (void)executor;
}

void executor_watch(struct executor *executor, struct executor_watch *watch)
{
    watch->previous = NULL;
    watch->next = executor->watches;
    if (watch->next != NULL)
        watch->next->previous = watch;
    executor->watches = watch;
}

void executor_unwatch(struct executor *executor, struct executor_watch *watch)
{
    if (watch->next != NULL)
        watch->next->previous = watch->previous;
    if (watch->previous != NULL)
        watch->previous->next = watch->next;
    else if (executor->watches == watch)
        executor->watches = watch->next;
    watch->next = watch->previous = NULL;
}

static void on_sent(void *about)
{
    struct sent *sent = about;
    struct arena arena = { 0 };
    struct frame frame;
    struct err err;
    bool good = message_decode(&schema_frame, buf_view(&sent->frame), &frame,
                               &arena, &err);
    assert(good);
    if (sent->plug == sent->executor->plug)
        boxes_hear(sent->executor->host, &frame, sent->ref);
    arena_finish(&arena);
    buf_finish(&sent->frame);
    free(sent);
}

static bool send_frame(struct executor *executor, struct frame *frame)
{
    struct sent *sent = calloc(1, sizeof(*sent));
    struct err err;
    if (sent == NULL)
        abort();
    if (hosts[executor->host].muted ||
        (sown(SOWN_SESSION_LEFT) && frame->type == FRAME_CLOSE)) {
        free(sent);
        return true;
    }
    *sent = (struct sent){ executor, executor->plug, frame->ref, { 0 } };
    buf_init(&sent->frame, MAX_FRAME_BYTES);
    bool good = message_encode(&schema_frame, frame, &sent->frame, &err);
    assert(good);
    post(&executor->lane, chance_delay() / 2, on_sent, sent);
    return true;
}

uint64_t executor_ask(struct executor *executor, struct frame *frame,
                      executor_answer *answer, void *owner)
{
    size_t at = 0;
    if (!executor->ready)
        return 0;
    frame->ref = ++executor->refs;
    while (answer != NULL && executor->waits[at].answer != NULL)
        at++;
    assert(at < MOST_WAITS);
    if (answer != NULL)
        executor->waits[at] = (struct waiting){ frame->ref, answer, owner };
    send_frame(executor, frame);
    return frame->ref;
}

bool executor_add(struct executor *executor, struct frame *frame, uint64_t ref)
{
    frame->ref = ref;
    return executor->ready && send_frame(executor, frame);
}

void executor_dismiss(struct executor *executor, uint64_t ref)
{
    for (size_t i = 0; i < MOST_WAITS && ref != 0; i++)
        if (executor->waits[i].ref == ref)
            executor->waits[i] = (struct waiting){ 0 };
}

void executor_say(int host, uint64_t ref, const struct frame *frame)
{
    struct executor *executor = &hosts[host].executor;
    trace("executor -> host %d: %s %.*s", host, frame_type_names[frame->type],
          VIEW_ARG(frame->call));
    if (sown(SOWN_WAKEUP_LOST) && frame->type == FRAME_DONE && chance(8) == 0)
        return;
    for (size_t i = 0; i < MOST_WAITS; i++) {
        struct waiting wait = executor->waits[i];
        if (wait.answer != NULL && wait.ref == ref) {
            wait.answer(wait.owner, frame);
            return;
        }
    }
}

static void tell_watches(struct executor *executor, bool ready)
{
    struct executor_watch *watch = executor->watches, *next;
    for (; watch != NULL; watch = next) {
        next = watch->next; /* it may unwatch itself */
        watch->on_change(watch->owner, ready);
    }
}

struct back {
    struct executor *executor;
    uint64_t plug;
};

static void on_back(void *about)
{
    struct back *back = about;
    struct executor *executor = back->executor;
    bool current = back->plug == executor->plug && hosts[executor->host].up;
    free(back);
    if (!current || executor->ready)
        return;
    trace("host %d has its executor", executor->host);
    executor->ready = true;
    tell_watches(executor, true);
}

static void come_back(struct executor *executor, uint64_t after_us)
{
    struct back *back = calloc(1, sizeof(*back));
    assert(back != NULL);
    *back = (struct back){ executor, executor->plug };
    post(NULL, after_us, on_back, back);
}

void host_break_executor(int host, uint64_t away_us)
{
    struct executor *executor = &hosts[host].executor;
    boxes_unplug(host);
    executor->plug++;
    if (!hosts[host].up)
        return;
    bool was_ready = executor->ready;
    executor->ready = false;
    come_back(executor, away_us);
    if (!was_ready)
        return;
    executor->away_us = world.now_us;
    for (size_t i = 0; i < MOST_WAITS; i++) {
        struct waiting wait = executor->waits[i];
        executor->waits[i] = (struct waiting){ 0 };
        if (wait.answer != NULL)
            wait.answer(wait.owner, NULL);
    }
    tell_watches(executor, false);
}

bool host_has_executor(int host)
{
    return hosts[host].executor.ready;
}

/* ----------------------------------------------- what others learn of models
 */

void model_upset(void)
{
    struct breaker *breaker = &endpoints.items[0]->breaker;
    trace("the model wants to be left alone");
    breaker_wait(breaker, world_ms(), 500 + chance(chance(2) ? 3000 : 30000));
}

void model_teach(void)
{
    trace("the model turns out not to take a parameter");
    endpoints.items[0]->quirks |= QUIRK_NO_STREAM_OPTIONS;
}

/* -------------------------------------------------------------- the process */

static void must(bool done, const struct err *err)
{
    if (done)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(2);
}

static void sow_tools(void)
{
    for (size_t i = 0; i < toolset->catalog.count; i++)
        toolset->catalog.items[i]->repeat |= sown(SOWN_TOOL_REPEATED);
}

void ports_open(void)
{
    static const char *const words[] = { "world",
                                         "--slots",
                                         "4",
                                         "--name",
                                         "world",
                                         "--executor",
                                         "/world",
                                         "--models",
                                         SOURCE_DIR
                                         "/tests/unit/attempt/models.json",
                                         "--tools",
                                         SOURCE_DIR
                                         "/tests/unit/attempt/tools.json" };
    enum { WORDS = sizeof(words) / sizeof(words[0]) };
    char *argv[WORDS + 1] = { NULL };
    enum setting_request wish;
    struct err err = { .text = "settings" };
    for (size_t i = 0; i < WORDS; i++)
        argv[i] = strdup(words[i]);
    must(setting_load(&settings_table, &settings, argv, &wish, &err), &err);
    for (size_t i = 0; i < WORDS; i++)
        free(argv[i]);
    struct endpoint_source source = { .file = settings.endpoint.file };
    must(endpoints_load(&endpoints, &source, &err), &err);
    for (size_t i = 0; i < endpoints.count; i++) {
        rested[i] = endpoints.items[i]->breaker;
        quirks[i] = endpoints.items[i]->quirks;
    }
    must(prompts_load(&prompts, settings.prompts, &err), &err);
    mcp = mcp_new();
    must(catalog_load(&catalog, settings.tools.file, &err), &err);
    struct catalog all;
    catalog_copy(&all, &catalog);
    toolset = toolset_new(&all, &err);
    must(toolset != NULL, &err);
    must(toolset_approve(toolset, settings.approval.tools, mcp, &err), &err);
    sow_tools();
    opening = -1;
}

void ports_close(void)
{
    toolset_drop(toolset);
    catalog_finish(&catalog);
    mcp_free(mcp);
    prompts_finish(&prompts);
    endpoints_finish(&endpoints);
    setting_finish(&settings_table, &settings);
}

void ports_reset(void)
{
    for (size_t i = 0; i < endpoints.count; i++) {
        endpoints.items[i]->breaker = rested[i];
        endpoints.items[i]->quirks = quirks[i];
        endpoints.items[i]->window = 0;
    }
    memset(hosts, 0, sizeof(hosts));
    srand((unsigned)world.seed);
}

static void on_ended(struct consumer *consumer)
{
    (void)consumer;
}

static void on_control(void *owner)
{
    (void)owner;
}

static void on_refused(void *owner, const struct err *why)
{
    (void)owner;
    demand(false, "store", "Redis refuses the consumer: %s", why->text);
}

static void fill_consumer(struct host *host, int number)
{
    struct consumer *consumer = &host->consumer;
    struct err err;
    *consumer = (struct consumer){
        .loop = &loop,
        .jobs = &attempts,
        .settings = settings,
        .executor = &host->executor,
        .http = &host->http,
        .endpoints = endpoints,
        .prompts = prompts,
        .catalog = catalog,
        .mcp = mcp,
        .toolset = toolset,
        .tool_host = { .loop = &loop, .http = &host->http },
        .slots = calloc(SLOTS, sizeof(struct attempt *)),
        .stream_memory_left = CONSUMER_STREAM_BYTES,
        .on_ended = on_ended,
    };
    assert(consumer->slots != NULL);
    snprintf(consumer->name, sizeof(consumer->name), "world-%d", number);
    must(names_init(&consumer->names, settings.redis.prefix, &err), &err);
    /* Frames and answers of the one before may still be on their way. */
    uint64_t plug = host->executor.plug + 1, refs = host->executor.refs;
    host->executor = (struct executor){
        .host = number, .plug = plug, .refs = refs, .away_us = world.now_us
    };
    host->http.host = number;
}

void host_open(int number)
{
    struct host *host = &hosts[number];
    opening = number;
    fill_consumer(host, number);
    host->up = true;
    host->muted = false;
    host->partition = (struct partition){ .consumer = &host->consumer };
    struct control_setup setup = {
        .names = &host->consumer.names,
        .look_ms = UINT64_C(7) * 24 * 3600 * 1000,
        .answer_ms = settings.redis_ms,
        .durability = { .kind = DURABLE_ASYNC },
    };
    struct control_events events = { on_control, on_refused };
    host->partition.control = control_new(&loop, &setup, events, host);
    host->partition.lease = lease_new(&host->partition, NULL);
    control_open(host->partition.control);
    lease_open(host->partition.lease);
    lease_beat(host->partition.lease);
    opening = -1;
    come_back(&host->executor, 200);
    trace("host %d is started", number);
}

void host_kill(int number)
{
    struct host *host = &hosts[number];
    if (!host->up)
        return;
    trace("host %d is gone", number);
    host->muted = true;
    for (size_t i = 0; i < SLOTS; i++)
        if (host->consumer.slots[i] != NULL)
            attempt_stop(host->consumer.slots[i], STOP_LOST);
    demand(host->consumer.running == 0, "nothing_left",
           "an attempt that was told to let go is still there");
    lease_free(host->partition.lease);
    control_free(host->partition.control);
    free(host->consumer.slots);
    host->executor.plug++;
    boxes_unplug(number);
    server_lose(number);
    host->up = host->executor.ready = false;
}

bool host_is_up(int number)
{
    return hosts[number].up;
}

bool host_takes(int number)
{
    const struct host *host = &hosts[number];
    return host->up && consumer_claims(&host->consumer) &&
           host->consumer.running < SLOTS &&
           control_is_ready(host->partition.control);
}

size_t host_jobs(int number)
{
    return hosts[number].up ? hosts[number].consumer.running : 0;
}

void host_give(int number, redisReply *answer)
{
    struct take_reply started;
    struct err err = { 0 };
    trace("host %d takes the job", number);
    demand(transition_take_reply(answer, &started, &err), "store", "%s",
           err.text);
    attempts.on_started(&hosts[number].partition, &started);
    freeReplyObject(answer);
}

void host_drain(int number)
{
    struct host *host = &hosts[number];
    if (!host->up)
        return;
    trace("host %d drains", number);
    host->consumer.mode = MODE_DRAINING;
    for (size_t i = 0; i < SLOTS; i++)
        if (host->consumer.slots[i] != NULL)
            attempt_stop(host->consumer.slots[i], STOP_RELEASE);
}

void host_break_redis(int number)
{
    struct link *next;
    trace("host %d loses Redis", number);
    for (struct link *link = hosts[number].links; link; link = next) {
        next = link->next;
        link_break(link);
    }
}

void host_hear_cancel(int number, const char *id)
{
    char text[64];
    snprintf(text, sizeof(text), "cancel %s", id);
    redisReply said = { .type = REDIS_REPLY_STRING,
                        .str = text,
                        .len = strlen(text) };
    redisReply *parts[] = { &said, &said, &said };
    redisReply message = { .type = REDIS_REPLY_ARRAY,
                           .elements = 3,
                           .element = parts };
    for (struct link *link = hosts[number].links; link; link = link->next)
        if (link->hears && link->ready && hosts[number].up) {
            link->events.on_push(link->owner, &message);
            return;
        }
}

void host_judge(int number)
{
    const struct host *host = &hosts[number];
    if (!host->up)
        return;
    demand(host->consumer.running == 0, "nothing_left", "%zu jobs run",
           host->consumer.running);
    demand(host->consumer.stream_memory_left == CONSUMER_STREAM_BYTES,
           "nothing_left", "memory for streams is not given back");
    for (size_t i = 0; i < MOST_WAITS; i++)
        demand(host->executor.waits[i].answer == NULL, "nothing_left",
               "somebody waits for the executor");
    demand(host->executor.watches == NULL, "nothing_left",
           "somebody watches the executor");
}
