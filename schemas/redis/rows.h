/* rows.h - the rows of a program's table of settings that say where its Redis
 * is. `at` is the offset of the member; what they mean: address.h, names.h and
 * schemas/settings/setting.h. */
#ifndef SCHEMAS_REDIS_ROWS_H
#define SCHEMAS_REDIS_ROWS_H

#include "schemas/redis/address.h"
#include "schemas/redis/names.h"
#include "schemas/settings/setting.h"

/* Behind the offset: its default, .normal and if need be .normally. */
#define REDIS_URL_ROW(at, ...)                                                 \
    {                                                                          \
        .name = "redis-url", .variable = "REDIS_URL", .group = "Redis",        \
        .type = SETTING_SECRET, .offset = (at), .value = "URL",                \
        .check = address_check,                                                \
        .about =                                                               \
            "Where Redis is: redis://[user[:password]@]host[:port][/db], "     \
            "unix:///path, redis+sentinel://host,host/master or "              \
            "redis+cluster://host,host; rediss: with TLS.",                    \
        __VA_ARGS__                                                            \
    }

#define REDIS_SENTINEL_PASSWORD_ROW(at)                                        \
    {                                                                          \
        .name = "sentinel-password", .type = SETTING_SECRET, .offset = (at),   \
        .normal = "", .about = "The password of the sentinels themselves."     \
    }

#define REDIS_PREFIX_ROW(at)                                                   \
    {                                                                          \
        .name = "prefix", .type = SETTING_TEXT, .offset = (at),                \
        .normal = "quern:", .check = names_check_prefix,                       \
        .about = "What every key of this fleet begins with."                   \
    }

#endif
