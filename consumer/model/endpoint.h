/* endpoint.h - the model endpoints that the operator has set up, by name.
 *
 * A job names a model, never a URL or a key. The names come from a JSON file,
 *
 *   {"default": {"url": "https://api.openai.com/v1", "model": "gpt-4o",
 *                "key_file": "/run/secrets/openai",
 *                "price": {"input": 2.5, "cached": 1.25, "output": 10}},
 *    "local":   {"url": "http://127.0.0.1:8000/v1", "model": "qwen3",
 *                "parameters": {"temperature": 0}, "window": 32768,
 *                "sees": true, "fallback": "default"},
 *    "claude":  {"url": "https://api.anthropic.com/v1", "dialect": "anthropic",
 *                "model": "claude-sonnet-4-5", "key_file": "/run/secrets/a"}}
 *
 * and from base_url, key and model (OPENAI_BASE_URL and so on), which make an
 * entry "default" unless the file has one. If there is no "default", the file's
 * first entry is used as such.
 *
 * "dialect" is chat (chat-completions, the default), anthropic (Messages) or
 * responses (OpenAI Responses).
 *
 * "headers" are sent with each request, "query" is put behind its path. That is
 * Azure's classic form. "url" may be that of the API or of a request, with a
 * query or without. ${NAME} in a header is a variable of the environment, and
 * secret.
 *
 *   {"azure": {"url": "https://x.openai.azure.com/openai/deployments/gpt-4o",
 *              "query": {"api-version": "2024-10-21"},
 *              "headers": {"api-key": "${AZURE_KEY}"}}}
 *
 * "parameters" (temperature and so on) go into each request. Those of a job
 * replace them, as far as the rules of "job_parameters" allow.
 *
 * The path in key_file is relative to this file. ../MODELS.md has every member.
 *
 * Endpoints have counted references: a table may be loaded anew while calls
 * still run at an endpoint of the old one. Nothing here ever prints a key. */
#ifndef CONSUMER_ENDPOINT_H
#define CONSUMER_ENDPOINT_H

#include <jansson.h>
#include <stdint.h>

#include "consumer/model/breaker.h"
#include "consumer/model/dialect.h"
#include "consumer/model/price.h"
#include "consumer/tools/headers.h"
#include "schemas/message/err.h"
#include "schemas/message/view.h"

/* What an endpoint does not take, learned from its refusals
 * (reply_error_learn()). Later requests leave it out. Kept as long as the
 * endpoint's entry. */
enum endpoint_quirk {
    QUIRK_NO_STREAM_OPTIONS = 1 << 0,
    QUIRK_MAX_COMPLETION_TOKENS = 1 << 1, /* instead of max_tokens */
    QUIRK_NO_MAX_TOKENS = 1 << 2,         /* neither of them */
    QUIRK_NO_TOOL_CHOICE = 1 << 3,
    QUIRK_NO_NULL_CONTENT = 1 << 4,  /* "" instead of null */
    QUIRK_NO_EMPTY_CONTENT = 1 << 5, /* null instead of "" */
    QUIRK_NO_STREAM = 1 << 6,        /* a plain body only */
    QUIRK_NO_CACHE = 1 << 7,         /* no cache_control */
    QUIRK_NO_ENCRYPTED = 1 << 8,     /* no reasoning to be sent back */
    QUIRK_BLIND = 1 << 9,            /* no pictures, whatever "sees" says */
    /* Parameters of a job: */
    QUIRK_NO_TEMPERATURE = 1 << 10,
    QUIRK_NO_TOP_P = 1 << 11,
    QUIRK_NO_SEED = 1 << 12,
    QUIRK_NO_STOP = 1 << 13,
    QUIRK_NO_EFFORT = 1 << 14,
    QUIRK_NO_SAMPLING = 1 << 15, /* any other parameter */
};

/* One endpoint: its settings, constant, then what was learned about it: quirks,
 * window, breaker. Freed with its last reference. */
struct model_endpoint {
    char *name; /* by which jobs choose it */
    const struct dialect *dialect;
    char *url;   /* of the API, without query and the slash at its end */
    char *query; /* behind each path, without its ?; NULL: none */
    struct headers headers; /* with each request */
    char *key;              /* NULL: none is sent */
    char *key_file;         /* where it was read; NULL: elsewhere */
    char *model;            /* the name that the endpoint has for the model */
    char *fallback;         /* name of the endpoint that is asked when this one
                               fails; NULL: none */
    bool unnamed;           /* model is "default" because nothing was set */
    json_t *parameters;     /* the operator's, in every request; may be NULL */
    json_t *job_parameters; /* rules for those of jobs; or NULL */
    bool sees;              /* it takes pictures */
    bool summarises;        /* what does not fit into the window is summarised
                               by it; else it is dropped */
    uint64_t window;        /* tokens of a request and its reply together; 0:
                               unknown, and learned from the first refusal */
    struct price price;     /* of its tokens */
    uint64_t first_byte_ms; /* until the reply starts; 0: default */
    uint64_t idle_ms;       /* between two pieces of it; 0: default */
    uint64_t total_ms;      /* 0: default */
    unsigned quirks;        /* enum endpoint_quirk, learned */
    struct breaker breaker;
    uint64_t shared_ms; /* the value of breaker.asked_ms that the fleet knows;
                           written by queue/fleet_endpoints.c only */
    unsigned refs;
};

enum { MAX_ENDPOINTS = 64 };

struct endpoints {
    struct model_endpoint *items[MAX_ENDPOINTS]; /* the default comes first */
    size_t count;
    const char *file; /* of the load; borrowed from its source */
};

/* Where the table comes from; each member may be NULL. base_url falls back to
 * https://api.openai.com/v1 when there is a key. */
struct endpoint_source {
    const char *file; /* JSON, as above */
    const char *base_url;
    const char *key;
    const char *model;
};

/* Error: bad_setting, with the file and the member. Replaces nothing on error.
 * No source at all gives an empty table: then only kind "code" can run. */
bool endpoints_load(struct endpoints *endpoints,
                    const struct endpoint_source *source, struct err *err);
void endpoints_finish(struct endpoints *endpoints);

/* Finds an endpoint by its name, else by the name of its model; "" means the
 * default. A new reference. NULL: there is none; the error unknown_model names
 * those that there are. */
struct model_endpoint *endpoints_take(const struct endpoints *endpoints,
                                      struct view name, struct err *err);
/* Every name that endpoints_take() finds, the default's first, as a JSON array;
 * to be freed. */
char *endpoints_names(const struct endpoints *endpoints);
/* Takes and gives back a reference. endpoint_free() accepts NULL. */
struct model_endpoint *endpoint_take(struct model_endpoint *endpoint);
void endpoint_free(struct model_endpoint *endpoint);
/* Whether any of these quirks was learned. */
bool endpoint_has(const struct model_endpoint *endpoint, unsigned quirks);
/* Stars out the key and the secrets of headers and query in text, a sentence,
 * in place: endpoints repeat what they were sent. */
void endpoint_hide(const struct model_endpoint *endpoint, char *text);

/* Whether the operator allows the job's parameters, wishes (NULL: none). Error:
 * bad_field, the first one that is not allowed. */
bool endpoint_allows(const struct model_endpoint *endpoint, json_t *wishes,
                     struct err *err);
/* The parameters of a request in the endpoint's dialect: the operator's, and
 * those of the job that are allowed and that the endpoint has not refused. A
 * new reference, not to be changed; NULL: there are none. */
json_t *endpoint_parameters(const struct model_endpoint *endpoint,
                            json_t *wishes);

#endif
