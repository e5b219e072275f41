/* test_response_stream.c - a job's events as those of the Responses API: golden
 * sequences; and from a seed, any events against the rules that clients have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "producer/gateway/responses/response_object.h"
#include "producer/gateway/responses/response_stream.h"
#include "schemas/json/convert.h"
#include "schemas/message/buf.h"

#define JOB "019aa5c8-1b2c-7000-8000-000000000000"
#define DIGITS "019aa5c81b2c70008000000000000000"

/* ------------------------------------------------------------- the checker */

enum { MOST_ITEMS = 512 };

/* What a strict client has seen. */
struct client {
    struct buf types; /* "created in_progress 0:item.added ..." */
    uint64_t sequence;
    bool begun, over;
    size_t added; /* items */
    struct seen {
        char id[80], type[40];
        bool open, part;
        struct buf text;
    } items[MOST_ITEMS];
    json_t *last; /* the response of the last event */
};

static const char *text_of(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));

    return text ? text : "";
}

static struct seen *item_of(struct client *client, const json_t *json)
{
    json_int_t index =
        json_integer_value(json_object_get(json, "output_index"));

    if (index < 0 || (size_t)index >= client->added)
        fail_msg("%s of item %lld, there are %zu", text_of(json, "type"),
                 (long long)index, client->added);
    return &client->items[index];
}

static void see_added(struct client *client, const json_t *json)
{
    const json_t *item = json_object_get(json, "item");
    json_int_t index =
        json_integer_value(json_object_get(json, "output_index"));
    struct seen *seen = &client->items[client->added];

    if ((size_t)index != client->added || client->added == MOST_ITEMS)
        fail_msg("item %lld is added, %zu were", (long long)index,
                 client->added);
    for (size_t i = 0; i < client->added; i++)
        assert_string_not_equal(client->items[i].id, text_of(item, "id"));
    snprintf(seen->id, sizeof(seen->id), "%s", text_of(item, "id"));
    snprintf(seen->type, sizeof(seen->type), "%s", text_of(item, "type"));
    assert_true(seen->id[0] != '\0');
    seen->open = true;
    buf_init(&seen->text, 8 << 20);
    client->added++;
}

static void see_done(struct client *client, const json_t *json)
{
    const json_t *item = json_object_get(json, "item");
    struct seen *seen = item_of(client, json);

    assert_true(seen->open);
    assert_string_equal(seen->id, text_of(item, "id"));
    assert_string_equal(seen->type, text_of(item, "type"));
    seen->open = false;
}

/* Each piece belongs to an open item, and the whole text is its pieces. */
static void see_piece(struct client *client, const json_t *json,
                      const char *type)
{
    static const char *const wholes[] = { "text", "code", "arguments" };
    struct seen *seen = item_of(client, json);
    size_t len = strlen(type);

    assert_true(seen->open);
    assert_string_equal(seen->id, text_of(json, "item_id"));
    if (len > 6 && strcmp(type + len - 6, ".delta") == 0)
        buf_add(&seen->text, view_of(text_of(json, "delta")));
    for (size_t i = 0; i < 3; i++) {
        const json_t *whole = json_object_get(json, wholes[i]);

        if (whole && !view_is(buf_view(&seen->text), json_string_value(whole)))
            fail_msg("%s has \"%s\", the pieces are \"%.*s\"", type,
                     json_string_value(whole), VIEW_ARG(buf_view(&seen->text)));
    }
}

static void see_end(struct client *client, const json_t *json)
{
    json_t *output, *item;
    size_t i, at = 0;

    for (i = 0; i < client->added; i++)
        if (client->items[i].open)
            fail_msg("item %zu is still open", i);
    client->over = true;
    client->last = json_incref(json_object_get(json, "response"));
    output = json_object_get(client->last, "output");
    json_array_foreach(output, i, item) { /* in order, those that were seen */
        while (at < client->added &&
               strcmp(client->items[at].id, text_of(item, "id")) != 0)
            at++;
        if (at == client->added)
            fail_msg("the output has %s behind %zu: %.*s", text_of(item, "id"),
                     at, VIEW_ARG(buf_view(&client->types)));
    }
}

static void see(void *owner, uint64_t sequence, const char *type,
                const json_t *json)
{
    struct client *client = owner;
    const char *word = type + strlen("response.");
    const json_t *index = json_object_get(json, "output_index");

    assert_false(client->over);
    assert_string_equal(text_of(json, "type"), type);
    assert_true(sequence > client->sequence || client->types.len == 0);
    assert_int_equal(
        json_integer_value(json_object_get(json, "sequence_number")), sequence);
    client->sequence = sequence;
    assert_int_equal(strcmp(word, "created") == 0, !client->begun);
    client->begun = true;
    if (strcmp(word, "output_item.added") == 0)
        see_added(client, json);
    else if (strcmp(word, "output_item.done") == 0)
        see_done(client, json);
    else if (index)
        see_piece(client, json, type);
    if (strcmp(word, "completed") == 0 || strcmp(word, "failed") == 0 ||
        strcmp(word, "incomplete") == 0)
        see_end(client, json);
    if (index)
        buf_printf(&client->types, "%lld:", json_integer_value(index));
    buf_printf(&client->types, "%s ", word);
}

static void client_reset(struct client *client)
{
    for (size_t i = 0; i < client->added; i++)
        buf_finish(&client->items[i].text);
    buf_finish(&client->types);
    json_decref(client->last);
    *client = (struct client){ 0 };
    buf_init(&client->types, 1 << 20);
}

/* ------------------------------------------------------------------ golden */

static const struct wire_job plain = { .id = VIEW_INIT(JOB),
                                       .container = VIEW_INIT("cntr_7"),
                                       .created_at = 1764547200 };

static json_t *json_of(const char *notation)
{
    char *text = strdup(notation);
    json_error_t error;
    json_t *json;

    for (char *c = text; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    json = json_loads(text, 0, &error);
    free(text);
    if (!json)
        fail_msg("%s: %s", notation, error.text);
    return json;
}

/* One event a line: type and data. */
static void feed(struct response_stream *stream, const char *const *lines)
{
    for (uint64_t seq = 1; *lines; lines++, seq++) {
        struct arena arena = { 0 };
        char type[64];
        struct event event = { .seq = seq, .attempt = 1 };
        const char *data = strchr(*lines, ' ');
        struct err err;
        json_t *json = json_of(data ? data : "{}");

        snprintf(type, sizeof(type), "%.*s",
                 (int)(data ? (size_t)(data - *lines) : strlen(*lines)),
                 *lines);
        event.type = view_of(type);
        if (!json_to_message(&schema_event_data, json, &event.data, &arena,
                             NULL, &err))
            fail_msg("%s: %s", *lines, err.text);
        response_stream_event(stream, &event);
        json_decref(json);
        arena_finish(&arena);
    }
}

#define QUEUED "job.queued {'queue':'default'}", "job.started {'consumer':'c'}"
#define MESSAGE(i) #i ":output_item.added " #i ":content_part.added "
#define MESSAGE_END(i)                                                         \
#i ":output_text.done " #i ":content_part.done " #i ":output_item.done "
#define DELTA(i) #i ":output_text.delta "
#define CODE(i)                                                                \
#i ":output_item.added " #i ":code_interpreter_call.in_progress " #i       \
       ":code_interpreter_call_code.delta " #i                                 \
       ":code_interpreter_call_code.done " #i                                  \
       ":code_interpreter_call.interpreting "
#define CODE_END(i)                                                            \
#i ":code_interpreter_call.completed " #i ":output_item.done "
#define FUNCTION(i)                                                            \
#i ":output_item.added " #i ":function_call_arguments.delta " #i           \
       ":function_call_arguments.done " #i ":output_item.done "
#define CITED(i) #i ":output_text.annotation.added "

static const struct row {
    const char *name;
    const char *events[24];
    int state;
    bool whole_turns, background;
    const char *types;
    const char *ids; /* of the last output */
} rows[] = {
    { "text",
      { QUEUED, "turn.started {'turn':1}",
        "message.delta {'turn':1,'text':'Hel','item':1}",
        "message.delta {'turn':1,'text':'lo','item':1}",
        "message.completed {'turn':1,'text':'Hello','item':1}" },
      STATE_COMPLETED,
      false,
      false,
      "created in_progress " MESSAGE(0) DELTA(0) DELTA(0)
          MESSAGE_END(0) "completed ",
      "msg_" DIGITS "0001 " },
    { "in the background",
      { QUEUED, "turn.started {'turn':1}",
        "message.completed {'turn':1,'text':'Hello','item':1}" },
      STATE_COMPLETED,
      false,
      true,
      "created queued in_progress " MESSAGE(0) DELTA(0)
          MESSAGE_END(0) "completed ",
      "msg_" DIGITS "0001 " },
    { "whole turns: nothing before it is certain",
      { QUEUED, "turn.started {'turn':1}",
        "message.delta {'turn':1,'text':'Hel','item':1}",
        "message.delta {'turn':1,'text':'lo','item':1}",
        "message.completed {'turn':1,'text':'Hello','item':1}" },
      STATE_COMPLETED,
      true,
      false,
      "created in_progress " MESSAGE(0) DELTA(0) MESSAGE_END(0) "completed ",
      "msg_" DIGITS "0001 " },
    { "a turn that began again",
      { QUEUED, "turn.started {'turn':1}",
        "message.delta {'turn':1,'text':'Hal','item':1}",
        "job.retrying {'wait_ms':5}", "turn.started {'turn':1}",
        "message.delta {'turn':1,'text':'Hello','item':2}",
        "message.completed {'turn':1,'text':'Hello','item':2}" },
      STATE_COMPLETED,
      false,
      false,
      "created in_progress " MESSAGE(0) DELTA(0) MESSAGE_END(0) MESSAGE(1)
          DELTA(1) MESSAGE_END(1) "completed ",
      "msg_" DIGITS "0002 " },
    { "the same in whole turns: the place of the void one is free",
      { QUEUED, "turn.started {'turn':1}",
        "message.delta {'turn':1,'text':'Hal','item':1}",
        "job.lost {'consumer':'c'}", "job.queued {'queue':'default'}",
        "job.started {'consumer':'d'}", "turn.started {'turn':1}",
        "message.delta {'turn':1,'text':'Hello','item':2}",
        "message.completed {'turn':1,'text':'Hello','item':2}" },
      STATE_COMPLETED,
      true,
      false,
      "created in_progress " MESSAGE(0) DELTA(0) MESSAGE_END(0) "completed ",
      "msg_" DIGITS "0002 " },
    { "reasoning, code, a chart that is cited",
      { QUEUED, "turn.started {'turn':1}",
        "reasoning.delta {'turn':1,'text':'Hm.','item':1}",
        "message.completed {'turn':1,'text':''}",
        "tool.started {'turn':1,'call':'1.0','tool':'execute_python_code',"
        "'code':'plot()','item':2}",
        "tool.output {'call':'1.0','stream':'stdout','text':'x','item':2}",
        "image {'call':'1.0','item':2,'image':{'name':'figure-1.png',"
        "'mime':'image/png','blob':'0123456789abcdef0123456789abcdef"
        "0123456789abcdef0123456789abcdef','bytes':9}}",
        "tool.completed {'turn':1,'call':'1.0','tool':'execute_python_code',"
        "'status':'ok','state':'kept','item':2}",
        "turn.started {'turn':2}",
        "message.delta {'turn':2,'text':'See figure-1.png','item':3}",
        "message.completed {'turn':2,'text':'See figure-1.png','item':3}" },
      STATE_COMPLETED,
      false,
      false,
      "created in_progress 0:output_item.added "
      "0:reasoning_summary_part.added 0:reasoning_summary_text.delta "
      "0:reasoning_summary_text.done 0:reasoning_summary_part.done "
      "0:output_item.done " CODE(1) CODE_END(1) MESSAGE(2) DELTA(2) CITED(2)
          MESSAGE_END(2) "completed ",
      "rs_" DIGITS "0001 ci_" DIGITS "0002 msg_" DIGITS "0003 " },
    { "functions",
      { QUEUED, "turn.started {'turn':1}",
        "message.completed {'turn':1,'text':''}",
        "function.called {'turn':1,'call':'a','tool':'f','text':'{}','item':1}",
        "function.called "
        "{'turn':1,'call':'b','tool':'g','text':'{}','item':2}" },
      STATE_COMPLETED,
      false,
      false,
      "created in_progress " FUNCTION(0) FUNCTION(1) "completed ",
      "fc_" DIGITS "0001 fc_" DIGITS "0002 " },
    { "a text that turned out to be calls",
      { QUEUED, "turn.started {'turn':1}",
        "message.delta {'turn':1,'text':'<tool_call>','item':1}",
        "message.completed {'turn':1,'text':'<tool_call>...'}",
        "tool.started {'turn':1,'call':'1.0','tool':'execute_python_code',"
        "'code':'1','item':2}",
        "tool.completed {'turn':1,'call':'1.0','tool':'execute_python_code',"
        "'status':'ok','item':2}" },
      STATE_COMPLETED,
      false,
      false,
      "created in_progress " MESSAGE(0) DELTA(0) MESSAGE_END(0) CODE(1)
          CODE_END(1) "completed ",
      "ci_" DIGITS "0002 " },
    { "two searches at once, and a tool that is no item",
      { QUEUED, "turn.started {'turn':1}",
        "tool.started {'turn':1,'call':'1.0','tool':'search_web',"
        "'text':'{\\'query\\':\\'a\\'}','item':1}",
        "tool.started {'turn':1,'call':'1.1','tool':'search_web','item':2}",
        "tool.started {'turn':1,'call':'1.2','tool':'fetch_url'}",
        "tool.completed {'turn':1,'call':'1.1','tool':'search_web',"
        "'status':'ok','item':2}",
        "tool.completed {'turn':1,'call':'1.0','tool':'search_web',"
        "'status':'error','item':1}" },
      STATE_COMPLETED,
      false,
      false,
      "created in_progress 0:output_item.added 0:web_search_call.in_progress "
      "0:web_search_call.searching 1:output_item.added "
      "1:web_search_call.in_progress 1:web_search_call.searching "
      "1:web_search_call.completed 1:output_item.done "
      "0:web_search_call.completed 0:output_item.done completed ",
      NULL },
    { "cut off",
      { QUEUED, "turn.started {'turn':1}",
        "message.completed {'turn':1,'text':'It is','item':1}" },
      STATE_INCOMPLETE,
      false,
      false,
      "created in_progress " MESSAGE(0) DELTA(0) MESSAGE_END(0) "incomplete ",
      "msg_" DIGITS "0001 " },
    { "cancelled in the middle",
      { QUEUED, "turn.started {'turn':1}",
        "message.delta {'turn':1,'text':'It','item':1}" },
      STATE_CANCELLED,
      false,
      false,
      "created in_progress " MESSAGE(0) DELTA(0) MESSAGE_END(0) "incomplete ",
      "" },
    { "failed before anything",
      { QUEUED },
      STATE_FAILED,
      false,
      false,
      "created in_progress failed ",
      "" },
    { "cancelled while it waits",
      { "job.queued {'queue':'default'}" },
      STATE_CANCELLED,
      false,
      true,
      "created queued in_progress incomplete ",
      "" },
};

static void check_ids(const struct row *row, const json_t *output)
{
    struct buf ids = { .max = 4096 };
    json_t *item;
    size_t i;

    json_array_foreach(output, i, item)
        buf_printf(&ids, "%s ", text_of(item, "id"));
    if (row->ids && !view_is(buf_view(&ids), row->ids))
        fail_msg("%s: the output is %.*s", row->name, VIEW_ARG(buf_view(&ids)));
    buf_finish(&ids);
}

static void test_golden_sequences(void **state)
{
    static struct client client;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        const struct response_stream_options options = { .whole_turns =
                                                             row->whole_turns };
        const struct result result = { .status = row->state };
        struct wire_job job = plain;
        struct response_stream *stream;

        job.background = row->background;
        client_reset(&client);
        stream = response_stream_new(&job, &options, see, &client);
        feed(stream, row->events);
        response_stream_end(stream, 99, row->state, &result, 0);
        response_stream_free(stream);
        if (!view_is(buf_view(&client.types), row->types))
            fail_msg("%s:\n  %.*s\n  should be\n  %s", row->name,
                     VIEW_ARG(buf_view(&client.types)), row->types);
        check_ids(row, json_object_get(client.last, "output"));
        assert_int_equal(client.sequence / RESPONSE_SEQUENCE_STEP, 99);
    }
    client_reset(&client);
    buf_finish(&client.types);
}

static void test_a_citation_counts_characters(void **state)
{
    json_t *citation;
    char id[WIRE_FILE_ID_BYTES];

    (void)state;
    citation = wire_citation(&plain, VIEW("Gr\xc3\xbc\xc3\x9f: a.csv."),
                             VIEW("a.csv"));
    assert_int_equal(
        json_integer_value(json_object_get(citation, "start_index")), 6);
    assert_int_equal(json_integer_value(json_object_get(citation, "end_index")),
                     11);
    json_decref(citation);
    citation = wire_citation(&plain, VIEW("[a](sandbox:/mnt/data/a.csv)"),
                             VIEW("a.csv"));
    assert_int_equal(
        json_integer_value(json_object_get(citation, "start_index")), 4);
    json_decref(citation);
    citation = wire_citation(&plain, VIEW("none"), VIEW("b.csv"));
    assert_int_equal(
        json_integer_value(json_object_get(citation, "start_index")), 4);
    wire_file_id(id, VIEW("cntr_7"), VIEW("b.csv"));
    assert_string_equal(text_of(citation, "file_id"), id);
    assert_int_equal(strlen(id), 6 + 32);
    json_decref(citation);
}

static void test_ids(void **state)
{
    char id[RESPONSE_ID_BYTES], job[37];

    (void)state;
    response_id_write(id, VIEW(JOB));
    assert_string_equal(id, "resp_" DIGITS);
    assert_true(response_id_read(view_of(id), job));
    assert_string_equal(job, JOB);
    assert_false(response_id_read(VIEW("resp_7"), job));
    assert_false(response_id_read(VIEW("resp_" DIGITS "0"), job));
    assert_false(
        response_id_read(VIEW("resp_Z19aa5c81b2c70008000000000000000"), job));
}

static void test_the_end_says_why(void **state)
{
    struct response_state now = { .state = STATE_FAILED,
                                  .error_kind = VIEW("reject"),
                                  .error_code = VIEW("model_context"),
                                  .error_message = VIEW("too long") };
    json_t *object = response_object(&plain, &now);

    (void)state;
    assert_string_equal(text_of(json_object_get(object, "error"), "code"),
                        "invalid_prompt");
    assert_string_equal(text_of(json_object_get(object, "error"), "message"),
                        "model_context: too long");
    assert_true(json_is_null(json_object_get(object, "incomplete_details")));
    json_decref(object);
    now.state = STATE_CANCELLED;
    object = response_object(&plain, &now);
    assert_string_equal(text_of(object, "status"), "cancelled");
    assert_string_equal(
        text_of(json_object_get(object, "incomplete_details"), "reason"),
        "cancelled");
    json_decref(object);
}

/* ------------------------------------------------------------------- replay */

#define BLOB "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A result with an item of each kind. */
static void with_result(void (*test)(const struct result *result))
{
    struct cell_file file = { .name = VIEW("a.csv"),
                              .blob = VIEW(BLOB),
                              .change = FILE_NEW };
    struct cell cell = { .code = VIEW("plot()"),
                         .out = VIEW("x\n"),
                         .result = VIEW("7"),
                         .files = { &file, 1 } };
    struct image_ref image = { .name = VIEW("figure-1.png"),
                               .blob = VIEW(BLOB) };
    struct result_call calls[] = {
        { VIEW("a"), VIEW("f"), VIEW("{}") },
        { VIEW("b"), VIEW("g"), VIEW("{}") },
    };
    struct result_item items[] = {
        { .number = 1, .kind = ITEM_REASONING },
        { .number = 3, .kind = ITEM_MESSAGE, .text = VIEW("I plot.") },
        { .number = 4, .kind = ITEM_CODE, .call = VIEW("1.0"), .cell = 1 },
        { .number = 5, .kind = ITEM_CODE, .call = VIEW("1.1") },
        { .number = 6, .kind = ITEM_SEARCH, .text = VIEW("q") },
        { .number = 7, .kind = ITEM_MESSAGE },
        { .number = 9, .kind = ITEM_FUNCTION, .call = VIEW("a") },
        { .number = 10, .kind = ITEM_FUNCTION, .call = VIEW("b") },
    };
    const struct result result = {
        .status = STATE_COMPLETED,
        .answer = VIEW("See figure-1.png."),
        .calls = { calls, 2 },
        .images = { &image, 1 },
        .cells = { &cell, 1 },
        .items = { items, sizeof(items) / sizeof(items[0]) },
    };

    test(&result);
}

static char *image_url(const void *owner, enum wire_link_kind kind,
                       struct view name)
{
    char url[64];

    assert_int_equal(kind, WIRE_LINK_IMAGE);
    snprintf(url, sizeof(url), "%s/%.*s", (const char *)owner, VIEW_ARG(name));
    return view_dup(view_of(url));
}

static void expect_image(const json_t *output, const char *url)
{
    const json_t *item, *outputs = NULL;
    size_t i;

    json_array_foreach(output, i, item)
        if (json_array_size(json_object_get(item, "outputs")) > 1)
            outputs = json_object_get(item, "outputs");
    assert_int_equal(json_array_size(outputs), url ? 2 : 0);
    if (url)
        assert_string_equal(json_string_value(json_object_get(
                                json_array_get(outputs, 1), "url")),
                            url);
}

static void replay_both(const struct result *result)
{
    static struct client client;

    for (int with_outputs = 0; with_outputs < 2; with_outputs++) {
        const struct response_stream_options options = { false, false };
        struct wire_job job = plain;
        struct response_stream *stream;
        json_t *output;
        char *text;

        job.with_outputs = with_outputs;
        job.links = (struct wire_links){ image_url, "https://x" };
        output = response_output(&job, result);
        client_reset(&client);
        stream = response_stream_new(&job, &options, see, &client);
        response_stream_replay(stream, result);
        response_stream_end(stream, 99, STATE_COMPLETED, result, 0);
        response_stream_free(stream);
        text = json_dumps(json_object_get(client.last, "output"), 0);
        if (!json_equal(json_object_get(client.last, "output"), output))
            fail_msg("the output is %s\n  after %.*s", text,
                     VIEW_ARG(buf_view(&client.types)));
        free(text);
        expect_image(output, with_outputs ? "https://x/figure-1.png" : NULL);
        assert_int_equal(client.added, 8);
        assert_int_equal(client.sequence / RESPONSE_SEQUENCE_STEP, 99);
        json_decref(output);
    }
    client_reset(&client);
    buf_finish(&client.types);
}

static void test_a_replay_ends_with_the_same_output(void **state)
{
    (void)state;
    with_result(replay_both);
}

/* An event holds a part of long arguments. */
static void test_long_arguments_are_whole(void **state)
{
    enum { WHOLE = 60 << 10, CUT = 48 << 10 };
    static struct client client;
    static char text[WHOLE];
    const struct response_stream_options options = { false, false };
    struct result_call call = { VIEW("a"), VIEW("f"), { text, WHOLE } };
    const struct result result = { .calls = { &call, 1 } };
    struct event events[] = {
        { .seq = 1,
          .type = VIEW("function.called"),
          .data = { .item = 1,
                    .call = VIEW("a"),
                    .tool = VIEW("f"),
                    .text = { text, CUT } } },
        { .seq = 2,
          .type = VIEW("function.called"),
          .data = { .item = 2,
                    .call = VIEW("b"),
                    .tool = VIEW("g"),
                    .text = VIEW("{}") } },
    };
    struct response_stream *stream;
    json_t *item;

    (void)state;
    memset(text, 'x', WHOLE);
    client_reset(&client);
    stream = response_stream_new(&plain, &options, see, &client);
    for (size_t i = 0; i < 2; i++)
        response_stream_event(stream, &events[i]);
    response_stream_end(stream, 3, STATE_COMPLETED, &result, 0);
    response_stream_free(stream);
    assert_true(view_is(buf_view(&client.types),
                        "created in_progress " FUNCTION(0)
                            FUNCTION(1) "completed "));
    assert_int_equal(client.items[0].text.len, WHOLE);
    item = json_array_get(json_object_get(client.last, "output"), 0);
    assert_int_equal(json_string_length(json_object_get(item, "arguments")),
                     WHOLE);
    client_reset(&client);
    buf_finish(&client.types);
}

/* -------------------------------------------------------------- from a seed */

static uint64_t random_state;

static unsigned chance(unsigned n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695;
    return (unsigned)(random_state >> 33) % n;
}

/* Any event about any item, also such as no consumer writes. */
static void feed_random(struct response_stream *stream, uint64_t *seq,
                        uint64_t *item, uint64_t *turn)
{
    static const char *const types[] = {
        "job.queued",
        "job.started",
        "turn.started",
        "message.delta",
        "message.delta",
        "reasoning.delta",
        "message.completed",
        "tool.started",
        "tool.output",
        "tool.completed",
        "image",
        "file",
        "function.called",
        "job.retrying",
        "job.waiting",
        "tool.cleared",
        "history.summarised",
    };
    static const char *const texts[] = { "", "a", "ab", "abc", "\xc3\xbc" };
    const char *type = types[chance(sizeof(types) / sizeof(types[0]))];
    struct event event = { .seq = *seq, .type = view_of(type) };
    struct event_data *data = &event.data;

    if (chance(4) == 0)
        (*item)++;
    if (chance(9) == 0)
        (*turn)++;
    *data =
        (struct event_data){ .turn = *turn,
                             .item = chance(8) == 0 ? 0 : *item,
                             .call = VIEW("1.0"),
                             .tool = chance(2) ? VIEW("search_web")
                                               : VIEW("python"),
                             .code = VIEW("1"),
                             .status = chance(2) ? VIEW("ok") : VIEW("timeout"),
                             .text = view_of(texts[chance(5)]) };
    data->image.name = VIEW("figure-1.png");
    data->file.name = VIEW("a.csv");
    data->file.blob = VIEW("0123");
    *seq += chance(20) ? 1 : 3;
    response_stream_event(stream, &event);
}

static void test_any_events_make_a_sound_stream(void **state)
{
    static struct client client;
    static const int ends[] = { STATE_COMPLETED, STATE_INCOMPLETE, STATE_FAILED,
                                STATE_CANCELLED };

    (void)state;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct response_stream_options options;
        struct wire_job job = plain;
        uint64_t seq = 1, item = 1, turn = 1;
        struct response_stream *stream;

        random_state = seed;
        options = (struct response_stream_options){ .whole_turns = chance(2),
                                                    .obfuscate = chance(2) };
        job.background = chance(2);
        job.with_outputs = chance(2);
        client_reset(&client);
        stream = response_stream_new(&job, &options, see, &client);
        for (unsigned i = chance(60); i > 0; i--)
            feed_random(stream, &seq, &item, &turn);
        response_stream_end(stream, seq, ends[chance(4)], NULL, 0);
        response_stream_end(stream, seq, STATE_FAILED, NULL, 0);
        response_stream_free(stream);
        assert_true(client.over);
    }
    client_reset(&client);
    buf_finish(&client.types);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_sequences),
        cmocka_unit_test(test_a_citation_counts_characters),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_the_end_says_why),
        cmocka_unit_test(test_a_replay_ends_with_the_same_output),
        cmocka_unit_test(test_long_arguments_are_whole),
        cmocka_unit_test(test_any_events_make_a_sound_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
