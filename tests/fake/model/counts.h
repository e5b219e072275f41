/* counts.h - what was asked, and how often: the proof that a finished model
 * call is never paid twice. */
#ifndef PRACTICE_COUNTS_H
#define PRACTICE_COUNTS_H

#include <jansson.h>

struct counts {
    json_t *by_hash;  /* SHA-256 of the normalised body: number */
    json_t *requests; /* the last bodies, oldest first */
    size_t total;
    size_t made;               /* replies: what had to be paid for */
    size_t fetched, cancelled; /* asked for by their id */
    size_t open, peak;         /* exchanges that run now, at most ran at once */
};

void counts_init(struct counts *counts);
void counts_finish(struct counts *counts);

/* Members in alphabetical order, no white space: what makes two requests the
 * same. Gives how often it was seen before. */
size_t counts_add(struct counts *counts, json_t *request);

json_t *counts_json(const struct counts *counts); /* a new reference */

/* By number since the start or the last reset; negative: from the end.
 * Borrowed, or NULL when it is not kept. */
json_t *counts_request(const struct counts *counts, long long number);

#endif
