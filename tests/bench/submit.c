/* submit.c - the round trip through quern: submit conversation|code|warm
 *
 * Reads "N" a line, submits N jobs one after the other, each when the one
 * before has its result, and prints their milliseconds as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer/client/quern.h"

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

int main(int argc, char **argv)
{
    static const char *const cells[] = { "0" };
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
    };
    const struct quern_job *job = NULL;
    struct quern_error error = { 0 };
    char line[32];

    for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(argv[1], kinds[i].name) == 0)
            job = &kinds[i].job;
    if (!job)
        return EXIT_FAILURE;
    struct quern *quern = quern_open(NULL, &error);
    puts("ready");
    fflush(stdout);
    while (quern && fgets(line, sizeof(line), stdin)) {
        long count = strtol(line, NULL, 10);
        for (long i = 0; i < count; i++) {
            double start_ms = now_ms();
            if (!round_trip(quern, job, &error)) {
                fprintf(stderr, "submit: %s\n", error.text);
                return EXIT_FAILURE;
            }
            printf("%s%.4f", i ? "," : "[", now_ms() - start_ms);
        }
        puts("]");
        fflush(stdout);
    }
    quern_close(quern);
    return quern ? EXIT_SUCCESS : EXIT_FAILURE;
}
