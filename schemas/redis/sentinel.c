/* sentinel.c - learns from a sentinel that there is another master. */
#include "schemas/redis/sentinel.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/redis/link.h"

struct sentinel {
    struct link *link;
    char *name; /* of the master */
    void (*switched)(void *owner, const struct node *master);
    void *owner;
};

/* The message of +switch-master:
 * "<name> <old host> <old port> <new host> <new port>" */
static bool read_news(const char *text, const char *name, struct node *master)
{
    struct view words[5];
    size_t count = 0;
    for (; count < 5 && *text != '\0'; count++) {
        words[count] = (struct view){ text, strcspn(text, " ") };
        text += words[count].len;
        text += strspn(text, " ");
    }
    return count == 5 && view_is(words[0], name) &&
           node_set(master, words[3], strtoull(words[4].data, NULL, 10));
}

static void on_push(void *owner, const redisReply *message)
{
    struct sentinel *sentinel = owner;
    const redisReply *news = message->element[2];
    struct node master = { .port = 0 };
    if (news->type != REDIS_REPLY_STRING ||
        !read_news(news->str, sentinel->name, &master))
        return;
    sentinel->switched(sentinel->owner, &master);
}

struct sentinel *
sentinel_new(uv_loop_t *loop, const struct address *address, const char *role,
             void (*switched)(void *owner, const struct node *master),
             void *owner)
{
    struct address sentinels;
    if (!address_of_sentinels(&sentinels, address))
        return NULL;
    struct sentinel *sentinel = calloc(1, sizeof(*sentinel));
    if (!sentinel)
        abort();
    struct link_events events = { .on_push = on_push };
    sentinel->name = view_dup(view_of(address->master));
    sentinel->switched = switched;
    sentinel->owner = owner;
    sentinel->link = link_new(loop, &sentinels, 0, role, events, sentinel);
    address_finish(&sentinels);
    link_subscribe(sentinel->link, VIEW("+switch-master"));
    link_open(sentinel->link);
    return sentinel;
}

static void on_closed(void *owner)
{
    struct sentinel *sentinel = owner;
    free(sentinel->name);
    free(sentinel);
}

void sentinel_free(struct sentinel *sentinel)
{
    if (sentinel)
        link_free(sentinel->link, on_closed, sentinel);
}
