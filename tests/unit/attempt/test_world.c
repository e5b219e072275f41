/* Jobs in a world of their own, seed after seed, and bugs that it must find.
 *
 *   test_attempt_world                      seeds, for 10 s
 *   test_attempt_world --seed 17            one, and all that happens in it
 *   test_attempt_world --seeds 100000       that many, from --from on
 *   test_attempt_world --sown               each sown bug: by what it is found
 *   test_attempt_world --sown NAME --seed N the same of one, as it happens
 *   ... --strict    also what the product is known not to keep: judge.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/attempt/life.h"
#include "tests/unit/attempt/ports.h"

enum { TEST_MS = 10 * 1000, SOWN_SEEDS = 5000, LOOK_SEEDS = 100, FOUND = 3 };

/* Seeds that have found a bug of the product. */
static const uint64_t remembered[] = {
    15,   /* followers are told twice what a cell has printed */
    157,  /* a request that was made for another model leaks */
    519,  /* a cell is not told that its session was made again */
    878,  /* a session that is only asked for stays at the executor */
    3659, /* nobody answers a cell that is run again, and was left */
    7244, /* the same, when a person was to be asked */
};

static int found; /* a pipe, for who looks for a sown bug; 0: none does */

_Noreturn void world_failed(const char *invariant, const char *text)
{
    if (found > 0) {
        char line[256];
        int len = snprintf(line, sizeof(line), "%s at seed %llu: %s", invariant,
                           (unsigned long long)world.seed, text);
        len = len < (int)sizeof(line) ? len : (int)sizeof(line) - 1;
        _exit(write(found, line, (size_t)len) == len ? FOUND : 1);
    }
    printf("seed %llu, letter %llu: %s: %s\n"
           "to see it: test_attempt_world --seed %llu%s%s\n",
           (unsigned long long)world.seed, (unsigned long long)world.letters,
           invariant, text, (unsigned long long)world.seed,
           world.sown ? " --sown " : "",
           world.sown ? sown_names[world.sown] : "");
    fflush(stdout);
    _exit(1);
}

/* Of the sanitizer, where there is one. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static void look_for_leaks(void)
{
    if (__lsan_do_recoverable_leak_check != NULL &&
        __lsan_do_recoverable_leak_check() != 0)
        world_failed("nothing_left", "memory is lost, here or since the last "
                                     "look");
}

static uint64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void tell(void)
{
    printf("%llu seeds, %llu letters, %llu records; %llu kills, %llu leases "
           "lost, %llu links broken, %llu drains, %llu cancels, %llu verdicts; "
           "%llu completed, %llu incomplete, %llu failed, %llu cancelled\n",
           (unsigned long long)tally.seeds, (unsigned long long)tally.letters,
           (unsigned long long)tally.records, (unsigned long long)tally.kills,
           (unsigned long long)tally.losses, (unsigned long long)tally.breaks,
           (unsigned long long)tally.drains, (unsigned long long)tally.cancels,
           (unsigned long long)tally.verdicts,
           (unsigned long long)tally.states[4],
           (unsigned long long)tally.states[5],
           (unsigned long long)tally.states[6],
           (unsigned long long)tally.states[7]);
}

static void run_for(uint64_t ms)
{
    uint64_t end = clock_ms() + ms, seed = 1;
    for (size_t i = 0; i < sizeof(remembered) / sizeof(remembered[0]); i++) {
        life_run(remembered[i]);
        look_for_leaks();
    }
    while (clock_ms() < end)
        life_run(seed++);
    look_for_leaks();
    tell();
}

static void run_many(uint64_t from, uint64_t count)
{
    uint64_t begun = clock_ms();
    for (uint64_t seed = from; seed < from + count; seed++) {
        life_run(seed);
        if (seed % LOOK_SEEDS == 0)
            look_for_leaks();
    }
    look_for_leaks();
    tell();
    printf("%llu ms\n", (unsigned long long)(clock_ms() - begun));
}

/* --------------------------------------------------------------- sown bugs */

/* True: it was found. Each in a process of its own, which ends there. */
static bool look_for(int bug)
{
    int ends[2];
    char line[256] = "";
    if (pipe(ends) != 0)
        abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        found = ends[1];
        world.sown = bug;
        ports_open();
        for (uint64_t seed = 1; seed <= SOWN_SEEDS; seed++)
            life_run(seed);
        _exit(0);
    }
    close(ends[1]);
    ssize_t len = read(ends[0], line, sizeof(line) - 1);
    line[len > 0 ? len : 0] = '\0';
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == FOUND;
    printf("%-20s %s\n", sown_names[bug],
           good ? line : "WAS NOT FOUND, or the product has crashed");
    return good;
}

static int look_for_all(void)
{
    int missed = 0;
    for (int bug = SOWN_NOTHING + 1; bug < SOWN_BUGS; bug++)
        missed += !look_for(bug);
    printf("%d of %d sown bugs were found\n", SOWN_BUGS - 1 - missed,
           SOWN_BUGS - 1);
    return missed > 0;
}

static int bug_of(const char *name)
{
    for (int bug = 0; bug < SOWN_BUGS; bug++)
        if (strcmp(name, sown_names[bug]) == 0)
            return bug;
    fprintf(stderr, "no bug is called %s\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    uint64_t seed = 0, seeds = 0, from = 1;
    bool sows = false;
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        bool takes = next[0] != '\0' && next[0] != '-';
        if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(next, NULL, 10);
        else if (strcmp(argv[i], "--seeds") == 0)
            seeds = strtoull(next, NULL, 10);
        else if (strcmp(argv[i], "--from") == 0)
            from = strtoull(next, NULL, 10);
        else if (strcmp(argv[i], "--strict") == 0)
            world.strict = true;
        else if (strcmp(argv[i], "--sown") == 0 && takes)
            world.sown = bug_of(next);
        else if (strcmp(argv[i], "--sown") == 0)
            sows = true;
        i += takes;
    }
    if (sows)
        return look_for_all();
    ports_open();
    world.tracing = seed > 0;
    if (seed > 0)
        life_run(seed), look_for_leaks();
    else if (seeds > 0)
        run_many(from, seeds);
    else
        run_for(TEST_MS);
    ports_close();
    return 0;
}
