/* zone_rule.h - the rule that a zone's clocks follow behind the changes of its
 * table, as the TZ variable of POSIX has it: "CET-1CEST,M3.5.0,M10.5.0/3". Only
 * zone.c uses it. */
#ifndef SCHEMAS_MESSAGE_ZONE_RULE_H
#define SCHEMAS_MESSAGE_ZONE_RULE_H

#include "schemas/message/zone.h"

enum zone_day_kind {
    DAY_OF_MONTH, /* Mm.w.d: the w-th weekday d of month m; 5: the last */
    DAY_NO_LEAP,  /* Jn: 1 to 365, without February 29 */
    DAY_OF_YEAR,  /* n: 0 to 365 */
};

struct zone_day {
    enum zone_day_kind kind;
    int month, week, weekday; /* DAY_OF_MONTH */
    int number;               /* the other kinds */
    int64_t time_s; /* seconds since that day's midnight, on the clock before
                       it changes; may be negative or beyond the day */
};

struct zone_rule {
    int64_t standard, summer;   /* offsets, seconds ahead of UTC */
    bool changes;               /* false: standard time all year */
    struct zone_day begin, end; /* of summer time */
};

/* Fills *rule. Understands the extension of RFC 8536, hours from -167 to 167.
 * False: it is no such rule. */
bool zone_rule_parse(struct zone_rule *rule, struct view text);

/* The span in which the instant lies. since: the instant from which the rule
 * holds; instant is not before it. */
struct zone_span zone_rule_at(const struct zone_rule *rule, int64_t since,
                              int64_t instant);

#endif
