/* workspace.c - the files of a session, reached as its box's user where ours
 * may not (visit.h). */
#include "executor/warden/session_steps.h"
#include "executor/warden/visit.h"

struct workspace_task {
    int workspace;
    struct file_listing *listing;
    const struct frame *frame;
    struct view name;
    int *fd;
    uint64_t *bytes;
    struct err *err;
    bool good;
};

static struct box *box_of(const struct session *session)
{
    return interpreter_box(session->interpreter);
}

static bool carry_out(const struct session *session,
                      struct workspace_task *task, void (*act)(void *context))
{
    task->workspace = box_workspace(box_of(session));
    if (!visit(box_of(session), act, task) && task->err)
        err_set(task->err, ERR_RETRY, "session_failed",
                "the session's files are out of reach");
    return task->good;
}

static void list(void *context)
{
    struct workspace_task *task = context;
    listing_read(task->listing, task->workspace);
}

static void workspace_put(void *context)
{
    struct workspace_task *task = context;
    const struct frame *frame = task->frame;
    task->good = files_put(task->workspace, frame->name, frame->offset,
                           frame->data, task->err);
}

static void open_file(void *context)
{
    struct workspace_task *task = context;
    task->good = files_open(task->workspace, task->name, task->fd, task->bytes,
                            task->err);
}

/* Our own user looks first: a visit takes longer than all else that the warden
 * does after a cell. What code in the box makes is readable for all, unless it
 * says otherwise, and the warden alone can reach it from outside. */
void session_list(const struct session *session, struct file_listing *listing)
{
    struct workspace_task task = { .listing = listing };
    if (!listing_read(listing, box_workspace(box_of(session))))
        carry_out(session, &task, list);
}

bool session_put(const struct session *session, const struct frame *frame,
                 struct err *err)
{
    struct workspace_task task = { .frame = frame, .err = err };
    return carry_out(session, &task, workspace_put);
}

/* NOLINTBEGIN(readability-non-const-parameter): the task sets them */
bool session_open_file(const struct session *session, struct view name, int *fd,
                       uint64_t *bytes, struct err *err)
{
    struct workspace_task task = {
        .name = name, .fd = fd, .bytes = bytes, .err = err
    };
    return carry_out(session, &task, open_file);
}
/* NOLINTEND(readability-non-const-parameter) */
