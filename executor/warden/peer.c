/* peer.c - requests of peers, and answers to them. */
#include "executor/warden/peer.h"

#include <stdlib.h>

#include "executor/base/loop.h"

bool peer_lags(const struct peer *peer)
{
    return peer && peer->backlog(peer) > PEER_HIGH_BYTES;
}

void peer_answer(struct peer *peer, uint64_t ref, struct frame frame)
{
    if (!peer)
        return;
    frame.ref = ref;
    peer->send(peer, &frame);
}

void peer_ok(struct peer *peer, uint64_t ref)
{
    peer_answer(peer, ref, (struct frame){ .type = FRAME_OK });
}

void peer_fail(struct peer *peer, uint64_t ref, const struct err *err)
{
    bool retry = err->kind == ERR_RETRY;
    peer_answer(peer, ref,
                (struct frame){
                    .type = FRAME_FAILED,
                    .error = {
                        .kind = retry ? VIEW("retry") : VIEW("reject"),
                        .code = view_of(err->code),
                        .message = view_of(err->text),
                        .retryable = retry,
                    },
                });
}

/* The views of the frame point into the copy, which the arena holds. */
struct peer_request *request_new(struct peer *peer, struct view body,
                                 struct err *err)
{
    struct peer_request *request = allocate(sizeof(*request));
    struct view copy = arena_copy(&request->arena, body);
    if (!message_decode(&schema_frame, copy, &request->frame, &request->arena,
                        err)) {
        arena_finish(&request->arena);
        free(request);
        return NULL;
    }
    request->peer = peer;
    request->bytes = sizeof(*request) + body.len;
    peer->queued_bytes += request->bytes;
    return request;
}

void request_free(struct peer_request *request)
{
    struct peer *peer = request->peer;
    size_t bytes = request->bytes;
    arena_finish(&request->arena);
    free(request);
    if (!peer)
        return;
    peer->queued_bytes -= bytes;
    peer->relieved(peer);
}
