/* response_object.h - the response object of OpenAI's Responses API.
 *
 *   what was asked (struct wire_job) + how the job stands --> the object
 *
 * Every member of the API's document is there, with its default where nothing
 * was asked: strict readers refuse an object that lacks one. */
#ifndef PRODUCER_GATEWAY_RESPONSE_OBJECT_H
#define PRODUCER_GATEWAY_RESPONSE_OBJECT_H

#include "producer/gateway/responses/wire_item.h"
#include "schemas/message/buf.h"

/* How the job stands. Borrowed. */
struct response_state {
    int state;            /* enum job_state */
    uint64_t finished_at; /* ms since 1970; 0: it has not ended */
    struct view error_kind, error_code, error_message; /* empty: no error */
    const struct usage *usage;                         /* NULL: not known */
    json_t *output; /* items; a reference that is taken */
};

/* How it ends for a client: a model that refused is an end without a fault,
 * which is incomplete there. enum job_state. */
int response_end(const struct response_state *state);

/* "resp_" and the 32 digits of the job's id. */
enum { RESPONSE_ID_BYTES = 40 };
void response_id_write(char id[RESPONSE_ID_BYTES], struct view job);
/* The job's id of a response's; false: it is none. */
bool response_id_read(struct view id, char job[37]);

/* A new reference. */
json_t *response_object(const struct wire_job *job,
                        const struct response_state *state);
/* Both from a result: its status, error, usage and items. */
json_t *response_of_result(const struct wire_job *job,
                           const struct result *result, uint64_t finished_at);
/* What a cell has printed, its value and its exception, as a client reads it.
 */
enum { RESPONSE_MAX_LOGS = 256 << 10 };
void response_add_logs(struct buf *text, const struct cell *cell);
/* The items of a result as they are in output: a new reference. */
json_t *response_output(const struct wire_job *job,
                        const struct result *result);

#endif
