/* response_request.h - a request for a response of the Responses API, as a job.
 *
 *   the body of POST /v1/responses --response_request_read()--> a job, and what
 *                                                                is asked
 *
 * Members that hint (user, service_tier, ...) are taken and repeated. Members
 * that would change the answer, and that quern does not have, are refused by
 * name. null is the same as absent. */
#ifndef PRODUCER_GATEWAY_RESPONSE_REQUEST_H
#define PRODUCER_GATEWAY_RESPONSE_REQUEST_H

#include <jansson.h>

#include "schemas/message/err.h"
#include "schemas/message/view.h"

enum { RESPONSE_MAX_PARAM = 128, RESPONSE_MAX_METADATA = 16 };

/* Why a request is refused. */
struct response_fault {
    unsigned int status; /* of HTTP: 400 */
    const char *code;    /* unsupported_parameter, invalid_value, ... */
    char param[RESPONSE_MAX_PARAM]; /* "input[2].content[0].type"; "": none */
    char message[256];
};

struct response_request {
    /* The job as "quern submit" reads it, without id, tenant and session. Its
     * "messages" are those of this request alone. */
    json_t *job;
    /* What the response object repeats, with the API's members. */
    json_t *asked;
    bool background, stream, store;
    bool obfuscate;    /* stream_options.include_obfuscation, by default true */
    bool with_outputs; /* include: code_interpreter_call.outputs */
    bool wants_code;   /* a code_interpreter is among the tools */
    struct view container; /* its id; empty: auto. Borrowed of asked */
    struct view previous;  /* previous_response_id; empty: none. Likewise */
};

/* body: an object; not borrowed. False with the first fault. Finish request in
 * both cases. */
bool response_request_read(struct response_request *request, json_t *body,
                           struct response_fault *fault);
void response_request_finish(struct response_request *request);

/* Puts the messages of an earlier conversation before those of the request:
 * its instructions are left out, as those of the request stand for all. */
void response_request_continue(struct response_request *request,
                               json_t *earlier);

#endif
