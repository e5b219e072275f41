/* fuzz_response_stream.c - any events of a job: the wire events that they
 * become are what strict clients want.
 *
 * The first byte sets options; then each event has five bytes: its type, item,
 * turn, text and how far seq goes on. */
#include <string.h>

#include "producer/gateway/responses/response_stream.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_ITEMS = 4096, MOST_EVENTS = 2000 };

/* What a strict client has seen. */
struct client {
    uint64_t sequence;
    bool begun, over;
    bool fed;  /* an event that is not ignored */
    bool late; /* the first events are gone: so may be the first items */
    json_int_t first, added; /* indexes of items: from, so many */
    char open[MOST_ITEMS];
};

static bool is(const char *type, const char *word)
{
    return strcmp(type, word) == 0;
}

static void see_item(struct client *client, const char *type,
                     const json_t *json, json_int_t index)
{
    const json_t *item = json_object_get(json, "item");

    if (is(type, "response.output_item.added")) {
        if (client->added == 0 && client->late)
            client->first = index;
        MUST(index == client->first + client->added);
        MUST(json_string_length(json_object_get(item, "id")) > 0);
        client->added++;
        if (index - client->first < MOST_ITEMS)
            client->open[index - client->first] = 1;
        return;
    }
    MUST(index >= client->first && index < client->first + client->added);
    if (index - client->first >= MOST_ITEMS)
        return;
    MUST(client->open[index - client->first]);
    if (is(type, "response.output_item.done"))
        client->open[index - client->first] = 0;
}

static void see(void *owner, uint64_t sequence, const char *type,
                const json_t *json)
{
    struct client *client = owner;
    const json_t *index = json_object_get(json, "output_index");
    bool ends = is(type, "response.completed") ||
                is(type, "response.incomplete") || is(type, "response.failed");

    MUST(!client->over);
    MUST(client->begun != is(type, "response.created"));
    MUST(!client->begun || sequence > client->sequence);
    client->begun = true;
    client->sequence = sequence;
    if (index)
        see_item(client, type, json, json_integer_value(index));
    for (json_int_t i = 0; ends && i < client->added && i < MOST_ITEMS; i++)
        MUST(!client->open[i]);
    client->over = ends;
}

static void feed(struct response_stream *stream, struct client *client,
                 const uint8_t *bytes, uint64_t *seq)
{
    static const char *const types[] = {
        "job.queued",
        "job.started",
        "turn.started",
        "message.delta",
        "reasoning.delta",
        "message.completed",
        "tool.started",
        "tool.output",
        "tool.cleared",
        "tool.completed",
        "image",
        "file",
        "display",
        "function.called",
        "job.retrying",
        "job.waiting",
        "job.lost",
        "job.completed",
        "gap",
        "history.summarised",
    };
    static const char *const statuses[] = { "ok", "error", "timeout",
                                            "refused" };
    static const char *const texts[] = { "", "a", "{\"query\":\"q\"}",
                                         "\xc3\xbc a.csv", "{" };
    struct event event = { .seq = *seq, .attempt = 1 };
    struct event_data *data = &event.data;

    event.type = view_of(types[bytes[0] % (sizeof(types) / sizeof(types[0]))]);
    data->item = bytes[1] % 32;
    data->turn = bytes[2] % 8;
    data->text = view_of(texts[bytes[3] % 5]);
    data->code = data->text;
    data->call = VIEW("1.0");
    data->tool = bytes[3] & 64 ? VIEW("search_web") : VIEW("python");
    data->status = view_of(statuses[bytes[2] / 8 % 4]);
    data->image.name = VIEW("figure-1.png");
    data->file.name = VIEW("a.csv");
    data->file.blob = bytes[3] & 32 ? VIEW("0123") : VIEW("");
    client->late |= !client->fed && event.seq > 1;
    client->fed |= !event_is_terminal(event.type);
    *seq += bytes[4] % 3;
    response_stream_event(stream, &event);
}

static char *make_url(const void *owner, enum wire_link_kind kind,
                      struct view name)
{
    (void)owner;
    MUST(kind == WIRE_LINK_IMAGE);
    return view_dup(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int ends[] = { STATE_COMPLETED, STATE_INCOMPLETE, STATE_FAILED,
                                STATE_CANCELLED };
    struct wire_job job = { .id = VIEW("019aa5c8-1b2c-7000-8000-000000000000"),
                            .container = VIEW("cntr_7"),
                            .links = { make_url, NULL } };
    struct response_stream_options options = { false, false };
    struct client client = { 0 };
    struct response_stream *stream;
    uint64_t seq = 1;

    if (size == 0)
        return 0;
    options.whole_turns = data[0] & 1;
    options.obfuscate = data[0] & 2;
    job.background = data[0] & 4;
    job.with_outputs = data[0] & 8;
    job.for_chat = data[0] & 128;
    client.late = data[0] & 16;
    if (client.late)
        seq = 100;
    stream = response_stream_new(&job, &options, see, &client);
    for (size_t i = 1; i + 5 <= size && i < MOST_EVENTS * 5; i += 5)
        feed(stream, &client, data + i, &seq);
    response_stream_end(stream, seq, ends[data[0] / 32 % 4], NULL, 0);
    response_stream_free(stream);
    MUST(client.over);
    return 0;
}
