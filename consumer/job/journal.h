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
 * of the record: the attempt has lost its job, or fails. */
#ifndef CONSUMER_JOB_JOURNAL_H
#define CONSUMER_JOB_JOURNAL_H

#include "consumer/conversation/conversation.h"
#include "consumer/output/progress.h"
#include "consumer/queue/store.h"
#include "schemas/redis/spend.h"

struct journal_setup {
    struct store *store;
    const struct names *names;
    struct job_lease lease; /* its id must stay */
    struct progress *progress;
    struct conversation *conversation;
    store_done *on_refused;       /* also of a record that cannot be applied */
    void (*on_idle)(void *owner); /* nothing is on its way any more, and nobody
                                     was told of the last record */
    void *owner;
};

struct journal {
    struct journal_setup setup;
    uint64_t count; /* of records, those on their way, too */
    bool sealed;
    struct journal_write *writes; /* on their way */
};

/* The record is in the journal, and in the conversation. With a spend that
 * reserves, reply may be a refusal of the tenant's budget instead, see
 * transition_spent(): then nothing was written. Borrows reply. */
typedef void journal_done(void *owner, const redisReply *reply);

struct journal_entry {
    struct buf *record; /* taken: left empty; see journal_encode() */
    const struct spend
        *spend;       /* what the tenant's budget pays; NULL: nothing */
    const char *type; /* of the event; NULL: none */
    const struct event_data *data;
};

void journal_init(struct journal *journal, const struct journal_setup *setup);
void journal_finish(struct journal *journal);

/* Initializes bytes. Error: it does not fit a record. */
bool journal_encode(const struct record *record, struct buf *bytes,
                    struct err *err);
/* done may be NULL; it is called from the loop, unless journal_forget() was. */
void journal_write(struct journal *journal, const struct journal_entry *entry,
                   journal_done *done, void *owner);
/* The owner wants to hear of none of its records any more. */
void journal_forget(struct journal *journal, const void *owner);
void journal_seal(struct journal *journal);
/* A record is on its way. */
bool journal_is_busy(const struct journal *journal);

#endif
