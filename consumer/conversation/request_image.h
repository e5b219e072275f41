/* request_image.h - images for models that accept them: those that cells
 * displayed, and those that the user has uploaded.
 *
 * A request holds the newest of them, as data: parts of a user's message right
 * after the results of their turn, because a tool's message may hold text only.
 * Of older images, and of all images for other models, the request has only the
 * name: [image: figure-1.png]. The conversation and the terms alone decide
 * which images are shown, so a consumer that takes over sends the same request.
 *
 * The bytes are in blobs, and in memory only while a request is composed. */
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
