/* explain.c - GET /v1/jobs/{id}/explain: why a job is where it is, in
 * sentences.
 */
#include <stdlib.h>

#include "producer/client/fleet.h"
#include "producer/gateway/native/api_job.h"
#include "producer/gateway/native/native.h"

/* What the thread reads and writes: it may outlive the request's id. */
struct explain_state {
    char id[ID_LEN + 1];
    struct quern_explanation job;
    struct quern_error error;
    bool known;
};

static void explain_free(void *state)
{
    struct explain_state *explain = state;

    free(explain->job.items);
    free(explain);
}

/* In a thread. */
static void explain_run(void *state, struct quern *quern)
{
    struct explain_state *explain = state;

    explain->known =
        quern_explain(quern, explain->id, &explain->job, &explain->error);
}

static void explain_done(struct api_request *request)
{
    const struct explain_state *explain = request->state;
    json_t *facts;

    if (!explain->known) {
        api_request_refuse_error(request, &explain->error);
        return;
    }
    facts = json_object();
    for (size_t i = 0; i < explain->job.count; i++) {
        const struct quern_fact *fact = &explain->job.items[i];

        json_object_set_new(facts, fact->name,
                            fact->number ? json_integer((json_int_t)strtoull(
                                               fact->text, NULL, 10))
                                         : json_string(fact->text));
    }
    api_request_json(request, 200,
                     json_pack("{s:s, s:s, s:o}", "id", explain->id, "why",
                               explain->job.why, "facts", facts));
}

static void explain_found(struct api_request *request, const redisReply *facts)
{
    struct explain_state *explain = calloc(1, sizeof(*explain));

    (void)facts;
    if (!explain)
        abort();
    view_copy(explain->id, sizeof(explain->id), request->params[0]);
    request->state = explain;
    request->state_free = explain_free;
    api_request_work(request, explain_run, explain_done);
}

void explain_job(struct api_request *request)
{
    api_job_load(request, explain_found);
}
