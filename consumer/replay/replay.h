/* replay.h - makes the decisions of a recorded job again, and compares them
 * with its journal.
 *
 * What came from outside is taken from the recording: replies of models,
 * outputs of cells and tools, durations, the reason why a job was stopped. What
 * follows from these is decided by the code that a consumer runs
 * (conversation/decide.h), and compared:
 *
 *   model_intent  the bytes of the request, by their SHA-256; what of the
 *                 conversation is left out; whether it asks for an answer or a
 *                 summary
 *   model_reply   what the model is told about it
 *   approval      about which call a person was asked
 *   tool_intent   which call follows, with which ids and arguments
 *   tool_result   the code that ran; what the model is told; the brake; the
 *                 reason why a call was not made
 *   the end       status, error, and the result as a whole
 *
 * No code runs, and no model is asked. main.c is the command; show.h writes the
 * difference. */
#ifndef CONSUMER_REPLAY_H
#define CONSUMER_REPLAY_H

#include "consumer/conversation/decide.h"
#include "consumer/replay/today.h"
#include "schemas/json/recording.h"

/* What was compared, and the first difference. Free it by outcome_finish(). */
struct replay_outcome {
    size_t steps;     /* that are equal: records, and the result */
    size_t requests;  /* of them, requests whose bytes were compared */
    size_t hidden;    /* requests with a secret parameter: bytes not compared */
    size_t bare;      /* requests with blobs that are not in the recording:
                         bytes not compared */
    bool differs;     /* the next step differs; then: */
    uint64_t turn;    /* of that step */
    const char *what; /* the kind of its record, "result" or "journal" */
    char call[64];    /* its call; "": none */
    json_t *recorded, *replayed; /* both sides, objects */
};
void outcome_finish(struct replay_outcome *outcome);

/* The state of a replay. */
struct replay {
    const struct recording *recording;
    const char *prompts; /* folder with an operator's prompts; NULL: none */
    struct job job;
    struct conversation conversation; /* as it was before the next record */
    struct view terms;  /* of the last intent that had any, as recorded */
    struct today today; /* the same as they would be today; has_terms: loaded */
    bool has_terms;
    bool refused;     /* the record before was a request that was refused */
    uint64_t turn;    /* these three of replay_call.c: the turn of the group of
                         calls that are made at once, */
    size_t group;     /* the position of its first call, */
    size_t digests;   /* and how many results there were when it began */
    json_t *messages; /* of the recorded result; NULL: none */
    struct replay_outcome *outcome;
};

/* Replays a recording. Initializes outcome. prompts: a folder, or NULL. False:
 * it cannot be replayed at all. Errors: bad_message, bad_setting. */
bool replay_run(const struct recording *recording, const char *prompts,
                struct replay_outcome *outcome, struct err *err);

/* -------------------------------------- for the files of this folder only */

/* Whether both sides are the same; if not, they become the outcome. Takes both.
 */
bool replay_compare(struct replay *replay, const char *what, json_t *recorded,
                    json_t *replayed);
/* The step that follows by the conversation; a new reference. */
json_t *replay_next(const struct replay *replay);

/* Checks a record against the decision of today. False: they differ, which is
 * in the outcome, or it cannot be checked, which is in err. */
typedef bool replay_check(struct replay *replay, const struct record *record,
                          struct err *err);
replay_check replay_check_intent;                     /* replay_ask.c */
replay_check replay_check_call, replay_check_outcome; /* replay_call.c */
/* replay_end.c: */

/* Reads replay->messages from the recorded result. */
void replay_read_result(struct replay *replay);
/* Whether the job was refused because Redis had other facts (tenant, queue,
 * ...) than the job itself; why: the recorded error. */
bool replay_says_other(const struct replay *replay, struct err *why);
/* Compares the result of a job whose records are all equal. */
bool replay_check_end(struct replay *replay, struct err *err);
/* The same for a job that could not be read, because of why. */
bool replay_check_unread(struct replay *replay, const struct err *why,
                         struct err *err);

/* Any bytes as a JSON value; a new reference. */
json_t *replay_text(struct view text);

#endif
