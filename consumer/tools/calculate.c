/* calculate.c - the tool calculate_math_expression.
 *
 * quern-reader evaluates the expression: this process, which holds keys, parses
 * nothing that a stranger wrote. */
#include "consumer/tools/calculate.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/tools/reader.h"
#include "consumer/tools/tool.h"
#include "consumer/tools/tool_host.h"

static const char function[] =
    "{\"name\": \"calculate_math_expression\","
    " \"description\": \"Calculate one expression and return the number:"
    " 2^10 and 2**10 are 1024, -2^2 is -4, 7//2 is 3, 10! is 3628800, sqrt(2)"
    " is 1.4142135623731. Operators + - * / // % ^ ** ! ( ), comparisons,"
    " c ? a : b; pi, e, tau; sqrt cbrt exp log (natural) log2 log10 sin cos"
    " tan asin acos atan atan2 sinh cosh tanh degrees radians abs sign floor"
    " ceil trunc round (half to even) min max sum avg mod pow hypot gcd lcm"
    " factorial comb perm. Angles are in radians. Numbers have 15 digits:"
    " whole ones are exact up to 2^53, larger ones come as 1e+20.\","
    " \"parameters\": {\"type\": \"object\", \"properties\": {"
    "  \"expression\": {\"type\": \"string\", \"description\": \"As in (3 +"
    " 4) * sqrt(2) / 7; no variables, no thousands separators\"}},"
    " \"required\": [\"expression\"], \"additionalProperties\": false}}";

struct calculation {
    struct tool_call *call;
    char *expression;
    struct reader *reader;
};

static bool calculate_prepare(struct tool_call *call, json_t *arguments,
                              struct err *err)
{
    struct calculation *calculating = tool_call_state(call);
    const json_t *expression = json_object_get(arguments, "expression");
    calculating->call = call;
    calculating->expression = view_dup(view_of(json_string_value(expression)));
    return json_string_length(expression) <= MAX_DOCUMENT ||
           err_set(err, ERR_REJECT, "bad_field", "the expression has %zu bytes",
                   json_string_length(expression));
}

static void calculate_finish(struct tool_call *call)
{
    struct calculation *calculating = tool_call_state(call);
    reader_cancel(calculating->reader);
    free(calculating->expression);
}

static void on_read(void *owner, struct view json, const struct err *why)
{
    struct calculation *calculating = owner;
    calculating->reader = NULL;
    if (why->kind != ERR_NONE) {
        tool_call_fail(calculating->call, why);
        return;
    }
    json_t *object = json_loadb(json.data, json.len, 0, NULL);
    /* 15 digits, as the description promises: 0.1 stays 0.1. */
    char *value = json_dumps(json_object_get(object, "value"),
                             JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    tool_call_give(calculating->call, view_of(value ? value : "null"));
    free(value);
    json_decref(object);
}

static void calculate_start(struct tool_call *call)
{
    struct calculation *calculating = tool_call_state(call);
    struct document document = {
        .kind = DOCUMENT_EXPRESSION,
        .url = "",
        .type = "",
        .bytes = view_of(calculating->expression),
    };
    calculating->reader =
        reader_start(tool_call_host(call), &document, on_read, calculating);
}

static void calculate_tool_free(struct tool *tool)
{
    tool_finish(tool);
    free(tool);
}

struct tool *calculate_tool_new(void)
{
    static const struct tool_kind kind = {
        .state_bytes = sizeof(struct calculation),
        .prepare = calculate_prepare,
        .start = calculate_start,
        .finish = calculate_finish,
        .free = calculate_tool_free,
    };
    struct tool *tool = calloc(1, sizeof(*tool));
    if (!tool)
        abort();
    tool_init(tool, &kind, function);
    return tool;
}
