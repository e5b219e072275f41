/* settings.h - what an operator may set in quern-deliverer. The table in
 * settings.c says how each is called, what it may be and what it does. */
#ifndef PRODUCER_DELIVER_SETTINGS_H
#define PRODUCER_DELIVER_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/redis/address.h"
#include "schemas/settings/setting.h"

enum { DELIVER_MOST_RETRIES = 16 };

/* How long after each failed attempt the next one is made. */
struct deliver_retries {
    uint64_t ms[DELIVER_MOST_RETRIES];
    size_t count;
};

struct deliver_settings {
    char *redis_url;
    char *sentinel_password;
    struct address_tls redis_tls;
    char *prefix;
    uint64_t redis_ms; /* for an answer of Redis */
    uint64_t poll_ms;

    uint64_t requests;          /* at the same time */
    uint64_t requests_per_hook; /* of these, to one webhook */
    uint64_t timeout_ms;        /* of a request */
    char *retries;              /* see deliver_retries_read() */
    bool plain_http;
    bool private_addresses;

    uint64_t drain_ms;
    int log_level; /* enum log_severity */
    uint64_t reload_ms;
};

extern const struct setting_table deliver_settings_table;

/* Reads "5s,5m,2h". Error: a sentence that goes on behind "is X". */
bool deliver_retries_read(const char *text, struct deliver_retries *retries,
                          struct err *err);

#endif
