/* zone.c - zones of the tz database, read from its compiled files. */
#include "schemas/message/zone.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/zone_rule.h"

enum {
    HEADER_BYTES = 44,
    MAX_CHANGES = 4096,
    MAX_OFFSET_S = 26 * 3600, /* RFC 8536: less than that, either way */
};

struct zone_change {
    int64_t at;
    int64_t offset; /* from then on */
};

struct zone {
    int64_t first; /* offset before every change */
    size_t count;
    struct zone_change *changes; /* in the order of time */
    bool ruled;                  /* after the last of them ... */
    struct zone_rule rule;       /* ... this says */
};

int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* The Gregorian calendar, with years that begin in March, so that February 29
 * is the last day of a year. Every 400 years (146097 days) the calendar is the
 * same again; 719468 days lie between 0000-03-01 and 1970-01-01. The formulas
 * are those of H. Hinnant, "chrono-Compatible Low-Level Date Algorithms". */
int64_t day_of_date(struct date date)
{
    int64_t year = date.year - (date.month <= 2);
    int64_t era = floor_div(year, 400);
    int64_t of_era = year - era * 400;
    int64_t of_year =
        (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
           719468;
}

struct date date_of_day(int64_t number)
{
    int64_t shifted = number + 719468;
    int64_t era = floor_div(shifted, 146097);
    int64_t rest = shifted - era * 146097;
    int64_t year = (rest - rest / 1460 + rest / 36524 - rest / 146096) / 365;
    int64_t of_year = rest - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153; /* 0: March */
    struct date date = {
        .year = year + era * 400 + (month >= 10),
        .month = (int)(month < 10 ? month + 3 : month - 9),
        .day = (int)(of_year - (153 * month + 2) / 5 + 1),
    };

    return date;
}

int weekday_of_day(int64_t number)
{
    return (int)(number + 4 - 7 * floor_div(number + 4, 7));
}

/* --- the file ------------------------------------------------------------- */

/* What is left of a file. A read past the end sets broken, and so does every
 * later one: callers read on and look once. */
struct zone_reader {
    const unsigned char *at;
    size_t left;
    bool broken;
};

static const unsigned char *zone_take(struct zone_reader *reader, size_t size)
{
    const unsigned char *at = reader->at;

    if (reader->broken || size > reader->left) {
        reader->broken = true;
        return NULL;
    }
    reader->at += size;
    reader->left -= size;
    return at;
}

/* A number of size bytes, big-endian, in two's complement. */
static int64_t zone_take_number(struct zone_reader *reader, size_t size)
{
    const unsigned char *at = zone_take(reader, size);
    uint64_t number = at && at[0] & 0x80 ? UINT64_MAX : 0;

    for (size_t i = 0; at && i < size; i++)
        number = number << 8 | at[i];
    return (int64_t)number;
}

/* The counts of the header, in its order; all are bounded by MAX_CHANGES. */
enum { UT_FLAGS, STD_FLAGS, LEAPS, CHANGES, TYPES, CHARACTERS, COUNTS };

static bool take_header(struct zone_reader *reader, int64_t counts[COUNTS],
                        char *version)
{
    const unsigned char *magic = zone_take(reader, 20);

    for (int i = 0; i < COUNTS; i++)
        counts[i] = zone_take_number(reader, 4);
    for (int i = 0; i < COUNTS; i++)
        if (counts[i] < 0 || counts[i] > MAX_CHANGES)
            return false;
    if (!magic || reader->broken || memcmp(magic, "TZif", 4) != 0)
        return false;
    *version = (char)magic[4];
    return counts[TYPES] > 0;
}

static size_t body_size(const int64_t counts[COUNTS], int64_t width)
{
    return (size_t)(counts[CHANGES] * (width + 1) + counts[TYPES] * 6 +
                    counts[CHARACTERS] + counts[LEAPS] * (width + 4) +
                    counts[STD_FLAGS] + counts[UT_FLAGS]);
}

static bool take_types(struct zone_reader *reader, int64_t count,
                       int64_t *offsets)
{
    for (int64_t i = 0; i < count; i++) {
        offsets[i] = zone_take_number(reader, 4);
        zone_take(reader, 2);
        if (offsets[i] <= -MAX_OFFSET_S || offsets[i] >= MAX_OFFSET_S)
            return false;
    }
    return !reader->broken;
}

static bool take_changes(struct zone_reader *reader, struct zone *zone,
                         const int64_t counts[COUNTS])
{
    int64_t offsets[256] = { 0 };
    const unsigned char *types;

    zone->count = (size_t)counts[CHANGES];
    zone->changes = calloc(zone->count + 1, sizeof(*zone->changes));
    if (!zone->changes)
        abort();
    for (size_t i = 0; i < zone->count; i++) {
        zone->changes[i].at = zone_take_number(reader, 8);
        if (i > 0 && zone->changes[i].at <= zone->changes[i - 1].at)
            return false;
    }
    types = zone_take(reader, zone->count);
    if (reader->broken || counts[TYPES] > 256 ||
        !take_types(reader, counts[TYPES], offsets))
        return false;
    for (size_t i = 0; i < zone->count; i++) {
        if (types[i] >= counts[TYPES])
            return false;
        zone->changes[i].offset = offsets[types[i]];
    }
    zone->first = offsets[0];
    zone_take(reader, (size_t)(counts[CHARACTERS] + counts[LEAPS] * 12 +
                               counts[STD_FLAGS] + counts[UT_FLAGS]));
    return !reader->broken;
}

/* The rule stands between two line feeds. It may be empty: then the last change
 * of the table holds for ever. */
static bool take_rule(struct zone_reader *reader, struct zone *zone)
{
    struct view text = { (const char *)reader->at, reader->left };
    const char *end;

    if (text.len < 2 || text.data[0] != '\n')
        return false;
    text.data++;
    end = memchr(text.data, '\n', text.len - 1);
    if (!end)
        return false;
    text.len = (size_t)(end - text.data);
    zone->ruled = text.len > 0;
    return !zone->ruled || zone_rule_parse(&zone->rule, text);
}

/* The file has everything twice: first with times of 32 bits, for old programs,
 * which is skipped; then with times of 64 bits. */
static bool read_zone(struct zone *zone, struct view file)
{
    struct zone_reader reader = { (const unsigned char *)file.data, file.len,
                                  false };
    int64_t counts[COUNTS];
    char version;

    if (!take_header(&reader, counts, &version) || version < '2')
        return false;
    zone_take(&reader, body_size(counts, 4));
    return take_header(&reader, counts, &version) &&
           take_changes(&reader, zone, counts) && take_rule(&reader, zone);
}

struct zone *zone_read(struct view file, struct err *err)
{
    struct zone *zone = calloc(1, sizeof(*zone));

    if (!zone)
        abort();
    if (read_zone(zone, file))
        return zone;
    zone_free(zone);
    err_set(err, ERR_REJECT, "bad_field",
            "not a zone of the tz database (RFC 8536, version 2 or later)");
    return NULL;
}

static bool is_zone_name(struct view name)
{
    if (name.len > MAX_ZONE_NAME || name.data[0] == '/')
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || (c != '\0' && strchr("/_+-", c))))
            return false;
    }
    return true;
}

static bool no_zone(struct view name, const char *why, struct err *err)
{
    return err_set(err, ERR_REJECT, "bad_field",
                   "zone: \"%.*s\" is no time zone here: %s",
                   VIEW_ARG(view_head(name, MAX_ZONE_NAME)), why);
}

struct zone *zone_open(struct view name, struct err *err)
{
    const char *folder = getenv("TZDIR");
    static const char usual[] = "/usr/share/zoneinfo";
    char path[4096];
    char *bytes;
    FILE *file;
    struct zone *zone = NULL;

    if (name.len == 0 || view_is(name, "UTC")) {
        zone = calloc(1, sizeof(*zone));
        if (!zone)
            abort();
        return zone;
    }
    if (!is_zone_name(name)) {
        no_zone(name, "a name is like Europe/Berlin", err);
        return NULL;
    }
    snprintf(path, sizeof(path), "%s/%.*s", folder ? folder : usual,
             VIEW_ARG(name));
    file = fopen(path, "re");
    bytes = malloc(MAX_ZONE_BYTES + 1);
    if (!bytes)
        abort();
    size_t size = file ? fread(bytes, 1, MAX_ZONE_BYTES + 1, file) : 0;

    if (!file)
        no_zone(name,
                errno == ENOENT ? "a name is like Europe/Berlin (and "
                                  "the package tzdata brings them)"
                                : strerror(errno),
                err);
    else if (size > 0 && size <= MAX_ZONE_BYTES)
        zone = zone_read((struct view){ bytes, size }, err);
    else
        no_zone(name, "not a file of the tz database", err);
    if (file)
        fclose(file);
    free(bytes);
    return zone;
}

void zone_free(struct zone *zone)
{
    if (!zone)
        return;
    free(zone->changes);
    free(zone);
}

/* --- asking --------------------------------------------------------------- */

static struct zone_span by_table(const struct zone *zone, int64_t instant)
{
    size_t low = 0, high = zone->count; /* changes before low are past */

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (zone->changes[middle].at <= instant)
            low = middle + 1;
        else
            high = middle;
    }
    return (struct zone_span){
        .from = low > 0 ? zone->changes[low - 1].at : INT64_MIN,
        .until = low < zone->count ? zone->changes[low].at : INT64_MAX,
        .offset = low > 0 ? zone->changes[low - 1].offset : zone->first,
    };
}

struct zone_span zone_at(const struct zone *zone, int64_t instant)
{
    struct zone_span span = by_table(zone, instant);

    if (!zone->ruled || span.until != INT64_MAX)
        return span;
    return zone_rule_at(&zone->rule, span.from, instant);
}
