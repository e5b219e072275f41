/* response_request.h - POST /v1/responses: from its body to a job.
 *
 *   body_parse() --> response_request_references(), when it has some
 *                --> response_request_read()
 *                --> response_request_attach() for each attachment
 *                --> response_request_continue(), when it goes on
 *                --> job, and what the response object repeats
 *
 * Nobody is asked here, so what only others know is left to the caller: what an
 * item_reference refers to, the bytes of files, the container, and the
 * conversation that this request continues.
 *
 * The job is offered no tools of quern but those that the request names. */
#ifndef PRODUCER_GATEWAY_RESPONSE_REQUEST_H
#define PRODUCER_GATEWAY_RESPONSE_REQUEST_H

#include <stdint.h>

#include "producer/gateway/body/body.h"

enum {
    RESPONSE_MAX_INPUT = 2048, /* items of the input */
    RESPONSE_MAX_TOOLS = 192,  /* of all types */
    RESPONSE_MAX_CONTAINER_FILES = 50,
};

struct response_request_options {
    /* Refuse tools of types that quern does not have, such as mcp. Otherwise
     * they are left out: programs send several with every request. One that
     * tool_choice chooses is refused in any case. */
    bool refuse_other_tools;
};

enum attachment_source {
    ATTACHMENT_BYTES,   /* base64: inline_file_decode() */
    ATTACHMENT_FILE_ID, /* of an uploaded file */
    ATTACHMENT_URL,     /* of a file, which the caller would have to load. (An
                           image's URL goes to the model as it is.) */
};

/* A file or an image that the job needs as a blob. */
struct response_attachment {
    enum attachment_source source;
    struct view value; /* base64, id or URL; of the body */
    struct view name;  /* as the client calls it; empty: it does not */
    struct view mime;  /* empty: not known */
    bool is_image;
    char param[128]; /* where it stands, for refusals of the caller */
    json_t *part;    /* of the job's messages: names the file; NULL: it is a
                        file of the container */
};

struct response_request {
    bool background, store, stream, obfuscate;
    bool with_outputs; /* include: code_interpreter_call.outputs */
    /* previous_response_id and the conversation's id; empty: none. Not both. */
    struct view previous, conversation;

    bool wants_code;             /* code_interpreter is among the tools */
    struct view container;       /* the one that it names; empty: auto */
    struct view input_container; /* auto: that of the last
                                    code_interpreter_call of the input, which
                                    may be gone; empty: none */

    struct response_attachment *attachments;
    size_t attachment_count, attachment_room;
    json_t *left_out; /* types of tools and items that were left out, once each:
                         ["mcp", "computer_call"] */
    /* As POST /v1/jobs takes it, without id, tenant and session. */
    json_t *job;
    json_t *asked; /* what the response object repeats */
    json_t *body;  /* the views above are of it */
};

/* Indexes and ids of the input's items that are references: [{"index", "id"}],
 * a new reference. NULL: refused. The caller puts what they refer to in their
 * places, as the API shows these items, or refuses the request itself. */
json_t *response_request_references(json_t *body, struct body_error *error);

/* Takes a reference to body. Finish the request also when it was refused. */
bool response_request_read(struct response_request *request, json_t *body,
                           const struct response_request_options *options,
                           struct body_error *error);
void response_request_finish(struct response_request *request);

/* The attachment's bytes are the blob of that SHA-256. name: of an uploaded
 * file; the client's name counts more, and the job gives it another one when
 * there is such a file already. Call it once for each, in their order. */
void response_request_attach(struct response_request *request, size_t index,
                             struct view name, struct view blob,
                             uint64_t bytes);

/* The request goes on from an earlier conversation: these messages, without
 * their system message, since instructions stand for one response alone. blob:
 * the SHA-256 of the blob that has them, which the job then names; empty: they
 * are put into the job. False: a call of them has no output in the request, or
 * the job is too long. */
bool response_request_continue(struct response_request *request,
                               json_t *earlier, struct view blob,
                               struct body_error *error);

#endif
