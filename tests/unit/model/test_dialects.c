/* test_dialects.c - replies of Anthropic Messages and OpenAI Responses, as odd
 * as they come. Recorded ones are read in tests/recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/model/dialect.h"
#include "consumer/model/reply.h"
#include "schemas/message/buf.h"
#include "tests/unit/model/replies.h"

/* What they are to become. */
#define TEXT(text) "{'role':'assistant','content':'" text "'}"
#define CALLS(calls)                                                           \
    "{'role':'assistant','content':null,'tool_calls':[" calls "]}"
#define ONE(id, name, arguments)                                               \
    "{'id':'" id "','type':'function','function':{'name':'" name               \
    "','arguments':'" arguments "'}}"
#define KEPT(dialect, text, blocks)                                            \
    "{'role':'assistant','content':'" text "','opaque':{'dialect':'" dialect   \
    "','blocks':[" blocks "]}}"

/* Messages */
#define EVENT(type, more) "data: {'type':'" type "'" more "}\n\n"
#define START(usage)                                                           \
    EVENT("message_start", ",'message':{'type':'message','content':[],"        \
                           "'stop_reason':null,'usage':{" usage "}}")
#define BEGIN(index, block)                                                    \
    EVENT("content_block_start",                                               \
          ",'index':" index ",'content_block':{" block "}")
#define PIECE(index, delta)                                                    \
    EVENT("content_block_delta", ",'index':" index ",'delta':{" delta "}")
#define END(index) EVENT("content_block_stop", ",'index':" index)
#define STOP(reason, usage)                                                    \
    EVENT("message_delta",                                                     \
          ",'delta':{'stop_reason':'" reason "'},'usage':{" usage "}")         \
    EVENT("message_stop", "")
#define SAY(text)                                                              \
    BEGIN("0", "'type':'text','text':''")                                      \
    PIECE("0", "'type':'text_delta','text':'" text "'") END("0")
#define USE(index, id)                                                         \
    BEGIN(index, "'type':'tool_use','id':'" id "','name':'f','input':{}")
#define INPUT(index, json)                                                     \
    PIECE(index, "'type':'input_json_delta','partial_json':'" json "'")
#define MESSAGE(content, reason)                                               \
    "{'type':'message','content':[" content "],'stop_reason':'" reason "'}"

/* Responses */
#define ADDED(index, item)                                                     \
    EVENT("response.output_item.added",                                        \
          ",'output_index':" index ",'item':{" item "}")
#define ITEM(index, item)                                                      \
    EVENT("response.output_item.done",                                         \
          ",'output_index':" index ",'item':{" item "}")
#define SPEAK(text)                                                            \
    EVENT("response.output_text.delta", ",'output_index':0,'delta':'" text "'")
#define SPOKEN(text)                                                           \
    "'type':'message','content':[{'type':'output_text','text':'" text "'}]"
#define FUNCTION(id, arguments)                                                \
    "'type':'function_call','call_id':'" id                                    \
    "','name':'f','arguments':'" arguments "'"
#define PART(index, json)                                                      \
    EVENT("response.function_call_arguments.delta",                            \
          ",'output_index':" index ",'delta':'" json "'")
#define OVER(status, output, more)                                             \
    EVENT("response." status,                                                  \
          ",'response':{'status':'" status "','output':[" output "]" more "}")
#define RESPONSE(status, output)                                               \
    "{'object':'response','error':null,'status':'" status                      \
    "','output':[" output "]}"

#define A &dialect_anthropic
#define R &dialect_responses

static const struct row {
    const char *name;
    const struct dialect *dialect;
    const char *bytes;
    const char *message; /* or the code of the error, when it has no { */
    const char *finish;
    bool truncated;
    uint64_t input, output, cached;
} rows[] = {
    /* Messages */
    { "text", A, START("'input_tokens':3") SAY("ab") STOP("end_turn", ""),
      TEXT("ab"), "stop", false, 3, 0, 0 },
    { "a plain body", A, MESSAGE("{'type':'text','text':'ab'}", "end_turn"),
      TEXT("ab"), "stop", false, 0, 0, 0 },
    { "usage is not summed, and cached tokens were sent", A,
      START("'input_tokens':3,'cache_read_input_tokens':20,"
            "'cache_creation_input_tokens':100,'output_tokens':1") SAY("a")
          STOP("end_turn", "'output_tokens':9"),
      TEXT("a"), "stop", false, 123, 9, 20 },
    { "the last usage is all of it", A,
      START("'input_tokens':3,'cache_read_input_tokens':20") SAY("a")
          STOP("end_turn", "'input_tokens':5,'output_tokens':9"),
      TEXT("a"), "stop", false, 5, 9, 0 },
    { "a 0 at the end takes nothing back", A,
      START("'input_tokens':3,'output_tokens':2") SAY("a")
          STOP("end_turn", "'input_tokens':0,'output_tokens':0"),
      TEXT("a"), "stop", false, 3, 2, 0 },
    { "several texts are one", A,
      START("") SAY("a") BEGIN("1", "'type':'text','text':'b'") END("1")
          STOP("end_turn", ""),
      TEXT("ab"), "stop", false, 0, 0, 0 },
    { "calls by their index, which may have gaps", A,
      START("") USE("3", "x") USE("7", "y") INPUT("7", "{\\\"a\\\":") INPUT(
          "3", "{}") INPUT("7", "1}") END("3") END("7") STOP("tool_use", ""),
      CALLS(ONE("x", "f", "{}") "," ONE("y", "f", "{\\\"a\\\":1}")),
      "tool_calls", false, 0, 0, 0 },
    { "arguments stay as they were written", A,
      START("") USE("0", "x") INPUT("0", "{ \\\"a\\\" : 1.0 }") END("0")
          STOP("tool_use", ""),
      CALLS(ONE("x", "f", "{ \\\"a\\\" : 1.0 }")), "tool_calls", false, 0, 0,
      0 },
    { "a call without arguments", A,
      START("") USE("0", "x") END("0") STOP("tool_use", ""),
      CALLS(ONE("x", "f", "{}")), "tool_calls", false, 0, 0, 0 },
    { "arguments that come with the beginning", A,
      START("") BEGIN("0", "'type':'tool_use','id':'x','name':'f','input':{"
                           "'a':1}") END("0") STOP("tool_use", ""),
      CALLS(ONE("x", "f", "{\\\"a\\\":1}")), "tool_calls", false, 0, 0, 0 },
    { "and once more in pieces", A,
      START("") BEGIN("0", "'type':'tool_use','id':'x','name':'f','input':{"
                           "'a':1}") INPUT("0", "{\\\"a\\\":2}") END("0")
          STOP("tool_use", ""),
      CALLS(ONE("x", "f", "{\\\"a\\\":2}")), "tool_calls", false, 0, 0, 0 },
    { "a call that was stopped by the length", A,
      START("") SAY("a") USE("1", "x") INPUT("1", "{\\\"a\\\":1}") END("1")
          STOP("max_tokens", ""),
      TEXT("a"), "length", true, 0, 0, 0 },
    { "a call whose end is missing", A,
      START("") SAY("a") USE("1", "x") INPUT("1", "{\\\"a\\\":")
          STOP("tool_use", ""),
      TEXT("a"), "tool_calls", true, 0, 0, 0 },
    { "a call of which nothing came", A,
      START("") SAY("a") USE("1", "x") STOP("tool_use", ""), TEXT("a"),
      "tool_calls", true, 0, 0, 0 },
    { "a context that is full", A,
      START("") SAY("a") STOP("model_context_window_exceeded", ""), TEXT("a"),
      "length", true, 0, 0, 0 },
    { "a turn that pauses says so", A,
      START("") SAY("a") STOP("pause_turn", ""), TEXT("a"), "pause_turn", false,
      0, 0, 0 },
    { "thinking is kept, signed, in its place", A,
      START("") BEGIN("0", "'type':'thinking','thinking':'','signature':''")
          PIECE("0", "'type':'thinking_delta','thinking':'h'")
              PIECE("0", "'type':'thinking_delta','thinking':'m'")
                  PIECE("0", "'type':'signature_delta','signature':'s'")
                      END("0") BEGIN("1", "'type':'text','text':'a'") END("1")
                          STOP("end_turn", ""),
      KEPT("anthropic", "a",
           "{'type':'thinking','thinking':'hm','signature':'s'},{"
           "'text_bytes':1}"),
      "stop", false, 0, 0, 0 },
    { "thinking that is not shown is kept too", A,
      MESSAGE("{'type':'redacted_thinking','data':'r'},{'type':'thinking',"
              "'thinking':'','signature':'s'},{'type':'text','text':'a'}",
              "end_turn"),
      KEPT("anthropic", "a",
           "{'type':'redacted_thinking','data':'r'},{'type':'thinking',"
           "'thinking':'','signature':'s'},{'text_bytes':1}"),
      "stop", false, 0, 0, 0 },
    { "what nobody asked for is passed over", A,
      START("") BEGIN("0", "'type':'server_tool_use','id':'x'") INPUT("0", "{}")
          END("0") EVENT("message_wink", ",'x':[1]") SAY("a")
              STOP("end_turn", ""),
      TEXT("a"), "stop", false, 0, 0, 0 },
    { "no event that ends it, but a reason", A,
      START("") SAY("a")
          EVENT("message_delta", ",'delta':{'stop_reason':'end_turn'}"),
      TEXT("a"), "stop", false, 0, 0, 0 },
    { "no end", A, START("") SAY("a"), "model_cut", NULL, false, 0, 0, 0 },
    { "a refusal", A, START("") STOP("refusal", ""), "model_refused", NULL,
      false, 0, 0, 0 },
    { "an error inside", A,
      START("") SAY("a") "event: error\n" EVENT(
          "error", ",'error':{'type':'overloaded_error','message':"
                   "'Overloaded'}"),
      "model_unavailable", NULL, false, 0, 0, 0 },
    { "an error inside that stays one", A,
      EVENT("error", ",'error':{'type':'authentication_error','message':'x'}"),
      "model_rejected", NULL, false, 0, 0, 0 },
    { "too long an errand", A,
      "{'type':'error','error':{'type':'request_too_large','message':'x'}}",
      "model_context", NULL, false, 0, 0, 0 },
    { "chat-completions", A, DELTA("'content':'a'") FINISH("stop") DONE,
      "model_garbage", NULL, false, 0, 0, 0 },
    { "a call without a name", A,
      MESSAGE("{'type':'tool_use','id':'x','input':{}}", "tool_use"),
      "model_garbage", NULL, false, 0, 0, 0 },

    /* Responses */
    { "text in pieces, which comes whole as well", R,
      SPEAK("a") SPEAK("b") ITEM("0", SPOKEN("ab"))
          OVER("completed", "{" SPOKEN("ab") "}",
               ",'usage':{'input_tokens':3,'output_tokens':4,"
               "'input_tokens_details':{'cached_tokens':2}}"),
      TEXT("ab"), "stop", false, 3, 4, 2 },
    { "text that comes whole only", R,
      ITEM("0", SPOKEN("ab")) OVER("completed", "", ""), TEXT("ab"), "stop",
      false, 0, 0, 0 },
    { "text that comes with the end only", R,
      OVER("completed", "{" SPOKEN("ab") "}", ""), TEXT("ab"), "stop", false, 0,
      0, 0 },
    { "pieces that lack the rest", R,
      SPEAK("a") ITEM("0", SPOKEN("ab")) SPEAK("c") ITEM("1", SPOKEN("cd"))
          OVER("completed", "", ""),
      TEXT("abcd"), "stop", false, 0, 0, 0 },
    { "a plain body", R, RESPONSE("completed", "{" SPOKEN("ab") "}"),
      TEXT("ab"), "stop", false, 0, 0, 0 },
    { "calls", R,
      ADDED("1", FUNCTION("x", "")) PART("1", "{\\\"a\\\":") PART("1", "1}")
          ITEM("1", FUNCTION("x", "{\\\"a\\\":1}"))
              ITEM("2", FUNCTION("y", "{}")) OVER("completed", "", ""),
      CALLS(ONE("x", "f", "{\\\"a\\\":1}") "," ONE("y", "f", "{}")),
      "tool_calls", false, 0, 0, 0 },
    { "a call in a plain body", R,
      RESPONSE("completed", "{" FUNCTION("x", "{}") "}"),
      CALLS(ONE("x", "f", "{}")), "tool_calls", false, 0, 0, 0 },
    { "a call that was stopped by the length", R,
      SPEAK("a") ADDED("1", FUNCTION("x", "")) PART("1", "{}")
          ITEM("1", FUNCTION("x", "{}"))
              OVER("incomplete", "",
                   ",'incomplete_details':{'reason':'max_output_tokens'}"),
      TEXT("a"), "length", true, 0, 0, 0 },
    { "a call whose end is missing", R,
      SPEAK("a") ADDED("1", FUNCTION("x", "")) PART("1", "{\\\"a\\\":")
          OVER("completed", "", ""),
      TEXT("a"), "tool_calls", true, 0, 0, 0 },
    { "reasoning is kept in its place, whenever it is whole", R,
      ADDED("0", "'type':'reasoning','id':'r'") SPEAK("a")
          ITEM("0", "'type':'reasoning','id':'r','summary':[],'status':null,"
                    "'encrypted_content':'e'") OVER("completed", "", ""),
      KEPT("responses", "a",
           "{'type':'reasoning','id':'r','summary':[],'encrypted_content':'e'"
           "},{'text_bytes':1}"),
      "stop", false, 0, 0, 0 },
    { "the phase of a text is kept", R,
      RESPONSE("completed", "{'phase':'final_answer'," SPOKEN("ab") "}"),
      KEPT("responses", "ab", "{'text_bytes':2,'phase':'final_answer'}"),
      "stop", false, 0, 0, 0 },
    { "a refusal", R,
      EVENT("response.refusal.delta", ",'delta':'no'")
          OVER("completed", "", ""),
      "model_refused", NULL, false, 0, 0, 0 },
    { "a refusal that comes whole", R,
      RESPONSE("completed", "{'type':'message','content':[{'type':'refusal',"
                            "'refusal':'no'}]}"),
      "model_refused", NULL, false, 0, 0, 0 },
    { "a filter", R,
      OVER("incomplete", "",
           ",'incomplete_details':{'reason':'content_filter'}"),
      "model_refused", NULL, false, 0, 0, 0 },
    { "a failure", R,
      SPEAK("a")
          OVER("failed", "", ",'error':{'code':'server_error','message':'x'}"),
      "model_unavailable", NULL, false, 0, 0, 0 },
    { "a failure that stays one", R,
      OVER("failed", "", ",'error':{'code':'invalid_prompt','message':'x'}"),
      "model_rejected", NULL, false, 0, 0, 0 },
    { "a failure in a plain body", R,
      "{'status':'failed','output':[],'error':{'code':'server_error',"
      "'message':'x'}}",
      "model_unavailable", NULL, false, 0, 0, 0 },
    { "a failure that says what it has cost", R,
      "{'status':'failed','output':[],'usage':{'input_tokens':5,"
      "'output_tokens':2},'error':{'code':'server_error','message':'x'}}",
      "model_unavailable", NULL, false, 5, 2, 0 },
    { "an error, flat", R,
      SPEAK("a") EVENT("error", ",'code':'rate_limit_exceeded','message':'x'"),
      "model_unavailable", NULL, false, 0, 0, 0 },
    { "one that was cancelled", R, OVER("cancelled", "", ""),
      "model_unavailable", NULL, false, 0, 0, 0 },
    { "one that goes on in the background", R, RESPONSE("queued", ""),
      "model_cut", NULL, false, 0, 0, 0 },
    { "[DONE] alone ends a text", R, SPEAK("a") SPEAK("b") DONE, TEXT("ab"),
      "stop", false, 0, 0, 0 },
    { "[DONE] alone ends a text that came whole", R,
      ITEM("0", SPOKEN("ab")) DONE, TEXT("ab"), "stop", false, 0, 0, 0 },
    { "[DONE] alone ends a call", R,
      ADDED("0", FUNCTION("x", "")) PART("0", "{}")
          ITEM("0", FUNCTION("x", "{}")) DONE,
      CALLS(ONE("x", "f", "{}")), "tool_calls", false, 0, 0, 0 },
    { "[DONE] alone inside a call", R,
      SPEAK("a") ADDED("1", FUNCTION("x", "")) PART("1", "{\\\"a\\\":") DONE,
      TEXT("a"), "tool_calls", true, 0, 0, 0 },
    { "[DONE] alone, and nothing before it", R,
      EVENT("response.created", "") DONE, "model_cut", NULL, false, 0, 0, 0 },
    { "an error line in a stream", R,
      SPEAK("a") "error: {'code':'rate_limit_exceeded','message':'x'}\n\n",
      "model_unavailable", NULL, false, 0, 0, 0 },
    { "no end", R, SPEAK("a") ITEM("0", SPOKEN("a")), "model_cut", NULL, false,
      0, 0, 0 },
    { "chat-completions", R, PLAIN("'content':'a'", "'stop'"), "model_garbage",
      NULL, false, 0, 0, 0 },
};

static void feed(struct reply *reply, struct view bytes, size_t size)
{
    while (bytes.len > 0) {
        struct view piece = { bytes.data, size < bytes.len ? size : bytes.len };

        reply_feed(reply, piece);
        bytes.data += piece.len;
        bytes.len -= piece.len;
    }
}

static void check_result(const struct row *row, size_t size,
                         const struct model_reply *result)
{
    CLEANUP(cleanup_free) char *want = json_of(row->message);
    CLEANUP(cleanup_free)
    char *got = json_dumps(result->message, JSON_COMPACT);
    json_t *message = json_loads(want, 0, NULL);

    if (!message || !json_equal(message, result->message))
        fail_msg("%s, in pieces of %zu: %s", row->name, size, got);
    if (!view_is(result->finish_reason, row->finish) ||
        result->truncated != row->truncated)
        fail_msg("%s: %.*s, truncated %d", row->name,
                 VIEW_ARG(result->finish_reason), result->truncated);
    if (result->usage.input_tokens != row->input ||
        result->usage.output_tokens != row->output ||
        result->usage.cached_tokens != row->cached)
        fail_msg("%s: usage", row->name);
    json_decref(message);
}

static void check_row(const struct row *row, struct view bytes, size_t size)
{
    struct reply *reply =
        reply_new(row->dialect, (struct reply_events){ 0 }, NULL);
    struct model_reply result;
    struct err err = { 0 };
    bool good;

    feed(reply, bytes, size);
    good = reply_end(reply, true, &result, &err);
    if (good && *row->message == '{')
        check_result(row, size, &result);
    else if (good)
        fail_msg("%s, in pieces of %zu: no error", row->name, size);
    else if (strcmp(err.code, row->message) != 0)
        fail_msg("%s, in pieces of %zu: %s: %s", row->name, size, err.code,
                 err.text);
    else if (result.usage.input_tokens != row->input ||
             result.usage.output_tokens != row->output)
        fail_msg("%s: usage of a failure", row->name);
    reply_free(reply);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        CLEANUP(cleanup_free) char *bytes = json_of(rows[i].bytes);

        for (size_t size = 1; size <= 60; size++)
            check_row(&rows[i], view_of(bytes), size);
        check_row(&rows[i], view_of(bytes), strlen(bytes));
    }
}

/* Whatever an endpoint says of the reason: the tokens are used up. */
static void test_a_reply_that_used_up_its_tokens(void **state)
{
    static const struct {
        const struct dialect *dialect;
        const char *bytes;
    } spent[] = {
        { A, START("") USE("0", "x") INPUT("0", "{}") END("0")
                 STOP("tool_use", "'output_tokens':9") },
        { R, ITEM("0", FUNCTION("x", "{}"))
                 OVER("completed", "", ",'usage':{'output_tokens':9}") },
    };

    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (uint64_t max_tokens = 9; max_tokens <= 10; max_tokens++) {
            CLEANUP(cleanup_free) char *bytes = json_of(spent[i].bytes);
            struct reply *reply =
                reply_new(spent[i].dialect, (struct reply_events){ 0 }, NULL);
            struct model_reply result;
            struct err err = { 0 };

            reply_limit(reply, max_tokens);
            reply_feed(reply, view_of(bytes));
            assert_true(reply_end(reply, true, &result, &err));
            assert_int_equal(result.truncated, max_tokens == 9);
            assert_int_equal(result.dropped_calls, max_tokens == 9);
            reply_free(reply);
        }
}

static void test_only_payload_is_progress(void **state)
{
    static const struct {
        const struct dialect *dialect;
        const char *event;
        bool payload;
    } events[] = {
        { A, EVENT("ping", ""), false },
        { A, SAY("a"), true },
        { A, SAY("a") EVENT("ping", ""), true },
        { R, EVENT("keepalive", ""), false },
        { R, SPEAK("a"), true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
        CLEANUP(cleanup_free) char *bytes = json_of(events[i].event);
        struct reply *reply =
            reply_new(events[i].dialect, (struct reply_events){ 0 }, NULL);

        if (reply_feed(reply, view_of(bytes)) != events[i].payload)
            fail_msg("%s", bytes);
        reply_free(reply);
    }
}

/* The code of what comes of an event that comes again and again. */
static void flood(const struct dialect *dialect, const char *text, size_t times,
                  char code[32])
{
    CLEANUP(cleanup_free) char *event = json_of(text);
    struct reply *reply = reply_new(dialect, (struct reply_events){ 0 }, NULL);
    struct model_reply result;
    struct err err = { 0 };

    for (size_t i = 0; i < times && !reply_is_over(reply); i++)
        reply_feed(reply, view_of(event));
    reply_end(reply, true, &result, &err);
    memcpy(code, err.code, 32);
    reply_free(reply);
}

#define FORTY "0123456789012345678901234567890123456789"
#define PAGE                                                                   \
    FORTY FORTY FORTY FORTY FORTY FORTY FORTY FORTY FORTY FORTY FORTY FORTY    \
        FORTY FORTY FORTY FORTY FORTY FORTY FORTY FORTY FORTY FORTY FORTY      \
            FORTY FORTY FORTY FORTY FORTY FORTY FORTY FORTY FORTY FORTY FORTY

static void test_endless_replies_are_given_up(void **state)
{
    static const struct {
        const struct dialect *dialect;
        const char *event;
        size_t times;
    } floods[] = {
        { A, SAY(FORTY), 14000 },
        { A, PIECE("0", "'type':'thinking_delta','thinking':'" FORTY "'"),
          14000 },
        { A, BEGIN("0", "'type':'redacted_thinking','data':'" FORTY "'"),
          14000 },
        { A, BEGIN("0", "'type':'redacted_thinking','data':'" PAGE "'"), 400 },
        { A, BEGIN("0", "'type':'thinking','thinking':''"), 600 },
        { A, USE("0", "x") END("0"), 65 },
        { A, USE("0", "x") INPUT("0", FORTY), 65 },
        { R, SPEAK(FORTY), 14000 },
        { R, ITEM("0", SPOKEN(FORTY)), 14000 },
        { R, ADDED("0", "'type':'reasoning'"), 600 },
        { R, ITEM("0", "'type':'reasoning','encrypted_content':'" FORTY "'"),
          14000 },
        { R, ITEM("0", FUNCTION("x", "{}")) ADDED("0", FUNCTION("y", "")), 65 },
        { R, EVENT("response.refusal.delta", ",'delta':'" FORTY "'"), 14000 },
    };
    char code[32];

    (void)state;
    for (size_t i = 0; i < sizeof(floods) / sizeof(*floods); i++) {
        flood(floods[i].dialect, floods[i].event, floods[i].times, code);
        if (strcmp(code, "model_too_long") != 0)
            fail_msg("%zu: %s: %s", i, floods[i].event, code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_a_reply_that_used_up_its_tokens),
        cmocka_unit_test(test_only_payload_is_progress),
        cmocka_unit_test(test_endless_replies_are_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
