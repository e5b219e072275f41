/* jobs.h - what the queue tells the attempts of the consumer, and asks them.
 *
 * The queue takes jobs and renews their leases. It does not know how a job is
 * worked on: each job has one of the consumer's slots, by its number. */
#ifndef CONSUMER_QUEUE_JOBS_H
#define CONSUMER_QUEUE_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct consumer;
struct partition;
struct take_reply;

struct slot_job {
    const char *id;
    uint64_t epoch;
    uint64_t serial; /* of the work, never used twice: the slot may have another
                        job when an answer comes */
    bool ends; /* its end is being written, and the answer to that tells whether
                  the lease was lost */
};

struct jobs {
    /* Takes a free slot, of which there must be one. Copies. */
    void (*on_started)(const struct partition *partition,
                       const struct take_reply *start);
    /* False: the slot is free, or has a job of another partition. */
    bool (*find)(const struct partition *partition, size_t slot,
                 struct slot_job *job);

    /* Of a slot; nothing happens when it is free. Another consumer has the job:
     * the attempt writes nothing more. */
    void (*on_lost)(struct consumer *consumer, size_t slot);
    void (*on_cancel)(struct consumer *consumer, size_t slot);
    /* The consumer leaves: the job goes back into its queue. */
    void (*on_release)(struct consumer *consumer, size_t slot);
    /* For operators: one line about it. */
    void (*print)(const struct consumer *consumer, size_t slot);

    /* How long endpoints are to be left alone has been read, or is too long in
     * coming: attempts that waited for it go on. */
    void (*on_waits_read)(struct consumer *consumer);
};

#endif
