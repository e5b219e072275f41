/* verb_check.c - quern check: looks at every partition in turn, and again, and
 * prints the faults that every look has found. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "producer/cli/check.h"
#include "producer/cli/show.h"
#include "schemas/redis/reply.h"
#include "schemas/redis/slot.h"
#include "schemas/redis/transition.h"

enum {
    LOOKS = 4,   /* at most: fewer when no fault is left */
    PAUSE_S = 1, /* between two looks. Every move of a job takes milliseconds,
                    so no move is seen by two looks */
};

static bool check_open(struct check *check, struct err *err)
{
    const struct options *options = &check->app->options;
    const char *url =
        options->redis_url ? options->redis_url : getenv("REDIS_URL");
    const struct address_tls tls = address_tls_of_environment();

    if (!address_parse(&check->address, view_of(url), err) ||
        !address_set_tls(&check->address, &tls, err) ||
        !names_init(&check->names,
                    options->prefix ? options->prefix : "quern:", err))
        return false;
    address_set_sentinel_password(&check->address,
                                  getenv("QUERN_SENTINEL_PASSWORD"));
    return true;
}

/* In a cluster, another server may have the partition. */
static void connect_to(struct check *check, unsigned int slot)
{
    conn_free(check->conn);
    check->conn = conn_new(&check->address, slot, "check");
}

enum { MEET_MS = 30000 };

static redisReply *check_meet(struct check *check,
                              void (*make)(struct command *command))
{
    struct command command;
    struct err ignored; /* the look meets the same fault, and tells it */
    redisReply *reply = NULL;

    make(&command);
    if (conn_send(check->conn, &command, MEET_MS, &ignored))
        reply = conn_receive(check->conn, MEET_MS, &ignored);
    command_finish(&command);
    return reply;
}

/* Loads the function library where there is none, as a handle does for other
 * verbs, so that clients of other languages find it. A login that may not load
 * it can look all the same. */
static void bring_library(struct check *check)
{
    CLEANUP(cleanup_asked)
    redisReply *build = check_meet(check, transition_build_command);

    if (build && reply_cure(build) == CURE_LOAD)
        freeReplyObject(check_meet(check, transition_load_command));
}

/* How many partitions the fleet has; 1 when that is not known. */
static unsigned int check_partitions(struct check *check)
{
    struct key fleet = names_fleet(&check->names);

    connect_to(check, slot_of(key_view(&fleet)));
    CLEANUP(cleanup_asked)
    redisReply *count =
        CHECK_ASK(check, "HGET", fleet.text, NAMES_FLEET_PARTITIONS);
    unsigned long number = count && count->type == REDIS_REPLY_STRING
                               ? strtoul(count->str, NULL, 10)
                               : 1;

    return number >= 1 && number <= NAMES_MAX_PARTITIONS ? (unsigned int)number
                                                         : 1;
}

static void count_keys(struct check *check)
{
    CLEANUP(cleanup_asked) redisReply *size = CHECK_ASK(check, "DBSIZE");

    progress_init(&check->progress, &check->app->term, "keys",
                  size && size->integer > 0 ? 2 * (uint64_t)size->integer : 0);
}

static void check_look(struct check *check)
{
    check->counts = (struct job_counts){ 0 };
    count_keys(check);
    check_scan(check, prefetch_places, check_places);
    check_scan(check, prefetch_job, check_job);
    check_leftovers(check);
    places_finish(&check->places);
    progress_finish(&check->progress);
}

static int check_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Keeps those of our faults that the others have as well; both are sorted. */
static void keep_common(struct faults *ours, const struct faults *others)
{
    size_t kept = 0, at = 0;

    for (size_t i = 0; i < ours->count; i++) {
        int order = 1;

        while (at < others->count &&
               (order = strcmp(others->items[at], ours->items[i])) < 0)
            at++;
        if (at < others->count && order == 0)
            ours->items[kept++] = ours->items[i];
        else
            free(ours->items[i]);
    }
    ours->count = kept;
}

static void sort(struct faults *faults)
{
    if (faults->count > 0)
        qsort(faults->items, faults->count, sizeof(char *), check_compare);
}

/* The faults of a partition that every look has found. When there are more
 * faults than are kept, the first look counts: something is very wrong, and
 * which of them were seen twice cannot be known. */
static struct faults find_faults(struct check *check)
{
    struct faults sure;

    check_look(check);
    sure = check->faults;
    check->faults = (struct faults){ 0 };
    sort(&sure);
    for (int i = 1;
         i < LOOKS && sure.count > 0 && sure.more == 0 && !check->broken; i++) {
        sleep(PAUSE_S);
        check_look(check);
        sort(&check->faults);
        keep_common(&sure, &check->faults);
        faults_finish(&check->faults);
    }
    return sure;
}

static void check_tell(struct app *app, const struct faults *faults)
{
    for (size_t i = 0; i < faults->count; i++) {
        const char *sentence = strstr(faults->items[i], ": ");

        if (app->term.json) {
            json_line(json_pack(
                "{s:s, s:s%, s:s}", "type", "fault", "key", faults->items[i],
                (size_t)(sentence - faults->items[i]), "text", sentence + 2));
            continue;
        }
        pane_text(&app->term.out, PLAIN, view_of(faults->items[i]));
        pane_printf(&app->term.out, PLAIN, "\n");
    }
    if (faults->more > 0 && !app->term.json)
        pane_printf(&app->term.out, PLAIN, "... and %zu more\n", faults->more);
}

static void sum_up(struct app *app, const struct job_counts *counts,
                   size_t faults)
{
    if (app->term.json)
        json_line(json_pack(
            "{s:s, s:I, s:I, s:I, s:I, s:I}", "type", "sum", "waiting",
            (json_int_t)counts->waiting, "running", (json_int_t)counts->running,
            "scheduled", (json_int_t)counts->later, "ended",
            (json_int_t)counts->ended, "faults", (json_int_t)faults));
    else
        pane_printf(term_notice(&app->term), faults ? RED : GREEN,
                    "waiting %" PRIu64 ", running %" PRIu64 ", later %" PRIu64
                    ", ended %" PRIu64 ": %zu fault%s\n",
                    counts->waiting, counts->running, counts->later,
                    counts->ended, faults, faults == 1 ? "" : "s");
}

static void add_counts(struct job_counts *all, const struct job_counts *here)
{
    all->waiting += here->waiting;
    all->running += here->running;
    all->later += here->later;
    all->ended += here->ended;
}

/* Checks one partition after the other; *all gets the sum of their counts.
 * Gives the number of faults. */
static size_t check_all(struct check *check, struct job_counts *all)
{
    unsigned int partitions = check_partitions(check);
    size_t found = 0;

    for (unsigned int p = 0; p < partitions && !check->broken; p++) {
        struct faults sure;

        check->partition = p;
        connect_to(check, names_slot(&check->names, p));
        bring_library(check);
        sure = find_faults(check);
        if (!check->broken)
            check_tell(check->app, &sure);
        found += sure.count + sure.more;
        add_counts(all, &check->counts);
        faults_finish(&sure);
    }
    return found;
}

int verb_check(struct app *app)
{
    CLEANUP(cleanup_free) struct check *check = calloc(1, sizeof(*check));
    struct job_counts all = { 0 };
    struct err err = { 0 };
    size_t found;
    int code;

    if (!check)
        abort();
    check->app = app;
    if (!check_open(check, &err)) {
        address_finish(&check->address);
        return app_fail_err(app, &err);
    }
    found = check_all(check, &all);
    if (check->broken) {
        code = app_fail_err(app, &check->err);
    } else {
        sum_up(app, &all, found);
        code = found > 0 ? EXIT_JOB : EXIT_DONE;
    }
    faults_finish(&check->faults);
    conn_free(check->conn);
    address_finish(&check->address);
    return code;
}
