/* settings.h - what an operator may set in quern-consumer.
 *
 * The table in settings.c says how each is called, what it may be and what it
 * does; schemas/settings/setting.h reads flags, environment and file by it. */
#ifndef CONSUMER_SETTINGS_H
#define CONSUMER_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/redis/address.h"
#include "schemas/settings/setting.h"

struct redis_settings {
    char *url;
    char *sentinel_password;
    struct address_tls tls;
    char *prefix;
    char *durability;
};

struct endpoint_settings { /* models */
    char *file;            /* JSON, see endpoint.h */
    char *base_url;        /* this and what follows: of the default endpoint */
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

struct approval_settings { /* of calls, by a person */
    char *tools;           /* names of the tools that need it */
    char *otherwise; /* the verdict when none comes in time: abort, skip */
    uint64_t ms;     /* that time */
};

struct limit_settings { /* of a job; it may set lower ones itself */
    uint64_t max_turns;
    uint64_t max_tokens;
    uint64_t max_total_tokens;
    uint64_t max_cost;       /* micro-dollars */
    uint64_t output_repairs; /* see answer.h */
    uint64_t repeats;        /* of the same call, see brake.h */
    uint64_t deadline_ms;    /* of a job that names none, from each start */
    uint64_t cell_ms;        /* of one cell */
    uint64_t memory_bytes;
    uint64_t images;      /* of one request, for a model that sees */
    uint64_t image_bytes; /* of them together */
};

struct retry_settings {    /* see wait.h */
    uint64_t max_attempts; /* tries in a row, the first included */
    uint64_t backoff_ms;   /* before the second one */
    uint64_t hold_ms;      /* the longest wait in the job's slot */
    uint64_t away_ms; /* that the executor is away until jobs that need it go
                         back to their queue */
};

struct result_settings {  /* and events */
    uint64_t delta_ms;    /* see progress.h */
    uint64_t ttl_ms;      /* of results and blobs */
    uint64_t dead_ttl_ms; /* the same, of jobs that have failed */
    char *blob_url;       /* template, see links.h; "": none */
};

struct session_settings {
    bool save;              /* variables and files */
    uint64_t ttl_ms;        /* of a record, since it was written last */
    uint64_t bytes;         /* of all saved files of a session */
    uint64_t history_bytes; /* of what was said in a session; 0: none is kept */
};

struct trace_settings {    /* see trace/otlp.h */
    char *endpoint;        /* a base; "": none */
    char *traces_endpoint; /* the whole URL; "": none */
    char *headers;         /* k=v,k=v; secret */
    uint64_t timeout_ms;   /* of a request */
    char *service;         /* its name; "": the resource's, or quern-consumer */
    char *resource;        /* k=v,k=v */
    char *share;           /* of all traces, 0 to 1 */
    bool content;
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
    struct trace_settings trace;

    char *queues;  /* comma-separated, the most urgent first */
    char *name;    /* of this consumer; made up when empty */
    char *metrics; /* place to listen at; "": nowhere */
    char *executor;
    char *prompts;       /* folder, see ask.h */
    uint64_t partitions; /* 0: as the fleet has them */
    uint64_t slots;      /* jobs at the same time */
    uint64_t lease_ms;
    uint64_t max_crashes; /* after more lost leases a job fails */
    uint64_t drain_ms;    /* how long jobs may take to end in a drain */
    int log_level;        /* enum log_severity */
    uint64_t reload_ms;
    uint64_t grace_ms;
    uint64_t redis_ms; /* for the answer to a command */
};

extern const struct setting_table settings_table;

#endif
