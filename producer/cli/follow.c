/* follow.c - shows a job while it runs: what each kind of event looks like,
 * Ctrl-C, Redis that is away, and what is shown at the end. */
#include "producer/cli/follow.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer/cli/approve.h"
#include "producer/cli/held_output.h"
#include "producer/cli/show.h"
#include "producer/cli/wait_notice.h"
#include "schemas/json/convert.h"
#include "schemas/message/event.h"
#include "schemas/message/result.h"

enum {
    LOOK_MS = WAIT_NOTICE_LOOK_MS, /* how soon Ctrl-C is answered */
    PATIENCE_S = 60,               /* without Redis, then we give up */
};

struct follower {
    struct app *app;
    const char *id;
    bool plain;
    bool talk;               /* show progress */
    bool output_shown;       /* of cells */
    char call[32];           /* the latest that was started */
    struct held_output held; /* of that */
    struct buf text;         /* of the latest turn, as it stands on stdout */
    uint64_t seq;            /* of the latest event */
    int end;                 /* enum job_state, and ... */
    struct buf told;         /* ... what the last event says of it */
    time_t away_since;       /* 0: Redis is there */
    struct saver saver;
    struct wait_notice notice;
};

static volatile sig_atomic_t interrupted; /* the signal's number */

static void on_interrupt(int signal)
{
    interrupted = signal;
}

/* The handler runs once (SA_RESETHAND): the second Ctrl-C has its usual effect.
 * A signal that is ignored stays ignored: a shell does so for commands in the
 * background. */
static void catch_signal(int number)
{
    struct sigaction action = { .sa_handler = on_interrupt,
                                .sa_flags = (int)SA_RESETHAND };
    struct sigaction before;

    if (!sigaction(number, NULL, &before) && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

/* After a signal. A person at a terminal is told how to go on later, and leaves
 * by the second Ctrl-C. Otherwise (SIGTERM, no terminal) the id is printed and
 * the command ends by that signal: a script that is stopped must not lose the
 * job. */
static void heed_interrupt(struct follower *follow)
{
    bool asks = interrupted == SIGINT && follow->app->term.err.tty;
    int number = interrupted;

    interrupted = 0;
    if (!follow->app->term.json)
        pane_printf(term_notice(&follow->app->term), BOLD,
                    "%she job goes on. Then:\n"
                    "  quern watch %s\n  quern cancel %s\n",
                    asks ? "Ctrl-C again to leave; t" : "T", follow->id,
                    follow->id);
    if (asks)
        return;
    fflush(stdout);
    raise(number); /* its handler is gone */
}

/* --- what each event looks like ------------------------------------------ */

static void on_started(struct follower *follow, const struct event *event)
{
    if (event->attempt > 1)
        pane_printf(term_notice(&follow->app->term), DIM,
                    "attempt %" PRIu64 "\n", event->attempt);
}

static void on_turn(struct follower *follow, const struct event *event)
{
    (void)event;
    pane_line(&follow->app->term.out);
    buf_clear(&follow->text);
}

/* Pieces of the answer go to stdout only on a terminal; a pipe gets the whole
 * answer at the end. */
static void on_delta(struct follower *follow, const struct event *event)
{
    struct term *term = &follow->app->term;

    if (!term->out.tty)
        return;
    if (follow->text.len == 0)
        pane_line(&term->err);
    pane_prose(&term->out, PLAIN, event->data.text);
    buf_add(&follow->text, event->data.text);
}

static void on_message(struct follower *follow, const struct event *event)
{
    if (follow->text.len == 0)
        on_delta(follow, event);
    pane_line(&follow->app->term.out);
}

static void on_reasoning(struct follower *follow, const struct event *event)
{
    pane_prose(&follow->app->term.err, DIM, event->data.text);
}

/* A call of a tool by a cell's code: one line, between the output of the cell.
 */
static void on_inner_tool(struct follower *follow, const struct event *event)
{
    struct pane *err = term_notice(&follow->app->term);

    if (follow->plain)
        return;
    pane_printf(err, DIM, "  ");
    pane_name(err, DIM, event->data.tool);
    pane_printf(err, DIM, " ");
    pane_name(err, DIM, view_head(event->data.text, 60));
    pane_line(err);
}

/* A call begins. An event for the call that runs already means that the cell
 * runs again from its beginning (its executor or its consumer was lost): what
 * was held of it is dropped. */
static void on_tool(struct follower *follow, const struct event *event)
{
    struct pane *err = term_notice(&follow->app->term);

    if (event->data.parent.len > 0) {
        on_inner_tool(follow, event);
        return;
    }

    bool again =
        event->data.call.len > 0 && view_is(event->data.call, follow->call);

    snprintf(follow->call, sizeof(follow->call), "%.*s",
             VIEW_ARG(event->data.call));
    held_output_reset(&follow->held);
    if (again)
        pane_printf(err, YELLOW, "it runs again from its beginning\n");
    if (follow->plain)
        return;
    pane_printf(err, CYAN, "> ");
    pane_name(err, CYAN, event->data.tool);
    pane_line(err);
    pane_quote(err, PLAIN, follow->app->term.bar, READ_CODE, event->data.code);
    pane_line(err);
}

static void show_output(struct follower *follow, bool errors, struct view text)
{
    struct term *term = &follow->app->term;

    if (follow->plain)
        pane_prose(errors ? &term->err : &term->out, PLAIN, text);
    else
        pane_quote(&term->err, errors ? YELLOW : DIM, "  ", READ_PROSE, text);
}

static void on_output(struct follower *follow, const struct event *event)
{
    bool errors = view_is(event->data.stream, "stderr");

    follow->output_shown = true;
    if (!held_output_text(&follow->held, errors, event->data.text))
        show_output(follow, errors, event->data.text);
}

static void on_clear(struct follower *follow, const struct event *event)
{
    (void)event;
    follow->output_shown = true;
    held_output_clear(&follow->held);
}

/* Shows what was held, as it stands now that the cell has ended. */
static void show_held(struct follower *follow)
{
    struct held_output *held = &follow->held;

    for (int i = 0; i < 2; i++)
        show_output(follow, i, buf_view(&held->streams[i]));
    for (size_t i = 0; follow->plain && i < held->count; i++)
        show_display(follow->app, &(struct display){
                                      .text = buf_view(&held->displays[i].text),
                                  });
    held_output_reset(held);
}

static void on_tool_end(struct follower *follow, const struct event *event)
{
    const struct event_data *data = &event->data;
    bool kept = data->state.len == 0 || view_is(data->state, "kept");
    struct pane *err;

    if (data->parent.len == 0)
        show_held(follow);
    if (follow->plain || (view_is(data->status, "ok") && kept))
        return;
    err = term_notice(&follow->app->term);
    pane_printf(err, YELLOW, "  ");
    pane_name(err, YELLOW, data->status);
    pane_printf(err, DIM, " after %s", term_time(data->ms));
    if (!kept) {
        pane_printf(err, YELLOW, ", variables and files: ");
        pane_name(err, YELLOW, data->state);
    }
    pane_line(err);
}

static void on_image(struct follower *follow, const struct event *event)
{
    if (!follow->held.cleared) /* else those that stand are saved at the end */
        show_image(follow->app, &follow->saver, &event->data.image);
}

static void on_display(struct follower *follow, const struct event *event)
{
    if (follow->plain &&
        !held_output_display(&follow->held, &event->data.display))
        show_display(follow->app, &event->data.display);
    follow->output_shown = follow->output_shown || follow->plain;
}

static void on_update(struct follower *follow, const struct event *event)
{
    if (follow->plain &&
        !held_output_update(&follow->held, &event->data.display))
        show_display(follow->app, &event->data.display);
}

static void on_file(struct follower *follow, const struct event *event)
{
    show_file(follow->app, &follow->saver, &event->data.file);
}

static void on_pause(struct follower *follow, const struct event *event)
{
    const struct event_data *data = &event->data;
    struct pane *err = term_notice(&follow->app->term);

    if (view_is(data->reason, "approval") && data->call.len > 0) {
        approve_on_terminal(follow->app, follow->id, data);
        return;
    }
    pane_name(err, YELLOW, event->type);
    pane_printf(err, YELLOW, ": ");
    pane_text(err, PLAIN,
              data->error.message.len > 0 ? data->error.message : data->reason);
    if (data->wait_ms > 0)
        pane_printf(err, DIM, "; again in %s", term_time(data->wait_ms));
    pane_line(err);
}

static void on_gap(struct follower *follow, const struct event *event)
{
    struct pane *err = term_notice(&follow->app->term);

    if (event->data.from <= follow->seq)
        pane_printf(err, YELLOW,
                    "Redis has lost events; all of them, from the first:\n");
    else
        pane_printf(err, YELLOW,
                    "events %" PRIu64 " to %" PRIu64 " are no longer kept\n",
                    event->data.from, event->data.to);
}

/* Keeps what the terminal event says, for a login that may not read the result.
 */
static void on_end(struct follower *follow, const struct event *event)
{
    const struct event_data *data = &event->data;
    size_t before = strlen("job.");
    struct view state = { event->type.data + before, event->type.len - before };

    for (int i = 0; job_state_names[i]; i++)
        if (view_is(state, job_state_names[i]))
            follow->end = i;
    buf_clear(&follow->told);
    buf_add(&follow->told,
            data->answer.len > 0 ? data->answer : data->error.message);
}

static const struct {
    const char *type;
    bool progress; /* only where a person watches */
    void (*show)(struct follower *follow, const struct event *event);
} shown[] = {
    { "job.started", true, on_started },
    { "turn.started", true, on_turn },
    { "message.delta", true, on_delta },
    { "message.completed", true, on_message },
    { "reasoning.delta", true, on_reasoning },
    { "tool.started", true, on_tool },
    { "tool.output", true, on_output },
    { "tool.cleared", true, on_clear },
    { "tool.completed", true, on_tool_end },
    { "image", false, on_image },
    { "display", true, on_display },
    { "display.updated", true, on_update },
    { "file", false, on_file },
    { "job.retrying", true, on_pause },
    { "job.waiting", true, on_pause },
    { "job.lost", true, on_pause },
    { "gap", true, on_gap },
    { "job.completed", false, on_end },
    { "job.incomplete", false, on_end },
    { "job.failed", false, on_end },
    { "job.cancelled", false, on_end },
};

static bool wants(const struct follower *follow, bool progress,
                  struct view type)
{
    if (follow->app->term.json)
        return !progress;
    return !progress || follow->talk ||
           (follow->plain &&
            (view_is(type, "tool.output") || view_is(type, "display") ||
             view_is(type, "display.updated") ||
             view_is(type, "tool.cleared") || view_is(type, "tool.started") ||
             view_is(type, "tool.completed")));
}

static void show_event(struct follower *follow, const struct quern_event *given)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct view bytes = { given->bytes, given->size };
    struct event event;

    if (follow->app->term.json) {
        char *text = quern_json(bytes.data, bytes.len, NULL);

        term_json(stdout, text ? text : "{}");
        free(text);
    }
    if (!event_decode(&event, bytes, &arena, NULL))
        return;
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        if (view_is(event.type, shown[i].type) &&
            wants(follow, shown[i].progress, event.type))
            shown[i].show(follow, &event);
    wait_notice_heed(&follow->notice, &event,
                     follow->talk || follow->app->term.json);
    follow->seq = event.seq;
}

/* --- the end -------------------------------------------------------------- */

static struct view follow_trimmed(struct view text)
{
    while (text.len > 0 && byte_is_of(text.data[text.len - 1], " \n\t"))
        text.len--;
    return text;
}

static void show_end(struct follower *follow, const struct result *result)
{
    const struct image_ref *images = result->images.items;
    const struct file_ref *files = result->files.items;
    unsigned int what = 0;

    show_held(follow);
    /* What could not be saved while the job ran is tried once more below. */
    follow->app->unsaved = 0;
    for (size_t i = 0; i < result->images.count; i++)
        show_image(follow->app, &follow->saver, &images[i]);
    for (size_t i = 0; i < result->files.count; i++)
        show_file(follow->app, &follow->saver, &files[i]);
    if (follow->app->term.json)
        return;
    if (!view_equal(follow_trimmed(buf_view(&follow->text)),
                    follow_trimmed(result->answer)))
        what |= SHOW_ANSWER;
    if (!follow->output_shown)
        what |= SHOW_OUTPUT;
    show_result(follow->app, result, what);
}

/* Ends without the result, by what the terminal event said. */
static int finish_unread(struct follower *follow)
{
    struct quern_status status = { .state = (enum quern_state)follow->end };
    struct view told = follow_trimmed(buf_view(&follow->told));

    if (!follow->app->term.json && told.len > 0 &&
        !view_equal(follow_trimmed(buf_view(&follow->text)), told)) {
        pane_prose(&follow->app->term.out, PLAIN, told);
        pane_line(&follow->app->term.out);
    }
    return status_exit(&status);
}

/* The last event has come: reads the result, which has what events may have
 * lost, and shows what has not been shown. */
static int follow_finish(struct follower *follow)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(quern_status_finish) struct quern_status status = { 0 };
    struct quern_error error;
    struct err err = { 0 };
    struct result result;

    if (!quern_get(follow->app->quern, follow->id, &status, &error))
        return strcmp(error.code, "redis_refused") == 0
                   ? finish_unread(follow)
                   : app_fail(follow->app, &error);
    if (!status.result)
        return app_show_status(follow->app, follow->id, &status);
    if (!message_decode(&schema_result,
                        (struct view){ status.result, status.result_size },
                        &result, &arena, &err))
        return app_fail_err(follow->app, &err);
    show_end(follow, &result);
    if (follow->app->term.json)
        json_line(json_pack("{s:s, s:o}", "type", "result", "result",
                            operate_result_json(&status)));
    return status_exit(&status);
}

/* --- the loop --------------------------------------------------------------
 */

/* Tells when Redis goes away and comes back. False: it has been away for too
 * long. */
static bool mind_trouble(struct follower *follow, const char *trouble)
{
    struct pane *err;

    if (!trouble == !follow->away_since)
        return !trouble || time(NULL) - follow->away_since < PATIENCE_S;
    follow->away_since = trouble ? time(NULL) : 0;
    if (!follow->talk)
        return true;
    err = term_notice(&follow->app->term);
    if (trouble) {
        pane_printf(err, YELLOW, "Redis is away, trying again: ");
        pane_text(err, PLAIN, view_of(trouble));
        pane_line(err);
    } else {
        pane_printf(err, GREEN, "Redis is back\n");
    }
    return true;
}

static int lost(struct follower *follow, const char *trouble)
{
    struct err err = { 0 };

    err_set(&err, ERR_RETRY, "redis_unavailable",
            "%.160s; the job goes on, see quern watch %s", trouble, follow->id);
    return app_fail_err(follow->app, &err);
}

/* quern_watch_next() gives up after LOOK_MS, so that Ctrl-C, a Redis that is
 * away and a job that does not start are noticed while no event comes. */
static int loop(struct follower *follow, struct quern_watch *watch)
{
    struct quern_event event;
    struct quern_error error = { 0 };

    for (;;) {
        switch (quern_watch_next(watch, &event, LOOK_MS, &error)) {
        case QUERN_EVENT:
        case QUERN_GAP:
            show_event(follow, &event);
            break;
        case QUERN_END:
            return follow_finish(follow);
        case QUERN_BROKEN:
            return app_fail(follow->app, &error);
        case QUERN_NOTHING:
            if (!quern_watch_trouble(watch))
                wait_notice_look(&follow->notice, follow->app, follow->id);
            break;
        }
        if (interrupted)
            heed_interrupt(follow);
        if (!mind_trouble(follow, quern_watch_trouble(watch)))
            return lost(follow, quern_watch_trouble(watch));
    }
}

int follow_job(struct app *app, const char *id, uint64_t after, bool plain,
               const char *dir)
{
    struct follower *follow = calloc(1, sizeof(*follow));
    struct quern_error error = { 0 };
    struct quern_watch *watch = quern_watch_open(app->quern, id, after, &error);
    int code;

    if (!follow)
        abort();
    if (!watch) {
        free(follow);
        return app_fail(app, &error);
    }
    *follow = (struct follower){
        .app = app,
        .id = id,
        .plain = plain,
        .talk = app->term.err.tty,
        .saver = { .quern = app->quern, .dir = dir },
    };
    buf_init(&follow->text, MAX_ANSWER_BYTES);
    buf_init(&follow->told, MAX_EVENT_BYTES);
    held_output_init(&follow->held);
    catch_signal(SIGINT);
    catch_signal(SIGTERM);
    code = loop(follow, watch);
    quern_watch_close(watch);
    buf_finish(&follow->text);
    buf_finish(&follow->told);
    held_output_finish(&follow->held);
    free(follow);
    return code;
}

/* Says which job it is: a person may want to come back to it. */
static void say_submitted(struct app *app, const char *id, bool existed)
{
    if (app->term.json)
        json_line(json_pack("{s:s, s:s, s:b}", "type", "submitted", "id", id,
                            "existed", (int)existed));
    else if (app->term.err.tty)
        pane_printf(&app->term.err, DIM, "job %s%s\n", id,
                    existed ? ", submitted before" : "");
}

int follow_new(struct app *app, const char *question, const struct cells *cells)
{
    struct quern_error error = { 0 };
    struct quern_id id;
    bool existed = false;

    if (!submission_send(app, question, cells, &id, &existed, &error))
        return app_fail(app, &error);
    say_submitted(app, id.text, existed);
    return follow_job(app, id.text, 0, cells != NULL,
                      app->options.out ? app->options.out : "quern-out");
}
