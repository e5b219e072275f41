/* test_openapi.c - openapi.json describes the routes that there are. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "producer/gateway/openapi.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "producer/gateway/http/http_target.h"

struct name {
    char text[16];
};

static struct name method_of(const struct api_route *route)
{
    struct name name = { "" };

    snprintf(name.text, sizeof(name.text), "%s",
             http_method_text(route->method));
    for (char *c = name.text; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return name;
}

static const json_t *at(const json_t *json, const char *name)
{
    return json_object_get(json, name);
}

/* A member itself, or the component that it refers to. */
static const json_t *resolved(const json_t *document, const json_t *json)
{
    const char *reference = json_string_value(at(json, "$ref"));
    char kind[64], name[64];

    if (!reference)
        return json;
    if (sscanf(reference, "#/components/%63[^/]/%63s", kind, name) != 2)
        fail_msg("%s is no component", reference);
    return at(at(at(document, "components"), kind), name);
}

static const struct api_route *find_route(const char *path, const char *method)
{
    for (const struct route_table *const *table = route_tables; *table; table++)
        for (size_t i = 0; i < (*table)->count; i++) {
            const struct api_route *route = &(*table)->routes[i];

            if (strcmp(route->pattern, path) == 0 &&
                strcmp(method_of(route).text, method) == 0)
                return route;
        }
    return NULL;
}

static bool knows_query(const struct api_route *route, const char *name)
{
    for (const char *const *known = route->query; known && *known; known++)
        if (strcmp(*known, name) == 0)
            return true;
    return false;
}

static size_t count_query(const json_t *document, const json_t *operation,
                          const struct api_route *route)
{
    const json_t *parameter;
    size_t i, count = 0;

    json_array_foreach(at(operation, "parameters"), i, parameter) {
        const json_t *whole = resolved(document, parameter);
        const char *name = json_string_value(at(whole, "name"));

        if (strcmp(json_string_value(at(whole, "in")), "query") != 0)
            continue;
        if (!knows_query(route, name))
            fail_msg("%s has no query %s", route->pattern, name);
        count++;
    }
    return count;
}

static size_t query_length(const struct api_route *route)
{
    size_t count = 0;

    while (route->query && route->query[count])
        count++;
    return count;
}

static const char *type_of_body(const struct api_route *route)
{
    switch (route->body) {
    case ROUTE_JSON:
    case ROUTE_JSON_NEEDED:
        return "application/json";
    case ROUTE_FORM:
    case ROUTE_FORM_JSON:
        return "multipart/form-data";
    case ROUTE_BYTES:
        return "application/octet-stream";
    case ROUTE_NO_BODY:
        break;
    }
    return NULL;
}

static void check_body(const json_t *operation, const struct api_route *route)
{
    const json_t *body = at(operation, "requestBody");
    const char *type = type_of_body(route);

    assert_int_equal(body != NULL, type != NULL);
    if (!type)
        return;
    if (!at(at(body, "content"), type))
        fail_msg("%s: the body is of type %s", route->pattern, type);
    assert_int_equal(json_is_true(at(body, "required")),
                     route->body == ROUTE_JSON_NEEDED ||
                         route->body == ROUTE_FORM ||
                         route->body == ROUTE_FORM_JSON);
}

static void check_scope(const json_t *operation, const struct api_route *route)
{
    const json_t *security = at(operation, "security");
    const json_t *scopes = at(json_array_get(security, 0), "key");

    assert_true(json_is_array(security));
    assert_int_equal(json_array_size(security), route->scope != SCOPE_NONE);
    if (route->scope != SCOPE_NONE)
        assert_string_equal(json_string_value(json_array_get(scopes, 0)),
                            scope_word(route->scope));
}

static void test_each_route_is_described(void **state)
{
    json_t *document = openapi_json();

    (void)state;
    for (const struct route_table *const *table = route_tables; *table; table++)
        for (size_t i = 0; i < (*table)->count; i++) {
            const struct api_route *route = &(*table)->routes[i];
            const json_t *path = at(at(document, "paths"), route->pattern);
            const json_t *operation = at(path, method_of(route).text);

            if (!operation)
                fail_msg("%s %s is not described", method_of(route).text,
                         route->pattern);
            check_scope(operation, route);
            check_body(operation, route);
            if (count_query(document, operation, route) != query_length(route))
                fail_msg("%s: a name of the query is not described",
                         route->pattern);
        }
    json_decref(document);
}

static void test_each_description_has_a_route(void **state)
{
    json_t *document = openapi_json(), *operations, *operation;
    const char *path, *method;

    (void)state;
    json_object_foreach(json_object_get(document, "paths"), path, operations)
        json_object_foreach(operations, method, operation)
            if (!find_route(path, method))
                fail_msg("%s %s has no route", method, path);
    json_decref(document);
}

/* Every reference leads somewhere. */
static void check_references(const json_t *document, json_t *json)
{
    const char *reference = json_string_value(at(json, "$ref")), *name;
    json_t *value;
    size_t i;

    if (reference) {
        const json_t *target = document;
        char copy[256], *rest = copy, *part;

        snprintf(copy, sizeof(copy), "%s", reference + strlen("#/"));
        while ((part = strsep(&rest, "/")))
            target = at(target, part);
        if (!target)
            fail_msg("%s leads nowhere", reference);
    }
    json_object_foreach(json, name, value)
        check_references(document, value);
    json_array_foreach(json, i, value)
        check_references(document, value);
}

static void test_references_lead_somewhere(void **state)
{
    json_t *document = openapi_json();

    (void)state;
    check_references(document, document);
    json_decref(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_route_is_described),
        cmocka_unit_test(test_each_description_has_a_route),
        cmocka_unit_test(test_references_lead_somewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
