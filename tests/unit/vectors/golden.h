/* golden.h - the messages of schemas/vectors, and what each shows. */
#ifndef TESTS_UNIT_VECTORS_GOLDEN_H
#define TESTS_UNIT_VECTORS_GOLDEN_H

#include "schemas/message/conversation.h"
#include "schemas/message/event.h"
#include "schemas/message/frame.h"
#include "schemas/message/journal.h"

#define ID "'id':'019aa5c8-1b2c-7000-8000-000000000000'"
#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define MAP(count, members) VIEW_INIT(count "\xa1v\x01" members)
#define PACKED_ID                                                              \
    "\xa2id\xd9\x24"                                                           \
    "019aa5c8-1b2c-7000-8000-000000000000"
#define PACKED_PROMPT "\xa6prompt\xa2hi"

/* How a message is written: JSON with ' for ", encoded by its table. */
struct canonical {
    const char *file;
    const char *what;
    const struct schema *schema;
    const char *json;
};

static const struct canonical canonical[] = {
    { "job-prompt", "the least conversation", &schema_job,
      "{" ID ",'kind':'conversation','prompt':'hi'}" },
    { "job-messages", "a conversation that goes on after a tool call",
      &schema_job,
      "{" ID ",'kind':'conversation','messages':["
      "{'role':'system','content':'Be brief.'},"
      "{'role':'user','content':'What is 6*7?'},"
      "{'role':'assistant','content':null,'tool_calls':[{'id':'call_1',"
      "'type':'function','function':{'name':'execute_python_code',"
      "'arguments':'{\\\"code\\\": \\\"6*7\\\"}'}}]},"
      "{'role':'tool','tool_call_id':'call_1','content':'42'}]}" },
    { "job-functions", "functions of the caller, and what limits calls",
      &schema_job,
      "{" ID ",'kind':'conversation','prompt':'Is it raining?','limits':"
      "{'max_output_tokens':4096,'max_tool_calls':8},'parameters':"
      "{'parallel_tool_calls':false,'reasoning_summary':'auto'},"
      "'functions':[{'name':'get_weather','description':'Of a city.',"
      "'parameters':{'type':'object','properties':{'city':{'type':'string'}}},"
      "'strict':true},{'name':'clock'}],'tool_choice':'required'}" },
    { "result-calls", "calls of functions, for the caller to run",
      &schema_result,
      "{" ID ",'status':'completed','calls':[{'call_id':'call_abc',"
      "'name':'get_weather','arguments':'{\\\"city\\\": \\\"Ulm\\\"}'},"
      "{'call_id':'call_def','name':'clock','arguments':'{}'}],"
      "'attempts':1}" },
    { "job-code", "cells without a model, quotes and newlines in them",
      &schema_job,
      "{" ID ",'kind':'code','session':'notebook-1','cells':["
      "'x = \\\"a\\\\\\\\b\\\"\\nprint(x)','x * 2']}" },
    { "job-everything", "every member of the first version", &schema_job,
      "{" ID ",'kind':'conversation','queue':'reports','priority':'high',"
      "'tenant':'acme','session':'s-1','prompt':'Plot it.',"
      "'system':'You are brief.','model':'large','tools':"
      "['execute_python_code','search_web'],'files':[{'name':'data.csv',"
      "'blob':'" SHA "','bytes':1234,'mime':'text/csv'}],"
      "'limits':{'max_turns':9,'deadline_ms':600000,'max_tokens':4096,"
      "'cell_ms':30000,'memory_bytes':536870912},"
      "'retry':{'max_attempts':3,'backoff_ms':500},"
      "'idempotency_key':'order-7','not_before':1763700000000,"
      "'metadata':{'user':'42','page':'/r\xc3\xa9sum\xc3\xa9'},"
      "'traceparent':"
      "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'}" },
    { "job-traced", "a job that belongs to a trace", &schema_job,
      "{" ID ",'kind':'conversation','prompt':'hi','traceparent':"
      "'00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',"
      "'tracestate':'rojo=00f067aa0ba902b7,acme@quern=t61rcWkgMzE'}" },
    { "job-client", "a job with a note of its client, and without tools",
      &schema_job,
      "{" ID ",'kind':'conversation','prompt':'hi','tools':['none'],"
      "'client':'view 7'}" },
    { "job-earlier",
      "a job that goes on from another, and whose result is kept", &schema_job,
      "{" ID ",'kind':'conversation','prompt':'And twice that?','earlier':"
      "'" SHA "','keep_ms':604800000}" },
    { "result-kept", "a result whose conversation is kept", &schema_result,
      "{" ID ",'status':'completed','answer':'84','conversation':'" SHA "'}" },
    { "conversation", "the conversation of a job", &schema_conversation,
      "{'messages':[{'role':'user','content':'Six times seven?'},"
      "{'role':'assistant','content':'42'}]}" },
    { "event-item", "a piece of a message, with the number of its item",
      &schema_event,
      "{'seq':9,'at':1764547200000,'attempt':2,'type':'message.delta',"
      "'data':{'turn':2,'text':'Hello','item':3}}" },
    { "event-function", "the model calls a function of the caller",
      &schema_event,
      "{'seq':10,'at':1764547200000,'attempt':1,'type':'function.called',"
      "'data':{'turn':2,'text':'{\\\"city\\\":\\\"Ulm\\\"}','call':'call_7',"
      "'tool':'get_weather','item':4}}" },
    { "result-items", "what the model has said and done, in parts",
      &schema_result,
      "{" ID ",'status':'completed','answer':'42','items':["
      "{'number':1,'kind':'reasoning'},{'number':2,'text':'I compute it.'},"
      "{'number':4,'kind':'code','call':'1.0','cell':1},"
      "{'number':5,'kind':'search','text':'answer','call':'2.0'},{'number':6}]"
      "}" },
    { "record-items", "a reply, with the numbers of its items", &schema_record,
      "{'kind':'model_reply','attempt':1,'turn':1,'message':'{}','item':3,"
      "'reasoning_item':2}" },
    { "job-session", "something is done with a session itself", &schema_job,
      "{" ID ",'kind':'session','session':'s-1','action':{'do':'get','names':"
      "['data/a.csv',{'base64':'Y2Fm6S5jc3Y='}]}}" },
    { "session-record", "a session that outlived its host",
      &schema_session_record,
      "{'name':'s-1','tenant':'acme','holder':'host-a/5f3c9a1e.17',"
      "'generation':7,'picture':'" SHA "','picture_bytes':20480,"
      "'missing':{'lines':'TypeError: cannot pickle generator'},"
      "'files':[{'name':'data/a.csv','blob':'" SHA "','bytes':1234},"
      "{'name':'huge.bin','bytes':50000000,'note':'larger than 32 MiB'}],"
      "'packages':['humanize==4.9.0'],'cells':12,"
      "'job':'019aa5c8-1b2c-7000-8000-000000000000',"
      "'created_ms':1763700000000,'updated_ms':1763700002000,"
      "'state':'restored','note':'from what was saved'}" },
    { "event-queued", "the first event", &schema_event,
      "{'seq':1,'at':1763700000000,'type':'job.queued',"
      "'data':{'queue':'default'}}" },
    { "event-delta", "a piece of text", &schema_event,
      "{'seq':4,'at':1763700000900,'attempt':1,'type':'message.delta',"
      "'data':{'turn':1,'text':'Sch\xc3\xb6n \xf0\x9f\x98\x80'}}" },
    { "event-output-bytes", "output that is not UTF-8", &schema_event,
      "{'seq':7,'at':1763700001000,'attempt':1,'type':'tool.output',"
      "'data':{'text':{'base64':'/wAB'},'call':'1.0','stream':'stdout'}}" },
    { "event-image", "an image", &schema_event,
      "{'seq':8,'at':1763700001500,'attempt':1,'type':'image','data':"
      "{'image':{'name':'figure-1.png','mime':'image/png','blob':'" SHA
      "','bytes':20000,'width':640,'height':480}}}" },
    { "event-failed", "the last event of a job that failed", &schema_event,
      "{'seq':9,'at':1763700002000,'attempt':3,'type':'job.failed','data':"
      "{'ms':2000,'error':{'kind':'reject','code':'unknown_model',"
      "'message':'model \\\"huge\\\" is not configured'}}}" },
    { "result-completed", "an answer with a chart", &schema_result,
      "{" ID ",'status':'completed','answer':'![chart](figure-1.png)',"
      "'messages':[{'role':'user','content':'Plot it.'},"
      "{'role':'assistant','content':'![chart](figure-1.png)'}],"
      "'images':[{'name':'figure-1.png','mime':'image/png','blob':'" SHA
      "','bytes':20000,'width':640,'height':480}],"
      "'files':[{'name':'huge.bin','bytes':50000000,"
      "'note':'larger than a blob may be'}],"
      "'cells':[{'code':'plt.plot([1])','status':'ok','state':'kept',"
      "'stdout':'done\\n','stdout_bytes':5,'result':'[<Line2D>]',"
      "'displays':[{'text':'<Figure>','parts':[{'name':'figure-1.png',"
      "'mime':'image/png','blob':'" SHA "','bytes':20000,'width':640,"
      "'height':480}]}],'files':[{'name':'dir_caf_.csv','path':"
      "{'base64':'ZGlyL2NhZukuY3N2'},'blob':'" SHA "','bytes':9,'mime':"
      "'text/csv','change':'new'}],'ms':57}],"
      "'usage':{'input_tokens':900,'output_tokens':80,'cached_tokens':512,"
      "'model_calls':2},'attempts':1,'timings':{'queued':3,'model':1500,"
      "'tools':60,'total':1570},'model':'large','session':'s-1',"
      "'isolation':'namespaces seccomp landlock','metadata':{'user':'42'}}" },
    { "result-failed", "a cell that hung, and a job that failed",
      &schema_result,
      "{" ID ",'status':'failed','cells':[{'code':'while True: pass',"
      "'status':'timeout','state':'rolled_back',"
      "'reason':'the cell ran longer than 1000 ms','ms':1003}],"
      "'attempts':2,'error':{'kind':'retry','code':'model_unavailable',"
      "'message':'503','retryable':true}}" },
    { "record-reply", "a journal's record: a model's reply", &schema_record,
      "{'kind':'model_reply','attempt':1,'turn':2,"
      "'message':'{\\\"role\\\": \\\"assistant\\\"}','finish_reason':'stop',"
      "'usage':{'input_tokens':9,'output_tokens':3,'model_calls':1}}" },
    { "frame-display", "warden to consumer: a chart", &schema_frame,
      "{'type':'display','ref':4294967296,'session':'s-1',"
      "'call':'1.0','bundle':{'text/plain':'<Figure>',"
      "'image/png':{'base64':'iVBORw0KGgo='}}}" },
    { "frame-numbers", "warden to consumer: what it has counted", &schema_frame,
      "{'type':'numbers','ref':7,'data':"
      "'# HELP quern_cells_total Cells.\\n# TYPE quern_cells_total counter\\n"
      "quern_cells_total{outcome=\\\"ok\\\"} 3\\n'}" },
    { "guest-done", "guest to warden: a cell that raised", &schema_guest_frame,
      "{'type':'done','nonce':77,'status':'error','error':"
      "{'name':'ZeroDivisionError','value':'division by zero',"
      "'traceback':'<cell-1>:1'}}" },
};

/* Bytes that other writers may send; decoded as json says. */
struct odd {
    const char *file;
    const char *what;
    struct view bytes;
    const char *json;
};

static const struct odd odd[] = {
    { "job-unknown-members", "members of a later version are ignored",
      MAP("\x84", PACKED_ID PACKED_PROMPT "\xa6"
                                          "colour\x82\xa1x\x01\xa1y\xc0"),
      "{'v':1," ID ",'kind':'conversation','prompt':'hi'}" },
    { "job-nil-members", "nil, and what is empty, is absent",
      MAP("\x87", PACKED_ID PACKED_PROMPT "\xa5queue\xc0\xa5tools\x90\xa6"
                                          "limits\x90\xa8metadata\x80"),
      "{'v':1," ID ",'kind':'conversation','prompt':'hi'}" },
    { "job-long-forms", "numbers, strings and maps in their longest forms",
      VIEW_INIT("\xdf\0\0\0\x04\xdb\0\0\0\x01v\xcf\0\0\0\0\0\0\0\x01" PACKED_ID
                "\xda\0\x06prompt\xdb\0\0\0\x02hi\xa6limits\xde\0\x01"
                "\xa7"
                "cell_ms\xd3\0\0\0\0\0\0\0\x05"),
      "{'v':1," ID ",'kind':'conversation','prompt':'hi',"
      "'limits':{'cell_ms':5}}" },
    { "job-metadata-bytes", "a map's values may be bytes",
      MAP("\x84", PACKED_ID PACKED_PROMPT "\xa8metadata\x81\xa1k\xc4\x01v"),
      "{'v':1," ID ",'kind':'conversation','prompt':'hi',"
      "'metadata':{'k':'v'}}" },
};

/* Bytes that are refused, all as jobs. */
struct refused {
    const char *file;
    const char *what;
    struct view bytes;
    const char *code;
};

static const struct refused refused[] = {
    { "bad-empty", "no bytes", VIEW_INIT(""), "bad_message" },
    { "bad-array-of-2-28", "5 bytes that promise 8 GB",
      VIEW_INIT("\xdd\x10\0\0\0"), "bad_message" },
    { "bad-map-of-2-32", "5 bytes that promise more", //
      VIEW_INIT("\xdf\xff\xff\xff\xff"), "bad_message" },
    { "bad-deep", "25 arrays in each other",
      VIEW_INIT("\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
                "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\xc0"),
      "bad_message" },
    { "bad-cut", "a job without its last byte",
      MAP("\x83", PACKED_ID "\xa6prompt\xa2h"), "bad_message" },
    { "bad-trailing", "a byte after the job",
      MAP("\x83", PACKED_ID PACKED_PROMPT "\xc0"), "bad_message" },
    { "bad-ext", "an extension type",
      MAP("\x84", PACKED_ID PACKED_PROMPT "\xa1x\xd4\x05\x00"), "bad_message" },
    { "bad-integer-key", "a key that is not a string",
      MAP("\x84", PACKED_ID PACKED_PROMPT "\x07\x07"), "bad_message" },
    { "bad-twice", "the prompt twice",
      MAP("\x84", PACKED_ID PACKED_PROMPT PACKED_PROMPT), "bad_message" },
    { "bad-array", "not a map", VIEW_INIT("\x92\x01\x02"), "bad_message" },
    { "bad-version-2", "another version",
      VIEW_INIT("\x83\xa1v\x02" PACKED_ID PACKED_PROMPT),
      "unsupported_version" },
    { "bad-no-version", "no version", VIEW_INIT("\x82" PACKED_ID PACKED_PROMPT),
      "unsupported_version" },
    { "bad-no-id", "no id", MAP("\x82", PACKED_PROMPT), "missing_field" },
    { "bad-no-prompt", "nothing to say", MAP("\x82", PACKED_ID),
      "missing_field" },
    { "bad-utf8", "a prompt that is not UTF-8",
      MAP("\x83", PACKED_ID "\xa6prompt\xa2h\xff"), "bad_field" },
    { "bad-prompt-bytes", "a prompt as bytes",
      MAP("\x83", PACKED_ID "\xa6prompt\xc4\x02hi"), "bad_field" },
    { "bad-negative", "a negative limit",
      MAP("\x84", PACKED_ID PACKED_PROMPT "\xa6limits\x81\xa9max_turns\xff"),
      "bad_field" },
    { "bad-real", "a real for an integer",
      MAP("\x84", PACKED_ID PACKED_PROMPT
          "\xa6limits\x81\xa9max_turns\xcb\x40\x14\0\0\0\0\0\0"),
      "bad_field" },
};

enum {
    CANONICAL = sizeof(canonical) / sizeof(canonical[0]),
    ODD = sizeof(odd) / sizeof(odd[0]),
    REFUSED = sizeof(refused) / sizeof(refused[0]),
};

#endif
