/* response_stream.h - a job's events as events of OpenAI's Responses API.
 *
 *   events of the job, in order --response_stream_event()--> wire events
 *   its result, at the end      --response_stream_end()----> the last one
 *
 * A fold: the same events give the same wire events on every host, so each
 * gateway translates for itself, and a client may go on at another one. A wire
 * event's sequence_number is the seq of the event of quern that it comes from,
 * times RESPONSE_SEQUENCE_STEP, plus its place among those of that event. It
 * grows, and is the same on every read.
 *
 * What is void (a turn that began again, a text that turned out to be calls)
 * has been streamed and cannot be taken back: its item is closed as incomplete,
 * and is not in the output of the last event. With whole_turns a text is held
 * back until it is certain: nothing void is ever sent, but text comes late.
 *
 * When the stream of a job no longer has its first events, the fold begins with
 * what is there: it opens items in the middle, at their right place.
 *
 * Sequences and members are those of the API's document and of what its
 * official clients accept. There is no wire event for retries, approvals,
 * output of code that runs, and lost attempts. */
#ifndef PRODUCER_GATEWAY_RESPONSE_STREAM_H
#define PRODUCER_GATEWAY_RESPONSE_STREAM_H

#include "producer/gateway/responses/wire_item.h"
#include "schemas/message/event.h"

enum { RESPONSE_SEQUENCE_STEP = 1024 };

struct response_stream_options {
    bool whole_turns;
    bool obfuscate; /* each delta has a random text, against guessing by length
                     */
};

/* type: "response.output_text.delta", .... json: the whole event; borrowed. */
typedef void response_stream_sink(void *owner, uint64_t sequence,
                                  const char *type, const json_t *json);

struct response_stream;

/* Borrows job, which must outlive it; copies options. */
struct response_stream *
response_stream_new(const struct wire_job *job,
                    const struct response_stream_options *options,
                    response_stream_sink *sink, void *owner);
void response_stream_free(struct response_stream *stream); /* accepts NULL */

/* Events in the order of their seq, each once. An event with a lower or the
 * same seq as the last one is ignored, and so is a terminal one: its result is
 * to be read then. */
void response_stream_event(struct response_stream *stream,
                           const struct event *event);

/* The job has ended. seq: of its last event. result: NULL: it is not kept any
 * more; then state (enum job_state) says how the job ended. */
void response_stream_end(struct response_stream *stream, uint64_t seq,
                         int state, const struct result *result,
                         uint64_t finished_at);

/* response_replay.c: in place of all events, when the stream of a job that has
 * ended is not kept any more: its items by the result, in their order, with the
 * same ids. Numbers grow, but only those of the last event are what they were.
 * Then response_stream_end(). */
void response_stream_replay(struct response_stream *stream,
                            const struct result *result);

#endif
