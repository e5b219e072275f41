/* code_run.h - a request that runs code and waits for what came of it.
 *
 *   code_run_start() --> submitted --> followed to its end --> done(result)
 *
 * When the client goes away before, the job is cancelled, after
 * --foreground-grace. */
#ifndef PRODUCER_GATEWAY_CODE_RUN_H
#define PRODUCER_GATEWAY_CODE_RUN_H

#include "producer/gateway/api_request.h"

/* result: as JSON ("Result" in schemas/MESSAGES.md); borrowed. */
typedef void code_run_done(struct api_request *request, const json_t *result);

struct code_run_limits {
    uint64_t cell_ms;     /* that one cell may run */
    uint64_t deadline_ms; /* that the job may last, waiting included */
};

/* Takes the members of a job, without kind, tenant, id and limits, and the
 * reference; frees the state that the request had. What is wrong with the job
 * is answered, and done is not called. */
void code_run_start(struct api_request *request, json_t *job,
                    const struct code_run_limits *limits, code_run_done *done);

/* What the result's cells have written: name is "stdout" or "stderr". A new
 * reference. */
json_t *code_run_text(const json_t *result, const char *name);
/* The last cell that ran; NULL: none. Borrowed. */
const json_t *code_run_last_cell(const json_t *result);
/* {"name", "value", "traceback"}, a new reference: the exception, or why the
 * job has failed; null: it has not. */
json_t *code_run_error(const json_t *result);

#endif
