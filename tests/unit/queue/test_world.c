/* Consumers in worlds of their own, each from a seed.
 *
 *   test_queue_world               as many seeds as there is time for
 *   test_queue_world --seeds 100000 [--from 1]
 *   test_queue_world --seed 17 --trace */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/queue/world.h"

enum { USUAL_MS = 8000 };

/* Where AddressSanitizer or an assertion ends the process, the seed is printed
 * too. */
__attribute__((visibility("default"))) void __asan_on_error(void);
void __asan_on_error(void)
{
    printf("seed %llu ends in an error of memory\n",
           (unsigned long long)world.seed);
    fflush(stdout);
}

static void on_abort(int number)
{
    char text[64];
    int len = snprintf(text, sizeof(text), "seed %llu ends in signal %d\n",
                       (unsigned long long)world.seed, number);
    if (write(STDOUT_FILENO, text, (size_t)len) < 0)
        _exit(2);
    _exit(1);
}

static uint64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t number_after(int argc, char **argv, const char *flag,
                             uint64_t usual)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], flag) == 0)
            return strtoull(argv[i + 1], NULL, 10);
    return usual;
}

static bool has(int argc, char **argv, const char *flag)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], flag) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    bool trace = has(argc, argv, "--trace");
    uint64_t from = number_after(argc, argv, "--from", 1);
    uint64_t count = number_after(argc, argv, "--seeds", 0);
    uint64_t one = number_after(argc, argv, "--seed", 0);
    uint64_t begin = clock_ms(), seeds = 0;
    size_t starts = 0, ends = 0, events = 0;
    if (trace)
        setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGABRT, on_abort);
    signal(SIGSEGV, on_abort);
    if (one != 0) {
        from = one;
        count = 1;
    }
    while (count > 0 ? seeds < count : clock_ms() - begin < USUAL_MS) {
        world_run(from + seeds++, trace);
        starts += world.starts;
        ends += world.ends;
        events += world.events;
    }
    if (starts == 0 || starts != ends) {
        printf("%zu jobs started, %zu ended\n", starts, ends);
        return 1;
    }
    printf("%llu seeds from %llu, %zu starts of jobs, %zu steps, in %llu ms\n",
           (unsigned long long)seeds, (unsigned long long)from, starts, events,
           (unsigned long long)(clock_ms() - begin));
    return 0;
}
