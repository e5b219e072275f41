/* cli.h - what the verbs of the quern command share. */
#ifndef PRODUCER_CLI_CLI_H
#define PRODUCER_CLI_CLI_H

#include "producer/cli/option.h"
#include "producer/cli/term.h"
#include "producer/client/quern.h"
#include "schemas/message/err.h"
#include "schemas/message/limits.h"
#include "schemas/message/view.h"

/* sysexits.h, so that shells and cron know what to do. */
enum {
    EXIT_DONE = 0,
    EXIT_JOB = 1,          /* the job failed, was cancelled or is incomplete;
                              check has found something, a replay differs */
    EXIT_USAGE = 64,       /* the command line */
    EXIT_INPUT = 65,       /* the job, a file, an id */
    EXIT_UNAVAILABLE = 69, /* no Redis, or it refuses us */
    EXIT_OUTPUT = 74,      /* done, but what came of it could not be written */
    EXIT_AGAIN = 75,       /* not ended in time, queue full */
};

struct app {
    const struct verb *verb;
    struct options options;
    struct term term;
    struct quern *quern; /* open for verbs that need it */
    struct quern_id job; /* that was submitted; "": none */
    int unsaved; /* exit code when an image or file could not be saved */
};

struct verb {
    const char *name;  /* "get"; of a group: "session get" */
    const char *words; /* what stands after the name: "NAME FILE..." */
    int min_words, max_words;
    bool offline; /* needs no handle */
    const char *about;
    const char *hint;        /* follows a fault of its words, or NULL */
    void (*more)(FILE *out); /* follows its options there, or NULL */
    int (*run)(struct app *app);
};
extern const struct verb verbs[];
extern const size_t verb_count;

/* -------- verb_table.c */

/* By one word, or two. NULL: there is none. */
const struct verb *verb_find(const char *first, const char *second);
/* In the group "session" of "session get" the "get"; NULL: not in it. */
const char *verb_within(const struct verb *verb, const char *group);
bool verb_is_group(const char *name);

/* -------- the verbs; where no file is named, in the file of that name or of
 * that group */

int verb_run(struct app *app);
int submit_lines(struct app *app); /* --jobs */
int verb_exec(struct app *app);
int verb_session_ls(struct app *app);
int verb_session_show(struct app *app);
int verb_approve(struct app *app);
int verb_job_ls(struct app *app);
int verb_job_show(struct app *app);
int verb_job_rm(struct app *app);
int verb_queue_ls(struct app *app);
int verb_queue_stats(struct app *app);
int verb_queue_pause(struct app *app);
int verb_queue_resume(struct app *app);
int verb_queue_set(struct app *app);
int verb_queue_purge(struct app *app);
int verb_dead_ls(struct app *app);
int verb_dead_show(struct app *app);
int verb_dead_requeue(struct app *app);
int verb_dead_rm(struct app *app);
int verb_tenant_ls(struct app *app);
int verb_endpoint_ls(struct app *app);
int verb_worker_ls(struct app *app);
int verb_worker_drain(struct app *app);
int verb_worker_resume(struct app *app);
int verb_schedule_ls(struct app *app);
int verb_schedule_add(struct app *app);
int verb_schedule_show(struct app *app);
int verb_schedule_rm(struct app *app);
int verb_schedule_pause(struct app *app);
int verb_schedule_resume(struct app *app);
int verb_schedule_run(struct app *app);
int verb_replay(struct app *app);
int verb_doctor(struct app *app);
int verb_check(struct app *app);
int verb_completion(struct app *app);
int verb_help(struct app *app);

/* verb_submit.c */
int verb_submit(struct app *app);
int verb_get(struct app *app);
int verb_wait(struct app *app);
int verb_watch(struct app *app);
int verb_cancel(struct app *app);

/* verb_session_job.c */
int verb_session_files(struct app *app);
int verb_session_put(struct app *app);
int verb_session_get(struct app *app);
int verb_session_close(struct app *app);
int verb_session_fork(struct app *app);

int verb_retry(struct app *app);         /* verb_dead.c */
int verb_queue_history(struct app *app); /* verb_job.c */

/* verb_queue.c: a name that nobody has ever used is a slip more often than a
 * wish. queue: NULL is none. Gives the exit code; EXIT_DONE: go on. Error:
 * unknown_queue. */
int app_check_queue(struct app *app, const char *queue);

/* exec_members.c: lists what verb_exec() prints. */
void exec_members(FILE *out);

/* -------- app.c */

/* Says what failed, as a sentence or with --json as an object, on stderr; gives
 * the exit code that it means. */
int app_fail(struct app *app, const struct quern_error *error);
int app_fail_err(struct app *app, const struct err *err);
int app_exit_of(const struct quern_error *error); /* that code alone */
/* The same as an error of the client's; returns false. */
bool error_of(struct quern_error *error, const struct err *err);

/* All of a file, or of standard input when path is "-", as text. */
char *read_text(const char *path, size_t max, size_t *size, struct err *err);

/* Prints what became of a job (get, wait); gives the exit code. */
int app_show_status(struct app *app, const char *id,
                    const struct quern_status *status);
int status_exit(const struct quern_status *status);

#endif
