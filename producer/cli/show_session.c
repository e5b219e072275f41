/* show_session.c - what is kept of a session, on the terminal or as JSON. */
#include <inttypes.h>
#include <stdarg.h>

#include "producer/cli/show.h"
#include "schemas/json/convert.h"

/* Since it was saved last; one that was never saved: since it was made. */
const char *session_age(const struct session_record *session)
{
    return term_since(session->updated_ms ? session->updated_ms
                                          : session->created_ms);
}

static void say_fact(struct pane *out, const char *what, struct view text)
{
    if (text.len == 0)
        return;
    pane_printf(out, BOLD, "%-10s ", what);
    pane_text(out, PLAIN, text);
    pane_line(out);
}

__attribute__((format(printf, 3, 4))) static void
show_session_say(struct pane *out, const char *what, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    say_fact(out, what, view_of(text));
}

/* The state that the next cell of the session will be told. */
static void say_state(struct pane *out, const struct session_record *session)
{
    CLEANUP(buf_finish) struct buf text;

    buf_init(&text, session->note.len + 32);
    buf_printf(&text, "%s: ", cell_state_names[session->state]);
    buf_add(&text, session->note);
    say_fact(out, "state", buf_view(&text));
}

void show_missing(struct pane *out, const struct session_record *session)
{
    const struct pair *missing = session->missing.items;

    say_fact(out, "not saved", session->unsaved);
    for (size_t i = 0; i < session->missing.count; i++) {
        pane_printf(out, BOLD, "%-10s ",
                    i == 0 && session->unsaved.len == 0 ? "not saved" : "");
        pane_name(out, PLAIN, missing[i].key);
        pane_printf(out, PLAIN, ": ");
        pane_text(out, DIM, missing[i].value);
        pane_line(out);
    }
}

static void show_packages(struct pane *out, const struct list *packages)
{
    const struct view *names = packages->items;

    for (size_t i = 0; i < packages->count; i++)
        say_fact(out, i == 0 ? "packages" : "", names[i]);
}

/* Names come last in their lines, since they may be of any width. */
void show_workspace(struct pane *out, const struct list *list)
{
    const struct session_file *files = list->items;

    for (size_t i = 0; i < list->count; i++) {
        pane_printf(out, PLAIN, "%10s  ", term_size(files[i].bytes));
        pane_name(out, PLAIN, files[i].name);
        if (files[i].note.len > 0) {
            pane_printf(out, DIM, "  ");
            pane_name(out, DIM, files[i].note);
        }
        pane_line(out);
    }
}

void show_record(struct app *app, const struct session_record *session)
{
    struct pane *out = &app->term.out;

    if (app->term.json) {
        json_line(json_from_message(&schema_session_record, session));
        return;
    }
    show_session_say(out, "session", "%.*s of tenant %.*s",
                     VIEW_ARG(session->name), VIEW_ARG(session->tenant));
    show_session_say(out, "used", "%s ago, %" PRIu64 " cell%s",
                     session_age(session), session->cells,
                     session->cells == 1 ? "" : "s");
    if (session->exchanges > 0)
        show_session_say(out, "said", "%" PRIu64 " question%s and answer%s, %s",
                         session->exchanges, session->exchanges == 1 ? "" : "s",
                         session->exchanges == 1 ? "" : "s",
                         term_size(session->history_bytes));
    say_fact(out, "last job", session->job);
    say_fact(out, "where", session->holder);
    if (session->state != CELL_KEPT)
        say_state(out, session);
    if (session->picture.len > 0)
        show_session_say(out, "variables", "%s",
                         term_size(session->picture_bytes));
    show_missing(out, session);
    show_packages(out, &session->packages);
    show_session_say(out, "files", "%zu", session->files.count);
    show_workspace(out, &session->files);
}
