/* code_output.h - what the cells of a run have written, also where a result has
 * only its head and tail.
 *
 * A result has 16 KiB of a stream; the bytes themselves are in a blob. Of them
 * the first CODE_OUTPUT_BYTES are read, as text like that of the result. */
#ifndef PRODUCER_GATEWAY_CODE_OUTPUT_H
#define PRODUCER_GATEWAY_CODE_OUTPUT_H

#include "producer/gateway/api_request.h"

enum { CODE_OUTPUT_BYTES = 1 << 20 }; /* of a stream, of all cells together */

/* What the state of the request begins with. */
struct code_output {
    json_t *result; /* a job's, as JSON */
    unsigned int partition;
    size_t next;      /* stream: those of a cell follow each other */
    uint64_t left[2]; /* of CODE_OUTPUT_BYTES */
    void (*done)(struct api_request *request);
};

/* Puts longer texts into the result, and calls done. result: taken. */
void code_output_read(struct api_request *request, json_t *result,
                      unsigned int partition,
                      void (*done)(struct api_request *request));
void code_output_finish(struct code_output *output);

#endif
