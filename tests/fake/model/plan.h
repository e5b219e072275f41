/* plan.h - a reply on the wire: which bytes, in which pieces, how fast.
 *
 * A reply is a JSON object as README.md describes it, from a script or from
 * the practice rules; the plan is what the server then plays. */
#ifndef PRACTICE_PLAN_H
#define PRACTICE_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct speech;

struct plan {
    unsigned status;
    json_t *headers; /* object of strings; borrowed from the reply */
    const char *type;
    char *body;
    size_t len;
    size_t *ends; /* of the pieces, as offsets into the body */
    size_t pieces;
    uint64_t delay_ms; /* before the status line */
    uint64_t first_ms; /* between the headers and the first piece */
    uint64_t chunk_ms; /* between two pieces */
    bool apart;        /* each piece is written by itself, */
    bool stamped;      /* and tells when: see plan_stamp() */
    bool broken;       /* ends by closing the connection */
    bool drop;         /* no answer at all */
};

/* reply and request must outlive the plan. */
void plan_make(struct plan *plan, const struct speech *speech,
               const json_t *reply, const json_t *request);
void plan_finish(struct plan *plan);

/* A piece of the body ends at that offset. */
void plan_piece(struct plan *plan, size_t end);

/* A PLAN_STAMP in these bytes becomes the time: 12 digits, microseconds of the
 * monotonic clock, of which 10^12 are a round. */
#define PLAN_STAMP "time-of-send"
void plan_stamp(char *data, size_t len);

#endif
