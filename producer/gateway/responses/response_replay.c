/* response_replay.c - a response whose events are not kept any more, streamed
 * from its result.
 *
 * The result's items become events of quern once more, so there is one way only
 * from events to the wire. Each stands for one or more that the job had: so the
 * numbers stay below that of the job's last event. */
#include "producer/gateway/responses/response_object.h"
#include "producer/gateway/responses/response_stream.h"
#include "schemas/message/buf.h"

struct result_replay {
    struct response_stream *stream;
    const struct result *result;
    uint64_t seq;
};

static void replay_event(struct result_replay *replay, const char *type,
                         struct event_data *data)
{
    struct event event = {
        .seq = ++replay->seq, .attempt = 1, .type = view_of(type), .data = *data
    };

    response_stream_event(replay->stream, &event);
}

static void replay_function(struct result_replay *replay,
                            const struct result_item *item)
{
    const struct result_call *calls = replay->result->calls.items;

    for (size_t i = 0; i < replay->result->calls.count; i++)
        if (view_equal(calls[i].call_id, item->call)) {
            struct event_data data = { .item = item->number,
                                       .call = calls[i].call_id,
                                       .tool = calls[i].name,
                                       .text = calls[i].arguments };

            replay_event(replay, "function.called", &data);
            return;
        }
}

static void replay_files(struct result_replay *replay, struct event_data *data,
                         const struct result_item *item,
                         const struct cell *cell)
{
    const struct image_ref *images = replay->result->images.items;
    const struct cell_file *files = cell->files.items;

    for (size_t i = 0; i < replay->result->images.count; i++)
        if (images[i].from_cell + 1 == item->cell) {
            data->image.name = images[i].name;
            replay_event(replay, "image", data);
        }
    for (size_t i = 0; i < cell->files.count; i++)
        if (files[i].change != FILE_DELETED && files[i].blob.len > 0) {
            data->file.name = files[i].name;
            data->file.blob = files[i].blob;
            replay_event(replay, "file", data);
        }
}

static void replay_code(struct result_replay *replay,
                        const struct result_item *item)
{
    const struct cell *cells = replay->result->cells.items;
    const struct cell *cell =
        item->cell > 0 && item->cell <= replay->result->cells.count
            ? &cells[item->cell - 1]
            : NULL;
    CLEANUP(buf_finish) struct buf logs = { .max = RESPONSE_MAX_LOGS };
    struct event_data data = { .item = item->number,
                               .call = item->call,
                               .tool = VIEW("execute_python_code"),
                               .status = VIEW("refused") };

    if (cell) {
        data.code = cell->code;
        data.status = view_of(cell_status_names[cell->status]);
        response_add_logs(&logs, cell);
    }
    replay_event(replay, "tool.started", &data);
    if (logs.len > 0) {
        data.text = buf_view(&logs);
        replay_event(replay, "tool.output", &data);
    }
    if (cell)
        replay_files(replay, &data, item, cell);
    replay_event(replay, "tool.completed", &data);
}

static void replay_item(struct result_replay *replay,
                        const struct result_item *item)
{
    struct event_data data = { .item = item->number, .call = item->call };

    switch ((enum item_kind)item->kind) {
    case ITEM_MESSAGE:
        data.text = item->text.len > 0 ? item->text : replay->result->answer;
        replay_event(replay, "message.completed", &data);
        break;
    case ITEM_REASONING: /* its text is not kept */
        replay_event(replay, "reasoning.delta", &data);
        break;
    case ITEM_FUNCTION:
        replay_function(replay, item);
        break;
    case ITEM_CODE:
        replay_code(replay, item);
        break;
    case ITEM_SEARCH:
        data.tool = VIEW("search_web");
        data.text = item->text;
        data.status = VIEW("ok");
        replay_event(replay, "tool.started", &data);
        replay_event(replay, "tool.completed", &data);
        break;
    }
}

void response_stream_replay(struct response_stream *stream,
                            const struct result *result)
{
    const struct result_item *items = result->items.items;
    struct result_replay replay = { stream, result, 0 };

    replay_event(&replay, "job.queued", &(struct event_data){ 0 });
    for (size_t i = 0; i < result->items.count; i++)
        replay_item(&replay, &items[i]);
}
