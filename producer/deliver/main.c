/* main.c - quern-deliverer: puts the parts together and takes them apart. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "producer/deliver/deliverer.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"
#include "schemas/service/notify.h"
#include "schemas/service/reloader.h"

enum { SIGNALS = 3 };
static const int numbers[SIGNALS] = { SIGTERM, SIGINT, SIGHUP };

struct deliver_process {
    struct deliver_settings settings;
    struct address redis;
    struct names names;
    uv_loop_t loop;
    uv_signal_t signals[SIGNALS];
    struct alarm *watchdog; /* of systemd */
    uint64_t watchdog_ms;
    struct reloader *reloader;
    char *const *argv;
    struct fleet_links *links;
    struct deliverer *deliverer;
    bool leaving;
    int exit_code;
};

static void on_drained(void *owner)
{
    struct deliver_process *process = owner;

    log_line("exit", "{}");
    deliverer_close(process->deliverer);
    fleet_links_free(process->links);
    alarm_free(process->watchdog);
    reloader_free(process->reloader);
    for (size_t i = 0; i < SIGNALS; i++)
        uv_close((uv_handle_t *)&process->signals[i], NULL);
}

static void leave(struct deliver_process *process, uint64_t grace_ms)
{
    if (process->leaving)
        return;
    process->leaving = true;
    notify_systemd("STOPPING=1");
    log_line("drain", "{s:I, s:I}", "deliveries",
             (json_int_t)deliverer_requests(process->deliverer), "ms",
             (json_int_t)grace_ms);
    deliverer_drain(process->deliverer, grace_ms, on_drained, process);
}

/* TERM: the first one drains, the second one ends at once: another deliverer
 * makes again what is not settled. */
static void on_signal(uv_signal_t *handle, int number)
{
    struct deliver_process *process = handle->data;

    if (number == SIGHUP)
        reloader_run(process->reloader);
    else if (process->leaving)
        exit(process->exit_code);
    else
        leave(process, process->settings.drain_ms);
}

static void on_reloaded(void *owner)
{
    const struct deliver_process *process = owner;

    log_set_least((enum log_severity)process->settings.log_level);
}

static void on_watchdog(void *owner)
{
    struct deliver_process *process = owner;

    notify_systemd("WATCHDOG=1");
    alarm_set(process->watchdog, process->watchdog_ms);
}

static void on_ready(void *owner)
{
    const struct deliver_process *process = owner;

    log_line("ready", "{s:I}", "partitions",
             (json_int_t)fleet_links_partitions(process->links));
}

static void on_refused(void *owner, const struct err *why)
{
    struct deliver_process *process = owner;

    fprintf(stderr, "quern-deliverer: Redis: %s\n", why->text);
    process->exit_code = EX_UNAVAILABLE;
    leave(process, 0);
}

static void on_switched(void *owner, const struct node *master)
{
    (void)owner;
    (void)master; /* the links have heeded it */
}

static bool prepare(struct deliver_process *process, struct err *err)
{
    const struct deliver_settings *settings = &process->settings;

    if (!address_parse(&process->redis, view_of(settings->redis_url), err))
        return err_prefix(err, "REDIS_URL");
    address_set_sentinel_password(&process->redis, settings->sentinel_password);
    return address_set_tls(&process->redis, &settings->redis_tls, err) &&
           address_check_tls(&process->redis, err) &&
           names_init(&process->names, settings->prefix, err);
}

static void deliver_open(struct deliver_process *process)
{
    const struct fleet_links_events events = { .on_refused = on_refused,
                                               .on_ready = on_ready,
                                               .on_switched = on_switched };
    const struct fleet_place place = {
        .loop = &process->loop,
        .redis = &process->redis,
        .names = &process->names,
        .redis_ms = process->settings.redis_ms,
        .role = "deliverer",
    };

    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < SIGNALS; i++) {
        uv_signal_init(&process->loop, &process->signals[i]);
        process->signals[i].data = process;
        uv_signal_start(&process->signals[i], on_signal, numbers[i]);
    }
    process->watchdog = alarm_new(&process->loop, on_watchdog, process);
    const struct reloader_place reload = {
        .loop = &process->loop,
        .table = &deliver_settings_table,
        .settings = &process->settings,
        .argv = process->argv,
        .every_ms = process->settings.reload_ms,
        .on_reloaded = on_reloaded,
        .owner = process,
    };
    process->reloader = reloader_new(&reload);
    process->deliverer = deliverer_new(&place, &process->settings);
    if (!process->deliverer)
        abort(); /* curl has no memory */
    process->links = fleet_links_new(&place, events, process);
    deliverer_start(process->deliverer, process->links);
    notify_systemd("READY=1");
    process->watchdog_ms = notify_watchdog_ms();
    if (process->watchdog_ms > 0)
        alarm_set(process->watchdog, process->watchdog_ms);
}

static void serve(struct deliver_process *process)
{
    uv_prepare_t turn;

    uv_loop_init(&process->loop);
    log_gather(&process->loop, &turn);
    deliver_open(process);
    uv_run(&process->loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&turn, NULL);
    uv_run(&process->loop, UV_RUN_DEFAULT);
    uv_loop_close(&process->loop);
    deliverer_free(process->deliverer);
}

int main(int argc, char **argv)
{
    struct deliver_process process = { .argv = argv, .exit_code = EX_OK };
    enum setting_request request;
    struct err err;

    (void)argc;
    if (!setting_load(&deliver_settings_table, &process.settings, argv,
                      &request, &err) ||
        (request == SETTING_RUN && !prepare(&process, &err))) {
        fprintf(stderr, "quern-deliverer: %s\n", err.text);
        process.exit_code = EX_USAGE;
    } else if (request != SETTING_RUN) {
        setting_print(&deliver_settings_table, request, QUERN_VERSION, stdout);
    } else {
        log_set_least((enum log_severity)process.settings.log_level);
        serve(&process);
    }
    address_finish(&process.redis);
    setting_finish(&deliver_settings_table, &process.settings);
    return process.exit_code;
}
