/* main.c - quern-executor: the warden of the sessions' boxes.
 *
 * It starts in this order: socket, cgroups, user ids and devices, which need
 * rights; then it becomes an ordinary user for good; then boxes, pool and
 * self-test. Only when that has passed, consumers are answered. SIGTERM and
 * SIGINT end every session and then the executor. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#include "executor/base/log.h"
#include "executor/box/landlock.h"
#include "executor/box/walls.h"
#include "executor/warden/devices.h"
#include "executor/warden/isolation.h"
#include "executor/warden/numbers.h"
#include "executor/warden/selftest.h"
#include "executor/warden/server.h"
#include "executor/warden/socket.h"
#include "schemas/service/log_event.h"

enum {
    SETTLE_MS = 2000, /* at the end, for what was killed to be gone */
    SIGNALS = 3,
    SESSION_FDS = 19, /* with its box and its snapshot */
    OWN_FDS = 160,    /* connections, boxes that are empty, and the rest */
    OWN_BOXES = 8,    /* that are empty or ending */
};

static const int numbers[SIGNALS] = { SIGTERM, SIGINT, SIGHUP };

struct warden {
    uv_loop_t loop;
    struct executor_settings settings;
    char *const *argv; /* that they come from */
    struct sessions sessions;
    struct cgroups *cgroups;
    struct users *users;
    struct server *server;
    struct selftest *selftest;
    uv_signal_t signals[SIGNALS];
    uv_timer_t watchdog;
    char isolation[ISOLATION_BYTES];
    struct lack lacks[MAX_LACKS];
    struct pair advice[MAX_LACKS]; /* the same, as it is told */
    size_t lack_count;
    int listener; /* until the server has it */
    int status;   /* what the process ends with */
};

static void warden_stop(struct warden *warden, int status)
{
    warden->status = status;
    uv_stop(&warden->loop);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct warden *warden = handle->data;
    if (number == SIGHUP) {
        settings_reload(&warden->settings, warden->argv);
        return;
    }
    notify("STOPPING=1");
    warden_stop(warden, EX_OK);
}

static void on_watchdog(uv_timer_t *timer)
{
    (void)timer;
    notify("WATCHDOG=1");
}

static void warden_serve(struct warden *warden)
{
    struct err err;
    uint64_t watchdog_ms = notify_watchdog_ms();
    int listener = warden->listener;
    const struct zygote *zygote =
        pool_zygote(warden->sessions.pool, warden->settings.profile);
    const struct frame welcome = {
        .type = FRAME_WELCOME,
        .isolation = view_of(warden->isolation),
        .lacks = { warden->advice, warden->lack_count },
        .libraries = view_of(zygote_libraries(zygote)),
        .version = VIEW(QUERN_VERSION),
        .counts = true,
    };
    warden->listener = -1;
    warden->server = server_new(&warden->sessions, listener, &welcome, &err);
    if (!warden->server) {
        log_line("executor.failed", NULL, "%s", err.text);
        warden_stop(warden, EX_UNAVAILABLE);
        return;
    }
    log_line("executor.ready", warden->settings.socket_path, "%s",
             warden->isolation);
    notify("READY=1");
    if (watchdog_ms > 0)
        uv_timer_start(&warden->watchdog, on_watchdog, watchdog_ms,
                       watchdog_ms);
}

/* What is missing that the operator demands; NULL: nothing. */
static const struct lack *look_at_walls(struct warden *warden)
{
    struct walls walls = {
        .landlock = landlock_abi(),
        .proc = boxes_have_proc(warden->sessions.boxes),
        .host = boxes_host_parts(warden->sessions.boxes),
        .cgroups = warden->cgroups,
        .users = warden->users,
    };
    const struct lack *demanded = NULL;
    isolation_count(&warden->settings, &walls);
    isolation_describe(&warden->settings, &walls, warden->isolation);
    warden->lack_count =
        isolation_lacks(&warden->settings, &walls, warden->lacks);
    for (size_t i = warden->lack_count; i-- > 0;) {
        const struct lack *lack = &warden->lacks[i];
        warden->advice[i] =
            (struct pair){ view_of(lack->what), view_of(lack->remedy) };
        if (lack->level <= warden->settings.level)
            demanded = lack;
    }
    return demanded;
}

static void on_selftest(void *owner, const struct err *err)
{
    struct warden *warden = owner;
    metrics_declare(warden_numbers, WARDEN_NUMBERS);
    const struct lack *demanded = err ? NULL : look_at_walls(warden);
    if (err) {
        isolation_explain(err);
        warden_stop(warden, EX_UNAVAILABLE);
    } else if (demanded) {
        fprintf(stderr,
                "quern-executor: fewer walls than demanded: %s\n    %s\n",
                demanded->what, demanded->remedy);
        warden_stop(warden, EX_UNAVAILABLE);
    } else if (warden->settings.check) {
        printf("level: %s\n%s\n",
               isolation_level(&warden->settings, warden->lacks,
                               warden->lack_count),
               warden->isolation);
        for (size_t i = 0; i < warden->lack_count; i++)
            printf("  %s\n    %s\n", warden->lacks[i].what,
                   warden->lacks[i].remedy);
        warden_stop(warden, EX_OK);
    } else {
        warden_serve(warden);
    }
}

/* No more sessions than there are descriptors for: one for which there are
 * none would not be refused, but wait. */
static void fit_descriptors(struct executor_settings *settings)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    uint64_t each = SESSION_FDS + (settings->hosts != NULL);
    uint64_t own = OWN_FDS + settings->ready * each;
    uint64_t most = files.rlim_cur > own ? (files.rlim_cur - own) / each : 0;
    if (settings->sessions <= most)
        return;
    settings->sessions = most > 0 ? most : 1;
    log_line("executor.fewer", NULL,
             "%llu sessions at once: the limit of open files is %llu",
             (unsigned long long)settings->sessions,
             (unsigned long long)files.rlim_cur);
}

/* Nor than there are user ids for, each box having one. */
static void fit_users(struct executor_settings *settings,
                      const struct users *users)
{
    uint64_t own = OWN_BOXES + settings->ready;
    uint64_t count = users_count(users);
    if (count == 0 || settings->sessions + own <= count)
        return;
    settings->sessions = count > own ? count - own : 1;
    log_line("executor.fewer", NULL,
             "%llu sessions at once: there are %llu user ids for boxes",
             (unsigned long long)settings->sessions, (unsigned long long)count);
}

/* Everything that needs rights comes before user_drop(), and everything that
 * reads what others send comes after it. */
static bool warden_prepare(struct warden *warden, struct err *err)
{
    struct executor_settings *settings = &warden->settings;
    struct user_ids ids = { 0 };
    log_set_least((enum log_severity)settings->log_level);
    if (!user_find(settings, &ids, err))
        return false;
    if (!settings->check) {
        warden->listener = socket_bind(settings, ids, err);
        if (warden->listener < 0)
            return false;
    }
    if (settings->cgroups && !settings->insecure && !settings->outer)
        warden->cgroups = cgroups_new(ids.uid, ids.gid);
    if (!users_open(&warden->users, settings, ids, err))
        return false;
    devices_make(warden->users);
    if (!user_drop(ids, err) ||
        (!settings->insecure && !user_can_run(settings->box_path, err)) ||
        !user_can_run(settings->guest_path, err))
        return false;
    fit_users(settings, warden->users);
    uv_loop_init(&warden->loop);
    warden->sessions.packages = packages_open(&warden->loop, settings, err);
    return warden->sessions.packages || err->kind == ERR_NONE;
}

static void begin_selftest(struct warden *warden)
{
    warden->selftest = selftest_new(&warden->sessions, warden->settings.check,
                                    on_selftest, warden);
}

static void on_tried(void *owner, bool works, const char *text)
{
    struct warden *warden = owner;
    if (works) {
        begin_selftest(warden);
        return;
    }
    fprintf(stderr, "quern-executor: packages cannot be installed: %s\n", text);
    warden_stop(warden, EX_UNAVAILABLE);
}

static void warden_start(struct warden *warden)
{
    uv_loop_t *loop = &warden->loop;
    for (size_t i = 0; i < SIGNALS; i++) {
        uv_signal_init(loop, &warden->signals[i]);
        warden->signals[i].data = warden;
        uv_signal_start(&warden->signals[i], on_signal, numbers[i]);
    }
    uv_timer_init(loop, &warden->watchdog);
    struct packages *packages = warden->sessions.packages;
    warden->sessions = (struct sessions){
        .loop = loop,
        .settings = &warden->settings,
        .boxes = boxes_new(loop, &warden->settings, warden->cgroups, packages,
                           warden->users),
        .packages = packages,
    };
    sessions_name(&warden->sessions);
    warden->sessions.pool =
        pool_new(loop, &warden->settings, warden->sessions.boxes);
    if (packages)
        packages_try(packages, on_tried, warden);
    else
        begin_selftest(warden);
}

/* Waits for what was killed, but not for ever: what is left ends when its
 * channel closes, as we end. */
static void warden_settle(uv_loop_t *loop, const struct boxes *boxes)
{
    for (int i = 0; i < SETTLE_MS && uv_run(loop, UV_RUN_NOWAIT); i++) {
        if (boxes && !boxes_are_dying(boxes))
            return;
        usleep(1000);
    }
}

/* One more signal changes nothing from now on; without this it would kill us as
 * soon as libuv has let go of it, with cgroups and sockets left behind. */
static void ignore_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaddset(&set, numbers[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

/* In the reverse order of what holds what: connections use sessions, these use
 * the pool, which uses boxes, which use cgroups and user ids. */
static void warden_finish(struct warden *warden)
{
    ignore_signals();
    server_free(warden->server);
    selftest_free(warden->selftest);
    sessions_finish(&warden->sessions);
    pool_close(warden->sessions.pool);
    warden_settle(&warden->loop, warden->sessions.boxes);
    pool_free(warden->sessions.pool);
    boxes_free(warden->sessions.boxes);
    packages_close(warden->sessions.packages);
    for (size_t i = 0; i < SIGNALS; i++)
        uv_close((uv_handle_t *)&warden->signals[i], NULL);
    uv_close((uv_handle_t *)&warden->watchdog, NULL);
    warden_settle(&warden->loop, NULL);
    cgroups_free(warden->cgroups);
    users_free(warden->users);
    metrics_finish();
    uv_loop_close(&warden->loop);
    if (warden->listener >= 0)
        close(warden->listener);
    if (!warden->settings.check)
        unlink(warden->settings.socket_path);
}

int main(int argc, char **argv)
{
    struct warden warden = { .listener = -1, .argv = argv };
    struct err err;
    int status = EX_OK;
    (void)argc;
    if (!settings_read(&warden.settings, argv, &status)) {
        settings_finish(&warden.settings);
        return status;
    }
    signal(SIGPIPE, SIG_IGN);
    fit_descriptors(&warden.settings);
    if (!warden_prepare(&warden, &err)) {
        fprintf(stderr, "quern-executor: %s\n", err.text);
        cgroups_free(warden.cgroups);
        users_free(warden.users);
        settings_finish(&warden.settings);
        return EX_UNAVAILABLE;
    }
    /* Other processes of our user must not trace us or look into our memory. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    /* Interpreters become our children when their zygote is gone. */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    warden_start(&warden);
    uv_run(&warden.loop, UV_RUN_DEFAULT);
    warden_finish(&warden);
    settings_finish(&warden.settings);
    return warden.status;
}
