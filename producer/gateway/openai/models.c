/* models.c - GET /v1/models and /v1/models/{id}: what a job may name as its
 * model. An id may have one slash: "{owner}/{id}". */
#include <stdio.h>
#include <stdlib.h>

#include "producer/gateway/openai/model_list.h"
#include "producer/gateway/openai/openai.h"

enum { MODEL_NAME_BYTES = 2 * MAX_NAME_BYTES + 2 };

static void models_free(void *state)
{
    model_look_finish(state);
    free(state);
}

/* In a thread. */
static void models_run(void *state, struct quern *quern)
{
    model_look_run(state, quern);
}

static void load_models(struct api_request *request,
                        void (*done)(struct api_request *request))
{
    struct model_look *look = calloc(1, sizeof(*look));

    if (!look)
        abort();
    request->state = look;
    request->state_free = models_free;
    api_request_work(request, models_run, done);
}

/* False: answered. */
static bool take_models(struct api_request *request)
{
    const struct model_look *look = request->state;
    struct gateway *gateway = request->gateway;

    if (look->known)
        model_list_take(gateway->models, look, uv_now(gateway->loop));
    else
        api_request_refuse_error(request, &look->error);
    return look->known;
}

static json_t *model_json(const char *name)
{
    return json_pack("{s:s, s:s, s:I, s:s}", "id", name, "object", "model",
                     "created", (json_int_t)0, "owned_by", "quern");
}

static void answer_models(struct api_request *request)
{
    json_t *list;
    const json_t *name;
    size_t i;

    if (!take_models(request))
        return;
    list = json_array();
    json_array_foreach(model_list_names(request->gateway->models), i, name)
        json_array_append_new(list, model_json(json_string_value(name)));
    api_request_json(request, 200,
                     json_pack("{s:s, s:o}", "object", "list", "data", list));
}

void models_list(struct api_request *request)
{
    load_models(request, answer_models);
}

static void answer_model(struct api_request *request)
{
    const struct view *params = request->params;
    char name[MODEL_NAME_BYTES];
    const json_t *one;
    size_t i;

    if (!take_models(request))
        return;
    snprintf(name, sizeof(name), "%.*s%s%.*s", VIEW_ARG(params[0]),
             params[1].len > 0 ? "/" : "", VIEW_ARG(params[1]));
    json_array_foreach(model_list_names(request->gateway->models), i, one)
        if (view_is(body_string(one), name)) {
            api_request_json(request, 200, model_json(name));
            return;
        }
    openai_refuse_model(request, name);
}

void models_show(struct api_request *request)
{
    load_models(request, answer_model);
}

void openai_refuse_model(struct api_request *request, const char *name)
{
    openai_refuse(request, 404, "model_not_found", "model",
                  "there is no model '%.128s': GET /v1/models lists those that "
                  "there are",
                  name);
}
