/* breaker.c - whether an endpoint should be asked just now. */
#include "consumer/model/breaker.h"

static bool is_open(const struct breaker *breaker)
{
    return breaker->failures >= BREAKER_FAILURES;
}

uint64_t breaker_ask(struct breaker *breaker, uint64_t now_ms)
{
    if (breaker->until_ms > now_ms)
        return breaker->until_ms - now_ms;
    if (!is_open(breaker))
        return 0;
    if (breaker->probing)
        return BREAKER_REST_MS / 4;
    breaker->probing = true;
    return 0;
}

void breaker_well(struct breaker *breaker)
{
    *breaker = (struct breaker){ 0 };
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
    breaker->probing = false;
    if (now_ms + wait_ms > breaker->until_ms)
        breaker->until_ms = now_ms + wait_ms;
}

void breaker_dropped(struct breaker *breaker)
{
    breaker->probing = false;
}
