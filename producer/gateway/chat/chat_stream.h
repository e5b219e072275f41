/* chat_stream.h - the wire events of a response as chunks of a chat completion.
 *
 *   events of a job --> response_stream --chat_stream_event()--> chunks
 *
 * The first chunk has the role, the last with a choice has finish_reason; with
 * usage one without choices follows, and all others have "usage": null. A job
 * that fails ends with {"error": {...}}. Text that became void
 * (response_stream.h) stays: a chat has no way to take it back, so a sentence
 * comes between it and what follows. An answer that must be JSON comes whole,
 * at the end: nothing that was said before it is sent.
 *
 * Images come when their code has ended, links to files behind the last text. A
 * link in a text of the model stays as it is: pieces cut it anywhere. */
#ifndef PRODUCER_GATEWAY_CHAT_STREAM_H
#define PRODUCER_GATEWAY_CHAT_STREAM_H

#include <stdint.h>

#include "producer/gateway/chat/chat_object.h"

/* json: borrowed. */
typedef void chat_stream_sink(void *owner, const json_t *json);

/* Zeroed, with the first four set, at the start of a stream. */
struct chat_stream {
    bool with_usage;
    const struct wire_job *job;
    chat_stream_sink *sink;
    void *owner;
    /* To be set before the last event, and valid during it; NULL: it is not
     * known. */
    const struct result *result;
    /* Of the fold. */
    char id[CHAT_ID_BYTES];
    json_t *response; /* of response.created: its model and time */
    uint64_t calls;
    bool is_json;  /* the answer must be JSON: it comes at the end */
    bool is_void;  /* the text before broke off */
    char item[80]; /* which has shown the last text; "": there was none */
};

/* As response_stream_sink has it. */
void chat_stream_event(struct chat_stream *stream, const char *type,
                       const json_t *json);
void chat_stream_finish(struct chat_stream *stream); /* accepts NULL */

#endif
