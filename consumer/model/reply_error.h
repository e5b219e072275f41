/* reply_error.h - error bodies of model endpoints: their sentence, and whether
 * the same request may succeed later. */
#ifndef CONSUMER_REPLY_ERROR_H
#define CONSUMER_REPLY_ERROR_H

#include <jansson.h>
#include <stdint.h>

#include "schemas/message/err.h"
#include "schemas/message/view.h"

/* Tokens of a window. Whatever says less, or more, does not speak of one. */
enum { LEAST_WINDOW = 512, MOST_WINDOW = 100000000 };

/* In tokens. 0: it does not say, or what is no window of a model. */
struct reply_size {
    uint64_t request; /* without what is left to its reply. Some count no
                         further than to their window */
    uint64_t window;
};

/* As much of each as fits; "" when the body does not say. */
struct reply_error {
    char message[256]; /* the endpoint's own sentence, else the body's start */
    char type[64];
    char code[64];
    char param[64];
    struct reply_size size; /* as far as members say; else it is in message */
};

/* Whether JSON inside an answer is an error, and no reply of any dialect. */
bool reply_error_is(const json_t *json);

/* An error object, or a string, or what is around one. */
void reply_error_read(struct reply_error *error, const json_t *json);

/* A whole body: JSON in any of the known forms, or any other bytes; a page and
 * compressed bytes are named as that. */
void reply_error_parse(struct reply_error *error, struct view body);

/* What the headers say of an answer that holds no error of the endpoint's: that
 * it is a redirect (location: "" when it does not say where to), or compressed
 * (encoding: "": it is not). */
void reply_error_name(struct reply_error *error, unsigned status,
                      const char *location, const char *encoding);

/* Sorts it: model_unavailable, model_rejected, model_refused, model_garbage, or
 * model_context, the request is longer than the model's window.
 * status: of HTTP; 200 for an error inside an answer. should_retry: what the
 * endpoint says of it, 1 or -1; 0: nothing. Returns false. */
bool reply_error_judge(const struct reply_error *error, unsigned status,
                       int should_retry, struct err *err);

/* Of a request that was too long; nothing of any other. */
struct reply_size reply_error_size(const struct reply_error *error);

/* An answer that is not an API's: what it is, in a few words. A proxy's page is
 * long, and compressed bytes say nothing. */
/* "an HTML page: 502 Bad Gateway", "a compressed body (gzip)", into text, which
 * is terminated. body: its beginning is enough. False: it is neither. */
bool strange_body(struct view body, char *text, size_t size);

#endif
