/* wire_item.c - items of a job in the form of OpenAI's Responses API. */
#include "producer/gateway/responses/wire_item.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/buf.h"
#include "schemas/message/item.h"

static json_t *wire_text(struct view text)
{
    json_t *json = json_stringn(text.data, text.len);

    return json ? json : json_string(""); /* never: events are UTF-8 */
}

struct item_id {
    char text[ITEM_ID_BYTES];
};

static struct item_id wire_id(const struct wire_job *job, enum item_kind kind,
                              uint64_t number)
{
    struct item_id id;

    item_id_write(id.text, kind, job->id, number);
    return id;
}

/* ------------------------------------------------------------------- items */

json_t *wire_text_part(struct view text, json_t *annotations)
{
    return json_pack("{s:s, s:o, s:o, s:[]}", "type", "output_text", "text",
                     wire_text(text), "annotations",
                     annotations ? annotations : json_array(), "logprobs");
}

json_t *wire_message(const struct wire_job *job, uint64_t number,
                     const char *status, struct view text, json_t *annotations)
{
    struct item_id id = wire_id(job, ITEM_MESSAGE, number);

    return json_pack("{s:s, s:s, s:s, s:s, s:[o]}", "id", id.text, "type",
                     "message", "status", status, "role", "assistant",
                     "content", wire_text_part(text, annotations));
}

json_t *wire_summary_part(struct view text)
{
    return json_pack("{s:s, s:o}", "type", "summary_text", "text",
                     wire_text(text));
}

json_t *wire_reasoning(const struct wire_job *job, uint64_t number,
                       struct view text)
{
    struct item_id id = wire_id(job, ITEM_REASONING, number);
    json_t *summary = json_array();

    if (text.len > 0)
        json_array_append_new(summary, wire_summary_part(text));
    return json_pack("{s:s, s:s, s:o}", "id", id.text, "type", "reasoning",
                     "summary", summary);
}

json_t *wire_function(const struct wire_job *job, uint64_t number,
                      const char *status, struct view call_id, struct view name,
                      struct view arguments)
{
    struct item_id id = wire_id(job, ITEM_FUNCTION, number);

    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "id", id.text, "type",
                     "function_call", "status", status, "call_id",
                     wire_text(call_id), "name", wire_text(name), "arguments",
                     wire_text(arguments));
}

json_t *wire_code(const struct wire_job *job, uint64_t number,
                  const char *status, struct view code, json_t *outputs)
{
    struct item_id id = wire_id(job, ITEM_CODE, number);

    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "id", id.text, "type",
                     "code_interpreter_call", "status", status, "container_id",
                     wire_text(job->container), "code", wire_text(code),
                     "outputs", outputs ? outputs : json_null());
}

json_t *wire_search(const struct wire_job *job, uint64_t number,
                    const char *status, struct view query)
{
    struct item_id id = wire_id(job, ITEM_SEARCH, number);

    return json_pack("{s:s, s:s, s:s, s:{s:s, s:o}}", "id", id.text, "type",
                     "web_search_call", "status", status, "action", "type",
                     "search", "query", wire_text(query));
}

const char *wire_code_status(struct view status)
{
    bool by_itself = view_is(status, "ok") || view_is(status, "error") ||
                     view_is(status, "exit");

    return by_itself ? "completed" : "failed";
}

json_t *wire_outputs(const struct wire_job *job, struct view logs)
{
    json_t *outputs = job->with_outputs ? json_array() : NULL;

    if (logs.len > 0 && !job->for_chat)
        json_array_append_new(outputs, json_pack("{s:s, s:o}", "type", "logs",
                                                 "logs", wire_text(logs)));
    return outputs;
}

void wire_add_image(const struct wire_job *job, json_t *outputs,
                    struct view name)
{
    CLEANUP(cleanup_free) char *url = NULL;
    json_t *image;

    if (outputs && job->links.url)
        url = job->links.url(job->links.owner, WIRE_LINK_IMAGE, name);
    if (!url)
        return;
    image = json_pack("{s:s, s:s}", "type", "image", "url", url);
    if (job->for_chat)
        json_object_set_new(image, "name", wire_text(name));
    json_array_append_new(outputs, image);
}

/* ------------------------------------------------------------------- files */

void wire_file_id(char id[WIRE_FILE_ID_BYTES], struct view container,
                  struct view path)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int len;

    if (!context || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1 ||
        EVP_DigestUpdate(context, container.data, container.len) != 1 ||
        EVP_DigestUpdate(context, "", 1) != 1 ||
        EVP_DigestUpdate(context, path.data, path.len) != 1 ||
        EVP_DigestFinal_ex(context, hash, NULL) != 1)
        abort();
    EVP_MD_CTX_free(context);
    len = snprintf(id, WIRE_FILE_ID_BYTES, "cfile_");
    for (size_t i = 0; i < 16; i++)
        len += snprintf(id + len, WIRE_FILE_ID_BYTES - (size_t)len, "%02x",
                        hash[i]);
}

/* Characters in the first so many bytes of UTF-8. */
static size_t characters(const char *text, size_t bytes)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* "sandbox:/mnt/data/NAME" as models write it, else the name alone. The place
 * in bytes; false: the text does not name it. */
static bool find_name(struct view text, struct view name, size_t *start,
                      size_t *end)
{
    CLEANUP(buf_finish) struct buf link = { .max = text.len + 64 };
    const char *found;

    if (name.len == 0)
        return false;
    if (buf_printf(&link, "sandbox:/mnt/data/%.*s", VIEW_ARG(name))) {
        found = memmem(text.data, text.len, link.data, link.len);
        if (found) {
            *start = (size_t)(found - text.data);
            *end = *start + link.len;
            return true;
        }
    }
    found = memmem(text.data, text.len, name.data, name.len);
    if (!found)
        return false;
    *start = (size_t)(found - text.data);
    *end = *start + name.len;
    return true;
}

json_t *wire_citation(const struct wire_job *job, struct view text,
                      struct view name)
{
    char id[WIRE_FILE_ID_BYTES];
    size_t start = text.len, end = text.len;

    find_name(text, name, &start, &end);
    wire_file_id(id, job->container, name);
    return json_pack(
        "{s:s, s:o, s:s, s:I, s:I, s:o}", "type", "container_file_citation",
        "container_id", wire_text(job->container), "file_id", id, "start_index",
        (json_int_t)characters(text.data, start), "end_index",
        (json_int_t)characters(text.data, end), "filename", wire_text(name));
}

bool wire_wants_json(const struct wire_job *job)
{
    const json_t *text = json_object_get(job->asked, "text");
    const json_t *type =
        json_object_get(json_object_get(text, "format"), "type");

    return json_is_string(type) && strcmp(json_string_value(type), "text") != 0;
}
