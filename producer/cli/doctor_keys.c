/* doctor_keys.c - what the keys of the fleet say: other prefixes, partitions on
 * one master, leases that nobody takes back, jobs that die. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer/cli/doctor.h"
#include "schemas/message/buf.h"

enum {
    SCANS = 100, /* of 1000 keys each: a larger Redis is not searched wholly */
    LATE_MS = 2 * 60 * 1000,
    HOUR_MS = 60 * 60 * 1000,
    DEAD_ENOUGH = 3, /* fewer in an hour are left to quern dead ls */
    PREFIXES = 4,    /* that are named */
};

/* --- prefixes ------------------------------------------------------------- */

/* Prefixes of other fleets that were seen. */
struct prefixes {
    char list[PREFIXES][NAMES_MAX_PREFIX + 1];
    size_t count;
    bool ours; /* the fleet's own key is there */
};

static void note_key(struct doctor *doctor, const redisReply *key,
                     struct prefixes *seen)
{
    struct key own = names_fleet(&doctor->names);
    size_t len;
    char prefix[NAMES_MAX_PREFIX + 1];

    if (key->type != REDIS_REPLY_STRING || key->len < strlen("fleet"))
        return;
    len = key->len - strlen("fleet");
    if (strcmp(key->str, own.text) == 0)
        seen->ours = true;
    if (len > NAMES_MAX_PREFIX || len == 0 ||
        strncmp(key->str, doctor->names.prefix, strlen(doctor->names.prefix)) ==
            0)
        return;
    snprintf(prefix, sizeof(prefix), "%.*s", (int)len, key->str);
    if (seen->count < PREFIXES && names_check_prefix(prefix, NULL))
        memcpy(seen->list[seen->count++], prefix, sizeof(prefix));
}

/* False: SCAN failed. *whole: all keys were seen. */
static bool scan_fleets(struct doctor *doctor, struct prefixes *seen,
                        bool *whole, struct err *err)
{
    char cursor[24] = "0";

    *whole = false;
    for (int i = 0; i < SCANS && !*whole; i++) {
        CLEANUP(cleanup_answer)
        redisReply *reply = ASK(doctor, err, "SCAN", cursor, "MATCH", "*fleet",
                                "COUNT", "1000", "TYPE", "hash");
        if (!reply || reply->elements != 2 || !reply->element[0]->str)
            return false;
        snprintf(cursor, sizeof(cursor), "%s", reply->element[0]->str);
        for (size_t k = 0; k < reply->element[1]->elements; k++)
            note_key(doctor, reply->element[1]->element[k], seen);
        *whole = strcmp(cursor, "0") == 0;
    }
    return true;
}

void check_prefixes(struct doctor *doctor)
{
    struct prefixes seen = { 0 };
    struct err err = { 0 };
    char others[PREFIXES * (NAMES_MAX_PREFIX + 2) + 1] = "";
    bool whole;

    if (!scan_fleets(doctor, &seen, &whole, &err)) {
        find(doctor, UNSEEN, "prefixes", remedy_of(doctor, err.text),
             "SCAN: %s", err.text);
        return;
    }
    for (size_t i = 0; i < seen.count; i++)
        snprintf(others + strlen(others), sizeof(others) - strlen(others),
                 "%s%s", i > 0 ? ", " : "", seen.list[i]);
    if (seen.count > 0 && !seen.ours && whole)
        find(doctor, WARNING, "prefixes",
             "name it: --prefix, QUERN_PREFIX, the same in all programs",
             "no fleet has the prefix %s here, but one has %s: is the prefix "
             "right?",
             doctor->names.prefix, others);
    else if (seen.count > 0)
        find(doctor, NOTE, "prefixes", NULL,
             "another fleet shares this Redis: %s", others);
    else if (!whole)
        find(doctor, UNSEEN, "prefixes", NULL,
             "there are more keys than doctor looks through (%d)",
             SCANS * 1000);
    else
        find(doctor, FINE, "prefixes", NULL, "no other fleet is here");
}

/* --- partitions ----------------------------------------------------------- */

/* Masters that have slots: each range of CLUSTER SLOTS names its own. */
static size_t count_masters(const redisReply *slots)
{
    const char *names[1024];
    size_t count = 0;

    for (size_t i = 0; i < slots->elements && count < 1024; i++) {
        const redisReply *range = slots->element[i];
        const redisReply *master =
            range->elements > 2 ? range->element[2] : NULL;
        const char *id =
            master && master->elements > 2 ? master->element[2]->str : NULL;
        size_t k = 0;

        while (id && k < count && strcmp(names[k], id) != 0)
            k++;
        if (id && k == count)
            names[count++] = id;
    }
    return count;
}

void check_partitions(struct doctor *doctor)
{
    struct err err = { 0 };
    bool together = true;

    if (doctor->address.kind != ADDRESS_CLUSTER)
        return;
    CLEANUP(cleanup_answer)
    redisReply *slots = ASK(doctor, &err, "CLUSTER", "SLOTS");
    if (!slots) {
        find(doctor, UNSEEN, "partitions", remedy_of(doctor, err.text),
             "CLUSTER SLOTS: %s", err.text);
        return;
    }
    size_t masters = count_masters(slots);

    for (unsigned int p = 1; p < doctor->partitions; p++)
        together =
            together && conn_is_at_one(doctor->conns[0], doctor->conns[p]);
    if (masters > 1 && together)
        find(doctor, WARNING, "partitions",
             doctor->partitions > 1
                 ? "move slots, so that each master has some partitions: "
                   "redis-cli --cluster rebalance"
                 : "a fleet's number of partitions is for good: begin a new "
                   "fleet (--prefix, --partitions), several for each master",
             "%u partition%s at one of %zu masters: the others have nothing "
             "to do",
             doctor->partitions, doctor->partitions == 1 ? " is" : "s are all",
             masters);
    else
        find(doctor, FINE, "partitions", NULL, "%u over %zu master%s",
             doctor->partitions, masters, masters == 1 ? "" : "s");
}

/* --- leases --------------------------------------------------------------- */

/* How many members of a sorted set have a score in the range; false: it cannot
 * be seen. */
static bool count_scores(struct doctor *doctor, const char *key, uint64_t from,
                         uint64_t to, uint64_t *count, struct err *err)
{
    char low[24], high[24];

    snprintf(low, sizeof(low), "%" PRIu64, from);
    snprintf(high, sizeof(high), "(%" PRIu64, to);
    CLEANUP(cleanup_answer)
    redisReply *reply = ASK(doctor, err, "ZCOUNT", key, low, high);
    *count += reply ? (uint64_t)reply->integer : 0;
    return reply;
}

/* Consumers take back a job within seconds of the end of its lease. */
void check_leases(struct doctor *doctor)
{
    uint64_t now = doctor->workers.now, jobs = 0;
    struct err err = { 0 };

    for (size_t q = 0; q < doctor->queues.count; q++)
        for (unsigned int p = 0; p < doctor->partitions; p++) {
            struct key key =
                names_of_queue(&doctor->names, p, "leases",
                               view_of(doctor->queues.items[q].name));
            doctor_turn(doctor, p);
            if (count_scores(doctor, key.text, 0, now - LATE_MS, &jobs, &err))
                continue;
            find(doctor, UNSEEN, "leases", remedy_of(doctor, err.text),
                 "ZCOUNT: %s", err.text);
            return;
        }
    if (jobs > 0)
        find(doctor, WARNING, "leases",
             "start a consumer that serves their queue; if there is one: quern "
             "check, and its log",
             "%" PRIu64 " job%s lost its consumer more than 2 min ago, and "
             "nobody has taken %s back",
             jobs, jobs == 1 ? " has" : "s each have",
             jobs == 1 ? "it" : "them");
    else
        find(doctor, FINE, "leases", NULL, "no job is left behind");
}

/* --- dead ----------------------------------------------------------------- */

/* The code of the queue's latest dead job. */
static void last_death(struct doctor *doctor, const char *queue, char *code,
                       size_t size)
{
    struct quern_dead_jobs deads = { 0 };

    snprintf(code, size, "an unknown error");
    if (quern_dead_list(doctor->quern, queue, 0, 1, &deads, NULL) &&
        deads.count > 0)
        snprintf(code, size, "%s", deads.items[0].error_code);
    free(deads.items);
}

/* Adds to *growing when more jobs of the queue die than before. */
static bool check_dead_of(struct doctor *doctor, const char *queue,
                          size_t *growing, struct err *err)
{
    uint64_t now = doctor->workers.now, lately = 0, before = 0;
    char code[32], remedy[QUERN_NAME + 80];

    for (unsigned int p = 0; p < doctor->partitions; p++) {
        struct key key = names_dead(&doctor->names, p, view_of(queue));

        doctor_turn(doctor, p);
        if (!count_scores(doctor, key.text, now - HOUR_MS, now + HOUR_MS,
                          &lately, err) ||
            !count_scores(doctor, key.text, now - UINT64_C(2) * HOUR_MS,
                          now - HOUR_MS, &before, err))
            return false;
    }
    if (lately < DEAD_ENOUGH || lately <= before)
        return true;
    ++*growing;
    last_death(doctor, queue, code, sizeof(code));
    snprintf(
        remedy, sizeof(remedy),
        "quern dead ls --queue %s; correct the cause, then quern dead requeue",
        queue);
    find(doctor, WARNING, "dead", remedy,
         "%" PRIu64 " jobs of queue %s died in the last hour, %" PRIu64
         " in the hour before; the last one of %s",
         lately, queue, before, code);
    return true;
}

void check_dead(struct doctor *doctor)
{
    struct err err = { 0 };
    size_t growing = 0;

    for (size_t q = 0; q < doctor->queues.count; q++)
        if (!check_dead_of(doctor, doctor->queues.items[q].name, &growing,
                           &err)) {
            find(doctor, UNSEEN, "dead", remedy_of(doctor, err.text),
                 "ZCOUNT: %s", err.text);
            return;
        }
    if (growing == 0)
        find(doctor, FINE, "dead", NULL, "no more than before");
}
