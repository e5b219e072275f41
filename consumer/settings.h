/* settings.h - what an operator may set in quern-consumer.
 *
 * The table in settings.c says how each is called, what it may be and what it
 * does; schemas/settings/setting.h reads flags, environment and file by it. */
#ifndef CONSUMER_SETTINGS_H
#define CONSUMER_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/settings/setting.h"

struct settings {
    char *redis_url;
    char *sentinel_password;
    char *prefix;
    char *durability;
    char *queues; /* comma-separated, the most urgent first */
    char *name;   /* of this consumer; made up when empty */
    char *executor;
    char *models;           /* JSON file, see endpoint.h */
    char *tools;            /* JSON file, see http_tool.h, mcp_server.h */
    char *tools_builtin;    /* names, see builtin.h */
    char *approve;          /* tools, which a person must */
    char *approval_default; /* abort, skip */
    uint64_t approval_ms;
    char *fetch_allow; /* see fetch_policy.h */
    char *fetch_deny;
    char *search; /* providers, see search_provider.h; "off" */
    char *tavily_key, *tavily_url;
    char *bocha_key, *bocha_url;
    char *brave_key, *brave_url;
    char *searxng_url;
    char *duckduckgo_url;
    uint64_t search_cache_ms;
    uint64_t search_cache_bytes;
    char *prompts;    /* folder, see prompt.h */
    uint64_t repeats; /* of the same, see brake.h */
    char *base_url;
    char *key;
    char *model;
    uint64_t partitions; /* 0: as the fleet has them */
    uint64_t slots;
    uint64_t lease_ms;
    uint64_t max_crashes;
    uint64_t drain_ms;
    uint64_t redis_ms;
    uint64_t away_ms;
    uint64_t max_turns;
    uint64_t max_tokens;
    uint64_t max_total_tokens;
    uint64_t max_cost;
    uint64_t output_repairs; /* see answer.h */
    uint64_t max_attempts;
    uint64_t backoff_ms;
    uint64_t hold_ms;
    uint64_t deadline_ms;
    uint64_t cell_ms;
    uint64_t memory_bytes;
    uint64_t delta_ms;
    uint64_t result_ttl_ms;
    uint64_t dead_ttl_ms;
    bool save_sessions;
    uint64_t session_ttl_ms;
    uint64_t session_bytes;
    char *blob_url;         /* template, see links.h; "": none */
    uint64_t pictures;      /* that a request shows a model that sees */
    uint64_t picture_bytes; /* of them, in all */
    uint64_t history_bytes; /* of what was said in a session; 0: none */
};

extern const struct setting_table settings_table;

#endif
