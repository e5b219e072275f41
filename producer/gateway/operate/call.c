/* call.c - a request that libquern answers, in a thread. */
#include "producer/gateway/operate/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "schemas/service/log.h"

enum { LIMIT = 50, MAX_LIMIT = 500 };
#define MAX_COUNT (UINT64_C(1) << 53)

struct operation {
    struct operate_call call; /* first */
    operate_run *run;
    bool good;
};

/* --------------------------------------------------------------- its answer */

bool operate_wrong(struct operate_call *call, const char *code,
                   const char *format, ...)
{
    va_list args;

    call->error.kind = QUERN_REJECT;
    snprintf(call->error.code, sizeof(call->error.code), "%s", code);
    va_start(args, format);
    vsnprintf(call->error.text, sizeof(call->error.text), format, args);
    va_end(args);
    return false;
}

bool operate_unknown(struct operate_call *call, const char *what)
{
    char code[32];

    snprintf(code, sizeof(code), "unknown_%s", what);
    return operate_wrong(call, code, "there is no %s \"%.100s\"", what,
                         call->name);
}

bool operate_is_unknown(const struct operate_call *call, const char *what)
{
    static const char prefix[] = "unknown_";
    size_t len = sizeof(prefix) - 1;

    return strcmp(call->error.code, "bad_field") == 0 ||
           (strncmp(call->error.code, prefix, len) == 0 &&
            strcmp(call->error.code + len, what) == 0);
}

bool operate_answer_list(struct operate_call *call, const char *name,
                         json_t *list)
{
    call->answer = json_pack("{s:o}", name, list);
    return true;
}

/* Who has done what: every act of an operator, also one that failed. */
static void write_audit(const struct operation *operation)
{
    const struct operate_call *call = &operation->call;

    if (call->act)
        log_line("audit", "{s:s, s:s, s:s, s:s}", "act", call->act, "name",
                 call->name, "tenant", call->tenant, "outcome",
                 operation->good ? "done" : call->error.code);
}

/* Comes also when the peer has gone meanwhile. */
static void operation_free(void *state)
{
    struct operation *operation = state;

    write_audit(operation);
    json_decref(operation->call.body);
    json_decref(operation->call.answer);
    free(operation);
}

static void on_done(struct api_request *request)
{
    struct operation *operation = request->state;
    struct operate_call *call = &operation->call;

    if (operation->good)
        api_request_json(request, call->status, json_incref(call->answer));
    else
        api_request_refuse_error(request, &call->error);
}

static void on_thread(void *state, struct quern *quern)
{
    struct operation *operation = state;

    operation->good = operation->run(&operation->call, quern);
}

/* ---------------------------------------------------------- what is asked */

bool operate_text(struct operate_call *call, const char *name,
                  const char **text)
{
    json_t *member = json_object_get(call->body, name);

    *text = member ? json_string_value(member) : "";
    if (*text && strlen(*text) == (member ? json_string_length(member) : 0))
        return true;
    return operate_wrong(call, "bad_field",
                         "%s: must be a text without NUL bytes", name);
}

bool operate_switch(struct operate_call *call, const char *name, bool *value)
{
    json_t *member = json_object_get(call->body, name);

    *value = json_is_true(member);
    return !member || json_is_boolean(member) ||
           operate_wrong(call, "bad_field", "%s: must be true or false", name);
}

bool operate_number(struct operate_call *call, const char *name, uint64_t max,
                    uint64_t *number)
{
    const json_t *member = json_object_get(call->body, name);
    json_int_t value = json_integer_value(member);

    *number = value > 0 ? (uint64_t)value : 0;
    return !member ||
           (json_is_integer(member) && value >= 0 && *number <= max) ||
           operate_wrong(call, "bad_field",
                         "%s: must be a whole number, 0 to %llu", name,
                         (unsigned long long)max);
}

bool operate_only(struct operate_call *call, const char *const *names)
{
    const char *name;
    json_t *value;

    json_object_foreach(call->body, name, value) {
        bool known = false;

        for (const char *const *at = names; *at && !known; at++)
            known = strcmp(*at, name) == 0;
        if (!known)
            return operate_wrong(call, "bad_field",
                                 "the body has \"%.64s\", which this route "
                                 "does not know",
                                 name);
    }
    return true;
}

/* False: answered. */
static bool read_query_name(struct api_request *request, const char *name,
                            char text[QUERN_NAME])
{
    struct view value = api_request_query(request, name);

    view_copy(text, QUERN_NAME, value);
    if (value.len < QUERN_NAME)
        return true;
    api_request_wrong(request, name,
                      "%s has %zu bytes, at most %d are possible", name,
                      value.len, QUERN_NAME - 1);
    return false;
}

/* False: answered. */
static bool read_words(struct api_request *request, struct operate_call *call)
{
    struct view name = request->params[0];

    if (!read_query_name(request, "queue", call->queue) ||
        !read_query_name(request, "tenant", call->of_tenant) ||
        !read_query_name(request, "span", call->span))
        return false;
    if (name.len >= sizeof(call->name)) {
        api_request_unknown(request, "name", name);
        return false;
    }
    view_copy(call->name, sizeof(call->name), name);
    snprintf(call->tenant, sizeof(call->tenant), "%s", request->caller.tenant);
    call->scopes = request->caller.scopes;
    return true;
}

/* False: answered, and the call is freed. */
static bool operation_read(struct api_request *request,
                           struct operate_call *call)
{
    json_t *body;

    if (!read_words(request, call) ||
        !api_request_number(request, "since", 0, MAX_COUNT, &call->since) ||
        !api_request_number(request, "skip", 0, MAX_COUNT, &call->skip) ||
        !api_request_number(request, "limit", LIMIT, MAX_LIMIT, &call->limit))
        return false;
    body = api_request_object(request);
    if (!body)
        return false;
    call->body = body;
    return true;
}

void operate_call(struct api_request *request, operate_run *run,
                  const char *act)
{
    struct operation *operation = calloc(1, sizeof(*operation));

    if (!operation)
        abort();
    operation->run = run;
    operation->call.status = 200;
    strcpy(operation->call.error.code, "not_done");
    request->state = operation;
    request->state_free = operation_free;
    if (!operation_read(request, &operation->call))
        return;
    operation->call.act = act;
    api_request_work(request, on_thread, on_done);
}
