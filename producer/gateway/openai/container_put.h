/* container_put.h - changes a container's files, or closes its session: by a
 * job, in its turn among the container's other jobs.
 *
 *   ids of uploaded files --> their records --> a job --> its end --> done
 */
#ifndef PRODUCER_GATEWAY_CONTAINER_PUT_H
#define PRODUCER_GATEWAY_CONTAINER_PUT_H

#include "producer/client/draft.h"
#include "producer/gateway/followers.h"
#include "producer/gateway/openai/container.h"

/* Zeroed, in the state of a request, which is freed with the request. */
struct container_put {
    struct api_request *request;
    struct container *container;
    void (*done)(struct api_request *request);
    bool at_once; /* done when the job stands, not when it has ended */
    struct draft draft;
    struct job_follower *follower;
    json_t *ids; /* of uploaded files */
    const char *param;
    json_t *files; /* {name, blob, bytes} of each that was looked up */
};
void container_put_finish(struct container_put *put); /* accepts zeros */

/* Runs the job, of which kind and action are given; takes it. done when it has
 * completed; when it has not, the request is answered. */
void container_put_job(struct api_request *request, struct container_put *put,
                       json_t *job);
/* Puts the uploaded files of these ids into the container. param: the member
 * that has them. The same. */
void container_put_uploaded(struct api_request *request,
                            struct container_put *put, const json_t *ids,
                            const char *param);

#endif
