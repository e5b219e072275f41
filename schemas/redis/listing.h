/* listing.h - calls that operators use to look at jobs: by the place where they
 * stand, those that have ended, what one job waits for, and counts by minute;
 * and the removal of old jobs. Builders and readers follow the rules of
 * transition.h; library/list.lua has the walk. */
#ifndef SCHEMAS_REDIS_LISTING_H
#define SCHEMAS_REDIS_LISTING_H

#include "schemas/redis/transition.h"

/* Which jobs to list; an empty member: any. */
struct job_filter {
    struct view id;     /* a part of it */
    struct view states; /* words: "queued in_progress" */
    struct view places; /* words: "running stream lane behind later ended" */
    struct view queue, tenant, session;
    struct view worker;     /* which runs the job, or ran it last */
    struct view error_code; /* with which it has ended */
    struct view reason;     /* why it waits */
    struct view model;      /* that the job names */
    struct view metadata;   /* "key=value", one of its metadata */
    uint64_t since, until;  /* ms since 1970: of the end, or of the submit
                               where there is none yet; 0: any */
};

enum {
    LISTING_MOST_ROWS = 500,
    LISTING_MOST_PERIODS = 200,
    LISTING_PERIOD_MS = 600000, /* of counts by minute */
    LISTING_TIDY_STEP = 256,    /* keys */
};

/* Lists up to count jobs of a partition. cursor: that of the previous answer;
 * empty: begin. A call looks at a bounded number of jobs, so an answer may have
 * no rows although the walk is not over: only an empty cursor ends it. Jobs
 * move meanwhile, so the walk may list a job twice, or not at all. */
void transition_jobs(struct command *command, const struct names *names,
                     unsigned int partition, struct view cursor, uint64_t count,
                     const struct job_filter *filter);

struct job_row {
    struct view id, place, queue, tenant, session, worker, reason, priority;
    struct view call; /* the call for whose approval it waits */
    struct view error_code;
    int state;                                      /* enum job_state */
    uint64_t submitted_at, started_at, finished_at; /* ms since 1970; 0: not */
    uint64_t attempts, tokens, cost; /* tokens and micro-dollars only of a job
                                        that has ended */
    uint64_t due_at; /* when its lease ends, or it goes on; 0: not known */
};
/* cursor: empty when that was all; rows: of reply->element[1]. */
bool transition_jobs_listed(const redisReply *reply, struct view *cursor,
                            size_t *rows, struct err *err);
/* Of the last answer of a walk: jobs that ended before that time (ms since
 * 1970) are not listed, since the index has lost them; 0: all are. */
uint64_t transition_jobs_since(const redisReply *reply);
bool transition_job_row(const redisReply *reply, size_t at, struct job_row *row,
                        struct err *err);

/* One job explained, as pairs of name and value: "Pairs of explain" in
 * schemas/FUNCTIONS.md. */
void transition_explain(struct command *command, const struct names *names,
                        struct view id);
/* What was submitted: the reply is its bytes, or nil when they are not kept any
 * more. */
void transition_body(struct command *command, const struct names *names,
                     struct view id);
bool transition_explained(const redisReply *reply, size_t *pairs,
                          struct err *err);

/* Counts of a queue in some periods of ten minutes, counted from 1970. For each
 * period the answer has a flat array of fields and counts: see figure_read().
 */
void transition_figures(struct command *command, const struct names *names,
                        unsigned int partition, struct view queue,
                        uint64_t first, size_t periods);
/* Reads the name of a field. minute: 0 to 9; what: a letter, see
 * schemas/KEYS.md; bucket: of w and r, from 0. False: it is no such field. */
bool figure_read(struct view field, unsigned int *minute, char *what,
                 size_t *bucket);

/* Looks at some keys of the partition and removes jobs that ended before a time
 * (ms since 1970). cursor: "0" to begin, and in the answer when the walk is
 * over. state, queue: empty for any. dry: only counts the jobs. */
struct tidy {
    uint64_t before;
    struct view state, queue;
    bool dry;
};
void transition_tidy(struct command *command, const struct names *names,
                     unsigned int partition, struct view cursor,
                     const struct tidy *tidy);
bool transition_tidied(const redisReply *reply, struct view *cursor,
                       uint64_t *jobs, struct err *err);

#endif
