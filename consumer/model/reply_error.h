/* reply_error.h - errors of model endpoints: their sentence, what they mean,
 * whether the same request may succeed later, and what the next one must leave
 * out. */
#ifndef CONSUMER_REPLY_ERROR_H
#define CONSUMER_REPLY_ERROR_H

#include <jansson.h>
#include <stdint.h>

#include "schemas/message/err.h"
#include "schemas/message/view.h"

struct model_endpoint;

/* Bounds of a window in tokens: a smaller or larger number in an error means
 * something else. */
enum { LEAST_WINDOW = 512, MOST_WINDOW = 100000000 };

/* What an error says of a request that was too long, in tokens. 0: nothing, or
 * a number out of those bounds. */
struct reply_size {
    uint64_t request; /* without the tokens that are left to the reply; some
                         endpoints stop counting at their window */
    uint64_t window;  /* of the model */
};

/* An error, each text cut to what fits; "" when the body does not have it. */
struct reply_error {
    char message[256]; /* the endpoint's own sentence, else the body's start */
    char type[64];
    char code[64];
    char param[64];
    struct reply_size size; /* from members; reply_error_size() reads the
                               message, too */
};

/* Whether JSON inside an answer is an error, and no reply of any dialect. */
bool reply_error_is(const json_t *json);

/* Fills error from an error object, a string, or JSON around one; from NULL,
 * with nothing. */
void reply_error_read(struct reply_error *error, const json_t *json);

/* Fills error from a whole body: JSON in any of the known forms, or any other
 * bytes. An HTML page and compressed bytes are named as such. */
void reply_error_parse(struct reply_error *error, struct view body);

/* Replaces the message when the headers explain the answer better: it is a
 * redirect (location: "" when it does not say where to), or compressed although
 * that was not asked for (encoding: "" when it is not). */
void reply_error_name(struct reply_error *error, unsigned status,
                      const char *location, const char *encoding);

/* Sets err to what the error means: model_unavailable, model_rejected,
 * model_refused, model_garbage, or model_context, the request is longer than
 * the model's window. status: of HTTP; 200 for an error inside an answer.
 * should_retry: 1 or -1 when the endpoint says so, else 0. Returns false. */
bool reply_error_judge(const struct reply_error *error, unsigned status,
                       int should_retry, struct err *err);

/* What the error says of lengths; zeroed unless it is model_context. */
struct reply_size reply_error_size(const struct reply_error *error);

/* Learns from a refusal which parameter the endpoint does not take. True: that
 * was not known, so the same request without it may succeed. */
bool reply_error_learn(const struct reply_error *error,
                       struct model_endpoint *endpoint);

/* Whether a refusal, with that HTTP status, of a request with pictures is
 * because of these. Learns QUIRK_BLIND when it says that the endpoint takes
 * none. */
bool reply_error_learn_blind(const struct reply_error *error, unsigned status,
                             struct model_endpoint *endpoint);

/* Describes a body that no API sends: "an HTML page: 502 Bad Gateway", as of a
 * proxy, or "a compressed body (gzip)". text is terminated. The beginning of
 * the body is enough. False: it is neither. */
bool strange_body(struct view body, char *text, size_t size);

#endif
