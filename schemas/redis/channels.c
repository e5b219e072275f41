/* channels.c - the channels that a link is subscribed to. */
#include "schemas/redis/channels.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* A node of the tree. A name that is looked for is one as well: so the bytes
 * are viewed. */
struct channel_name {
    struct view name;
    char text[];
};

static int compare_channels(const void *a, const void *b)
{
    const struct channel_name *one = a, *other = b;
    size_t len =
        one->name.len < other->name.len ? one->name.len : other->name.len;
    int order = memcmp(one->name.data, other->name.data, len);

    if (order != 0 || one->name.len == other->name.len)
        return order;
    return one->name.len < other->name.len ? -1 : 1;
}

static struct channel_name *channels_find(const struct channels *channels,
                                          struct view name)
{
    const struct channel_name wanted = { .name = name };
    void *found = tfind(&wanted, &channels->tree, compare_channels);

    return found ? *(struct channel_name **)found : NULL;
}

void channels_finish(struct channels *channels)
{
    tdestroy(channels->tree, free);
    *channels = (struct channels){ 0 };
}

bool channels_add(struct channels *channels, struct view name)
{
    struct channel_name *own;

    if (channels_find(channels, name))
        return false;
    own = malloc(sizeof(*own) + name.len);
    if (!own)
        abort();
    memcpy(own->text, name.data, name.len);
    own->name = (struct view){ own->text, name.len };
    if (!tsearch(own, &channels->tree, compare_channels))
        abort();
    channels->count++;
    return true;
}

bool channels_remove(struct channels *channels, struct view name)
{
    struct channel_name *found = channels_find(channels, name);

    if (!found)
        return false;
    tdelete(found, &channels->tree, compare_channels);
    free(found);
    channels->count--;
    return true;
}

bool channels_has(const struct channels *channels, struct view name)
{
    return channels_find(channels, name);
}

static void put_one(const void *node, VISIT visit, void *command)
{
    const struct channel_name *one = *(struct channel_name *const *)node;

    if (visit == preorder || visit == leaf)
        command_add(command, one->name);
}

void channels_put(const struct channels *channels, struct command *command)
{
    twalk_r(channels->tree, put_one, command);
}
