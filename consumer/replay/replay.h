/* replay.h - a job done again from its journal, beside what was done.
 *
 * What came from outside is taken as it was: replies, what cells and tools
 * gave, how long it took, why a job was stopped. What follows from it is worked
 * out by the code that a consumer runs (conversation/decide.h), and compared:
 *
 *   model_intent  the bytes of the request, by their SHA-256; what of the
 *                 conversation is left out; whether an answer is asked for
 *                 of a summary the same
 *   model_reply   what the model is told of it
 *   approval      which call a person was asked about
 *   tool_intent   which call follows, under which ids, with which arguments
 *   tool_result   the code that was run; what the model is told; the brake; of
 *                 a call that was not made, why
 *   the end       status, error, and the result as a whole
 *
 * Nothing is run, nobody is asked. */
#ifndef CONSUMER_REPLAY_H
#define CONSUMER_REPLAY_H

#include "consumer/conversation/decide.h"
#include "consumer/replay/today.h"
#include "schemas/json/recording.h"

/* What was compared, and where it differs first. */
struct replay_outcome {
    size_t steps;     /* records and result, up to the difference */
    size_t requests;  /* of them, compared by their bytes */
    size_t hidden;    /* requests that hold what must not be told */
    size_t bare;      /* requests of blobs that are not in the recording */
    bool differs;     /* then: */
    uint64_t turn;    /* of the step that was the last */
    const char *what; /* a kind of record, "result" or "journal" */
    char call[64];
    json_t *recorded, *replayed; /* objects */
};
void outcome_finish(struct replay_outcome *outcome);

struct replay {
    const struct recording *recording;
    const char *prompts; /* folder; NULL: none is given */
    struct job job;
    struct conversation conversation;
    struct view terms; /* of the last intent that had any */
    struct today today;
    bool has_terms;
    bool refused;     /* the record before was a refusal */
    uint64_t turn;    /* of the group of calls that is under way, */
    size_t group;     /* and its first */
    size_t digests;   /* that were known when it began */
    json_t *messages; /* of the result; NULL: none */
    struct replay_outcome *outcome;
};

/* Initializes outcome. False: it cannot be replayed at all. Errors:
 * bad_message, bad_setting. */
bool replay_run(const struct recording *recording, const char *prompts,
                struct replay_outcome *outcome, struct err *err);

/* ------------------------------ for the files that hold the checks only */

/* Whether they are the same; else they are the outcome. Takes both. */
bool replay_compare(struct replay *replay, const char *what, json_t *recorded,
                    json_t *replayed);
/* What follows by the conversation; a new reference. */
json_t *replay_next(const struct replay *replay);

typedef bool replay_check(struct replay *replay, const struct record *record,
                          struct err *err);
replay_check replay_check_intent;                     /* replay_ask.c */
replay_check replay_check_call, replay_check_outcome; /* replay_call.c */
/* replay_end.c: what is known of it before the end; the end; of a job that
 * could not be read, for that reason; and whether it was refused because what
 * was said beside it was another than it says itself, and how. */
void replay_read_result(struct replay *replay);
bool replay_says_other(const struct replay *replay, struct err *why);
bool replay_check_end(struct replay *replay, struct err *err);
bool replay_check_unread(struct replay *replay, const struct err *why,
                         struct err *err);

json_t *replay_text(struct view text); /* as JSON, whatever its bytes */

#endif
