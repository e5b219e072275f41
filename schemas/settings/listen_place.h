/* listen_place.h - where a program listens, as operators write it. */
#ifndef SCHEMAS_SETTINGS_LISTEN_PLACE_H
#define SCHEMAS_SETTINGS_LISTEN_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/message/err.h"

/* "127.0.0.1:8088", "[::1]:8088" or "unix:/run/quern/gateway.sock". */
struct listen_place {
    char path[108];   /* of a unix socket; "": it is an address */
    char address[64]; /* numeric */
    uint16_t port;
    bool is_local; /* a unix socket or a loopback address */
};

/* Reads the next place off list, which has commas between them; false at its
 * end, or with err at a wrong one. Clear err before the first call. */
bool listen_place_read(const char **list, struct listen_place *place,
                       struct err *err);

/* Of a setting that names one place. Error: as setting.h has a check's. */
bool listen_place_check(const char *text, struct err *err);

#endif
