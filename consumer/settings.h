/* settings.h - what an operator may set in quern-consumer.
 *
 * The table in settings.c says how each is called, what it may be and what it
 * does; schemas/settings/setting.h reads flags, environment and file by it. */
#ifndef CONSUMER_SETTINGS_H
#define CONSUMER_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/settings/setting.h"

struct redis_settings {
    char *url;
    char *sentinel_password;
    char *prefix;
    char *durability;
};

struct endpoint_settings { /* models */
    char *file;            /* JSON, see endpoint.h */
    char *base_url;        /* of the default one, and so on */
    char *key;
    char *model;
};

struct tool_settings {
    char *file;        /* JSON, see http_tool.h, mcp_server.h */
    char *builtin;     /* names, see builtin.h */
    char *fetch_allow; /* see fetch_policy.h */
    char *fetch_deny;
};

struct search_settings {
    char *providers; /* see search_provider.h; "off" */
    char *tavily_key, *tavily_url;
    char *bocha_key, *bocha_url;
    char *brave_key, *brave_url;
    char *searxng_url;
    char *duckduckgo_url;
    uint64_t cache_ms;
    uint64_t cache_bytes;
};

struct approval_settings { /* by a person */
    char *tools;           /* that need it */
    char *otherwise;       /* abort, skip */
    uint64_t ms;
};

struct limit_settings { /* of a job, where it does not say less */
    uint64_t max_turns;
    uint64_t max_tokens;
    uint64_t max_total_tokens;
    uint64_t max_cost;
    uint64_t output_repairs; /* see answer.h */
    uint64_t repeats;        /* of the same, see brake.h */
    uint64_t deadline_ms;
    uint64_t cell_ms;
    uint64_t memory_bytes;
    uint64_t pictures;      /* that a request shows a model that sees */
    uint64_t picture_bytes; /* of them, in all */
};

struct retry_settings { /* and waiting for what is away */
    uint64_t max_attempts;
    uint64_t backoff_ms;
    uint64_t hold_ms;
    uint64_t away_ms;
};

struct result_settings { /* and events */
    uint64_t delta_ms;
    uint64_t ttl_ms;
    uint64_t dead_ttl_ms;
    char *blob_url; /* template, see links.h; "": none */
};

struct session_settings {
    bool save;
    uint64_t ttl_ms;
    uint64_t bytes;
    uint64_t history_bytes; /* of what was said in a session; 0: none */
};

struct consumer_settings {
    struct redis_settings redis;
    struct endpoint_settings endpoint;
    struct tool_settings tools;
    struct search_settings search;
    struct approval_settings approval;
    struct limit_settings limits;
    struct retry_settings retry;
    struct result_settings result;
    struct session_settings session;

    char *queues; /* comma-separated, the most urgent first */
    char *name;   /* of this consumer; made up when empty */
    char *executor;
    char *prompts;       /* folder, see prompt.h */
    uint64_t partitions; /* 0: as the fleet has them */
    uint64_t slots;
    uint64_t lease_ms;
    uint64_t max_crashes;
    uint64_t drain_ms;
    uint64_t redis_ms;
};

extern const struct setting_table settings_table;

#endif
