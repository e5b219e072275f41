/* fuzz_cron.c - any text as a schedule and any bytes as a zone: what is taken
 * goes off later than asked, at a whole minute of the clock there or where the
 * clock was put forward, and asked again from just before, at the same time.
 *
 * Two bytes of days since 1970, the schedule up to a line feed, the zone. */
#include <string.h>

#include "schemas/message/cron.h"
#include "tests/fuzz/fuzz.h"

static void check_span(const struct zone *zone, int64_t at)
{
    struct zone_span span = zone_at(zone, at);

    MUST(span.from <= at && at < span.until);
    MUST(span.offset > -26 * 3600 && span.offset < 26 * 3600);
}

static void check_next(const struct cron *cron, const struct zone *zone,
                       uint64_t after)
{
    uint64_t next = cron_next(cron, zone, after);
    int64_t at = (int64_t)(next / 1000);

    if (next == 0)
        return;
    MUST(next > after && next % 1000 == 0);
    MUST(cron_next(cron, zone, next - 1) == next);
    check_span(zone, at);
    if (cron->every_s == 0 && zone_at(zone, at).from != at)
        MUST((at + zone_at(zone, at).offset) % 60 == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 2;
    const char *end = size > 2 ? memchr(text, '\n', size - 2) : NULL;
    struct zone *zone;
    struct cron cron;
    struct err err;

    if (!end)
        return 0;
    zone = zone_read((struct view){ end + 1, size - 3 - (size_t)(end - text) },
                     &err);
    if (!zone)
        zone = zone_open(VIEW("UTC"), &err);
    if (cron_parse(&cron, (struct view){ text, (size_t)(end - text) }, &err))
        for (uint64_t i = 0; i < 4; i++)
            check_next(&cron, zone,
                       ((uint64_t)data[0] << 8 | data[1]) * 86400000 +
                           i * 40000001);
    else
        MUST(err.kind == ERR_REJECT);
    zone_free(zone);
    return 0;
}
