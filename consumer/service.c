/* service.c - signals, drains and systemd. */
#include "consumer/service.h"

#include <signal.h>
#include <stdlib.h>
#include <sysexits.h>

#include "consumer/queue/jobs.h"
#include "consumer/queue/partition.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"
#include "schemas/service/notify.h"

/* How long the writes that hand jobs back may take, in so many alarms: after a
 * host stood still, answers of Redis are waiting, and a single alarm would ring
 * before the loop has read them. */
enum { HAND_BACK_MS = 5000, HAND_BACK_TURNS = 10 };
enum { DEPART_MS = 1000 }; /* how long Redis may take to delist the consumer */

static const int numbers[] = { SIGTERM, SIGINT, SIGTSTP, SIGHUP, SIGUSR1 };
enum { SIGNALS = sizeof(numbers) / sizeof(numbers[0]) };

struct service {
    struct consumer *consumer;
    struct service_events events;
    uv_signal_t signals[SIGNALS];
    size_t open;         /* signal handles that are not closed */
    struct alarm *drain; /* the next step of a drain, unless jobs end before */
    struct alarm *watchdog; /* of systemd */
    uint64_t watchdog_ms;   /* between two reports to it */
    unsigned int turns;     /* of HAND_BACK_TURNS, still to be waited */
    bool released;          /* jobs were handed back */
    bool exited;            /* on_exit was called */
    bool wished;   /* operators have drained the worker, and may take it back */
    bool departed; /* Redis was told that the consumer leaves, or is away */
    size_t departures; /* partitions that have not answered to that */
};

/* --------------------------------------------------------------- systemd */

static void on_watchdog(void *owner)
{
    struct service *service = owner;
    const struct consumer *consumer = service->consumer;
    if (partitions_are_well(consumer->partitions))
        notify_systemd("WATCHDOG=1");
    else
        log_line("claim.stuck", "{s:I}", "running",
                 (json_int_t)consumer->running);
    alarm_set(service->watchdog, service->watchdog_ms);
}

uint64_t service_leave_ms(const struct consumer_settings *settings)
{
    return settings->drain_ms + HAND_BACK_MS + DEPART_MS;
}

void service_ready(struct service *service)
{
    notify_systemd("READY=1");
    service->watchdog_ms = notify_watchdog_ms();
    if (service->watchdog_ms > 0)
        alarm_set(service->watchdog, service->watchdog_ms);
}

/* --------------------------------------------------------------- signals */

static void service_exit(struct service *service)
{
    if (service->exited)
        return;
    service->exited = true;
    service->events.on_exit(service->consumer);
}

static void on_departed(void *owner)
{
    struct service *service = owner;
    if (--service->departures == 0)
        alarm_set(service->drain, 0);
}

/* Leaves, after the fleet's list of workers has lost it. */
static void depart(struct service *service)
{
    if (service->departed) {
        service_exit(service);
        return;
    }
    service->departed = true;
    service->departures =
        partitions_depart(service->consumer->partitions, on_departed, service);
    if (service->departures == 0)
        service_exit(service);
    else
        alarm_set(service->drain, DEPART_MS);
}

/* Leaves when no job runs, and none can arrive any more. */
static void leave_if_done(struct service *service)
{
    struct consumer *consumer = service->consumer;
    if (consumer->running + consumer->coming > 0)
        return;
    if (partitions_are_over(consumer->partitions))
        service_leave(service);
    else
        partitions_stop(consumer->partitions);
}

static void hand_back(struct service *service)
{
    struct consumer *consumer = service->consumer;
    service->released = true;
    log_line("drain.release", "{s:I}", "running",
             (json_int_t)consumer->running);
    service->turns = HAND_BACK_TURNS;
    alarm_set(service->drain, HAND_BACK_MS / HAND_BACK_TURNS);
    for (size_t i = 0; i < consumer->settings.slots; i++)
        consumer->jobs->on_release(consumer, i);
    leave_if_done(service); /* if nothing runs, no end of a job will do this */
}

static void on_patience_end(void *owner)
{
    struct service *service = owner;
    if (!service->released)
        hand_back(service);
    else if (service->turns > 0 && --service->turns > 0)
        alarm_set(service->drain, HAND_BACK_MS / HAND_BACK_TURNS);
    else
        depart(service);
}

static void service_drain(struct service *service)
{
    struct consumer *consumer = service->consumer;
    if (consumer->mode == MODE_DRAINING) {
        hand_back(service);
        return;
    }
    consumer->mode = MODE_DRAINING;
    partitions_stop(consumer->partitions);
    /* After STOPPING systemd would not let the process go on, but this drain
     * may be taken back. */
    if (!service->wished)
        notify_systemd("STOPPING=1");
    log_line("drain", "{s:I, s:I}", "running", (json_int_t)consumer->running,
             "ms", (json_int_t)consumer->settings.drain_ms);
    alarm_set(service->drain, consumer->settings.drain_ms);
    leave_if_done(service);
}

static void dump(const struct consumer *consumer)
{
    static const char *const modes[] = { "serving", "quiet", "draining" };
    log_line("state", "{s:s, s:s, s:I, s:I, s:b, s:b}", "name", consumer->name,
             "mode", modes[consumer->mode], "running",
             (json_int_t)consumer->running, "slots",
             (json_int_t)consumer->settings.slots, "redis",
             partitions_are_ready(consumer->partitions), "executor",
             executor_is_ready(consumer->executor));
    for (size_t i = 0; i < consumer->settings.slots; i++)
        consumer->jobs->print(consumer, i);
}

static void quiet(struct consumer *consumer)
{
    if (consumer->mode != MODE_SERVING)
        return;
    consumer->mode = MODE_QUIET;
    partitions_stop(consumer->partitions);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct service *service = handle->data;
    struct consumer *consumer = service->consumer;
    switch (number) {
    case SIGTSTP:
        quiet(consumer);
        log_line("quiet", "{s:I}", "running", (json_int_t)consumer->running);
        break;
    case SIGHUP:
        service->events.on_reload(consumer);
        break;
    case SIGUSR1:
        dump(consumer);
        break;
    default:
        service_drain(service);
    }
}

static void begin_wished_drain(struct service *service)
{
    struct consumer *consumer = service->consumer;
    log_line("drain.wished", "{s:s, s:s}", "name", consumer->name, "text",
             "operators have drained this worker; quern worker resume takes "
             "that back");
    service->wished = true;
    consumer->exit_code = SERVICE_EXIT_DRAINED;
    service_drain(service);
}

static void end_wished_drain(struct service *service)
{
    struct consumer *consumer = service->consumer;
    log_line("drain.resumed", "{s:s}", "name", consumer->name);
    service->wished = false;
    consumer->exit_code = EX_OK;
    consumer->mode = MODE_SERVING;
    alarm_stop(service->drain);
    partitions_wake(consumer->partitions);
    partitions_report(consumer->partitions);
}

void service_set_draining(struct service *service, bool draining)
{
    const struct consumer *consumer = service->consumer;
    bool drains = consumer->mode == MODE_DRAINING;
    if (draining && !drains)
        begin_wished_drain(service);
    else if (!draining && drains && service->wished && !service->released)
        end_wished_drain(service);
}

/* From the loop: the caller may be a callback of what would be closed. */
void service_leave(struct service *service)
{
    service->released = true;
    service->turns = 0;
    alarm_set(service->drain, 0);
}

static void on_ended(struct consumer *consumer)
{
    partitions_wake(consumer->partitions);
    if (consumer->mode == MODE_DRAINING)
        leave_if_done(consumer->service);
}

struct service *service_new(struct consumer *consumer,
                            struct service_events events)
{
    struct service *service = calloc(1, sizeof(*service));
    if (!service)
        abort();
    service->consumer = consumer;
    consumer->on_ended = on_ended;
    service->events = events;
    service->drain = alarm_new(consumer->loop, on_patience_end, service);
    service->watchdog = alarm_new(consumer->loop, on_watchdog, service);
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < SIGNALS; i++) {
        uv_signal_init(consumer->loop, &service->signals[i]);
        service->signals[i].data = service;
        uv_signal_start(&service->signals[i], on_signal, numbers[i]);
        service->open++;
    }
    return service;
}

static void on_signal_closed(uv_handle_t *handle)
{
    struct service *service = handle->data;
    if (--service->open == 0)
        free(service);
}

void service_free(struct service *service)
{
    sigset_t set;
    if (!service)
        return;
    alarm_free(service->drain);
    alarm_free(service->watchdog);
    /* A further signal must not kill the process while it leaves: libuv takes
     * its handler off with the handle. */
    sigemptyset(&set);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaddset(&set, numbers[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (size_t i = 0; i < SIGNALS; i++) {
        uv_close((uv_handle_t *)&service->signals[i], on_signal_closed);
        signal(numbers[i], SIG_IGN); /* threads of curl have their own mask */
    }
}
