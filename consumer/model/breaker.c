/* breaker.c - when an endpoint may be asked: not while its limits are used up,
 * not while it fails.
 *
 * First what its headers say of its limits, then the breaker, which knows of
 * both. */
#include "consumer/model/breaker.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_NAME = 63, MAX_VALUE = 63 };

static const uint64_t LONGEST_MS = 7ULL * 24 * 3600 * 1000;
/* A bare number from here on is a time since 1970, in seconds; from there on,
 * in milliseconds. */
static const double EPOCH_S = 1e9, EPOCH_MS = 1e11;

static bool rate_copy(char *to, size_t max, struct view from)
{
    if (from.len == 0 || from.len > max)
        return false;
    memcpy(to, from.data, from.len);
    to[from.len] = '\0';
    return strlen(to) == from.len;
}

/* --------------------------------------------------- when a limit is reset */

/* 2026-03-01T12:00:00Z, with a fraction or another zone. */
static bool read_date(const char *text, uint64_t unix_ms, double *ms)
{
    struct tm at = { 0 };
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &at);
    int hours = 0, minutes = 0;
    double zone;

    if (!end)
        return false;
    if (*end == '.')
        end += 1 + strspn(end + 1, "0123456789");
    if (*end == '+' || *end == '-') {
        if (strlen(end) != 6 || !isdigit((unsigned char)end[1]) ||
            !isdigit((unsigned char)end[2]) || end[3] != ':' ||
            !isdigit((unsigned char)end[4]) || !isdigit((unsigned char)end[5]))
            return false;
        hours = (int)strtol(end + 1, NULL, 10);
        minutes = (int)strtol(end + 4, NULL, 10);
    } else if (strcmp(end, "Z") != 0 && strcmp(end, "z") != 0) {
        return false;
    }
    zone = (hours * 60.0 + minutes) * 60 * (*end == '-' ? -1 : 1);
    *ms = ((double)timegm(&at) - zone) * 1000 - (double)unix_ms;
    return true;
}

/* How many ms a unit has; 0: there is none of that name. */
static double unit_ms(struct view unit)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {
        { "ms", 1 },           { "s", 1000 },      { "m", 60e3 },
        { "h", 3600e3 },       { "d", 24 * 36e5 }, { "us", 1e-3 },
        { "\xc2\xb5s", 1e-3 }, { "ns", 1e-6 },
    };

    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (view_is(unit, units[i].name))
            return units[i].ms;
    return 0;
}

/* Seconds from now, or of a time of day. */
static double read_bare(double number, uint64_t unix_ms)
{
    if (number < EPOCH_S)
        return number * 1000;
    return (number < EPOCH_MS ? number * 1000 : number) - (double)unix_ms;
}

/* 1s, 6m0s, 1m2.5s, 20ms; or a bare number. */
static bool read_duration(const char *text, uint64_t unix_ms, double *ms)
{
    static const char digits[] = "0123456789.";

    *ms = 0;
    for (const char *at = text; *at; text = at) {
        struct view unit;
        char *end;
        double number, one;

        if (!isdigit((unsigned char)*at))
            return false;
        at += strspn(at, digits);
        number = strtod(text, &end);
        unit = (struct view){ at, strcspn(at, digits) };
        if (end != at)
            return false;
        at += unit.len;
        one = unit_ms(unit);
        if (one == 0 && unit.len == 0 && *ms == 0) {
            *ms = read_bare(number, unix_ms);
            return true;
        }
        if (one == 0)
            return false;
        *ms += number * one;
    }
    return true;
}

static bool read_reset(struct view value, uint64_t unix_ms, uint64_t *reset_ms)
{
    char text[MAX_VALUE + 1];
    double ms;

    if (!rate_copy(text, MAX_VALUE, value) ||
        (!read_date(text, unix_ms, &ms) && !read_duration(text, unix_ms, &ms)))
        return false;
    *reset_ms = ms <= 0                   ? 0
                : ms < (double)LONGEST_MS ? (uint64_t)ms
                                          : LONGEST_MS;
    return true;
}

/* ---------------------------------------------------- headers about limits */

/* Cuts the word off the beginning or the end of the name, with its "-". False:
 * the name has no such word there. */
static bool take_word(struct view *name, const char *word)
{
    size_t len = strlen(word);

    if (view_is(*name, word)) {
        name->len = 0;
        return true;
    }
    if (name->len <= len + 1)
        return false;
    if (view_starts(*name, word) && name->data[len] == '-') {
        *name = (struct view){ name->data + len + 1, name->len - len - 1 };
        return true;
    }
    if (memcmp(name->data + name->len - len, word, len) != 0 ||
        name->data[name->len - len - 1] != '-')
        return false;
    name->len -= len + 1;
    return true;
}

static bool take_prefix(struct view *name)
{
    static const char *const prefixes[] = { "x-ratelimit-", "ratelimit-",
                                            "anthropic-ratelimit-" };

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        size_t len = strlen(prefixes[i]);

        if (!view_starts(*name, prefixes[i]))
            continue;
        *name = (struct view){ name->data + len, name->len - len };
        return true;
    }
    return false;
}

static bool rate_kind_of(struct view name, enum rate_kind *kind)
{
    static const struct {
        const char *starts;
        enum rate_kind kind;
    } kinds[] = {
        { "req", RATE_REQUESTS },
        { "tokens", RATE_TOKENS },
        { "input-tokens", RATE_INPUT },
        { "output-tokens", RATE_OUTPUT },
    };

    *kind = RATE_REQUESTS;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        *kind = kinds[i].kind;
        if (view_starts(name, kinds[i].starts))
            return true;
    }
    *kind = RATE_REQUESTS;
    return name.len == 0;
}

static struct rate_limit *limit_of(struct rate_report *said, struct view name)
{
    struct rate_limit *limit;
    enum rate_kind kind;

    for (size_t i = 0; i < said->count; i++)
        if (view_is(name, said->limits[i].name))
            return &said->limits[i];
    if (said->count == RATE_LIMITS || !rate_kind_of(name, &kind) ||
        name.len > RATE_NAME_MAX)
        return NULL;
    limit = &said->limits[said->count++];
    *limit = (struct rate_limit){ .kind = kind };
    if (name.len > 0)
        memcpy(limit->name, name.data, name.len);
    return limit;
}

/* The period in a name such as "tokens-minute" or "req-10-second": the limit is
 * reset within it. 0: the name has none. */
static uint64_t period_of(const char *name)
{
    static const char seconds[] = "-second";
    size_t len = strlen(name), tail = strlen(seconds), begin;

    if (strstr(name, "-minute"))
        return 60000;
    if (len < tail || strcmp(name + len - tail, seconds) != 0)
        return 0;
    begin = len - tail;
    while (begin > 0 && isdigit((unsigned char)name[begin - 1]))
        begin--;
    if (begin == len - tail)
        return 1000;
    uint64_t number = strtoull(name + begin, NULL, 10);
    return number < 3600 ? number * 1000 : 0;
}

/* False: no number of 0 or more. Some endpoints say "-1" for no limit. */
static bool read_left(struct view value, uint64_t *left)
{
    char text[MAX_VALUE + 1];

    if (!rate_copy(text, MAX_VALUE, value) || !isdigit((unsigned char)*text))
        return false;
    *left = strtoull(text, NULL, 10);
    return true;
}

void rate_hear(struct rate_report *said, struct view name, struct view value,
               uint64_t unix_ms)
{
    char low[MAX_NAME + 1];
    struct rate_limit *limit;
    uint64_t number;

    if (!rate_copy(low, MAX_NAME, name))
        return;
    for (char *at = low; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    name = view_of(low);
    value = view_trimmed(value);
    if (!take_prefix(&name))
        return;
    if (take_word(&name, "remaining")) {
        if (!read_left(value, &number) || !(limit = limit_of(said, name)))
            return;
        limit->has_left = true;
        limit->said = limit->left = number;
        if (limit->reset_ms == 0)
            limit->reset_ms = period_of(limit->name);
    } else if (take_word(&name, "reset")) {
        if (read_reset(value, unix_ms, &number) &&
            (limit = limit_of(said, name)))
            limit->reset_ms = number;
    }
}

/* ---------------------------------------------------- what is left of them */

static uint64_t need_of(const struct rate *rate, enum rate_kind kind)
{
    return kind == RATE_REQUESTS || rate->took[kind] == 0 ? 1
                                                          : rate->took[kind];
}

static uint64_t rate_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How long until all limits allow another request. counted: by what is left
 * after our own requests; else by what the endpoint said alone, which is true
 * for the other consumers, too. */
static uint64_t wait_of(const struct rate *rate, bool counted, uint64_t now_ms)
{
    uint64_t wait = 0;

    for (size_t i = 0; i < rate->now.count; i++) {
        const struct rate_limit *limit = &rate->now.limits[i];

        uint64_t left = counted ? limit->left : limit->said;

        if (left < need_of(rate, limit->kind) &&
            limit->reset_ms > now_ms + wait)
            wait = limit->reset_ms - now_ms;
    }
    return wait;
}

static void count(struct rate *rate, uint64_t requests)
{
    for (size_t i = 0; i < rate->now.count; i++) {
        struct rate_limit *limit = &rate->now.limits[i];
        uint64_t need = need_of(rate, limit->kind);

        limit->left -= rate_least(limit->left / need, requests) * need;
    }
}

/* Asks for one request, and counts it when it returns 0. */
static uint64_t rate_ask(struct rate *rate, uint64_t now_ms)
{
    uint64_t wait = wait_of(rate, true, now_ms);

    if (wait == 0)
        count(rate, 1);
    return wait;
}

uint64_t rate_sent(struct rate *rate)
{
    return ++rate->asked;
}

uint64_t rate_take(struct rate *rate, const struct rate_report *said,
                   uint64_t number, uint64_t now_ms)
{
    struct rate_report heard = { 0 };

    for (size_t i = 0; i < said->count; i++) {
        struct rate_limit limit = said->limits[i];

        if (!limit.has_left || limit.reset_ms == 0)
            continue;
        limit.reset_ms = now_ms + rate_least(limit.reset_ms, RATE_MOST_MS);
        heard.limits[heard.count++] = limit;
    }
    /* Answers may begin in another order than their requests. */
    if (heard.count == 0 || number < rate->newest)
        return 0;
    rate->newest = number;
    rate->now = heard;
    count(rate, rate->asked - number); /* made after it: not in its numbers */
    return wait_of(rate, false, now_ms);
}

uint64_t rate_used(struct rate *rate, const struct rate_use *use,
                   uint64_t now_ms)
{
    uint64_t fresh = use->input - rate_least(use->cached, use->input);

    rate->took[RATE_TOKENS] =
        (use->free_cache ? fresh : use->input) + use->output;
    rate->took[RATE_INPUT] = fresh;
    rate->took[RATE_OUTPUT] = use->output;
    return wait_of(rate, false, now_ms);
}

/* ------------------------------------------------------------- the breaker */

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
