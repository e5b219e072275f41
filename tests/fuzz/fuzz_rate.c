/* fuzz_rate.c - any headers: what is made of them is bounded, and nobody waits
 * longer than that. Each line is a header, "name: value". */
#include <string.h>

#include "consumer/model/breaker.h"
#include "tests/fuzz/fuzz.h"

enum { NOW_MS = 1000 };
static const uint64_t UNIX_MS = 1772366400000;

static struct view take_line(struct view *rest)
{
    const char *end = rest->len ? memchr(rest->data, '\n', rest->len) : NULL;
    struct view line = { rest->data,
                         end ? (size_t)(end - rest->data) : rest->len };
    size_t used = line.len + (end != NULL);
    *rest = (struct view){ rest->data + used, rest->len - used };
    return line;
}

static void hear(struct rate_report *said, struct view line)
{
    const char *colon = line.len ? memchr(line.data, ':', line.len) : NULL;
    if (colon == NULL)
        return;
    size_t len = (size_t)(colon - line.data);
    rate_hear(said, (struct view){ line.data, len },
              (struct view){ colon + 1, line.len - len - 1 }, UNIX_MS);
}

static void check_said(const struct rate_report *said)
{
    MUST(said->count <= RATE_LIMITS);
    for (size_t i = 0; i < said->count; i++) {
        const struct rate_limit *limit = &said->limits[i];
        MUST(strlen(limit->name) <= RATE_NAME_MAX);
        MUST((int)limit->kind < RATE_KINDS);
        MUST(limit->reset_ms <= 7ULL * 24 * 3600 * 1000);
        for (size_t j = 0; j < i; j++)
            MUST(strcmp(limit->name, said->limits[j].name) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view rest = { (const char *)data, size };
    struct rate_report said = { 0 };
    struct breaker breaker = { 0 };
    while (rest.len > 0)
        hear(&said, take_line(&rest));
    check_said(&said);
    struct rate_use use = { .input = size,
                            .cached = 2 * (size % 32), /* at times more */
                            .output = size / 2,
                            .free_cache = size % 2 == 0 };
    MUST(rate_used(&breaker.rate, &use, NOW_MS) == 0);
    uint64_t first = rate_sent(&breaker.rate);
    rate_sent(&breaker.rate);
    uint64_t wait = rate_take(&breaker.rate, &said, first, NOW_MS);
    MUST(wait <= RATE_MOST_MS);
    MUST(rate_used(&breaker.rate, &use, NOW_MS) == wait);
    /* One more is on its way: never sooner than what is said to everybody. */
    uint64_t ours = breaker_ask(&breaker, NOW_MS);
    MUST(ours >= wait && ours <= RATE_MOST_MS);
    MUST(breaker_ask(&breaker, NOW_MS + RATE_MOST_MS) == 0);
    return 0;
}
