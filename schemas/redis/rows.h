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

/* Four rows; at(member): the offset of a member of the program's struct
 * address_tls. */
#define REDIS_TLS_ROWS(at)                                                     \
    { .name = "redis-tls-ca",                                                  \
      .type = SETTING_TEXT,                                                    \
      .offset = at(ca),                                                        \
      .value = "FILE",                                                         \
      .normally = "what this machine trusts",                                  \
      .about = "Of rediss: URLs: the certificates (PEM) that sign Redis's "    \
               "own. These files are read at each new connection." },          \
        { .name = "redis-tls-certificate",                                     \
          .type = SETTING_TEXT,                                                \
          .offset = at(certificate),                                           \
          .value = "FILE",                                                     \
          .about = "The certificate (PEM) to show to a Redis that asks for "   \
                   "one (tls-auth-clients)." },                                \
        { .name = "redis-tls-key",                                             \
          .type = SETTING_TEXT,                                                \
          .offset = at(key),                                                   \
          .value = "FILE",                                                     \
          .about = "Its private key (PEM), without a passphrase." },           \
    {                                                                          \
        .name = "redis-tls-server-name", .type = SETTING_TEXT,                 \
        .offset = at(server_name), .value = "HOST",                            \
        .normally = "the host of the URL",                                     \
        .about = "The name that Redis's certificate must have."                \
    }

#define REDIS_PREFIX_ROW(at)                                                   \
    {                                                                          \
        .name = "prefix", .type = SETTING_TEXT, .offset = (at),                \
        .normal = "quern:", .check = names_check_prefix,                       \
        .about = "What every key of this fleet begins with."                   \
    }

#endif
