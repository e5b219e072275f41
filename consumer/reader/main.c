/* main.c - quern-reader: reads one document, or expression, and ends.
 *
 *   "kind offset cut\ntype\nurl\nbytes" --> JSON, or {"error": a sentence}
 *
 * Documents from the web are hostile, and the libraries that parse them are
 * large. So they are parsed here, in a process without keys, sockets or
 * environment, with limits of time and memory that the kernel enforces, and
 * behind walls (walls.h). Whoever takes over this process can give a wrong
 * answer, and nothing else. tools/reader.c starts it, and trusts no byte of the
 * answer. */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#include "consumer/reader/document.h"
#include "consumer/reader/walls.h"

enum {
    CPU_S = 5,
    MEMORY = 512 << 20, /* of address space: above MAX_PAGE_MEMORY */
    FILES = 16,         /* iconv opens its tables */
};

static void bound(enum __rlimit_resource what, rlim_t most)
{
    struct rlimit limit = { most, most };
    setrlimit(what, &limit);
}

/* Sanitizers reserve terabytes of address space, and use other system calls. */
static bool is_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#elif defined(__has_feature)
    return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
    return false;
#endif
}

/* The walls come before the first byte is read. A build with sanitizers has
 * only some of them. */
static bool shut_in(struct err *err)
{
    bool closed;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    close_range(STDERR_FILENO + 1, ~0U, 0);
    bound(RLIMIT_CPU, CPU_S);
    bound(RLIMIT_CORE, 0);
    bound(RLIMIT_FSIZE, 0);
    bound(RLIMIT_NOFILE, FILES);
    if (is_sanitized())
        return true;
    prctl(PR_SET_DUMPABLE, 0);
    bound(RLIMIT_NPROC, 0);
    bound(RLIMIT_AS, MEMORY);
    return walls_files(&closed, err) && walls_calls(closed, err);
}

static bool read_all(struct buf *question)
{
    for (;;) {
        char *room = buf_reserve(question, 64 << 10);
        if (!room)
            return false;
        ssize_t got = read(STDIN_FILENO, room, 64 << 10);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        question->len += (size_t)got;
    }
}

/* Takes a line and its line feed off rest; free() it. NULL: there is none. */
static char *reader_take_line(struct view *rest)
{
    const char *end =
        rest->len > 0 ? memchr(rest->data, '\n', rest->len) : NULL;
    if (!end)
        return NULL;
    struct view line = { rest->data, (size_t)(end - rest->data) };
    *rest = (struct view){ end + 1, rest->len - line.len - 1 };
    return view_dup(line);
}

static void reader_answer(const struct document *document, struct buf *out)
{
    struct err err;
    if (document_read(document, out, &err))
        return;
    json_t *object = json_pack("{s:s}", "error", err.text);
    char *text = json_dumps(object, JSON_COMPACT);
    buf_clear(out);
    buf_add(out, view_of(text));
    free(text);
    json_decref(object);
}

static bool write_all(struct view bytes)
{
    while (bytes.len > 0) {
        ssize_t put = write(STDOUT_FILENO, bytes.data, bytes.len);
        if (put < 0 && errno != EINTR)
            return false;
        if (put > 0)
            bytes = (struct view){ bytes.data + put, bytes.len - (size_t)put };
    }
    return true;
}

int main(void)
{
    CLEANUP(buf_finish) struct buf question, out;
    struct err err;
    if (!shut_in(&err)) {
        fprintf(stderr, "%s\n", err.text);
        return EX_OSERR;
    }
    buf_init(&question, MAX_DOCUMENT + (128 << 10));
    buf_init(&out, MAX_DOCUMENT_JSON);
    if (!read_all(&question))
        return EX_DATAERR;
    struct view rest = buf_view(&question);
    CLEANUP(cleanup_free) char *first = reader_take_line(&rest);
    CLEANUP(cleanup_free) char *type = reader_take_line(&rest);
    CLEANUP(cleanup_free) char *url = reader_take_line(&rest);
    if (!first || !type || !url)
        return EX_DATAERR;
    char *more = NULL;
    struct document document = { .url = url, .type = type, .bytes = rest };
    document.kind = (enum document_kind)strtoul(first, &more, 10);
    document.offset = strtoull(more, &more, 10);
    document.cut = strcmp(more, " 1") == 0;
    reader_answer(&document, &out);
    return write_all(buf_view(&out)) ? EX_OK : EX_IOERR;
}
