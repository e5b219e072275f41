/* fleet.c - workers, endpoints, sessions. */
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/operate/call.h"
#include "producer/gateway/operate/operate.h"
#include "schemas/json/convert.h"
#include "schemas/message/session.h"

static bool run_workers(struct operate_call *call, struct quern *quern)
{
    struct quern_workers workers;
    json_t *list;

    if (!quern_workers(quern, &workers, &call->error))
        return false;
    list = json_array();
    for (size_t i = 0; i < workers.count; i++)
        json_array_append_new(list, operate_worker_json(&workers.items[i]));
    quern_workers_free(&workers);
    return operate_answer_list(call, "workers", list);
}

void fleet_workers(struct api_request *request)
{
    operate_call(request, run_workers, NULL);
}

/* {"drain": true}, which is what an empty body means, too; false: it stays. */
static bool run_drain(struct operate_call *call, struct quern *quern)
{
    static const char *const names[] = { "drain", NULL };
    bool drain = true;

    if (!operate_only(call, names) ||
        (json_object_get(call->body, "drain") &&
         !operate_switch(call, "drain", &drain)) ||
        !quern_drain(quern, call->name, drain, &call->error))
        return false;
    call->answer =
        json_pack("{s:s, s:b}", "worker", call->name, "draining", (int)drain);
    return true;
}

void fleet_drain(struct api_request *request)
{
    operate_call(request, run_drain, "worker.drain");
}

static bool run_endpoints(struct operate_call *call, struct quern *quern)
{
    struct quern_endpoints endpoints;
    json_t *list;

    if (!quern_endpoints(quern, &endpoints, &call->error))
        return false;
    list = json_array();
    for (size_t i = 0; i < endpoints.count; i++)
        json_array_append_new(list, operate_endpoint_json(&endpoints.items[i]));
    free(endpoints.items);
    return operate_answer_list(call, "endpoints", list);
}

void fleet_endpoints(struct api_request *request)
{
    operate_call(request, run_endpoints, NULL);
}

/* ---------------------------------------------------------------- sessions */

/* Blobs are left out: a hash must not be a way to bytes. NULL: the record
 * cannot be read. */
static json_t *session_json(const struct quern_record *record)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct view bytes = { record->bytes, record->size };
    struct session_record session;
    json_t *json, *file;
    size_t i;

    if (!message_decode(&schema_session_record, bytes, &session, &arena, NULL))
        return NULL;
    json = json_from_message(&schema_session_record, &session);
    json_object_del(json, "picture");
    json_object_del(json, "history");
    json_array_foreach(json_object_get(json, "files"), i, file)
        json_object_del(file, "blob");
    return json;
}

static bool run_sessions(struct operate_call *call, struct quern *quern)
{
    struct quern_records records = { 0 };
    json_t *list;

    if (!quern_sessions(quern, call->tenant, &records, &call->error))
        return false;
    list = json_array();
    for (size_t i = 0; i < records.count; i++) {
        json_t *session = session_json(&records.items[i]);

        if (session)
            json_array_append_new(list, session);
    }
    quern_records_finish(&records);
    return operate_answer_list(call, "sessions", list);
}

void fleet_sessions(struct api_request *request)
{
    operate_call(request, run_sessions, NULL);
}

static bool run_session(struct operate_call *call, struct quern *quern)
{
    struct quern_record record;

    if (!quern_session(quern, call->tenant, call->name, &record, &call->error))
        return operate_is_unknown(call, "session") &&
               operate_unknown(call, "session");
    call->answer = session_json(&record);
    free(record.bytes);
    return call->answer ||
           operate_wrong(call, "internal",
                         "the record of the session cannot be read");
}

void fleet_session(struct api_request *request)
{
    operate_call(request, run_session, NULL);
}
