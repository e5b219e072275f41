/* final.c - final_answer(): in CodeAct mode code ends the job with a value. */
#include "consumer/tools/final.h"

#include <stdlib.h>

#include "consumer/tools/tool.h"

static const char function[] =
    "{\"name\": \"" TOOL_FINAL "\","
    " \"description\": \"Ends the task with this answer, when the code comes to"
    " its end without an error.\","
    " \"parameters\": {\"type\": \"object\", \"properties\": {\"answer\": {"
    "  \"description\": \"A text in Markdown, or any JSON value\"}},"
    " \"required\": [\"answer\"], \"additionalProperties\": false}}";

struct final_answer {
    char *answer; /* JSON */
};

static bool final_prepare(struct tool_call *call, json_t *arguments,
                          struct err *err)
{
    struct final_answer *finishing = tool_call_state(call);
    (void)err;
    finishing->answer = json_dumps(json_object_get(arguments, "answer"),
                                   JSON_COMPACT | JSON_ENCODE_ANY);
    return true;
}

static void final_give(struct tool_call *call)
{
    const struct final_answer *finishing = tool_call_state(call);
    tool_call_give(call, view_of(finishing->answer));
}

static void final_start(struct tool_call *call)
{
    tool_call_later(call, final_give);
}

static void final_finish(struct tool_call *call)
{
    free(((struct final_answer *)tool_call_state(call))->answer);
}

static void final_tool_free(struct tool *tool)
{
    tool_finish(tool);
    free(tool);
}

bool final_add(struct catalog *catalog, struct err *err)
{
    static const struct tool_kind kind = { sizeof(struct final_answer),
                                           final_prepare, final_start,
                                           final_finish, final_tool_free };
    if (catalog_find(catalog, VIEW(TOOL_FINAL)))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "a tool may not be called " TOOL_FINAL ": that is what "
                       "code in CodeAct mode ends with");
    struct tool *tool = calloc(1, sizeof(*tool));
    if (!tool)
        abort();
    tool_init(tool, &kind, function);
    tool->always = true;
    return catalog_add(catalog, tool, err);
}
