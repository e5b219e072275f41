/* cron_try.c - schedules from standard input, as test_cron_peer.py asks: lines
 * "ZONE<tab>AFTER_MS<tab>SPEC"; for each the next time in ms, or what is wrong
 * with it. A line "ZONE<tab>AT_S" asks for the zone's offset at that second. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/cron.h"

int main(void)
{
    char line[512];

    while (fgets(line, sizeof(line), stdin)) {
        struct err err = { 0 };
        struct cron cron;
        char *rest = line;
        struct zone *zone;
        const char *name, *at, *spec;

        line[strcspn(line, "\n")] = '\0';
        name = strsep(&rest, "\t");
        at = strsep(&rest, "\t");
        spec = rest;
        zone = zone_open(view_of(name), &err);
        if (!zone || (spec && !cron_parse(&cron, view_of(spec), &err)))
            printf("%s\n", err.text);
        else if (spec)
            printf("%" PRIu64 "\n",
                   cron_next(&cron, zone, strtoull(at, NULL, 10)));
        else
            printf("%" PRId64 "\n",
                   zone_at(zone, strtoll(at, NULL, 10)).offset);
        zone_free(zone);
        fflush(stdout);
    }
    return 0;
}
