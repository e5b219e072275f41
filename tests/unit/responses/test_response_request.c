/* test_response_request.c - bodies of POST /v1/responses: the jobs that they
 * become, what is remembered, and what is refused, with its path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "producer/gateway/responses/response_request.h"
#include "schemas/json/convert.h"
#include "schemas/message/job.h"
#include "schemas/message/limits.h"

#define JOB "019aa5c8-1b2c-7000-8000-000000000000"
#define BLOB "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct response_request_options ordinary;

/* JSON with ' in place of ". */
static json_t *json_of(const char *notation)
{
    char *text = strdup(notation);
    struct body_error error;
    json_t *json;

    for (char *c = text; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    json = body_parse(view_of(text), &error);
    if (!json)
        fail_msg("%s: %s", notation, error.message);
    free(text);
    return json;
}

/* The same of a list. */
static json_t *json_array_of(const char *notation)
{
    char *text = malloc(strlen(notation) + 8);
    json_t *json, *list;

    sprintf(text, "{'a':%s}", notation);
    json = json_of(text);
    list = json_incref(json_object_get(json, "a"));
    json_decref(json);
    free(text);
    return list;
}

/* What a consumer makes of the job; bytes and arena must outlive it. */
static void decode_job(const json_t *from, struct job *job, struct buf *bytes,
                       struct arena *arena, const char *name)
{
    json_t *json = json_deep_copy(from);
    struct err err;

    json_object_set_new(json, "id", json_string(JOB));
    buf_init(bytes, MAX_JOB_BYTES);
    if (!json_to_message(&schema_job, json, job, arena, NULL, &err) ||
        !message_encode(&schema_job, job, bytes, &err) ||
        !job_decode(job, buf_view(bytes), arena, &err))
        fail_msg("%s: a consumer would say: %s", name, err.text);
    json_decref(json);
}

/* -------------------------------------------------------------------- jobs */

#define Q "'model':'m','input':'q'"
#define USER(text) "{'role':'user','content':'" text "'}"
#define CALL(id, name)                                                         \
    "{'id':'" id "','type':'function','function':{'name':'" name               \
    "','arguments':'{}'}}"
#define ANSWER(id, text)                                                       \
    "{'role':'tool','tool_call_id':'" id "','content':'" text "'}"
#define CALLED(id, name)                                                       \
    "{'type':'function_call','call_id':'" id "','name':'" name                 \
    "','arguments':'{}'}"
#define OUTPUT(id, text)                                                       \
    "{'type':'function_call_output','call_id':'" id "','output':'" text "'}"
#define JOB_OF(messages)                                                       \
    "{'history':'off','tools':['none'],'messages':[" messages "]}"
#define PYTHON "{'type':'code_interpreter','container':{'type':'auto'}}"

static const struct {
    const char *name, *body, *job;
} jobs[] = {
    { "a text", "{'input':'q'}", JOB_OF(USER("q")) },
    { "all that changes how models write",
      "{" Q ",'instructions':'be brief','temperature':0.5,'top_p':1,"
      "'max_output_tokens':16,'max_tool_calls':2,'parallel_tool_calls':false,"
      "'reasoning':{'effort':'low','generate_summary':'auto'},"
      "'text':{'verbosity':'high','format':{'type':'text'}},"
      "'metadata':{'a':'b'},'user':'u','service_tier':'flex'}",
      "{'model':'m','system':'be brief','history':'off','tools':['none'],"
      "'messages':[" USER(
          "q") "],'metadata':{'a':'b'},"
               "'limits':{'max_output_tokens':16,'max_tool_calls':2},"
               "'parameters':{'temperature':0.5,'top_p':1,'parallel_tool_calls'"
               ":false,"
               "'reasoning_effort':'low','reasoning_summary':'auto',"
               "'verbosity':'high'}}" },
    { "null is absent",
      "{'input':'q','tools':null,'tool_choice':null,'text':null,'store':null,"
      "'reasoning':{'effort':null},'metadata':null,'temperature':null,"
      "'stream_options':null,'conversation':null,'prompt':null}",
      JOB_OF(USER("q")) },
    { "easy messages, and parts",
      "{'input':[{'role':'developer','content':'d'},"
      "{'type':'message','role':'user','content':[{'type':'input_text',"
      "'text':'a'},{'type':'input_image','image_url':'https://e/x.png',"
      "'detail':'low'}]},"
      "{'type':'message','id':'msg_1','role':'assistant','status':'completed',"
      "'content':[{'type':'output_text','text':'b','annotations':[]},"
      "{'type':'refusal','refusal':'c'}]}," USER("e") "]}",
      JOB_OF("{'role':'developer','content':'d'},"
             "{'role':'user','content':[{'type':'text','text':'a'},"
             "{'type':'image_url','image_url':{'url':'https://e/x.png',"
             "'detail':'low'}}]},{'role':'assistant','content':'bc'}," USER(
                 "e")) },
    { "calls and their outputs, wherever they stand",
      "{'input':[" USER(
          "q") ",{'type':'reasoning','summary':[]},"
               "{'role':'assistant','content':'I ask.'}," CALLED("a", "f") "," CALLED(
                   "b",
                   "g") "," OUTPUT("b",
                                   "2") "," USER("wait") "," OUTPUT("a",
                                                                    "1") "]}",
      JOB_OF(USER(
          "q") ",{'role':'assistant','content':'I "
               "ask.','tool_calls':[" CALL("a", "f") "," CALL(
                   "b", "g") "]}," ANSWER("b",
                                          "2") "," ANSWER("a",
                                                          "1") "," USER("wai"
                                                                        "t")) },
    { "an output of parts",
      "{'input':[" CALLED(
          "a", "f") ",{'type':'function_call_output',"
                    "'call_id':'a','output':[{'type':'input_text','text':'1'},"
                    "{'type':'input_image','image_url':'https://e/x.png'}]}]}",
      JOB_OF("{'role':'assistant','tool_calls':[" CALL("a", "f") "]}," ANSWER(
          "a", "1\\nhttps://e/x.png")) },
    { "outputs of calls of the response before",
      "{'previous_response_id':'resp_1','input':[" USER("go on") "," OUTPUT(
          "a", "1") "," OUTPUT("b", "2") "]}",
      JOB_OF(ANSWER("a", "1") "," ANSWER("b", "2") "," USER("go on")) },
    { "a function, chosen",
      "{'input':'q','tools':[{'type':'function','name':'f','strict':true,"
      "'parameters':{'type':'object','properties':{}}}],"
      "'tool_choice':{'type':'function','name':'f'}}",
      "{'history':'off','tools':['none'],'messages':[" USER(
          "q") "],"
               "'tool_choice':'f','functions':[{'name':'f','strict':true,"
               "'parameters':{'type':'object','properties':{}}}]}" },
    { "tools of quern, and one that is left out",
      "{'input':'q','tools':[{'type':'mcp','server_label':'s'},"
      "{'type':'web_search','search_context_size':'low'},"
      "{'type':'code_interpreter','container':{'type':'auto',"
      "'memory_limit':'4g','network_policy':{'type':'disabled'}}}],"
      "'tool_choice':{'type':'code_interpreter'}}",
      "{'history':'off','tools':['execute_python_code','search_web'],"
      "'messages':[" USER("q") "],'limits':{'memory_bytes':4294967296},"
                               "'tool_choice':'execute_python_code'}" },
    { "some tools allowed",
      "{'input':'q','tools':[{'type':'function','name':'f'},{'type':'function',"
      "'name':'g'}," PYTHON "],'tool_choice':{'type':'allowed_tools',"
      "'mode':'required','tools':[{'type':'function','name':'g'}]}}",
      "{'history':'off','tools':['none'],'messages':[" USER(
          "q") "],"
               "'tool_choice':'required','functions':[{'name':'g'}]}" },
    { "a choice without tools", "{'input':'q','tool_choice':'none'}",
      JOB_OF(USER("q")) },
    { "JSON of any form",
      "{'input':'q','text':{'format':{'type':'json_object'}}}",
      "{'history':'off','tools':['none'],'messages':[" USER(
          "q") "],"
               "'output_schema':{'type':'object'}}" },
    { "JSON of a schema",
      "{'input':'q','text':{'format':{'type':'json_schema','name':'n',"
      "'strict':true,'schema':{'type':'object','properties':{'a':{'type':"
      "'string'}}}}}}",
      "{'history':'off','tools':['none'],'messages':[" USER(
          "q") "],"
               "'output_schema':{'type':'object','properties':{'a':{'type':"
               "'string'}}}}" },
    { "Python that ran before, with its tool",
      "{'input':[" USER(
          "q") ",{'type':'code_interpreter_call','id':'ci_1',"
               "'container_id':'cntr_1','code':'1','status':'completed','"
               "outputs':["
               "{'type':'logs','logs':'x'},{'type':'image','url':'u'}]}],"
               "'tools':[" PYTHON "]}",
      "{'history':'off','tools':['execute_python_code'],'messages':[" USER(
          "q") ",{'role':'assistant','tool_calls':[{'id':'ci_1',"
               "'type':'function','function':{'name':'execute_python_code',"
               "'arguments':'{\\'code\\': \\'1\\'}'}}]}," ANSWER(
                   "ci_1", "x\\n(an image)") "]}" },
    { "Python that ran before, without its tool",
      "{'input':[" USER(
          "q") ",{'type':'code_interpreter_call','id':'ci_1',"
               "'container_id':'cntr_1','code':'1','outputs':null}]}",
      JOB_OF(USER("q")) },
    { "items of tools that are not here",
      "{'input':[{'type':'web_search_call','id':'ws_1'},{'type':'mcp_call'}"
      "," USER("q") "]}",
      JOB_OF(USER("q")) },
};

static void test_jobs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        struct arena arena = { 0 };
        struct response_request request;
        struct body_error error;
        json_t *body = json_of(jobs[i].body), *wanted = json_of(jobs[i].job);
        struct job job;
        struct buf bytes;
        char *text;

        if (!response_request_read(&request, body, &ordinary, &error))
            fail_msg("%s: %s", jobs[i].name, error.message);
        /* What continues another job is checked where both are known. */
        buf_init(&bytes, 0);
        if (request.previous.len == 0)
            decode_job(request.job, &job, &bytes, &arena, jobs[i].name);
        text = json_dumps(request.job, JSON_SORT_KEYS);
        if (!json_equal(request.job, wanted))
            fail_msg("%s: the job is\n  %s", jobs[i].name, text);
        free(text);
        response_request_finish(&request);
        json_decref(body);
        json_decref(wanted);
        buf_finish(&bytes);
        arena_finish(&arena);
    }
}

/* ---------------------------------------------------------------- refusals */

#define TOOL(members) "{'input':'q','tools':[{" members "}]}"
#define ITEM(members) "{'input':[{" members "}]}"
#define PART(members) "{'input':[{'role':'user','content':[{" members "}]}]}"

static const struct {
    const char *body, *param, *code, *words;
} refusals[] = {
    { "{}", "input", "missing_required_parameter", "is required" },
    { "{'input':7}", "input", "invalid_type", "is an integer" },
    { "{'input':''}", "input", "invalid_value", "is empty" },
    { "{'input':[]}", "input", "invalid_value", "no message" },
    { "{'input':[7]}", "input[0]", "invalid_type", "must be an object" },
    { "{'input':'q','inptu':'q'}", "inptu", "unknown_parameter", "misspelt" },
    { "{'input':'q','model':7}", "model", "invalid_type", "a string" },
    { "{'input':'q','stream':'yes'}", "stream", "invalid_type",
      "is a string, must be true or false" },
    { "{'input':'q','stream_options':{}}", "stream_options", "invalid_value",
      "with stream only" },
    { "{'input':'q','background':true,'store':false}", "store", "invalid_value",
      "background is true" },
    { "{'input':'q','temperature':2.5}", "temperature", "invalid_value",
      "is 2.5, must be from 0 to 2" },
    { "{'input':'q','top_p':-1}", "top_p", "invalid_value", "is -1" },
    { "{'input':'q','max_output_tokens':15}", "max_output_tokens",
      "invalid_value", "is 15, must be from 16" },
    { "{'input':'q','max_output_tokens':16.5}", "max_output_tokens",
      "invalid_type", "an integer" },
    { "{'input':'q','top_logprobs':1}", "top_logprobs", "unsupported_parameter",
      "log probabilities" },
    { "{'input':'q','prompt':{'id':'p'}}", "prompt", "unsupported_parameter",
      "not supported" },
    { "{'input':'q','include':['message.output_text.logprobs']}", "include[0]",
      "invalid_value", "logprobs" },
    { "{'input':'q','previous_response_id':'resp_1','conversation':'conv_1'}",
      "previous_response_id", "invalid_value", "conversation" },
    { "{'input':'q','conversation':{'name':'x'}}", "conversation.id",
      "missing_required_parameter", "is required" },
    { "{'input':'q','reasoning':{'effort':'much'}}", "reasoning.effort",
      "invalid_value", "\"much\", must be one of none, minimal" },
    { "{'input':'q','reasoning':{'efort':'low'}}", "reasoning.efort",
      "unknown_parameter", "" },
    { "{'input':'q','text':{'format':{'type':'json_schema','name':'a b',"
      "'schema':{'type':'object'}}}}",
      "text.format.name", "invalid_value", "\"a b\"" },
    { "{'input':'q','text':{'format':{'type':'json_schema','name':'a'}}}",
      "text.format.schema", "missing_required_parameter", "" },
    { "{'input':'q','metadata':{'a':1}}", "metadata.a", "invalid_type",
      "a string" },
    { "{'input':'q','truncation':'some'}", "truncation", "invalid_value",
      "auto, disabled" },
    { TOOL("'name':'f'"), "tools[0].type", "missing_required_parameter", "" },
    { TOOL("'type':'function','name':'f.g'"), "tools[0].name", "invalid_value",
      "\"f.g\"" },
    { TOOL("'type':'function','function':{'name':'f'}"), "tools[0].name",
      "missing_required_parameter", "" },
    { TOOL("'type':'function','name':'f','parameters':{'type':'array'}"),
      "tools[0].parameters.type", "invalid_value", "\"array\"" },
    { "{'input':'q','tools':[{'type':'function','name':'f'},{'type':"
      "'function','name':'f'}]}",
      "tools[1].name", "invalid_value", "another function" },
    { TOOL("'type':'code_interpreter'"), "tools[0].container",
      "missing_required_parameter", "" },
    { TOOL("'type':'code_interpreter','container':{'type':'auto',"
           "'file_ids':[7]}"),
      "tools[0].container.file_ids[0]", "invalid_type", "" },
    { TOOL("'type':'code_interpreter','container':{'type':'auto',"
           "'network_policy':{'type':'allowlist','allowed_domains':['e']}}"),
      "tools[0].container.network_policy.type", "unsupported_parameter",
      "no network" },
    { TOOL("'type':'web_search','filters':{'allowed_domains':['e']}"),
      "tools[0].filters.allowed_domains", "unsupported_parameter", "" },
    { "{'input':'q','tool_choice':'required'}", "tool_choice", "invalid_value",
      "no tools" },
    { "{'input':'q','tool_choice':{'type':'function','name':'f'}}",
      "tool_choice.name", "invalid_value", "\"f\"" },
    { "{'input':'q','tools':[{'type':'mcp'}],'tool_choice':{'type':'mcp'}}",
      "tool_choice.type", "invalid_value", "\"mcp\"" },
    { "{'input':'q','tools':[{'type':'function','name':'f'}],'tool_choice':"
      "{'type':'allowed_tools','mode':'auto','tools':[{'type':'function',"
      "'name':'g'}]}}",
      "tool_choice.tools[0].name", "invalid_value", "\"g\"" },
    { ITEM("'type':'mesage'"), "input[0].type", "invalid_value", "\"mesage\"" },
    { ITEM("'content':'q'"), "input[0].role", "missing_required_parameter",
      "" },
    { ITEM("'role':'tool','content':'q'"), "input[0].role", "invalid_value",
      "\"tool\"" },
    { ITEM("'role':'user'"), "input[0].content", "missing_required_parameter",
      "" },
    { ITEM("'role':'user','content':[]"), "input[0].content", "invalid_value",
      "no part" },
    { ITEM("'type':'item_reference','id':'msg_7'"), "input[0].id",
      "invalid_value", "\"msg_7\"" },
    { ITEM("'id':'msg_7'"), "input[0].id", "invalid_value", "\"msg_7\"" },
    { "{'input':[" CALLED("a", "f") "]}", "input", "invalid_value",
      "no output for the call \"a\"" },
    { "{'input':[" OUTPUT("a", "1") "]}", "input[0].call_id", "invalid_value",
      "\"a\", but no call" },
    { "{'input':[" CALLED("a", "f") "," OUTPUT("a", "1") "," OUTPUT("a",
                                                                    "1") "]}",
      "input[2].call_id", "invalid_value", "has already" },
    { "{'previous_response_id':'r','input':[" OUTPUT("a", "1") "," OUTPUT(
          "a", "1") "]}",
      "input[1].call_id", "invalid_value", "has already" },
    { "{'input':[" CALLED("a", "f") "," CALLED("a", "g") "]}", "input[1]",
      "invalid_value", "the call before it" },
    { PART("'type':'input_txt'"), "input[0].content[0].type", "invalid_value",
      "\"input_txt\"" },
    { PART("'type':'input_text'"), "input[0].content[0].text",
      "missing_required_parameter", "" },
    { PART("'type':'input_image'"), "input[0].content[0]",
      "missing_required_parameter", "neither" },
    { PART("'type':'input_image','image_url':'ftp://e/x'"),
      "input[0].content[0].image_url", "invalid_value", "\"ftp://e/x\"" },
    { PART("'type':'input_image','image_url':'data:image/png,x'"),
      "input[0].content[0].image_url", "invalid_value", ";base64," },
    { PART("'type':'input_image','image_url':'data:image/png;base64,*'"),
      "input[0].content[0].image_url", "invalid_value", "" },
    { PART("'type':'input_file','file_id':'file-1','file_url':'https://e'"),
      "input[0].content[0].file_url", "invalid_value", "file_id" },
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        const char *name = refusals[i].body;
        struct response_request request;
        struct body_error error = { 0 };
        json_t *body = json_of(name);

        if (response_request_read(&request, body, &ordinary, &error))
            fail_msg("%s: is taken", name);
        if (strcmp(error.param, refusals[i].param) != 0 ||
            strcmp(error.code, refusals[i].code) != 0 ||
            !strstr(error.message, refusals[i].words))
            fail_msg("%s: param %s, code %s: %s", name, error.param, error.code,
                     error.message);
        assert_int_equal(error.status, 400);
        response_request_finish(&request);
        json_decref(body);
    }
}

static void test_other_tools_are_refused_when_set(void **state)
{
    const struct response_request_options strict = { .refuse_other_tools =
                                                         true };
    json_t *body = json_of("{'input':'q','tools':[{'type':'mcp'}]}");
    struct response_request request;
    struct body_error error;

    (void)state;
    assert_false(response_request_read(&request, body, &strict, &error));
    assert_string_equal(error.param, "tools[0].type");
    response_request_finish(&request);
    assert_true(response_request_read(&request, body, &ordinary, &error));
    assert_int_equal(json_array_size(request.left_out), 1);
    response_request_finish(&request);
    json_decref(body);
}

/* -------------------------------------------------------------- containers */

static void test_how_it_is_answered(void **state)
{
    json_t *body = json_of("{'input':[" USER(
        "q") ",{'type':'code_interpreter_call',"
             "'id':'ci_1','container_id':'cntr_7','code':'1'}],"
             "'stream':true,'background':true,"
             "'include':['reasoning.encrypted_content',"
             "'code_interpreter_call.outputs'],'conversation':{'id':'c'},"
             "'tools':[" PYTHON "]}");
    struct response_request request;
    struct body_error error;

    (void)state;
    assert_true(response_request_read(&request, body, &ordinary, &error));
    assert_true(request.stream && request.background && request.store);
    assert_true(request.obfuscate && request.with_outputs);
    assert_true(request.wants_code);
    assert_int_equal(request.container.len, 0);
    assert_true(view_is(request.input_container, "cntr_7"));
    assert_true(view_is(request.conversation, "c"));
    response_request_finish(&request);
    json_decref(body);
    body = json_of("{'input':'q','stream':true,'stream_options':"
                   "{'include_obfuscation':false},'tools':[{'type':"
                   "'code_interpreter','container':'cntr_8'}]}");
    assert_true(response_request_read(&request, body, &ordinary, &error));
    assert_false(request.obfuscate);
    assert_true(view_is(request.container, "cntr_8"));
    response_request_finish(&request);
    json_decref(body);
}

/* -------------------------------------------------------------------- files */

static void test_files(void **state)
{
    json_t *body = json_of(
        "{'tools':[{'type':'code_interpreter','container':{'type':'auto',"
        "'file_ids':['file-1']}}],'input':[{'role':'user','content':["
        "{'type':'input_text','text':'see'},"
        "{'type':'input_image','image_url':'data:image/png;base64,AQID'},"
        "{'type':'input_file','filename':'d/a.csv','file_data':'QUI'},"
        "{'type':'input_file','filename':'../a.csv','file_url':"
        "'https://e/a.csv'},{'type':'input_file','filename':'..',"
        "'file_data':'data:application/pdf;base64,QQ=='}]}]}");
    json_t *wanted = json_of(
        "{'files':[{'name':'up.csv','blob':'" BLOB "','bytes':9},"
        "{'name':'image-2.png','blob':'" BLOB "','bytes':3,"
        "'mime':'image/png'},{'name':'a.csv','blob':'" BLOB "','bytes':2},"
        "{'name':'a-4.csv','blob':'" BLOB "','bytes':9},"
        "{'name':'file-5.pdf','blob':'" BLOB "','bytes':1,"
        "'mime':'application/pdf'}],"
        "'content':[{'type':'text','text':'see'},"
        "{'type':'text','text':'[image: image-2.png]'},"
        "{'type':'text','text':'[file: a.csv]'},"
        "{'type':'text','text':'[file: a-4.csv]'},"
        "{'type':'text','text':'[file: file-5.pdf]'}]}");
    static const size_t lengths[] = { 9, 3, 2, 9, 1 };
    struct arena arena = { 0 };
    struct response_request request;
    struct body_error error;
    struct buf bytes;
    struct job job;

    (void)state;
    if (!response_request_read(&request, body, &ordinary, &error))
        fail_msg("%s", error.message);
    assert_int_equal(request.attachment_count, 5);
    assert_int_equal(request.attachments[0].source, ATTACHMENT_FILE_ID);
    assert_int_equal(request.attachments[3].source, ATTACHMENT_URL);
    assert_string_equal(request.attachments[1].param,
                        "input[0].content[1].image_url");
    for (size_t i = 0; i < 5; i++)
        response_request_attach(&request, i, i == 0 ? VIEW("up.csv") : VIEW(""),
                                VIEW(BLOB), lengths[i]);
    decode_job(request.job, &job, &bytes, &arena, "files");
    assert_int_equal(job.files.count, 5);
    assert_true(json_equal(json_object_get(request.job, "files"),
                           json_object_get(wanted, "files")));
    assert_true(json_equal(
        json_object_get(
            json_array_get(json_object_get(request.job, "messages"), 0),
            "content"),
        json_object_get(wanted, "content")));
    response_request_finish(&request);
    json_decref(body);
    json_decref(wanted);
    buf_finish(&bytes);
    arena_finish(&arena);
}

static void test_names_of_files_differ(void **state)
{
    static const char *const names[] = { "a.csv", "a-3.csv", "a-4.csv" };
    json_t *body = json_of(
        "{'input':[{'role':'user','content':["
        "{'type':'input_file','filename':'a.csv','file_data':'QUI'},"
        "{'type':'input_file','filename':'a-3.csv','file_data':'QUI'},"
        "{'type':'input_file','filename':'a.csv','file_data':'QUI'}]}]}");
    struct response_request request;
    struct body_error error;

    (void)state;
    assert_true(response_request_read(&request, body, &ordinary, &error));
    for (size_t i = 0; i < 3; i++) {
        json_t *file;

        response_request_attach(&request, i, VIEW(""), VIEW(BLOB), 2);
        file = json_array_get(json_object_get(request.job, "files"), i);
        assert_string_equal(json_string_value(json_object_get(file, "name")),
                            names[i]);
    }
    response_request_finish(&request);
    json_decref(body);
}

/* --------------------------------------------------------------- references */

static void test_references(void **state)
{
    json_t *body = json_of(
        "{'input':[" USER("q") ",{'type':null,'id':'msg_7'},"
                               "{'type':'item_reference','id':'fc_8'}]}");
    json_t *wanted = json_of("{'found':[{'index':1,'id':'msg_7'},"
                             "{'index':2,'id':'fc_8'}]}");
    struct body_error error;
    json_t *found = response_request_references(body, &error);

    (void)state;
    assert_true(json_equal(found, json_object_get(wanted, "found")));
    json_decref(found);
    json_decref(body);
    body = json_of("{'input':[{'type':'item_reference','id':7}]}");
    assert_null(response_request_references(body, &error));
    assert_string_equal(error.param, "input[0].id");
    json_decref(body);
    json_decref(wanted);
}

/* -------------------------------------------------------------------- asked */

/* What the response object repeats. */
static const struct {
    const char *name, *body, *asked;
} repeated[] = {
    { "nothing asked", "{'input':'q'}",
      "{'tools':[],'store':true,'truncation':'disabled',"
      "'parallel_tool_calls':true}" },
    { "much asked",
      "{" Q ",'instructions':'i','store':false,'temperature':0,"
      "'metadata':{'a':'b'},'previous_response_id':'resp_1','user':'u',"
      "'text':{'verbosity':'low','format':{'type':'json_schema','name':'n',"
      "'schema':{'type':'object'}}},'reasoning':{'effort':'low'},"
      "'max_output_tokens':100,'prompt_cache_options':{'a':1},"
      "'tool_choice':{'type':'allowed_tools','mode':'auto','tools':[{"
      "'type':'function','name':'f'}]},"
      "'tools':[{'type':'function','name':'f','description':'d',"
      "'parameters':{'type':'object'}},{'type':'mcp'},"
      "{'type':'function','name':'g','strict':true}," PYTHON "]}",
      "{'model':'m','instructions':'i','store':false,'temperature':0.0,"
      "'metadata':{'a':'b'},'previous_response_id':'resp_1','user':'u',"
      "'text':{'verbosity':'low','format':{'type':'json_schema','name':'n',"
      "'schema':{'type':'object'}}},'reasoning':{'effort':'low',"
      "'summary':null},'max_output_tokens':100,"
      "'prompt_cache_options':{'a':1},'truncation':'disabled',"
      "'parallel_tool_calls':true,"
      "'tool_choice':{'type':'allowed_tools','mode':'auto','tools':[{"
      "'type':'function','name':'f'}]},"
      "'tools':[{'type':'function','name':'f','description':'d',"
      "'parameters':{'type':'object'},'strict':false},"
      "{'type':'function','name':'g','description':null,'parameters':null,"
      "'strict':true}," PYTHON "]}" },
};

static void test_what_is_repeated(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(repeated) / sizeof(repeated[0]); i++) {
        struct response_request request;
        struct body_error error;
        json_t *body = json_of(repeated[i].body);
        json_t *wanted = json_of(repeated[i].asked);
        char *text;

        if (!response_request_read(&request, body, &ordinary, &error))
            fail_msg("%s: %s", repeated[i].name, error.message);
        text = json_dumps(request.asked, JSON_SORT_KEYS);
        if (!json_equal(request.asked, wanted))
            fail_msg("%s: asked is\n  %s", repeated[i].name, text);
        free(text);
        response_request_finish(&request);
        json_decref(body);
        json_decref(wanted);
    }
}

/* --------------------------------------------------------------- continuing */

static const struct {
    const char *name, *earlier, *body, *messages; /* NULL: refused */
} continued[] = {
    { "a question more",
      "[{'role':'system','content':'s'}," USER(
          "a") ","
               "{'role':'assistant','content':'b'}]",
      "{'previous_response_id':'r','input':'q','instructions':'i'}",
      "[" USER("a") ",{'role':'assistant','content':'b'}," USER("q") "]" },
    { "an open call that is answered",
      "[" USER("a") ",{'role':'assistant','tool_calls':[" CALL("x", "f") "]}]",
      "{'previous_response_id':'r','input':[" USER("q") "," OUTPUT("x",
                                                                   "1") "]}",
      "[" USER("a") ",{'role':'assistant','tool_calls':[" CALL(
          "x", "f") "]}," ANSWER("x", "1") "," USER("q") "]" },
    { "an open call that is not answered",
      "[" USER("a") ",{'role':'assistant','tool_calls':[" CALL("x", "f") "]}]",
      "{'previous_response_id':'r','input':'q'}", NULL },
};

static void test_continuing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(continued) / sizeof(continued[0]); i++) {
        struct response_request request;
        struct body_error error = { 0 };
        json_t *body = json_of(continued[i].body);
        json_t *earlier = json_array_of(continued[i].earlier);
        json_t *wanted =
            continued[i].messages ? json_array_of(continued[i].messages) : NULL;
        bool good;

        if (!response_request_read(&request, body, &ordinary, &error))
            fail_msg("%s: %s", continued[i].name, error.message);
        good = response_request_continue(&request, earlier, VIEW(""), &error);
        if (good != (wanted != NULL))
            fail_msg("%s: %s", continued[i].name,
                     good ? "is taken" : error.message);
        if (good)
            assert_true(
                json_equal(json_object_get(request.job, "messages"), wanted));
        else
            assert_string_equal(error.param, "input");
        response_request_finish(&request);
        json_decref(body);
        json_decref(earlier);
        json_decref(wanted);
    }
}

/* The job names a blob in place of the messages that are in it. */
static void test_continuing_from_a_blob(void **state)
{
    static const char sha256[] = "0123456789abcdef0123456789abcdef"
                                 "0123456789abcdef0123456789abcdef";
    struct response_request request;
    struct body_error error = { 0 };
    json_t *body = json_of("{'previous_response_id':'r','input':'q'}");
    json_t *earlier = json_array_of("[" USER("a") "]");

    (void)state;
    assert_true(response_request_read(&request, body, &ordinary, &error));
    assert_true(
        response_request_continue(&request, earlier, VIEW(sha256), &error));
    assert_string_equal(
        json_string_value(json_object_get(request.job, "earlier")), sha256);
    assert_int_equal(json_array_size(json_object_get(request.job, "messages")),
                     1);
    response_request_finish(&request);
    json_decref(body);
    json_decref(earlier);
}

/* ------------------------------------------------------------------- bounds */

static json_t *large_body(const char *name, size_t len)
{
    char *text = malloc(len);
    json_t *body = json_of("{'input':'q'}");

    memset(text, 'x', len);
    json_object_set_new(body, name, json_stringn(text, len));
    free(text);
    return body;
}

static void test_bounds(void **state)
{
    static const struct {
        const char *name, *code;
        size_t len;
    } rows[] = {
        { "input", "context_length_exceeded", MAX_JOB_BYTES },
        { "model", "string_above_max_length", 129 },
        { "instructions", "string_above_max_length", MAX_TEXT_BYTES + 1 },
        { "safety_identifier", "string_above_max_length", 65 },
        { "user", "string_above_max_length", 513 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *body = large_body(rows[i].name, rows[i].len);
        struct response_request request;
        struct body_error error;

        if (response_request_read(&request, body, &ordinary, &error))
            fail_msg("%s of %zu bytes is taken", rows[i].name, rows[i].len);
        assert_string_equal(error.code, rows[i].code);
        assert_string_equal(error.param, rows[i].name);
        response_request_finish(&request);
        json_decref(body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_other_tools_are_refused_when_set),
        cmocka_unit_test(test_how_it_is_answered),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_names_of_files_differ),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_what_is_repeated),
        cmocka_unit_test(test_continuing),
        cmocka_unit_test(test_continuing_from_a_blob),
        cmocka_unit_test(test_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
