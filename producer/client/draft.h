/* draft.h - a job that is being submitted: from what the caller gave to bytes
 * that are known to be right, and the command that puts them into the queue.
 *
 *   draft_read(), draft_read_json() or draft_read_bytes(), then
 *   draft_command() as often as it has to be sent, draft_submitted() on its
 *   reply, draft_finish() in any case, also after an error
 *
 * The job of a schedule is read the same way; draft.submit is then what the
 * schedule keeps. */
#ifndef PRODUCER_CLIENT_DRAFT_H
#define PRODUCER_CLIENT_DRAFT_H

#include <jansson.h>

#include "producer/client/handle.h"
#include "schemas/message/field.h"
#include "schemas/redis/transition.h"

/* Says in which partition a tenant's jobs are; it may ask Redis. */
struct draft_finder {
    bool (*find)(void *owner, struct view tenant, unsigned int *partition,
                 struct err *err);
    void *owner;
};

/* The caller's; zeroed or read, draft_finish() frees what is in it. */
struct draft {
    struct arena arena;   /* of what was given, while it is read */
    struct buf bytes;     /* the encoded job; empty after draft_read_bytes() */
    struct arena decoded; /* of the job as a consumer will read it */
    struct submit submit; /* borrows from decoded, bytes and the caller */
    struct quern_id id;   /* of the job */
    bool fresh;           /* the id was made here or by an earlier try; false:
                             the job came with it */
    struct unknown_members unknown; /* members that nobody will read */
};

/* Reads, checks and encodes the job. Whatever a consumer would refuse is
 * refused here, where the caller can still change it. Files are written as
 * blobs first, since the job names them by hash. id: one made by an earlier
 * try, for a job that has none of its own; empty: one is made. options may be
 * NULL. What the caller gave has to stay until draft_finish(). */
bool draft_read(struct draft *draft, struct quern *quern,
                const struct quern_job *job, const struct quern_id *id,
                struct err *err);
bool draft_read_json(struct draft *draft, struct quern *quern, const char *json,
                     const struct quern_submit_options *options,
                     const struct quern_id *id, struct err *err);
/* The same of JSON that is parsed already, without files that are sent along:
 * options may not have any. Adds the id to json. Asks nobody but the finder. */
bool draft_read_object(struct draft *draft, const struct draft_finder *finder,
                       json_t *json, const struct quern_submit_options *options,
                       const struct quern_id *id, struct err *err);
/* Borrows the bytes of a MessagePack job, which must have an id; they are
 * submitted as they are. */
bool draft_read_bytes(struct draft *draft, struct quern *quern,
                      struct view bytes, struct err *err);
void draft_finish(struct draft *draft);

/* A sentence on members that no job has; "" when there are none. Also after
 * draft_read_json() has failed: they may be the reason. */
void draft_note(const struct draft *draft, char note[QUERN_NOTE]);
/* Makes the id of a new job of that partition; asks no Redis. */
bool draft_new_id(unsigned int partition, struct quern_id *id, struct err *err);

void draft_command(struct command *command, const struct names *names,
                   const struct draft *draft);
/* Reads the reply to draft_command(). *id: the draft's id, and afterwards that
 * of the job that stands, which another submit with the same key may have made.
 * *existed (may be NULL): the job was there before this submit. */
bool draft_submitted(const redisReply *reply, bool fresh, struct quern_id *id,
                     bool *existed, struct err *err);

#endif
