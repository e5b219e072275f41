/* body.c - what requests look like in each dialect.
 *
 * A line of JSON in, {dialect, name, parameters, quirks, messages, tools,
 * max_tokens, last}, a line out: the body. */
#include <stdio.h>
#include <stdlib.h>

#include "consumer/model/endpoint.h"
#include "consumer/model/model.h"

enum { MAX_LINE = 16 << 20 };

static void write_body(const json_t *asked)
{
    struct model_endpoint endpoint = {
        .dialect =
            dialect_find(json_string_value(json_object_get(asked, "dialect"))),
        .parameters = json_object_get(asked, "parameters"),
        .quirks =
            (unsigned)json_integer_value(json_object_get(asked, "quirks")),
    };
    struct model_request request = {
        .messages = json_object_get(asked, "messages"),
        .tools = json_object_get(asked, "tools"),
        .max_tokens =
            (uint64_t)json_integer_value(json_object_get(asked, "max_tokens")),
        .last = json_is_true(json_object_get(asked, "last")),
    };
    const char *name = json_string_value(json_object_get(asked, "name"));
    CLEANUP(buf_finish) struct buf body = { 0 };
    char model[] = "m", hash[65];
    struct err err;

    endpoint.name = view_dup(view_of(name ? name : "e"));
    endpoint.model = model;
    if (model_body_make(&body, hash, &endpoint, &request, &err))
        printf("%.*s\n", VIEW_ARG(buf_view(&body)));
    else
        printf("%s\n", err.code);
    free(endpoint.name);
}

int main(void)
{
    static char line[MAX_LINE];

    while (fgets(line, sizeof(line), stdin)) {
        json_t *asked = json_loads(line, JSON_ALLOW_NUL, NULL);

        if (!asked)
            return 65;
        write_body(asked);
        json_decref(asked);
    }
    return 0;
}
