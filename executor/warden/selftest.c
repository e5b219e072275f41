/* selftest.c - does it work, and do the walls hold?
 *
 * Each row is a cell, in one session, in this order. */
#include "executor/warden/selftest.h"

#include <stdio.h>
#include <stdlib.h>

#include "executor/box/landlock.h"
#include "executor/box/walls.h"

enum { SELFTEST_MS = 60000 };

/* Where a row applies: not every wall is there in every mode. */
enum row_place {
    ANYWHERE,
    BOXED,
    BOXED_BY_LINUX, /* gVisor lets a box end itself */
    LANDLOCK,
    SCOPES,
    OFFLINE,
    ONLINE
};

static const struct {
    const char *name;
    const char *code;
    int status;
    /* Text of the value, or the exception's name; NULL: any. */
    const char *result;
    enum row_place place;
} rows[] = {
    { "a cell runs", "1 + 1", CELL_OK, "2", ANYWHERE },
    { "files can be written", "open('quern', 'w').write('x')", CELL_OK, "1",
      ANYWHERE },
    { "numpy is sound, where it is",
      "try:\n"
      "    import numpy\n"
      "    total = int(numpy.arange(6).reshape(2, 3).sum())\n"
      "except ModuleNotFoundError:\n"
      "    total = 15\n"
      "total",
      CELL_OK, "15", ANYWHERE },
    { "tables and charts are sound, where they are loaded",
      "import io, sys\n"
      "total, chart = 15, io.BytesIO(b'\\x89PNG')\n"
      "if 'pandas' in sys.modules:\n"
      "    import pandas\n"
      "    total = int(pandas.DataFrame({'a': range(6)}).a.sum())\n"
      "if 'matplotlib.pyplot' in sys.modules:\n"
      "    from matplotlib import pyplot\n"
      "    pyplot.figure().savefig(chart)\n"
      "    pyplot.close()\n"
      "(total, chart.getvalue()[:4])",
      CELL_OK, "(15, b'\\x89PNG')", ANYWHERE },
    { "the host's secrets are out of reach", "open('/etc/shadow')", CELL_ERROR,
      "FileNotFoundError", BOXED },
    { "there is no network", "import socket; socket.socket()", CELL_ERROR,
      "PermissionError", OFFLINE },
    { "the proxy is there, and lets nobody in",
      "import socket\n"
      "with socket.create_connection(('127.0.0.1', 3128), 5) as proxy:\n"
      "    proxy.sendall(b'CONNECT 169.254.169.254:80 HTTP/1.1\\r\\n\\r\\n')\n"
      "    said = proxy.recv(12)\n"
      "said",
      CELL_OK, "b'HTTP/1.1 403'", ONLINE },
    { "nothing but the proxy can be reached",
      "socket.create_connection(('169.254.169.254', 80), 5)", CELL_ERROR, NULL,
      ONLINE },
    { "there is no UDP", "socket.socket(type=socket.SOCK_DGRAM)", CELL_ERROR,
      "PermissionError", ONLINE },
    { "the system is read-only", "open('/usr/quern', 'w')", CELL_ERROR, NULL,
      ANYWHERE },
    { "the environment is empty of ours",
      "import os; [k for k in os.environ if 'QUERN' in k or 'KEY' in k]",
      CELL_OK, "[]", ANYWHERE },
    { "init lives on",
      "import os\n"
      "try:\n"
      "    os.kill(1, 9)\n"
      "except OSError:\n"
      "    pass\n"
      "1",
      CELL_OK, "1", BOXED_BY_LINUX },
    { "not even what /proc shows can be changed",
      "open('/proc/self/oom_score_adj', 'w')", CELL_ERROR, NULL, LANDLOCK },
    { "nobody outside can be asked for", "import os; os.kill(1, 0)", CELL_ERROR,
      NULL, SCOPES },
    { "no process of others is seen",
      "import os; (os.getpid() < 100, "
      "len([p for p in os.listdir('/proc') if p.isdigit()]) < 6)",
      CELL_OK, "(True, True)", BOXED },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

struct selftest {
    struct peer peer; /* first */
    struct sessions *sessions;
    struct loop_alarm *alarm; /* the next step; or: it took too long */
    bool print;
    bool started;
    size_t row;
    struct err err;
    bool ended; /* on_end has been called */
    void (*on_end)(void *owner, const struct err *err);
    void *owner;
};

static const char session_name[] = "selftest";

static void selftest_ask(struct selftest *selftest, struct frame frame)
{
    CLEANUP(buf_finish) struct buf body;
    struct err err;
    struct peer_request *request = NULL;
    frame.session = view_of(session_name);
    frame.ref = 1;
    buf_init(&body, MAX_FRAME_BYTES);
    if (message_encode(&schema_frame, &frame, &body, &err))
        request = request_new(&selftest->peer, buf_view(&body), &err);
    if (request)
        sessions_ask(selftest->sessions, request);
    else
        selftest->err = err;
}

static bool as_expected(const struct selftest *selftest,
                        const struct cell *cell)
{
    size_t row = selftest->row;
    struct view got =
        cell->status == CELL_ERROR ? cell->error.name : cell->result;
    return cell->status == rows[row].status &&
           (!rows[row].result || view_is(got, rows[row].result));
}

static void selftest_judge(struct selftest *selftest, const struct cell *cell)
{
    size_t row = selftest->row;
    bool good = as_expected(selftest, cell);
    if (selftest->print)
        printf("%-40s %s\n", rows[row].name, good ? "ok" : "FAILED");
    if (!good)
        err_set(&selftest->err, ERR_RETRY, "executor_unavailable",
                "self-test \"%s\" failed: the cell ended \"%s\" %.*s %.*s "
                "%.*s",
                rows[row].name, cell_status_names[cell->status],
                VIEW_ARG(view_head(cell->result, 60)),
                VIEW_ARG(view_head(cell->error.name, 40)),
                VIEW_ARG(view_head(cell->error.value, 80)));
    selftest->row++;
}

static void failed_as(struct err *err, const struct result_error *error)
{
    char code[sizeof(err->code)];
    snprintf(code, sizeof(code), "%.*s", VIEW_ARG(error->code));
    err_set(err, ERR_RETRY, code, "%.*s", VIEW_ARG(error->message));
}

/* Answers are noted; what follows from them happens in the next turn of the
 * loop: a session is in the middle of sending. */
static void on_frame(struct peer *peer, const struct frame *frame)
{
    struct selftest *selftest = (struct selftest *)peer;
    if (frame->type == FRAME_OUTPUT || frame->type == FRAME_DISPLAY ||
        frame->type == FRAME_OK)
        return;
    /* What failed first is why the rest did. */
    if (frame->type == FRAME_FAILED && selftest->err.kind == ERR_NONE)
        failed_as(&selftest->err, &frame->error);
    else if (frame->type == FRAME_DONE)
        selftest_judge(selftest, &frame->cell);
    alarm_set(selftest->alarm, 0);
}

static size_t no_backlog(const struct peer *peer)
{
    (void)peer;
    return 0;
}
static void no_relief(struct peer *peer)
{
    (void)peer;
}

static bool applies(const struct selftest *selftest)
{
    const struct executor_settings *settings = selftest->sessions->settings;
    bool boxed = !settings->insecure;
    switch (rows[selftest->row].place) {
    case BOXED:
        return boxed;
    case BOXED_BY_LINUX:
        return boxed && settings->outer == OUTER_NONE;
    case LANDLOCK:
        return landlock_abi() >= 1;
    case SCOPES:
        return boxed && landlock_abi() >= LANDLOCK_SCOPES;
    case OFFLINE:
        return !settings->hosts;
    case ONLINE:
        return settings->hosts;
    case ANYWHERE:
        break;
    }
    return true;
}

static void run_row(struct selftest *selftest)
{
    char call[24];
    snprintf(call, sizeof(call), "row-%zu", selftest->row);
    alarm_set(selftest->alarm, SELFTEST_MS);
    selftest_ask(selftest, (struct frame){
                               .type = FRAME_RUN,
                               .call = view_of(call),
                               .code = view_of(rows[selftest->row].code),
                           });
}

static void on_alarm(void *owner)
{
    struct selftest *selftest = owner;
    if (!selftest->started) {
        selftest->started = true;
        alarm_set(selftest->alarm, SELFTEST_MS);
        selftest_ask(selftest, (struct frame){ .type = FRAME_OPEN });
        return;
    }
    if (selftest->ended)
        return;
    bool failed = selftest->err.kind != ERR_NONE;
    while (selftest->row < ROWS && !applies(selftest))
        selftest->row++;
    if (!failed && selftest->row < ROWS) {
        run_row(selftest);
        return;
    }
    selftest->ended = true;
    selftest_ask(selftest, (struct frame){ .type = FRAME_CLOSE });
    selftest->on_end(selftest->owner, failed ? &selftest->err : NULL);
}

struct selftest *
selftest_new(struct sessions *sessions, bool print,
             void (*on_end)(void *owner, const struct err *err), void *owner)
{
    struct selftest *selftest = allocate(sizeof(*selftest));
    selftest->peer = (struct peer){ on_frame, no_backlog, no_relief, 0 };
    selftest->sessions = sessions;
    selftest->print = print;
    selftest->on_end = on_end;
    selftest->owner = owner;
    selftest->alarm = alarm_new(sessions->loop, on_alarm, selftest);
    alarm_set(selftest->alarm, 0);
    return selftest;
}

void selftest_free(struct selftest *selftest)
{
    if (!selftest)
        return;
    sessions_leave(selftest->sessions, &selftest->peer);
    alarm_free(selftest->alarm);
    free(selftest);
}
