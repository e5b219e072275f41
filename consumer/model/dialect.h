/* dialect.h - the languages that model endpoints speak.
 *
 * The conversation and the journal hold chat-completions messages. A dialect
 * writes them as its endpoint wants them, and makes an assistant message of
 * what comes back; nobody else knows that there is more than one.
 *
 *   messages --write--> body --> HTTP --> bytes --take, end--> message
 *
 * What only the endpoint that said it understands (signed or encrypted
 * reasoning) is in the message's member "opaque": see reasoning.h. */
#ifndef CONSUMER_DIALECT_H
#define CONSUMER_DIALECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "schemas/message/view.h"

struct model_endpoint;
struct model_request;
struct reply;

/* A parameter that an endpoint may refuse, and what is done without it. */
struct dialect_lesson {
    const char *parameter; /* NULL ends */
    unsigned quirk;
};

/* Whether a reply can be fetched when its stream has broken off. */
enum reply_storage {
    KEEPS_NONE,
    KEEPS_MADE,   /* one that has come to its end */
    KEEPS_MAKING, /* it is made on, whoever listens, until it is cancelled */
};

struct dialect {
    const char *name;       /* in QUERN_MODELS */
    const char *what;       /* "a chat-completions reply" */
    const char *path;       /* behind the endpoint's URL */
    const char *key_header; /* "Name: %s", of the key */
    const char *header;     /* one more; NULL: none */
    const struct dialect_lesson *lessons;
    bool free_cache; /* its limits do not count what is read from the cache */

    /* The body of the request: a new reference. */
    json_t *(*write)(const struct model_endpoint *endpoint,
                     const struct model_request *request);
    /* Puts one of a job's parameters among those of a request, as the endpoint
     * calls it, or leaves it out where there is no such thing. value is
     * borrowed. */
    void (*set_parameter)(json_t *parameters, const char *name, json_t *value);
    /* How many tokens that body allows the reply; 0: it does not say. */
    uint64_t (*max_tokens)(const struct model_endpoint *endpoint,
                           const struct model_request *request);

    /* What becomes of replies to such requests, and where they are, behind the
     * endpoint's URL, by their id (%s): all three, or none, and then nothing is
     * kept. */
    enum reply_storage (*keeping)(const struct model_endpoint *endpoint);
    const char *kept_path;
    /* What is to be asked for with it: "?...", or "". */
    const char *(*kept_query)(const struct model_endpoint *endpoint);

    /* One event of a stream, or a plain body (event: ""; json: NULL when it is
     * none). False: it does not show that the model still works on it. */
    bool (*take)(struct reply *reply, struct view event, const json_t *json);
    /* All has come. May be NULL. */
    void (*end)(struct reply *reply);
};

extern const struct dialect dialect_chat;
extern const struct dialect dialect_anthropic; /* Messages */
extern const struct dialect dialect_responses; /* OpenAI Responses */

/* NULL: there is none of that name. */
const struct dialect *dialect_find(const char *name);

/* ------------------ parts of messages, for dialects that write them anew */

/* "data:image/png;base64,..." taken apart. False: it is another URL. */
struct data_url {
    struct view mime, data;
};
bool data_url_read(struct view url, struct data_url *out);

/* The URL of an image part, {url} or the URL alone; empty: it is none. */
struct view part_image(const json_t *part);

/* The id of a call as every endpoint takes it, [A-Za-z0-9_-]{1,64}: its own
 * when it is one, else one made of it, the same each time and for no other. */
json_t *call_id_json(struct view id);

/* A tool's parameters; an object without members when it has none. */
json_t *tool_schema(const json_t *function);

/* What the operator's parameters say, a number; 0: nothing. */
uint64_t parameter_tokens(const struct model_endpoint *endpoint,
                          const char *name);

#endif
