/* inbox.h - sorts the warden's frames by the thread that waits for them.
 *
 * The main thread waits for the next cell; any thread of a cell may wait for
 * the answer to its question. No thread does nothing but read: when a thread
 * waits and no other reads, it reads for all threads until its own frame has
 * come; then another waiting thread takes over. Nothing here needs Python, or
 * its lock. */
#ifndef EXECUTOR_GUEST_INBOX_H
#define EXECUTOR_GUEST_INBOX_H

#include <semaphore.h>

#include "executor/guest/channel.h"

/* What somebody waits for, and then has. It belongs to the thread that waits;
 * inbox_forget() takes it out and frees what it holds. */
struct inbox_waiter {
    struct inbox_waiter *next;
    uint64_t nonce, number; /* of the question; number 0: waits for frames that
                               are no answers */
    bool here;              /* frame and what it borrows from are valid */
    struct guest_frame frame;
    struct buf bytes;
    struct arena arena;
    struct frame_fds frame_fds;
    bool watchful; /* its thread looks for signals now and then */
    bool asleep;   /* it waits for news */
    sem_t news;    /* its frame is here, or it is to read now */
};

enum inbox_news {
    INBOX_HERE,
    INBOX_LOOK,   /* a signal may have come: look after it, then wait on */
    INBOX_CLOSED, /* err->kind is ERR_NONE when the warden is just gone */
};

/* Nobody waits. Called again in a fork, which has one thread and another
 * channel: a thread that is not there any more may have held the lock. */
void inbox_init(void);

/* From now on, what is for the waiter is kept in it: so it is called before the
 * question is sent. Python handles signals in the main thread. One that comes
 * just before that thread waits would not wake it: it must be watchful then. */
void inbox_expect(struct inbox_waiter *waiter, uint64_t nonce, uint64_t number);
/* Waits for its frame, or reads for all. Call it without Python's lock: it may
 * take long. */
enum inbox_news inbox_wait(struct inbox_waiter *waiter, struct err *err);
/* The frame is done with, or not waited for any more. */
void inbox_forget(struct inbox_waiter *waiter);

/* The cell has ended: all questions are answered by an error that says so. */
void inbox_end_cell(void);

#endif
