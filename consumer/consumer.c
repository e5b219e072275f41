/* consumer.c - what the parts of one consumer ask of it: whether it claims
 * jobs, and the names of its queues and streams. */
#include "consumer/consumer.h"

#include <stdlib.h>
#include <string.h>

/* The next name of a comma-separated list; false: no more. */
static bool next_queue(const char **rest, struct view *queue)
{
    *rest += strspn(*rest, ", ");
    *queue = (struct view){ *rest, strcspn(*rest, ", ") };
    *rest += queue->len;
    return queue->len > 0;
}

bool consumer_claims(const struct consumer *consumer)
{
    return consumer->mode == MODE_SERVING &&
           (executor_is_off(consumer->executor) ||
            executor_is_ready(consumer->executor));
}

bool consumer_check_queues(const char *queues, struct err *err)
{
    struct view queue;
    size_t count = 0;
    for (; next_queue(&queues, &queue); count++)
        if (!name_is_valid(queue))
            return err_set(
                err, ERR_REJECT, "bad_setting",
                "\"%.*s\" is not a valid name of a queue: 1 to %d of A-Z a-z "
                "0-9 . _ -",
                VIEW_ARG(view_head(queue, 40)), MAX_NAME_BYTES);
    return count <= CONSUMER_MAX_QUEUES ||
           err_set(err, ERR_REJECT, "bad_setting",
                   "must name 1 to %d queues, not %zu", CONSUMER_MAX_QUEUES,
                   count);
}

bool consumer_check_name(const char *name, struct err *err)
{
    return name_is_valid(view_of(name)) ||
           err_set(err, ERR_REJECT, "bad_setting",
                   "must be 1 to %d of A-Z a-z 0-9 . _ -", MAX_NAME_BYTES);
}

struct view *consumer_queues(const struct consumer *consumer, size_t *count)
{
    struct view *queues = calloc(CONSUMER_MAX_QUEUES, sizeof(*queues));
    if (!queues)
        abort();
    const char *rest = consumer->settings.queues;
    *count = 0;
    while (next_queue(&rest, &queues[*count]))
        ++*count;
    return queues;
}

struct key *consumer_streams(const struct consumer *consumer,
                             unsigned int partition, size_t *count)
{
    static const int order[] = { PRIORITY_HIGH, PRIORITY_NORMAL, PRIORITY_LOW };
    struct key *streams =
        calloc((size_t)CONSUMER_MAX_QUEUES * 3, sizeof(*streams));
    if (!streams)
        abort();
    *count = 0;
    for (size_t i = 0; i < 3; i++) {
        const char *rest = consumer->settings.queues;
        struct view queue;
        while (next_queue(&rest, &queue))
            streams[(*count)++] =
                names_work(&consumer->names, partition, queue, order[i]);
    }
    return streams;
}
