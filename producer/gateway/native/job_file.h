/* job_file.h - a file or an image that a job has made, by its name.
 *
 *   has it ended? ──yes──▶ its result ──▶ the file
 *          │ no                               ▲
 *          └──▶ its events, the latest first ─┘
 *
 * What a job shows is there as soon as its cell has shown it: so one that still
 * runs is searched, too. */
#ifndef PRODUCER_GATEWAY_JOB_FILE_H
#define PRODUCER_GATEWAY_JOB_FILE_H

#include "producer/gateway/file_answer.h"
#include "producer/gateway/file_link.h"

/* What is looked for: the first member of the state of a request. */
struct job_file {
    struct file_link target; /* the job, what kind, its name */
    unsigned int partition;  /* of the job */
    /* One of them is called, once, unless Redis is away. found: borrowed; it
     * has no name, partition or sharing yet. */
    void (*answer)(struct api_request *request, struct answered_file *found);
    void (*refuse)(struct api_request *request);
    unsigned int pages; /* of events that were read; 0 */
};

void job_file_find(struct api_request *request, bool has_ended);

#endif
