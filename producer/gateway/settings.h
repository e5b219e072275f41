/* settings.h - what an operator may set in quern-gateway.
 *
 * The table in settings.c says how each is called, what it may be and what it
 * does; schemas/settings/setting.h reads flags, environment and file by it. */
#ifndef PRODUCER_GATEWAY_SETTINGS_H
#define PRODUCER_GATEWAY_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/redis/address.h"
#include "schemas/settings/listen_place.h"
#include "schemas/settings/setting.h"

struct gateway_settings {
    char *redis_url;
    char *sentinel_password;
    struct address_tls redis_tls;
    char *prefix;
    uint64_t redis_ms; /* for an answer of Redis */

    char *listen;                    /* places, see listen_place_read() */
    char *tls_certificate, *tls_key; /* paths; "": none */
    bool plain_http;    /* also where others than this host can listen in */
    char *open_tenant;  /* requests without a key are its; "": none are */
    char *cors_origins; /* words; "": pages of no other origin */
    uint64_t key_cache_ms;
    char *metrics; /* a place; "": none */

    uint64_t connections;
    uint64_t connections_per_address;
    uint64_t body_bytes; /* of all bodies of JSON in memory */
    uint64_t blob_bytes; /* of files that come in or go out, in memory */
    uint64_t response_ttl_ms;
    uint64_t foreground_grace_ms;
    uint64_t container_ttl_ms; /* what a client asked is kept */
    uint64_t file_ttl_ms;      /* an uploaded file is kept */
    uint64_t link_ttl_ms;      /* a link to a file opens it */
    char *public_url; /* what links begin with; "": as the client says */
    bool whole_turns; /* a text is streamed when it is certain */
    uint64_t drain_ms;
    int log_level; /* enum log_severity */
    uint64_t reload_ms;
};

extern const struct setting_table gateway_settings_table;

/* What only all of the settings together say: bad_setting. */
bool gateway_settings_check(const struct gateway_settings *settings,
                            struct err *err);

#endif
