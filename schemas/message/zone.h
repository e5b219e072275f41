/* zone.h - the local time of a time zone, now and in years to come.
 *
 * The rules are those of the tz database, read from its compiled files (RFC
 * 8536): a table of changes, and for the years behind it a rule as in the TZ
 * variable. The C library reads them, too, but has one zone for the whole
 * process at a time; here a zone is a value.
 *
 * An instant is in seconds since 1970 UTC. A time on a clock is written as the
 * number of seconds until a clock of UTC shows the same. */
#ifndef SCHEMAS_MESSAGE_ZONE_H
#define SCHEMAS_MESSAGE_ZONE_H

#include <stdint.h>

#include "schemas/message/err.h"
#include "schemas/message/view.h"

enum { MAX_ZONE_NAME = 64, MAX_ZONE_BYTES = 64 << 10 };

/* From the instant from until the instant until, clocks are offset seconds
 * ahead of UTC. The neighbours may be of the same offset. */
struct zone_span {
    int64_t from, until; /* INT64_MIN, INT64_MAX: no such end */
    int64_t offset;
};

struct zone;

/* A new zone, to be freed by zone_free(). name: "Europe/Berlin", a file below
 * $TZDIR or /usr/share/zoneinfo; empty or "UTC": UTC, which needs no file. It
 * reads the file at once, and blocks while it does. NULL and bad_field: there
 * is no such zone. */
struct zone *zone_open(struct view name, struct err *err);
/* The same from the bytes of such a file. */
struct zone *zone_read(struct view file, struct err *err);
void zone_free(struct zone *zone); /* accepts NULL */

/* The span in which the instant lies. */
struct zone_span zone_at(const struct zone *zone, int64_t instant);

/* A day of the calendar, and its number: 1970-01-01 is day 0. */
struct date {
    int64_t year;
    int month; /* 1 to 12 */
    int day;   /* 1 to 31 */
};
struct date date_of_day(int64_t number);
int64_t day_of_date(struct date date);
int weekday_of_day(int64_t number);      /* 0: Sunday */
int64_t floor_div(int64_t a, int64_t b); /* rounds down; b > 0 */

#endif
