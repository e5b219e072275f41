/* request_part.c - the content of a message, a string or parts.
 *
 * A job's message is small, so files and images that stand in a request become
 * files of the job, and the message names them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/body/inline_file.h"
#include "producer/gateway/responses/request_reader.h"
#include "schemas/message/buf.h"
#include "schemas/message/limits.h"

enum { MOST_PARTS = 512, MOST_URL = 8192, MOST_ID = 128 };

static const size_t any_length = SIZE_MAX;

/* ------------------------------------------------------------- attachments */

static void part_write_param(const struct body_value *at, char *param,
                             size_t size)
{
    struct body_error where = { 0 };
    struct body_value copy = *at;

    copy.error = &where;
    body_refuse(&copy, NULL, "?");
    snprintf(param, size, "%.*s", (int)(size - 1), where.param);
}

static struct response_attachment *part_attach(struct request_reader *reader,
                                               const struct body_value *at)
{
    struct response_request *request = reader->request;
    struct response_attachment *attachment;

    if (request->attachment_count == request->attachment_room) {
        request->attachment_room += 8;
        attachment =
            reallocarray(request->attachments, request->attachment_room,
                         sizeof(*attachment));
        if (!attachment)
            abort();
        request->attachments = attachment;
    }
    attachment = &request->attachments[request->attachment_count++];
    *attachment =
        (struct response_attachment){ .value = body_string(at->json) };
    part_write_param(at, attachment->param, sizeof(attachment->param));
    return attachment;
}

static bool part_check_count(const struct request_reader *reader,
                             const struct body_value *at)
{
    return reader->request->attachment_count < MAX_FILES ||
           body_refuse(at, "invalid_value",
                       "is one file too many: a request has at most %d",
                       MAX_FILES);
}

void request_part_add_file(struct request_reader *reader,
                           const struct body_value *id)
{
    part_attach(reader, id)->source = ATTACHMENT_FILE_ID;
}

/* The part that will name the file. */
static json_t *part_of_file(struct response_attachment *attachment)
{
    attachment->part = json_pack("{s:s, s:s}", "type", "text", "text", "");
    return json_incref(attachment->part);
}

static bool part_check_data(const struct body_value *at,
                            struct inline_file *data)
{
    size_t length;

    if (!inline_file_read(body_string(at->json), data))
        return body_refuse(at, "invalid_value",
                           "begins with \"data:\", but has no \";base64,\"");
    length = inline_file_length(data->base64);
    if (length == SIZE_MAX)
        return body_refuse(at, "invalid_value", "is not base64");
    if (length == 0)
        return body_refuse(at, "invalid_value", "has no bytes");
    return length <= MAX_FILE_BYTES ||
           body_refuse(at, "invalid_value",
                       "has %zu bytes, at most " MAX_FILE_WORDS, length);
}

static bool part_add_data(struct request_reader *reader,
                          const struct body_value *at, struct view name,
                          bool is_image, json_t **out)
{
    struct response_attachment *attachment;
    struct inline_file data;

    if (!part_check_count(reader, at) || !part_check_data(at, &data))
        return false;
    attachment = part_attach(reader, at);
    attachment->source = ATTACHMENT_BYTES;
    attachment->value = data.base64;
    attachment->mime = data.mime;
    attachment->name = name;
    attachment->is_image = is_image;
    *out = part_of_file(attachment);
    return true;
}

static bool part_add_remote(struct request_reader *reader,
                            const struct body_value *at,
                            enum attachment_source source, struct view name,
                            json_t **out)
{
    struct response_attachment *attachment;

    if (!part_check_count(reader, at))
        return false;
    attachment = part_attach(reader, at);
    attachment->source = source;
    attachment->name = name;
    *out = part_of_file(attachment);
    return true;
}

/* -------------------------------------------------------------------- parts */

static bool part_is_web(struct view url)
{
    return view_starts(url, "https://") || view_starts(url, "http://");
}

static bool part_check_web(const struct body_value *at)
{
    struct view url = body_string(at->json);

    if (!part_is_web(url))
        return body_refuse(at, "invalid_value",
                           "is \"%.*s\", must begin with https:// or http://",
                           VIEW_ARG(view_head(url, 64)));
    return url.len <= MOST_URL ||
           body_refuse(at, "string_above_max_length",
                       "has %zu bytes, at most %d", url.len, MOST_URL);
}

/* Which of the members the part has: exactly one of them. */
static bool part_choose(const struct body_value *part, const char *const *names,
                        struct body_value *found)
{
    struct view text = { 0 };
    bool one = false;

    *found = *part;
    for (; *names; names++) {
        struct body_value member = body_member(part, *names);

        if (!member.json)
            continue;
        if (one)
            return body_refuse(&member, "invalid_value",
                               "stands beside %s: a part has one of them",
                               found->name);
        if (!body_text(part, *names, any_length, &text))
            return false;
        *found = member;
        one = true;
    }
    return one || body_refuse(part, "missing_required_parameter",
                              "names neither a URL nor data nor a file");
}

static bool part_is_id(const struct body_value *at)
{
    struct view id = body_string(at->json);

    return (id.len > 0 && id.len <= MOST_ID) ||
           body_refuse(at, "invalid_value",
                       "has %zu bytes, must be a file's id of 1 to %d", id.len,
                       MOST_ID);
}

static bool part_read_image(struct request_reader *reader,
                            const struct body_value *part, json_t **out)
{
    static const char *const names[] = { "image_url", "file_id", NULL };
    static const char *const details[] = { "low", "high", "auto", "original",
                                           NULL };
    struct body_value source;
    const char *detail = "auto";

    if (!part_choose(part, names, &source) ||
        !body_word(part, "detail", details, &detail))
        return false;
    if (strcmp(source.name, "file_id") == 0) {
        if (!part_is_id(&source) ||
            !part_add_remote(reader, &source, ATTACHMENT_FILE_ID, VIEW(""),
                             out))
            return false;
        reader->request->attachments[reader->request->attachment_count - 1]
            .is_image = true;
        return true;
    }
    if (view_starts(body_string(source.json), "data:"))
        return part_add_data(reader, &source, VIEW(""), true, out);
    if (!part_check_web(&source))
        return false;
    *out = json_pack("{s:s, s:{s:O, s:s}}", "type", "image_url", "image_url",
                     "url", source.json, "detail", detail);
    return true;
}

static bool part_read_file(struct request_reader *reader,
                           const struct body_value *part, json_t **out)
{
    static const char *const names[] = { "file_data", "file_id", "file_url",
                                         NULL };
    struct view name = { 0 };
    struct body_value source;

    if (!part_choose(part, names, &source) ||
        !body_text(part, "filename", MAX_FILE_NAME_BYTES, &name))
        return false;
    if (strcmp(source.name, "file_data") == 0)
        return part_add_data(reader, &source, name, false, out);
    if (strcmp(source.name, "file_url") == 0)
        return part_check_web(&source) &&
               part_add_remote(reader, &source, ATTACHMENT_URL, name, out);
    return part_is_id(&source) &&
           part_add_remote(reader, &source, ATTACHMENT_FILE_ID, name, out);
}

static bool part_read_text(const struct body_value *part, const char *name,
                           json_t **out)
{
    struct view text = { 0 };

    if (!body_require(part, name) || !body_text(part, name, any_length, &text))
        return false;
    *out =
        json_pack("{s:s, s:s%}", "type", "text", "text", text.data, text.len);
    return true;
}

static bool part_read(struct request_reader *reader,
                      const struct body_value *part, json_t **out)
{
    struct body_value type_at = body_member(part, "type");
    struct view type = { 0 };

    if (!json_is_object(part->json))
        return body_refuse_type(part, "an object");
    if (!body_require(part, "type") || !body_text(part, "type", 64, &type))
        return false;
    if (view_is(type, "input_text") || view_is(type, "output_text") ||
        view_is(type, "text") || view_is(type, "summary_text") ||
        view_is(type, "reasoning_text"))
        return part_read_text(part, "text", out);
    if (view_is(type, "refusal"))
        return part_read_text(part, "refusal", out);
    if (view_is(type, "input_image"))
        return part_read_image(reader, part, out);
    if (view_is(type, "input_file"))
        return part_read_file(reader, part, out);
    return body_refuse(&type_at, "invalid_value",
                       "is \"%.*s\", must be one of input_text, input_image, "
                       "input_file, output_text, refusal",
                       VIEW_ARG(type));
}

/* ------------------------------------------------------------------ content */

static bool parts_read(struct request_reader *reader,
                       const struct body_value *list, json_t **out)
{
    json_t *parts = json_array();

    *out = NULL;
    for (size_t i = 0; i < json_array_size(list->json); i++) {
        struct body_value item = body_item(list, i);
        json_t *part = NULL;

        if (!part_read(reader, &item, &part)) {
            json_decref(parts);
            return false;
        }
        json_array_append_new(parts, part);
    }
    *out = parts;
    return true;
}

static bool content_find(const struct body_value *message, const char *name,
                         struct body_value *content)
{
    *content = body_member(message, name);
    if (!content->json)
        return body_require(message, name);
    if (json_is_string(content->json))
        return true;
    if (!json_is_array(content->json))
        return body_refuse_type(content, "a string or a list");
    return body_list(message, name, MOST_PARTS, content);
}

bool request_part_read_content(struct request_reader *reader,
                               const struct body_value *message,
                               const char *name, json_t **content)
{
    struct body_value found;

    *content = NULL;
    if (!content_find(message, name, &found))
        return false;
    if (json_is_string(found.json)) {
        *content = json_incref(found.json);
        return true;
    }
    if (json_array_size(found.json) == 0)
        return body_refuse(&found, "invalid_value", "has no part");
    return parts_read(reader, &found, content);
}

/* The text of a part; of an image elsewhere its URL. */
static json_t *part_text(const json_t *part)
{
    json_t *image = json_object_get(part, "image_url");
    json_t *url = json_object_get(image, "url");

    return url ? url : json_object_get(part, "text");
}

/* A list of parts that are text: files will name themselves in theirs. */
static json_t *parts_as_text(json_t *parts)
{
    json_t *part;
    size_t i;

    json_array_foreach(parts, i, part)
        if (!json_object_get(part, "text"))
            json_array_set_new(parts, i,
                               json_pack("{s:s, s:O}", "type", "text", "text",
                                         part_text(part)));
    return parts;
}

static bool parts_join(const struct body_value *content, const json_t *parts,
                       const char *between, json_t **text)
{
    CLEANUP(buf_finish) struct buf joined = { .max = MAX_JOB_BYTES };
    json_t *part;
    size_t i;

    json_array_foreach(parts, i, part) {
        if (i > 0)
            buf_add(&joined, view_of(between));
        buf_add(&joined, body_string(part_text(part)));
    }
    if (!buf_ok(&joined))
        return body_refuse(content, "string_above_max_length",
                           "has more than %d bytes", MAX_JOB_BYTES);
    *text = json_stringn(joined.data ? joined.data : "", joined.len);
    return true;
}

bool request_part_read_text(struct request_reader *reader,
                            const struct body_value *message, const char *name,
                            const char *between, json_t **text)
{
    size_t files = reader->request->attachment_count;
    struct body_value found;
    json_t *parts;
    bool good;

    *text = NULL;
    if (!content_find(message, name, &found))
        return false;
    if (json_is_string(found.json)) {
        *text = json_incref(found.json);
        return true;
    }
    if (!parts_read(reader, &found, &parts))
        return false;
    if (reader->request->attachment_count > files) {
        *text = parts_as_text(parts);
        return true;
    }
    good = parts_join(&found, parts, between, text);
    json_decref(parts);
    return good;
}
