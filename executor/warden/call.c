/* call.c - the calls of a session and what came of them, remembered. */
#include "executor/warden/call.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/base/loop.h"

enum {
    KEPT_CALLS = 32, /* with their outcome */
    KEPT_IDS = 1024, /* of calls whose outcome is not kept any more */
    /* Of each call; and of a session's ended calls when the next one begins, so
     * that all together have about twice as much. One large display fits. */
    KEPT_BYTES = 24 << 20,
    /* For FRAME_DONE, whatever came before: nobody waits for ever. */
    LAST_BYTES = MAX_FRAME_BYTES + FRAME_HEADER_BYTES,
};

struct session_call *calls_find(struct session_calls *calls, struct view id)
{
    struct session_call *call = calls->newest;
    while (call && !view_is(id, call->id))
        call = call->next;
    return call;
}

static void unlink_call(struct session_call **link)
{
    struct session_call *call = *link;
    *link = call->next;
    buf_finish(&call->frames);
    free(call);
}

static void drop_outcome(struct session_call *call)
{
    buf_finish(&call->frames);
    buf_init(&call->frames, KEPT_BYTES + LAST_BYTES);
}

/* From the newest to the oldest: what is beyond a limit goes. */
static void drop_old(struct session_calls *calls)
{
    size_t count = 0, bytes = 0;
    struct session_call **link = &calls->newest;
    while (*link) {
        count++;
        bytes += (*link)->frames.len;
        bool done = (*link)->done;
        if (done && count > KEPT_IDS) {
            unlink_call(link);
            continue;
        }
        if (done && (count > KEPT_CALLS || bytes > KEPT_BYTES))
            drop_outcome(*link);
        link = &(*link)->next;
    }
}

struct session_call *calls_add(struct session_calls *calls, struct view id)
{
    drop_old(calls);
    struct session_call *call = allocate(sizeof(*call));
    assert(id.len < sizeof(call->id));
    memcpy(call->id, id.data, id.len);
    buf_init(&call->frames, KEPT_BYTES + LAST_BYTES);
    call->next = calls->newest;
    calls->newest = call;
    return call;
}

bool calls_forget(struct session_calls *calls, struct view id)
{
    struct session_call *call = calls_find(calls, id);
    if (call && call->done)
        drop_outcome(call);
    return call;
}

void calls_leave(struct session_calls *calls, const struct peer *peer)
{
    for (struct session_call *call = calls->newest; call; call = call->next)
        if (call->peer == peer)
            call->peer = NULL;
}

void calls_finish(struct session_calls *calls)
{
    while (calls->newest)
        unlink_call(&calls->newest);
}

/* A frame that is too much is left out. A consumer sees the gap by offsets and
 * numbers, and by the counts of FRAME_DONE, for which there is always room. */
static void call_remember(struct session_call *call, struct frame *frame)
{
    struct err err;
    size_t before = call->frames.len;
    frame->ref = 0;
    bool kept = frame_encode(&schema_frame, frame, &call->frames, &err);
    if (kept && (call->done || call->frames.len <= KEPT_BYTES))
        return;
    buf_truncate(&call->frames, before);
    call->frames.overflow = false;
}

void call_say(struct session_call *call, struct frame *frame)
{
    frame->call = view_of(call->id);
    call->done = frame->type == FRAME_DONE;
    if (frame->type == FRAME_RESTART)
        buf_clear(&call->frames); /* void: whoever comes now need not hear it */
    call_remember(call, frame);
    frame->fresh = call->done;
    peer_answer(call->peer, call->ref, *frame);
    if (call->done)
        call->peer = NULL;
}

static void replay(const struct session_call *call)
{
    struct view rest = buf_view(&call->frames);
    size_t total;
    struct err err;
    if (call->done && rest.len == 0)
        peer_answer(
            call->peer, call->ref,
            (struct frame){ .type = FRAME_DONE, .call = view_of(call->id) });
    while (frame_length(rest, MAX_FRAME_BYTES, &total, &err) && total) {
        CLEANUP(arena_finish) struct arena arena = { 0 };
        struct view body = { rest.data + FRAME_HEADER_BYTES,
                             total - FRAME_HEADER_BYTES };
        struct frame frame;
        bool ours = message_decode(&schema_frame, body, &frame, &arena, &err);
        assert(ours);
        if (ours)
            peer_answer(call->peer, call->ref, frame);
        rest.data += total;
        rest.len -= total;
    }
}

void call_attach(struct session_call *call, struct peer *peer, uint64_t ref)
{
    struct err err;
    err_set(&err, ERR_RETRY, "session_failed",
            "somebody else asked for the same call");
    if (call->peer)
        peer_fail(call->peer, call->ref, &err);
    call->peer = peer;
    call->ref = ref;
    replay(call);
    if (call->done)
        call->peer = NULL;
}
