/* replies.h - what endpoints send, short enough for a table: JSON is written
 * with ' for ". */
#ifndef TESTS_UNIT_MODEL_REPLIES_H
#define TESTS_UNIT_MODEL_REPLIES_H

#include <string.h>

#define DELTA(delta) "data: {'choices':[{'index':0,'delta':{" delta "}}]}\n\n"
#define CALL(call) DELTA("'tool_calls':[{" call "}]")
#define FINISH(reason)                                                         \
    "data: {'choices':[{'index':0,'delta':{},'finish_reason':'" reason         \
    "'}]}\n\n"
#define DONE "data: [DONE]\n\n"
#define PLAIN(message, reason)                                                 \
    "{'choices':[{'index':0,'message':{" message "},'finish_reason':" reason   \
    "}]}"

/* A copy with ' turned into "; free() it. */
static inline char *json_of(const char *text)
{
    char *copy = strdup(text);

    for (char *at = copy; *at; at++)
        if (*at == '\'')
            *at = '"';
    return copy;
}

#endif
