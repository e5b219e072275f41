/* response_list.c - lists of the Responses API, and what else it answers beside
 * responses. */
#include "producer/gateway/responses/response_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/responses/response_object.h"
#include "schemas/message/buf.h"

/* --------------------------------------------------------------------- pages
 */

static bool page_refuse(struct body_error *error, const char *param,
                        struct view value, const char *expected)
{
    const struct body_value query = { .error = error };
    const struct body_value member = { .outer = &query,
                                       .name = param,
                                       .error = error };

    return body_refuse(&member, "invalid_value", "is \"%.*s\", must be %s",
                       VIEW_ARG(view_head(value, 64)), expected);
}

bool response_page_read(struct response_page *page, struct view limit,
                        struct view order, struct view after,
                        struct body_error *error)
{
    size_t number = 0;
    bool good = limit.len <= 3;

    *page = (struct response_page){ .limit = RESPONSE_LIST_NORMAL,
                                    .ascending = view_is(order, "asc"),
                                    .after = after };
    for (size_t i = 0; good && i < limit.len; i++) {
        good = limit.data[i] >= '0' && limit.data[i] <= '9';
        number = 10 * number + (size_t)(limit.data[i] - '0');
    }
    if (limit.len > 0)
        page->limit = number;
    if (!good || page->limit == 0 || page->limit > RESPONSE_LIST_MOST)
        return page_refuse(error, "limit", limit, "a number from 1 to 100");
    if (order.len > 0 && !page->ascending && !view_is(order, "desc"))
        return page_refuse(error, "order", order, "asc or desc");
    return true;
}

/* The item of that number in the order of the page. */
static json_t *list_item(const json_t *items, const struct response_page *page,
                         size_t number)
{
    size_t count = json_array_size(items);

    return json_array_get(items, page->ascending ? number : count - 1 - number);
}

static struct view list_id(const json_t *items,
                           const struct response_page *page, size_t number)
{
    return body_string(json_object_get(list_item(items, page, number), "id"));
}

json_t *response_list(const json_t *items, const struct response_page *page,
                      struct body_error *error)
{
    size_t count = json_array_size(items), from = 0;
    json_t *data = json_array(), *list;

    while (page->after.len > 0 && from < count &&
           !view_equal(list_id(items, page, from), page->after))
        from++;
    if (page->after.len > 0 && from++ == count) {
        json_decref(data);
        page_refuse(error, "after", page->after, "the id of an item");
        return NULL;
    }
    for (size_t i = from; i < count && i - from < page->limit; i++)
        json_array_append(data, list_item(items, page, i));
    list = json_pack("{s:s, s:O, s:n, s:n, s:b}", "object", "list", "data",
                     data, "first_id", "last_id", "has_more",
                     (int)(count - from > page->limit));
    if (json_array_size(data) > 0) {
        json_object_set(list, "first_id",
                        json_object_get(json_array_get(data, 0), "id"));
        json_object_set(
            list, "last_id",
            json_object_get(json_array_get(data, json_array_size(data) - 1),
                            "id"));
    }
    json_decref(data);
    return list;
}

/* ------------------------------------------------------------------ the rest
 */

/* Where the digits of the job begin; 0: it is no id of an item. */
static size_t item_id_digits(struct view id)
{
    static const char *const prefixes[] = { "msg_", "rs_", "fc_", "fco_",
                                            "ci_",  "ws_", NULL };

    for (const char *const *prefix = prefixes; *prefix; prefix++)
        if (view_starts(id, *prefix))
            return strlen(*prefix);
    return 0;
}

bool response_item_is_input(struct view id)
{
    size_t place = item_id_digits(id) + 32;

    return id.len > place && id.data[place] == 'i';
}

size_t response_item_place(struct view id)
{
    size_t skip = item_id_digits(id) + 33;
    char digits[17];

    snprintf(digits, sizeof(digits), "%.*s",
             id.len > skip ? (int)(id.len - skip) : 0, id.data + skip);
    return strtoul(digits, NULL, 16);
}

bool response_item_job(struct view id, char job[37])
{
    char response[RESPONSE_ID_BYTES];
    size_t skip = item_id_digits(id);

    if (skip == 0 || id.len < skip + 32 + 4)
        return false;
    snprintf(response, sizeof(response), "resp_%.32s", id.data + skip);
    return response_id_read(view_of(response), job);
}

json_t *response_deleted(struct view job)
{
    char id[RESPONSE_ID_BYTES];

    response_id_write(id, job);
    return json_pack("{s:s, s:s, s:b}", "id", id, "object", "response",
                     "deleted", 1);
}
