/* dialect.h - the languages that model endpoints speak.
 *
 * The conversation and the journal hold chat-completions messages. A dialect
 * writes them as its endpoint wants them, and makes an assistant message of
 * what comes back. No other code depends on which dialect it is.
 *
 *   messages --write--> body --> HTTP --> bytes --take, end--> message
 *
 * Signed or encrypted reasoning, which only its endpoint understands, is kept
 * in the message's member "opaque": see reasoning.h. */
#ifndef CONSUMER_DIALECT_H
#define CONSUMER_DIALECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "schemas/message/view.h"

struct model_endpoint;
struct model_request;
struct reply;

/* A parameter that an endpoint may refuse, and the quirk that is learned from a
 * refusal: see reply_error_learn(). The first row that fits counts. */
struct dialect_lesson {
    const char *parameter; /* as refusals name it; NULL ends the list */
    unsigned quirk;        /* enum endpoint_quirk */
};

/* Whether the endpoint keeps replies, so that one can be fetched by its id
 * after its stream has broken off. */
enum reply_storage {
    KEEPS_NONE,
    KEEPS_MADE,   /* only replies that were made to their end */
    KEEPS_MAKING, /* replies are made to their end, even without a listener,
                     unless they are cancelled */
};

/* A dialect is a constant table of functions without state. */
struct dialect {
    const char *name;       /* in QUERN_MODELS */
    const char *what;       /* "a chat-completions reply", for sentences */
    const char *path;       /* behind the endpoint's URL */
    const char *key_header; /* "Name: %s", with the key as %s */
    const char *header;     /* one more; NULL: none */
    const struct dialect_lesson *lessons;
    bool free_cache; /* rate limits do not count tokens read from the cache */

    /* The body of a request, in JSON: a new reference. */
    json_t *(*write)(const struct model_endpoint *endpoint,
                     const struct model_request *request);
    /* Adds one of a job's parameters to those of a request, under the dialect's
     * own name, or leaves it out when the dialect has no such parameter. value
     * is borrowed. */
    void (*set_parameter)(json_t *parameters, const char *name, json_t *value);
    /* How many tokens that body allows the reply; 0: it does not say. */
    uint64_t (*max_tokens)(const struct model_endpoint *endpoint,
                           const struct model_request *request);

    /* How replies are kept, and where: kept_path is behind the endpoint's URL
     * and has %s for the id; kept_query gives "?..." or "". All three are NULL
     * in a dialect without kept replies. */
    enum reply_storage (*keeping)(const struct model_endpoint *endpoint);
    const char *kept_path;
    const char *(*kept_query)(const struct model_endpoint *endpoint);

    /* Takes one event of a stream, or a plain body (event: ""; json: NULL when
     * the body is no JSON). False: it does not show that the model is still at
     * work, as a ping does not. */
    bool (*take)(struct reply *reply, struct view event, const json_t *json);
    /* All events have been taken. May be NULL. */
    void (*end)(struct reply *reply);
};

extern const struct dialect dialect_chat;
extern const struct dialect dialect_anthropic; /* Messages */
extern const struct dialect dialect_responses; /* OpenAI Responses */

/* NULL: there is none of that name. */
const struct dialect *dialect_find(const char *name);

/* ------------------ parts of messages, for dialects that write them anew */

/* The parts of "data:image/png;base64,...", borrowed from the URL. False: it is
 * another URL. */
struct data_url {
    struct view mime, data;
};
bool data_url_read(struct view url, struct data_url *out);

/* The URL of an image part, which is in {url} or the member itself. Empty: the
 * part is no image. */
struct view part_image(const json_t *part);

/* The id of a call in a form that every endpoint takes, [A-Za-z0-9_-]{1,64}:
 * the id itself if it is of that form, else one derived from it. The same id
 * always gives the same result, so a call and its result still match. */
json_t *call_id_json(struct view id);

/* A tool's JSON Schema; that of an empty object when it has none. A new
 * reference. */
json_t *tool_schema(const json_t *function);

/* What a request asks of the model: nothing but an answer, anything, any call,
 * or that of the tool request->choice. */
enum tool_choice { CHOOSE_NONE, CHOOSE_AUTO, CHOOSE_ANY, CHOOSE_ONE };
enum tool_choice tool_choice(const struct model_request *request);
/* Whether the body is to have the tools: there are some, and if none may be
 * called, the endpoint can be told so. Else drops parallel_tool_calls from the
 * body, which endpoints refuse without tools. */
bool dialect_sends_tools(json_t *body, const struct model_endpoint *endpoint,
                         const struct model_request *request);
/* Sets tool_choice in the words of OpenAI's APIs, unless the endpoint has
 * refused it. one: takes the place of the word for CHOOSE_ONE; a reference that
 * is taken. */
void dialect_set_choice(json_t *body, const struct model_endpoint *endpoint,
                        const struct model_request *request, json_t *one);

/* A member of the operator's parameters that is a number of tokens; 0: none. */
uint64_t parameter_tokens(const struct model_endpoint *endpoint,
                          const char *name);

#endif
