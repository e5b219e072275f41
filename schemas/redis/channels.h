/* channels.h - the channels that a link is subscribed to. Only link.c uses it.
 */
#ifndef SCHEMAS_REDIS_CHANNELS_H
#define SCHEMAS_REDIS_CHANNELS_H

#include "schemas/redis/command.h"

/* Zeroed: none. */
struct channels {
    void *tree; /* search tree of names */
    size_t count;
};

void channels_finish(struct channels *channels);
/* Copies the name. False: it is there already. */
bool channels_add(struct channels *channels, struct view name);
/* False: it is not there. */
bool channels_remove(struct channels *channels, struct view name);
bool channels_has(const struct channels *channels, struct view name);
/* Adds all names to a command, which borrows them. */
void channels_put(const struct channels *channels, struct command *command);

#endif
