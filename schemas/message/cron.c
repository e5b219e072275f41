/* cron.c - when a schedule goes off next. */
#include "schemas/message/cron.h"

#include <string.h>
#include <strings.h>

enum {
    HOUR_S = 3600,
    DAY_S = 24 * HOUR_S,
    DAY_MINUTES = 24 * 60,
    DAYS_AHEAD = 9 * 366, /* February 29 may be eight years away */
};
static const int64_t END_S = INT64_C(253402300800); /* the year 10000 */

/* --- reading -------------------------------------------------------------- */

struct cron_field {
    const char *name;
    int min, max;
    const char *const *names; /* of min, min + 1, ...; ends in NULL */
};

static const char *const months[] = { "jan", "feb", "mar", "apr", "may",
                                      "jun", "jul", "aug", "sep", "oct",
                                      "nov", "dec", NULL };
static const char *const weekdays[] = { "sun", "mon", "tue", "wed",
                                        "thu", "fri", "sat", NULL };
enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };
static const struct cron_field fields[FIELDS] = {
    [MINUTE] = { "minute", 0, 59, NULL },
    [HOUR] = { "hour", 0, 23, NULL },
    [DAY] = { "day", 1, 31, NULL },
    [MONTH] = { "month", 1, 12, months },
    [WEEKDAY] = { "weekday", 0, 7, weekdays },
};

static bool bad_part(const struct cron_field *field, struct view part,
                     struct err *err)
{
    return err_set(err, ERR_REJECT, "bad_field",
                   "schedule: %s: \"%.*s\" is not %d to %d%s, a range, or a "
                   "step of one",
                   field->name, VIEW_ARG(view_head(part, 32)), field->min,
                   field->max, field->names ? ", a name" : "");
}

/* Cuts off and returns what stands before the character, or all of it; text
 * becomes what stands behind the character. */
static struct view cron_cut(struct view *text, char at)
{
    const char *found = memchr(text->data, at, text->len);
    struct view head = { text->data,
                         found ? (size_t)(found - text->data) : text->len };
    size_t used = head.len + (found != NULL);

    text->data += used;
    text->len -= used;
    return head;
}

static bool cron_read_number(struct view text, int *number)
{
    if (text.len == 0 || text.len > 4)
        return false;
    *number = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        *number = *number * 10 + (text.data[i] - '0');
    }
    return true;
}

static bool cron_read_value(struct view text, const struct cron_field *field,
                            int *value)
{
    for (int i = 0; field->names && field->names[i]; i++)
        if (text.len == strlen(field->names[i]) &&
            strncasecmp(text.data, field->names[i], text.len) == 0) {
            *value = field->min + i;
            return true;
        }
    return cron_read_number(text, value) && *value >= field->min &&
           *value <= field->max;
}

/* "*", "5", "1-5". Sunday is 0, but 7 at the end of a range such as sat-sun;
 * read_fields() turns bit 7 into bit 0. */
static bool read_range(struct view text, const struct cron_field *field,
                       int *from, int *to, bool *single)
{
    struct view first;

    *single = false;
    *from = field->min;
    *to = field->max;
    if (view_is(text, "*"))
        return true;
    *single = !memchr(text.data, '-', text.len);
    first = cron_cut(&text, '-');
    if (!cron_read_value(first, field, from))
        return false;
    *to = *from;
    if (*single)
        return true;
    if (!cron_read_value(text, field, to))
        return false;
    if (field == &fields[WEEKDAY] && *to == 0 && *from > 0)
        *to = 7;
    return *from <= *to;
}

static bool read_part(struct view part, const struct cron_field *field,
                      uint64_t *bits, struct err *err)
{
    struct view text = part;
    bool stepped = memchr(part.data, '/', part.len) != NULL;
    struct view range = cron_cut(&text, '/');
    int from = 0, to = 0, step = 1;
    bool single;

    if (!read_range(range, field, &from, &to, &single) ||
        (stepped && !cron_read_number(text, &step)))
        return bad_part(field, part, err);
    if (stepped && (single || step < 1 || step > field->max))
        return err_set(err, ERR_REJECT, "bad_field",
                       "schedule: %s: in \"%.*s\" the step must be 1 to %d, "
                       "of * or of a range",
                       field->name, VIEW_ARG(view_head(part, 32)), field->max);
    for (; from <= to; from += step)
        *bits |= UINT64_C(1) << from;
    return true;
}

static bool read_field(struct view text, const struct cron_field *field,
                       uint64_t *bits, struct err *err)
{
    *bits = 0;
    if (text.len == 0 || text.data[text.len - 1] == ',')
        return bad_part(field, text, err);
    while (text.len > 0)
        if (!read_part(cron_cut(&text, ','), field, bits, err))
            return false;
    return true;
}

static struct view cron_trimmed(struct view text)
{
    while (text.len > 0 && byte_is_of(text.data[0], " \t")) {
        text.data++;
        text.len--;
    }
    while (text.len > 0 && byte_is_of(text.data[text.len - 1], " \t"))
        text.len--;
    return text;
}

static bool split(struct view spec, struct view texts[FIELDS], struct err *err)
{
    int count = 0;

    for (struct view rest = spec; rest.len > 0; count++) {
        size_t len = 0;

        while (len < rest.len && rest.data[len] != ' ' &&
               rest.data[len] != '\t')
            len++;
        if (count < FIELDS)
            texts[count] = (struct view){ rest.data, len };
        rest = cron_trimmed((struct view){ rest.data + len, rest.len - len });
    }
    return count == FIELDS ||
           err_set(err, ERR_REJECT, "bad_field",
                   "schedule: \"%.*s\" has %d fields, not 5: minute hour day "
                   "month weekday (or \"every 15m\", \"@daily\")",
                   VIEW_ARG(view_head(spec, 64)), count);
}

/* Whether no month that is allowed has a day that is allowed, and no weekday
 * would be enough: such a schedule would be searched for in vain. */
static bool never_comes(const struct cron *cron)
{
    static const int lengths[] = { 31, 29, 31, 30, 31, 30,
                                   31, 31, 30, 31, 30, 31 };

    for (int month = 1; month <= 12; month++)
        for (int day = 1; day <= lengths[month - 1]; day++)
            if (cron->months & UINT64_C(1) << month && cron->days & UINT64_C(1)
                                                                        << day)
                return false;
    return cron->any_day || cron->any_weekday;
}

static bool read_fields(struct cron *cron, struct view spec, struct err *err)
{
    uint64_t *const bits[FIELDS] = { &cron->minutes, &cron->hours, &cron->days,
                                     &cron->months, &cron->weekdays };
    struct view texts[FIELDS] = { 0 };

    if (!split(spec, texts, err))
        return false;
    for (int i = 0; i < FIELDS; i++)
        if (!read_field(texts[i], &fields[i], bits[i], err))
            return false;
    if (cron->weekdays & 1 << 7)
        cron->weekdays = (cron->weekdays | 1) & 0x7f;
    cron->any_hour = texts[HOUR].data[0] == '*';
    cron->any_day = texts[DAY].data[0] == '*';
    cron->any_weekday = texts[WEEKDAY].data[0] == '*';
    return !never_comes(cron) ||
           err_set(err, ERR_REJECT, "bad_field",
                   "schedule: \"%.*s\" never goes off: no such month has such "
                   "a day",
                   VIEW_ARG(view_head(spec, 64)));
}

static bool read_every(struct cron *cron, struct view text, struct err *err)
{
    static const struct {
        char unit;
        uint64_t seconds;
    } units[] = { { 's', 1 }, { 'm', 60 }, { 'h', HOUR_S }, { 'd', DAY_S } };
    struct view digits = { text.data, text.len > 0 ? text.len - 1 : 0 };
    int number;

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (text.len > 0 && text.data[digits.len] == units[i].unit &&
            cron_read_number(digits, &number))
            cron->every_s = (uint64_t)number * units[i].seconds;
    return (cron->every_s > 0 && cron->every_s <= UINT64_C(366) * DAY_S) ||
           err_set(err, ERR_REJECT, "bad_field",
                   "schedule: every \"%.*s\" is not 1s to 366d, such as 90s, "
                   "15m, 2h, 1d",
                   VIEW_ARG(view_head(text, 32)));
}

static bool read_nickname(struct cron *cron, struct view spec, struct err *err)
{
    static const struct {
        const char *name;
        struct view fields;
    } nicknames[] = {
        { "@yearly", VIEW_INIT("0 0 1 1 *") },
        { "@annually", VIEW_INIT("0 0 1 1 *") },
        { "@monthly", VIEW_INIT("0 0 1 * *") },
        { "@weekly", VIEW_INIT("0 0 * * 0") },
        { "@daily", VIEW_INIT("0 0 * * *") },
        { "@midnight", VIEW_INIT("0 0 * * *") },
        { "@hourly", VIEW_INIT("0 * * * *") },
    };

    for (size_t i = 0; i < sizeof(nicknames) / sizeof(nicknames[0]); i++)
        if (view_is(spec, nicknames[i].name))
            return read_fields(cron, nicknames[i].fields, err);
    return err_set(err, ERR_REJECT, "bad_field",
                   "schedule: \"%.*s\" is none of @hourly, @daily, @weekly, "
                   "@monthly, @yearly",
                   VIEW_ARG(view_head(spec, 32)));
}

bool cron_parse(struct cron *cron, struct view spec, struct err *err)
{
    static const char every[] = "every ";
    size_t len = sizeof(every) - 1;

    *cron = (struct cron){ 0 };
    spec = cron_trimmed(spec);
    if (spec.len > MAX_CRON_BYTES)
        return err_set(err, ERR_REJECT, "too_large",
                       "schedule: %zu bytes, at most %d", spec.len,
                       MAX_CRON_BYTES);
    if (view_starts(spec, "@"))
        return read_nickname(cron, spec, err);
    if (!view_starts(spec, every))
        return read_fields(cron, spec, err);
    return read_every(
        cron, cron_trimmed((struct view){ spec.data + len, spec.len - len }),
        err);
}

/* --- the next time -------------------------------------------------------- */

static bool cron_has(uint64_t bits, int64_t number)
{
    return bits >> number & 1;
}

static bool is_day(const struct cron *cron, int64_t number)
{
    struct date date = date_of_day(number);
    bool day = cron_has(cron->days, date.day);
    bool weekday = cron_has(cron->weekdays, weekday_of_day(number));

    if (!cron_has(cron->months, date.month))
        return false;
    return cron->any_day || cron->any_weekday ? day && weekday : day || weekday;
}

/* The first minute of a day, from the minute first on; -1: there is none. */
static int64_t next_minute(const struct cron *cron, int64_t first)
{
    for (int64_t minute = first; minute < DAY_MINUTES; minute++) {
        if (!cron_has(cron->hours, minute / 60))
            minute += 59 - minute % 60;
        else if (cron_has(cron->minutes, minute % 60))
            return minute;
    }
    return -1;
}

/* The next time that is due as a clock shows it (zone.h), from from on;
 * INT64_MAX: there is none within DAYS_AHEAD. */
static int64_t next_local(const struct cron *cron, int64_t from)
{
    int64_t minute = -floor_div(-from, 60);
    int64_t day = floor_div(minute, DAY_MINUTES);
    int64_t first = minute - day * DAY_MINUTES;

    for (int64_t end = day + DAYS_AHEAD; day < end; day++, first = 0) {
        int64_t due = is_day(cron, day) ? next_minute(cron, first) : -1;

        if (due >= 0)
            return day * DAY_S + due * 60;
    }
    return INT64_MAX;
}

/* Until which time on the clock everything in this span was shown before: when
 * clocks were put back at its beginning, the hour that comes twice is due in
 * the span before it only. */
static int64_t shown_until(const struct zone *zone, struct zone_span span)
{
    if (span.from == INT64_MIN)
        return INT64_MIN;
    return span.from + zone_at(zone, span.from - 1).offset;
}

/* Goes from one span of a fixed offset to the next: within a span a clock just
 * runs, so its time and UTC differ by the offset. */
static int64_t next_second(const struct cron *cron, const struct zone *zone,
                           int64_t after)
{
    int64_t end = after + (int64_t)DAYS_AHEAD * DAY_S;

    for (int64_t at = after; at < end;) {
        struct zone_span span = zone_at(zone, at);
        int64_t from = (at == after ? at + 1 : at) + span.offset;
        int64_t shown = cron->any_hour ? INT64_MIN : shown_until(zone, span);
        int64_t due = next_local(cron, from > shown ? from : shown);

        if (due == INT64_MAX)
            return due;
        if (due - span.offset < span.until)
            return due - span.offset;
        at = span.until;
        /* The time that was due lies in the hour that the clocks leave out: a
         * schedule of given hours goes off at the end of that hour. */
        if (!cron->any_hour && due < at + zone_at(zone, at).offset)
            return at;
    }
    return INT64_MAX;
}

uint64_t cron_next(const struct cron *cron, const struct zone *zone,
                   uint64_t after_ms)
{
    uint64_t after_s = after_ms / 1000;
    int64_t next;

    if (after_s >= (uint64_t)END_S)
        return 0;
    if (cron->every_s > 0)
        next = (int64_t)((after_s / cron->every_s + 1) * cron->every_s);
    else
        next = next_second(cron, zone, (int64_t)after_s);
    return next < END_S ? (uint64_t)next * 1000 : 0;
}
