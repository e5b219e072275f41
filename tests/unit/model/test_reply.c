/* test_reply.c - replies of chat-completions endpoints, as odd as they come. */
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

static const struct row {
    const char *name;
    const char *bytes;
    const char *message; /* or the code of the error, when it has no { */
    const char *finish;
    bool truncated;
} rows[] = {
    /* text */
    { "text comes in deltas",
      DELTA("'role':'assistant','content':''") DELTA("'content':'a'")
          DELTA("'content':'b'") FINISH("stop") DONE,
      TEXT("ab"), "stop", false },
    { "a plain body", PLAIN("'role':'assistant','content':'ab'", "'stop'"),
      TEXT("ab"), "stop", false },
    { "a plain body with a message and a delta",
      "{'choices':[{'index':0,'message':{'role':'assistant','content':'ab'},"
      "'delta':{'role':'assistant','content':''},'finish_reason':'stop'}]}",
      TEXT("ab"), "stop", false },
    { "a plain body with a delta and an empty message",
      "{'choices':[{'message':{},'delta':{'content':'ab'},'finish_reason':"
      "'stop'}]}",
      TEXT("ab"), "stop", false },
    { "a plain body with a delta and a message of nothing",
      "{'choices':[{'message':{'content':null},'delta':{'content':'ab'},"
      "'finish_reason':'stop'}]}",
      TEXT("ab"), "stop", false },
    { "a chunk with an empty delta and a message",
      "data: {'choices':[{'delta':{},'message':{'content':'ab'},"
      "'finish_reason':'stop'}]}\n\n" DONE,
      TEXT("ab"), "stop", false },
    { "a chunk with a delta and a message",
      "data: {'choices':[{'delta':{'content':'a'},'message':{'content':'ab'},"
      "'finish_reason':'stop'}]}\n\n" DONE,
      TEXT("a"), "stop", false },
    { "blank lines before a plain body",
      "\n\n \r\n" PLAIN("'content':'ab'", "'stop'"), TEXT("ab"), "stop",
      false },
    { "blanks before a stream", "\n " DELTA("'content':'a'") FINISH("stop"),
      TEXT("a"), "stop", false },
    { "a plain body may lack its reason", PLAIN("'content':'a'", "null"),
      TEXT("a"), "", false },
    { "comments come first",
      ": OPENROUTER PROCESSING\n\n" DELTA("'content':'a'") FINISH("stop") DONE,
      TEXT("a"), "stop", false },
    { "no [DONE] but a reason", DELTA("'content':'a'") FINISH("stop"),
      TEXT("a"), "stop", false },
    { "[DONE] but no reason", DELTA("'content':'a'") DONE, TEXT("a"), "",
      false },
    { "the last event lacks its line end",
      DELTA("'content':'a'") "data: {'choices':[{'delta':{},'finish_reason':"
                             "'stop'}]}",
      TEXT("a"), "stop", false },
    { "the reason comes twice, text comes after it",
      DELTA("'content':'a'") FINISH("stop") DELTA("'content':'b'")
          FINISH("stop") DONE,
      TEXT("ab"), "stop", false },
    { "content as a list of parts",
      DELTA("'content':[{'type':'text','text':'a'},{'type':'text','text':"
            "'b'}]") FINISH("stop"),
      TEXT("ab"), "stop", false },
    { "a second choice is not ours",
      "data: {'choices':[{'index':1,'delta':{'content':'x'}},{'index':0,"
      "'delta':{'content':'a'}}]}\n\n" FINISH("stop"),
      TEXT("a"), "stop", false },
    { "nothing at all is an empty answer",
      DELTA("'role':'assistant'") FINISH("stop") DONE, TEXT(""), "stop",
      false },
    { "an answer that was too long", DELTA("'content':'a'") FINISH("length"),
      TEXT("a"), "length", true },
    { "a stray byte becomes U+FFFD",
      DELTA("'content':'a\xFF z'") FINISH("stop"), TEXT("a\xEF\xBF\xBD z"),
      "stop", false },
    { "half a surrogate pair becomes U+FFFD",
      DELTA("'content':'\\uD83D'") DELTA("'content':'\\uD83D\\uDE00'")
          FINISH("stop"),
      TEXT("\xEF\xBF\xBD\xF0\x9F\x98\x80"), "stop", false },

    { "a number beyond 64 bits",
      "{'seed':14836394043272784000,'choices':[{'message':{'content':"
      "'14836394043272784000'}}]}",
      TEXT("14836394043272784000"), "", false },

    /* reasoning */
    { "reasoning_content is kept",
      DELTA("'reasoning_content':'h'") DELTA("'reasoning_content':'m'")
          DELTA("'content':'a'") FINISH("stop"),
      "{'role':'assistant','content':'a','reasoning_content':'hm'}", "stop",
      false },
    { "reasoning keeps its other name",
      DELTA("'reasoning':'hm'") DELTA("'content':'a'") FINISH("stop"),
      "{'role':'assistant','content':'a','reasoning':'hm'}", "stop", false },
    { "both names say the same",
      DELTA("'reasoning':'hm','reasoning_content':'hm'") DELTA("'content':'a'")
          FINISH("stop"),
      "{'role':'assistant','content':'a','reasoning_content':'hm'}", "stop",
      false },

    { "reasoning_details come in pieces, and go back whole",
      DELTA("'reasoning':'h','reasoning_details':[{'type':'reasoning.text',"
            "'text':'h','id':'r','format':'f','index':0}]")
          DELTA("'reasoning':'m','reasoning_details':[{'type':"
                "'reasoning.text','text':'m','id':'r','format':'f','index':0}]")
              DELTA("'reasoning_details':[{'type':'reasoning.text','text':'',"
                    "'signature':'s','id':'','index':0},{'type':"
                    "'reasoning.encrypted','data':'x','index':0},{'type':"
                    "'reasoning.text','text':'k','index':1}]") FINISH("stop"),
      "{'role':'assistant','content':'','reasoning':'hm','reasoning_details':["
      "{'type':'reasoning.text','text':'hm','id':'r','format':'f','index':0,"
      "'signature':'s'},{'type':'reasoning.encrypted','data':'x','index':0},"
      "{'type':'reasoning.text','text':'k','index':1}]}",
      "stop", false },
    { "reasoning_details without an index: text goes on, nothing else does",
      DELTA("'reasoning_details':[{'type':'reasoning.text','text':'h'}]") DELTA(
          "'reasoning_details':[{'type':'reasoning.text','text':'m'},{'type':"
          "'reasoning.encrypted','data':'x'},{'type':'reasoning.encrypted',"
          "'data':'y'},{'type':'reasoning.text','text':'z'}]") FINISH("stop"),
      "{'role':'assistant','content':'','reasoning_details':["
      "{'type':'reasoning.text','text':'hm'},"
      "{'type':'reasoning.encrypted','data':'x'},"
      "{'type':'reasoning.encrypted','data':'y'},"
      "{'type':'reasoning.text','text':'z'}]}",
      "stop", false },
    { "in a plain body every block of reasoning_details is its own",
      PLAIN("'content':'a','reasoning_details':[{'type':'reasoning.text',"
            "'text':'h','index':0},{'type':'reasoning.text','text':null,"
            "'index':0},7]",
            "'stop'"),
      "{'role':'assistant','content':'a','reasoning_details':[{'type':"
      "'reasoning.text','text':'h','index':0},{'type':'reasoning.text','text':"
      "null,'index':0}]}",
      "stop", false },
    { "empty reasoning_details are none",
      DELTA("'content':'a','reasoning_details':[]") FINISH("stop"), TEXT("a"),
      "stop", false },

    /* calls */
    { "a call comes in deltas",
      CALL("'index':0,'id':'c1','type':'function','function':{'name':'f',"
           "'arguments':''}") CALL("'index':0,'function':{'arguments':'{}'}")
          FINISH("tool_calls") DONE,
      CALLS(ONE("c1", "f", "{}")), "tool_calls", false },
    { "a whole call in one delta",
      CALL("'index':0,'id':'c1','function':{'name':'f','arguments':'{}'}")
          FINISH("tool_calls"),
      CALLS(ONE("c1", "f", "{}")), "tool_calls", false },
    { "arguments start as null",
      CALL("'index':0,'id':'c1','function':{'name':'f','arguments':null}")
          CALL("'index':0,'function':{'arguments':'[1]'}") FINISH("tool_calls"),
      CALLS(ONE("c1", "f", "[1]")), "tool_calls", false },
    { "arguments start without the member",
      CALL("'index':0,'id':'c1','function':{'name':'f'}")
          CALL("'index':0,'function':{'arguments':'[1]'}") FINISH("tool_calls"),
      CALLS(ONE("c1", "f", "[1]")), "tool_calls", false },
    { "no arguments at all are {}",
      CALL("'index':0,'id':'c1','function':{'name':'f','arguments':''}")
          FINISH("tool_calls"),
      CALLS(ONE("c1", "f", "{}")), "tool_calls", false },
    { "id and name are repeated, the first count",
      CALL("'index':0,'id':'c1','function':{'name':'f','arguments':''}")
          CALL("'index':0,'id':'c1','function':{'name':'f','arguments':"
               "'[1'}") CALL("'index':0,'id':'','function':{'name':'',"
                             "'arguments':']'}") FINISH("tool_calls"),
      CALLS(ONE("c1", "f", "[1]")), "tool_calls", false },
    { "two calls interleaved by index",
      CALL("'index':0,'id':'a','function':{'name':'f','arguments':'['}")
          CALL("'index':1,'id':'b','function':{'name':'g','arguments':'['}")
              CALL("'index':0,'function':{'arguments':'1]'}")
                  CALL("'index':1,'function':{'arguments':'2]'}")
                      FINISH("tool_calls"),
      CALLS(ONE("a", "f", "[1]") "," ONE("b", "g", "[2]")), "tool_calls",
      false },
    { "the index starts at 1",
      CALL("'index':1,'id':'a','function':{'name':'f','arguments':'['}")
          CALL("'index':1,'function':{'arguments':']'}") FINISH("tool_calls"),
      CALLS(ONE("a", "f", "[]")), "tool_calls", false },
    { "different ids at one index are different calls",
      CALL("'index':0,'id':'a','function':{'name':'f','arguments':'[1]'}")
          CALL("'index':0,'id':'b','function':{'name':'f','arguments':'['}")
              CALL("'index':0,'function':{'arguments':'2]'}") FINISH("stop"),
      CALLS(ONE("a", "f", "[1]") "," ONE("b", "f", "[2]")), "stop", false },
    { "no index: the id tells",
      CALL("'id':'a','function':{'name':'f','arguments':'['}")
          CALL("'id':'b','function':{'name':'g','arguments':'['}")
              CALL("'id':'a','function':{'arguments':'1]'}")
                  CALL("'id':'b','function':{'arguments':'2]'}")
                      FINISH("tool_calls"),
      CALLS(ONE("a", "f", "[1]") "," ONE("b", "g", "[2]")), "tool_calls",
      false },
    { "neither index nor id: the last call goes on",
      CALL("'id':'a','function':{'name':'f','arguments':'[1]'}")
          CALL("'id':'b','function':{'name':'g','arguments':'['}")
              CALL("'function':{'arguments':'2]'}")
                  CALL("'function':{'arguments':''}") FINISH("tool_calls"),
      CALLS(ONE("a", "f", "[1]") "," ONE("b", "g", "[2]")), "tool_calls",
      false },
    { "whole calls without index and id do not run together",
      CALL("'function':{'name':'f','arguments':'{}'}") CALL(
          "'function':{'name':'f','arguments':'[2]'}") FINISH("tool_calls"),
      CALLS(ONE("", "f", "{}") "," ONE("", "f", "[2]")), "tool_calls", false },
    { "whole calls with one constant id and index are two",
      CALL("'index':0,'id':'x','function':{'name':'f','arguments':'{}'}")
          CALL("'index':0,'id':'x','function':{'name':'f','arguments':"
               "'[2]'}") FINISH("tool_calls"),
      CALLS(ONE("x", "f", "{}") "," ONE("x", "f", "[2]")), "tool_calls",
      false },
    { "blanks behind a whole call are no other call",
      CALL("'index':0,'id':'x','function':{'name':'f','arguments':'{}'}")
          CALL("'index':0,'id':'x','function':{'name':'f','arguments':' '}")
              FINISH("tool_calls"),
      CALLS(ONE("x", "f", "{} ")), "tool_calls", false },
    { "in a plain body every call is its own",
      PLAIN("'content':null,'tool_calls':[{'id':'','function':{'name':'f',"
            "'arguments':''}},{'id':'','function':{'name':'g','arguments':"
            "'[2]'}}]",
            "'tool_calls'"),
      CALLS(ONE("", "f", "{}") "," ONE("", "g", "[2]")), "tool_calls", false },
    { "arguments are an object",
      PLAIN("'content':null,'tool_calls':[{'id':'a','function':{'name':'f',"
            "'arguments':{'x':1}}}]",
            "'stop'"),
      CALLS(ONE("a", "f", "{\\\"x\\\":1}")), "stop", false },
    { "arguments keep their bytes",
      CALL("'index':0,'id':'a','function':{'name':'f','arguments':'{ '}")
          CALL("'index':0,'function':{'arguments':' }'}") FINISH("tool_calls"),
      CALLS(ONE("a", "f", "{  }")), "tool_calls", false },
    { "arguments that are no JSON are kept for who repairs them",
      CALL("'index':0,'id':'a','function':{'name':'f','arguments':"
           "'print(1'}") FINISH("tool_calls"),
      CALLS(ONE("a", "f", "print(1")), "tool_calls", false },
    { "an id may be a number",
      CALL("'index':0,'id':7,'function':{'name':'f','arguments':'{}'}")
          FINISH("tool_calls"),
      CALLS(ONE("7", "f", "{}")), "tool_calls", false },
    { "members that we do not know are sent back",
      CALL("'index':0,'id':'a','function':{'name':'f','arguments':'{}'},"
           "'extra_content':{'s':1}") FINISH("tool_calls"),
      CALLS("{'id':'a','type':'function','function':{'name':'f',"
            "'arguments':'{}'},'extra_content':{'s':1}}"),
      "tool_calls", false },
    { "text and calls together",
      DELTA("'content':'a'")
          CALL("'index':0,'id':'a','function':{'name':'f','arguments':"
               "'{}'}") FINISH("tool_calls"),
      "{'role':'assistant','content':'a','tool_calls':[" ONE("a", "f",
                                                             "{}") "]}",
      "tool_calls", false },
    { "the old form of one call",
      DELTA("'function_call':{'name':'f','arguments':''}")
          DELTA("'function_call':{'arguments':'{}'}") FINISH("function_call"),
      CALLS(ONE("", "f", "{}")), "function_call", false },

    { "calls that say nothing are none",
      PLAIN("'content':'a','function_call':{'name':'','arguments':''},"
            "'tool_calls':[{'id':'','function':{'name':'','arguments':''}}]",
            "'stop'"),
      TEXT("a"), "stop", false },

    /* what was cut off */
    { "a call cut for its length is dropped",
      CALL("'index':0,'id':'a','function':{'name':'f','arguments':'{}'}")
          FINISH("length") DONE,
      TEXT(""), "length", true },
    { "a call that is half JSON is dropped whatever the reason",
      CALL("'index':0,'id':'a','function':{'name':'f','arguments':"
           "'{\\\"code\\\": \\\"pri'}") FINISH("tool_calls") DONE,
      TEXT(""), "tool_calls", true },
    { "a length may be written in capitals",
      CALL("'index':0,'id':'a','function':{'name':'f','arguments':'{}'}")
          FINISH("MAX_TOKENS"),
      TEXT(""), "MAX_TOKENS", true },
    { "without a reason a whole call counts",
      CALL("'index':0,'id':'a','function':{'name':'f','arguments':'{}'}") DONE,
      CALLS(ONE("a", "f", "{}")), "", false },
    { "without a reason arguments that may be half do not",
      CALL("'index':0,'id':'a','function':{'name':'f','arguments':''}") DONE,
      TEXT(""), "", true },
    { "and so are the whole ones beside it",
      CALL("'index':0,'id':'a','function':{'name':'f','arguments':'{}'}")
          CALL("'index':1,'id':'b','function':{'name':'f','arguments':'{'}")
              FINISH("tool_calls"),
      TEXT(""), "tool_calls", true },
    { "a bracket inside a string does not count",
      CALL("'index':0,'id':'a','function':{'name':'f','arguments':"
           "'{\\\"a\\\":\\\"}\\\\\\\"{\\\"'}") FINISH("tool_calls"),
      TEXT(""), "tool_calls", true },
    { "nor does a quote behind a backslash",
      CALL("'index':0,'id':'a','function':{'name':'f','arguments':"
           "'{\\\"a\\\":\\\"\\\\\\\"{\\\"}'}") FINISH("tool_calls"),
      CALLS(ONE("a", "f", "{\\\"a\\\":\\\"\\\\\\\"{\\\"}")), "tool_calls",
      false },
    { "the stream ends without a reason", DELTA("'content':'a'"), "model_cut",
      NULL, false },
    { "the stream ends inside an event",
      DELTA("'content':'a'") "data: {'choices':[{'ind", "model_cut", NULL,
      false },
    { "the reason came, the rest is cut",
      DELTA("'content':'a'") FINISH("stop") "data: {'choices':[],'us",
      TEXT("a"), "stop", false },

    /* errors inside a 200 */
    { "an error event",
      DELTA("'content':'a'") "event: error\ndata: {'error':{'message':'no',"
                             "'type':'server_error'}}\n\n",
      "model_unavailable", NULL, false },
    { "an error chunk with a code",
      "data: {'error':{'code':429,'message':'slow'},'choices':[]}\n\n",
      "model_unavailable", NULL, false },
    { "an error that will come again",
      "data: {'error':{'code':400,'message':'no'}}\n\n", "model_rejected", NULL,
      false },
    { "a failed tool call can be made anew",
      "event: error\ndata: {'error':{'message':'Failed to call a function.',"
      "'code':'tool_use_failed','failed_generation':'x'}}\n\n",
      "model_garbage", NULL, false },
    { "an error after the reason",
      FINISH("length") "data: {'error':"
                       "{'message':'x'}}\n\n",
      "model_unavailable", NULL, false },
    { "a plain error",
      "{'error':{'message':'quota','code':"
      "'insufficient_quota'}}",
      "model_rejected", NULL, false },
    { "an error null is none",
      "{'error':null,'choices':[{'message':{'content':'a'}}]}", TEXT("a"), "",
      false },
    { "the reason is error", DELTA("'content':'a'") FINISH("error"),
      "model_unavailable", NULL, false },

    /* refusals */
    { "a refusal",
      DELTA("'refusal':'I '") DELTA("'refusal':'cannot'") FINISH("stop"),
      "model_refused", NULL, false },
    { "a content filter", DELTA("'content':'a'") FINISH("content_filter"),
      "model_refused", NULL, false },
    { "a refusal null or empty is none",
      PLAIN("'content':'a','refusal':null", "'stop'"), TEXT("a"), "stop",
      false },

    /* reasoning in the text */
    { "a thought that begins the text is none of it",
      DELTA("'content':'\\n<th'") DELTA("'content':'ink>h'") DELTA(
          "'content':'m</thi'") DELTA("'content':'nk>\\n\\na'") FINISH("stop"),
      "{'role':'assistant','content':'a','opaque':{'dialect':'chat','blocks':["
      "{'type':'inline','text':'\\n<think>hm</think>\\n\\n'},{"
      "'text_bytes':1}]}}",
      "stop", false },
    { "what only looks like one is text",
      DELTA("'content':'<thin'") DELTA("'content':' air>'") FINISH("stop"),
      TEXT("<thin air>"), "stop", false },
    { "behind the beginning it is spoken of",
      DELTA("'content':'say <think>a</think>b'") FINISH("stop"),
      TEXT("say <think>a</think>b"), "stop", false },
    { "a thought and a call",
      DELTA("'content':'<think>h</think>'")
          CALL("'index':0,'id':'a','function':{'name':'f','arguments':'{}'}")
              FINISH("tool_calls"),
      "{'role':'assistant','content':'','opaque':{'dialect':'chat','blocks':["
      "{'type':'inline','text':'<think>h</think>'}]},'tool_calls':[" ONE(
          "a", "f", "{}") "]}",
      "tool_calls", false },
    { "a thought without an end is the answer",
      DELTA("'content':'<think>a'") FINISH("stop"), TEXT("<think>a"), "stop",
      false },
    { "... unless it was cut off",
      DELTA("'content':'<think>a'") FINISH("length"),
      "{'role':'assistant','content':'','opaque':{'dialect':'chat','blocks':["
      "{'type':'inline','text':'<think>a'}]}}",
      "length", true },
    { "a mark that only closes, on a line of its own",
      DELTA("'content':'hm\\n</think>\\n\\na'") FINISH("stop"),
      "{'role':'assistant','content':'a','opaque':{'dialect':'chat','blocks':["
      "{'type':'inline','text':'hm\\n</think>\\n\\n'},{'text_bytes':1}]}}",
      "stop", false },
    { "in a sentence, or behind code, it is left alone",
      DELTA("'content':'a </think> b\\n```\\n</think>\\n```'") FINISH("stop"),
      TEXT("a </think> b\\n```\\n</think>\\n```"), "stop", false },
    { "thoughts that are parts go back as parts",
      DELTA("'content':[{'type':'thinking','thinking':[{'type':'text','text':"
            "'h'}]}]") DELTA("'content':[{'type':'thinking','thinking':[{"
                             "'type':'text','text':'m'}]}]")
          DELTA("'content':'a'") FINISH("stop"),
      "{'role':'assistant','content':'a','opaque':{'dialect':'chat','blocks':["
      "{'type':'thinking','thinking':'hm'},{'text_bytes':1}]}}",
      "stop", false },

    /* garbage */
    { "an empty body", "", "model_garbage", NULL, false },
    { "a page", "<html><body>502</body></html>", "model_garbage", NULL, false },
    { "a stream of other things", "data: {'x':1}\n\n" DONE, "model_garbage",
      NULL, false },
    { "an event that is not JSON",
      DELTA("'content':'a'") "data: {oops}\n\n" FINISH("stop"), "model_garbage",
      NULL, false },
    { "a plain body that is not JSON", "{oops}", "model_garbage", NULL, false },
    { "a plain body without choices", "{'choices':[]}", "model_garbage", NULL,
      false },
    { "a call without a name",
      CALL("'index':0,'id':'a','function':{'arguments':'{}'}")
          FINISH("tool_calls"),
      "model_garbage", NULL, false },
};

static void feed_in_pieces(struct reply *reply, struct view bytes, size_t size)
{
    while (bytes.len > 0) {
        struct view piece = { bytes.data, size < bytes.len ? size : bytes.len };

        reply_feed(reply, piece);
        bytes.data += piece.len;
        bytes.len -= piece.len;
    }
}

static void check_message(const struct row *row, size_t size,
                          const struct model_reply *result)
{
    CLEANUP(cleanup_free) char *want = json_of(row->message);
    CLEANUP(cleanup_free)
    char *got = json_dumps(result->message, JSON_COMPACT);
    json_t *message = json_loads(want, 0, NULL);

    if (!json_equal(message, result->message))
        fail_msg("%s, in pieces of %zu: %s", row->name, size, got);
    if (!view_is(result->finish_reason, row->finish))
        fail_msg("%s: finish_reason %.*s", row->name,
                 VIEW_ARG(result->finish_reason));
    if (result->truncated != row->truncated)
        fail_msg("%s: truncated", row->name);
    json_decref(message);
}

static void check_row(const struct row *row, struct view bytes, size_t size)
{
    struct reply *reply =
        reply_new(&dialect_chat, (struct reply_events){ 0 }, NULL);
    struct model_reply result;
    struct err err = { 0 };
    bool good;

    feed_in_pieces(reply, bytes, size);
    good = reply_end(reply, true, &result, &err);
    if (good && *row->message == '{')
        check_message(row, size, &result);
    else if (good)
        fail_msg("%s, in pieces of %zu: no error", row->name, size);
    else if (strcmp(err.code, row->message) != 0)
        fail_msg("%s, in pieces of %zu: %s: %s", row->name, size, err.code,
                 err.text);
    reply_free(reply);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        CLEANUP(cleanup_free) char *bytes = json_of(rows[i].bytes);

        for (size_t size = 1; size <= strlen(bytes) + 1; size++)
            check_row(&rows[i], view_of(bytes), size);
    }
}

/* Wherever the connection breaks, there is either the whole reply or an error;
 * a call never comes out of half a stream. */
static void test_every_cut(void **state)
{
    static const char text[] =
        CALL("'index':0,'id':'a','function':{'name':'f','arguments':''}")
            CALL("'index':0,'function':{'arguments':'{\\\"code\\\":'}")
                CALL("'index':0,'function':{'arguments':' \\\"1\\\"}'}")
                    FINISH("tool_calls") DONE;
    CLEANUP(cleanup_free) char *bytes = json_of(text);
    size_t whole = (size_t)(strstr(bytes, "\n\ndata: [DONE]") - bytes);

    (void)state;
    for (size_t len = 0; len < strlen(bytes); len++) {
        struct reply *reply =
            reply_new(&dialect_chat, (struct reply_events){ 0 }, NULL);
        struct model_reply result;
        struct err err = { 0 };

        reply_feed(reply, (struct view){ bytes, len });
        if (reply_end(reply, false, &result, &err) != (len >= whole))
            fail_msg("cut at %zu of %zu: %s", len, strlen(bytes), err.text);
        if (len < whole)
            assert_string_equal(err.code, "model_cut");
        reply_free(reply);
    }
}

static void note(void *owner, struct view text)
{
    buf_printf(owner, "%.*s|", VIEW_ARG(text));
}

static void test_pieces_are_told_as_they_come(void **state)
{
    CLEANUP(cleanup_free)
    char *bytes = json_of(
        DELTA("'reasoning':'hm'") DELTA("'content':''") DELTA("'content':'a'")
            DELTA("'content':'b'") DELTA("'tool_calls':[{'index':0,'id':'1',"
                                         "'function':{'name':'f'}}]")
                DELTA("'tool_calls':[{'index':0,'function':{'arguments':'{'}}]")
                    DELTA("'tool_calls':[{'index':1,'id':'2','function':{"
                          "'name':'g','arguments':'{}'}}]"));
    CLEANUP(buf_finish) struct buf seen;
    struct reply *reply;

    (void)state;
    buf_init(&seen, 64);
    reply = reply_new(&dialect_chat,
                      (struct reply_events){ note, note, note, NULL }, &seen);
    reply_feed(reply, view_of(bytes));
    assert_true(view_is(buf_view(&seen), "hm|a|b|f|g|"));
    reply_free(reply);
}

static void test_only_payload_is_progress(void **state)
{
    CLEANUP(cleanup_free) char *event = json_of(DELTA("'content':'a'"));
    struct reply *reply =
        reply_new(&dialect_chat, (struct reply_events){ 0 }, NULL);

    (void)state;
    assert_false(reply_feed(reply, VIEW("\n\n")));
    assert_false(reply_feed(reply, VIEW(": keep-alive\n\n")));
    assert_false(reply_feed(reply, VIEW("data: {")));
    assert_true(reply_feed(reply, view_of(event + 7)));
    assert_false(reply_feed(reply, VIEW(": keep-alive\n\n")));
    assert_false(reply_is_over(reply));
    assert_true(reply_feed(reply, VIEW("data: [DONE]\n\n")));
    assert_true(reply_is_over(reply));
    assert_false(reply_feed(reply, view_of(event)));
    reply_free(reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_pieces_are_told_as_they_come),
        cmocka_unit_test(test_only_payload_is_progress),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
