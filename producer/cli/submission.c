/* submission.c - the job that the options describe, as JSON. */
#include "producer/cli/submission.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/json/convert.h"
#include "schemas/message/buf.h"
#include "schemas/message/limits.h"

static void cleanup_json(json_t **json)
{
    json_decref(*json);
}

/* Sets a member of the job to a text. */
static bool submission_set_text(json_t *job, const char *member,
                                const char *text, struct err *err)
{
    return !text || json_object_set_new(job, member, json_string(text)) == 0 ||
           err_set(err, ERR_REJECT, "bad_field", "%s is not UTF-8", member);
}

static bool set_cells(json_t *job, const struct cells *cells, struct err *err)
{
    json_t *list = json_array();

    json_object_set_new(job, "kind", json_string("code"));
    json_object_set_new(job, "cells", list);
    for (size_t i = 0; i < cells->count; i++)
        if (json_array_append_new(list, json_string(cells->items[i])))
            return err_set(err, ERR_REJECT, "bad_field",
                           "cells[%zu] is not UTF-8", i);
    return true;
}

static bool set_schema(json_t *job, const char *path, struct err *err)
{
    CLEANUP(cleanup_free) char *text = NULL;
    json_error_t fault;
    json_t *schema;
    size_t size;

    if (!path)
        return true;
    text = read_text(path, MAX_JOB_BYTES, &size, err);
    if (!text)
        return false;
    schema = json_loads(text, JSON_REJECT_DUPLICATES, &fault);
    if (!schema)
        return err_set(err, ERR_REJECT, "bad_field",
                       "output_schema: not JSON: line %d, column %d: %s",
                       fault.line, fault.column, fault.text);
    json_object_set_new(job, "output_schema", schema);
    return true;
}

/* Sets a member of the map; its name is the first len bytes of name. A name
 * that is given twice is refused: one of the values would be lost. Takes value.
 */
static bool set_pair(json_t *map, const char *option, const char *name,
                     size_t len, json_t *value, struct err *err)
{
    if (json_object_getn(map, name, len)) {
        json_decref(value);
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--%s: \"%.*s\" is given twice", option,
                       (int)(len < 64 ? len : 64), name);
    }
    return json_object_setn_new(map, name, len, value) == 0 ||
           err_set(err, ERR_REJECT, "bad_setting", "--%s: a name is not UTF-8",
                   option);
}

/* Metadata and environment may have any bytes: those that are not UTF-8 become
 * {"base64": ...}, as messages have them in JSON. */
static json_t *json_of_bytes(const char *text)
{
    msgpack_object object = { .type = MSGPACK_OBJECT_BIN };

    object.via.bin.ptr = text;
    object.via.bin.size = (uint32_t)strlen(text);
    return json_from_value(&object);
}

/* Adds "NAME=VALUE". A value that is JSON is taken as JSON (0.2, ["a", "b"]),
 * any other one as a text (low). */
static bool submission_set_parameter(json_t *map, const char *text,
                                     struct err *err)
{
    const char *equals = strchr(text, '=');
    json_t *value;

    if (!equals || equals == text)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--set: \"%.64s\" is not NAME=VALUE", text);
    value = json_loads(equals + 1, JSON_DECODE_ANY, NULL);
    if (!value)
        value = json_string(equals + 1);
    if (!value)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--set: \"%.64s\" is not UTF-8", text);
    return set_pair(map, "set", text, (size_t)(equals - text), value, err);
}

static bool set_metadata(json_t *map, const char *text, struct err *err)
{
    const char *equals = strchr(text, '=');

    if (!equals || equals == text)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--metadata: \"%.64s\" is not KEY=VALUE", text);
    return set_pair(map, "metadata", text, (size_t)(equals - text),
                    json_of_bytes(equals + 1), err);
}

/* Adds "NAME=VALUE". NAME alone takes the value from our own environment, so
 * that a secret need not stand on the command line, which other users can see.
 * An error does not show the value either. */
static bool set_env(json_t *map, const char *text, struct err *err)
{
    size_t len = strcspn(text, "=");
    const char *value = text[len] ? text + len + 1 : getenv(text);

    if (len == 0)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--env: there is no name before \"=\"");
    if (!value)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--env: \"%.64s\" is not NAME=VALUE, and quern's own "
                       "environment has no variable of that name",
                       text);
    return set_pair(map, "env", text, len, json_of_bytes(value), err);
}

static bool set_maps(json_t *job, const struct submit_options *options,
                     struct err *err)
{
    const struct {
        const char *member;
        const struct option_texts *texts;
        bool (*set)(json_t *map, const char *text, struct err *err);
    } rows[] = {
        { "parameters", &options->parameters, submission_set_parameter },
        { "metadata", &options->metadata, set_metadata },
        { "env", &options->env, set_env },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *map;

        if (rows[i].texts->count == 0)
            continue;
        map = json_object();
        json_object_set_new(job, rows[i].member, map);
        for (size_t k = 0; k < rows[i].texts->count; k++)
            if (!rows[i].set(map, rows[i].texts->items[k], err))
                return false;
    }
    return true;
}

/* Files, queue, keys and delay are not written into it: they go into the
 * options of the submit, since they may stand beside --job as well. */
static char *write_job(const struct submit_options *options,
                       const char *question, const struct cells *cells,
                       struct err *err)
{
    CLEANUP(cleanup_json)
    json_t *job =
        options->members ? json_copy(options->members) : json_object();

    if (!submission_set_text(job, "prompt", question, err) ||
        (cells && !set_cells(job, cells, err)) ||
        !set_schema(job, options->output_schema, err) ||
        !set_maps(job, options, err))
        return NULL;
    return json_dumps(job, JSON_COMPACT);
}

bool submission_read(struct submission *submission,
                     const struct options *options, const char *question,
                     const struct cells *cells, struct err *err)
{
    const struct submit_options *submit = &options->submit;
    size_t size;

    for (size_t i = 0; i < submit->files.count; i++)
        submission->files[i] =
            (struct quern_file){ .path = submit->files.items[i] };
    submission->priority = (enum quern_priority)options->priority;
    submission->options = (struct quern_submit_options){
        .files = submission->files,
        .file_count = submit->files.count,
        .queue = options->queue,
        .priority =
            options_have(options, "priority") ? &submission->priority : NULL,
        .idempotency_key = submit->key,
        .unique_key = submit->unique,
        .delay_ms = submit->delay_ms,
        .note = submission->note,
    };
    if (submit->jobs)
        return true;
    submission->text = submit->job
                           ? read_text(submit->job, MAX_JOB_BYTES, &size, err)
                           : write_job(submit, question, cells, err);
    return submission->text;
}

void submission_finish(struct submission *submission)
{
    free(submission->text);
}

void submission_note(const struct submission *submission, struct app *app)
{
    const char *note = submission->note;

    if (note[0] == '\0')
        return;
    if (!app->term.json) {
        pane_printf(&app->term.err, PLAIN, "note: ");
        pane_text(&app->term.err, PLAIN, view_of(note));
        pane_printf(&app->term.err, PLAIN, "\n");
        return;
    }
    json_t *object = json_pack("{s:s, s:s}", "type", "note", "message", note);

    CLEANUP(cleanup_free) char *text = json_dumps(object, JSON_COMPACT);

    json_decref(object);
    term_json(stderr, text ? text : "{}");
}

bool submission_send(struct app *app, const char *question,
                     const struct cells *cells, struct quern_id *id,
                     bool *existed, struct quern_error *error)
{
    CLEANUP(submission_finish) struct submission submission = { 0 };
    struct err err = { 0 };

    if (!submission_read(&submission, &app->options, question, cells, &err))
        return error_of(error, &err);

    bool ok = quern_submit_json(app->quern, submission.text,
                                &submission.options, id, existed, error);

    submission_note(&submission, app);
    if (ok)
        app->job = *id;
    return ok;
}
