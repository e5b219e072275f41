/* amount.c - numbers with their units, as people write them. */
#include "schemas/settings/amount.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    DOLLAR_DIGITS = 9, /* before the point */
    DOLLAR_PLACES = 6, /* behind it: a micro-dollar */
    MICRO_DOLLARS = 1000000,
};

struct unit {
    const char *suffix;
    uint64_t factor;
};

static const struct unit times[] = {
    { "ms", 1 },      { "s", 1000 },     { "m", 60000 },
    { "h", 3600000 }, { "d", 86400000 }, { NULL, 0 },
};
static const struct unit sizes[] = {
    { "B", 1 },
    { "K", UINT64_C(1) << 10 },
    { "M", UINT64_C(1) << 20 },
    { "G", UINT64_C(1) << 30 },
    { "T", UINT64_C(1) << 40 },
    { NULL, 0 },
};

static const struct {
    const char *noun, *forms;
    const struct unit *units;
} kinds[] = {
    [AMOUNT_COUNT] = { "a number", "", NULL },
    [AMOUNT_TIME] = { "a time", ", such as 500ms, 30s, 5m, 2h or 1d", times },
    [AMOUNT_SIZE] = { "a size", ", such as 64K, 512M or 2G", sizes },
    [AMOUNT_DOLLARS] = { "an amount of dollars", ", such as 2 or 0.05", NULL },
};

/* ---------------------------------------------------------------- reading */

/* The digits at *text, and moves it behind them. False: there are none, or too
 * many. */
static bool take_digits(const char **text, uint64_t *number)
{
    const char *at = *text;
    *number = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (*number > (UINT64_MAX - digit) / 10)
            return false;
        *number = *number * 10 + digit;
    }
    bool some = at != *text;
    *text = at;
    return some;
}

static bool read_count(uint64_t *value, const char *text)
{
    return take_digits(&text, value) && *text == '\0';
}

/* Times in lower case alone; of sizes 2g means nothing else than 2G. */
static bool is_unit(const struct unit *unit, const struct unit *units,
                    const char *text)
{
    return units == sizes ? strcasecmp(unit->suffix, text) == 0
                          : strcmp(unit->suffix, text) == 0;
}

static bool read_units(uint64_t *value, const struct unit *units,
                       const char *text)
{
    const struct unit *unit = units;
    if (!take_digits(&text, value))
        return false;
    if (*value == 0 && *text == '\0')
        return true;
    while (unit->suffix && !is_unit(unit, units, text))
        unit++;
    if (!unit->suffix || *value > UINT64_MAX / unit->factor)
        return false;
    *value *= unit->factor;
    return true;
}

static bool read_dollars(uint64_t *value, const char *text)
{
    size_t whole = strspn(text, "0123456789");
    const char *rest = text + whole;
    if (whole > DOLLAR_DIGITS || !take_digits(&text, value))
        return false;
    if (*rest == '.')
        rest++;
    for (int i = 0; i < DOLLAR_PLACES; i++) {
        bool digit = *rest >= '0' && *rest <= '9';
        *value = *value * 10 + (digit ? (uint64_t)(*rest++ - '0') : 0);
    }
    return *rest == '\0';
}

static bool amount_read_text(uint64_t *value, enum amount_kind kind,
                             const char *text)
{
    if (kind == AMOUNT_COUNT)
        return read_count(value, text);
    if (kind == AMOUNT_DOLLARS)
        return read_dollars(value, text);
    return read_units(value, kinds[kind].units, text);
}

/* --------------------------------------------------------------- refusing */

static bool amount_refuse(const struct amount_range *range, const char *forms,
                          struct err *err)
{
    char between[AMOUNT_RANGE_BYTES];
    amount_write_range(between, range);
    return err_set(err, ERR_REJECT, "bad_setting", "must be %s%s%s%s",
                   kinds[range->kind].noun,
                   range->max ? " from " : (*between ? " of " : ""), between,
                   forms);
}

static bool refuse_plain(enum amount_kind kind, uint64_t number,
                         struct err *err)
{
    const struct unit *unit = kinds[kind].units;
    return err_set(
        err, ERR_REJECT, "bad_setting",
        "must have a unit: %" PRIu64 "%s, %" PRIu64 "%s or %" PRIu64 "%s",
        number, unit[0].suffix, number, unit[1].suffix, number, unit[2].suffix);
}

bool amount_read(uint64_t *value, const struct amount_range *range,
                 const char *text, struct err *err)
{
    uint64_t number;
    if (!amount_read_text(&number, range->kind, text)) {
        if (kinds[range->kind].units && read_count(&number, text))
            return refuse_plain(range->kind, number, err);
        return amount_refuse(range, kinds[range->kind].forms, err);
    }
    if (number < range->min || (range->max && number > range->max))
        return amount_refuse(range, "", err);
    *value = number;
    return true;
}

/* ---------------------------------------------------------------- writing */

static void write_dollars(char text[AMOUNT_BYTES], uint64_t value)
{
    int len = snprintf(text, AMOUNT_BYTES, "%" PRIu64 ".%06" PRIu64,
                       value / MICRO_DOLLARS, value % MICRO_DOLLARS);
    while (len > 0 && text[len - 1] == '0')
        text[--len] = '\0';
    if (len > 0 && text[len - 1] == '.')
        text[len - 1] = '\0';
}

void amount_write(char text[AMOUNT_BYTES], enum amount_kind kind,
                  uint64_t value)
{
    const struct unit *units = kinds[kind].units;
    const struct unit *best = units;
    if (kind == AMOUNT_DOLLARS) {
        write_dollars(text, value);
        return;
    }
    for (; units && units->suffix; units++)
        if (value % units->factor == 0)
            best = units;
    snprintf(text, AMOUNT_BYTES, "%" PRIu64 "%s",
             best && value ? value / best->factor : value,
             best && value ? best->suffix : "");
}

void amount_write_range(char text[AMOUNT_RANGE_BYTES],
                        const struct amount_range *range)
{
    char min[AMOUNT_BYTES], max[AMOUNT_BYTES];
    amount_write(min, range->kind, range->min);
    amount_write(max, range->kind, range->max);
    *text = '\0';
    if (range->max)
        snprintf(text, AMOUNT_RANGE_BYTES, "%s to %s", min, max);
    else if (range->min)
        snprintf(text, AMOUNT_RANGE_BYTES, "at least %s", min);
}
