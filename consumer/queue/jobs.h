/* jobs.h - what the queue tells the attempts of the consumer, and asks them.
 *
 * The queue takes jobs and renews their leases. It does not know how a job is
 * worked on, and names a job by the number of its slot in the consumer.
 * job/attempt.c has these functions. Each but find and print may end the job
 * in the slot, and so free the slot, before it returns. */
#ifndef CONSUMER_QUEUE_JOBS_H
#define CONSUMER_QUEUE_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/service/log.h"

struct consumer;
struct partition;
struct take_reply;

/* The job in a slot. Valid until the loop runs on. */
struct slot_job {
    const char *id;
    struct log_job log;
    uint64_t epoch;
    uint64_t serial; /* of the attempt, never used twice. Who asks Redis about a
                        slot compares it when the answer comes: the slot may
                        have another job by then */
    bool ends; /* its end is being written, and the answer to that tells whether
                  the lease was lost */
};

struct jobs {
    /* Starts the job in a free slot, of which there must be one. Copies. */
    void (*on_started)(const struct partition *partition,
                       const struct take_reply *start);
    /* False: the slot is free, or has a job of another partition. */
    bool (*find)(const struct partition *partition, size_t slot,
                 struct slot_job *job);

    /* These do nothing when the slot is free. Another consumer has the job: the
     * attempt writes nothing more. */
    void (*on_lost)(struct consumer *consumer, size_t slot);
    /* Somebody has cancelled the job. */
    void (*on_cancel)(struct consumer *consumer, size_t slot);
    /* The consumer leaves: the job goes back into its queue. */
    void (*on_release)(struct consumer *consumer, size_t slot);
    /* Logs a line about the job, for operators. */
    void (*print)(const struct consumer *consumer, size_t slot);

    /* The waits of endpoints have been read from Redis, or the reading takes
     * too long: attempts that waited for it go on. See fleet_endpoints.h. */
    void (*on_waits_read)(struct consumer *consumer);
};

#endif
