/* stream_item.h - the items of a response while it is streamed, and the wire
 * events about them. Inside producer/gateway/responses only.
 *
 *   opened --stream_show()--> shown --stream_close_...(), stream_abandon()-->
 *
 * response_stream.c says when; here is how it looks on the wire. */
#ifndef PRODUCER_GATEWAY_STREAM_ITEM_H
#define PRODUCER_GATEWAY_STREAM_ITEM_H

#include "producer/gateway/responses/response_stream.h"
#include "schemas/message/buf.h"

enum { MOST_OPEN = 80 }; /* items that are open at once: calls of a reply */

/* An item that has begun and not ended. */
struct open_item {
    uint64_t number;
    enum item_kind kind;
    uint64_t index;  /* in the output */
    bool shown;      /* its first wire event was sent */
    bool whole;      /* message: its text is whole; it ends with the next event,
                        which tells whether it was cut off */
    struct buf text; /* message, reasoning: so far; code: the code; search: what
                        is searched for */
    struct buf logs; /* code: what it has printed */
    json_t *images;  /* code: names of images that it has displayed; or NULL */
};

struct response_stream {
    const struct wire_job *job;
    struct response_stream_options options;
    response_stream_sink *sink;
    void *owner;

    uint64_t seq;  /* of the event that is translated */
    uint64_t part; /* wire events of it so far */
    bool created, in_progress, ended;
    bool late; /* the first events were not there any more */
    uint64_t turn;
    uint64_t highest; /* number of an item so far */
    uint64_t shown;   /* index in the output of the next item that is shown */
    struct open_item open[MOST_OPEN];
    size_t open_count;
    json_t *output;   /* items that have ended and are valid, */
    uint64_t *places; /* ... by their indexes, which these are */
    json_t *uncited;  /* names of files that cells have left */
    json_t *waiting;  /* calls of functions that are shown at the end */
};

/* -------- stream_item.c: wire events */

/* Takes json members: a whole event but for type and number. */
void stream_send(struct response_stream *stream, const char *type,
                 json_t *members);
void stream_send_response(struct response_stream *stream, const char *type,
                          int state);
/* "item_id" and "output_index", and with content that index: 0. */
json_t *stream_place(const struct response_stream *stream,
                     const struct open_item *item, const char *content);
json_t *stream_text(struct view text);
void stream_send_delta(struct response_stream *stream,
                       const struct open_item *item, const char *type,
                       const char *content, struct view text);
/* Takes json. */
void stream_send_item(struct response_stream *stream,
                      const struct open_item *item, const char *type,
                      json_t *json);

/* -------- stream_item.c: items */

/* NULL: none of that number is open. */
struct open_item *stream_find(struct response_stream *stream, uint64_t number);
/* NULL: too many are open. */
struct open_item *stream_open(struct response_stream *stream, uint64_t number,
                              enum item_kind kind);
bool stream_is_text(const struct open_item *item);
uint64_t stream_next_index(struct response_stream *stream, uint64_t number);
/* Sends its first events, once. */
void stream_show(struct response_stream *stream, struct open_item *item);
/* Puts an item that has ended into the last output. */
void stream_keep(struct response_stream *stream, uint64_t index, json_t *json);

/* A cell has displayed an image. */
void stream_add_image(struct open_item *item, struct view name);
/* What a cell has printed and displayed is void. */
void stream_clear_outputs(struct open_item *item);

/* The item ends, and is freed. valid: the last output has it. */
void stream_close_message(struct response_stream *stream,
                          struct open_item *item, const char *status,
                          bool valid);
void stream_close_code(struct response_stream *stream, struct open_item *item,
                       const char *status);
void stream_close_search(struct response_stream *stream, struct open_item *item,
                         const char *status);
/* It ends without an event of its own. follows: the reply goes on. */
void stream_abandon(struct response_stream *stream, struct open_item *item,
                    bool follows);

#endif
