/* ledger.c - holds back the answers to writes until the writes are durable. */
#include "consumer/queue/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/redis/reply.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

enum {
    /* What a question lets Redis wait at most, with all writes behind it; then
     * the same is asked again. */
    WAIT_MS = 1000,
    MARGIN_MS = 5000, /* how much later than that a server may answer */
    AGAIN_MS = 1000,  /* until the next question, after an error */
};

/* A write, from ledger_send() until it is durable or lost. */
struct ledger_write {
    struct ledger_write *next; /* once Redis has answered it */
    struct ledger *ledger;
    link_done *done;
    void *owner;
    uint64_t number;   /* in the order of sending, from 1 */
    redisReply *reply; /* kept for done, once Redis has answered */
};

struct ledger {
    struct link *link;
    const struct names *names;
    unsigned int partition;
    struct durability durability;
    uint64_t answer_ms;
    struct alarm *alarm;
    struct ledger_events events;
    void *owner;
    struct ledger_write *first, **end; /* answered by Redis, not durable yet, in
                                          order */
    uint64_t sent;                     /* writes, since the beginning */
    uint64_t asked; /* the number of the last write that the question on its way
                       covers; 0: there is no question on its way */
    bool marked;    /* the mark of that question was written */
    bool ready;     /* the server can tell what is durable */
    bool welcome;   /* it was ready once */
    bool late; /* a write is not durable in time; logged once, until it is */
};

static void ledger_ask(struct ledger *ledger);

/* ------------------------------------------------------------------ writes */

static void ledger_hold(struct ledger *ledger, struct ledger_write *entry)
{
    entry->reply = link_keep_reply(ledger->link);
    *ledger->end = entry;
    ledger->end = &entry->next;
}

/* Answers the senders of all writes up to number. lost: what became of them is
 * not known. The list is right before each call: the sender may send again. */
static void ledger_settle(struct ledger *ledger, uint64_t number,
                          const struct err *lost)
{
    while (ledger->first && ledger->first->number <= number) {
        struct ledger_write *entry = ledger->first;
        ledger->first = entry->next;
        if (!ledger->first)
            ledger->end = &ledger->first;
        entry->done(entry->owner, !lost ? entry->reply : NULL, lost);
        freeReplyObject(entry->reply);
        free(entry);
    }
}

static void on_written(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct ledger_write *entry = owner;
    if (reply && reply->type != REDIS_REPLY_ERROR) {
        ledger_hold(entry->ledger, entry);
        ledger_ask(entry->ledger);
        return;
    }
    entry->done(entry->owner, reply, why);
    free(entry);
}

bool ledger_send(struct ledger *ledger, const struct command *command,
                 link_done *done, void *owner)
{
    if (!ledger->ready)
        return false;
    struct ledger_write *entry = calloc(1, sizeof(*entry));
    if (!entry)
        abort();
    *entry = (struct ledger_write){
        .ledger = ledger,
        .done = done,
        .owner = owner,
        .number = ledger->sent + 1,
    };
    if (!link_send(ledger->link, command, ledger->answer_ms, on_written,
                   entry)) {
        free(entry);
        return false;
    }
    ledger->sent++;
    return true;
}

/* ------------------------------------------------------------ the question */

static void on_marked(void *owner, const redisReply *reply,
                      const struct err *lost)
{
    struct ledger *ledger = owner;
    (void)lost;
    ledger->marked = reply && reply->type != REDIS_REPLY_ERROR;
}

static bool send_question(struct ledger *ledger, uint64_t wait_ms,
                          link_done *done)
{
    struct command mark, question;
    durability_mark(&mark,
                    names_of_root(ledger->names, ledger->partition, "mark"));
    durability_ask(&question, &ledger->durability, wait_ms);
    bool sent =
        link_send(ledger->link, &mark, ledger->answer_ms, on_marked, ledger) &&
        link_send(ledger->link, &question, wait_ms + MARGIN_MS, done, ledger);
    command_finish(&mark);
    command_finish(&question);
    return sent;
}

static void say_late(struct ledger *ledger, const struct err *why)
{
    if (!ledger->late)
        log_line("durability.late", "{s:s}", "why", why->text);
    ledger->late = true;
}

static void on_told(void *owner, const redisReply *reply,
                    const struct err *lost)
{
    struct ledger *ledger = owner;
    uint64_t covered = ledger->asked;
    struct err err = { 0 };
    (void)lost;
    ledger->asked = 0;
    if (!reply)
        return; /* on_lost() follows */
    if (!ledger->marked)
        err_set(&err, ERR_RETRY, "not_durable",
                "the mark behind the writes could not be written");
    else if (durability_told(&ledger->durability, reply, &err)) {
        if (ledger->late)
            log_line("durability.reached", "{}");
        ledger->late = false;
        ledger_settle(ledger, covered, NULL);
        ledger_ask(ledger);
        return;
    }
    say_late(ledger, &err);
    if (reply->type == REDIS_REPLY_ERROR || !ledger->marked)
        alarm_set(ledger->alarm, AGAIN_MS);
    else
        ledger_ask(ledger);
}

/* Asks when there is something to ask for and no question is on its way. All
 * that was sent before it is covered: the connection keeps the order. */
static void ledger_ask(struct ledger *ledger)
{
    if (ledger->asked == 0 && ledger->first && !alarm_is_set(ledger->alarm) &&
        send_question(ledger, WAIT_MS, on_told))
        ledger->asked = ledger->sent;
}

/* ------------------------------------------------------------- connection */

/* The answer to the first question of a connection shows whether the server can
 * tell at all. Too few replicas just now are no reason not to serve: writes
 * wait for them. */
static void on_proven(void *owner, const redisReply *reply,
                      const struct err *lost)
{
    struct ledger *ledger = owner;
    struct err err = { 0 };
    (void)lost;
    if (!reply)
        return;
    bool reached = durability_told(&ledger->durability, reply, &err);
    if (reached || strcmp(err.code, "not_durable") == 0) {
        if (!reached)
            say_late(ledger, &err);
        ledger->ready = ledger->welcome = true;
        ledger->events.on_ready(ledger->owner);
        return;
    }
    say_late(ledger, &err);
    if (err.kind == ERR_REJECT && !ledger->welcome)
        ledger->events.on_refused(ledger->owner, &err);
    else
        alarm_set(ledger->alarm, AGAIN_MS);
}

static void on_ready(void *owner)
{
    send_question(owner, WAIT_MS, on_proven);
}

static void on_lost(void *owner, const struct err *why)
{
    struct ledger *ledger = owner;
    ledger->ready = false;
    alarm_stop(ledger->alarm);
    log_line("durability.lost", "{s:s}", "why", why->text);
    ledger_settle(ledger, UINT64_MAX, why);
}

static void on_alarm(void *owner)
{
    struct ledger *ledger = owner;
    if (ledger->ready)
        ledger_ask(ledger);
    else if (link_is_ready(ledger->link))
        on_ready(ledger);
}

struct ledger *ledger_new(uv_loop_t *loop, const struct ledger_setup *setup,
                          struct ledger_events events, void *owner)
{
    struct ledger *ledger = calloc(1, sizeof(*ledger));
    if (!ledger)
        abort();
    *ledger = (struct ledger){ .names = setup->names,
                               .partition = setup->partition,
                               .durability = setup->durability,
                               .answer_ms = setup->answer_ms,
                               .events = events,
                               .owner = owner };
    ledger->end = &ledger->first;
    ledger->alarm = alarm_new(loop, on_alarm, ledger);
    struct link_events heard = { .on_ready = on_ready, .on_lost = on_lost };
    ledger->link = link_new(loop, setup->address,
                            names_slot(setup->names, setup->partition),
                            "consumer-ledger", heard, ledger);
    return ledger;
}

void ledger_open(struct ledger *ledger)
{
    if (ledger)
        link_open(ledger->link);
}

void ledger_switch(struct ledger *ledger, const struct node *master)
{
    if (ledger)
        link_switch(ledger->link, master);
}

bool ledger_is_ready(const struct ledger *ledger)
{
    return !ledger || ledger->ready;
}

static void on_closed(void *owner)
{
    static const struct err closed = { ERR_RETRY, "redis_unavailable",
                                       "the ledger is closed" };
    struct ledger *ledger = owner;
    ledger_settle(ledger, UINT64_MAX, &closed);
    free(ledger);
}

void ledger_free(struct ledger *ledger)
{
    if (!ledger)
        return;
    ledger->ready = false;
    alarm_free(ledger->alarm);
    link_free(ledger->link, on_closed, ledger);
}
