/* test_job.c - jobs as careful, careless and hostile producers send them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/job.h"
#include "schemas/message/limits.h"
#include "tests/unit/message/notation.h"

#define ID "'v':1,'id':'019aa5c8-1b2c-7000-8000-000000000000'"
#define TALK ID ",'prompt':'hi'"
#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TRACED                                                                 \
    "{" TALK ",'traceparent':"                                                 \
    "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',"               \
    "'tracestate':'"
#define MEMBERS_8(letter)                                                      \
    letter "0=1," letter "1=1," letter "2=1," letter "3=1," letter             \
           "4=1," letter "5=1," letter "6=1," letter "7=1"
#define MEMBERS_32                                                             \
    MEMBERS_8("a") "," MEMBERS_8("b") "," MEMBERS_8("c") "," MEMBERS_8("d")
#define BYTES_64                                                               \
    "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
#define BYTES_256 BYTES_64 BYTES_64 BYTES_64 BYTES_64
#define CALL(id, name)                                                         \
    "{'id':'" id "','type':'function','function':{'name':'" name               \
    "','arguments':'{}'}}"
#define ANSWER(id) "{'role':'tool','tool_call_id':'" id "','content':'c'}"
#define CALLS(calls) "{'role':'assistant','tool_calls':[" calls "]}"
#define HI "{'role':'user','content':'hi'}"
#define FILE_OF(name) "{'name':'" name "','blob':'" SHA "'}"

static const struct {
    const char *what;
    const char *job;
    const char *code; /* NULL: accepted */
    const char *text;
} rows[] = {
    { "a prompt", "{" TALK "}", NULL, NULL },
    { "a prompt and a system message", "{" TALK ",'system':'be brief'}", NULL,
      NULL },
    { "messages", "{" ID ",'messages':[{'role':'user','content':'hi'}]}", NULL,
      NULL },
    { "every role",
      "{" ID ",'messages':[{'role':'system','content':'a'},"
      "{'role':'developer','content':'b'},{'role':'user','content':''},"
      "{'role':'assistant','tool_calls':[" CALL("a",
                                                "f") "]}," ANSWER("a") "]}",
      NULL, NULL },
    { "content in parts",
      "{" ID ",'messages':[{'role':'user','content':["
      "{'type':'text','text':'hi'}]}]}",
      NULL, NULL },
    { "a user who says nothing", "{" ID ",'messages':[{'role':'user'}]}",
      "missing_field", "messages[0].content is required" },
    { "a user whose content is null",
      "{" ID ",'messages':[{'role':'user','content':null}]}", "missing_field",
      "messages[0].content is required" },
    { "content that is a number",
      "{" ID ",'messages':[{'role':'user','content':7}]}", "bad_field",
      "messages[0].content must be text, or an array of parts" },
    { "a part that is text",
      "{" ID ",'messages':[{'role':'user','content':['hi']}]}", "bad_field",
      "messages[0].content[0] must be a map" },
    { "a part of no type",
      "{" ID ",'messages':[{'role':'user','content':[{'text':'hi'}]}]}",
      "missing_field", "messages[0].content[0].type is required" },
    { "a trace",
      "{" TALK ",'traceparent':"
      "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'}",
      NULL, NULL },
    { "a trace of a later version",
      "{" TALK ",'traceparent':"
      "'cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more'}",
      NULL, NULL },
    { "a trace that is none", "{" TALK ",'traceparent':'x'}", "bad_field",
      "traceparent is \"x\", must be 00-<32 hexadecimal digits>-<16>-<2> in "
      "lower case, as W3C Trace Context has it" },
    { "a trace in capitals",
      "{" TALK ",'traceparent':"
      "'00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01'}",
      "bad_field",
      "traceparent is "
      "\"00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01\", must be "
      "00-<32 hexadecimal "
      "digits>-<16>-<2> in lower case, as W3C Trace Context has it" },
    { "a trace of zeros",
      "{" TALK ",'traceparent':"
      "'00-00000000000000000000000000000000-b7ad6b7169203331-01'}",
      "bad_field",
      "traceparent is "
      "\"00-00000000000000000000000000000000-b7ad6b7169203331-01\", must be "
      "00-<32 hexadecimal "
      "digits>-<16>-<2> in lower case, as W3C Trace Context has it" },
    { "a trace of a version that is none",
      "{" TALK ",'traceparent':"
      "'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'}",
      "bad_field",
      "traceparent is "
      "\"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\", must be "
      "00-<32 hexadecimal "
      "digits>-<16>-<2> in lower case, as W3C Trace Context has it" },
    { "a trace with something behind it",
      "{" TALK ",'traceparent':"
      "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x'}",
      "bad_field",
      "traceparent is "
      "\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x\", must be "
      "00-<32 hexadecimal "
      "digits>-<16>-<2> in lower case, as W3C Trace Context has it" },
    { "a trace with its state",
      TRACED "rojo=00f067aa0ba902b7, 9a@b-c=t6 1~\\t,,congo/x*_=,'}",
      "bad_field",
      "tracestate[3] is \"congo/x*_=\", must be key=value, as W3C Trace "
      "Context "
      "has it" },
    { "a state with blanks and empty members",
      TRACED "rojo=00f067aa0ba902b7, 9a@b-c=t6 1~\\t,,congo/x*_=!,'}", NULL,
      NULL },
    { "a state of 32 members", TRACED MEMBERS_32 "'}", NULL, NULL },
    { "a state of 33 members", TRACED MEMBERS_32 ",z=1'}", "bad_field",
      "tracestate has more than 32 members" },
    { "a state of 513 bytes", TRACED BYTES_256 BYTES_256 "+'}", "too_large",
      "tracestate is 513 bytes, the limit is 512" },
    { "a key of 257 bytes", TRACED "k" BYTES_256 "=1'}", "bad_field",
      "tracestate[0] is \"" BYTES_64
      "\", must be key=value, as W3C Trace Context "
      "has it" },
    { "a key of a capital", TRACED "a=1,B=2'}", "bad_field",
      "tracestate[1] is \"B=2\", must be key=value, as W3C Trace Context has "
      "it" },
    { "a key that begins with a digit", TRACED "9a=1'}", "bad_field",
      "tracestate[0] is \"9a=1\", must be key=value, as W3C Trace Context has "
      "it" },
    { "a key with two systems", TRACED "a@b@c=1'}", "bad_field",
      "tracestate[0] is \"a@b@c=1\", must be key=value, as W3C Trace Context "
      "has it" },
    { "a state without =", TRACED "a'}", "bad_field",
      "tracestate[0] is \"a\", must be key=value, as W3C Trace Context has "
      "it" },
    { "a value with =", TRACED "a=b=c'}", "bad_field",
      "tracestate[0] is \"a=b=c\", must be key=value, as W3C Trace Context has "
      "it" },
    { "a header in a value", TRACED "a=b\\r\\nX: y'}", "bad_field",
      "tracestate[0] is \"a=b??X: y\", must be key=value, as W3C Trace Context "
      "has it" },
    { "a key twice", TRACED "a=1,b=2,a=3'}", "bad_field",
      "tracestate[2] has the key \"a\" of an earlier member" },
    { "a state without a trace", "{" TALK ",'tracestate':'a=1'}", "bad_field",
      "tracestate is for a job with traceparent" },
    { "cells", "{" ID ",'kind':'code','cells':['x=1','x']}", NULL, NULL },
    { "unknown members", "{" TALK ",'colour':'red','limits':{'x':1}}", NULL,
      NULL },
    { "everything",
      "{" TALK ",'queue':'q','priority':'high','tenant':'t','session':'s',"
      "'mode':'tools','model':'m-1.5','tools':['search_web'],"
      "'files':[" FILE_OF(
          "a.csv") "],'limits':{'max_turns':9},"
                   "'retry':{'max_attempts':3},'idempotency_key':'k','not_"
                   "before':1,"
                   "'metadata':{'a':'b'},'traceparent':'00-"
                   "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'}",
      NULL, NULL },

    { "no id", "{'v':1,'prompt':'hi'}", "missing_field", "id is required" },
    { "an id that is not a UUID",
      "{'v':1,'id':'not-a-uuid-not-a-uuid-not-a-uuid-...','prompt':'hi'}",
      "bad_field", "id must be a UUIDv7 in lower case" },
    { "a short id", "{'v':1,'id':'7','prompt':'hi'}", "bad_field",
      "id is 1 bytes, must be 36" },
    { "no version", "{'prompt':'hi'}", "unsupported_version",
      "v is missing, must be 1" },
    { "another version", "{'v':2,'prompt':'hi'}", "unsupported_version",
      "v is 2, must be 1" },

    { "nothing to say", "{" ID "}", "missing_field",
      "prompt, messages or files are required for a conversation" },
    { "no messages", "{" ID ",'messages':[]}", "missing_field",
      "prompt, messages or files are required for a conversation" },
    { "messages and a prompt", "{" TALK ",'messages':[{'role':'user'}]}",
      "bad_field", "prompt and messages exclude each other" },
    { "cells in a conversation", "{" TALK ",'cells':['x']}", "bad_field",
      "cells are for kind code, not for a conversation" },
    { "code without cells", "{" ID ",'kind':'code'}", "missing_field",
      "cells is required for kind code" },
    { "code with a prompt", "{" TALK ",'kind':'code','cells':['x']}",
      "bad_field", "kind code takes cells, not messages or prompt" },
    { "variables of the environment",
      "{" TALK ",'env':{'API_KEY':'a=b','_':'','x9':'\xc3\xa9'}}", NULL, NULL },
    { "a variable without a name", "{" TALK ",'env':{'':'x'}}", "bad_field",
      "env has a key of 0 bytes, must be 1 to 128 of UTF-8" },
    { "a variable that a shell cannot name", "{" TALK ",'env':{'a-b':'x'}}",
      "bad_field",
      "env has the name \"a-b\", must be 1 to 128 of A-Z a-z 0-9 _ and not "
      "begin with a digit" },
    { "a variable that begins with a digit", "{" TALK ",'env':{'1a':'x'}}",
      "bad_field",
      "env has the name \"1a\", must be 1 to 128 of A-Z a-z 0-9 _ and not "
      "begin with a digit" },
    { "a variable that is no text", "{" TALK ",'env':{'a':1}}", "bad_field",
      "env has an integer under \"a\", must be text or bytes" },
    { "variables of a session",
      "{" ID ",'kind':'session','session':'s','env':{'a':'b'}}", "bad_field",
      "env is for jobs that run cells, not for kind session" },
    { "an unknown kind", "{" TALK ",'kind':'poem'}", "bad_field",
      "kind is \"poem\", must be one of conversation, code, session" },
    { "code with an action",
      "{" ID ",'kind':'code','cells':['x'],'session':'s',"
      "'action':{'do':'close'}}",
      "bad_field", "action is for kind session" },

    { "showing a session, not saying so",
      "{" ID ",'kind':'session','session':'s'}", NULL, NULL },
    { "a session's files",
      "{" ID ",'kind':'session','session':'s','action':{'do':'files'}}", NULL,
      NULL },
    { "getting one of its files",
      "{" ID ",'kind':'session','session':'s','action':{'do':'get',"
      "'names':['d/a.csv']}}",
      NULL, NULL },
    { "putting a file into it",
      "{" ID ",'kind':'session','session':'s','action':{'do':'put'},'files':"
      "[" FILE_OF("a.csv") "]}",
      NULL, NULL },
    { "forking it",
      "{" ID ",'kind':'session','session':'s','action':{'do':'fork','to':'t'}"
      "}",
      NULL, NULL },
    { "an action without a session", "{" ID ",'kind':'session'}",
      "missing_field", "session is required for kind session" },
    { "an unknown action",
      "{" ID ",'kind':'session','session':'s','action':{'do':'sing'}}",
      "bad_field",
      "action.do is \"sing\", must be one of show, files, get, put, close, "
      "fork" },
    { "a session with cells",
      "{" ID ",'kind':'session','session':'s','cells':['x']}", "bad_field",
      "kind session takes an action, not messages, prompt or cells" },
    { "getting nothing",
      "{" ID ",'kind':'session','session':'s','action':{'do':'get'}}",
      "missing_field", "action.names is required for action get" },
    { "getting a file without a name",
      "{" ID ",'kind':'session','session':'s','action':{'do':'get',"
      "'names':['a','']}}",
      "bad_field", "action.names[1] must be a path without NUL" },
    { "putting nothing",
      "{" ID ",'kind':'session','session':'s','action':{'do':'put'}}",
      "missing_field", "files is required for action put" },
    { "files for another action",
      "{" ID ",'kind':'session','session':'s','files':[" FILE_OF("a") "]}",
      "bad_field", "files is for action put, not for show" },
    { "forking to nowhere",
      "{" ID ",'kind':'session','session':'s','action':{'do':'fork'}}",
      "missing_field", "action.to is required for action fork" },
    { "forking to itself",
      "{" ID ",'kind':'session','session':'s','action':{'do':'fork','to':'s'}"
      "}",
      "bad_field", "action.to is the session itself" },
    { "forking to a path",
      "{" ID ",'kind':'session','session':'s','action':{'do':'fork',"
      "'to':'a\\nb'}}",
      "bad_field",
      "action.to is \"a?b\", must be 1 to 128 bytes of UTF-8 without "
      "control characters" },

    { "messages as text", "{" ID ",'messages':'hi'}", "bad_field",
      "messages must be an array of maps" },
    { "a message as text", "{" ID ",'messages':[{'role':'assistant'},'hi']}",
      "bad_field", "messages[1] must be a map" },
    { "a message without a role", "{" ID ",'messages':[{'content':'hi'}]}",
      "missing_field", "messages[0].role is required" },
    { "an unknown role", "{" ID ",'messages':[{'role':'robot'}]}", "bad_field",
      "messages[0].role is \"robot\", must be one of system, developer, "
      "user, assistant, tool" },
    { "a role as a number", "{" ID ",'messages':[{'role':1}]}", "bad_field",
      "messages[0].role must be text" },

    { "two calls, answered in another order, and the talk goes on",
      "{" ID ",'messages':[" HI "," CALLS(CALL("a", "f") "," CALL(
          "b", "g")) "," ANSWER("b") "," ANSWER("a") "," HI "]}",
      NULL, NULL },
    { "a system message between a call and its answer",
      "{" ID ",'messages':[" HI "," CALLS(
          CALL("a", "f")) ",{'role':'system','content':'x'}," ANSWER("a") "]}",
      NULL, NULL },
    { "a call that nothing answers, at the end",
      "{" ID ",'messages':[" HI "," CALLS(CALL("a", "f") "," CALL(
          "call_abc", "get_weather")) "," ANSWER("a") "]}",
      "bad_field",
      "messages[1].tool_calls[1]: no message answers the call \"call_abc\" of "
      "get_weather" },
    { "a call that nothing answers before the user speaks",
      "{" ID ",'messages':[" CALLS(CALL("a", "f")) "," HI "," ANSWER("a") "]}",
      "bad_field",
      "messages[0].tool_calls[0]: no message answers the call \"a\" of f" },
    { "a call that nothing answers before the assistant speaks",
      "{" ID ",'messages':[" CALLS("{'id':'a'}") ",{'role':'assistant'}]}",
      "bad_field",
      "messages[0].tool_calls[0]: no message answers the call \"a\" of ?" },
    { "an answer to no call", "{" ID ",'messages':[" HI "," ANSWER("x") "]}",
      "bad_field",
      "messages[1].tool_call_id is \"x\", which answers no open call of the "
      "assistant's message before it" },
    { "a second answer to a call",
      "{" ID ",'messages':[" CALLS(CALL("a", "f")) "," ANSWER("a") "," ANSWER(
          "a") "]}",
      "bad_field",
      "messages[2].tool_call_id is \"a\", which answers no open call of the "
      "assistant's message before it" },
    { "an answer that does not say to what",
      "{" ID ",'messages':[{'role':'tool','content':'c'}]}", "missing_field",
      "messages[0].tool_call_id is required" },
    { "an answer to a number",
      "{" ID ",'messages':[{'role':'tool','content':'c','tool_call_id':7}]}",
      "bad_field", "messages[0].tool_call_id must be text" },
    { "calls that are no list",
      "{" ID ",'messages':[{'role':'assistant','tool_calls':'x'}]}",
      "bad_field", "messages[0].tool_calls must be an array of maps" },
    { "a call that is text", "{" ID ",'messages':[" CALLS("'x'") "]}",
      "bad_field", "messages[0].tool_calls[0] must be a map" },
    { "a call without an id", "{" ID ",'messages':[" CALLS("{'type':'x'}") "]}",
      "missing_field",
      "messages[0].tool_calls[0].id is required, and must be text" },
    { "a call whose id is a number",
      "{" ID ",'messages':[" CALLS("{'id':7}") "]}", "missing_field",
      "messages[0].tool_calls[0].id is required, and must be text" },

    { "functions",
      "{" TALK ",'functions':[{'name':'get_weather','description':'Of a city.',"
      "'parameters':{'type':'object','properties':{'city':{'type':'string'}}},"
      "'strict':true},{'name':'A-z_9'}],'tool_choice':'get_weather',"
      "'limits':{'max_output_tokens':9,'max_tool_calls':1}}",
      NULL, NULL },
    { "functions as a map", "{" TALK ",'functions':{'name':'f'}}", "bad_field",
      "functions is a map, must be an array" },
    { "a function that is text", "{" TALK ",'functions':['f']}", "bad_field",
      "functions[0] is text, must be a map" },
    { "a function without a name",
      "{" TALK ",'functions':[{'description':'x'}]}", "missing_field",
      "functions[0].name is required" },
    { "a function whose name has a dot",
      "{" TALK ",'functions':[{'name':'f'},{'name':'a.b'}]}", "bad_field",
      "functions[1].name is \"a.b\", must be 1 to 64 of A-Z a-z 0-9 _ -" },
    { "a function whose name is too long",
      "{" TALK ",'functions':[{'name':'" SHA "a'}]}", "bad_field",
      "functions[0].name is \"" SHA "\", must be 1 to 64 of A-Z a-z 0-9 _ -" },
    { "two functions of one name",
      "{" TALK ",'functions':[{'name':'f'},{'name':'g'},{'name':'f'}]}",
      "bad_field", "functions[2].name is \"f\", as functions[0] is called" },
    { "parameters that are text",
      "{" TALK ",'functions':[{'name':'f','parameters':'x'}]}", "bad_field",
      "functions[0].parameters must be a map: the JSON Schema of an object" },
    { "parameters of a text",
      "{" TALK ",'functions':[{'name':'f','parameters':{'type':'string'}}]}",
      "bad_field",
      "functions[0].parameters.type is \"string\", must be \"object\"" },
    { "parameters of two types",
      "{" TALK ",'functions':[{'name':'f','parameters':{'type':['object']}}]}",
      "bad_field", "functions[0].parameters.type must be \"object\"" },
    { "functions for code in a text",
      "{" TALK ",'mode':'codeact','functions':[{'name':'f'}]}", "bad_field",
      "functions: for kind conversation in mode tools only" },
    { "functions of cells",
      "{" ID ",'kind':'code','cells':['x'],'functions':[{'name':'f'}]}",
      "bad_field", "functions: for kind conversation in mode tools only" },
    { "functions of a session",
      "{" ID ",'kind':'session','session':'s','functions':[{'name':'f'}]}",
      "bad_field", "functions: for kind conversation in mode tools only" },
    { "a choice of tools for code in a text",
      "{" TALK ",'mode':'codeact','tool_choice':'none'}", "bad_field",
      "tool_choice: for kind conversation in mode tools only" },
    { "a limit of calls for cells",
      "{" ID ",'kind':'code','cells':['x'],'limits':{'max_tool_calls':1}}",
      "bad_field",
      "limits.max_tool_calls: for kind conversation in mode tools only" },
    { "a choice that is no name", "{" TALK ",'tool_choice':'a b'}", "bad_field",
      "tool_choice is \"a b\", must be auto, none, required or the name of a "
      "function or a tool" },
    { "parallel calls that are no yes or no",
      "{" TALK ",'parameters':{'parallel_tool_calls':1}}", "bad_field",
      "parameters.parallel_tool_calls must be true or false" },
    { "an unknown summary of reasoning",
      "{" TALK ",'parameters':{'reasoning_summary':'long'}}", "bad_field",
      "parameters.reasoning_summary must be one of auto, concise, detailed" },
    { "both parameters",
      "{" TALK ",'parameters':{'parallel_tool_calls':false,"
      "'reasoning_summary':'concise'}}",
      NULL, NULL },

    { "a queue with a key's brace", "{" TALK ",'queue':'a}b'}", "bad_field",
      "queue is \"a}b\", must be 1 to 128 of A-Z a-z 0-9 . _ -" },
    { "a tenant with a line end", "{" TALK ",'tenant':'a\\nb'}", "bad_field",
      "tenant is \"a?b\", must be 1 to 128 bytes of UTF-8 without "
      "control characters" },
    { "a session with a C1 control", "{" TALK ",'session':'\xc2\x9b'}",
      "bad_field",
      "session is \"\xc2\x9b\", must be 1 to 128 bytes of UTF-8 without "
      "control characters" },
    { "a tool with a space", "{" TALK ",'tools':['a','b c']}", "bad_field",
      "tools[1] is \"b c\", must be 1 to 128 of A-Z a-z 0-9 . _ -" },
    { "no tools, and a tool", "{" TALK ",'tools':['a','none']}", "bad_field",
      "tools[1] is \"none\", beside which there may be no other" },
    { "a tool without a name", "{" TALK ",'tools':['']}", "bad_field",
      "tools[0] is \"\", must be 1 to 128 of A-Z a-z 0-9 . _ -" },

    { "a file without a blob", "{" TALK ",'files':[{'name':'a'}]}",
      "missing_field", "files[0].blob is required" },
    { "a file without a name", "{" TALK ",'files':[{'blob':'" SHA "'}]}",
      "missing_field", "files[0].name is required" },
    { "a short blob", "{" TALK ",'files':[{'name':'a','blob':'abc'}]}",
      "bad_field", "files[0].blob is 3 bytes, must be 64" },
    { "a file in a folder", "{" TALK ",'files':[" FILE_OF("a/b") "]}",
      "bad_field",
      "files[0].name is \"a/b\", must be a base name without control "
      "characters" },
    { "a file named ..", "{" TALK ",'files':[" FILE_OF("..") "]}", "bad_field",
      "files[0].name is \"..\", must be a base name without control "
      "characters" },
    { "a file with a newline", "{" TALK ",'files':[" FILE_OF("a\\n") "]}",
      "bad_field",
      "files[0].name is \"a?\", must be a base name without control "
      "characters" },
    { "two files of one name",
      "{" TALK ",'files':[" FILE_OF("a") "," FILE_OF("b") "," FILE_OF("a") "]}",
      "bad_field", "files[2] has the name of files[0]" },

    { "too many turns", "{" TALK ",'limits':{'max_turns':257}}", "bad_field",
      "limits.max_turns is 257, must be 0 to 256" },
    { "a negative deadline", "{" TALK ",'limits':{'deadline_ms':-1}}",
      "bad_field", "limits.deadline_ms is -1, must be 0 to 604800000" },
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(buf_finish) struct buf bytes = bytes_of(rows[i].job);
        CLEANUP(arena_finish) struct arena arena = { 0 };
        struct err err = { 0 };
        struct job job;
        bool ok = job_decode(&job, buf_view(&bytes), &arena, &err);

        if (ok != (rows[i].code == NULL))
            fail_msg("%s: %s", rows[i].what, ok ? "accepted" : err.text);
        if (!ok && (strcmp(err.code, rows[i].code) != 0 ||
                    strcmp(err.text, rows[i].text) != 0))
            fail_msg("%s: %s: %s", rows[i].what, err.code, err.text);
    }
}

static void test_members_arrive(void **state)
{
    CLEANUP(buf_finish)
    struct buf bytes = bytes_of(
        "{" TALK ",'priority':'low','tools':['a','b'],'limits':{'cell_ms':5},"
        "'metadata':{'k':'v'},'files':[" FILE_OF("a.csv") "]}");
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const struct view *tools;
    const struct file_ref *files;
    const struct pair *metadata;
    struct job job;

    (void)state;
    assert_true(job_decode(&job, buf_view(&bytes), &arena, NULL));
    tools = job.tools.items;
    files = job.files.items;
    metadata = job.metadata.items;
    assert_int_equal(job.kind, JOB_CONVERSATION);
    assert_int_equal(job.priority, PRIORITY_LOW);
    assert_true(view_is(job.prompt, "hi"));
    assert_int_equal(job.tools.count, 2);
    assert_true(view_is(tools[1], "b"));
    assert_true(view_is(files[0].name, "a.csv"));
    assert_true(view_is(metadata[0].value, "v"));
    assert_int_equal(job.limits.cell_ms, 5);
    assert_null(job.messages);
    assert_int_equal(job.queue.len, 0);
}

static void test_a_job_is_bounded_as_a_whole(void **state)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish) struct buf bytes;
    struct err err;
    struct job job;

    (void)state;
    buf_init(&bytes, MAX_JOB_BYTES + 1);
    assert_non_null(buf_reserve(&bytes, MAX_JOB_BYTES + 1));
    memset(bytes.data, 0, MAX_JOB_BYTES + 1);
    bytes.len = MAX_JOB_BYTES + 1;
    assert_false(job_decode(&job, buf_view(&bytes), &arena, &err));
    assert_string_equal(err.code, "too_large");
    assert_string_equal(err.text,
                        "the message is 262145 bytes, the limit is 262144");
}

static void test_a_row_is_found_by_its_path(void **state)
{
    const struct field *cell = field_find(&schema_job, "limits.cell_ms");

    (void)state;
    assert_string_equal(cell->name, "cell_ms");
    assert_int_equal(cell->unit, UNIT_MS);
    assert_string_equal(field_find(&schema_job, "limits")->name, "limits");
    assert_null(field_find(&schema_job, "limit"));
    assert_null(field_find(&schema_job, "limitsx"));
    assert_null(field_find(&schema_job, "limits.cell"));
    assert_null(field_find(&schema_job, "prompt.cell_ms"));
    assert_null(field_find(&schema_job, "files.name")); /* of which of them? */
    assert_null(field_find(&schema_job, ""));
}

static void test_names(void **state)
{
    char name[MAX_FILE_NAME_BYTES + 1];

    (void)state;
    memset(name, 'n', sizeof(name));
    assert_true(name_is_valid((struct view){ name, MAX_NAME_BYTES }));
    assert_false(name_is_valid((struct view){ name, MAX_NAME_BYTES + 1 }));
    assert_true(name_is_valid(VIEW("A-Z.a_z.0-9")));
    assert_false(name_is_valid(VIEW("")));
    assert_false(name_is_valid(VIEW("a\0b")));
    assert_false(name_is_valid(VIEW("caf\xc3\xa9")));
    assert_true(file_name_is_valid((struct view){ name, MAX_FILE_NAME_BYTES }));
    assert_false(
        file_name_is_valid((struct view){ name, MAX_FILE_NAME_BYTES + 1 }));
    assert_true(file_name_is_valid(VIEW("caf\xc3\xa9 (1).csv")));
    assert_true(file_name_is_valid(VIEW("...")));
    assert_false(file_name_is_valid(VIEW("")));
    assert_false(file_name_is_valid(VIEW(".")));
    assert_false(file_name_is_valid(VIEW("a\0b")));
    assert_false(file_name_is_valid(VIEW("a\xff")));
    assert_false(file_name_is_valid(VIEW("/etc/passwd")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_members_arrive),
        cmocka_unit_test(test_a_job_is_bounded_as_a_whole),
        cmocka_unit_test(test_a_row_is_found_by_its_path),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
