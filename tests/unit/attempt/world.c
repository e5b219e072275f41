/* world.c - a clock, chance, letters. */
#include "tests/unit/attempt/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/attempt/ports.h"

enum {
    BEGIN_S = 1700000000,
    MOST_LETTERS = 512, /* that wait */
};

struct world world;

const char *const sown_names[] = {
    [SOWN_NOTHING] = "nothing",
    [SOWN_ACT_BEFORE_COMMIT] = "act_before_commit",
    [SOWN_INTENT_MISSING] = "intent_missing",
    [SOWN_TOOL_INTENT_MISSING] = "tool_intent_missing",
    [SOWN_RECORD_TWICE] = "record_twice",
    [SOWN_RESULT_TWICE] = "result_twice",
    [SOWN_EPOCH_IGNORED] = "epoch_ignored",
    [SOWN_NOT_CHARGED] = "not_charged",
    [SOWN_LATE_ANSWER] = "late_answer",
    [SOWN_NOT_CANCELLED] = "not_cancelled",
    [SOWN_WAKEUP_LOST] = "wakeup_lost",
    [SOWN_WRITE_FORGOTTEN] = "write_forgotten",
    [SOWN_SESSION_LEFT] = "session_left",
    [SOWN_NOT_VOIDED] = "not_voided",
    [SOWN_EVENT_NUMBER] = "event_number",
    [SOWN_TOOL_REPEATED] = "tool_repeated",
    [SOWN_CANCEL_IGNORED] = "cancel_ignored",
    [SOWN_SESSION_UNSAVED] = "session_unsaved",
    [SOWN_REPLY_AGAIN] = "reply_again",
    [SOWN_LIMIT_IGNORED] = "limit_ignored",
    [SOWN_RESULT_CHANGED] = "result_changed",
    [SOWN_ITEM_REUSED] = "item_reused",
};

struct letter {
    uint64_t due_us;
    uint64_t serial;
    letter_open *open;
    void *about;
    size_t at; /* in pending */
};

static struct letter *pending[MOST_LETTERS];
static size_t count;
static uint64_t serials;

/* ------------------------------------------------------------------ chance */

static uint64_t next_random(void)
{
    uint64_t x = world.random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t chance(uint64_t below)
{
    return next_random() % below;
}

bool chance_of(unsigned percent)
{
    return chance(100) < percent;
}

uint64_t chance_delay(void)
{
    uint64_t kind = chance(100);
    if (kind < 80)
        return 50 + chance(3000);
    if (kind < 95)
        return chance(200 * 1000);
    return chance(3000 * 1000);
}

void world_reset(uint64_t seed)
{
    int sown = world.sown;
    bool tracing = world.tracing, strict = world.strict;
    world = (struct world){
        .seed = seed,
        .random = seed * UINT64_C(0x2545f4914f6cdd1d) + 1,
        .now_us = (uint64_t)BEGIN_S * 1000000,
        .sown = sown,
        .tracing = tracing,
        .strict = strict,
    };
    demand(count == 0, "letters_left", "%zu letters of the seed before", count);
    serials = 0;
}

uint64_t world_ms(void)
{
    return world.now_us / 1000;
}

/* ----------------------------------------------------------------- letters */

struct letter *post(struct lane *lane, uint64_t after_us, letter_open *open,
                    void *about)
{
    struct letter *letter = calloc(1, sizeof(*letter));
    if (letter == NULL || count == MOST_LETTERS)
        abort();
    letter->due_us = world.now_us + after_us;
    if (lane != NULL && letter->due_us <= lane->last_us)
        letter->due_us = lane->last_us + 1;
    if (lane != NULL)
        lane->last_us = letter->due_us;
    letter->serial = ++serials;
    letter->open = open;
    letter->about = about;
    letter->at = count;
    pending[count++] = letter;
    return letter;
}

void letter_burn(struct letter *letter)
{
    if (letter == NULL)
        return;
    struct letter *last = pending[--count];
    pending[letter->at] = last;
    last->at = letter->at;
    free(letter);
}

static struct letter *first(void)
{
    struct letter *first = NULL;
    for (size_t i = 0; i < count; i++)
        if (first == NULL || pending[i]->due_us < first->due_us ||
            (pending[i]->due_us == first->due_us &&
             pending[i]->serial < first->serial))
            first = pending[i];
    return first;
}

uint64_t letters_due_us(void)
{
    const struct letter *letter = first();
    return letter == NULL ? UINT64_MAX : letter->due_us;
}

size_t letters_count(void)
{
    return count;
}

bool letter_next(void)
{
    struct letter *letter = first();
    if (letter == NULL)
        return false;
    letter_open *open = letter->open;
    void *about = letter->about;
    if (letter->due_us > world.now_us)
        world.now_us = letter->due_us;
    letter_burn(letter);
    world.letters++;
    open(about);
    return true;
}

/* --------------------------------------------------------------- judgement */

void trace(const char *format, ...)
{
    va_list arguments;
    if (!world.tracing)
        return;
    uint64_t us = world.now_us - (uint64_t)BEGIN_S * 1000000;
    printf("%6llu.%03llu.%03llu  ", (unsigned long long)(us / 1000000),
           (unsigned long long)(us / 1000 % 1000),
           (unsigned long long)(us % 1000));
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
}

void demand(bool holds, const char *invariant, const char *format, ...)
{
    char text[512];
    va_list arguments;
    if (holds)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    trace("%s does not hold: %s", invariant, text);
    world_failed(invariant, text);
}
