/* cli.h - what the verbs of the quern command share: the table of verbs, exit
 * statuses, failing, showing where a job stands. main.c finds the verb, parses
 * the options, opens the handle and calls the verb's run(). */
#ifndef PRODUCER_CLI_CLI_H
#define PRODUCER_CLI_CLI_H

#include "producer/cli/option.h"
#include "producer/cli/term.h"
#include "producer/client/quern.h"
#include "schemas/message/err.h"
#include "schemas/message/limits.h"
#include "schemas/message/view.h"

/* Exit statuses, those of sysexits.h, so that scripts can tell what to do next:
 * help/exit-status.txt. */
enum {
    EXIT_DONE = 0,
    EXIT_JOB = 1,          /* the job failed, was cancelled or is incomplete;
                              check has found something, a replay differs, a
                              process is not ready */
    EXIT_USAGE = 64,       /* the command line */
    EXIT_INPUT = 65,       /* the job, a file, an id */
    EXIT_UNAVAILABLE = 69, /* no Redis, or it refuses us */
    EXIT_OUTPUT = 74,      /* done, but what came of it could not be written */
    EXIT_AGAIN = 75,       /* not ended in time, queue full */
};

/* The one run of the command; main() owns it and all that is in it. */
struct app {
    const struct verb *verb;
    struct options options;
    struct term term;
    struct quern *quern; /* NULL for verbs that are offline */
    struct quern_id job; /* that this run has submitted; "": none. Told when the
                            answer cannot be written */
    int unsaved; /* the exit status when an image or file could not be saved,
                    and all else went well; 0: all were saved */
};

/* A row of the table of verbs. */
struct verb {
    const char *name; /* "get"; of a group: "session get" */
    const char
        *words; /* what follows the name: "NAME FILE..."; NULL: nothing */
    int min_words, max_words;
    bool offline;            /* main() opens no handle for it */
    const char *about;       /* a line of quern help */
    const char *hint;        /* printed behind a fault of the command line, or
                                NULL */
    void (*more)(FILE *out); /* prints what follows the options on its help
                                page, or NULL */
    int (*run)(struct app *app); /* gives the exit status */
};
extern const struct verb verbs[];
extern const size_t verb_count;

/* -------- verb_table.c */

/* The verb of these words: of the first alone, or of a group and a word in it;
 * second may be NULL. NULL: there is none. */
const struct verb *verb_find(const char *first, const char *second);
/* The word of the verb within the group: "get" of "session get" in "session".
 * NULL: the verb is not in that group. */
const char *verb_within(const struct verb *verb, const char *group);
bool verb_is_group(const char *name);

/* -------- the verbs, each in the file of its name or of its group, where no
 * other file is named */

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
int verb_key_ls(struct app *app);
int verb_key_add(struct app *app);
int verb_key_rotate(struct app *app);
int verb_key_rm(struct app *app);
int verb_hook_ls(struct app *app);
int verb_hook_add(struct app *app);
int verb_hook_rotate(struct app *app);
int verb_hook_test(struct app *app);
int verb_hook_enable(struct app *app);
int verb_hook_rm(struct app *app);
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
int verb_metrics(struct app *app);
int verb_probe(struct app *app); /* verb_metrics.c */
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

/* verb_queue.c: refuses a queue that no job and no setting has ever named,
 * unless
 * --create is given: such a name is mostly misspelled. queue NULL: nothing to
 * check. Gives an exit status; EXIT_DONE: go on. Error: unknown_queue. */
int app_check_queue(struct app *app, const char *queue);

/* exec_members.c: lists what verb_exec() prints. */
void exec_members(FILE *out);

/* -------- app.c */

/* Prints what failed to stderr, as a sentence or with --json as an object.
 * Gives the exit status of the error. */
int app_fail(struct app *app, const struct quern_error *error);
int app_fail_err(struct app *app, const struct err *err);
int app_exit_of(const struct quern_error *error); /* that status alone */
/* Copies err into an error of the library's type; returns false. */
bool error_of(struct quern_error *error, const struct err *err);

/* All of a file, or of standard input when path is "-", as NUL-terminated text
 * of at most max bytes; free() it. NULL: it cannot be read, is larger, or has a
 * NUL byte. */
char *read_text(const char *path, size_t max, size_t *size, struct err *err);
/* Closes it if it is a descriptor; for CLEANUP(). errno stays what it was. */
void close_fd(int *fd);

/* Prints where a job stands, and its result when it has ended (get, wait);
 * saves images and files when --out is given. Gives the exit status. */
int app_show_status(struct app *app, const char *id,
                    const struct quern_status *status);
int status_exit(const struct quern_status *status); /* the exit status alone */

#endif
