/* progress.h - work that may take long: a bar that shows how far it is, and the
 * question whether to begin. The bar is drawn only on a terminal: not into a
 * pipe, nor with --json. */
#ifndef PRODUCER_CLI_PROGRESS_H
#define PRODUCER_CLI_PROGRESS_H

#include "producer/cli/cli.h"

struct progress_bar {
    struct pane *pane; /* NULL: nothing is drawn */
    const char *what;  /* "jobs purged" */
    uint64_t total;    /* 0: not known, and no bar is drawn */
    uint64_t done;
    uint64_t began_ms, drawn_ms;
    bool shown;
};

/* Borrows what. Nothing is drawn in the first half second. */
void progress_init(struct progress_bar *progress, struct term *term,
                   const char *what, uint64_t total);
void progress_add(struct progress_bar *progress, uint64_t done);
/* Wipes the bar: what is said next stands on a line of its own. */
void progress_finish(struct progress_bar *progress);

/* Asks "<question> [y/N]" on the terminal, unless --yes is given; without a
 * terminal
 * --yes must be. False: do not begin, and end with *code. */
bool app_confirm(struct app *app, int *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
