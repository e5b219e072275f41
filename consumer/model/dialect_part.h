/* dialect_part.h - the parts of chat-completions messages, for dialects that
 * write them in another way. */
#ifndef CONSUMER_DIALECT_PART_H
#define CONSUMER_DIALECT_PART_H

#include <jansson.h>

#include "consumer/model/model.h"
#include "schemas/message/view.h"

/* "data:image/png;base64,..." taken apart. False: it is another URL. */
struct data_url {
    struct view mime, data;
};
bool data_url_read(struct view url, struct data_url *out);

/* The URL of an image part, {url} or the URL alone; empty: it is none. */
struct view part_image(const json_t *part);

/* The id of a call as every endpoint takes it, [A-Za-z0-9_-]{1,64}: its own
 * when it is one, else one made of it, the same each time and for no other. */
json_t *call_id_json(struct view id);

/* A tool's parameters; an object without members when it has none. */
json_t *tool_schema(const json_t *function);

/* What the operator's parameters say, a number; 0: nothing. */
uint64_t parameter_tokens(const struct model_endpoint *endpoint,
                          const char *name);

#endif
