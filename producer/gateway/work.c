/* work.c - calls of libquern in threads. */
#include "producer/gateway/work.h"

#include <stdlib.h>

struct work_item {
    struct work_item *next;
    struct work_job job;
};

struct work_slot {
    uv_work_t request; /* first: a slot is found by it */
    struct work *work;
    struct quern *quern;    /* made with the first job */
    struct work_item *item; /* NULL: the slot is free */
};

struct work {
    struct gateway *gateway;
    struct work_item *first, **end;
    unsigned int waiting;
    unsigned int running;
    bool freeing;
    struct work_slot slots[WORK_HANDLES];
};

static void work_destroy(struct work *work)
{
    for (size_t i = 0; i < WORK_HANDLES; i++)
        quern_close(work->slots[i].quern);
    free(work);
}

static void work_run(uv_work_t *request)
{
    struct work_slot *slot = request->data;

    slot->item->job.run(slot->item->job.owner, slot->quern);
}

static void work_start(struct work *work);

static void work_done(uv_work_t *request, int status)
{
    struct work_slot *slot = request->data;
    struct work *work = slot->work;
    struct work_item *item = slot->item;

    (void)status; /* nobody cancels */
    slot->item = NULL;
    work->running--;
    item->job.done(item->job.owner);
    free(item);
    if (!work->freeing)
        work_start(work);
    else if (work->running == 0)
        work_destroy(work);
}

/* The settings were checked at the start: opening asks no server, and cannot
 * fail. */
static struct quern *open_handle(const struct gateway *gateway)
{
    const struct gateway_settings *settings = &gateway->settings;
    const struct quern_options options = {
        .url = settings->redis_url,
        .prefix = settings->prefix,
        .sentinel_password = settings->sentinel_password,
        .tls_ca = settings->redis_tls.ca,
        .tls_certificate = settings->redis_tls.certificate,
        .tls_key = settings->redis_tls.key,
        .tls_server_name = settings->redis_tls.server_name,
        .durability = "async",
        .role = "gateway-work",
        .timeout_ms = settings->redis_ms,
    };
    struct quern *quern = quern_open(&options, NULL);

    if (!quern)
        abort();
    return quern;
}

static void work_start(struct work *work)
{
    for (size_t i = 0; i < WORK_HANDLES && work->first; i++) {
        struct work_slot *slot = &work->slots[i];

        if (slot->item)
            continue;
        slot->item = work->first;
        work->first = slot->item->next;
        if (!work->first)
            work->end = &work->first;
        work->waiting--;
        work->running++;
        if (!slot->quern)
            slot->quern = open_handle(work->gateway);
        uv_queue_work(work->gateway->loop, &slot->request, work_run, work_done);
    }
}

struct work *work_new(struct gateway *gateway)
{
    struct work *work = calloc(1, sizeof(*work));

    if (!work)
        abort();
    work->gateway = gateway;
    work->end = &work->first;
    for (size_t i = 0; i < WORK_HANDLES; i++) {
        work->slots[i].work = work;
        work->slots[i].request.data = &work->slots[i];
    }
    return work;
}

void work_free(struct work *work)
{
    if (!work)
        return;
    work->freeing = true;
    while (work->first) {
        struct work_item *item = work->first;

        work->first = item->next;
        item->job.done(item->job.owner);
        free(item);
    }
    if (work->running == 0)
        work_destroy(work);
}

bool work_add(struct work *work, const struct work_job *job, struct err *err)
{
    struct work_item *item;

    if (work->freeing)
        return err_set(err, ERR_RETRY, "draining",
                       "the gateway is about to end");
    if (work->waiting == WORK_MOST_WAITING)
        return err_set(err, ERR_RETRY, "work_full",
                       "%d requests of this kind wait already",
                       WORK_MOST_WAITING);
    item = malloc(sizeof(*item));
    if (!item)
        abort();
    *item = (struct work_item){ .job = *job };
    *work->end = item;
    work->end = &item->next;
    work->waiting++;
    work_start(work);
    return true;
}
