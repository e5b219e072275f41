/* files.c - GET /v1/jobs/{id}/files/{name} and .../images/{name}: what a job
 * has made. */
#include <stdlib.h>

#include "producer/client/fleet.h"
#include "producer/gateway/native/api_job.h"
#include "producer/gateway/native/job_file.h"
#include "producer/gateway/native/native.h"
#include "schemas/message/result.h"

/* False: answered. */
static bool read_frame(struct api_request *request, bool *in_frame)
{
    struct view asked = api_request_query(request, "frame");

    *in_frame = view_is(asked, "scripts");
    if (*in_frame || asked.len == 0)
        return true;
    api_request_wrong(request, "frame", "frame is \"%.*s\", must be scripts",
                      VIEW_ARG(view_head(asked, 64)));
    return false;
}

static void files_answer(struct api_request *request,
                         struct answered_file *found)
{
    const struct job_file *file = request->state;

    found->name = view_of(file->target.name);
    found->partition = file->partition;
    if (read_frame(request, &found->in_frame))
        file_answer(request, found);
}

static void files_refuse(struct api_request *request)
{
    api_request_unknown(request, "file", request->params[1]);
}

static void files_find(struct api_request *request, const redisReply *facts,
                       enum link_kind kind)
{
    struct view name = request->params[1];
    struct job_file *file;

    file = calloc(1, sizeof(*file));
    if (!file)
        abort();
    file->target.kind = kind;
    view_copy(file->target.job, sizeof(file->target.job), request->params[0]);
    view_copy(file->target.name, sizeof(file->target.name), name);
    file->partition = api_job_partition(request);
    file->answer = files_answer;
    file->refuse = files_refuse;
    request->state = file;
    request->state_free = free;
    if (name.len >= sizeof(file->target.name))
        files_refuse(request);
    else
        job_file_find(request, job_state_is_terminal(api_job_state(facts)));
}

static void file_found(struct api_request *request, const redisReply *facts)
{
    files_find(request, facts, LINK_FILE);
}

static void image_found(struct api_request *request, const redisReply *facts)
{
    files_find(request, facts, LINK_IMAGE);
}

void files_read(struct api_request *request)
{
    api_job_load(request, file_found);
}

void images_read(struct api_request *request)
{
    api_job_load(request, image_found);
}
