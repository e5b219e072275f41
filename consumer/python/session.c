/* session.c - one Python session, as the attempt at a job uses it. */
#include "consumer/python/session.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "consumer/python/state.h"
#include "schemas/redis/names.h"

struct python_session *session_new(const struct session_setup *setup,
                                   const char *name,
                                   struct session_events events, void *owner)
{
    struct python_session *session = calloc(1, sizeof(*session));
    if (!session)
        abort();
    session->setup = *setup;
    session->events = events;
    session->owner = owner;
    snprintf(session->name, sizeof(session->name), "%s", name);
    notice_init(&session->notice);
    session_init_machine(session);
    return session;
}

void session_free(struct python_session *session)
{
    if (!session)
        return;
    executor_dismiss(session->setup.executor, session->exchange.ref);
    executor_unwatch(session->setup.executor, &session->watch);
    alarm_free(session->alarm);
    buf_finish(&session->file);
    record_finish(&session->claim);
    memo_finish(&session->memo);
    notice_finish(&session->notice);
    save_finish(&session->saving);
    free(session);
}

void session_name(char name[80], const struct job *job)
{
    if (job->session.len == 0) {
        snprintf(name, 80, "job-%.*s", VIEW_ARG(job->id));
        return;
    }
    struct encoded_label tenant =
        names_encode(job->tenant.len > 0 ? job->tenant : VIEW("default"));
    struct encoded_label own = names_encode(job->session);
    char whole[2 * sizeof(struct encoded_label)];
    int len = snprintf(whole, sizeof(whole), "%s/%s", tenant.text, own.text);
    unsigned char hash[EVP_MAX_MD_SIZE];
    EVP_Digest(whole, (size_t)len, hash, NULL, EVP_sha256(), NULL);
    int at = snprintf(name, 80, "session-");
    for (size_t i = 0; i < 32; i++)
        at += snprintf(name + at, 3, "%02x", hash[i]);
}

/* --------------------------------------------------------------- requests */

static bool is_ours(const struct python_session *session)
{
    return session->claim.state == CLAIM_OURS;
}

static void begin(struct python_session *session)
{
    const struct session_request *request = &session->request;
    bool remembers = request->verb == SESSION_REMEMBER;
    bool claims = request->verb == SESSION_CLAIM;
    if ((claims || remembers) && !is_ours(session)) {
        session_enter(session, CLAIMING);
    } else if (claims) {
        session_done(session);
    } else if (remembers) {
        session_enter(session, WRITING_HISTORY);
    } else if (!session_is_open(session)) {
        session->restore.files_due = !request->files_there;
        session->restore.file_at = 0;
        session->restore.cells_due = false;
        session_enter(session, AWAY);
    } else {
        session_next(session);
    }
}

void session_request(struct python_session *session,
                     const struct session_request *request)
{
    assert(session->machine.state == IDLE);
    session->request = *request;
    session->fault = (struct err){ 0 };
    session->over = false;
    session->opening.drops = 0;
    if (request->verb == SESSION_RUN)
        run_begin(session);
    begin(session);
    session_run(session);
}

/* A record that is on its way may still be written. So the next request claims
 * the session again, reads the record, and checks whether the executor's
 * session is the holder that it names. */
void session_abandon(struct python_session *session)
{
    if (!session)
        return;
    enum python_state state = session->machine.state;
    session->over = false;
    if (state == IDLE)
        return;
    if (state == NAMING_HOLDER || state == WRITING_HISTORY ||
        state == WRITING_RECORD) {
        session->claim.state = CLAIM_NONE;
        if (session_is_open(session))
            session->opening.presence = PRESENCE_ASKED;
    }
    session_enter(session, IDLE);
}

void session_fail_request(struct python_session *session, const struct err *why)
{
    if (!session)
        return;
    session_abandon(session);
    session->fault = *why;
}

/* ------------------------------------------------------------ what it has */

const struct err *session_fault(const struct python_session *session)
{
    static const struct err none;
    return session ? &session->fault : &none;
}

struct view session_file_bytes(const struct python_session *session)
{
    return buf_view(&session->file);
}

const struct session_setup *session_setup(const struct python_session *session)
{
    return &session->setup;
}

struct session_memo *session_memo(struct python_session *session)
{
    return session ? &session->memo : NULL;
}

bool session_is_asked(const struct python_session *session)
{
    return session && session->opening.presence != PRESENCE_NONE;
}

bool session_is_open(const struct python_session *session)
{
    return session && session->opening.presence == PRESENCE_OPEN;
}

bool session_can_open(const struct python_session *session)
{
    return session && !session_is_open(session) &&
           session->machine.state == IDLE &&
           (!session_is_named(session) || is_ours(session));
}

bool session_waits(const struct python_session *session)
{
    return session && session->machine.state == CLAIMING &&
           session->claim.state == CLAIM_WAITS;
}

/* --------------------------------------------------- word to the executor */

void session_answer(struct python_session *session, struct view call,
                    uint64_t number, struct view data, const struct err *why)
{
    if (!session || session->exchange.tools_open == 0)
        return;
    struct call_name name = session_call_name(session, call);
    struct frame answer = { .type = FRAME_ANSWER,
                            .session = view_of(session->name),
                            .call = view_of(name.text),
                            .number = number,
                            .data = data };
    if (why->kind != ERR_NONE)
        answer.error = (struct result_error){
            .kind = why->kind == ERR_RETRY ? VIEW("retry") : VIEW("reject"),
            .code = view_of(why->code),
            .message = view_of(why->text),
        };
    executor_ask(session->setup.executor, &answer, NULL, NULL);
    /* The executor's clock of the cell goes on now, so ours does. */
    if (--session->exchange.tools_open == 0)
        session_resume_clock(session);
}

static void tell(struct python_session *session, enum frame_type type,
                 struct view call)
{
    struct frame frame = { .type = (int)type,
                           .session = view_of(session->name),
                           .call = call };
    executor_ask(session->setup.executor, &frame, NULL, NULL);
}

void session_forget(struct python_session *session, struct view call)
{
    if (!session)
        return;
    struct call_name name = session_call_name(session, call);
    tell(session, FRAME_FORGET, view_of(name.text));
}

void session_interrupt(struct python_session *session)
{
    if (session)
        tell(session, FRAME_INTERRUPT, (struct view){ 0 });
}

void session_close(struct python_session *session)
{
    if (session)
        tell(session, FRAME_CLOSE, (struct view){ 0 });
}
