/* schema.c - a message's table as JSON Schema (draft 2020-12). */
#include "schemas/json/schema.h"

#include "schemas/message/rule.h"

static json_t *put(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
    return object;
}

static json_t *typed(const char *type)
{
    return put(json_object(), "type", json_string(type));
}

static json_t *reference(const char *name)
{
    json_t *json = json_object();

    return put(json, "$ref", json_sprintf("#/$defs/%s", name));
}

/* A bound that a double holds exactly; the rest need not be said. */
static void put_bound(json_t *json, const char *name, uint64_t bound)
{
    if (bound <= UINT64_C(1) << 53)
        put(json, name, json_integer((json_int_t)bound));
}

static json_t *text_document(const struct field *field)
{
    json_t *json = typed("string");

    /* Ours are bytes, theirs characters, of which there are fewer. */
    if (field->min > 0)
        put_bound(json, "minLength", field->min);
    put_bound(json, "maxLength", field->max);
    return json;
}

/* The definition of what stands for bytes that are not UTF-8. */
static json_t *bytes_document(void)
{
    json_t *base64 =
        put(typed("string"), "contentEncoding", json_string("base64"));
    json_t *json = typed("object");

    put(json, "description", json_string("Bytes that are not UTF-8."));
    put(json, "properties", put(json_object(), "base64", base64));
    put(json, "required", json_pack("[s]", "base64"));
    return put(json, "additionalProperties", json_false());
}

static json_t *either(json_t *text)
{
    return put(json_object(), "anyOf",
               json_pack("[o, o]", text, reference("bytes")));
}

static json_t *choice_document(const char *const *names)
{
    json_t *choice = json_array();

    for (size_t i = 0; names[i] != NULL; i++)
        json_array_append_new(choice, json_string(names[i]));
    return put(typed("string"), "enum", choice);
}

static void define(json_t *definitions, const struct schema *schema);
static json_t *field_document(const struct field *field, json_t *definitions);

static json_t *list_document(const struct field *field, json_t *definitions)
{
    const struct field *item = field->of->fields;
    json_t *json = typed("array");

    put_bound(json, "maxItems", field->max);
    if (item->name == NULL)
        return put(json, "items", field_document(item, definitions));
    define(definitions, field->of);
    return put(json, "items", reference(field->of->name));
}

static json_t *map_document(const struct field *field, json_t *definitions)
{
    json_t *json = typed("object");

    put_bound(json, "maxProperties", field->max);
    put(definitions, "bytes", bytes_document());
    return put(json, "additionalProperties", either(typed("string")));
}

/* What the row's kind says; the row's sentence is added by the caller. */
static json_t *kind_document(const struct field *field, json_t *definitions)
{
    json_t *json;

    switch (field->type) {
    case FIELD_TEXT:
        if (!(field->flags & FIELD_RAW))
            return text_document(field);
        put(definitions, "bytes", bytes_document());
        return either(text_document(field));
    case FIELD_BYTES:
        put(definitions, "bytes", bytes_document());
        return either(text_document(field));
    case FIELD_UINT:
        json = typed("integer");
        put_bound(json, "minimum", field->min);
        put_bound(json, "maximum", field->max);
        return json;
    case FIELD_REAL:
        return typed("number");
    case FIELD_BOOL:
        return typed("boolean");
    case FIELD_ENUM:
        return choice_document(field->names);
    case FIELD_ANY:
        return json_object();
    case FIELD_STRUCT:
        define(definitions, field->of);
        return reference(field->of->name);
    case FIELD_LIST:
        return list_document(field, definitions);
    case FIELD_MAP:
        return map_document(field, definitions);
    }
    return NULL;
}

static json_t *field_document(const struct field *field, json_t *definitions)
{
    static const char *const units[] = {
        [UNIT_NONE] = "",
        [UNIT_MS] = " (milliseconds)",
        [UNIT_BYTES] = " (bytes)",
        [UNIT_MICRO_DOLLARS] = " (micro-dollars)",
    };

    return put(kind_document(field, definitions), "description",
               json_sprintf("%s%s", field->about, units[field->unit]));
}

/* Fills json with what the schema says of its map. */
static void schema_describe(json_t *json, const struct schema *schema,
                            json_t *definitions)
{
    json_t *properties = json_object();
    json_t *required = json_array();

    put(json, "description", json_string(schema->about));
    put(json, "type", json_string("object"));
    put(json, "properties", properties);
    if (schema->versioned) {
        put(properties, "v", json_pack("{s:i}", "const", MESSAGE_VERSION));
        json_array_append_new(required, json_string("v"));
    }
    for (size_t i = 0; i < schema->count; i++) {
        const struct field *field = &schema->fields[i];

        put(properties, field->name, field_document(field, definitions));
        if (field->flags & FIELD_REQUIRED)
            json_array_append_new(required, json_string(field->name));
    }
    if (json_array_size(required) > 0)
        put(json, "required", required);
    else
        json_decref(required);
}

static void define(json_t *definitions, const struct schema *schema)
{
    json_t *json;

    if (json_object_get(definitions, schema->name) != NULL)
        return;
    json = json_object();
    put(definitions, schema->name, json);
    schema_describe(json, schema, definitions);
}

json_t *json_schema(const struct schema *schema)
{
    json_t *json = json_object();
    json_t *definitions = json_object();

    put(json, "$schema",
        json_string("https://json-schema.org/draft/2020-12/schema"));
    put(json, "title", json_string(schema->name));
    schema_describe(json, schema, definitions);
    return put(json, "$defs", definitions);
}
