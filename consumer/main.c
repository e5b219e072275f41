/* main.c - quern-consumer: puts the parts together and takes them apart. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#include "consumer/job/attempt.h"
#include "consumer/queue/fleet.h"
#include "consumer/queue/fleet_endpoints.h"
#include "consumer/queue/partition.h"
#include "consumer/service.h"
#include "consumer/tools/builtin.h"
#include "consumer/tools/reader.h"
#include "consumer/watch_pages.h"
#include "schemas/redis/sentinel.h"
#include "schemas/service/log.h"
#include "schemas/service/reloader.h"

enum {
    /* Descriptors beside those of jobs: Redis, the executor, the loop, DNS. */
    OWN_FILES = 64,
    SLOT_FILES = 2, /* of a job: a connection to a model, and one to a tool */
};

/* host.pid.random: a name that no consumer had before, also after a restart.
 * Leases of an earlier process must not look like ours. */
static void make_name(struct consumer *consumer)
{
    unsigned int chance = 0;
    char host[65] = "";
    if (getrandom(&chance, sizeof(chance), 0) < 0)
        abort();
    srand(chance);
    if (*consumer->settings.name != '\0') {
        snprintf(consumer->name, sizeof(consumer->name), "%s",
                 consumer->settings.name);
        return;
    }
    gethostname(host, sizeof(host) - 1);
    snprintf(consumer->name, sizeof(consumer->name), "%s.%d.%08x", host,
             (int)getpid(), chance);
}

/* A conversation that waits for its model holds a connection. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* A slot for which there are no descriptors would take a job, whose request
 * would then fail as if the model were away. */
static void fit_slots(struct consumer_settings *settings)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    uint64_t files = limit.rlim_cur;
    uint64_t most = files > OWN_FILES ? (files - OWN_FILES) / SLOT_FILES : 0;
    uint64_t wanted = settings->slots;
    if (wanted <= most)
        return;
    settings->slots = most > 0 ? most : 1;
    log_line("slots.fewer", "{s:I, s:I, s:I, s:s}", "wanted",
             (json_int_t)wanted, "slots", (json_int_t)settings->slots,
             "open_files", (json_int_t)files, "text",
             "the limit of open files is too low for all slots: raise it "
             "(LimitNOFILE, ulimit -n), or lower --slots");
}

/* Whoever stops the process kills it before its jobs are handed back. */
static void check_grace(const struct consumer_settings *settings)
{
    uint64_t needed_ms = service_leave_ms(settings);
    if (settings->grace_ms > 0 && settings->grace_ms < needed_ms)
        log_line("grace.short", "{s:I, s:I}", "grace_ms",
                 (json_int_t)settings->grace_ms, "needed_ms",
                 (json_int_t)needed_ms);
}

/* The table of models, from the settings. */
static bool load_models(struct consumer *consumer, struct err *err)
{
    const struct endpoint_settings *given = &consumer->settings.endpoint;
    struct endpoint_source source = {
        .file = *given->file ? given->file : NULL,
        .base_url = *given->base_url ? given->base_url : NULL,
        .key = *given->key ? given->key : NULL,
        .model = *given->model ? given->model : NULL,
    };
    bool loaded = endpoints_load(&consumer->endpoints, &source, err);
    if (loaded && (source.base_url || source.key) && !source.model &&
        !source.file)
        log_line("model.unnamed", "{s:s}", "text",
                 "OPENAI_MODEL is not set: the endpoint is asked for a model "
                 "named \"default\", which most do not have");
    return loaded;
}

/* Also keys are in files. */
static void watch_models(const struct consumer *consumer)
{
    reloader_watch(consumer->reloader, consumer->settings.endpoint.file);
    for (size_t i = 0; i < consumer->endpoints.count; i++)
        reloader_watch(consumer->reloader,
                       consumer->endpoints.items[i]->key_file);
}

static void on_reloaded(void *owner)
{
    struct consumer *consumer = owner;
    struct err err;
    log_set_least((enum log_severity)consumer->settings.log_level);
    check_grace(&consumer->settings);
    if (load_models(consumer, &err))
        log_line("models.loaded", "{s:I}", "count",
                 (json_int_t)consumer->endpoints.count);
    else
        log_line("models.refused", "{s:s}", "why", err.text);
    watch_pages_learn(consumer);
    fleet_endpoints_read(fleet_endpoints(consumer->fleet));
    watch_models(consumer);
}

/* HUP */
static void reload(struct consumer *consumer)
{
    mcp_renew(consumer->mcp);
    reloader_run(consumer->reloader);
}

/* The last spans have been sent. */
static void on_traced(void *owner)
{
    struct consumer *consumer = owner;
    consumer->tracer = NULL;
    http_free(consumer->http, NULL, NULL);
}

static void consumer_leave(struct consumer *consumer)
{
    log_line("exit", "{s:s}", "name", consumer->name);
    for (size_t i = 0; i < consumer->settings.slots; i++)
        consumer->jobs->on_lost(consumer, i);
    struct partitions *partitions = consumer->partitions;
    consumer->partitions = NULL;
    watch_pages_close(consumer->watch_pages);
    executor_free(consumer->executor);
    mcp_stop(consumer->mcp);
    reloader_free(consumer->reloader);
    partitions_free(partitions);
    fleet_free(consumer->fleet);
    sentinel_free(consumer->sentinel);
    service_free(consumer->service);
    tracer_leave(consumer->tracer, on_traced, consumer);
}

static void on_redis_ready(void *owner)
{
    struct consumer *consumer = owner;
    static bool told;
    log_line("ready", "{s:s, s:s, s:I, s:I}", "name", consumer->name, "queues",
             consumer->settings.queues, "slots",
             (json_int_t)consumer->settings.slots, "partitions",
             (json_int_t)fleet_partitions(consumer->fleet));
    if (!told)
        service_ready(consumer->service);
    told = true;
}

static void on_redis_refused(void *owner, const struct err *why)
{
    struct consumer *consumer = owner;
    fprintf(stderr, "quern-consumer: Redis: %s\n", why->text);
    consumer->exit_code = EX_UNAVAILABLE;
    service_leave(consumer->service);
}

static void on_drain(void *owner, bool draining)
{
    const struct consumer *consumer = owner;
    service_set_draining(consumer->service, draining);
}

static void on_fleet_known(void *owner, size_t partitions)
{
    struct consumer *consumer = owner;
    struct partitions_events events = { .on_ready = on_redis_ready,
                                        .on_refused = on_redis_refused,
                                        .on_drain = on_drain };
    consumer->partitions = partitions_new(consumer, partitions,
                                          &consumer->redis, events, consumer);
}

static void on_switched(void *owner, const struct node *master)
{
    struct consumer *consumer = owner;
    log_line("redis.switched", "{s:s, s:I}", "host", master->host, "port",
             (json_int_t)master->port);
    partitions_switch(consumer->partitions, master);
    fleet_switch(consumer->fleet, master);
}

/* Without an executor nothing is claimed: what is taken would stay here. */
static void on_executor_state(void *owner)
{
    struct consumer *consumer = owner;
    struct executor_absence absence;
    watch_pages_heed_executor(consumer->watch_pages);
    if (executor_is_away(consumer->executor, &absence)) {
        log_line("claim.held", "{s:s, s:s, s:s, s:I}", "why",
                 "the executor is away", "reason", absence.word, "path",
                 consumer->settings.executor, "running",
                 (json_int_t)consumer->running);
        partitions_stop(consumer->partitions);
    } else {
        log_line("claim.resumed", "{s:s}", "path", consumer->settings.executor);
        partitions_wake(consumer->partitions);
    }
    partitions_report(consumer->partitions);
}

/* Makes the toolset of jobs that begin from now on. */
static bool equip(struct consumer *consumer, struct err *err)
{
    struct catalog all;
    catalog_copy(&all, &consumer->catalog);
    mcp_offer(consumer->mcp, &all);
    struct toolset *toolset = toolset_new(&all, err);
    if (!toolset)
        return false;
    toolset_drop(consumer->toolset);
    consumer->toolset = toolset;
    watch_pages_learn(consumer);
    return toolset_approve(toolset, consumer->settings.approval.tools,
                           consumer->mcp, err);
}

static void on_tools_changed(void *owner)
{
    struct err err;
    if (!equip(owner, &err))
        log_line("tools.refused", "{s:s}", "why", err.text);
}

/* Jobs that are taken before the servers have answered would miss tools. */
static void on_tools_settled(void *owner)
{
    fleet_open(((struct consumer *)owner)->fleet);
}

static void open_reloader(struct consumer *consumer)
{
    const struct reloader_place place = {
        .loop = consumer->loop,
        .table = &settings_table,
        .settings = &consumer->settings,
        .argv = consumer->argv,
        .every_ms = consumer->settings.reload_ms,
        .on_reloaded = on_reloaded,
        .owner = consumer,
    };
    consumer->reloader = reloader_new(&place);
    watch_models(consumer);
}

static void open_parts(struct consumer *consumer)
{
    struct mcp_events tools_events = { .changed = on_tools_changed,
                                       .settled = on_tools_settled };
    struct fleet_events events = { .on_known = on_fleet_known,
                                   .on_refused = on_redis_refused };
    struct service_events outside = { .on_exit = consumer_leave,
                                      .on_reload = reload };
    consumer->service = service_new(consumer, outside);
    consumer->fleet = fleet_new(consumer, &consumer->redis, events, consumer);
    consumer->executor =
        executor_new(consumer->loop, consumer->settings.executor);
    consumer->sentinel =
        sentinel_new(consumer->loop, &consumer->redis, "consumer-sentinel",
                     on_switched, consumer);
    executor_notify(consumer->executor, on_executor_state, consumer);
    executor_open(consumer->executor);
    open_reloader(consumer);
    mcp_start(consumer->mcp, &consumer->tool_host, tools_events, consumer);
}

static bool consumer_prepare(struct consumer *consumer, struct err *err)
{
    const struct consumer_settings *settings = &consumer->settings;
    make_name(consumer);
    check_grace(settings);
    log_set_worker(consumer->name);
    consumer->mcp = mcp_new();
    consumer->tool_host.reader = reader_find();
    if (!address_parse(&consumer->redis, view_of(settings->redis.url), err))
        return err_prefix(err, "REDIS_URL");
    address_set_sentinel_password(&consumer->redis,
                                  settings->redis.sentinel_password);
    if (!address_set_tls(&consumer->redis, &settings->redis.tls, err) ||
        !address_check_tls(&consumer->redis, err) ||
        !names_init(&consumer->names, settings->redis.prefix, err) ||
        !durability_parse(&consumer->durability,
                          view_of(settings->redis.durability), err) ||
        !consumer_check_name(consumer->name, err) ||
        !load_models(consumer, err) ||
        !prompts_load(&consumer->prompts, settings->prompts, err) ||
        !builtin_load(&consumer->catalog, settings,
                      consumer->tool_host.reader != NULL, err) ||
        !catalog_load(&consumer->catalog, settings->tools.file, err) ||
        !mcp_load(consumer->mcp, settings->tools.file, err) ||
        !equip(consumer, err) ||
        !watch_pages_open(consumer, &consumer->watch_pages, err))
        return false;
    consumer->slots = calloc(settings->slots, sizeof(struct attempt *));
    consumer->http = http_new(consumer->loop);
    consumer->tool_host.loop = consumer->loop;
    consumer->tool_host.http = consumer->http;
    consumer->tool_host.cache = cache_new(settings->search.cache_bytes);
    if (!consumer->slots || !consumer->http)
        abort();
    consumer->tracer = tracer_new(consumer->loop, consumer->http,
                                  &settings->trace, consumer->name);
    return true;
}

static void consumer_serve(struct consumer *consumer)
{
    struct err err;
    uv_prepare_t turn;
    log_gather(consumer->loop, &turn);
    if (consumer_prepare(consumer, &err)) {
        open_parts(consumer);
    } else {
        fprintf(stderr, "quern-consumer: %s\n", err.text);
        consumer->exit_code = EX_USAGE;
    }
    uv_run(consumer->loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&turn, NULL);
    uv_run(consumer->loop, UV_RUN_DEFAULT);
    address_finish(&consumer->redis);
    endpoints_finish(&consumer->endpoints);
    toolset_drop(consumer->toolset);
    catalog_finish(&consumer->catalog);
    mcp_free(consumer->mcp);
    prompts_finish(&consumer->prompts);
    cache_free(consumer->tool_host.cache);
    free(consumer->tool_host.reader);
    free(consumer->slots);
}

int main(int argc, char **argv)
{
    uv_loop_t loop;
    struct consumer consumer = { .loop = &loop,
                                 .argv = argv,
                                 .jobs = &attempts,
                                 .exit_code = EX_OK,
                                 .stream_memory_left = CONSUMER_STREAM_BYTES };
    enum setting_request request;
    struct err err;
    (void)argc;
    if (!setting_load(&settings_table, &consumer.settings, argv, &request,
                      &err)) {
        fprintf(stderr, "quern-consumer: %s\n", err.text);
        consumer.exit_code = EX_USAGE;
    } else if (request != SETTING_RUN) {
        setting_print(&settings_table, request, QUERN_VERSION, stdout);
    } else {
        log_set_least((enum log_severity)consumer.settings.log_level);
        raise_file_limit();
        fit_slots(&consumer.settings);
        uv_loop_init(&loop);
        consumer_serve(&consumer);
        uv_loop_close(&loop);
    }
    setting_finish(&settings_table, &consumer.settings);
    return consumer.exit_code;
}
