/* response_note.c - what a response object repeats of its request. */
#include "producer/gateway/responses/response_note.h"

#include <stdlib.h>
#include <string.h>

#include "producer/gateway/responses/response_request.h"
#include "schemas/json/convert.h"
#include "schemas/message/limits.h"

static const char NOTE_API[] = "responses";

/* ------------------------------------------------------------------ writing
 */

static bool note_is_function(const json_t *tool)
{
    return view_is(body_string(json_object_get(tool, "type")), "function");
}

static bool note_job_has(const json_t *job, const json_t *name)
{
    json_t *function;
    size_t i;

    json_array_foreach(json_object_get(job, "functions"), i, function)
        if (json_equal(json_object_get(function, "name"), name))
            return true;
    return false;
}

/* Of functions that the job has, the names. */
static json_t *note_tools(const json_t *job, const json_t *tools)
{
    json_t *list = json_array(), *tool;
    size_t i;

    json_array_foreach(tools, i, tool) {
        json_t *name = json_object_get(tool, "name");

        if (note_is_function(tool) && note_job_has(job, name))
            json_array_append_new(list, json_pack("{s:s, s:O}", "type",
                                                  "function", "name", name));
        else
            json_array_append(list, tool);
    }
    return list;
}

static void note_drop_schema(json_t *asked, const json_t *job)
{
    json_t *text, *format;

    if (!json_object_get(job, "output_schema"))
        return;
    text = json_copy(json_object_get(asked, "text"));
    format = json_copy(json_object_get(text, "format"));
    json_object_del(format, "schema");
    json_object_set_new(text, "format", format);
    json_object_set_new(asked, "text", text);
}

bool response_note_write(struct response_request *request, const json_t *asked)
{
    json_t *rest, *note;
    union {
        const json_t *in;
        json_t *out;
    } same = { asked };
    char *text;
    bool fits;

    rest = json_copy(same.out);
    json_object_set_new(
        rest, "tools",
        note_tools(request->job, json_object_get(asked, "tools")));
    note_drop_schema(rest, request->job);
    json_object_del(rest, "instructions");
    json_object_del(rest, "metadata");
    note = json_pack("{s:s, s:b, s:b, s:o}", "api", NOTE_API, "background",
                     (int)request->background, "outputs",
                     (int)request->with_outputs, "asked", rest);
    text = json_dumps(note, JSON_COMPACT);
    json_decref(note);
    fits = text && strlen(text) <= MAX_CLIENT_BYTES;
    if (fits)
        json_object_set_new(request->job, "client", json_string(text));
    free(text);
    return fits;
}

/* ------------------------------------------------------------------ reading
 */

static json_t *note_text(struct view text)
{
    return text.len > 0 ? json_stringn(text.data, text.len) : json_null();
}

static json_t *note_function(const struct job_function *function)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:b}", "type", "function", "name",
                     note_text(function->name), "description",
                     note_text(function->description), "parameters",
                     function->parameters
                         ? json_from_value(function->parameters)
                         : json_null(),
                     "strict", (int)function->strict);
}

/* In place of their names, the functions. */
static void note_add_functions(json_t *tools, const struct job *job)
{
    const struct job_function *functions = job->functions.items;
    json_t *tool;
    size_t i;

    json_array_foreach(tools, i, tool) {
        struct view name = body_string(json_object_get(tool, "name"));

        if (!note_is_function(tool) || json_object_get(tool, "strict"))
            continue;
        for (size_t k = 0; k < job->functions.count; k++)
            if (view_equal(functions[k].name, name))
                json_array_set_new(tools, i, note_function(&functions[k]));
    }
}

static void note_add_schema(json_t *asked, const struct job *job)
{
    json_t *format = json_object_get(json_object_get(asked, "text"), "format");

    if (job->output_schema &&
        view_is(body_string(json_object_get(format, "type")), "json_schema"))
        json_object_set_new(format, "schema",
                            json_from_value(job->output_schema));
}

static json_t *note_metadata(const struct job *job)
{
    const struct pair *pairs = job->metadata.items;
    json_t *metadata = json_object();

    for (size_t i = 0; i < job->metadata.count; i++)
        json_object_setn_new(
            metadata, pairs[i].key.data, pairs[i].key.len,
            json_stringn(pairs[i].value.data, pairs[i].value.len));
    return metadata;
}

/* Seconds since 1970, by the id, a UUIDv7. */
static uint64_t note_created_at(struct view id)
{
    uint64_t ms = 0;

    for (size_t i = 0; i < 13 && i < id.len; i++) {
        char byte = id.data[i];

        if (byte >= '0' && byte <= '9')
            ms = ms << 4 | (uint64_t)(byte - '0');
        else if (byte >= 'a' && byte <= 'f')
            ms = ms << 4 | (uint64_t)(byte - 'a' + 10);
    }
    return ms / 1000;
}

bool response_note_read(const struct job *job, struct wire_job *wire)
{
    json_t *note = json_loadb(job->client.data ? job->client.data : "",
                              job->client.len, 0, NULL);
    json_t *asked = json_object_get(note, "asked");
    bool ours = json_is_object(asked) &&
                view_is(body_string(json_object_get(note, "api")), NOTE_API);

    if (ours) {
        *wire = (struct wire_job){
            .id = job->id,
            .container = job->session,
            .background = json_is_true(json_object_get(note, "background")),
            .with_outputs = json_is_true(json_object_get(note, "outputs")),
            .asked = json_incref(asked),
            .created_at = note_created_at(job->id),
        };
        note_add_functions(json_object_get(asked, "tools"), job);
        note_add_schema(asked, job);
        json_object_set_new(asked, "instructions", note_text(job->system));
        json_object_set_new(asked, "metadata", note_metadata(job));
    }
    json_decref(note);
    return ours;
}
