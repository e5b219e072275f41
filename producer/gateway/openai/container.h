/* container.h - the record of a container: what the API calls a session in
 * which the code of responses runs.
 *
 *   container:<id>          hash: tenant, name, created_at, minutes (it expires
 *                           so long after its last use), last_active_at; the
 *                           key's time to live is the rest of its life
 *   container_jobs:<id>     list: the last jobs that have used it
 *   containers:<tenant>     sorted set: ids, by their last use
 *
 * The session has the container's id as its name; a consumer makes it when the
 * first cell runs, and keeps its files in its own record. */
#ifndef PRODUCER_GATEWAY_CONTAINER_H
#define PRODUCER_GATEWAY_CONTAINER_H

#include "producer/gateway/api_request.h"

enum {
    CONTAINER_BYTES = 38, /* of an id: "cntr_", 32 digits, NUL */
    CONTAINER_MOST_JOBS = 32,
    CONTAINER_NAME_BYTES = 256,
};

struct container {
    char id[CONTAINER_BYTES];
    char name[CONTAINER_NAME_BYTES];
    uint64_t created_at, last_active_at; /* s */
    uint64_t minutes;
    bool found;
    unsigned int partition;
    void (*done)(struct api_request *request);
};

/* A new one of now. */
void container_new(struct container *container, unsigned int partition,
                   uint64_t minutes);

/* Reads the record of the caller's tenant; container is of request->state, and
 * request->container. Then done: found says whether it is there. */
void container_find(struct api_request *request, struct container *container,
                    struct view id, void (*done)(struct api_request *request));
/* Fills it from the reply to HGETALL of its record; false: it is not there, or
 * of another tenant. */
bool container_read(struct container *container, const redisReply *reply,
                    const char *tenant);
/* It is used now: writes the record, and the job (may be empty). Nobody waits
 * for it. */
void container_touch(struct gateway *gateway, struct container *container,
                     const char *tenant, struct view job);
/* Removes the record. Nobody waits for it. */
void container_forget(struct gateway *gateway,
                      const struct container *container, const char *tenant);

#endif
