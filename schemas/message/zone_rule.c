/* zone_rule.c - the rule that a zone's clocks follow for ever. */
#include "schemas/message/zone_rule.h"

enum { DAY_S = 86400, SUMMER_S = 3600, CHANGE_S = 2 * 3600 };

/* --- "CET-1CEST,M3.5.0,M10.5.0/3" ------------------------------------------
 */

/* Takes the character when it is next. */
static bool next_is(struct view *text, char c)
{
    if (text->len == 0 || text->data[0] != c)
        return false;
    text->data++;
    text->len--;
    return true;
}

static bool zone_rule_take_number(struct view *text, int64_t max,
                                  int64_t *number)
{
    size_t digits = 0;

    for (*number = 0; text->len > 0 && text->data[0] >= '0' &&
                      text->data[0] <= '9' && digits < 4;
         digits++) {
        *number = *number * 10 + (text->data[0] - '0');
        text->data++;
        text->len--;
    }
    return digits > 0 && *number <= max;
}

static bool take_int(struct view *text, int min, int max, int *number)
{
    int64_t wide;

    if (!zone_rule_take_number(text, max, &wide) || wide < min)
        return false;
    *number = (int)wide;
    return true;
}

/* Three letters or more, or anything between < and >. */
static bool take_name(struct view *text)
{
    bool quoted = next_is(text, '<');
    size_t len = 0;

    while (text->len > 0) {
        char c = text->data[0];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (quoted && c == '>')
            break;
        if (!letter && !quoted)
            break;
        text->data++;
        text->len--;
        len++;
    }
    return (!quoted || next_is(text, '>')) && len >= 3;
}

/* [+-]hh[:mm[:ss]] */
static bool take_time(struct view *text, int64_t max_hours, int64_t *seconds)
{
    bool minus = next_is(text, '-');
    int64_t hours, minutes = 0, rest = 0;

    if (!minus)
        next_is(text, '+');
    if (!zone_rule_take_number(text, max_hours, &hours))
        return false;
    if (next_is(text, ':') && !zone_rule_take_number(text, 59, &minutes))
        return false;
    if (next_is(text, ':') && !zone_rule_take_number(text, 59, &rest))
        return false;
    *seconds = (hours * 3600 + minutes * 60 + rest) * (minus ? -1 : 1);
    return true;
}

static bool take_day(struct view *text, struct zone_day *day)
{
    bool ok;

    *day = (struct zone_day){ .kind = DAY_OF_YEAR, .time_s = CHANGE_S };
    if (!next_is(text, ','))
        return false;
    if (next_is(text, 'M')) {
        day->kind = DAY_OF_MONTH;
        ok = take_int(text, 1, 12, &day->month) && next_is(text, '.') &&
             take_int(text, 1, 5, &day->week) && next_is(text, '.') &&
             take_int(text, 0, 6, &day->weekday);
    } else if (next_is(text, 'J')) {
        day->kind = DAY_NO_LEAP;
        ok = take_int(text, 1, 365, &day->number);
    } else {
        ok = take_int(text, 0, 365, &day->number);
    }
    return ok && (!next_is(text, '/') || take_time(text, 167, &day->time_s));
}

/* POSIX counts hours west of UTC, so the sign is turned. */
bool zone_rule_parse(struct zone_rule *rule, struct view text)
{
    int64_t behind;

    *rule = (struct zone_rule){ 0 };
    if (!take_name(&text) || !take_time(&text, 24, &behind))
        return false;
    rule->standard = rule->summer = -behind;
    if (text.len == 0)
        return true;
    rule->changes = true;
    rule->summer = rule->standard + SUMMER_S;
    if (!take_name(&text))
        return false;
    if (text.len > 0 && text.data[0] != ',') {
        if (!take_time(&text, 24, &behind))
            return false;
        rule->summer = -behind;
    }
    return take_day(&text, &rule->begin) && take_day(&text, &rule->end) &&
           text.len == 0;
}

/* --- asking --------------------------------------------------------------- */

/* The time of the change in that year, on the clock that is about to change. */
static int64_t time_of(const struct zone_day *day, int64_t year)
{
    int64_t first = day_of_date((struct date){ year, 1, 1 });
    int64_t march = day_of_date((struct date){ year, 3, 1 });
    int64_t number = first + day->number;

    if (day->kind == DAY_NO_LEAP) {
        bool leap = march - first == 60;

        number = first + day->number - 1 + (leap && day->number >= 60);
    } else if (day->kind == DAY_OF_MONTH) {
        int64_t begin = day_of_date((struct date){ year, day->month, 1 });
        int64_t next = day_of_date(
            (struct date){ year + (day->month == 12), day->month % 12 + 1, 1 });

        number = begin + (day->weekday - weekday_of_day(begin) + 7) % 7 +
                 INT64_C(7) * (day->week - 1);
        while (number >= next)
            number -= 7;
    }
    return number * DAY_S + day->time_s;
}

struct rule_change {
    int64_t at, offset;
};

/* Takes one change into the span that is sought: one after the instant may end
 * the span; one before it may be the latest, which sets the offset. */
static void meet(const struct rule_change *change, int64_t instant,
                 int64_t *latest, struct zone_span *span)
{
    if (change->at > instant) {
        if (change->at < span->until)
            span->until = change->at;
    } else if (change->at >= *latest) {
        *latest = change->at;
        span->offset = change->offset;
    }
}

/* Looks at the changes of the instant's year and of the years beside it: a year
 * has two changes, so the ones before and after the instant are among them. */
struct zone_span zone_rule_at(const struct zone_rule *rule, int64_t since,
                              int64_t instant)
{
    struct zone_span span = { since, INT64_MAX, rule->standard };
    int64_t latest = INT64_MIN;
    int64_t year = date_of_day(floor_div(instant + rule->standard, DAY_S)).year;

    for (int64_t y = year - 1; rule->changes && y <= year + 1; y++) {
        const struct rule_change changes[] = {
            { time_of(&rule->begin, y) - rule->standard, rule->summer },
            { time_of(&rule->end, y) - rule->summer, rule->standard },
        };

        for (int i = 0; i < 2; i++)
            meet(&changes[i], instant, &latest, &span);
    }
    if (latest > span.from)
        span.from = latest;
    return span;
}
