/* journal.h - the one writer of a job's journal.
 *
 *   encode --> commit, with its event --> durable --> apply --> done
 *
 * A record gets its index when it is written, so records stand in the journal
 * in the order of the calls of journal_write(); several may be on their way at
 * once. The journal applies a record to the conversation when the record is
 * durable, never before: so each next step follows from records that another
 * consumer would read as well.
 *
 * Once the job's end is decided, the journal is sealed. Records that are on
 * their way then may still reach Redis, but they are not applied, and nobody is
 * told, because the result is already being written without them.
 *
 * When Redis refuses a record, the owner of the journal is told, not the writer
 * of the record: the attempt has lost its job, or fails.
 *
 * A record that Redis did not answer for is sent again by the store. That is
 * safe: the same record at the same index changes nothing. */
#ifndef CONSUMER_JOB_JOURNAL_H
#define CONSUMER_JOB_JOURNAL_H

#include "consumer/conversation/conversation.h"
#include "consumer/output/progress.h"
#include "consumer/queue/store.h"
#include "schemas/redis/spend.h"

/* All borrowed, for as long as the journal is there. */
struct journal_setup {
    struct store *store; /* carries the records out in order */
    const struct names *names;
    struct job_lease lease;    /* its id is borrowed as well */
    struct progress *progress; /* flushed before each record, so that text that
                                  was gathered stands before its event */
    struct conversation *conversation; /* to which records are applied */
    /* Redis refused a record, or it could not be applied: reply is NULL, why
     * says so. It may free the journal. */
    store_done *on_refused;
    /* No record is on its way any more, and the writer of the last one was not
     * told: it wanted no answer, is gone, or the journal is sealed. */
    void (*on_idle)(void *owner);
    void *owner;
};

/* Of one attempt. */
struct journal {
    struct journal_setup setup;
    uint64_t count; /* of records, those on their way included: the index of the
                       next one. load.c sets it to what the journal had */
    bool sealed;    /* for good */
    struct journal_write *writes; /* on their way, in no order that matters */
};

/* The record is durable, and applied to the conversation. With a spend that
 * reserves, reply may be a refusal of the tenant's budget instead, see
 * transition_spent(): then nothing was written or applied. Borrows reply. May
 * free the journal. */
typedef void journal_done(void *owner, const redisReply *reply);

/* What journal_write() writes in one step: all of it, or nothing. */
struct journal_entry {
    struct buf *record;        /* of journal_encode(); taken, and left empty */
    const struct spend *spend; /* reserves of the tenant's budget, or settles
                                  what was reserved; lease, index and record are
                                  filled in. NULL: neither */
    const char *type;          /* of the event; NULL: none */
    const struct event_data *data; /* of that event */
};

/* Copies setup. */
void journal_init(struct journal *journal, const struct journal_setup *setup);
/* Calls nothing. What is on its way may still reach Redis; the owner finishes
 * the store before the loop runs on, so that its answers find nobody. */
void journal_finish(struct journal *journal);

/* Initializes bytes; on error there is nothing in it to be freed. Error: the
 * record is larger than MAX_RECORD_BYTES, or a part of it than the schema
 * allows. */
bool journal_encode(const struct record *record, struct buf *bytes,
                    struct err *err);
/* Queues the record; copies spend and event. done comes from the loop, never
 * from inside of this function; it does not come after journal_forget() or
 * journal_seal(). done may be NULL. */
void journal_write(struct journal *journal, const struct journal_entry *entry,
                   journal_done *done, void *owner);
/* done of none of that owner's records comes any more: it is about to be freed.
 * The records are written and applied all the same. */
void journal_forget(struct journal *journal, const void *owner);
/* From here on no record is applied, and no done comes. */
void journal_seal(struct journal *journal);
/* A record is on its way: durable, refused or lost, nobody knows. */
bool journal_is_busy(const struct journal *journal);

#endif
