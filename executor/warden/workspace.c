/* workspace.c - the files of a session, reached as its box's user where ours
 * may not. */
#include "executor/warden/session_steps.h"
#include "executor/warden/visit.h"

struct errand {
    int workspace;
    struct listing *listing;
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

static bool carry_out(const struct session *session, struct errand *errand,
                      void (*act)(void *context))
{
    errand->workspace = box_workspace(box_of(session));
    if (!visit(box_of(session), act, errand) && errand->err)
        err_set(errand->err, ERR_RETRY, "session_failed",
                "the session's files are out of reach");
    return errand->good;
}

static void list(void *context)
{
    struct errand *errand = context;
    listing_read(errand->listing, errand->workspace);
}

static void put(void *context)
{
    struct errand *errand = context;
    const struct frame *frame = errand->frame;
    errand->good = files_put(errand->workspace, frame->name, frame->offset,
                             frame->data, errand->err);
}

static void open_file(void *context)
{
    struct errand *errand = context;
    errand->good = files_open(errand->workspace, errand->name, errand->fd,
                              errand->bytes, errand->err);
}

/* After each cell: a visit takes longer than all else that the warden does
 * then. What code in the box makes is for everybody to look at, unless it says
 * otherwise, and nobody but the warden can. */
void session_list(const struct session *session, struct listing *listing)
{
    struct errand errand = { .listing = listing };
    if (!listing_read(listing, box_workspace(box_of(session))))
        carry_out(session, &errand, list);
}

bool session_put(const struct session *session, const struct frame *frame,
                 struct err *err)
{
    struct errand errand = { .frame = frame, .err = err };
    return carry_out(session, &errand, put);
}

/* NOLINTBEGIN(readability-non-const-parameter): the errand sets them */
bool session_open_file(const struct session *session, struct view name, int *fd,
                       uint64_t *bytes, struct err *err)
{
    struct errand errand = {
        .name = name, .fd = fd, .bytes = bytes, .err = err
    };
    return carry_out(session, &errand, open_file);
}
/* NOLINTEND(readability-non-const-parameter) */
