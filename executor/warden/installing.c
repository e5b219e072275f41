/* installing.c - a cell misses a module: it is installed, and the cell runs
 * again from its beginning.
 *
 *   SWEEPING --> INSTALLING --(installed)--> KILLING --> ... --> IDLE
 *                    |                                            |
 *                    `--(not to be had)--> PARKING             RUNNING
 *
 * Its code may also ask for packages (%pip install): then it waits, and goes
 * on.
 *
 * Going back to the snapshot undoes what the cell did to variables. Files that
 * it wrote stay, as the reason says. The names come from hostile code: the
 * program that installs checks them against what the operator allows. */
#include <ctype.h>
#include <stdio.h>

#include "executor/warden/session_steps.h"
#include "executor/warden/sessions.h"

enum {
    MAX_TIMES = 5,     /* that a cell is begun: once, and for four modules */
    MAX_INSTALLS = 16, /* that its code may ask for */
    MAX_REQUEST_BYTES = 4096,
};

/* It becomes an argument of a program: no dash, no slash, no blank. */
static bool is_module(struct view name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!isalnum((unsigned char)name.data[i]) && name.data[i] != '_')
            return false;
    return name.len > 0 && name.len <= MAX_NAME_BYTES;
}

/* The interpreter claims it: it must be a name, and nothing else. */
void installing_missed(struct session *session, struct view module)
{
    struct running_cell *run = &session->run;
    run->missing[0] = '\0';
    if (run->cell.status == CELL_ERROR && is_module(module))
        snprintf(run->missing, sizeof(run->missing), "%.*s", VIEW_ARG(module));
}

bool installing_is_due(const struct session *session)
{
    const struct running_cell *run = &session->run;
    return run->missing[0] && run->stop == STOP_NONE &&
           run->times < MAX_TIMES && session->sessions->packages &&
           box_packages(interpreter_box(session->interpreter));
}

static void on_installed(void *owner)
{
    struct session *session = owner;
    session->flags.installed = true;
    session_run(session);
}

enum pace session_install(struct session *session)
{
    session->flags.installed = false;
    session_enter(session, SESSION_INSTALLING);
    session->install = install_new(
        session->sessions->packages,
        &(struct install_request){
            .folder = box_packages(interpreter_box(session->interpreter)),
            .module = view_of(session->run.missing),
            .on_end = on_installed,
            .owner = session,
        });
    return WAIT;
}

/* The state in which the cell began can be had again. */
static bool can_go_back(const struct session *session)
{
    return !session->filled ||
           (interpreter_has_snapshot(session->interpreter) &&
            session->snapshot.cell == session->cells.count - 1);
}

/* FRAME_RESTART makes void what it has put out. */
static enum pace run_again(struct session *session)
{
    struct frame void_so_far = { .type = FRAME_RESTART };
    call_say(session->run.call, &void_so_far);
    outcome_restart(session);
    session->run.again = true;
    return session_kill(session);
}

static enum pace finish_installing(struct session *session)
{
    const char *text = install_text(session->install);
    if (!install_worked(session->install)) {
        outcome_note(session, "the module %s is not there: %s",
                     session->run.missing, text);
        return session_settle(session);
    }
    if (!can_go_back(session)) {
        outcome_note(session,
                     "%s; there is no snapshot from before this cell, so it "
                     "was not run again: run it once more",
                     text);
        return session_settle(session);
    }
    outcome_note(session,
                 "%s, and ran the cell again from its beginning; files that "
                 "it had written before stay",
                 text);
    return run_again(session);
}

enum pace step_installing(void *owner)
{
    struct session *session = owner;
    if (session->flags.closing)
        return session_end(session);
    if (session->flags.dead)
        return session_kill(session);
    if (session->flags.installed)
        return finish_installing(session);
    if (!session->flags.late && !session->flags.interrupt)
        return WAIT;
    if (session->flags.late)
        outcome_note(session,
                     "installing what brings the module %s took longer than "
                     "%d s",
                     session->run.missing, INSTALL_MS / 1000);
    else
        outcome_note(session,
                     "installing what brings the module %s was interrupted",
                     session->run.missing);
    return session_settle(session);
}

/* -------------------------------------------------- asked for by the code */

static void installing_answer(struct session *session, uint64_t number,
                              const char *code, const char *text)
{
    struct err err;
    struct guest_frame answer = {
        .type = GUEST_ANSWER,
        .number = number,
        .error = { .name = view_of(code), .value = view_of(code ? text : "") },
        .data = view_of(code ? "" : text),
    };
    if (!interpreter_send(session->interpreter, &answer, &err))
        session->flags.deaf = true;
}

static void on_asked_end(void *owner)
{
    struct session *session = owner;
    bool worked = install_worked(session->install);
    installing_answer(session, session->run.install_number,
                      worked ? NULL : "not_installed",
                      install_text(session->install));
    install_free(session->install);
    session->install = NULL;
    tool_release(session);
    session_run(session);
}

/* False: err says why. One at a time: session->install is the only place. */
static bool installing_refuse(const struct session *session,
                              const struct guest_frame *frame, struct err *err)
{
    if (session->machine.state != SESSION_RUNNING)
        return err_set(err, ERR_REJECT, "cell_ended", "the cell is stopped");
    if (!session->sessions->packages ||
        !box_packages(interpreter_box(session->interpreter)))
        return err_set(err, ERR_REJECT, "no_packages",
                       "this executor installs no packages");
    if (frame->data.len == 0 || frame->data.len > MAX_REQUEST_BYTES)
        return err_set(err, ERR_REJECT, "too_large",
                       "a request of %zu bytes, must be 1 to %d",
                       frame->data.len, MAX_REQUEST_BYTES);
    if (session->install)
        return err_set(err, ERR_RETRY, "too_many_open",
                       "another installation is running: try again when it "
                       "has ended");
    return session->run.installs < MAX_INSTALLS ||
           err_set(err, ERR_REJECT, "too_many_calls",
                   "more than %d installations in one cell", MAX_INSTALLS);
}

void installing_asked(struct session *session, const struct guest_frame *frame)
{
    struct err err;
    if (!installing_refuse(session, frame, &err)) {
        installing_answer(session, frame->number, err.code, err.text);
        session_run(session);
        return;
    }
    session->run.installs++;
    session->run.install_number = frame->number;
    session->install = install_new(
        session->sessions->packages,
        &(struct install_request){
            .folder = box_packages(interpreter_box(session->interpreter)),
            .requirements = frame->data,
            .on_end = on_asked_end,
            .owner = session,
        });
    tool_hold(session);
}
