/* dialect.c - the languages that model endpoints speak, and the parts of
 * messages that more than one of them writes in its own way. */
#include "consumer/model/dialect.h"

#include <ctype.h>
#include <string.h>

#include "consumer/model/endpoint.h"
#include "consumer/model/model.h"
#include "consumer/model/reply_json.h"
#include "schemas/message/buf.h"

const struct dialect *dialect_find(const char *name)
{
    static const struct dialect *const dialects[] = {
        &dialect_chat,
        &dialect_anthropic,
        &dialect_responses,
    };

    for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++)
        if (strcmp(name, dialects[i]->name) == 0)
            return dialects[i];
    return NULL;
}

enum { MAX_CALL_ID = 64, HASH_DIGITS = 16 };

bool data_url_read(struct view url, struct data_url *out)
{
    static const char start[] = "data:", mark[] = ";base64,";
    size_t head = sizeof(start) - 1;
    const char *at;

    if (!view_starts(url, start))
        return false;
    at = memmem(url.data, url.len, mark, sizeof(mark) - 1);
    if (!at)
        return false;
    out->mime =
        (struct view){ url.data + head, (size_t)(at - url.data) - head };
    at += sizeof(mark) - 1;
    out->data = (struct view){ at, url.len - (size_t)(at - url.data) };
    return true;
}

struct view part_image(const json_t *part)
{
    const json_t *image = json_object_get(part, "image_url");

    return json_is_object(image) ? reply_json_text(image, "url")
                                 : reply_json_text(part, "image_url");
}

static bool dialect_is_plain(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || byte == '-';
}

/* FNV-1a: enough to tell ids apart; two ids of one hash can be made on purpose.
 */
static unsigned long long dialect_hash_id(struct view id)
{
    unsigned long long hash = 14695981039346656037ULL;

    for (size_t i = 0; i < id.len; i++)
        hash = (hash ^ (unsigned char)id.data[i]) * 1099511628211ULL;
    return hash;
}

json_t *call_id_json(struct view id)
{
    char fit[MAX_CALL_ID + 1];
    size_t len = 0;
    bool plain = id.len > 0 && id.len <= MAX_CALL_ID;

    for (size_t i = 0; i < id.len && plain; i++)
        plain = dialect_is_plain(id.data[i]);
    if (plain)
        return json_stringn(id.data, id.len);
    for (size_t i = 0; i < id.len && len < MAX_CALL_ID - HASH_DIGITS - 1; i++)
        fit[len++] = id.data[i];
    for (size_t i = 0; i < len; i++)
        if (!dialect_is_plain(fit[i]))
            fit[i] = '_';
    return json_sprintf("%.*s_%016llx", (int)len, fit, dialect_hash_id(id));
}

json_t *tool_schema(const json_t *function)
{
    json_t *schema = json_object_get(function, "parameters");

    return json_is_object(schema)
               ? json_incref(schema)
               : json_pack("{s:s, s:{}}", "type", "object", "properties");
}

enum tool_choice tool_choice(const struct model_request *request)
{
    struct view choice = request->choice;

    if (request->last || view_is(choice, "none"))
        return CHOOSE_NONE;
    if (choice.len == 0 || view_is(choice, "auto"))
        return CHOOSE_AUTO;
    return view_is(choice, "required") ? CHOOSE_ANY : CHOOSE_ONE;
}

bool dialect_sends_tools(json_t *body, const struct model_endpoint *endpoint,
                         const struct model_request *request)
{
    if (json_array_size(request->tools) > 0 &&
        (tool_choice(request) != CHOOSE_NONE ||
         !endpoint_has(endpoint, QUIRK_NO_TOOL_CHOICE)))
        return true;
    json_object_del(body, "parallel_tool_calls");
    return false;
}

void dialect_set_choice(json_t *body, const struct model_endpoint *endpoint,
                        const struct model_request *request, json_t *one)
{
    static const char *const words[] = { "none", "auto", "required" };
    enum tool_choice choice = tool_choice(request);

    if (!endpoint_has(endpoint, QUIRK_NO_TOOL_CHOICE))
        json_object_set_new(body, "tool_choice",
                            choice == CHOOSE_ONE ? json_incref(one)
                                                 : json_string(words[choice]));
    json_decref(one);
}

uint64_t parameter_tokens(const struct model_endpoint *endpoint,
                          const char *name)
{
    json_int_t most =
        json_integer_value(json_object_get(endpoint->parameters, name));

    return most > 0 ? (uint64_t)most : 0;
}
