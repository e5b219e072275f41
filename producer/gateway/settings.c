/* settings.c - the table of what an operator may set. */
#include "producer/gateway/settings.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/cors.h"
#include "schemas/message/limits.h"
#include "schemas/message/rule.h"
#include "schemas/redis/rows.h"
#include "schemas/service/log_row.h"
#include "schemas/service/reloader.h"

#define AT(member) offsetof(struct gateway_settings, member)

enum {
    HOUR_MS = 3600 * 1000,
    BODY_MEMORY_LEAST = 64 << 20,           /* more than the largest body */
    BLOB_MEMORY_LEAST = 2 * MAX_FILE_BYTES, /* the largest file, twice */
    MOST_URL_BYTES = 256,
};

static bool check_listen(const char *text, struct err *err)
{
    struct listen_place place;
    struct err wrong = { 0 };

    while (listen_place_read(&text, &place, &wrong))
        ;
    if (wrong.kind != ERR_NONE && err)
        *err = wrong;
    return wrong.kind == ERR_NONE;
}

static bool check_tenant(const char *text, struct err *err)
{
    return label_is_valid(view_of(text)) ||
           err_set(err, ERR_REJECT, "bad_setting",
                   "must be 1 to %d bytes of UTF-8 without control characters",
                   MAX_NAME_BYTES);
}

/* It stands in Markdown and in JSON as it is. */
static bool check_public_url(const char *text, struct err *err)
{
    static const char host[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]";
    static const char path[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_~%/";
    size_t len = strlen(text), skip = 0, name;

    if (strncmp(text, "http://", 7) == 0)
        skip = 7;
    else if (strncmp(text, "https://", 8) == 0)
        skip = 8;
    name = strspn(text + skip, host);
    return (skip > 0 && name > 0 && text[skip] != ':' &&
            (text[skip + name] == '\0' || text[skip + name] == '/') &&
            skip + name + strspn(text + skip + name, path) == len &&
            text[len - 1] != '/' && len <= MOST_URL_BYTES) ||
           err_set(err, ERR_REJECT, "bad_setting",
                   "must be http://HOST or https://HOST, with a port and a "
                   "path if need be, without / at its end, and at most %d "
                   "bytes",
                   MOST_URL_BYTES);
}

#define AT_TLS(member) AT(redis_tls.member)

static const struct setting rows[] = {
    REDIS_URL_ROW(AT(redis_url), .normal = "redis://127.0.0.1:6379"),
    REDIS_SENTINEL_PASSWORD_ROW(AT(sentinel_password)),
    REDIS_TLS_ROWS(AT_TLS),
    REDIS_PREFIX_ROW(AT(prefix)),
    { .name = "redis-timeout",
      .type = SETTING_TIME,
      .offset = AT(redis_ms),
      .min = 100,
      .max = HOUR_MS,
      .normal = "5s",
      .about = "If Redis does not answer a call for this time, the gateway "
               "answers 503 and connects anew." },

    { .name = "listen",
      .group = "HTTP",
      .type = SETTING_LIST,
      .offset = AT(listen),
      .normal = "127.0.0.1:8088",
      .value = "PLACE,...",
      .check = check_listen,
      .about = "Where requests are accepted: a numeric address with a port "
               "(127.0.0.1:8088, [::1]:8088) or unix:/path." },
    { .name = "tls-certificate",
      .type = SETTING_TEXT,
      .offset = AT(tls_certificate),
      .normal = "",
      .value = "FILE",
      .about = "Speak TLS on all addresses (not on unix sockets): the "
               "certificate and those between it and the root, PEM. HUP reads "
               "it again." },
    { .name = "tls-key",
      .type = SETTING_TEXT,
      .offset = AT(tls_key),
      .normal = "",
      .value = "FILE",
      .about = "Its private key; absent: in the same file." },
    { .name = "plain-http",
      .type = SETTING_SWITCH,
      .offset = AT(plain_http),
      .normal = "off",
      .about = "Listen without TLS also on addresses that other hosts reach: "
               "keys and answers can be read on the way." },
    { .name = "open",
      .type = SETTING_TEXT,
      .offset = AT(open_tenant),
      .normal = "",
      .value = "TENANT",
      .check = check_tenant,
      .about = "Requests without a key are this tenant's; for trying out, only "
               "on loopback addresses and unix sockets." },
    { .name = "cors-origins",
      .type = SETTING_LIST,
      .offset = AT(cors_origins),
      .normal = "",
      .value = "ORIGIN,...",
      .check = cors_check,
      .is_reloaded = true,
      .about = "Web pages of these origins (https://app.example) may use the "
               "gateway from a browser, with a key; * is any page." },
    { .name = "key-cache-time",
      .type = SETTING_TIME,
      .offset = AT(key_cache_ms),
      .max = HOUR_MS,
      .normal = "5s",
      .is_reloaded = true,
      .about = "How long the gateway remembers what Redis has said of a key. "
               "It hears at once of keys that are removed or replaced." },
    { .name = "metrics",
      .type = SETTING_TEXT,
      .offset = AT(metrics),
      .normal = "",
      .value = "PLACE",
      .check = listen_place_check,
      .about = "Where /metrics (for Prometheus, with the numbers of the whole "
               "fleet), /livez and /readyz are answered without a key: a "
               "numeric address with a port (127.0.0.1:9465) or unix:/path." },
    { .name = "connections",
      .group = "Limits",
      .type = SETTING_NUMBER,
      .offset = AT(connections),
      .min = 1,
      .max = 1000000,
      .normal = "12000",
      .about = "Connections of clients at the same time." },
    { .name = "connections-per-address",
      .type = SETTING_NUMBER,
      .offset = AT(connections_per_address),
      .min = 1,
      .max = 1000000,
      .normal = "2000",
      .about = "Of these from one address, or one network of 64 bits." },
    { .name = "blob-memory",
      .type = SETTING_SIZE,
      .offset = AT(blob_bytes),
      .min = BLOB_MEMORY_LEAST,
      .max = UINT64_C(1) << 40,
      .normal = "512M",
      .is_reloaded = true,
      .about = "Memory for all files that come in or go out; when it is used "
               "up, further ones are answered 503." },
    { .name = "body-memory",
      .type = SETTING_SIZE,
      .offset = AT(body_bytes),
      .min = BODY_MEMORY_LEAST,
      .max = UINT64_C(1) << 40,
      .normal = "256M",
      .about = "Memory for the bodies of all requests with JSON, until their "
               "answers; when it is used up, further ones are answered 503." },
    { .name = "response-ttl",
      .group = "Responses API",
      .type = SETTING_TIME,
      .offset = AT(response_ttl_ms),
      .min = UINT64_C(60) * 1000,
      .max = (uint64_t)MAX_KEEP_DAYS * 24 * HOUR_MS,
      .normal = "7d",
      .is_reloaded = true,
      .about = "How long a response can be read, and others can go on from "
               "it." },
    { .name = "file-ttl",
      .type = SETTING_TIME,
      .offset = AT(file_ttl_ms),
      .min = HOUR_MS,
      .max = UINT64_C(400) * 24 * HOUR_MS,
      .normal = "30d",
      .is_reloaded = true,
      .about = "How long an uploaded file is kept when its upload does not say "
               "so (expires_after)." },
    { .name = "container-ttl",
      .type = SETTING_TIME,
      .offset = AT(container_ttl_ms),
      .min = UINT64_C(60) * 1000,
      .max = (uint64_t)MAX_KEEP_DAYS * 24 * HOUR_MS,
      .normal = "7d",
      .is_reloaded = true,
      .about = "How long a container is kept after its last use, and the most "
               "that expires_after may say." },
    { .name = "link-ttl",
      .type = SETTING_TIME,
      .offset = AT(link_ttl_ms),
      .min = UINT64_C(60) * 1000,
      .max = (uint64_t)MAX_KEEP_DAYS * 24 * HOUR_MS,
      .normal = "24h",
      .is_reloaded = true,
      .about = "How long a link to a file that a job has made opens it, "
               "without a key. Chats are kept at least as long." },
    { .name = "public-url",
      .type = SETTING_TEXT,
      .offset = AT(public_url),
      .normal = "",
      .value = "URL",
      .check = check_public_url,
      .about = "What these links begin with, as https://quern.example; absent: "
               "the host that the request names, with https when the gateway "
               "itself speaks TLS." },
    { .name = "foreground-grace",
      .type = SETTING_TIME,
      .offset = AT(foreground_grace_ms),
      .max = UINT64_C(600) * 1000,
      .normal = "5s",
      .is_reloaded = true,
      .about = "When the client of a response that is not in the background "
               "goes away, its job is cancelled after this time, unless the "
               "client repeats the request, or has sent an Idempotency-Key." },
    { .name = "whole-turns",
      .type = SETTING_SWITCH,
      .offset = AT(whole_turns),
      .normal = "off",
      .is_reloaded = true,
      .about = "Stream a text only when its turn is complete, so that nothing "
               "is ever taken back." },
    { .name = "drain",
      .group = "Leaving",
      .type = SETTING_TIME,
      .offset = AT(drain_ms),
      .max = HOUR_MS,
      .normal = "25s",
      .is_reloaded = true,
      .about = "After TERM, requests and streams may go on for this time." },
    LOG_LEVEL_ROW(AT(log_level)),
    RELOAD_ROW(AT(reload_ms)),
};

static bool check_together(const void *settings, struct err *err)
{
    return gateway_settings_check(settings, err);
}

const struct setting_table gateway_settings_table = {
    .program = "quern-gateway",
    .about = "Takes jobs over HTTP, and gives their events and results.",
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .size = sizeof(struct gateway_settings),
    .check = check_together,
    .details =
        "TERM drains: no more connections, and requests and streams may go on "
        "for --drain. A second TERM ends at once.\n"
        "Exit status: 0 after a drain, 64 when a setting is wrong, 69 when the "
        "gateway cannot listen, or Redis refuses it.\n",
    .examples =
        "  quern-gateway --open default\n"
        "  quern-gateway --listen 127.0.0.1:8088,unix:/run/quern/gateway.sock\n"
        "  quern-gateway --document sample > gateway.conf\n",
};

bool gateway_settings_check(const struct gateway_settings *settings,
                            struct err *err)
{
    const char *list = settings->listen;
    struct listen_place place;
    struct err wrong = { 0 };

    if (*settings->open_tenant && strchr(settings->cors_origins, '*'))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--open with --cors-origins * lets every web page that "
                       "a browser on this host shows run code: name the "
                       "origins");
    while (listen_place_read(&list, &place, &wrong)) {
        if (place.is_local)
            continue;
        if (*settings->open_tenant)
            return err_set(err, ERR_REJECT, "bad_setting",
                           "--open gives everybody access: it is allowed on "
                           "loopback addresses and unix sockets only, not on "
                           "%s",
                           place.address);
        if (!settings->plain_http && *settings->tls_certificate == '\0')
            return err_set(err, ERR_REJECT, "bad_setting",
                           "--listen %s: other hosts reach this address, and "
                           "keys would cross the network unencrypted; give "
                           "--tls-certificate, or --plain-http to allow that",
                           place.address);
    }
    return true;
}
