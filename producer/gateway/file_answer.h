/* file_answer.h - answers with the bytes of a file: Range, ETag, safe headers.
 */
#ifndef PRODUCER_GATEWAY_FILE_ANSWER_H
#define PRODUCER_GATEWAY_FILE_ANSWER_H

#include "producer/gateway/api_request.h"

struct answered_file {
    struct view blob; /* SHA-256 */
    struct view name; /* for the download, without its folders; at most
                         MAX_FILE_NAME_BYTES */
    struct view mime; /* any text */
    uint64_t bytes;
    bool active;   /* it may run: never shown in place, but in a frame */
    bool in_frame; /* of an active one: its scripts may run in a frame of the
                      gateway's own page, as an origin of its own. Heeded for a
                      frame alone, as the browser says (Sec-Fetch-Dest). They
                      can send what they see: no policy keeps them from it */
    /* Asked for by a link (file_link.h), which works for so long. */
    bool is_linked;
    uint64_t link_seconds;
    unsigned int partition;
};

/* Answers, once the blob is read. Copies what it needs; the handler's state is
 * freed within the call. 404 when the blob has gone.
 *
 * A page of any site may show what a link opens, as an image of a chat, and a
 * browser may keep it as long as the link works. */
void file_answer(struct api_request *request, const struct answered_file *file);

#endif
