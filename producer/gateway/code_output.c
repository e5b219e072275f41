/* code_output.c - what the cells of a run have written, longer than a result
 * has it.
 *
 *   next stream that was cut, and is in a blob --> its head --> as a terminal
 *   shows it --> in the result, in place of the text that was cut --> the next
 */
#include "producer/gateway/code_output.h"

#include "producer/client/fleet.h"
#include "schemas/message/id.h"
#include "schemas/message/limits.h"
#include "schemas/message/text.h"
#include "schemas/redis/blob.h"

enum { GAP_BYTES = 64 }; /* for the words about what was left out */

static const struct {
    const char *text, *bytes, *blob;
} streams[] = { { "stdout", "stdout_bytes", "stdout_blob" },
                { "stderr", "stderr_bytes", "stderr_blob" } };

static json_t *code_output_cell(const struct code_output *output)
{
    return json_array_get(json_object_get(output->result, "cells"),
                          output->next / 2);
}

static uint64_t bytes_written(const struct code_output *output)
{
    const json_t *bytes = json_object_get(code_output_cell(output),
                                          streams[output->next % 2].bytes);

    return (uint64_t)json_integer_value(bytes);
}

/* Empty: it was not cut. */
static struct view blob_of_cut(const struct code_output *output)
{
    const json_t *blob = json_object_get(code_output_cell(output),
                                         streams[output->next % 2].blob);
    struct view sha256 = view_of(json_string_value(blob));
    bool is_cut = bytes_written(output) > MAX_STREAM_BYTES;

    return is_cut && id_is_sha256(sha256) ? sha256 : (struct view){ "", 0 };
}

/* The head of a stream, of at most so many bytes. */
static void put_stream(struct code_output *output, struct view head,
                       size_t most)
{
    CLEANUP(buf_finish) struct buf text = { .max = most + GAP_BYTES };
    CLEANUP(fold_finish) struct fold fold;
    uint64_t all = bytes_written(output);

    fold_init(&fold, 2 * most); /* half of it is for the head */
    fold_add(&fold, head);
    if (all > head.len)
        fold_skip(&fold, (size_t)(all - head.len));
    fold_print(&fold, &text, most + GAP_BYTES);
    json_object_set_new(code_output_cell(output),
                        streams[output->next % 2].text,
                        json_stringn(text.data, text.len));
    output->left[output->next % 2] -= text.len < most ? text.len : most;
}

static void read_next(struct api_request *request);

static void on_stream(struct api_request *request, const redisReply *reply)
{
    struct code_output *output = request->state;
    struct view head = reply_view(reply);
    size_t most = (size_t)output->left[output->next % 2];

    if (head.len > 0)
        put_stream(output, view_head(head, most), most);
    output->next++;
    read_next(request);
}

static void read_next(struct api_request *request)
{
    struct code_output *output = request->state;
    struct command command;
    struct view blob = { "", 0 };

    for (; code_output_cell(output); output->next++) {
        blob = blob_of_cut(output);
        if (blob.len > 0 && output->left[output->next % 2] > MAX_STREAM_BYTES)
            break;
    }
    if (!code_output_cell(output)) {
        output->done(request);
        return;
    }
    blob_ask_head(&command, &request->gateway->names, output->partition, blob,
                  output->left[output->next % 2]);
    api_request_call(request, output->partition, &command, on_stream);
    command_finish(&command);
}

void code_output_read(struct api_request *request, json_t *result,
                      unsigned int partition,
                      void (*done)(struct api_request *request))
{
    struct code_output *output = request->state;

    *output = (struct code_output){
        .result = result,
        .partition = partition,
        .left = { CODE_OUTPUT_BYTES, CODE_OUTPUT_BYTES },
        .done = done,
    };
    read_next(request);
}

void code_output_finish(struct code_output *output)
{
    json_decref(output->result);
}
