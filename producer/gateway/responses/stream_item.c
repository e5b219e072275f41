/* stream_item.c - the items of a response while it is streamed, and the wire
 * events about them. */
#include "producer/gateway/responses/stream_item.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/responses/response_object.h"

enum {
    TEXT_BYTES = 4 << 20,  /* of an open item */
    LOG_BYTES = 256 << 10, /* of what a cell has printed */
};

/* -------------------------------------------------------------------- wire */

/* Takes json, a whole event but for its number, which is put behind type. */
void stream_send(struct response_stream *stream, const char *type,
                 json_t *members)
{
    uint64_t sequence = stream->seq * RESPONSE_SEQUENCE_STEP + stream->part;
    json_t *json = json_pack("{s:s, s:I}", "type", type, "sequence_number",
                             (json_int_t)sequence);

    json_object_update_missing(json, members);
    json_decref(members);
    if (stream->part + 1 < RESPONSE_SEQUENCE_STEP)
        stream->part++;
    stream->sink(stream->owner, sequence, type, json);
    json_decref(json);
}

void stream_send_response(struct response_stream *stream, const char *type,
                          int state)
{
    struct response_state now = { .state = state };

    stream_send(
        stream, type,
        json_pack("{s:o}", "response", response_object(stream->job, &now)));
}

/* "item_id" and "output_index", and with content "content_index": 0. */
json_t *stream_place(const struct response_stream *stream,
                     const struct open_item *item, const char *content)
{
    char id[ITEM_ID_BYTES];
    json_t *json;

    item_id_write(id, item->kind, stream->job->id, item->number);
    json = json_pack("{s:s, s:I}", "item_id", id, "output_index",
                     (json_int_t)item->index);
    if (content)
        json_object_set_new(json, content, json_integer(0));
    return json;
}

static void send_plain(struct response_stream *stream,
                       const struct open_item *item, const char *type)
{
    stream_send(stream, type, stream_place(stream, item, NULL));
}

json_t *stream_text(struct view text)
{
    json_t *json = json_stringn(text.data, text.len);

    return json ? json : json_string("");
}

/* A text of 8 to 23 characters that means nothing, the same on each read. Who
 * only sees how long the bytes on the wire are does not know the job's id. */
static void add_obfuscation(const struct response_stream *stream, json_t *json)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR"
                                  "STUVWXYZ0123456789";
    CLEANUP(buf_finish) struct buf of = { .max = 256 };
    unsigned char hash[EVP_MAX_MD_SIZE];
    char text[25] = "";

    buf_printf(&of, "%.*s %llu %llu", VIEW_ARG(stream->job->id),
               (unsigned long long)stream->seq,
               (unsigned long long)stream->part);
    if (EVP_Digest(of.data, of.len, hash, NULL, EVP_sha256(), NULL) != 1)
        return;
    for (size_t i = 0, len = 8 + hash[0] % 16; i < len; i++)
        text[i] = letters[hash[i + 1] % 62];
    json_object_set_new(json, "obfuscation", json_string(text));
}

void stream_send_delta(struct response_stream *stream,
                       const struct open_item *item, const char *type,
                       const char *content, struct view text)
{
    json_t *json = stream_place(stream, item, content);

    json_object_set_new(json, "delta", stream_text(text));
    if (item->kind == ITEM_MESSAGE)
        json_object_set_new(json, "logprobs", json_array());
    if (stream->options.obfuscate)
        add_obfuscation(stream, json);
    stream_send(stream, type, json);
}

void stream_send_item(struct response_stream *stream,
                      const struct open_item *item, const char *type,
                      json_t *json)
{
    stream_send(stream, type,
                json_pack("{s:I, s:o}", "output_index", (json_int_t)item->index,
                          "item", json));
}

/* ------------------------------------------------------------------- items */

struct open_item *stream_find(struct response_stream *stream, uint64_t number)
{
    for (size_t i = 0; i < stream->open_count; i++)
        if (stream->open[i].number == number)
            return &stream->open[i];
    return NULL;
}

/* Its place in the output. Late, the first item that is there has as many
 * before it as its number says. */
uint64_t stream_next_index(struct response_stream *stream, uint64_t number)
{
    if (stream->late && stream->shown == 0)
        stream->shown = number - 1;
    return stream->shown++;
}

/* Searches that go on at once end in any order. */
void stream_keep(struct response_stream *stream, uint64_t index, json_t *json)
{
    size_t count = json_array_size(stream->output), at = count;
    uint64_t *places = reallocarray(stream->places, count + 1, sizeof(*places));

    if (!places)
        abort();
    for (; at > 0 && places[at - 1] > index; at--)
        places[at] = places[at - 1];
    places[at] = index;
    stream->places = places;
    json_array_insert(stream->output, at, json);
}

/* The item has ended; valid: the output has it. Takes json. */
static void drop_item(struct response_stream *stream, struct open_item *item,
                      json_t *json, bool valid)
{
    if (valid)
        stream_keep(stream, item->index, json);
    json_decref(json);
    json_decref(item->images);
    buf_finish(&item->text);
    buf_finish(&item->logs);
    *item = stream->open[--stream->open_count];
}

static void show_message(struct response_stream *stream, struct open_item *item)
{
    json_t *json =
        wire_message(stream->job, item->number, "in_progress", VIEW(""), NULL);
    json_t *place = stream_place(stream, item, "content_index");

    json_array_clear(json_object_get(json, "content"));
    stream_send_item(stream, item, "response.output_item.added", json);
    json_object_set_new(place, "part", wire_text_part(VIEW(""), NULL));
    stream_send(stream, "response.content_part.added", place);
}

static void show_reasoning(struct response_stream *stream,
                           struct open_item *item)
{
    json_t *place = stream_place(stream, item, "summary_index");

    stream_send_item(stream, item, "response.output_item.added",
                     wire_reasoning(stream->job, item->number, VIEW("")));
    json_object_set_new(place, "part", wire_summary_part(VIEW("")));
    stream_send(stream, "response.reasoning_summary_part.added", place);
}

static void show_code(struct response_stream *stream, struct open_item *item)
{
    struct view code = buf_view(&item->text);
    json_t *done = stream_place(stream, item, NULL);

    stream_send_item(
        stream, item, "response.output_item.added",
        wire_code(stream->job, item->number, "in_progress", VIEW(""), NULL));
    send_plain(stream, item, "response.code_interpreter_call.in_progress");
    stream_send_delta(stream, item, "response.code_interpreter_call_code.delta",
                      NULL, code);
    json_object_set_new(done, "code", stream_text(code));
    stream_send(stream, "response.code_interpreter_call_code.done", done);
    send_plain(stream, item, "response.code_interpreter_call.interpreting");
}

static void show_search(struct response_stream *stream, struct open_item *item)
{
    stream_send_item(stream, item, "response.output_item.added",
                     wire_search(stream->job, item->number, "in_progress",
                                 buf_view(&item->text)));
    send_plain(stream, item, "response.web_search_call.in_progress");
    send_plain(stream, item, "response.web_search_call.searching");
}

void stream_show(struct response_stream *stream, struct open_item *item)
{
    if (item->shown)
        return;
    item->shown = true;
    item->index = stream_next_index(stream, item->number);
    switch (item->kind) {
    case ITEM_MESSAGE:
        show_message(stream, item);
        break;
    case ITEM_REASONING:
        show_reasoning(stream, item);
        break;
    case ITEM_CODE:
        show_code(stream, item);
        break;
    case ITEM_SEARCH:
        show_search(stream, item);
        break;
    case ITEM_FUNCTION:
        break; /* it is never open */
    }
}

/* NULL: there are too many. */
struct open_item *stream_open(struct response_stream *stream, uint64_t number,
                              enum item_kind kind)
{
    struct open_item *item;

    if (stream->open_count == MOST_OPEN)
        return NULL;
    item = &stream->open[stream->open_count++];
    *item = (struct open_item){ .number = number, .kind = kind };
    buf_init(&item->text, TEXT_BYTES);
    buf_init(&item->logs, LOG_BYTES);
    if (number > stream->highest)
        stream->highest = number;
    return item;
}

/* ----------------------------------------------------------------- closing */

/* Names of files that no message has cited yet, cited in this text. */
static json_t *take_citations(struct response_stream *stream, struct view text)
{
    json_t *annotations = json_array(), *name;
    size_t i;

    json_array_foreach(stream->uncited, i, name) {
        struct view file = { json_string_value(name),
                             json_string_length(name) };

        json_array_append_new(annotations,
                              wire_citation(stream->job, text, file));
    }
    json_array_clear(stream->uncited);
    return annotations;
}

static void send_annotations(struct response_stream *stream,
                             const struct open_item *item,
                             const json_t *annotations)
{
    json_t *annotation;
    size_t i;

    json_array_foreach(annotations, i, annotation) {
        json_t *json = stream_place(stream, item, "content_index");

        json_object_set_new(json, "annotation_index",
                            json_integer((json_int_t)i));
        json_object_set(json, "annotation", annotation);
        stream_send(stream, "response.output_text.annotation.added", json);
    }
}

void stream_close_message(struct response_stream *stream,
                          struct open_item *item, const char *status,
                          bool valid)
{
    struct view text = buf_view(&item->text);
    json_t *annotations, *json, *done, *part;

    if (!valid && !item->shown) { /* nobody has seen it */
        drop_item(stream, item, NULL, false);
        return;
    }
    annotations = valid ? take_citations(stream, text) : json_array();
    stream_show(stream, item);
    send_annotations(stream, item, annotations);
    done = stream_place(stream, item, "content_index");
    json_object_set_new(done, "text", stream_text(text));
    json_object_set_new(done, "logprobs", json_array());
    stream_send(stream, "response.output_text.done", done);
    part = stream_place(stream, item, "content_index");
    json_object_set_new(part, "part",
                        wire_text_part(text, json_incref(annotations)));
    stream_send(stream, "response.content_part.done", part);
    json = wire_message(stream->job, item->number, status, text, annotations);
    stream_send_item(stream, item, "response.output_item.done",
                     json_incref(json));
    drop_item(stream, item, json, valid);
}

static void close_reasoning(struct response_stream *stream,
                            struct open_item *item, bool valid)
{
    struct view text = buf_view(&item->text);
    json_t *json, *done, *part;

    if (!item->shown && !valid) {
        drop_item(stream, item, NULL, false);
        return;
    }
    if (!item->shown) {
        stream_show(stream, item);
        stream_send_delta(stream, item, "response.reasoning_summary_text.delta",
                          "summary_index", text);
    }
    done = stream_place(stream, item, "summary_index");
    json_object_set_new(done, "text", stream_text(text));
    stream_send(stream, "response.reasoning_summary_text.done", done);
    part = stream_place(stream, item, "summary_index");
    json_object_set_new(part, "part", wire_summary_part(text));
    stream_send(stream, "response.reasoning_summary_part.done", part);
    json = wire_reasoning(stream->job, item->number, text);
    stream_send_item(stream, item, "response.output_item.done",
                     json_incref(json));
    drop_item(stream, item, json, valid);
}

void stream_add_image(struct open_item *item, struct view name)
{
    if (!item->images)
        item->images = json_array();
    json_array_append_new(item->images, stream_text(name));
}

void stream_clear_outputs(struct open_item *item)
{
    buf_clear(&item->logs);
    json_array_clear(item->images);
}

static json_t *stream_outputs(const struct response_stream *stream,
                              const struct open_item *item)
{
    json_t *outputs = wire_outputs(stream->job, buf_view(&item->logs)), *name;
    size_t i;

    json_array_foreach(item->images, i, name)
        wire_add_image(
            stream->job, outputs,
            (struct view){ json_string_value(name), json_string_length(name) });
    return outputs;
}

void stream_close_code(struct response_stream *stream, struct open_item *item,
                       const char *status)
{
    json_t *json =
        wire_code(stream->job, item->number, status, buf_view(&item->text),
                  stream_outputs(stream, item));

    stream_show(stream, item);
    if (strcmp(status, "incomplete") != 0)
        send_plain(stream, item, "response.code_interpreter_call.completed");
    stream_send_item(stream, item, "response.output_item.done",
                     json_incref(json));
    drop_item(stream, item, json, true);
}

void stream_close_search(struct response_stream *stream, struct open_item *item,
                         const char *status)
{
    json_t *json =
        wire_search(stream->job, item->number, status, buf_view(&item->text));

    stream_show(stream, item);
    if (strcmp(status, "incomplete") != 0)
        send_plain(stream, item, "response.web_search_call.completed");
    stream_send_item(stream, item, "response.output_item.done",
                     json_incref(json));
    drop_item(stream, item, json, true);
}

/* The item ends without its own event. A reasoning is complete when something
 * follows it; all else is void. */
void stream_abandon(struct response_stream *stream, struct open_item *item,
                    bool follows)
{
    switch (item->kind) {
    case ITEM_MESSAGE:
        stream_close_message(stream, item, "incomplete", false);
        break;
    case ITEM_REASONING:
        close_reasoning(stream, item, follows);
        break;
    case ITEM_CODE:
        stream_close_code(stream, item, "incomplete");
        break;
    case ITEM_SEARCH:
        stream_close_search(stream, item, "incomplete");
        break;
    case ITEM_FUNCTION:
        break;
    }
}

bool stream_is_text(const struct open_item *item)
{
    return item->kind == ITEM_MESSAGE || item->kind == ITEM_REASONING;
}
