/* cron.h - when a schedule goes off next.
 *
 *   every 15m              every so many s, m, h or d, counted from 1970 UTC
 *   @hourly, @daily ...    also @weekly, @monthly, @yearly
 *   30 6 * * mon-fri       minute hour day month weekday, as in crontab(5)
 *
 * A field is * or a list of numbers, ranges (1-5), and steps of a range or of *
 * (0-30/10); months and weekdays have names; 0 and 7 are Sunday. When neither
 * the day nor the weekday begins with *, one of them is enough.
 *
 * Where clocks change: a schedule of given hours goes off once a day. What is
 * due in an hour that is left out goes off at the end of it; in one that comes
 * twice, the first time. When the hour begins with *, it just follows the
 * clock: not in an hour that is left out, and in both of the two. */
#ifndef SCHEMAS_MESSAGE_CRON_H
#define SCHEMAS_MESSAGE_CRON_H

#include "schemas/message/zone.h"

enum { MAX_CRON_BYTES = 256 };

/* A parsed schedule: a value that owns nothing. */
struct cron {
    uint64_t every_s; /* "every": so many seconds, and the rest is not used;
                         zero: the fields */
    uint64_t minutes; /* in this and the next four: bit n is set when the field
                         allows n */
    uint64_t hours;
    uint64_t days;                       /* 1 to 31 */
    uint64_t months;                     /* 1 to 12 */
    uint64_t weekdays;                   /* 0 to 6 */
    bool any_hour, any_day, any_weekday; /* begins with * */
};

/* Error: bad_field, which names the field and what it may hold; also when it
 * could never go off, as on February 30. */
bool cron_parse(struct cron *cron, struct view spec, struct err *err);

/* The first time after after_ms, in ms since 1970; 0: none before the year
 * 9999. zone does not matter to "every". */
uint64_t cron_next(const struct cron *cron, const struct zone *zone,
                   uint64_t after_ms);

#endif
