/* zone_rule.h - the rule that a zone's clocks follow for ever, as the TZ
 * variable of POSIX has it: "CET-1CEST,M3.5.0,M10.5.0/3". Of zone.c. */
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
    int month, week, weekday;
    int number;
    int64_t time_s; /* of the clock that is about to change */
};

struct zone_rule {
    int64_t standard, summer;   /* offsets */
    bool changes;               /* else it is standard time all year */
    struct zone_day begin, end; /* of summer time */
};

/* The extensions of RFC 8536 are understood: hours from -167 to 167. */
bool zone_rule_parse(struct zone_rule *rule, struct view text);

/* since: the instant from which the rule holds. */
struct zone_span zone_rule_at(const struct zone_rule *rule, int64_t since,
                              int64_t instant);

#endif
