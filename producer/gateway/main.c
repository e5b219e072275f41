/* main.c - quern-gateway: puts the parts together and takes them apart. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sysexits.h>

#include "producer/gateway/access.h"
#include "producer/gateway/api_request.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/followers.h"
#include "producer/gateway/http/http_server.h"
#include "producer/gateway/http/http_tls.h"
#include "producer/gateway/numbers.h"
#include "producer/gateway/openai/left_jobs.h"
#include "producer/gateway/openai/model_list.h"
#include "producer/gateway/submits.h"
#include "producer/gateway/work.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"
#include "schemas/service/notify.h"
#include "schemas/service/reloader.h"

enum { SIGNALS = 3 };
static const int numbers[SIGNALS] = { SIGTERM, SIGINT, SIGHUP };

struct process {
    struct gateway gateway;
    uv_loop_t loop;
    uv_signal_t signals[SIGNALS];
    struct alarm *watchdog; /* of systemd */
    uint64_t watchdog_ms;
    struct reloader *reloader;
    char *const *argv;
    int exit_code;
};

/* A follower holds a connection. */
static void raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* ------------------------------------------------------------------ the end */

/* From the server, when nothing of it is left: the rest may go. */
static void on_drained(void *owner)
{
    struct process *process = owner;
    struct gateway *gateway = &process->gateway;

    log_line("exit", "{}");
    http_server_free(gateway->server);
    http_tls_free(gateway->tls);
    gateway->server = NULL;
    access_free(gateway->access);
    left_jobs_free(gateway->left_jobs);
    gateway->left_jobs = NULL; /* calls that are on their way end later */
    followers_free(gateway->followers);
    numbers_close(gateway->numbers);
    work_free(gateway->work);
    model_list_free(gateway->models);
    fleet_links_free(gateway->links);
    alarm_free(process->watchdog);
    reloader_free(process->reloader);
    for (size_t i = 0; i < SIGNALS; i++)
        uv_close((uv_handle_t *)&process->signals[i], NULL);
}

static void process_leave(struct process *process, uint64_t grace_ms)
{
    struct gateway *gateway = &process->gateway;

    if (gateway->draining)
        return;
    gateway->draining = true;
    notify_systemd("STOPPING=1");
    log_line("drain", "{s:I, s:I}", "connections",
             (json_int_t)http_server_connections(gateway->server), "ms",
             (json_int_t)grace_ms);
    http_server_drain(gateway->server, grace_ms, on_drained, process);
}

static bool load_tls(struct gateway *gateway, struct err *err)
{
    const struct gateway_settings *settings = &gateway->settings;
    const char *key =
        *settings->tls_key ? settings->tls_key : settings->tls_certificate;

    if (*settings->tls_certificate == '\0')
        return true;
    gateway->tls = http_tls_new(settings->tls_certificate, key, err);
    if (gateway->tls && *http_tls_warning(gateway->tls))
        log_line("tls.warning", "{s:s}", "why", http_tls_warning(gateway->tls));
    return gateway->tls;
}

/* Certificate and key may be new. Wrong ones change nothing. */
static void reload_tls(const struct gateway *gateway)
{
    struct err err = { 0 };

    if (!gateway->tls)
        return;
    if (http_tls_reload(gateway->tls, &err))
        log_line("tls.reloaded", "{s:s}", "warning",
                 http_tls_warning(gateway->tls));
    else
        log_line("tls.refused", "{s:s}", "why", err.text);
}

static void on_reloaded(void *owner)
{
    const struct process *process = owner;

    log_set_least((enum log_severity)process->gateway.settings.log_level);
    reload_tls(&process->gateway);
}

static void watch_files(struct process *process)
{
    const struct gateway_settings *settings = &process->gateway.settings;
    const struct reloader_place place = {
        .loop = &process->loop,
        .table = &gateway_settings_table,
        .settings = &process->gateway.settings,
        .argv = process->argv,
        .every_ms = settings->reload_ms,
        .on_reloaded = on_reloaded,
        .owner = process,
    };

    process->reloader = reloader_new(&place);
    reloader_watch(process->reloader, settings->tls_certificate);
    reloader_watch(process->reloader, settings->tls_key);
}

/* TERM: the first one drains, the second one ends at once: what Redis has is
 * kept. */
static void on_signal(uv_signal_t *handle, int number)
{
    struct process *process = handle->data;

    if (number == SIGHUP)
        reloader_run(process->reloader);
    else if (process->gateway.draining)
        exit(process->exit_code);
    else
        process_leave(process, process->gateway.settings.drain_ms);
}

/* ---------------------------------------------------------------- the start */

static void on_watchdog(void *owner)
{
    struct process *process = owner;

    notify_systemd("WATCHDOG=1");
    alarm_set(process->watchdog, process->watchdog_ms);
}

static void on_redis_ready(void *owner)
{
    struct process *process = owner;
    struct gateway *gateway = &process->gateway;

    log_line("ready", "{s:s, s:I}", "listen", gateway->settings.listen,
             "partitions", (json_int_t)fleet_links_partitions(gateway->links));
}

static void on_redis_refused(void *owner, const struct err *why)
{
    struct process *process = owner;

    fprintf(stderr, "quern-gateway: Redis: %s\n", why->text);
    process->exit_code = EX_UNAVAILABLE;
    process_leave(process, 0);
}

static void on_switched(void *owner, const struct node *master)
{
    const struct process *process = owner;

    followers_switch(process->gateway.followers, master);
    access_switch(process->gateway.access, master);
}

static bool listen_at(struct gateway *gateway, const struct listen_place *place,
                      struct err *err)
{
    uint16_t port = place->port;

    if (place->path[0] != '\0') {
        if (!http_server_listen_unix(gateway->server, place->path, err))
            return false;
        log_line("listening", "{s:s}", "path", place->path);
        return true;
    }
    if (gateway->tls ? !http_server_listen_tls(gateway->server, place->address,
                                               port, gateway->tls, &port, err)
                     : !http_server_listen_tcp(gateway->server, place->address,
                                               port, &port, err))
        return false;
    log_line("listening", "{s:s, s:I}", "address", place->address, "port",
             (json_int_t)port);
    return true;
}

static bool listen_everywhere(struct gateway *gateway, struct err *err)
{
    const char *list = gateway->settings.listen;
    struct listen_place place;
    struct err wrong = { 0 };

    while (listen_place_read(&list, &place, &wrong))
        if (!listen_at(gateway, &place, err))
            return false;
    return true;
}

static void open_server(struct gateway *gateway)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    struct http_handler handler = { .on_request = api_request_begin,
                                    .owner = gateway };

    limits.connections = (uint32_t)gateway->settings.connections;
    limits.connections_per_address =
        (uint32_t)gateway->settings.connections_per_address;
    limits.collected_bytes = (size_t)gateway->settings.body_bytes;
    gateway->server = http_server_new(gateway->loop, &limits, &handler);
}

static void open_parts(struct process *process)
{
    struct gateway *gateway = &process->gateway;
    struct fleet_links_events events = { .on_refused = on_redis_refused,
                                         .on_ready = on_redis_ready,
                                         .on_switched = on_switched };
    const struct fleet_place place = {
        .loop = gateway->loop,
        .redis = &gateway->redis,
        .names = &gateway->names,
        .redis_ms = gateway->settings.redis_ms,
        .role = "gateway",
    };
    struct err err;

    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < SIGNALS; i++) {
        uv_signal_init(gateway->loop, &process->signals[i]);
        process->signals[i].data = process;
        uv_signal_start(&process->signals[i], on_signal, numbers[i]);
    }
    process->watchdog = alarm_new(gateway->loop, on_watchdog, process);
    watch_files(process);
    gateway->links = fleet_links_new(&place, events, process);
    gateway->submits = submits_new(gateway);
    gateway->left_jobs = left_jobs_new(gateway);
    gateway->models = model_list_new();
    gateway->followers = followers_new(gateway);
    gateway->work = work_new(gateway);
    gateway->access = access_new(gateway);
    open_server(gateway);
    if (!load_tls(gateway, &err) || !listen_everywhere(gateway, &err) ||
        !numbers_open(gateway, &gateway->numbers, &err)) {
        fprintf(stderr, "quern-gateway: %s\n", err.text);
        process->exit_code = EX_UNAVAILABLE;
        process_leave(process, 0);
        return;
    }
    /* It serves, if only to say that Redis is away. */
    notify_systemd("READY=1");
    process->watchdog_ms = notify_watchdog_ms();
    if (process->watchdog_ms > 0)
        alarm_set(process->watchdog, process->watchdog_ms);
}

static bool process_prepare(struct gateway *gateway, struct err *err)
{
    const struct gateway_settings *settings = &gateway->settings;

    if (!address_parse(&gateway->redis, view_of(settings->redis_url), err))
        return err_prefix(err, "REDIS_URL");
    address_set_sentinel_password(&gateway->redis, settings->sentinel_password);
    return address_set_tls(&gateway->redis, &settings->redis_tls, err) &&
           address_check_tls(&gateway->redis, err) &&
           names_init(&gateway->names, settings->prefix, err) &&
           gateway_settings_check(settings, err);
}

static void process_serve(struct process *process)
{
    uv_prepare_t turn;

    uv_loop_init(&process->loop);
    process->gateway.loop = &process->loop;
    if (getrandom(&process->gateway.request_id, sizeof(uint64_t), 0) !=
        sizeof(uint64_t))
        abort();
    log_gather(&process->loop, &turn);
    open_parts(process);
    uv_run(&process->loop, UV_RUN_DEFAULT);
    submits_free(process->gateway.submits);
    uv_close((uv_handle_t *)&turn, NULL);
    uv_run(&process->loop, UV_RUN_DEFAULT);
    uv_loop_close(&process->loop);
}

int main(int argc, char **argv)
{
    struct process process = { .argv = argv, .exit_code = EX_OK };
    struct gateway *gateway = &process.gateway;
    enum setting_request request;
    struct err err;

    (void)argc;
    if (!setting_load(&gateway_settings_table, &gateway->settings, argv,
                      &request, &err) ||
        (request == SETTING_RUN && !process_prepare(gateway, &err))) {
        fprintf(stderr, "quern-gateway: %s\n", err.text);
        process.exit_code = EX_USAGE;
    } else if (request != SETTING_RUN) {
        setting_print(&gateway_settings_table, request, QUERN_VERSION, stdout);
    } else {
        log_set_least((enum log_severity)gateway->settings.log_level);
        raise_file_limit();
        process_serve(&process);
    }
    address_finish(&gateway->redis);
    setting_finish(&gateway_settings_table, &gateway->settings);
    return process.exit_code;
}
