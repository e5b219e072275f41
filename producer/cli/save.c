/* save.c - saves images and files of a job; save.h says what their names may
 * do. */
#include "producer/cli/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "producer/cli/cli.h"
#include "schemas/message/glyph.h"
#include "schemas/message/job.h"

enum { MAX_COPIES = 999 };

static bool is_saved(const struct saver *saver, struct view name,
                     struct view sha256)
{
    for (size_t i = 0; i < saver->count; i++)
        if (view_is(name, saver->saved[i].name) &&
            view_is(sha256, saver->saved[i].sha256))
            return true;
    return false;
}

static void saver_remember(struct saver *saver, struct view name,
                           struct view sha256)
{
    struct saved_file *saved = &saver->saved[saver->count];

    if (saver->count == sizeof(saver->saved) / sizeof(saver->saved[0]))
        return; /* then it is fetched and compared with the file again */
    snprintf(saved->name, sizeof(saved->name), "%.*s", VIEW_ARG(name));
    snprintf(saved->sha256, sizeof(saved->sha256), "%.*s", VIEW_ARG(sha256));
    saver->count++;
}

static int open_dir(const char *dir, struct err *err)
{
    int fd;

    if (mkdir(dir, 0777) && errno != EEXIST) {
        err_set(err, ERR_REJECT, "bad_setting", "cannot make %s: %s", dir,
                strerror(errno));
        return -1;
    }
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        err_set(err, ERR_REJECT, "bad_setting", "cannot open %s: %s", dir,
                strerror(errno));
    return fd;
}

/* figure.png, figure~2.png, figure~3.png */
static void copy_name(char *text, size_t size, struct view name, int copy)
{
    const char *dot = memrchr(name.data, '.', name.len);
    size_t stem = dot && dot > name.data ? (size_t)(dot - name.data) : name.len;

    if (copy == 1)
        snprintf(text, size, "%.*s", VIEW_ARG(name));
    else
        snprintf(text, size, "%.*s~%d%.*s", (int)stem, name.data, copy,
                 (int)(name.len - stem), name.data + stem);
}

/* Whether a regular file of that name holds exactly these bytes. O_NONBLOCK: a
 * FIFO of that name must not block us. */
static bool save_file_holds(int dir, const char *name, struct view bytes)
{
    CLEANUP(close_fd)
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char piece[16 << 10];
    struct stat facts;
    size_t at = 0;

    if (fd < 0 || fstat(fd, &facts) || !S_ISREG(facts.st_mode) ||
        (size_t)facts.st_size != bytes.len)
        return false;
    while (at < bytes.len) {
        ssize_t n = read(fd, piece, sizeof(piece));

        if (n <= 0 || (size_t)n > bytes.len - at ||
            memcmp(piece, bytes.data + at, (size_t)n) != 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

static bool save_write_all(int fd, struct view bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.data, bytes.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes.data += n;
        bytes.len -= (size_t)n;
    }
    return true;
}

static bool cannot_write(const char *name, struct err *err)
{
    return err_set(err, ERR_RETRY, "not_saved", "cannot write %s: %s", name,
                   strerror(errno));
}

/* Removes what was written: half a file would look like a whole one. */
static bool torn(int dir, const char *name, struct err *err)
{
    cannot_write(name, err);
    unlinkat(dir, name, 0);
    return false;
}

/* Writes under the first name that is free, or finds one that holds the bytes
 * already. O_EXCL and O_NOFOLLOW: nothing is written over or through a link,
 * even when somebody makes the name meanwhile. */
static bool write_file(int dir, struct view name, struct view bytes,
                       char *written, size_t size, struct err *err)
{
    for (int copy = 1; copy <= MAX_COPIES; copy++) {
        CLEANUP(close_fd) int fd = -1;

        copy_name(written, size, name, copy);
        fd = openat(dir, written,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0 && save_write_all(fd, bytes))
            return true;
        if (fd >= 0)
            return torn(dir, written, err);
        if (errno != EEXIST)
            return cannot_write(written, err);
        if (save_file_holds(dir, written, bytes))
            return true;
    }
    return err_set(err, ERR_REJECT, "bad_setting",
                   "%.*s: there are already %d files of that name",
                   VIEW_ARG(name), MAX_COPIES);
}

/* A name is checked before its blob is fetched. The name on disk (safe) has no
 * hidden characters; what is remembered is the name as the job has it. */
bool saver_save(struct saver *saver, struct view name, struct view sha256,
                struct buf *path, struct err *err)
{
    CLEANUP(close_fd) int dir = -1;
    CLEANUP(cleanup_free) char *blob = view_dup(sha256);
    CLEANUP(cleanup_free) void *data = NULL;
    CLEANUP(buf_finish) struct buf safe;
    char written[MAX_FILE_NAME_BYTES + 8];
    struct quern_error error;
    size_t size;

    buf_init(&safe, MAX_FILE_NAME_BYTES);
    glyph_add_name(&safe, name);
    if (!saver->dir || is_saved(saver, name, sha256))
        return true;
    if (!file_name_is_valid(name))
        return err_set(err, ERR_REJECT, "bad_field",
                       "its name is not a plain file name");
    if (!quern_blob_get(saver->quern, blob, &data, &size, &error))
        return err_set(err, error.kind == QUERN_RETRY ? ERR_RETRY : ERR_REJECT,
                       error.code, "%s", error.text);
    dir = open_dir(saver->dir, err);
    if (dir < 0 ||
        !write_file(dir, buf_view(&safe), (struct view){ data, size }, written,
                    sizeof(written), err))
        return false;
    saver_remember(saver, name, sha256);
    return buf_printf(path, "%s/%s", saver->dir, written);
}
