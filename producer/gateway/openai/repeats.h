/* repeats.h - a request that a client sends once more is the job of the first
 * time.
 *
 * OpenAI's clients repeat a POST when its connection breaks or the answer takes
 * too long, and send no key along: only the header X-Stainless-Retry-Count, 0
 * the first time. So for each such request its job and that count are kept in a
 * list, by key and bytes of the request, until the request is answered:
 *
 *   first time   note --> submit --> answer --> settle (the note is removed)
 *   repeat       take (the note of one that was not answered is now ours) -->
 *                the same job --> answer --> settle
 *
 * Two requests that are equal and meant as two make two jobs: neither is a
 * repeat. A repeat that finds no id is a first time. When two clients with one
 * key send equal requests and both have to repeat them, nothing tells one from
 * the other: they may get one job. README.md says what prevents that. */
#ifndef PRODUCER_GATEWAY_REPEATS_H
#define PRODUCER_GATEWAY_REPEATS_H

#include "producer/gateway/api_request.h"

struct repeat {
    bool has_key;       /* an Idempotency-Key: the rest is not used */
    char sha256[65];    /* of tenant, key and body; "": not such a request */
    unsigned int count; /* 0: the first time */
    unsigned int partition;
    bool is_noted; /* it has taken the job of an earlier try */
};

/* Reads the request: its headers, and its body, which must be whole. */
void repeat_read(struct repeat *repeat, const struct api_request *request,
                 unsigned int partition);
/* Asks for a note, and makes it ours; done gets the id of the job, or "". */
void repeat_take(struct api_request *request, const struct repeat *repeat,
                 api_request_reply *done);
/* The job is about to be submitted; before the call that does it. */
void repeat_note(const struct repeat *repeat, struct gateway *gateway,
                 struct view job);
/* The request is answered. */
void repeat_settle(const struct repeat *repeat, struct gateway *gateway,
                   struct view job);
/* The command that settles; it answers 1 when no repeat has taken the note. */
void repeat_settle_command(struct command *command, const struct repeat *repeat,
                           const struct names *names, struct view job);

#endif
