/* job.h - a caller's job as the message that it becomes. */
#ifndef PRODUCER_CLIENT_JOB_H
#define PRODUCER_CLIENT_JOB_H

#include "producer/client/handle.h"
#include "schemas/message/job.h"
#include "schemas/message/limits.h"

/* Files of a job, the ones that it names and the ones sent along. */
struct files {
    struct file_ref refs[MAX_FILES];
    struct sha256 hashes[MAX_FILES];
    size_t count;
};

/* Its files become blobs. What job borrows is the caller's, or in the arena. */
bool job_of(struct quern *quern, const struct quern_job *from, struct job *job,
            struct files *files, struct arena *arena, struct err *err);
/* The same of a job that is written as JSON, which names its files. */
bool job_of_json(const char *text, struct job *job, struct arena *arena,
                 struct err *err);

#endif
