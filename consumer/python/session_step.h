/* session_step.h - what the steps of a session's machine share.
 *
 * For session.c (the machine) and session_*.c only. */
#ifndef CONSUMER_SESSION_STEP_H
#define CONSUMER_SESSION_STEP_H

#include "consumer/python/session.h"
#include "schemas/message/limits.h"

machine_step session_fetching, session_putting, session_getting;
machine_step session_replaying, session_running;
machine_step session_claiming, session_noting, session_dropping;
machine_step session_picturing, session_restoring, session_holding;
machine_step session_saving, session_listing, session_collecting,
    session_writing;

enum { RESTORE_MS = 60000, SAVE_MS = 20000 };

/* The only one that changes the state. */
void session_enter(struct session *session, enum session_state next);
void session_run(struct session *session);

/* The wish is fulfilled; it is not. Its owner is told when the machine has come
 * to rest, by session_run(). */
enum pace session_done(struct session *session);
enum pace session_fail(struct session *session, const struct err *why);

/* What the wish needs next, in an open session. */
enum pace session_settle(struct session *session);
/* The call has lost its session too often: unknown, and said so. */
enum pace session_give_up(struct session *session);

/* Sends the state's one request; the answer lands. */
enum pace session_ask(struct session *session, struct frame *frame,
                      executor_answer *answer);
executor_answer session_answered;

/* Asks Redis for the bytes of a blob in this state; done begins with
 * session_heard(), false: the state is another by now. */
enum pace session_read(struct session *session, struct view blob,
                       store_done *done);
bool session_heard(struct session *session, enum session_state state);

/* Asks for a file of the workspace, into session->file. */
enum pace session_fetch(struct session *session, struct view name);

/* session_record.c */
bool session_is_named(const struct session *session);
bool session_is_stale(const struct session *session);
void session_remake(struct session *session);
enum pace session_write(struct session *session,
                        const struct session_record *record);
void session_record_tell(const struct session *session,
                         struct session_record *record);
uint64_t session_wall_ms(void);
/* What was said becomes the record's, when it is the wish. */
void session_record_say(const struct session *session,
                        struct session_record *record);
/* It was refused: see record_forget_blob(). */
enum pace session_write_again(struct session *session);
/* Why a save, or a restoring, did not end well. */
struct view session_why(const struct cell *cell);
/* session_save.c */
void saving_free(struct saving *saving);

/* A frame of type tool, of that call. */
void session_asked(struct session *session, struct view call,
                   const struct frame *frame, bool past);

/* The call runs from its beginning: what was asked is void. */
void session_restarted(struct session *session);

/* What the executor calls a call: unique among all jobs of the session. */
struct call_name {
    char text[MAX_NAME_BYTES + 1];
};
struct call_name session_call_name(const struct session *session,
                                   struct view call);

#endif
