/* replay.c - GET /v1/jobs/{id}/replay: whether a job would go the same way
 * today, as `quern replay` says.
 *
 *   thread: recording from Redis --> quern-replay --json - --> its one line
 *
 * What a conversation is, only the consumer's room knows; quern-replay comes
 * from there. It reads what models have written, so it runs as a process of its
 * own, with no variables but the operator's prompts, for at most REPLAY_MS and
 * as long as it says no more than MOST_SAID; one at a time. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "producer/client/fleet.h"
#include "producer/client/quern_operate.h"
#include "producer/client/replay_program.h"
#include "producer/gateway/native/api_job.h"
#include "producer/gateway/native/native.h"
#include "schemas/message/buf.h"

enum {
    REPLAY_MS = 5000,
    MOST_SAID = 16 << 20,
    MOST_DIFF = 64 << 10,
};

/* What the thread reads and writes. */
struct replay_state {
    char id[ID_LEN + 1];
    struct quern_error error;
    struct gateway *gateway;
    bool known;        /* the job was recorded; else error */
    struct err failed; /* of what comes then */
    json_t *said;      /* what quern-replay has said; NULL: nothing */
};

static void replay_free(void *state)
{
    struct replay_state *replay = state;

    replay->gateway->is_replaying = false;
    json_decref(replay->said);
    free(replay);
}

/* ------------------------------------------------------------- in a thread */

/* A file in memory that has the text, at its beginning; -1: errno. */
static int file_of(const char *text, size_t size)
{
    int fd = memfd_create("recording", MFD_CLOEXEC);

    while (fd >= 0 && size > 0) {
        ssize_t wrote = write(fd, text, size);

        if (wrote < 0 && errno != EINTR) {
            close(fd);
            return -1;
        }
        text += wrote > 0 ? wrote : 0;
        size -= wrote > 0 ? (size_t)wrote : 0;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

/* input and output: its standard ones. False: errno. */
static bool start(pid_t *child, int input, int output)
{
    char program[PATH_MAX], prompts[PATH_MAX + 16] = "QUERN_PROMPTS=";
    char name[] = "quern-replay", json[] = "--json", file[] = "-";
    char *const argv[] = { name, json, file, NULL };
    const char *folder = getenv("QUERN_PROMPTS");
    char *const env[] = { folder ? prompts : NULL, NULL };
    const struct rlimit most = { REPLAY_MS / 1000, REPLAY_MS / 1000 };
    posix_spawn_file_actions_t actions;

    replay_program_find(program);
    if (folder)
        snprintf(prompts, sizeof(prompts), "QUERN_PROMPTS=%s", folder);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    errno = posix_spawnp(child, program, &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    if (errno != 0)
        return false;
    prlimit(*child, RLIMIT_CPU, &most, NULL); /* also when we are killed */
    return true;
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* All that it says, until it ends. */
static bool hear(int output, struct buf *said, struct err *err)
{
    uint64_t until = now_ms() + REPLAY_MS, now;
    struct pollfd polled = { .fd = output, .events = POLLIN };
    char piece[16384];

    while ((now = now_ms()) < until && buf_ok(said)) {
        ssize_t got;

        if (poll(&polled, 1, (int)(until - now)) <= 0)
            continue;
        got = read(output, piece, sizeof(piece));
        if (got == 0)
            return true;
        if (got > 0)
            buf_append(said, piece, (size_t)got);
    }
    return buf_ok(said)
               ? err_set(err, ERR_REJECT, "too_slow",
                         "the replay took more than %d s", REPLAY_MS / 1000)
               : err_set(err, ERR_REJECT, "too_large",
                         "the verdict has more than %d bytes", MOST_SAID);
}

static bool judge(const char *text, size_t size, struct buf *said,
                  struct err *err)
{
    int ends[2] = { -1, -1 }, input = file_of(text, size), status;
    bool started, good;
    pid_t child = 0;

    started = input >= 0 && pipe2(ends, O_CLOEXEC) == 0 &&
              start(&child, input, ends[1]);
    good = started ||
           err_set(err, ERR_RETRY, "internal",
                   "cannot run quern-replay, which comes with quern-consumer "
                   "and is installed beside quern-gateway: %s",
                   strerror(errno));
    if (input >= 0)
        close(input);
    if (ends[1] >= 0)
        close(ends[1]);
    if (started) {
        good = hear(ends[0], said, err);
        kill(child, SIGKILL); /* it has ended, or must */
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    }
    if (ends[0] >= 0)
        close(ends[0]);
    return good;
}

/* Both sides are in Redis and in the diff, of which the beginning is enough. */
static json_t *verdict_of(struct view line)
{
    json_t *said = json_loadb(line.len > 0 ? line.data : "", line.len, 0, NULL);
    json_t *difference = json_object_get(said, "first_difference");
    const char *diff = json_string_value(json_object_get(difference, "diff"));

    json_object_del(difference, "recorded");
    json_object_del(difference, "replayed");
    if (diff && strlen(diff) > MOST_DIFF) {
        struct view head = view_head(view_of(diff), MOST_DIFF);

        json_object_set_new(difference, "diff",
                            json_stringn(head.data, head.len));
    }
    return said;
}

static void replay_run(void *state, struct quern *quern)
{
    CLEANUP(buf_finish) struct buf said = { .max = MOST_SAID };
    struct replay_state *replay = state;
    char *text = NULL;
    size_t size;

    replay->known =
        quern_record(quern, replay->id, &text, &size, &replay->error);
    if (replay->known && judge(text, size, &said, &replay->failed))
        replay->said = verdict_of(buf_view(&said));
    free(text);
}

/* -------------------------------------------------------------- on the loop */

static void refuse_said(struct api_request *request, const json_t *said)
{
    const json_t *error = json_object_get(said, "error");
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *message = json_string_value(json_object_get(error, "message"));
    struct err err;

    err_set(&err, ERR_REJECT, code ? code : "internal", "%s",
            message ? message : "quern-replay has ended without a verdict");
    api_request_refuse_as(request, code ? 400 : 500, &err, 0);
}

static void replay_done(struct api_request *request)
{
    struct replay_state *replay = request->state;

    if (!replay->known)
        api_request_refuse_error(request, &replay->error);
    else if (replay->failed.kind != ERR_NONE)
        api_request_refuse(request, &replay->failed);
    else if (json_is_boolean(json_object_get(replay->said, "equal")))
        api_request_json(request, 200, json_incref(replay->said));
    else
        refuse_said(request, replay->said);
}

static void replay_found(struct api_request *request, const redisReply *facts)
{
    struct replay_state *replay;
    struct err err;

    (void)facts;
    if (request->gateway->is_replaying) {
        err_set(&err, ERR_RETRY, "work_full",
                "another job is replayed just now: one at a time");
        api_request_refuse(request, &err);
        return;
    }
    replay = calloc(1, sizeof(*replay));
    if (!replay)
        abort();
    replay->gateway = request->gateway;
    replay->gateway->is_replaying = true;
    view_copy(replay->id, sizeof(replay->id), request->params[0]);
    request->state = replay;
    request->state_free = replay_free;
    api_request_work(request, replay_run, replay_done);
}

void replay_job(struct api_request *request)
{
    api_job_load(request, replay_found);
}
