/* request_image.h - images that a model which sees is shown: what cells
 * displayed, and what the user has uploaded.
 *
 * Requests hold the newest of them, as data: parts of a user's message right
 * behind the results of the turn that they come from, because a tool's message
 * may hold text only. Older ones, and all for a model that does not see, are
 * only named: [image: figure-1.png]. Which ones they are follows from the
 * conversation and the terms, so that a consumer which takes over sends the
 * same request.
 *
 * The bytes are in blobs; they are here only while a request is composed. */
#ifndef CONSUMER_REQUEST_IMAGE_H
#define CONSUMER_REQUEST_IMAGE_H

#include "consumer/conversation/conversation.h"
#include "schemas/message/limits.h"

struct request_image {
    struct view name, blob; /* borrowed of the conversation */
    const json_t *message;  /* of the conversation, with which it is shown */
    struct buf bytes;       /* empty: not read yet, or not to be had */
};

/* Chooses images of the conversation, the newest first: at most most of them,
 * of at most most_bytes together, as far as their lengths are known. Borrows.
 * Returns how many. */
size_t images_choose(const struct conversation *conversation, uint64_t most,
                     uint64_t most_bytes,
                     struct request_image images[MAX_SHOWN]);

/* Puts images into the messages of a request. Those without bytes, of a type
 * that models do not take, or whose message was left out are not placed. The
 * messages must be those of the conversation themselves, not copies: they are
 * found by address. */
void images_place(json_t *messages, const struct request_image *images,
                  size_t count);

#endif
