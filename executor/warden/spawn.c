/* spawn.c - starts a program of ours. */
#include "executor/warden/spawn.h"

#include <stdlib.h>
#include <unistd.h>

#include "executor/warden/log.h"
#include "executor/warden/loop.h"

struct spawned {
    uv_process_t process;
    void (*on_end)(void *owner);
    void *owner;
};

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_exit_status(uv_process_t *process, int64_t status, int signal)
{
    struct spawned *spawned = process->data;
    (void)status;
    (void)signal;
    if (spawned->on_end)
        spawned->on_end(spawned->owner);
    uv_close((uv_handle_t *)process, on_closed);
}

bool spawn(uv_loop_t *loop, char **argv, int channel,
           void (*on_end)(void *owner), void *owner)
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
    uv_stdio_container_t stdio[] = {
        { .flags = UV_IGNORE },
        { .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
        { .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
        { .flags = UV_INHERIT_FD, .data.fd = channel },
    };
    uv_process_options_t options = {
        .file = argv[0],
        .args = argv,
        .env = environment,
        .exit_cb = on_exit_status,
        .stdio = stdio,
        .stdio_count = sizeof(stdio) / sizeof(stdio[0]),
    };
    struct spawned *spawned = allocate(sizeof(*spawned));
    spawned->on_end = on_end;
    spawned->owner = owner;
    spawned->process.data = spawned;
    int failed = uv_spawn(loop, &spawned->process, &options);
    if (failed == 0)
        return true;
    log_line("spawn.failed", argv[0], "%s", uv_strerror(failed));
    uv_close((uv_handle_t *)&spawned->process, on_closed);
    return false;
}
