/* spawn.c - starts a program of ours.
 *
 * No environment of the warden's: it may hold secrets, and sessions are forks
 * of these programs. */
#include "executor/warden/spawn.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executor/base/log.h"
#include "executor/base/loop.h"

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

/* libuv has waited for it. */
static void on_exit_status(uv_process_t *process, int64_t status, int signal)
{
    (void)status;
    (void)signal;
    uv_close((uv_handle_t *)process, on_closed);
}

int spawn_with(uv_loop_t *loop, const char *const *argv, int channel,
               char **environment)
{
    uv_stdio_container_t stdio[] = {
        { .flags = UV_IGNORE },
        { .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
        { .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
        { .flags = UV_INHERIT_FD, .data.fd = channel },
    };
    uv_process_options_t options = {
        .file = argv[0],
        .env = environment,
        .exit_cb = on_exit_status,
        .stdio = stdio,
        .stdio_count = sizeof(stdio) / sizeof(stdio[0]),
    };
    memcpy(&options.args, &argv, sizeof(argv)); /* libuv only reads them */
    uv_process_t *process = allocate(sizeof(*process));
    int failed = uv_spawn(loop, process, &options);
    if (failed == 0)
        return process->pid;
    log_line("spawn.failed", argv[0], "%s", uv_strerror(failed));
    uv_close((uv_handle_t *)process, on_closed);
    return -1;
}

int spawn(uv_loop_t *loop, char **argv, int channel)
{
    char *environment[] = { NULL, NULL };
#ifdef QUERN_TESTING
    char left_out[64];
    if (getenv("QUERN_WITHOUT_WALL")) {
        snprintf(left_out, sizeof(left_out), "QUERN_WITHOUT_WALL=%s",
                 getenv("QUERN_WITHOUT_WALL"));
        environment[0] = left_out;
    }
#endif
    return spawn_with(loop, (const char *const *)argv, channel, environment);
}
