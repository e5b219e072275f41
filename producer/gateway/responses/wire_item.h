/* wire_item.h - items of a job in the form of OpenAI's Responses API.
 *
 * The members and their order are those of the API's document. An item is made
 * here both while it is streamed and from a result that is kept, so the two
 * never differ. */
#ifndef PRODUCER_GATEWAY_WIRE_ITEM_H
#define PRODUCER_GATEWAY_WIRE_ITEM_H

#include <jansson.h>

#include "schemas/message/result.h"

enum wire_link_kind {
    WIRE_LINK_FILE, /* of the result's files */
    WIRE_LINK_IMAGE,
};

/* Makes the URL at which a browser can read what the job has made: a new
 * string; NULL: there can be none for such a name. */
struct wire_links {
    char *(*url)(const void *owner, enum wire_link_kind kind, struct view name);
    const void *owner;
};

/* What does not change while a job runs. All borrowed. */
struct wire_job {
    struct view id;        /* the job's */
    struct view container; /* the name of its session; empty: it has none */
    bool background;
    bool with_outputs; /* include: code_interpreter_call.outputs */
    bool for_chat;     /* the outputs are images alone, which have a name */
    struct wire_links links; /* url NULL: images are not among the outputs */
    /* What the client asked, as the response object repeats it: model, tools,
     * instructions, ... with the defaults of the API; see response_object.h. */
    json_t *asked;
    uint64_t created_at;   /* seconds since 1970 */
    const json_t *removed; /* places of items that were removed, as their ids
                              have them, ascending; NULL: none was */
};

/* The answer must be JSON: then only a message behind which nothing comes is
 * one, and clients read all messages together. */
bool wire_wants_json(const struct wire_job *job);

/* "completed", "incomplete", ... of an item. */
json_t *wire_message(const struct wire_job *job, uint64_t number,
                     const char *status, struct view text, json_t *annotations);
json_t *wire_reasoning(const struct wire_job *job, uint64_t number,
                       struct view text);
json_t *wire_function(const struct wire_job *job, uint64_t number,
                      const char *status, struct view call_id, struct view name,
                      struct view arguments);
/* outputs: a reference that is taken; NULL: null. */
json_t *wire_code(const struct wire_job *job, uint64_t number,
                  const char *status, struct view code, json_t *outputs);
json_t *wire_search(const struct wire_job *job, uint64_t number,
                    const char *status, struct view query);
/* A part of a message's content. annotations: taken; NULL: none. */
json_t *wire_text_part(struct view text, json_t *annotations);
json_t *wire_summary_part(struct view text);

enum { WIRE_FILE_ID_BYTES = 48 };

/* The id of a file in a container: "cfile_" and 32 hexadecimal digits of the
 * SHA-256 of container, NUL and path. So it needs no table. */
void wire_file_id(char id[WIRE_FILE_ID_BYTES], struct view container,
                  struct view path);

/* Cites a file of the container in a text: where the text names it, else at its
 * end. Positions count characters. A new reference. */
json_t *wire_citation(const struct wire_job *job, struct view text,
                      struct view name);

/* The status of a code item whose cell has ended so: "completed" when Python
 * itself ended it, also by an exception; else "failed". */
const char *wire_code_status(struct view cell_status);

/* What a cell printed, and its exception, as the outputs of a code item: a new
 * reference; NULL: the job is without outputs. */
json_t *wire_outputs(const struct wire_job *job, struct view logs);
/* Appends an image that the cell has displayed. outputs: may be NULL. */
void wire_add_image(const struct wire_job *job, json_t *outputs,
                    struct view name);

#endif
