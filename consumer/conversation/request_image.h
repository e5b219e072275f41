/* request_image.h - images that a model which sees is shown: what cells
 * displayed, what the user has uploaded.
 *
 * Requests hold the newest of them, as data: parts of a user's message, right
 * behind the results of the call that they come from, for a tool's message may
 * hold text only. Older ones, and those that a model does not see, are only
 * named: [image: figure-1.png]. Which ones they are follows from the
 * conversation alone, so that who takes over asks the same.
 *
 * The bytes are in blobs; they are here only while a request is made. */
#ifndef CONSUMER_REQUEST_IMAGE_H
#define CONSUMER_REQUEST_IMAGE_H

#include "consumer/conversation/conversation.h"
#include "schemas/message/limits.h"

struct request_image {
    struct view name, blob;
    const json_t *message; /* of the conversation, behind which it is shown */
    struct buf bytes;
};

/* Of the conversation, the newest first, at most so many; whose lengths are
 * known and too much is left out. Borrows. */
size_t images_choose(const struct conversation *conversation, uint64_t most,
                     uint64_t most_bytes,
                     struct request_image images[MAX_SHOWN]);

/* Into what is sent, which is in the order of the conversation. Those without
 * bytes, of another type, or whose message was left out are not placed. */
void images_place(json_t *messages, const struct request_image *images,
                  size_t count);

#endif
