/* reader.c - runs quern-reader.
 *
 * A reader is over when its process has exited and its output has been read to
 * the end, in whichever order. Then its place goes to the next one that waits,
 * the result is reported, and the handles are closed. libuv closes them later,
 * so the struct is freed by the last on_closed(). */
#include "consumer/tools/reader.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { READER_MS = 10000, HANDLES = 4 };

struct reader {
    struct reader *next; /* in readers.waiting */
    struct tool_host *host;
    bool waits; /* not launched: its handles are not open */
    uv_process_t process;
    int pidfd; /* of the process; -1: none. It is signalled only by this: libuv
                  waits for all children that ended before it tells us of one,
                  and a number may then be another process's */
    uv_pipe_t in, out;
    uv_timer_t timer;
    uv_write_t write;
    uv_shutdown_t shutdown;
    struct buf question, answer; /* what it gets on stdin, gives on stdout */
    reader_done *done;           /* NULL: cancelled */
    void *owner;
    bool failed;       /* it did not end as it should */
    int not_started;   /* why the process could not be started: an errno */
    bool exited, read; /* both: it is over */
    unsigned int open; /* handles that are not closed yet */
};

static void launch(struct reader *reader);

static void reader_free(struct reader *reader)
{
    if (reader->pidfd >= 0)
        close(reader->pidfd);
    buf_finish(&reader->question);
    buf_finish(&reader->answer);
    free(reader);
}

static void on_closed(uv_handle_t *handle)
{
    struct reader *reader = handle->data;
    if (--reader->open == 0)
        reader_free(reader);
}

static void stop_waiting(struct reader *reader)
{
    struct reader **link = &reader->host->readers.waiting;
    while (*link != reader)
        link = &(*link)->next;
    *link = reader->next;
    reader->waits = false;
}

static void close_all(struct reader *reader)
{
    uv_handle_t *handles[HANDLES] = {
        (uv_handle_t *)&reader->process,
        (uv_handle_t *)&reader->in,
        (uv_handle_t *)&reader->out,
        (uv_handle_t *)&reader->timer,
    };
    for (size_t i = 0; i < HANDLES; i++)
        if (!uv_is_closing(handles[i]))
            uv_close(handles[i], on_closed);
}

/* Does nothing to a process that has ended. */
static void kill_process(const struct reader *reader)
{
    if (reader->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, reader->pidfd, SIGKILL, NULL, 0);
}

/* The process has read hostile bytes, so its answer is not trusted: it must be
 * one JSON object of bounded size. */
static void reader_report(struct reader *reader)
{
    struct err why = { .kind = ERR_NONE };
    struct view json = buf_view(&reader->answer);
    json_t *object = json_loadb(!json.data ? "" : json.data, json.len,
                                JSON_REJECT_DUPLICATES, NULL);
    const char *sentence = json_string_value(json_object_get(object, "error"));
    if (reader->not_started)
        err_set(&why, ERR_RETRY, "tool_failed",
                "quern-reader could not be started: %s",
                strerror(reader->not_started));
    else if (sentence)
        err_set(&why, ERR_REJECT, "not_text", "%s", sentence);
    else if (reader->failed || !json_is_object(object) ||
             !buf_ok(&reader->answer))
        err_set(&why, ERR_REJECT, "too_large",
                "it takes too much time or memory to read");
    json_decref(object);
    reader->done(reader->owner, json, &why);
}

static void finish_if_over(struct reader *reader)
{
    if (!reader->exited || !reader->read)
        return;
    struct readers *readers = &reader->host->readers;
    readers->running--;
    /* Before the report: its callback may start or cancel readers. */
    struct reader *next = readers->waiting;
    if (next) {
        stop_waiting(next);
        launch(next);
    }
    if (reader->done)
        reader_report(reader);
    close_all(reader);
}

static void on_process(uv_process_t *process, int64_t status, int signal)
{
    struct reader *reader = process->data;
    reader->exited = true;
    reader->failed |= status != 0 || signal != 0;
    finish_if_over(reader);
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *room)
{
    struct reader *reader = handle->data;
    (void)wanted;
    room->base = buf_reserve(&reader->answer, 16 << 10);
    room->len = !room->base ? 0 : 16 << 10;
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *room)
{
    struct reader *reader = stream->data;
    (void)room;
    if (got > 0) {
        reader->answer.len += (size_t)got;
    } else if (got < 0) {
        reader->failed |= got != UV_EOF;
        reader->read = true;
        uv_read_stop(stream);
        finish_if_over(reader);
    }
}

/* Nothing to do when the write fails: a reader that does not read to the end
 * has already answered, or has died, which on_process() sees. */
static void on_written(uv_write_t *write, int status)
{
    (void)write;
    (void)status;
}

static void on_shut(uv_shutdown_t *shutdown, int status)
{
    (void)shutdown;
    (void)status;
}

static void on_timeout(uv_timer_t *timer)
{
    struct reader *reader = timer->data;
    reader->failed = true;
    kill_process(reader);
}

/* The form that consumer/reader/main.c reads: a line of numbers, a line with
 * the type, one with the URL, then the bytes. */
static void write_question(struct reader *reader,
                           const struct document *document)
{
    buf_init(&reader->question, MAX_DOCUMENT + (16 << 10));
    buf_printf(&reader->question, "%d %llu %d\n%s\n%s\n", (int)document->kind,
               (unsigned long long)document->offset, document->cut,
               document->type, document->url);
    buf_add(&reader->question, document->bytes);
}

static void reader_ask(struct reader *reader)
{
    uv_buf_t all =
        uv_buf_init(reader->question.data, (unsigned)reader->question.len);
    uv_write(&reader->write, (uv_stream_t *)&reader->in, &all, 1, on_written);
    uv_shutdown(&reader->shutdown, (uv_stream_t *)&reader->in, on_shut);
    uv_read_start((uv_stream_t *)&reader->out, on_room, on_read);
}

/* Its environment is empty but for the locale: it must not see our keys. */
static int spawn(struct reader *reader, const struct tool_host *host)
{
    char name[] = "quern-reader", locale[] = "LC_ALL=C";
    char *arguments[] = { name, NULL };
    char *environment[] = { locale, NULL };
    uv_stdio_container_t stdio[] = {
        { .flags = UV_CREATE_PIPE | UV_READABLE_PIPE,
          .data.stream = (uv_stream_t *)&reader->in },
        { .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
          .data.stream = (uv_stream_t *)&reader->out },
        { .flags = UV_INHERIT_FD, .data.fd = 2 },
    };
    uv_process_options_t options = {
        .exit_cb = on_process,
        .file = host->reader,
        .args = arguments,
        .env = environment,
        .stdio = stdio,
        .stdio_count = 3,
    };
    return uv_spawn(host->loop, &reader->process, &options);
}

/* Before the loop runs, nobody has waited for the process, so its number is its
 * own. When there is no descriptor for it, it must not run: nobody could end it
 * later. */
static void hold_process(struct reader *reader)
{
    reader->pidfd = (int)syscall(SYS_pidfd_open, reader->process.pid, 0);
    if (reader->pidfd >= 0)
        return;
    reader->not_started = errno;
    uv_process_kill(&reader->process, SIGKILL);
}

/* It could not be started. Reported from the loop, never from reader_start().
 */
static void on_failed(uv_timer_t *timer)
{
    struct reader *reader = timer->data;
    reader->read = true;
    finish_if_over(reader);
}

static void launch(struct reader *reader)
{
    struct tool_host *host = reader->host;
    host->readers.running++;
    reader->open = HANDLES;
    uv_pipe_init(host->loop, &reader->in, 0);
    uv_pipe_init(host->loop, &reader->out, 0);
    uv_timer_init(host->loop, &reader->timer);
    reader->process.data = reader->in.data = reader->out.data =
        reader->timer.data = reader;
    reader->not_started = -spawn(reader, host);
    if (reader->not_started) {
        reader->exited = true;
        uv_timer_start(&reader->timer, on_failed, 0, 0);
        return;
    }
    hold_process(reader);
    reader_ask(reader);
    uv_timer_start(&reader->timer, on_timeout, READER_MS, 0);
}

struct reader *reader_start(struct tool_host *host,
                            const struct document *document, reader_done *done,
                            void *owner)
{
    struct reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        abort();
    reader->host = host;
    reader->pidfd = -1;
    reader->done = done;
    reader->owner = owner;
    buf_init(&reader->answer, MAX_DOCUMENT_JSON);
    write_question(reader, document);
    reader->waits = host->readers.running >= MAX_READERS;
    struct reader **last = &host->readers.waiting;
    while (*last)
        last = &(*last)->next;
    if (reader->waits)
        *last = reader;
    else
        launch(reader);
    return reader;
}

char *reader_find(void)
{
    static const char *const places[] = { ".", QUERN_LIBEXEC };
    char own[PATH_MAX / 2] = "", path[PATH_MAX];
    if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0)
        return NULL;
    *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s/quern-reader", own, places[i]);
        if (access(path, X_OK) == 0)
            return view_dup(view_of(path));
    }
    return NULL;
}

void reader_cancel(struct reader *reader)
{
    if (!reader)
        return;
    reader->done = NULL;
    if (reader->waits) {
        stop_waiting(reader);
        reader_free(reader);
    } else {
        kill_process(reader);
    }
}
