/* response_list.h - lists of the Responses API, and what else it answers beside
 * responses.
 *
 *   items, as message_items.h makes them --response_list()--> one page */
#ifndef PRODUCER_GATEWAY_RESPONSE_LIST_H
#define PRODUCER_GATEWAY_RESPONSE_LIST_H

#include "producer/gateway/body/body.h"
#include "producer/gateway/responses/wire_item.h"

enum { RESPONSE_LIST_NORMAL = 20, RESPONSE_LIST_MOST = 100 };

/* Which page: the items behind after (an id; empty: from the beginning). */
struct response_page {
    size_t limit;
    bool ascending;
    struct view after;
};

/* From the values of a query; empty: 20, desc, from the beginning. Borrows
 * after. False: refused, with the name in the query as param. */
bool response_page_read(struct response_page *page, struct view limit,
                        struct view order, struct view after,
                        struct body_error *error);

/* {"object": "list", "data", "first_id", "last_id", "has_more"}, a new
 * reference. items: in ascending order, each with an id. NULL: no item has the
 * id of after; refused. */
json_t *response_list(const json_t *items, const struct response_page *page,
                      struct body_error *error);

/* The job of an item, by any id that it may have: that of the input, or of the
 * output. False: it is no such id. */
bool response_item_job(struct view id, char job[37]);
/* The id, of which response_item_job() is true, is of an item that the response
 * was given, not of one that it made. */
bool response_item_is_input(struct view id);
/* The place in the id of an item that a response or a conversation was given.
 */
size_t response_item_place(struct view id);

/* What DELETE answers: a new reference. */
json_t *response_deleted(struct view job);

#endif
