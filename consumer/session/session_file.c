/* session_file.c - a session's files: the job's put in, those of cells got. */
#include "consumer/session/session_step.h"
#include "schemas/redis/names.h"

static const struct file_ref *current_file(const struct session *session)
{
    const struct file_ref *files = session->setup.files.items;
    return &files[session->file_at];
}

/* The bytes go out at once, in pieces of one request: they are borrowed. */
static void put_file(struct session *session, struct view bytes)
{
    struct executor *executor = session->setup.executor;
    struct frame put = { .type = FRAME_PUT,
                         .session = view_of(session->name),
                         .name = current_file(session)->name };
    bool first = true;
    do {
        size_t len = bytes.len < MAX_CHUNK_BYTES ? bytes.len : MAX_CHUNK_BYTES;
        put.data = (struct view){ bytes.data, len };
        put.last = len == bytes.len;
        if (first)
            session->ref =
                executor_ask(executor, &put, session_answered, session);
        else
            executor_add(executor, &put, session->ref);
        first = false;
        put.offset += len;
        bytes.data += len;
        bytes.len -= len;
    } while (bytes.len > 0);
}

static void on_blob(void *owner, const redisReply *reply, const struct err *why)
{
    struct session *session = owner;
    session->fetched++;
    if (session->state != SESSION_FETCHING ||
        session->fetched != session->fetches)
        return; /* asked before the link broke */
    const struct file_ref *file = current_file(session);
    session->landed = true;
    if (reply == NULL) {
        session->answer = *why;
    } else if (reply->type != REDIS_REPLY_STRING) {
        err_set(&session->answer, ERR_REJECT, "missing_blob",
                "the blob %.*s of the file \"%.*s\" is not there any more",
                VIEW_ARG(file->blob), VIEW_ARG(view_head(file->name, 64)));
    } else {
        session_enter(session, SESSION_PUTTING);
        session->begun = true;
        put_file(session, (struct view){ reply->str, reply->len });
    }
    session_run(session);
}

enum turn session_fetching(struct session *session)
{
    if (session->landed)
        return session_fail(session, &session->answer);
    if (session->begun)
        return WAIT;
    if (session->file_at >= session->setup.files.count) {
        session->files_due = false;
        return session_settle(session);
    }
    session->begun = true;
    session->fetches++;
    struct key key = names_blob(session->setup.names, PARTITION,
                                current_file(session)->blob);
    struct command command;
    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    store_send(session->setup.store, &command, on_blob, session);
    command_finish(&command);
    return WAIT;
}

enum turn session_putting(struct session *session)
{
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return session_fail(session, &session->answer);
    session->file_at++;
    session_enter(session, SESSION_FETCHING);
    return AGAIN;
}

static void on_chunk(void *owner, const struct frame *frame)
{
    struct session *session = owner;
    if (frame == NULL)
        return;
    if (frame->type == FRAME_CHUNK) {
        if (frame->offset == session->file.len)
            buf_add(&session->file, frame->data);
        if (!frame->last && buf_ok(&session->file))
            return;
        if (!buf_ok(&session->file))
            err_set(&session->answer, ERR_REJECT, "too_large",
                    "the file is larger than %d bytes", MAX_BLOB_BYTES);
        session->landed = true;
        session_run(session);
        return;
    }
    session_answered(session, frame);
}

enum turn session_getting(struct session *session)
{
    struct frame get = { .type = FRAME_GET, .name = session->wish.name };
    if (!session->begun) {
        buf_finish(&session->file);
        buf_init(&session->file, MAX_BLOB_BYTES);
        return session_ask(session, &get, on_chunk);
    }
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return session_fail(session, &session->answer);
    return session_done(session);
}
