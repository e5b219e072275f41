/* progress.c - long work on a terminal: how far it is, and whether to begin. */
#include "producer/cli/progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SILENCE_MS = 500, /* work that takes less needs no bar */
    REDRAW_MS = 100,
    BAR = 20, /* characters */
};

static uint64_t progress_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void progress_init(struct progress_bar *progress, struct term *term,
                   const char *what, uint64_t total)
{
    *progress = (struct progress_bar){
        .pane = term->err.tty && !term->json ? &term->err : NULL,
        .what = what,
        .total = total,
        .began_ms = progress_now_ms(),
    };
}

/* "[########            ]  40 000 of 100 000 jobs purged, 12 s left" */
static void draw(const struct progress_bar *progress, uint64_t spent_ms)
{
    char bar[BAR + 1], line[160];
    uint64_t filled = 0;
    int len;

    memset(bar, ' ', BAR);
    bar[BAR] = '\0';
    if (progress->total > 0)
        filled = progress->done * BAR / progress->total;
    memset(bar, '#', filled < BAR ? filled : BAR);
    if (progress->total == 0)
        len = snprintf(line, sizeof(line), "%" PRIu64 " %s", progress->done,
                       progress->what);
    else
        len = snprintf(line, sizeof(line), "[%s] %" PRIu64 " of %" PRIu64 " %s",
                       bar, progress->done, progress->total, progress->what);
    if (progress->total > progress->done && progress->done > 0)
        snprintf(line + len, sizeof(line) - (size_t)len, ", %s left",
                 term_age(spent_ms * (progress->total - progress->done) /
                          progress->done));
    /* Never wider than the terminal: a line that wraps cannot be redrawn. */
    pane_redraw(progress->pane);
    pane_printf(progress->pane, DIM, "%.*s",
                (int)pane_width(progress->pane) - 1, line);
}

void progress_add(struct progress_bar *progress, uint64_t done)
{
    uint64_t now = progress_now_ms();

    progress->done += done;
    if (!progress->pane || now - progress->began_ms < SILENCE_MS ||
        (progress->shown && now - progress->drawn_ms < REDRAW_MS))
        return;
    progress->shown = true;
    progress->drawn_ms = now;
    draw(progress, now - progress->began_ms);
}

void progress_finish(struct progress_bar *progress)
{
    if (!progress->shown)
        return;
    pane_redraw(progress->pane);
    progress->shown = false;
}

static bool says_yes(void)
{
    char answer[16];

    if (!fgets(answer, sizeof(answer), stdin))
        return false;
    answer[strcspn(answer, "\n")] = '\0';
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

bool app_confirm(struct app *app, int *code, const char *format, ...)
{
    struct pane *pane = &app->term.err;
    struct err err = { 0 };
    char question[256];
    va_list args;

    if (app->options.change.yes)
        return true;
    if (!pane->tty || !isatty(STDIN_FILENO)) {
        err_set(&err, ERR_REJECT, "bad_setting",
                "this needs a confirmation, and there is no terminal to ask "
                "on: give --yes, or --dry-run to see what would be done");
        *code = app_fail_err(app, &err);
        return false;
    }
    va_start(args, format);
    vsnprintf(question, sizeof(question), format, args);
    va_end(args);
    pane_printf(term_notice(&app->term), BOLD, "%s [y/N] ", question);
    if (says_yes())
        return true;
    pane_printf(term_notice(&app->term), PLAIN, "nothing was done\n");
    *code = EXIT_DONE;
    return false;
}
