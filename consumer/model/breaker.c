/* breaker.c - whether an endpoint should be asked just now. */
#include "consumer/model/breaker.h"

static bool is_open(const struct breaker *breaker)
{
    return breaker->failures >= BREAKER_FAILURES;
}

static uint64_t breaker_ask_counting(struct breaker *breaker, bool counts,
                                     uint64_t now_ms)
{
    uint64_t wait = breaker_waits(breaker, now_ms);

    if (breaker->until_ms > now_ms + wait)
        wait = breaker->until_ms - now_ms;
    if (wait == 0 && is_open(breaker) && breaker->probing)
        wait = BREAKER_REST_MS / 4; /* the probe should have ended by then */
    /* Last, because it counts the request when it lets it pass. */
    if (wait == 0 && counts)
        wait = rate_ask(&breaker->rate, now_ms);
    if (wait == 0)
        breaker->probing = is_open(breaker);
    return wait;
}

uint64_t breaker_ask(struct breaker *breaker, uint64_t now_ms)
{
    return breaker_ask_counting(breaker, true, now_ms);
}

uint64_t breaker_ask_kept(struct breaker *breaker, uint64_t now_ms)
{
    return breaker_ask_counting(breaker, false, now_ms);
}

void breaker_well(struct breaker *breaker)
{
    breaker->failures = 0;
    breaker->probing = false;
    breaker->until_ms = 0;
}

void breaker_failed(struct breaker *breaker, uint64_t now_ms)
{
    uint64_t rest = BREAKER_REST_MS;

    breaker->failures++;
    breaker->probing = false;
    if (!is_open(breaker))
        return;
    for (unsigned i = BREAKER_FAILURES;
         i < breaker->failures && rest < BREAKER_MOST_MS; i++)
        rest *= 2;
    breaker->until_ms =
        now_ms + (rest < BREAKER_MOST_MS ? rest : BREAKER_MOST_MS);
}

void breaker_wait(struct breaker *breaker, uint64_t now_ms, uint64_t wait_ms)
{
    if (now_ms + wait_ms > breaker->asked_ms)
        breaker->asked_ms = now_ms + wait_ms;
}

uint64_t breaker_waits(const struct breaker *breaker, uint64_t now_ms)
{
    return breaker->asked_ms > now_ms ? breaker->asked_ms - now_ms : 0;
}

void breaker_dropped(struct breaker *breaker)
{
    breaker->probing = false;
}
