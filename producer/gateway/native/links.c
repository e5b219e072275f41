/* links.c - GET /v1/links/{token}: a file that a job has made, for whoever has
 * the link. */
#include <stdlib.h>

#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/link_secret.h"
#include "producer/gateway/native/job_file.h"
#include "producer/gateway/native/native.h"
#include "schemas/message/id.h"
#include "schemas/message/result.h"
#include "schemas/redis/reply.h"

static void answer_linked(struct api_request *request,
                          struct answered_file *found)
{
    const struct job_file *file = request->state;

    found->name = view_of(file->target.name);
    found->partition = file->partition;
    found->is_linked = true;
    found->link_seconds = file_link_seconds(&file->target);
    file_answer(request, found);
}

static void on_state(struct api_request *request, const redisReply *reply)
{
    struct view state = reply_view(reply);

    if (state.len == 0)
        file_link_refuse(request);
    else
        job_file_find(request, job_state_is_terminal(job_state_of(state)));
}

static void open_link(struct api_request *request)
{
    struct job_file *file = calloc(1, sizeof(*file));
    struct command command;
    struct key key;

    if (!file)
        abort();
    file->answer = answer_linked;
    file->refuse = file_link_refuse;
    request->state = file;
    request->state_free = free;
    if (!file_link_read(request->gateway, request->params[0], &file->target)) {
        file_link_refuse(request);
        return;
    }
    id_parse(view_of(file->target.job), &file->partition);
    if (file->partition >= fleet_links_partitions(request->gateway->links)) {
        file_link_refuse(request);
        return;
    }
    key = names_job(&request->gateway->names, view_of(file->target.job));
    command_init(&command, "HGET");
    command_add(&command, key_view(&key));
    command_add_text(&command, "state");
    api_request_call(request, file->partition, &command, on_state);
    command_finish(&command);
}

void links_read(struct api_request *request)
{
    unsigned int partition;

    if (api_request_partition(request, (struct view){ 0 }, &partition))
        link_secret_load(request, open_link);
}
