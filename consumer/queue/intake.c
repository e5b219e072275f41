/* intake.c - takes entries from the work streams. */
#include "consumer/queue/intake.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/alarm.h"
#include "consumer/attempt/attempt.h"
#include "consumer/log.h"
#include "consumer/queue/upkeep.h"
#include "schemas/redis/backoff.h"
#include "schemas/redis/link.h"

enum {
    BLOCK_MS = 2000,
    SCARCE_BLOCK_MS = 100,
    MARGIN_MS = 5000, /* a server may answer a blocked read late */
    MAX_ENTRY_ID = 48,
};

/* An entry for which no slot was offered: a blocking read counts per stream.
 * Its lease does not run; if we are slow others take it. */
struct spare {
    size_t stream;
    char entry[MAX_ENTRY_ID];
};

struct intake {
    struct partition *partition; /* NULL: freed, its link not yet */
    struct consumer *consumer;
    void (*turned)(void *owner, size_t offered);
    void *owner;
    struct link *link;
    struct alarm *alarm;
    struct key *streams;
    size_t count;
    size_t at;                  /* the stream to look at; count: block on all */
    bool asked;                 /* a command is on its way */
    size_t offered;             /* slots, to the read that is */
    size_t room;                /* of those, not taken */
    uint64_t client;            /* what Redis calls our connection */
    bool healing;               /* the alarm is set */
    size_t groups;              /* still to be made */
    unsigned int heals;         /* in a row */
    uint64_t turns, turns_seen; /* by intake_is_well() */
    struct spare *spares;
    size_t spare_count;
};

/* The read is over; also one that needed no slots, when others may need some.
 */
static void turn(struct intake *intake)
{
    size_t offered = intake->offered;
    intake->asked = false;
    intake->offered = intake->room = 0;
    if (intake->partition != NULL)
        intake->turned(intake->owner, offered);
}

/* --------------------------------------------------------------- healing */

static void heal_later(struct intake *intake, const char *why)
{
    uint64_t ms = backoff_ms(intake->heals++);
    log_line("claim.not_now", "{s:s, s:I}", "why", why, "again_ms",
             (json_int_t)ms);
    intake->healing = true;
    alarm_set(intake->alarm, ms);
}

static void on_group(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct intake *intake = owner;
    (void)why; /* BUSYGROUP is fine, the rest is seen by the next read */
    if (reply != NULL && reply->type == REDIS_REPLY_STATUS &&
        intake->partition != NULL)
        upkeep_mend(intake->partition->upkeep); /* made: who has deleted it? */
    if (reply != NULL && intake->groups > 0 && --intake->groups == 0)
        turn(intake);
}

/* From the beginning of the stream: what came before the group is work too. */
static void make_groups(struct intake *intake)
{
    intake->groups = intake->count;
    intake->asked = true;
    for (size_t i = 0; i < intake->count; i++) {
        struct command command;
        command_init(&command, "XGROUP");
        command_add_text(&command, "CREATE");
        command_add(&command, key_view(&intake->streams[i]));
        command_add_text(&command, NAMES_GROUP);
        command_add_text(&command, "0");
        command_add_text(&command, "MKSTREAM");
        if (!link_send(intake->link, &command, MARGIN_MS, on_group, intake))
            intake->asked = false;
        command_finish(&command);
    }
}

static void on_alarm(void *owner)
{
    struct intake *intake = owner;
    intake->healing = false;
    if (link_is_ready(intake->link))
        make_groups(intake);
}

/* --------------------------------------------------------------- reading */

static void take(struct intake *intake, size_t stream, struct view entry)
{
    if (intake->room > 0) {
        intake->room--;
        attempt_new(intake->partition, key_view(&intake->streams[stream]),
                    entry);
    } else if (intake->spare_count < intake->count) {
        struct spare *spare = &intake->spares[intake->spare_count++];
        spare->stream = stream;
        snprintf(spare->entry, sizeof(spare->entry), "%.*s", VIEW_ARG(entry));
    }
}

static void take_spares(struct intake *intake)
{
    while (intake->spare_count > 0 && intake->room > 0) {
        struct spare spare = intake->spares[0];
        intake->spare_count--;
        memmove(intake->spares, intake->spares + 1,
                intake->spare_count * sizeof(spare));
        take(intake, spare.stream, view_of(spare.entry));
    }
}

static size_t find_stream(const struct intake *intake, const redisReply *name)
{
    struct view key = { name->str, name->len };
    size_t at = 0;
    while (at < intake->count &&
           !view_equal(key_view(&intake->streams[at]), key))
        at++;
    return at;
}

/* [[stream, [[entry, fields], ...]], ...]; how many entries. */
static size_t take_reply(struct intake *intake, const redisReply *reply)
{
    size_t taken = 0;
    for (size_t i = 0; i < reply->elements; i++) {
        const redisReply *pair = reply->element[i];
        if (pair->type != REDIS_REPLY_ARRAY || pair->elements != 2)
            continue;
        size_t stream = find_stream(intake, pair->element[0]);
        const redisReply *entries = pair->element[1];
        for (size_t j = 0; j < entries->elements; j++) {
            const redisReply *entry = entries->element[j];
            if (stream == intake->count || entry->elements < 1 ||
                entry->element[0]->type != REDIS_REPLY_STRING)
                continue;
            take(intake, stream,
                 (struct view){ entry->element[0]->str,
                                entry->element[0]->len });
            taken++;
        }
    }
    return taken;
}

static void on_entries(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct intake *intake = owner;
    (void)why; /* reply NULL: the link says when it is back */
    intake->turns += reply != NULL;
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
        heal_later(intake, reply->str);
    } else if (reply != NULL) {
        bool array = reply->type == REDIS_REPLY_ARRAY;
        intake->heals = 0;
        if (array && take_reply(intake, reply) > 0)
            intake->at = 0;
        else if (intake->at < intake->count)
            intake->at++;
    }
    turn(intake);
}

static bool read_streams(struct intake *intake, bool block, uint64_t block_ms)
{
    struct command command;
    command_init(&command, "XREADGROUP");
    command_add_text(&command, "GROUP");
    command_add_text(&command, NAMES_GROUP);
    command_add_text(&command, intake->consumer->name);
    command_add_text(&command, "COUNT");
    command_add_uint(&command, block ? 1 : intake->room);
    if (block) {
        command_add_text(&command, "BLOCK");
        command_add_uint(&command, block_ms);
    }
    command_add_text(&command, "STREAMS");
    size_t first = block ? 0 : intake->at;
    size_t last = block ? intake->count : intake->at + 1;
    for (size_t i = first; i < last; i++)
        command_add(&command, key_view(&intake->streams[i]));
    for (size_t i = first; i < last; i++)
        command_add_text(&command, ">");
    bool sent = link_send(intake->link, &command, block_ms + MARGIN_MS,
                          on_entries, intake);
    command_finish(&command);
    return sent;
}

bool intake_is_hungry(const struct intake *intake)
{
    return !intake->asked && !intake->healing &&
           intake->consumer->mode == MODE_SERVING &&
           link_is_ready(intake->link) &&
           control_is_ready(intake->partition->control);
}

size_t intake_offer(struct intake *intake, size_t slots, bool scarce)
{
    bool block = intake->at == intake->count;
    intake->room = slots;
    take_spares(intake);
    if (block && intake->room > 1)
        intake->room = 1; /* the others may have more to do */
    if (intake->room > 0)
        intake->asked =
            read_streams(intake, block, scarce ? SCARCE_BLOCK_MS : BLOCK_MS);
    if (!intake->asked)
        intake->room = 0;
    intake->offered = intake->room;
    return intake->offered;
}

bool intake_is_well(struct intake *intake)
{
    bool turned = intake->turns != intake->turns_seen;
    intake->turns_seen = intake->turns;
    return turned || !intake->asked || !link_is_ready(intake->link);
}

/* ------------------------------------------------------------------ life */

void intake_stop(struct intake *intake)
{
    struct command command;
    intake->spare_count = 0; /* their leases end, nobody is charged */
    if (!intake->asked || intake->client == 0)
        return;
    /* Through the control link: a job that is handed back after this must not
     * come in again by a read that still waits. */
    command_init(&command, "CLIENT");
    command_add_text(&command, "UNBLOCK");
    command_add_uint(&command, intake->client);
    control_send(intake->partition->control, &command, NULL, NULL);
    command_finish(&command);
}

static void on_client(void *owner, const redisReply *reply,
                      const struct err *why)
{
    struct intake *intake = owner;
    (void)why;
    if (reply != NULL && reply->type == REDIS_REPLY_INTEGER)
        intake->client = (uint64_t)reply->integer;
}

static void ask_client(struct intake *intake)
{
    struct command command;
    intake->client = 0;
    command_init(&command, "CLIENT");
    command_add_text(&command, "ID");
    link_send(intake->link, &command, MARGIN_MS, on_client, intake);
    command_finish(&command);
}

static void on_ready(void *owner)
{
    struct intake *intake = owner;
    intake->at = 0;
    ask_client(intake);
    make_groups(intake);
}

static void on_lost(void *owner, const struct err *why)
{
    struct intake *intake = owner;
    intake->asked = false;
    intake->groups = 0;
    log_line("claim.lost", "{s:s}", "why", why->text);
}

struct intake *intake_new(struct partition *partition,
                          const struct address *address,
                          void (*turned)(void *owner, size_t offered),
                          void *owner)
{
    struct consumer *consumer = partition->consumer;
    struct intake *intake = calloc(1, sizeof(*intake));
    if (intake == NULL)
        abort();
    intake->partition = partition;
    intake->consumer = consumer;
    intake->turned = turned;
    intake->owner = owner;
    intake->streams =
        consumer_streams(consumer, partition->number, &intake->count);
    intake->spares = calloc(intake->count, sizeof(struct spare));
    intake->alarm = alarm_new(consumer->loop, on_alarm, intake);
    struct link_events events = { .on_ready = on_ready, .on_lost = on_lost };
    intake->link = link_new(consumer->loop, address,
                            names_slot(&consumer->names, partition->number),
                            "consumer-claim", events, intake);
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
    free(intake->spares);
    free(intake);
}

void intake_free(struct intake *intake)
{
    if (intake == NULL)
        return;
    alarm_free(intake->alarm);
    intake->alarm = NULL;
    intake->partition = NULL;
    link_free(intake->link, on_closed, intake);
}
