/* wait_notice.c - tells why a job that somebody follows does not start. */
#include "producer/cli/wait_notice.h"

#include <stdlib.h>
#include <string.h>

#include "producer/cli/show.h"
#include "producer/client/quern_operate.h"

enum {
    PATIENCE = 1000 / WAIT_NOTICE_LOOK_MS, /* looks before the first question:
                                              most jobs start sooner */
    AGAIN = 5000 / WAIT_NOTICE_LOOK_MS,    /* looks between two questions */
};

enum wait_cause {
    PAUSED = 1 << 0,
    UNSERVED = 1 << 1,
    BUDGET = 1 << 2,
    ENDPOINT = 1 << 3,
};

static unsigned int cause_of(struct view reason)
{
    return view_is(reason, "budget")     ? BUDGET
           : view_is(reason, "endpoint") ? ENDPOINT
                                         : 0;
}

void wait_notice_heed(struct wait_notice *notice, const struct event *event,
                      bool shown)
{
    bool waits = view_is(event->type, "job.waiting");

    notice->running = !waits && !view_is(event->type, "job.queued") &&
                      !view_is(event->type, "job.lost");
    notice->looks = 0;
    notice->heard = true;
    if (notice->running)
        notice->said = 0;
    else if (waits && shown)
        notice->said |= cause_of(event->data.reason);
}

static struct view fact_of(const struct quern_explanation *job,
                           const char *name)
{
    for (size_t i = 0; i < job->count; i++)
        if (strcmp(job->items[i].name, name) == 0)
            return view_of(job->items[i].text);
    return (struct view){ 0 };
}

static unsigned int causes_of(const struct quern_explanation *job)
{
    unsigned int causes = 0;

    if (view_is(fact_of(job, "paused"), "1"))
        causes |= PAUSED;
    if (view_is(fact_of(job, "served_by"), "0"))
        causes |= UNSERVED;
    if (view_is(fact_of(job, "state"), "waiting"))
        causes |= cause_of(fact_of(job, "reason"));
    return causes;
}

static void wait_notice_say(struct app *app,
                            const struct quern_explanation *job)
{
    struct pane *err = term_notice(&app->term);

    if (app->term.json) {
        json_line(json_pack("{s:s, s:s}", "type", "held", "why", job->why));
        return;
    }
    pane_printf(err, YELLOW, "it waits: ");
    pane_text(err, PLAIN, view_of(job->why));
    pane_line(err);
}

/* This login may not ask, and no event has come: the job may not even exist. */
static void say_silence(struct wait_notice *notice, struct app *app,
                        const char *id)
{
    struct pane *err = term_notice(&app->term);
    char text[160];

    if (notice->heard)
        return;
    notice->heard = true;
    snprintf(text, sizeof(text),
             "no event of job %s has come yet, and this login may not ask "
             "whether there is such a job",
             id);
    if (app->term.json) {
        json_line(json_pack("{s:s, s:s}", "type", "held", "why", text));
        return;
    }
    pane_printf(err, YELLOW, "%s", text);
    pane_line(err);
}

/* notice->said becomes the causes of now, not their union: a cause that went
 * and came back is told again. */
void wait_notice_look(struct wait_notice *notice, struct app *app,
                      const char *id)
{
    struct quern_explanation job;
    struct quern_error error;
    unsigned int causes;

    if (notice->running || notice->refused)
        return;
    notice->looks++;
    if (notice->looks < PATIENCE || (notice->looks - PATIENCE) % AGAIN != 0)
        return;
    if (!quern_explain(app->quern, id, &job, &error)) {
        notice->refused = error.kind == QUERN_REJECT;
        if (notice->refused)
            say_silence(notice, app, id);
        return;
    }
    causes = causes_of(&job);
    if (!app->term.err.tty)
        causes &= ~(unsigned int)UNSERVED;
    if (causes & ~notice->said)
        wait_notice_say(app, &job);
    notice->said = causes;
    free(job.items);
}
