/* openapi.c - GET /openapi.json: what the gateway answers, as OpenAPI 3.1.
 *
 * openapi.json is written by hand, and is part of the program. The schemas of
 * jobs, results and events are those of the tables that read and write them
 * (schemas/json). tests/unit/gateway/test_openapi.c compares the document with
 * the tables of routes. */
#include "producer/gateway/openapi.h"

#include <stdlib.h>
#include <string.h>

#include "producer/gateway/api_request.h"
#include "schemas/json/schema.h"
#include "schemas/message/event.h"

extern const char openapi_document[]; /* openapi.c.in */

static const char DEFS[] = "#/$defs/";

/* "#/$defs/x" of a schema by itself is "#/components/schemas/Job/$defs/x" in
 * the document. Our own schemas, so the depth is bounded. */
static void move_references(json_t *json, const char *name)
{
    const char *reference = json_string_value(json_object_get(json, "$ref"));
    const char *member;
    json_t *value;
    size_t i;

    if (reference && strncmp(reference, DEFS, sizeof(DEFS) - 1) == 0)
        json_object_set_new(json, "$ref",
                            json_sprintf("#/components/schemas/%s/$defs/%s",
                                         name, reference + sizeof(DEFS) - 1));
    json_object_foreach(json, member, value)
        move_references(value, name);
    json_array_foreach(json, i, value)
        move_references(value, name);
}

static void openapi_add_schema(json_t *schemas, const char *name,
                               const struct schema *table)
{
    json_t *schema = json_schema(table);

    json_object_del(schema, "$schema");
    move_references(schema, name);
    json_object_set_new(schemas, name, schema);
}

/* A job over HTTP needs no version and no id. */
static void openapi_add_job(json_t *schemas)
{
    openapi_add_schema(schemas, "Job", &schema_job);
    json_object_del(json_object_get(schemas, "Job"), "required");
}

json_t *openapi_json(void)
{
    json_t *document =
        json_loads(openapi_document, JSON_REJECT_DUPLICATES, NULL);
    json_t *schemas =
        json_object_get(json_object_get(document, "components"), "schemas");

    if (!schemas)
        abort();
    openapi_add_job(schemas);
    openapi_add_schema(schemas, "Result", &schema_result);
    openapi_add_schema(schemas, "Event", &schema_event);
    return document;
}

static void show_document(struct api_request *request)
{
    api_request_json(request, 200, openapi_json());
}

static const struct api_route routes[] = {
    { .method = HTTP_METHOD_GET,
      .pattern = "/openapi.json",
      .handle = show_document },
};

const struct route_table openapi_routes = {
    routes,
    sizeof(routes) / sizeof(routes[0]),
    "openapi",
};
