/* response_request.c - POST /v1/responses: from its body to a job. */
#include "producer/gateway/responses/response_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/responses/message_items.h"
#include "producer/gateway/responses/request_reader.h"
#include "producer/gateway/responses/response_list.h"
#include "schemas/json/convert.h"
#include "schemas/json/output_schema.h"
#include "schemas/message/buf.h"
#include "schemas/message/job.h"
#include "schemas/message/limits.h"

enum {
    MOST_METADATA = 16,
    MOST_METADATA_NAME = 64,
    MOST_METADATA_VALUE = 512,
    MOST_FORMAT_NAME = 64,
    MOST_HINT = 512, /* characters of what is only repeated */
    LEAST_OUTPUT_TOKENS = 16,
    MOST_LOGPROBS = 20,
    MOST_INCLUDE = 32,
    OTHER_BYTES = 1024, /* of a job beside what is read here: id, tenant,
                           session, what is encoded always */
};
#define MOST_COUNT ((json_int_t)1 << 53)

/* ---------------------------------------------------------------- top level */

/* Members that are repeated as they came, when they are of this type. */
static const struct {
    const char *name;
    bool is_object;
    size_t max;
} hints[] = {
    { "user", false, MOST_HINT },
    { "safety_identifier", false, 64 },
    { "prompt_cache_key", false, MOST_HINT },
    { "prompt_cache_retention", false, 64 },
    { "prompt_cache_options", true, 0 },
    { "service_tier", false, 64 },
};

/* They would change the answer, and there is nothing like them here. */
static const char *const unsupported[] = { "prompt", "context_management",
                                           "moderation", NULL };

static const char *const known[] = {
    "background",
    "context_management",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "moderation",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
    NULL,
};

static bool request_read_hints(struct request_reader *reader,
                               const struct body_value *body)
{
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        struct body_value member = body_member(body, hints[i].name);
        struct view text = { 0 };
        bool good = hints[i].is_object
                        ? body_object(body, hints[i].name, &member)
                        : body_text(body, hints[i].name, hints[i].max, &text);

        if (!good)
            return false;
        if (member.json)
            json_object_set(reader->request->asked, hints[i].name, member.json);
    }
    for (const char *const *name = unsupported; *name; name++) {
        struct body_value member = body_member(body, *name);

        if (member.json)
            return body_refuse(&member, "unsupported_parameter",
                               "is not supported");
    }
    return true;
}

/* ------------------------------------------------------- how it is answered */

static bool request_read_include(struct request_reader *reader,
                                 const struct body_value *body)
{
    static const char *const words[] = {
        "code_interpreter_call.outputs",         "reasoning.encrypted_content",
        "message.input_image.image_url",         "web_search_call.results",
        "web_search_call.action.sources",        "file_search_call.results",
        "computer_call_output.output.image_url", NULL,
    };
    struct body_value list;

    if (!body_list(body, "include", MOST_INCLUDE, &list))
        return false;
    for (size_t i = 0; i < json_array_size(list.json); i++) {
        struct body_value item = body_item(&list, i);
        struct view word = body_string(item.json);
        size_t k = 0;

        if (!json_is_string(item.json))
            return body_refuse_type(&item, "a string");
        while (words[k] && !view_is(word, words[k]))
            k++;
        if (!words[k])
            return body_refuse(&item, "invalid_value",
                               "is \"%.*s\", which cannot be included here",
                               VIEW_ARG(view_head(word, 64)));
        if (k == 0)
            reader->request->with_outputs = true;
    }
    return true;
}

static bool request_read_stream(struct response_request *request,
                                const struct body_value *body)
{
    static const char *const names[] = { "include_obfuscation", NULL };
    struct body_value options;

    if (!body_flag(body, "stream", &request->stream) ||
        !body_object(body, "stream_options", &options))
        return false;
    request->obfuscate = request->stream;
    if (!options.json)
        return true;
    if (!request->stream)
        return body_refuse(&options, "invalid_value",
                           "is for requests with stream only");
    return body_check_names(&options, names) &&
           body_flag(&options, "include_obfuscation", &request->obfuscate);
}

static bool request_read_storing(struct request_reader *reader,
                                 const struct body_value *body)
{
    struct response_request *request = reader->request;
    struct body_value store = body_member(body, "store");

    if (!body_flag(body, "background", &request->background) ||
        !body_flag(body, "store", &request->store))
        return false;
    json_object_set_new(reader->request->asked, "store",
                        json_boolean(request->store));
    return !request->background || request->store ||
           body_refuse(&store, "invalid_value",
                       "is false, but background is true: what runs in the "
                       "background must be stored");
}

/* ------------------------------------------------------------ what it
 * continues
 */

static bool request_read_conversation(struct request_reader *reader,
                                      const struct body_value *body)
{
    struct body_value conversation = body_member(body, "conversation");
    struct view *id = &reader->request->conversation;

    if (!conversation.json)
        return true;
    if (json_is_string(conversation.json))
        *id = body_string(conversation.json);
    else if (!json_is_object(conversation.json))
        return body_refuse_type(&conversation, "an id, or an object");
    else if (!body_require(&conversation, "id") ||
             !body_text(&conversation, "id", 64, id))
        return false;
    if (id->len == 0 || id->len > 64)
        return body_refuse(&conversation, "invalid_value",
                           "has an id of %zu bytes, must have 1 to 64",
                           id->len);
    json_object_set_new(reader->request->asked, "conversation",
                        json_pack("{s:s%}", "id", id->data, id->len));
    return true;
}

static bool request_read_previous(struct request_reader *reader,
                                  const struct body_value *body)
{
    struct body_value previous = body_member(body, "previous_response_id");
    struct view *id = &reader->request->previous;

    if (!body_text(body, "previous_response_id", 64, id) ||
        !request_read_conversation(reader, body))
        return false;
    if (!previous.json)
        return true;
    if (id->len == 0)
        return body_refuse(&previous, "invalid_value", "is empty");
    json_object_set(reader->request->asked, "previous_response_id",
                    previous.json);
    return reader->request->conversation.len == 0 ||
           body_refuse(&previous, "invalid_value",
                       "stands beside conversation: give one of them");
}

/* ---------------------------------------------------------- how models write
 */

static json_t *job_member(struct request_reader *reader, const char *name)
{
    return json_object_get(reader->request->job, name);
}

static bool request_read_number(struct request_reader *reader,
                                const struct body_value *body, const char *name,
                                double most)
{
    struct body_value member = body_member(body, name);
    double number = 0;

    if (!body_number(body, name, 0, most, &number))
        return false;
    if (member.json) {
        json_object_set(job_member(reader, "parameters"), name, member.json);
        json_object_set_new(reader->request->asked, name, json_real(number));
    }
    return true;
}

static bool request_read_limit(struct request_reader *reader,
                               const struct body_value *body, const char *name,
                               json_int_t least)
{
    json_int_t limit = 0;

    if (!body_integer(body, name, least, MOST_COUNT - 1, &limit))
        return false;
    if (limit > 0) {
        json_object_set_new(job_member(reader, "limits"), name,
                            json_integer(limit));
        json_object_set_new(reader->request->asked, name, json_integer(limit));
    }
    return true;
}

static bool request_read_sampling(struct request_reader *reader,
                                  const struct body_value *body)
{
    static const char *const truncations[] = { "auto", "disabled", NULL };
    struct body_value parallel = body_member(body, "parallel_tool_calls");
    struct body_value logprobs = body_member(body, "top_logprobs");
    const char *truncation = "disabled";
    json_int_t count = 0;
    bool flag = true;

    if (!request_read_number(reader, body, "temperature", 2) ||
        !request_read_number(reader, body, "top_p", 1) ||
        !request_read_limit(reader, body, "max_output_tokens",
                            LEAST_OUTPUT_TOKENS) ||
        !request_read_limit(reader, body, "max_tool_calls", 1) ||
        !body_flag(body, "parallel_tool_calls", &flag) ||
        !body_integer(body, "top_logprobs", 0, MOST_LOGPROBS, &count) ||
        !body_word(body, "truncation", truncations, &truncation))
        return false;
    if (count > 0)
        return body_refuse(&logprobs, "unsupported_parameter",
                           "is %lld: there are no log probabilities here",
                           (long long)count);
    json_object_set_new(reader->request->asked, "truncation",
                        json_string(truncation));
    json_object_set_new(reader->request->asked, "parallel_tool_calls",
                        json_boolean(flag));
    if (parallel.json)
        json_object_set(job_member(reader, "parameters"), "parallel_tool_calls",
                        parallel.json);
    return true;
}

static bool request_read_reasoning(struct request_reader *reader,
                                   const struct body_value *body)
{
    static const char *const names[] = {
        "effort", "summary", "generate_summary", "context", "mode", NULL
    };
    static const char *const efforts[] = { "none", "minimal", "low", "medium",
                                           "high", "xhigh",   "max", NULL };
    static const char *const summaries[] = { "auto", "concise", "detailed",
                                             NULL };
    const char *effort = NULL, *summary = NULL;
    struct body_value reasoning;
    struct view hint = { 0 };
    json_t *asked;

    if (!body_object(body, "reasoning", &reasoning))
        return false;
    if (!reasoning.json)
        return true;
    if (!body_check_names(&reasoning, names) ||
        !body_word(&reasoning, "effort", efforts, &effort) ||
        !body_word(&reasoning, "generate_summary", summaries, &summary) ||
        !body_word(&reasoning, "summary", summaries, &summary) ||
        !body_text(&reasoning, "context", 64, &hint) ||
        !body_text(&reasoning, "mode", 64, &hint))
        return false;
    asked = json_pack("{s:s?, s:s?}", "effort", effort, "summary", summary);
    json_object_update_missing(asked, reasoning.json);
    json_object_set_new(reader->request->asked, "reasoning", asked);
    if (effort)
        json_object_set_new(job_member(reader, "parameters"),
                            "reasoning_effort", json_string(effort));
    if (summary)
        json_object_set_new(job_member(reader, "parameters"),
                            "reasoning_summary", json_string(summary));
    return true;
}

/* --------------------------------------------------------------------- text */

static bool request_read_json_schema(struct request_reader *reader,
                                     const struct body_value *format)
{
    struct view name = { 0 }, about = { 0 };
    struct body_value schema;
    bool strict = false;
    struct err err;

    if (!request_tools_check_name(format, "name", &name) ||
        !body_require(format, "schema") ||
        !body_object(format, "schema", &schema) ||
        !body_text(format, "description", MAX_ABOUT_BYTES, &about) ||
        !body_flag(format, "strict", &strict))
        return false;
    if (json_object_size(schema.json) == 0)
        return body_refuse(&schema, "invalid_value",
                           "is empty, must be a JSON Schema");
    if (!output_schema_check(schema.json, &err))
        return body_refuse(&schema, "invalid_json_schema",
                           "is not possible here: %s", err.text);
    json_object_set(reader->request->job, "output_schema", schema.json);
    return true;
}

static bool request_read_format(struct request_reader *reader,
                                const struct body_value *text)
{
    static const char *const types[] = { "text", "json_object", "json_schema",
                                         NULL };
    const char *type = NULL;
    struct body_value format;

    if (!body_object(text, "format", &format))
        return false;
    if (!format.json)
        return true;
    if (!body_require(&format, "type") ||
        !body_word(&format, "type", types, &type))
        return false;
    if (strcmp(type, "json_schema") == 0)
        return request_read_json_schema(reader, &format);
    if (strcmp(type, "json_object") == 0)
        json_object_set_new(reader->request->job, "output_schema",
                            json_pack("{s:s}", "type", "object"));
    return true;
}

static bool request_read_text(struct request_reader *reader,
                              const struct body_value *body)
{
    static const char *const names[] = { "format", "verbosity", NULL };
    static const char *const words[] = { "low", "medium", "high", NULL };
    const char *verbosity = NULL;
    struct body_value text, format;
    json_t *asked;

    if (!body_object(body, "text", &text))
        return false;
    if (!text.json)
        return true;
    format = body_member(&text, "format");
    if (!body_check_names(&text, names) ||
        !request_read_format(reader, &text) ||
        !body_word(&text, "verbosity", words, &verbosity))
        return false;
    asked = json_pack("{s:o}", "format",
                      format.json ? json_incref(format.json)
                                  : json_pack("{s:s}", "type", "text"));
    if (verbosity) {
        json_object_set_new(asked, "verbosity", json_string(verbosity));
        json_object_set_new(job_member(reader, "parameters"), "verbosity",
                            json_string(verbosity));
    }
    json_object_set_new(reader->request->asked, "text", asked);
    return true;
}

/* ---------------------------------------------------------------- the rest */

static bool request_read_metadata(struct request_reader *reader,
                                  const struct body_value *body)
{
    struct body_value metadata;
    const char *name;
    json_t *value;

    if (!body_object(body, "metadata", &metadata))
        return false;
    if (json_object_size(metadata.json) > MOST_METADATA)
        return body_refuse(&metadata, "invalid_value",
                           "has %zu pairs, at most %d",
                           json_object_size(metadata.json), MOST_METADATA);
    json_object_foreach(metadata.json, name, value) {
        struct view text = { 0 };
        struct body_value at = { .outer = &metadata,
                                 .name = name,
                                 .json = value,
                                 .error = body->error };

        if (body_characters(view_of(name)) > MOST_METADATA_NAME)
            return body_refuse(&metadata, "string_above_max_length",
                               "has a key of %zu characters, at most %d",
                               body_characters(view_of(name)),
                               MOST_METADATA_NAME);
        if (!json_is_string(value))
            return body_refuse_type(&at, "a string");
        if (!body_text(&metadata, name, MOST_METADATA_VALUE, &text))
            return false;
    }
    if (metadata.json) {
        json_object_set(reader->request->job, "metadata", metadata.json);
        json_object_set(reader->request->asked, "metadata", metadata.json);
    }
    return true;
}

static bool request_read_model(struct request_reader *reader,
                               const struct body_value *body)
{
    struct body_value model = body_member(body, "model");
    struct view name = { 0 }, instructions = { 0 };

    if (!body_text(body, "model", MAX_NAME_BYTES, &name) ||
        !body_text(body, "instructions", MAX_TEXT_BYTES, &instructions))
        return false;
    if (name.len > MAX_NAME_BYTES)
        return body_refuse(&model, "string_above_max_length",
                           "has %zu bytes, at most %d", name.len,
                           MAX_NAME_BYTES);
    if (name.len > 0) {
        json_object_set(reader->request->job, "model", model.json);
        json_object_set(reader->request->asked, "model", model.json);
    }
    if (instructions.len > 0) {
        json_t *text = json_stringn(instructions.data, instructions.len);

        json_object_set(reader->request->asked, "instructions", text);
        json_object_set_new(reader->request->job, "system", text);
    }
    return true;
}

static bool request_read_members(struct request_reader *reader,
                                 const struct body_value *body)
{
    return body_check_names(body, known) && request_read_hints(reader, body) &&
           request_read_model(reader, body) &&
           request_read_storing(reader, body) &&
           request_read_stream(reader->request, body) &&
           request_read_include(reader, body) &&
           request_read_previous(reader, body) &&
           request_read_sampling(reader, body) &&
           request_read_reasoning(reader, body) &&
           request_read_text(reader, body) &&
           request_read_metadata(reader, body) &&
           request_tools_read(reader, body) && request_input_read(reader, body);
}

/* A member without members is none. */
static void drop_empty(json_t *job, const char *name)
{
    const json_t *member = json_object_get(job, name);

    if (json_object_size(member) == 0 && json_array_size(member) == 0)
        json_object_del(job, name);
}

/* A job has a bound, which no single member says. */
static bool request_check_size(const struct body_value *body, const json_t *job)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish)
    struct buf bytes = { .max = MAX_JOB_BYTES - OTHER_BYTES };
    struct body_value input = body_member(body, "input");
    const msgpack_object *value;
    struct err err;

    if (json_to_value(job, &value, &arena, &err) &&
        value_encode(value, &bytes, &err))
        return true;
    return body_refuse(&input, "context_length_exceeded",
                       "and all else of the request has more than %d bytes, "
                       "not counting files",
                       MAX_JOB_BYTES - OTHER_BYTES);
}

static bool request_read_finish(struct request_reader *reader,
                                const struct body_value *body)
{
    struct response_request *request = reader->request;

    json_object_set(request->job, "messages", reader->messages);
    json_object_set(request->job, "functions", reader->functions);
    drop_empty(request->job, "functions");
    drop_empty(request->job, "parameters");
    drop_empty(request->job, "limits");
    drop_empty(request->job, "metadata");
    return request_check_size(body, request->job);
}

bool response_request_read(struct response_request *request, json_t *body,
                           const struct response_request_options *options,
                           struct body_error *error)
{
    struct request_reader reader = {
        .request = request,
        .options = options,
        .messages = json_array(),
        .functions = json_array(),
    };
    struct body_value root = body_root(body, error);
    bool good;

    *request = (struct response_request){ .store = true,
                                          .asked = json_object(),
                                          .left_out = json_array(),
                                          .body = json_incref(body) };
    request->job = json_pack("{s:{}, s:{}, s:s}", "parameters", "limits",
                             "history", "off");
    good = request_read_members(&reader, &root) &&
           request_read_finish(&reader, &root);
    json_decref(reader.messages);
    json_decref(reader.functions);
    return good;
}

void response_request_finish(struct response_request *request)
{
    if (!request)
        return;
    for (size_t i = 0; i < request->attachment_count; i++)
        json_decref(request->attachments[i].part);
    free(request->attachments);
    json_decref(request->left_out);
    json_decref(request->job);
    json_decref(request->asked);
    json_decref(request->body);
    *request = (struct response_request){ 0 };
}

/* ------------------------------------------------------------- attachments */

static json_t *request_find_file(const json_t *files, struct view name)
{
    json_t *file;
    size_t i;

    json_array_foreach(files, i, file)
        if (view_equal(body_string(json_object_get(file, "name")), name))
            return file;
    return NULL;
}

static const char *attachment_ending(const struct response_attachment *one)
{
    static const struct {
        const char *mime, *ending;
    } endings[] = {
        { "image/png", ".png" },       { "image/jpeg", ".jpg" },
        { "image/gif", ".gif" },       { "image/webp", ".webp" },
        { "application/pdf", ".pdf" }, { "text/csv", ".csv" },
        { "text/plain", ".txt" },      { "application/json", ".json" },
    };

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (view_is(one->mime, endings[i].mime))
            return endings[i].ending;
    return "";
}

/* Puts the number before the ending: "a-2.csv". */
static void name_number(struct buf *out, struct view name, size_t number)
{
    const char *dot = memrchr(name.data, '.', name.len);
    size_t stem = dot && dot > name.data ? (size_t)(dot - name.data) : name.len;

    buf_clear(out);
    buf_append(out, name.data, stem);
    buf_printf(out, "-%zu", number);
    buf_append(out, name.data + stem, name.len - stem);
}

/* A base name that no other file of the job has. */
static void attachment_name(const struct response_attachment *one,
                            const json_t *files, size_t index,
                            struct view given, struct buf *out)
{
    struct view name = one->name.len > 0 ? one->name : given;
    const char *slash = name.len > 0 ? memrchr(name.data, '/', name.len) : NULL;
    CLEANUP(buf_finish) struct buf first = { .max = MAX_FILE_NAME_BYTES };

    if (slash)
        name = (struct view){ slash + 1,
                              (size_t)(name.data + name.len - slash - 1) };
    if (file_name_is_valid(name))
        buf_add(&first, view_head(name, MAX_FILE_NAME_BYTES - 24));
    else
        buf_printf(&first, "%s-%zu%s", one->is_image ? "image" : "file",
                   index + 1, attachment_ending(one));
    buf_add(out, buf_view(&first));
    for (size_t number = index + 1; request_find_file(files, buf_view(out));
         number++)
        name_number(out, buf_view(&first), number);
}

void response_request_attach(struct response_request *request, size_t index,
                             struct view name, struct view blob, uint64_t bytes)
{
    struct response_attachment *one = &request->attachments[index];
    json_t *files = json_object_get(request->job, "files"), *file;
    CLEANUP(buf_finish) struct buf called = { .max = MAX_FILE_NAME_BYTES };
    CLEANUP(buf_finish) struct buf text = { .max = 1024 };

    if (!files) {
        files = json_array();
        json_object_set_new(request->job, "files", files);
    }
    attachment_name(one, files, index, name, &called);
    file = json_pack("{s:s%, s:s%, s:I}", "name", called.data, called.len,
                     "blob", blob.data, blob.len, "bytes", (json_int_t)bytes);
    if (one->mime.len > 0 && one->mime.len <= MAX_NAME_BYTES)
        json_object_set_new(file, "mime",
                            json_stringn(one->mime.data, one->mime.len));
    json_array_append_new(files, file);
    if (!one->part)
        return;
    buf_printf(&text, "[%s: %.*s]", one->is_image ? "image" : "file",
               VIEW_ARG(buf_view(&called)));
    json_object_set_new(one->part, "text", json_stringn(text.data, text.len));
}

/* ------------------------------------------------------------- continuing */

bool response_request_continue(struct response_request *request,
                               json_t *earlier, struct view blob,
                               struct body_error *error)
{
    struct body_value root = body_root(request->body, error);
    struct body_value input = body_member(&root, "input");
    json_t *all = response_without_instructions(earlier);
    bool good;

    json_array_extend(all, json_object_get(request->job, "messages"));
    if (blob.len > 0)
        json_object_set_new(request->job, "earlier",
                            json_stringn(blob.data, blob.len));
    else
        json_object_set(request->job, "messages", all);
    good = request_input_check(all, &input) &&
           request_check_size(&root, request->job);
    json_decref(all);
    return good;
}
