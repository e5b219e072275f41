/* store.c - keeps what the consumer writes to Redis, in order, until Redis has
 * it. */
#include "consumer/queue/store.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/numbers.h"
#include "consumer/queue/ledger.h"
#include "schemas/redis/info.h"
#include "schemas/redis/reply.h"
#include "schemas/redis/transition.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

enum {
    AGAIN_MS = 200, /* until the next try, after Redis said "not just now" */
    /* Of one command with ends: Redis serves nobody else while it carries it
     * out. */
    MOST_ENDS = 32,
    MOST_ENDS_BYTES = 1 << 20, /* an end that is larger goes alone */
};

struct control {
    struct link *link;
    struct ledger *ledger; /* NULL: a write counts when it is answered */
    const struct names *names;
    unsigned int partition;
    uint64_t look_ms;
    uint64_t answer_ms;
    bool looks;          /* at the server, too */
    struct alarm *again; /* the next try, after "not just now" */
    struct alarm *look;  /* at the library, while all is well */
    struct control_events events;
    void *owner;
    struct store *stores;           /* the newest first */
    struct write *ends, **last_end; /* that were not sent yet, in order */
    struct alarm *turn; /* of 0 ms: rings when all callbacks of this iteration
                           of the loop have added their ends */
    bool ready;         /* stores may send */
    bool welcome; /* it was ready once: what is wrong from then on is no mistake
                     of the operator, and waiting may help */
    bool refused; /* the server must not be trusted with jobs */
    bool closing; /* control_free() was called */
};

enum write_kind {
    PLAIN,
    COMMITTED, /* goes through the ledger */
    END,       /* as well, in one command with the ends of other jobs */
};

/* A write, from store_send() to its answer. What command or finish points to is
 * in the same allocation, behind the struct. It outlives its store when that is
 * finished while the write is on its way. */
struct write {
    struct write *next;     /* of its store */
    struct write *next_end; /* of the control's ends */
    struct store *store;    /* NULL: freed, no answer is wanted */
    struct control *control;
    store_done *done;
    void *owner;
    enum write_kind kind;
    union {
        struct command command;
        struct finish finish;
    };
};

/* Ends that are on their way in one command; they may outlive the control. */
struct end_batch {
    size_t count;
    struct write *ends[MOST_ENDS];
};

static void store_push(struct store *store);

/* --------------------------------------------------------- making writes */

static struct write *write_new(enum write_kind kind, size_t bytes)
{
    struct write *write = malloc(sizeof(*write) + bytes);
    if (!write)
        abort();
    memset(write, 0, sizeof(*write));
    write->kind = kind;
    return write;
}

static struct write *write_command(enum write_kind kind,
                                   const struct command *command)
{
    struct write *write = write_new(kind, command_copy_bytes(command));
    command_copy(&write->command, command, write + 1);
    return write;
}

static struct view store_copy(char **at, struct view bytes)
{
    struct view copied = { *at, bytes.len };
    if (bytes.len > 0)
        memcpy(*at, bytes.data, bytes.len);
    *at += bytes.len;
    return copied;
}

static struct write *write_end(const struct finish *finish)
{
    struct write *write =
        write_new(END, finish->lease.id.len + finish->result.len +
                           finish->event_data.len + finish->error_code.len);
    struct finish *own = &write->finish;
    char *at = (char *)(write + 1);
    *own = *finish;
    own->lease.id = store_copy(&at, finish->lease.id);
    own->result = store_copy(&at, finish->result);
    own->event_data = store_copy(&at, finish->event_data);
    own->error_code = store_copy(&at, finish->error_code);
    return write;
}

/* --------------------------------------------------------------- sending */

/* Stops all stores: what Redis could not take from one it will not take from
 * the others. */
static void retry_later(struct control *control)
{
    control->ready = false;
    if (!control->closing && !alarm_is_set(control->again))
        alarm_set(control->again, AGAIN_MS);
}

static void pop(struct store *store)
{
    store->sent = false;
    store->first = store->first->next;
    if (!store->first)
        store->last = NULL;
}

/* What a write calls: "journal" of quern_v1_journal. */
static struct view store_function(const struct write *write)
{
    const struct command *command = &write->command;
    if (write->kind == END)
        return VIEW("finish");
    struct view name = command->argc < 2 ? VIEW("")
                                         : (struct view){ command->argv[1],
                                                          command->argvlen[1] };
    size_t prefix = strlen("quern_v1_");
    return view_starts(name, "quern_v1_")
               ? (struct view){ name.data + prefix, name.len - prefix }
               : name;
}

/* The next write is sent only after the sender was told: an attempt that has
 * lost its job drops what waits. It may also finish the store, and then
 * write->store is NULL. */
static void store_refuse(struct write *write, const struct err *err)
{
    if (strcmp(err->code, "stale") == 0)
        metric_add(NUMBER_WRITES_FENCED, 1, LABELS(store_function(write)));
    if (write->done)
        write->done(write->owner, NULL, err);
    struct store *store = write->store;
    if (store) {
        pop(store);
        store_push(store);
    }
    free(write);
}

/* The answer to the write that its store has sent. Neither reply nor err: the
 * outcome is not known. */
static void store_settle(struct write *write, const redisReply *reply,
                         const struct err *err)
{
    struct store *store = write->store;
    if (!store) {
        free(write);
        return;
    }
    if (!reply && err && err->kind != ERR_RETRY) {
        store_refuse(write, err);
        return;
    }
    if (!reply) {
        store->sent = false;
        if (!err)
            return; /* it is sent again once the control is ready */
        if (write->control->ready) /* else another write has logged it */
            log_line("redis.not_now", "{s:s}", "why", err->text);
        retry_later(write->control);
        return;
    }
    /* First the next write, so that it need not wait for what done does. Then
     * the store may be gone: done may end its attempt. */
    pop(store);
    store_push(store);
    if (write->done)
        write->done(write->owner, reply, err);
    free(write);
}

static void on_answer(void *owner, const redisReply *reply,
                      const struct err *lost)
{
    struct err err;
    (void)lost;
    if (!reply)
        store_settle(owner, NULL, NULL);
    else if (reply_ok(reply, &err))
        store_settle(owner, reply, NULL);
    else
        store_settle(owner, NULL, &err);
}

static bool send_durable(struct control *control, const struct command *command,
                         link_done *done, void *owner)
{
    return control->ledger ? ledger_send(control->ledger, command, done, owner)
                           : control_send(control, command, done, owner);
}

/* ---------------------------------------------------------- ends of jobs */

/* Those of one iteration of the loop go in one command, which is less work for
 * Redis than one for each. Each has its own answer: one that Redis refuses
 * holds up no other. No end waits for others: all that are added in one
 * iteration are sent before the loop waits again. */

static void on_ends_answer(void *owner, const redisReply *reply,
                           const struct err *lost)
{
    CLEANUP(cleanup_free) struct end_batch *batch = owner;
    struct err err;
    (void)lost;
    bool each = reply && transition_finished_many(reply, batch->count, &err);
    for (size_t i = 0; i < batch->count; i++) {
        if (each)
            on_answer(batch->ends[i], reply->element[i], NULL);
        else
            store_settle(batch->ends[i], NULL, reply ? &err : NULL);
    }
}

static size_t size_of(const struct finish *finish)
{
    return finish->result.len + finish->event_data.len;
}

/* The oldest ones, as many as fit in one command. */
static struct end_batch *next_batch(struct control *control)
{
    size_t bytes = 0;
    struct end_batch *batch = malloc(sizeof(*batch));
    if (!batch)
        abort();
    batch->count = 0;
    do {
        struct write *end = control->ends;
        control->ends = end->next_end;
        bytes += size_of(&end->finish);
        batch->ends[batch->count++] = end;
    } while (control->ends && batch->count < MOST_ENDS &&
             bytes + size_of(&control->ends->finish) <= MOST_ENDS_BYTES);
    if (!control->ends)
        control->last_end = &control->ends;
    return batch;
}

static void send_batch(struct control *control, struct end_batch *batch)
{
    struct finish finishes[MOST_ENDS];
    struct command command;
    for (size_t i = 0; i < batch->count; i++)
        finishes[i] = batch->ends[i]->finish;
    transition_finish_many(&command, control->names, control->partition,
                           finishes, batch->count);
    if (!send_durable(control, &command, on_ends_answer, batch))
        on_ends_answer(batch, NULL, NULL);
    command_finish(&command);
}

static void on_turn(void *owner)
{
    struct control *control = owner;
    while (control->ends)
        send_batch(control, next_batch(control));
}

static void add_end(struct control *control, struct write *end)
{
    end->next_end = NULL;
    *control->last_end = end;
    control->last_end = &end->next_end;
    if (!alarm_is_set(control->turn))
        alarm_set(control->turn, 0);
}

static void store_push(struct store *store)
{
    struct control *control = store->control;
    struct write *write = store->first;
    if (store->sent || !write || !control->ready)
        return;
    store->sent = true;
    if (write->kind == END)
        add_end(control, write);
    else if (write->kind == COMMITTED)
        store->sent = send_durable(control, &write->command, on_answer, write);
    else
        store->sent = control_send(control, &write->command, on_answer, write);
}

/* --------------------------------------------------------------- control */

static void push_all(struct control *control)
{
    for (struct store *store = control->stores; store; store = store->next)
        store_push(store);
}

static void become_ready(struct control *control)
{
    alarm_set(control->look, control->look_ms);
    if (control->ready || control->refused || !ledger_is_ready(control->ledger))
        return;
    control->ready = true;
    control->welcome = true;
    push_all(control);
    control->events.on_ready(control->owner);
}

static void on_loaded(void *owner, const redisReply *reply,
                      const struct err *why)
{
    struct control *control = owner;
    struct err err;
    if (!reply)
        return; /* on_link_ready() begins anew */
    (void)why;
    if (reply_ok(reply, &err)) {
        log_line("library.loaded", "{s:I}", "build",
                 (json_int_t)transition_build);
        become_ready(control);
        return;
    }
    if (strncmp(err.text, "NOPERM", strlen("NOPERM")) == 0)
        err_prefix(&err, "the function library is absent or older than this "
                         "consumer, and its login may not load it (let an "
                         "administrator: deploy/REDIS.md)");
    log_line("library.refused", "{s:s}", "why", err.text);
    if (err.kind == ERR_REJECT && !control->welcome)
        control->events.on_refused(control->owner, &err);
    else
        retry_later(control);
}

static void on_build(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct control *control = owner;
    (void)why;
    if (!reply)
        return;
    if (reply->type == REDIS_REPLY_INTEGER &&
        reply->integer >= (long long)transition_build) {
        become_ready(control);
        return;
    }
    struct command command;
    transition_load_command(&command);
    link_send(control->link, &command, control->answer_ms, on_loaded, control);
    command_finish(&command);
}

static void check_library(struct control *control)
{
    struct command command;
    transition_build_command(&command);
    link_send(control->link, &command, control->answer_ms, on_build, control);
    command_finish(&command);
}

/* A server that may lose jobs ends the consumer at its start only. A fault that
 * comes while it serves is logged, and quern doctor finds it: the jobs that run
 * are better off with this consumer than without. */
static void heed_finding(struct control *control, const struct finding *finding)
{
    struct err err;
    if (finding->level == INFO_UNSEEN)
        log_line("redis.unseen", "{s:s}", "why", finding->text);
    if (finding->level == INFO_FINE || finding->level == INFO_UNSEEN)
        return;
    log_line("redis.unsafe", "{s:s, s:s, s:s}", "check", finding->check, "why",
             finding->text, "remedy", finding->remedy);
    if (finding->level != INFO_FAULT || control->welcome || control->refused)
        return;
    control->refused = true;
    err_set(&err, ERR_REJECT, "redis_refused", "%s: %s", finding->text,
            finding->remedy);
    control->events.on_refused(control->owner, &err);
}

static void on_info(void *owner, const redisReply *reply, const struct err *why)
{
    struct finding findings[INFO_CHECKS];
    struct err err;
    (void)why;
    if (!reply)
        return;
    if (!reply_ok(reply, &err)) {
        log_line("redis.unseen", "{s:s}", "why", err.text);
        return;
    }
    info_judge((struct view){ reply->str, reply->len }, NULL, findings);
    for (size_t i = 0; i < INFO_CHECKS; i++)
        heed_finding(owner, &findings[i]);
}

/* Called before check_library(): Redis answers in order, so a server that must
 * not be trusted is found before the control is ready. */
static void look_at_server(struct control *control)
{
    struct command command;
    info_ask(&command);
    link_send(control->link, &command, control->answer_ms, on_info, control);
    command_finish(&command);
}

static void on_link_ready(void *owner)
{
    struct control *control = owner;
    if (control->looks)
        look_at_server(control);
    check_library(control);
}

static void on_link_lost(void *owner, const struct err *why)
{
    struct control *control = owner;
    control->ready = false;
    log_line("redis.lost", "{s:s}", "why", why->text);
    if (!control->welcome && strcmp(why->code, "redis_refused") == 0)
        control->events.on_refused(control->owner, why);
}

/* Of both alarms. The library is checked while all is well, too: a consumer of
 * an older build may have loaded its own just after this one had looked, or
 * somebody may have deleted it. */
static void on_again(void *owner)
{
    struct control *control = owner;
    if (link_is_ready(control->link))
        check_library(control);
}

/* The control is ready only when its ledger is, but the ledger may break alone
 * later: then only commits wait, and are sent again here. */
static void on_ledger_ready(void *owner)
{
    struct control *control = owner;
    if (control->ready)
        push_all(control);
    else if (link_is_ready(control->link))
        check_library(control);
}

static void on_ledger_refused(void *owner, const struct err *why)
{
    struct control *control = owner;
    control->events.on_refused(control->owner, why);
}

static struct ledger *ledger_of(uv_loop_t *loop,
                                const struct control_setup *setup,
                                struct control *control)
{
    struct ledger_events events = { on_ledger_ready, on_ledger_refused };
    struct ledger_setup ledger = {
        .address = setup->address,
        .names = setup->names,
        .partition = setup->partition,
        .durability = setup->durability,
        .answer_ms = setup->answer_ms,
    };
    if (setup->durability.kind == DURABLE_ASYNC)
        return NULL;
    return ledger_new(loop, &ledger, events, control);
}

struct control *control_new(uv_loop_t *loop, const struct control_setup *setup,
                            struct control_events events, void *owner)
{
    struct control *control = calloc(1, sizeof(*control));
    if (!control)
        abort();
    *control = (struct control){ .names = setup->names,
                                 .partition = setup->partition,
                                 .look_ms = setup->look_ms,
                                 .answer_ms = setup->answer_ms,
                                 .looks = setup->looks,
                                 .events = events,
                                 .owner = owner };
    control->again = alarm_new(loop, on_again, control);
    control->look = alarm_new(loop, on_again, control);
    control->last_end = &control->ends;
    control->turn = alarm_new(loop, on_turn, control);
    struct link_events heard = { .on_ready = on_link_ready,
                                 .on_lost = on_link_lost };
    control->link = link_new(loop, setup->address,
                             names_slot(setup->names, setup->partition),
                             "consumer", heard, control);
    control->ledger = ledger_of(loop, setup, control);
    return control;
}

void control_open(struct control *control)
{
    link_open(control->link);
    ledger_open(control->ledger);
}

void control_switch(struct control *control, const struct node *master)
{
    link_switch(control->link, master);
    ledger_switch(control->ledger, master);
}

bool control_is_ready(const struct control *control)
{
    return control->ready;
}

static void on_link_closed(void *owner)
{
    free(owner);
}

void control_free(struct control *control)
{
    if (!control)
        return;
    control->ready = false;
    control->closing = true;
    alarm_free(control->again);
    alarm_free(control->look);
    alarm_free(control->turn);
    while (control->ends) /* none has a store any more */
        on_ends_answer(next_batch(control), NULL, NULL);
    ledger_free(control->ledger);
    link_free(control->link, on_link_closed, control);
}

bool control_send(struct control *control, const struct command *command,
                  link_done *done, void *owner)
{
    return control->ready &&
           link_send(control->link, command, control->answer_ms, done, owner);
}

/* ----------------------------------------------------------------- store */

void store_init(struct store *store, struct control *control)
{
    *store = (struct store){ .control = control, .next = control->stores };
    if (store->next)
        store->next->previous = store;
    control->stores = store;
}

void store_drop(struct store *store)
{
    struct write *write = store->first;
    if (write && store->sent) {
        struct write *rest = write->next;
        write->next = NULL;
        store->last = write;
        write = rest;
    } else {
        store->first = store->last = NULL;
    }
    while (write) {
        struct write *next = write->next;
        free(write);
        write = next;
    }
}

void store_finish(struct store *store)
{
    if (!store || !store->control)
        return;
    store_drop(store);
    if (store->first)
        /* It is on its way; store_settle() frees it. */
        store->first->store = NULL;
    if (store->next)
        store->next->previous = store->previous;
    if (store->previous)
        store->previous->next = store->next;
    else
        store->control->stores = store->next;
    *store = (struct store){ 0 };
}

static void store_append(struct store *store, struct write *write,
                         store_done *done, void *owner)
{
    write->store = store;
    write->control = store->control;
    write->done = done;
    write->owner = owner;
    if (store->last)
        store->last->next = write;
    else
        store->first = write;
    store->last = write;
    store_push(store);
}

void store_send(struct store *store, const struct command *command,
                store_done *done, void *owner)
{
    store_append(store, write_command(PLAIN, command), done, owner);
}

void store_commit(struct store *store, const struct command *command,
                  store_done *done, void *owner)
{
    store_append(store, write_command(COMMITTED, command), done, owner);
}

void store_end(struct store *store, const struct finish *finish,
               store_done *done, void *owner)
{
    store_append(store, write_end(finish), done, owner);
}

unsigned int store_partition(const struct store *store)
{
    return store->control->partition;
}

bool store_is_empty(const struct store *store)
{
    return !store->first;
}
