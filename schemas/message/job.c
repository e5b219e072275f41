/* job.c - the table of a job, and what no single row of it can say. */
#include "schemas/message/job.h"

#include <string.h>

#include "schemas/message/functions.h"
#include "schemas/message/id.h"
#include "schemas/message/limits.h"
#include "schemas/message/rule.h"
#include "schemas/message/sampling.h"
#include "schemas/message/table.h"

const char *const priority_names[] = { "normal", "high", "low", NULL };
static const char *const kind_names[] = { "conversation", "code", "session",
                                          NULL };
static const char *const action_names[] = { "show",  "files", "get", "put",
                                            "close", "fork",  NULL };
static const char *const history_names[] = { "shown", "anew", "off", NULL };
static const char *const mode_names[] = { "tools", "codeact", NULL };
const char *const approval_default_names[] = { "operator", "abort", "skip",
                                               NULL };

/* The text of every list of plain texts. A cell is the longest of them; shorter
 * bounds (names of tools) are checked by job_check_names(). */
static const struct field text_fields[] = {
    { .type = FIELD_TEXT, .max = MAX_CODE_BYTES, .about = "UTF-8" },
};
const struct schema schema_text = {
    .name = "text",
    .about = "A plain text.",
    .size = sizeof(struct view),
    .fields = text_fields,
    .count = 1,
};

static const struct field file_ref_fields[] = {
    TEXT(file_ref, name, FIELD_REQUIRED, MAX_FILE_NAME_BYTES,
         "Base name: no slash, no control characters, not . or .."),
    TEXT_OF_LENGTH(
        file_ref, blob, 0, SHA256_BYTES,
        "SHA-256 of the bytes, which are at <prefix>{000}:blob:<sha256>"),
    UINT(file_ref, bytes, 0, MAX_NUMBER,
         "Length in bytes; a file that is larger than 64 MiB has no blob"),
    TEXT(file_ref, mime, 0, MAX_NAME_BYTES, "Media type"),
    TEXT(file_ref, note, FIELD_RAW, MAX_SENTENCE_BYTES,
         "Why there is no blob, or what was dropped"),
};
const struct schema schema_file_ref = {
    SCHEMA(file_ref, "A file: its name, and the blob of its bytes."),
};

/* A file that a job brings always has a blob, so there is no note, and its size
 * has a bound; schema_file_ref above is for results. */
static const struct field job_file_fields[] = {
    TEXT(file_ref, name, FIELD_REQUIRED, MAX_FILE_NAME_BYTES,
         "Base name: no slash, no control characters, not . or .."),
    TEXT_OF_LENGTH(
        file_ref, blob, 0, SHA256_BYTES,
        "SHA-256 of the bytes, which are at <prefix>{000}:blob:<sha256>"),
    UINT(file_ref, bytes, 0, MAX_FILE_BYTES, "Length in bytes"),
    TEXT(file_ref, mime, 0, MAX_NAME_BYTES, "Media type"),
};
static const struct schema schema_job_file = {
    .name = "job_file",
    .about = "A file of a job: its name, and the blob of its bytes.",
    .size = sizeof(struct file_ref),
    .fields = job_file_fields,
    .count = sizeof(job_file_fields) / sizeof(job_file_fields[0]),
};

static const struct field job_limits_fields[] = {
    UINT(job_limits, max_turns, 0, MAX_TURNS, "The most model calls"),
    UINT_IN(UNIT_MS, job_limits, deadline_ms, 0, MAX_DEADLINE_MS,
            "Time from submit to end, waiting included"),
    UINT(job_limits, max_tokens, 0, 1 << 24, "The most tokens of one reply"),
    UINT(job_limits, max_total_tokens, 0, MAX_NUMBER,
         "The most tokens that models may read and write, over all calls"),
    UINT_IN(UNIT_MICRO_DOLLARS, job_limits, max_cost, 0, MAX_NUMBER,
            "The most that all model calls may cost"),
    UINT(job_limits, max_output_tokens, 0, MAX_NUMBER,
         "The most tokens that models may write, over all calls"),
    UINT(job_limits, max_tool_calls, 0, MAX_NUMBER,
         "The most calls of quern's own tools, Python included, that models "
         "may make"),
    UINT_IN(UNIT_MS, job_limits, cell_ms, 0, MAX_CELL_MS,
            "The longest time of one cell"),
    UINT_IN(UNIT_BYTES, job_limits, memory_bytes, 0, UINT64_C(1) << 40,
            "The most memory of the session"),
};
static const struct schema schema_job_limits = {
    SCHEMA(job_limits, "Absent or 0: the operator's default. Above the "
                       "operator's bound: that bound."),
};

static const struct field job_retry_fields[] = {
    UINT(job_retry, max_attempts, 0, 100,
         "The most attempts that end in an error; 0: default"),
    UINT_IN(UNIT_MS, job_retry, backoff_ms, 0, UINT64_C(3600) * 1000,
            "Pause before the second attempt, doubled each time; 0: default"),
};
static const struct schema schema_job_retry = {
    SCHEMA(job_retry, "How often and how soon a failed attempt is repeated."),
};

static const struct field job_function_fields[] = {
    TEXT(job_function, name, FIELD_REQUIRED, MAX_NAME_BYTES,
         "1 to 64 of A-Z a-z 0-9 _ -"),
    TEXT(job_function, description, 0, MAX_ABOUT_BYTES,
         "What it does, for the model"),
    ANY(job_function, parameters, 0,
        "JSON Schema of an object: its arguments; absent: it takes none"),
    BOOL(job_function, strict, 0,
         "The endpoint holds the model to the schema, where it can"),
};
static const struct schema schema_job_function = {
    SCHEMA(job_function, "A function of the caller, which quern does not run: "
                         "a call of it ends the job."),
};

static const struct field path_fields[] = {
    { .type = FIELD_TEXT,
      .flags = FIELD_RAW,
      .max = MAX_PATH_BYTES,
      .about = "Path in the workspace, any bytes" },
};
static const struct schema schema_path = {
    .name = "path",
    .about = "A path.",
    .size = sizeof(struct view),
    .fields = path_fields,
    .count = 1,
};

static const struct field job_action_fields[] = {
    ENUM_AS("do", job_action, verb, FIELD_ALWAYS, action_names,
            "show: gives its record. files: lists its workspace. get: gives "
            "files. put: writes the job's files into it. close: ends it. fork: "
            "makes another session as a copy."),
    LIST(job_action, names, 0, path, MAX_FILES, "get: paths in the workspace"),
    TEXT(job_action, to, 0, MAX_NAME_BYTES,
         "fork: the new session's name, spelled as tenant"),
};
static const struct schema schema_job_action = {
    SCHEMA(job_action, "What to do with a session."),
};

static const struct field job_fields[] = {
    TEXT_OF_LENGTH(job, id, FIELD_REQUIRED, ID_LEN,
                   "UUIDv7 in lower case; the three digits after -7 are the "
                   "partition: 000"),
    ENUM(job, kind, FIELD_ALWAYS, kind_names,
         "conversation: a model answers. code: cells run without a model. "
         "session: an action on the session itself."),
    TEXT(job, queue, 0, MAX_NAME_BYTES,
         "1 to 128 of A-Z a-z 0-9 . _ -; absent: default"),
    ENUM(job, priority, 0, priority_names, "Absent: normal"),
    TEXT(job, tenant, 0, MAX_NAME_BYTES,
         "The tenant that the job is for: 1 to 128 bytes of UTF-8 without "
         "control characters; absent: default"),
    TEXT(job, session, 0, MAX_NAME_BYTES,
         "Name of a Python session that outlives the job, spelled as tenant; "
         "absent: a session of its own, which ends with the job"),
    ENUM(job, history, 0, history_names,
         "The session's earlier conversation. shown: the model sees it, and "
         "the job adds to it. anew: it begins again with this job. off: the "
         "job neither sees it nor adds to it"),
    ANY(job, messages, 0,
        "The conversation so far, in OpenAI's chat format; or use prompt"),
    TEXT(job, prompt, 0, MAX_TEXT_BYTES, "One user message; or use messages"),
    TEXT(job, system, 0, MAX_TEXT_BYTES, "System message, before the others"),
    ENUM(job, mode, 0, mode_names,
         "tools: function calling. codeact: quern runs the code in the model's "
         "text"),
    TEXT(job, model, 0, MAX_NAME_BYTES,
         "The name of an endpoint in the operator's configuration; absent: the "
         "default one"),
    LIST(job, tools, 0, text, MAX_TOOLS,
         "Names of tools that the job may use; absent: all; only none: no "
         "tool"),
    LIST(job, approve, 0, text, MAX_TOOLS,
         "Names of tools, also execute_python_code: a person must approve each "
         "call. The operator may name more"),
    UINT_IN(UNIT_MS, job, approval_ms, 0, MAX_DEADLINE_MS,
            "How long the job waits for a verdict; 0: default"),
    ENUM(job, approval_default, 0, approval_default_names,
         "What happens after approval_ms. abort: the job fails. skip: the call "
         "is not made. operator, absent: as the operator has set"),
    LIST(job, files, 0, job_file, MAX_FILES,
         "Files for the session; write their blobs before the submit"),
    LIST(job, cells, 0, text, MAX_CELLS,
         "Kind code: Python cells, run in order until one fails"),
    MAP(job, env, 0, MAX_ENV,
        "Environment variables of the job's cells, not of later jobs: names of "
        "A-Z a-z 0-9 _, 16 KiB in all"),
    STRUCT(job, action, 0, job_action,
           "Kind session: what to do with the session; absent: show"),
    STRUCT(job, limits, 0, job_limits, "Bounds of this job"),
    STRUCT(job, retry, 0, job_retry, "How often to try again after errors"),
    TEXT(job, idempotency_key, 0, 256,
         "A second submit of the tenant with the same key within a day gives "
         "the first job"),
    UINT(job, not_before, 0, MAX_NUMBER,
         "Milliseconds since 1970: the job does not start earlier"),
    MAP(job, metadata, 0, MAX_METADATA, "The result returns it"),
    TEXT(job, traceparent, 0, MAX_NAME_BYTES, "W3C Trace Context"),
    ANY(job, output_schema, 0,
        "JSON Schema: the answer must be JSON that fits it"),
    ANY(job, parameters, 0,
        "How the model writes, within what the operator allows: temperature, "
        "top_p, top_k, min_p, presence_penalty, frequency_penalty, seed, stop "
        "(a text or a list), reasoning_effort, reasoning_summary, verbosity, "
        "parallel_tool_calls"),
    TEXT(job, tracestate, 0, MAX_TRACESTATE_BYTES,
         "W3C Trace Context, beside traceparent: up to 32 key=value"),
    LIST(job, functions, 0, job_function, MAX_FUNCTIONS,
         "Functions of the caller: the model may call them, and the job then "
         "ends with these calls"),
    TEXT(job, tool_choice, 0, MAX_NAME_BYTES,
         "auto, none, required, or the name of a function or a tool that the "
         "model has to call first; absent: auto"),
    TEXT(job, client, 0, MAX_CLIENT_BYTES,
         "What the client wants to find again in the job; quern does not read "
         "it"),
    TEXT_OF_LENGTH(job, earlier, 0, SHA256_BYTES,
                   "The blob that the result of another job names as its "
                   "conversation: this job goes on from there"),
    UINT_IN(UNIT_MS, job, keep_ms, 0,
            (uint64_t)MAX_KEEP_DAYS * 24 * 3600 * 1000,
            "How long the result and its blobs are kept, at least; and with "
            "it the conversation, for jobs that go on from it"),
    BOOL(job, notify, 0, "The end is told to the webhooks of the tenant"),
};
const struct schema schema_job = {
    SCHEMA(job, "What a producer asks for."),
    .versioned = true,
    .max_bytes = MAX_JOB_BYTES,
};

bool name_has_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

/* "." and ".." would be harmless in a key, but not as a folder's name. */
static bool is_dots(struct view name)
{
    return view_is(name, ".") || view_is(name, "..");
}

bool name_is_valid(struct view name)
{
    if (name.len == 0 || name.len > MAX_NAME_BYTES || is_dots(name))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (!name_has_byte(name.data[i]))
            return false;
    }
    return true;
}

/* Whether a control character of C1 (U+0080 to U+009F) stands there: terminals
 * obey these, too. */
static bool is_c1(struct view at)
{
    return at.len > 1 && (unsigned char)at.data[0] == 0xc2 &&
           (unsigned char)at.data[1] >= 0x80 &&
           (unsigned char)at.data[1] <= 0x9f;
}

bool label_is_valid(struct view label)
{
    if (label.len == 0 || label.len > MAX_NAME_BYTES || !view_is_utf8(label))
        return false;
    for (size_t i = 0; i < label.len; i++) {
        unsigned char byte = (unsigned char)label.data[i];

        if (byte < ' ' || byte == 0x7f ||
            is_c1((struct view){ label.data + i, label.len - i }))
            return false;
    }
    return true;
}

bool label_check(const char *what, struct view label, struct err *err)
{
    return label_is_valid(label) ||
           err_set(err, ERR_REJECT, "bad_field",
                   "%s is \"%.*s\", must be 1 to %d bytes of UTF-8 without "
                   "control characters",
                   what, VIEW_ARG(view_head(label, 64)), MAX_NAME_BYTES);
}

bool file_name_is_valid(struct view name)
{
    if (name.len == 0 || name.len > MAX_FILE_NAME_BYTES || is_dots(name) ||
        !view_is_utf8(name))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        unsigned char byte = (unsigned char)name.data[i];

        if (byte < ' ' || byte == 0x7f || byte == '/')
            return false;
    }
    return true;
}

bool file_path_is_valid(struct view path)
{
    const char *slash;

    if (path.len > MAX_FILE_NAME_BYTES)
        return false;
    while (path.len > 0 && (slash = memchr(path.data, '/', path.len))) {
        size_t len = (size_t)(slash - path.data);

        if (!file_name_is_valid((struct view){ path.data, len }))
            return false;
        path.data += len + 1;
        path.len -= len + 1;
    }
    return file_name_is_valid(path);
}

struct view file_base_name(struct view path)
{
    const char *slash = path.len > 0 ? memrchr(path.data, '/', path.len) : NULL;
    size_t skip = slash ? (size_t)(slash + 1 - path.data) : 0;

    return (struct view){ path.data + skip, path.len - skip };
}

static bool job_check_name(const struct field_path *place, struct view name,
                           struct err *err)
{
    if (name_is_valid(name))
        return true;
    name = view_head(name, 64);
    return fault(place, err, "bad_field",
                 "is \"%.*s\", must be 1 to %d of A-Z a-z 0-9 . _ -",
                 VIEW_ARG(name), MAX_NAME_BYTES);
}

static bool check_tools(const char *member, const struct list *names,
                        struct err *err)
{
    const struct field_path list = { .name = member };
    const struct view *tools = names->items;

    for (size_t i = 0; i < names->count; i++) {
        const struct field_path place = { .outer = &list, .index = i };

        if (!job_check_name(&place, tools[i], err))
            return false;
    }
    return true;
}

static bool check_no_tools(const struct list *names, struct err *err)
{
    const struct field_path list = { .name = "tools" };
    const struct view *tools = names->items;

    for (size_t i = 0; i < names->count && names->count > 1; i++) {
        const struct field_path place = { .outer = &list, .index = i };

        if (view_is(tools[i], JOB_NO_TOOLS))
            return fault(&place, err, "bad_field",
                         "is \"" JOB_NO_TOOLS
                         "\", beside which there may be no other");
    }
    return true;
}

static bool job_check_names(const struct job *job, struct err *err)
{
    const struct {
        const char *member;
        struct view label;
    } rows[] = {
        { "tenant", job->tenant },
        { "session", job->session },
        { "action.to", job->action.to },
    };
    const struct field_path queue = { .name = "queue" };

    if (job->queue.len > 0 && !job_check_name(&queue, job->queue, err))
        return false;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].label.len > 0 &&
            !label_check(rows[i].member, rows[i].label, err))
            return false;
    return check_tools("tools", &job->tools, err) &&
           check_no_tools(&job->tools, err) &&
           check_tools("approve", &job->approve, err);
}

static bool check_file(const struct field_path *place,
                       const struct file_ref *file, struct err *err)
{
    const struct field_path name = { .outer = place, .name = "name" };
    const struct field_path blob = { .outer = place, .name = "blob" };
    struct view shown = view_head(file->name, 64);

    if (!file_name_is_valid(file->name))
        return fault(&name, err, "bad_field",
                     "is \"%.*s\", must be a base name without control "
                     "characters",
                     VIEW_ARG(shown));
    if (file->blob.len == 0)
        return fault(&blob, err, "missing_field", "is required");
    if (!id_is_sha256(file->blob))
        return fault(&blob, err, "bad_field",
                     "must be a SHA-256 in lower-case hexadecimal digits");
    return true;
}

static bool check_files(const struct job *job, struct err *err)
{
    const struct file_ref *files = job->files.items;

    for (size_t i = 0; i < job->files.count; i++) {
        const struct field_path list = { .name = "files" };
        const struct field_path place = { .outer = &list, .index = i };

        if (!check_file(&place, &files[i], err))
            return false;
        for (size_t k = 0; k < i; k++) {
            if (view_equal(files[i].name, files[k].name))
                return fault(&place, err, "bad_field",
                             "has the name of files[%zu]", k);
        }
    }
    return true;
}

static bool is_env_byte(char byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte >= '0' && byte <= '9') || byte == '_';
}

static bool env_name_is_valid(struct view name)
{
    if (name.len == 0 || name.len > MAX_NAME_BYTES ||
        (name.data[0] >= '0' && name.data[0] <= '9'))
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!is_env_byte(name.data[i]))
            return false;
    return true;
}

/* An error names the variable, but never its value, which may be a secret. */
static bool check_env(const struct job *job, struct err *err)
{
    const struct field_path place = { .name = "env" };
    const struct pair *pairs = job->env.items;
    size_t bytes = 0;

    for (size_t i = 0; i < job->env.count; i++) {
        struct view name = view_head(pairs[i].key, 64);

        if (!env_name_is_valid(pairs[i].key))
            return fault(&place, err, "bad_field",
                         "has the name \"%.*s\", must be 1 to %d of A-Z a-z "
                         "0-9 _ and not begin with a digit",
                         VIEW_ARG(name), MAX_NAME_BYTES);
        if (pairs[i].value.len > 0 &&
            memchr(pairs[i].value.data, '\0', pairs[i].value.len))
            return fault(&place, err, "bad_field",
                         "has a NUL in the value of \"%.*s\"", VIEW_ARG(name));
        bytes += pairs[i].key.len + pairs[i].value.len;
    }
    return bytes <= MAX_ENV_BYTES ||
           fault(&place, err, "too_large", "has %zu bytes, at most %d", bytes,
                 MAX_ENV_BYTES);
}

static bool is_role(struct view role)
{
    static const char *const roles[] = { "system", "developer", "user",
                                         "assistant", "tool" };

    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (view_is(role, roles[i]))
            return true;
    }
    return false;
}

static bool check_parts(const struct field_path *list,
                        const msgpack_object *content, struct err *err)
{
    for (size_t i = 0; i < content->via.array.size; i++) {
        const struct field_path place = { .outer = list, .index = i };
        const struct field_path type = { .outer = &place, .name = "type" };
        const msgpack_object *part = &content->via.array.ptr[i];

        if (part->type != MSGPACK_OBJECT_MAP)
            return fault(&place, err, "bad_field", "must be a map");
        part = value_member(part, "type");
        if (!part || part->type != MSGPACK_OBJECT_STR)
            return fault(&type, err, part ? "bad_field" : "missing_field",
                         part ? "must be text" : "is required");
    }
    return true;
}

/* An assistant's message may lack content: it may consist of tool calls only.
 */
static bool check_content(const struct field_path *outer,
                          const msgpack_object *message, struct view role,
                          struct err *err)
{
    const struct field_path place = { .outer = outer, .name = "content" };
    const msgpack_object *content = value_member(message, "content");

    if (!content)
        return view_is(role, "assistant") ||
               fault(&place, err, "missing_field", "is required");
    if (content->type == MSGPACK_OBJECT_ARRAY)
        return check_parts(&place, content, err);
    return content->type == MSGPACK_OBJECT_STR ||
           fault(&place, err, "bad_field",
                 "must be text, or an array of parts");
}

static bool check_message(const struct field_path *place,
                          const msgpack_object *message, struct err *err)
{
    const struct field_path role = { .outer = place, .name = "role" };
    const msgpack_object *value = value_member(message, "role");
    struct view text;

    if (message->type != MSGPACK_OBJECT_MAP)
        return fault(place, err, "bad_field", "must be a map");
    if (!value)
        return fault(&role, err, "missing_field", "is required");
    if (value->type != MSGPACK_OBJECT_STR)
        return fault(&role, err, "bad_field", "must be text");
    if (is_role(value_view(value)))
        return check_content(place, message, value_view(value), err);
    text = view_head(value_view(value), 64);
    return fault(&role, err, "bad_field",
                 "is \"%.*s\", must be one of system, developer, user, "
                 "assistant, tool",
                 VIEW_ARG(text));
}

bool messages_check(const msgpack_object *messages, struct err *err)
{
    const struct field_path list = { .name = "messages" };

    if (messages->type != MSGPACK_OBJECT_ARRAY)
        return fault(&list, err, "bad_field", "must be an array of maps");
    for (size_t i = 0; i < messages->via.array.size; i++) {
        const struct field_path place = { .outer = &list, .index = i };

        if (!check_message(&place, &messages->via.array.ptr[i], err))
            return false;
    }
    return true;
}

/* The first messages of a job that goes on from another may answer calls of
 * that one, which the consumer sees when it has read its conversation. */
static bool check_messages(const struct job *job, struct err *err)
{
    return !job->messages || (messages_check(job->messages, err) &&
                              (job->earlier.len > 0 ||
                               functions_check_answers(job->messages, err)));
}

static bool check_earlier(const struct job *job, struct err *err)
{
    const struct field_path place = { .name = "earlier" };

    if (job->earlier.len == 0)
        return true;
    if (!id_is_sha256(job->earlier))
        return fault(&place, err, "bad_field",
                     "must be a SHA-256 in lower-case hexadecimal digits");
    return job->kind == JOB_CONVERSATION ||
           fault(&place, err, "bad_field", "is for a conversation");
}

static bool is_given(const struct job_action *action)
{
    return action->verb != ACTION_SHOW || action->names.count > 0 ||
           action->to.len > 0;
}

/* Each of these members is required for one action, and refused for all others:
 * a producer that gives it otherwise has mistaken what would be done. */
static bool check_action(const struct job *job, struct err *err)
{
    const struct job_action *action = &job->action;
    const struct {
        const char *member;
        bool given;
        int verb;
    } rows[] = {
        { "action.names", action->names.count > 0, ACTION_GET },
        { "files", job->files.count > 0, ACTION_PUT },
        { "action.to", action->to.len > 0, ACTION_FORK },
    };

    if (job->session.len == 0)
        return err_set(err, ERR_REJECT, "missing_field",
                       "session is required for kind session");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *verb = action_names[rows[i].verb];

        if (action->verb == rows[i].verb && !rows[i].given)
            return err_set(err, ERR_REJECT, "missing_field",
                           "%s is required for action %s", rows[i].member,
                           verb);
        if (action->verb != rows[i].verb && rows[i].given)
            return err_set(err, ERR_REJECT, "bad_field",
                           "%s is for action %s, not for %s", rows[i].member,
                           verb, action_names[action->verb]);
    }
    return !view_equal(action->to, job->session) ||
           err_set(err, ERR_REJECT, "bad_field",
                   "action.to is the session itself");
}

static bool check_paths(const struct job *job, struct err *err)
{
    const struct view *names = job->action.names.items;

    for (size_t i = 0; i < job->action.names.count; i++)
        if (names[i].len == 0 || memchr(names[i].data, '\0', names[i].len))
            return err_set(err, ERR_REJECT, "bad_field",
                           "action.names[%zu] must be a path without NUL", i);
    return true;
}

static bool check_output(const struct job *job, struct err *err)
{
    if (!job->output_schema)
        return true;
    if (job->output_schema->type != MSGPACK_OBJECT_MAP)
        return err_set(err, ERR_REJECT, "bad_field",
                       "output_schema must be a map");
    return job->kind == JOB_CONVERSATION ||
           err_set(err, ERR_REJECT, "bad_field",
                   "output_schema is for a conversation");
}

static bool check_trace(const struct job *job, struct err *err)
{
    struct trace trace = job_trace(job);

    return trace_check(&trace, err);
}

static bool check_parameters(const struct job *job, struct err *err)
{
    if (!job->parameters)
        return true;
    if (job->kind != JOB_CONVERSATION)
        return err_set(err, ERR_REJECT, "bad_field",
                       "parameters are for a conversation");
    return sampling_check(job->parameters, err);
}

/* What each kind of job must have, and what it must not have. */
static bool check_kind(const struct job *job, struct err *err)
{
    bool talks = job->messages || job->prompt.len > 0;
    bool asks = job->approve.count > 0 || job->approval_ms > 0 ||
                job->approval_default != APPROVAL_UNSAID;

    if (job->kind != JOB_CONVERSATION && asks)
        return err_set(err, ERR_REJECT, "bad_field",
                       "approve, approval_ms and approval_default are for a "
                       "conversation: only calls of a model need approval");
    if (job->kind == JOB_SESSION && (talks || job->cells.count > 0))
        return err_set(err, ERR_REJECT, "bad_field",
                       "kind session takes an action, not messages, prompt or "
                       "cells");
    if (job->kind == JOB_SESSION && job->env.count > 0)
        return err_set(err, ERR_REJECT, "bad_field",
                       "env is for jobs that run cells, not for kind session");
    if (job->kind == JOB_SESSION)
        return check_action(job, err) && check_paths(job, err);
    if (is_given(&job->action))
        return err_set(err, ERR_REJECT, "bad_field",
                       "action is for kind session");
    if (job->kind == JOB_CODE && job->cells.count == 0)
        return err_set(err, ERR_REJECT, "missing_field",
                       "cells is required for kind code");
    if (job->kind == JOB_CODE && talks)
        return err_set(err, ERR_REJECT, "bad_field",
                       "kind code takes cells, not messages or prompt");
    if (job->kind == JOB_CODE)
        return true;
    if (!talks && job->files.count == 0)
        return err_set(err, ERR_REJECT, "missing_field",
                       "prompt, messages or files are required for a "
                       "conversation");
    if (job->messages && job->prompt.len > 0)
        return err_set(err, ERR_REJECT, "bad_field",
                       "prompt and messages exclude each other");
    if (job->cells.count > 0)
        return err_set(err, ERR_REJECT, "bad_field",
                       "cells are for kind code, not for a conversation");
    return true;
}

bool job_decode(struct job *job, struct view bytes, struct arena *arena,
                struct err *err)
{
    const struct field_path id = { .name = "id" };
    struct unknown_members unknown = { 0 };

    if (!message_decode_noting(&schema_job, bytes, job, arena, &unknown, err))
        return false;
    job->unknown = unknown;
    if (!id_parse(job->id, NULL))
        return fault(&id, err, "bad_field", "must be a UUIDv7 in lower case");
    return check_kind(job, err) && check_output(job, err) &&
           check_parameters(job, err) && functions_check(job, err) &&
           job_check_names(job, err) && check_files(job, err) &&
           check_env(job, err) && check_earlier(job, err) &&
           check_messages(job, err) && check_trace(job, err);
}

struct trace job_trace(const struct job *job)
{
    return (struct trace){ .parent = job->traceparent,
                           .state = job->tracestate };
}

struct traced {
    struct view traceparent;
};

struct view job_trace_id(struct view bytes, struct arena *arena)
{
    static const struct field traced_fields[] = {
        TEXT(traced, traceparent, 0, MAX_NAME_BYTES, "Of a job"),
    };
    static const struct schema schema_traced = {
        SCHEMA(traced, "The part of a job by which the log names its trace."),
        .max_bytes = MAX_JOB_BYTES,
    };
    struct traced found;
    struct trace trace;

    /* Most jobs have none, and need not be decoded for it. */
    if (!memmem(bytes.data, bytes.len, "traceparent", strlen("traceparent")) ||
        !message_decode(&schema_traced, bytes, &found, arena, NULL))
        return (struct view){ 0 };
    trace = (struct trace){ .parent = found.traceparent };
    return trace_check(&trace, NULL) ? trace_id(trace.parent)
                                     : (struct view){ 0 };
}

struct metadata {
    struct list metadata;
};

/* Decodes with a table of this one member: all others are unknown to it, and so
 * are not checked. */
struct list job_metadata(struct view bytes, struct arena *arena)
{
    static const struct field metadata_fields[] = {
        MAP(metadata, metadata, 0, MAX_METADATA, "Of a job"),
    };
    static const struct schema schema_metadata = {
        SCHEMA(metadata, "The part of a job that every result returns."),
        .max_bytes = MAX_JOB_BYTES,
    };
    struct metadata found;

    if (!message_decode(&schema_metadata, bytes, &found, arena, NULL))
        return (struct list){ 0 };
    return found.metadata;
}
