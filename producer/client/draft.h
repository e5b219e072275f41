/* draft.h - a job on its way: from what the caller gave to bytes that are known
 * to be right, and the step that puts them into the queue.
 *
 *   draft_read() or draft_read_json(), then draft_command() as often as it has
 *   to be sent, draft_submitted() on its reply, draft_finish() in any case
 *
 * A schedule's job is one too, and submit what its schedule keeps. */
#ifndef PRODUCER_CLIENT_DRAFT_H
#define PRODUCER_CLIENT_DRAFT_H

#include "producer/client/handle.h"
#include "schemas/message/field.h"
#include "schemas/redis/transition.h"

struct draft {
    struct arena arena; /* of what was given */
    struct buf bytes;
    struct arena decoded;
    struct submit submit;           /* borrows from them, and from the caller */
    struct quern_id id;             /* of the job */
    bool fresh;                     /* it was not the caller's */
    struct unknown_members unknown; /* members that nobody will read */
};

/* What a consumer would refuse is told here, where somebody can still change
 * it. Files are written as blobs first. id: made before, of a job that has none
 * of its own; empty: one is made. options may be NULL. */
bool draft_read(struct draft *draft, struct quern *quern,
                const struct quern_job *job, const struct quern_id *id,
                struct err *err);
bool draft_read_json(struct draft *draft, struct quern *quern, const char *json,
                     const struct quern_submit_options *options,
                     const struct quern_id *id, struct err *err);
/* Borrows the bytes, which have an id. */
bool draft_read_bytes(struct draft *draft, struct quern *quern,
                      struct view bytes, struct err *err);
void draft_finish(struct draft *draft);

/* Empty, or a sentence on members that are not of a job. */
void draft_note(const struct draft *draft, char note[QUERN_NOTE]);
/* Of a new job in that partition. */
bool draft_new_id(unsigned int partition, struct quern_id *id, struct err *err);

void draft_command(struct command *command, const struct quern *quern,
                   const struct draft *draft);
/* id: the job's own, then that of the job that stands; existed (may be NULL):
 * it stood before. */
bool draft_submitted(const redisReply *reply, bool fresh, struct quern_id *id,
                     bool *existed, struct err *err);

#endif
