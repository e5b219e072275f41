/* session_file.c - a session's files: the job's put in, those of cells got. */
#include "consumer/blob.h"
#include "consumer/python/session_step.h"
#include "consumer/text.h"

/* Those of the record first, then the job's. */
static size_t record_files(const struct session *session)
{
    return session->record_due ? session->memo.record.files.count : 0;
}

static struct session_file *record_file(const struct session *session)
{
    struct session_file *files = session->memo.record.files.items;
    return session->file_at < record_files(session) ? &files[session->file_at]
                                                    : NULL;
}

static struct session_file current_file(const struct session *session)
{
    const struct session_file *saved = record_file(session);
    const struct file_ref *files = session->setup.files.items;
    if (saved != NULL)
        return *saved;
    files += session->file_at - record_files(session);
    return (struct session_file){ .name = files->name, .blob = files->blob };
}

/* A job's own file must be there; of what was saved it is told what is not. */
static bool do_without(struct session *session, struct view why)
{
    struct session_file *file = record_file(session);
    if (file == NULL)
        return false;
    CLEANUP(buf_finish) struct buf name;
    buf_init(&name, 400);
    text_add_line(&name, file->name, 100);
    notice_add(&session->notice, CELL_RESTORED, "the file %.*s is gone: %.*s",
               VIEW_ARG(buf_view(&name)), VIEW_ARG(view_head(why, 120)));
    file->blob = (struct view){ 0 };
    file->note = VIEW("gone");
    session->answer = (struct err){ 0 };
    return true;
}

/* The bytes go out at once, in pieces of one request: they are borrowed. */
static void put_file(struct session *session, struct view bytes)
{
    struct executor *executor = session->setup.executor;
    struct frame put = { .type = FRAME_PUT,
                         .session = view_of(session->name),
                         .name = current_file(session).name };
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

/* NULL, or why its bytes cannot be put in: the error tells a job. */
static const char *blob_flaw(const struct session_file *file,
                             const redisReply *reply, struct err *err)
{
    if (reply->type != REDIS_REPLY_STRING) {
        err_set(err, ERR_REJECT, "missing_blob",
                "the blob %.*s of the file \"%.*s\" is not there any more",
                VIEW_ARG(file->blob), VIEW_ARG(view_head(file->name, 64)));
        return "its bytes are not there any more";
    }
    if (!blob_is_sound(file->blob, (struct view){ reply->str, reply->len })) {
        err_set(err, ERR_REJECT, "bad_blob",
                "the blob of the file \"%.*s\" holds other bytes than its "
                "name %.*s says",
                VIEW_ARG(view_head(file->name, 64)), VIEW_ARG(file->blob));
        return "somebody has replaced its bytes";
    }
    return NULL;
}

static void on_blob(void *owner, const redisReply *reply, const struct err *why)
{
    struct session *session = owner;
    if (!session_heard(session, SESSION_FETCHING))
        return; /* asked before the link broke */
    struct session_file file = current_file(session);
    const char *flaw = NULL;
    session->landed = true;
    if (reply == NULL) {
        session->answer = *why;
    } else if ((flaw = blob_flaw(&file, reply, &session->answer)) != NULL) {
        if (do_without(session, view_of(flaw))) {
            session->file_at++;
            session_enter(session, SESSION_FETCHING);
        }
    } else {
        session_enter(session, SESSION_PUTTING);
        session->begun = true;
        put_file(session, (struct view){ reply->str, reply->len });
    }
    session_run(session);
}

enum pace session_fetching(void *owner)
{
    struct session *session = owner;
    if (session->landed)
        return session_fail(session, &session->answer);
    if (session->begun)
        return WAIT;
    while (record_file(session) != NULL && current_file(session).blob.len == 0)
        session->file_at++; /* it was not saved, and that was told */
    if (session->file_at >=
        record_files(session) + session->setup.files.count) {
        session->files_due = false;
        return session_settle(session);
    }
    return session_read(session, current_file(session).blob, on_blob);
}

enum pace session_putting(void *owner)
{
    struct session *session = owner;
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE &&
        !do_without(session, view_of(session->answer.text)))
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
                    "the file is larger than " MAX_FILE_WORDS);
        session->landed = true;
        session_run(session);
        return;
    }
    session_answered(session, frame);
}

enum pace session_fetch(struct session *session, struct view name)
{
    struct frame get = { .type = FRAME_GET, .name = name };
    buf_finish(&session->file);
    buf_init(&session->file, MAX_FILE_BYTES);
    return session_ask(session, &get, on_chunk);
}

enum pace session_getting(void *owner)
{
    struct session *session = owner;
    if (!session->begun)
        return session_fetch(session, session->wish.name);
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return session_fail(session, &session->answer);
    return session_done(session);
}
