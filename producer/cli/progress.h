/* progress.h - long work on a terminal: how far it is, and whether to begin.
 *
 * Only where a person looks: nothing is drawn into a pipe, nor with --json. */
#ifndef PRODUCER_CLI_PROGRESS_H
#define PRODUCER_CLI_PROGRESS_H

#include "producer/cli/cli.h"

struct progress_bar {
    struct pane *pane; /* NULL: nobody looks */
    const char *what;  /* "jobs purged" */
    uint64_t total;    /* 0: nobody knows */
    uint64_t done;
    uint64_t began_ms, drawn_ms;
    bool shown;
};

/* what: borrowed. Nothing shows before half a second has gone by. */
void progress_init(struct progress_bar *progress, struct term *term,
                   const char *what, uint64_t total);
void progress_add(struct progress_bar *progress, uint64_t done);
/* Wipes the bar: what is said next stands on a line of its own. */
void progress_finish(struct progress_bar *progress);

/* Asks "<question> [y/N]" on the terminal, unless --yes; where there is none,
 * --yes must be given. False: *code says how to end. */
bool app_confirm(struct app *app, int *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
