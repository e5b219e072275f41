/* submit.c - a producer of quern: submit conversation|code|warm|empty
 *
 * Reads "N [VERB]" a line, prints what came of it as JSON:
 *   trips  N jobs one after the other, each when the one before has its result:
 *          the milliseconds of each
 *   one    the same without waiting for results: the seconds of all
 *   many   N jobs without waiting at all: the seconds of all
 *   weigh  the same of questions of 200 bytes, whatever else was asked for */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer/client/quern.h"

enum { MANY = 1000 }; /* given to one call */

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static bool round_trip(struct quern *quern, const struct quern_job *job,
                       struct quern_error *error)
{
    struct quern_id id;
    struct quern_status status = { 0 };

    if (!quern_submit(quern, job, &id, NULL, error) ||
        !quern_wait(quern, id.text, 60000, &status, error))
        return false;
    bool completed = status.state == QUERN_COMPLETED;
    if (!completed)
        snprintf(error->text, sizeof(error->text), "job %s is %s (%s)", id.text,
                 quern_state_name(status.state), status.error_code);
    quern_status_finish(&status);
    return completed;
}

static bool run_trips(struct quern *quern, const struct quern_job *job,
                      long count, struct quern_error *error)
{
    for (long i = 0; i < count; i++) {
        double start_ms = now_ms();

        if (!round_trip(quern, job, error))
            return false;
        printf("%s%.4f", i ? "," : "[", now_ms() - start_ms);
    }
    puts("]");
    return true;
}

static bool run_one(struct quern *quern, const struct quern_job *job,
                    long count, struct quern_error *error)
{
    double start_ms = now_ms();
    struct quern_id id;

    for (long i = 0; i < count; i++)
        if (!quern_submit(quern, job, &id, NULL, error))
            return false;
    printf("%.6f\n", (now_ms() - start_ms) / 1e3);
    return true;
}

static bool run_many(struct quern *quern, const struct quern_job *job,
                     long count, struct quern_error *error)
{
    static struct quern_submit_outcome submitted[MANY];
    struct quern_job jobs[MANY];
    double start_ms = now_ms();

    for (size_t i = 0; i < MANY; i++)
        jobs[i] = *job;
    for (long left = count; left > 0; left -= MANY)
        if (!quern_submit_many(quern, jobs, left < MANY ? (size_t)left : MANY,
                               submitted, error))
            return false;
    printf("%.6f\n", (now_ms() - start_ms) / 1e3);
    return true;
}

static bool run_weigh(struct quern *quern, const struct quern_job *job,
                      long count, struct quern_error *error)
{
    char text[201];
    const struct quern_job question = { .prompt = text };

    (void)job;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    return run_many(quern, &question, count, error);
}

typedef bool run_verb(struct quern *quern, const struct quern_job *job,
                      long count, struct quern_error *error);

static run_verb *find_verb(const char *name)
{
    static const struct {
        const char *name;
        run_verb *run;
    } verbs[] = { { "", run_trips },
                  { "trips", run_trips },
                  { "one", run_one },
                  { "many", run_many },
                  { "weigh", run_weigh } };

    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
        if (strcmp(verbs[i].name, name) == 0)
            return verbs[i].run;
    return NULL;
}

static const struct quern_job *find_job(const char *name)
{
    static const char *const cells[] = { "0" };
    static const char *const nothing[] = { "" };
    static const struct {
        const char *name;
        struct quern_job job;
    } kinds[] = {
        { "conversation", { .prompt = "ping" } },
        { "code", { .kind = QUERN_CODE, .cells = cells, .cell_count = 1 } },
        { "warm",
          { .kind = QUERN_CODE,
            .cells = cells,
            .cell_count = 1,
            .session = "bench" } },
        { "empty", { .kind = QUERN_CODE, .cells = nothing, .cell_count = 1 } },
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(name, kinds[i].name) == 0)
            return &kinds[i].job;
    return NULL;
}

int main(int argc, char **argv)
{
    const struct quern_job *job = argc > 1 ? find_job(argv[1]) : NULL;
    struct quern_error error = { 0 };
    char line[64];

    if (!job)
        return EXIT_FAILURE;
    struct quern *quern = quern_open(NULL, &error);
    puts("ready");
    fflush(stdout);
    while (quern && fgets(line, sizeof(line), stdin)) {
        char *verb;
        long count = strtol(line, &verb, 10);

        verb += strspn(verb, " ");
        verb[strcspn(verb, "\n")] = '\0';
        run_verb *run = find_verb(verb);
        if (!run || !run(quern, job, count, &error)) {
            fprintf(stderr, "submit: %s: %s\n", verb, error.text);
            return EXIT_FAILURE;
        }
        fflush(stdout);
    }
    quern_close(quern);
    return quern ? EXIT_SUCCESS : EXIT_FAILURE;
}
