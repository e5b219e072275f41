/* verb_replay.c - quern replay: does a recorded job again, and shows where it
 * differs.
 *
 * This room reads the jobs from Redis. What a conversation is, only the
 * consumer's room knows: so quern-replay does the rest. This process becomes it
 * by exec, and hands it each job as a file in memory. */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "producer/cli/cli.h"
#include "producer/client/quern_operate.h"
#include "producer/client/replay_program.h"
#include "schemas/message/buf.h"
#include "schemas/message/id.h"

struct replay_inputs {
    char paths[MAX_TEXTS][32];    /* of jobs that were read from Redis */
    const char *items[MAX_TEXTS]; /* paths of all, in order */
};

static bool replay_write_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t wrote = write(fd, text, size);

        if (wrote < 0 && errno != EINTR)
            return false;
        text += wrote > 0 ? wrote : 0;
        size -= wrote > 0 ? (size_t)wrote : 0;
    }
    return true;
}

static bool save(const char *path, const char *text, size_t size,
                 struct err *err)
{
    FILE *file = fopen(path, "we");
    bool ok = file && fwrite(text, 1, size, file) == size;

    if (file)
        ok = fclose(file) == 0 && ok;
    return ok || err_set(err, ERR_RETRY, "not_saved", "%s: %s", path,
                         strerror(errno));
}

/* Writes the text into a memfd, which stays open over exec: the path /dev/fd/N
 * then means the same file there. */
static bool keep_in_memory(const char *text, size_t size, char path[32],
                           struct err *err)
{
    int fd = memfd_create("recording", 0);

    if (fd < 0 || !replay_write_all(fd, text, size) ||
        lseek(fd, 0, SEEK_SET) < 0)
        return err_set(err, ERR_RETRY, "not_saved",
                       "cannot keep the recording in memory: %s",
                       strerror(errno));
    snprintf(path, 32, "/dev/fd/%d", fd);
    return true;
}

static bool open_redis(struct app *app, struct quern_error *error)
{
    const struct quern_options options = {
        .url = app->options.redis_url,
        .prefix = app->options.prefix,
        .role = "cli",
    };

    if (!app->quern)
        app->quern = quern_open(&options, error);
    return app->quern;
}

/* Reads the job's recording, saves it where --save says, and keeps it in memory
 * under *path. Gives an exit status. */
static int record(struct app *app, const char *id, char path[32])
{
    CLEANUP(cleanup_free) char *text = NULL;
    struct quern_error error;
    struct err err;
    size_t size;

    if (!open_redis(app, &error) ||
        !quern_record(app->quern, id, &text, &size, &error))
        return app_fail(app, &error);
    if ((app->options.replay.save &&
         !save(app->options.replay.save, text, size, &err)) ||
        !keep_in_memory(text, size, path, &err))
        return app_fail_err(app, &err);
    return EXIT_DONE;
}

static int become(struct app *app, const struct replay_inputs *inputs,
                  int count)
{
    const char *argv[MAX_TEXTS + 6];
    char path[PATH_MAX];
    struct err err;
    int n = 0;

    replay_program_find(path);
    argv[n++] = "quern-replay";
    if (app->options.json)
        argv[n++] = "--json";
    if (app->options.replay.prompts) {
        argv[n++] = "--prompts";
        argv[n++] = app->options.replay.prompts;
    }
    argv[n++] = "--";
    for (int i = 0; i < count; i++)
        argv[n++] = inputs->items[i];
    argv[n] = NULL;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): exec changes none of them */
    execvp(path, (char *const *)(uintptr_t)argv);
    err_set(&err, ERR_REJECT, "bad_setting",
            "cannot run %s: %s; it comes with quern-consumer, and is "
            "installed beside quern",
            path, strerror(errno));
    return app_fail_err(app, &err);
}

/* A word that is a job id is read from Redis, any other word is a file. */
int verb_replay(struct app *app)
{
    int count = app->options.word_count;
    struct replay_inputs inputs;
    struct err err;

    for (int i = 0; i < count; i++) {
        const char *word = app->options.words[i];
        bool is_job = id_parse(view_of(word), NULL);

        inputs.items[i] = is_job ? inputs.paths[i] : word;
        if (app->options.replay.save && (!is_job || count > 1)) {
            err_set(&err, ERR_REJECT, "bad_setting",
                    "--save needs exactly one job, named by its id");
            return app_fail_err(app, &err);
        }
        int code = is_job ? record(app, word, inputs.paths[i]) : EXIT_DONE;

        if (code != EXIT_DONE)
            return code;
    }
    return become(app, &inputs, count);
}
