/* journal.c - the one writer of a job's journal. */
#include "consumer/job/journal.h"

#include <stdlib.h>

/* A record that is on its way, until the store answers. */
struct journal_write {
    struct journal *journal;
    struct journal_write *next;
    struct buf record;  /* kept, to be applied when it is durable */
    bool reserves;      /* Redis may refuse it for the tenant's budget */
    journal_done *done; /* NULL: nobody is told */
    void *owner;
};

void journal_init(struct journal *journal, const struct journal_setup *setup)
{
    *journal = (struct journal){ .setup = *setup };
}

static void write_free(struct journal_write *write)
{
    struct journal_write **link = &write->journal->writes;
    while (*link != write)
        link = &(*link)->next;
    *link = write->next;
    buf_finish(&write->record);
    free(write);
}

void journal_finish(struct journal *journal)
{
    while (journal->writes)
        write_free(journal->writes);
}

bool journal_encode(const struct record *record, struct buf *bytes,
                    struct err *err)
{
    buf_init(bytes, MAX_RECORD_BYTES);
    if (message_encode(&schema_record, record, bytes, err))
        return true;
    buf_finish(bytes);
    err_prefix(err, "a step of the conversation");
    return false;
}

/* The tenant's budget does not allow the request, so Redis wrote no record. */
static bool is_barred(const struct journal_write *write,
                      const redisReply *reply)
{
    struct spend_bar bar;
    struct err err;
    return write->reserves &&
           (!transition_spent(reply, &bar, &err) || bar.setting.len > 0);
}

static bool apply(const struct journal_write *write, const redisReply *reply,
                  struct err *err)
{
    struct journal *journal = write->journal;
    if (is_barred(write, reply)) {
        /* The index is free again. Nothing was written behind it meanwhile: an
         * intent of the model is the last record until it is answered. */
        journal->count--;
        return true;
    }
    return journal->sealed || conversation_apply(journal->setup.conversation,
                                                 buf_view(&write->record), err);
}

static void on_written(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct journal_write *write = owner;
    struct journal *journal = write->journal;
    struct err err;
    bool applied = reply && apply(write, reply, &err);
    bool tells = applied && !journal->sealed && write->done;
    journal_done *done = write->done;
    void *writer = write->owner;
    /* Before any callback: that may free the journal with all of its writes, so
     * nothing of them is touched after it. */
    write_free(write);
    if (tells)
        done(writer, reply);
    else if (!applied)
        journal->setup.on_refused(journal->setup.owner, NULL,
                                  !reply ? why : &err);
    else if (!journal_is_busy(journal))
        journal->setup.on_idle(journal->setup.owner);
}

void journal_write(struct journal *journal, const struct journal_entry *entry,
                   journal_done *done, void *owner)
{
    const struct journal_setup *setup = &journal->setup;
    struct journal_write *write = calloc(1, sizeof(*write));
    CLEANUP(buf_finish) struct buf bytes = { 0 };
    struct command command;
    if (!write)
        abort();
    *write = (struct journal_write){ .journal = journal,
                                     .next = journal->writes,
                                     .record = *entry->record,
                                     .done = done,
                                     .owner = owner };
    *entry->record = (struct buf){ 0 };
    journal->writes = write;
    if (entry->type)
        event_data_encode(entry->data, &bytes);
    struct event_text event = { entry->type, buf_view(&bytes) };
    size_t events = entry->type != NULL;
    /* Before the answer: several records may be on their way at once. */
    uint64_t index = journal->count++;
    progress_flush(setup->progress);
    if (entry->spend) {
        struct spend spend = *entry->spend;
        spend.lease = setup->lease;
        spend.index = index;
        spend.record = buf_view(&write->record);
        write->reserves = spend.verb == SPEND_RESERVE;
        transition_spend(&command, setup->names, &spend, &event, events);
    } else {
        transition_journal(&command, setup->names, setup->lease, index,
                           buf_view(&write->record), &event, events);
    }
    store_commit(setup->store, &command, on_written, write);
    command_finish(&command);
}

void journal_forget(struct journal *journal, const void *owner)
{
    for (struct journal_write *write = journal->writes; write;
         write = write->next)
        if (write->owner == owner)
            write->done = NULL;
}

void journal_seal(struct journal *journal)
{
    journal->sealed = true;
}

bool journal_is_busy(const struct journal *journal)
{
    return journal->writes;
}
