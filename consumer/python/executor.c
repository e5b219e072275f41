/* executor.c - the connection to quern-executor: many sessions over one socket.
 */
#include "consumer/python/executor.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "schemas/message/limits.h"
#include "schemas/message/machine.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

enum {
    BACKOFF_MIN_MS = 50,
    BACKOFF_MAX_MS = 500, /* an executor that is back is used within a second */
    GREETING_MS = 5000,
    READ_BYTES = 64 << 10,
};

enum executor_state { CLOSED, CONNECTING, GREETING, READY, BACKOFF };

static const struct machine_state states[] = {
    [CLOSED] = { .name = "closed", .next = TO(CONNECTING) },
    [CONNECTING] = { .name = "connecting",
                     .next = TO(GREETING) | TO(BACKOFF) | TO(CLOSED) },
    [GREETING] = { .name = "greeting",
                   .next = TO(READY) | TO(BACKOFF) | TO(CLOSED) },
    [READY] = { .name = "ready", .next = TO(BACKOFF) | TO(CLOSED) },
    [BACKOFF] = { .name = "backoff", .next = TO(CONNECTING) | TO(CLOSED) },
};
static const struct machine_kind kind = {
    .name = "a connection to an executor",
    .states = states,
    .count = sizeof(states) / sizeof(states[0]),
};

/* A place in the table of requests, used again and again. The ref of a request
 * is (times << PLACE_BITS | place) + 1, so a late answer to an earlier request
 * of the same place finds nothing. */
struct executor_request {
    executor_answer *answer; /* NULL: the place is free */
    void *owner;
    uint64_t times; /* how often the place was used */
};
enum { PLACE_BITS = 24 };

/* One attempt to connect, and its connection. libuv still uses it after
 * uv_close(), so it outlives the attempt, and may outlive the executor. */
struct executor_pipe {
    uv_pipe_t handle;
    uv_connect_t connect;
    struct executor *executor; /* NULL: abandoned; callbacks do nothing */
};

struct executor {
    uv_loop_t *loop;
    char *path;
    struct machine machine;
    struct alarm *alarm; /* the limit of CONNECTING and GREETING together, the
                            end of BACKOFF */
    struct executor_pipe *pipe; /* NULL: CLOSED or BACKOFF */
    struct buf input;           /* bytes that are no whole frame yet */
    struct executor_request *requests;
    size_t room; /* of requests */
    struct executor_watch *watches;
    char isolation[512];
    char libraries[MAX_LIBRARIES_BYTES + 1];
    uint64_t backoff_ms;
    bool counts;                   /* as the welcome has it */
    bool off;                      /* the path is EXECUTOR_NONE */
    const char *word;              /* why it is away; NULL: it is ready */
    char reason[128];              /* the same as a sentence */
    uint64_t away_ms;              /* of the loop's clock: since when */
    uint64_t away_since;           /* the same, ms since 1970 */
    void (*on_state)(void *owner); /* may be NULL */
    void *state_owner;
};

static void try_connect(struct executor *executor);

static void executor_enter(struct executor *executor, enum executor_state next)
{
    machine_go(&executor->machine, next);
    if (next == READY || next == CLOSED)
        log_line("executor", "{s:s, s:s}", "state", states[next].name, "path",
                 executor->path);
}

/* --------------------------------------------------------------- losing */

static void on_pipe_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void drop_pipe(struct executor *executor)
{
    if (!executor->pipe)
        return;
    executor->pipe->executor = NULL;
    uv_close((uv_handle_t *)&executor->pipe->handle, on_pipe_closed);
    executor->pipe = NULL;
}

static void tell_watches(struct executor *executor, bool ready)
{
    /* A watch may unwatch itself, and be freed, while it is told. */
    struct executor_watch *watch = executor->watches;
    while (watch) {
        struct executor_watch *next = watch->next;
        watch->on_change(watch->owner, ready);
        watch = next;
    }
}

static void answer_all(struct executor *executor)
{
    for (size_t i = 0; i < executor->room; i++) {
        struct executor_request request = executor->requests[i];
        executor->requests[i].answer = NULL;
        if (request.answer)
            request.answer(request.owner, NULL);
    }
}

static uint64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* One word for each cause that needs another repair by the operator. */
static const char *word_of(int status)
{
    switch (status) {
    case UV_ENOENT:
        return "absent";
    case UV_ECONNREFUSED:
        return "refused";
    case UV_EACCES:
    case UV_EPERM:
        return "not permitted";
    default:
        return "unreachable";
    }
}

static const char *sentence_of(int status)
{
    switch (status) {
    case UV_ENOENT:
        return "there is no such socket: no executor has been started here";
    case UV_ECONNREFUSED:
        return "nobody listens at the socket: the executor has ended";
    case UV_EACCES:
    case UV_EPERM:
        return "this user may not open the socket, or a folder above it";
    default:
        return uv_strerror(status);
    }
}

static void tell_state(const struct executor *executor)
{
    if (executor->on_state)
        executor->on_state(executor->state_owner);
}

/* True: the executor was not away before, or for another reason. */
static bool note_away(struct executor *executor, const char *word,
                      const char *why)
{
    bool news = !executor->word || strcmp(executor->word, word) != 0;
    if (!executor->word) {
        executor->away_ms = uv_now(executor->loop);
        executor->away_since = wall_ms();
    }
    executor->word = word;
    snprintf(executor->reason, sizeof(executor->reason), "%s", why);
    return news;
}

static void executor_lose(struct executor *executor, const char *word,
                          const char *why)
{
    bool was_ready = executor->machine.state == READY;
    bool news = note_away(executor, word, why);
    if (news)
        log_line("executor.lost", "{s:s, s:s, s:s}", "path", executor->path,
                 "reason", word, "why", why);
    drop_pipe(executor);
    buf_clear(&executor->input);
    executor_enter(executor, BACKOFF);
    alarm_set(executor->alarm, executor->backoff_ms);
    executor->backoff_ms *= 2;
    if (executor->backoff_ms > BACKOFF_MAX_MS)
        executor->backoff_ms = BACKOFF_MAX_MS;
    /* The state is BACKOFF by now, so a callback that asks again gets 0. */
    if (was_ready) {
        answer_all(executor);
        tell_watches(executor, false);
    }
    if (news)
        tell_state(executor);
}

/* -------------------------------------------------------------- sending */

struct executor_write {
    uv_write_t request;
    struct buf bytes;
};

static void on_sent(uv_write_t *request, int status)
{
    struct executor_write *sending = request->data;
    (void)status; /* a broken pipe is seen by the reader */
    buf_finish(&sending->bytes);
    free(sending);
}

static bool send_frame(struct executor *executor, const struct frame *frame)
{
    struct executor_write *sending = calloc(1, sizeof(*sending));
    if (!sending)
        abort();
    struct err err;
    buf_init(&sending->bytes, MAX_FRAME_BYTES + FRAME_HEADER_BYTES);
    sending->request.data = sending;
    if (!frame_encode(&schema_frame, frame, &sending->bytes, &err)) {
        log_line("executor.refused", "{s:s, s:s}", "frame",
                 frame_type_names[frame->type], "why", err.text);
        buf_finish(&sending->bytes);
        free(sending);
        return false;
    }
    uv_buf_t bytes =
        uv_buf_init(sending->bytes.data, (unsigned int)sending->bytes.len);
    if (uv_write(&sending->request, (uv_stream_t *)&executor->pipe->handle,
                 &bytes, 1, on_sent) < 0) {
        on_sent(&sending->request, 0);
        return false;
    }
    return true;
}

static uint64_t take_place(struct executor *executor, executor_answer *answer,
                           void *owner)
{
    size_t place = 0;
    while (place < executor->room && executor->requests[place].answer)
        place++;
    if (place == executor->room) {
        size_t room = executor->room == 0 ? 16 : executor->room * 2;
        struct executor_request *requests = reallocarray(
            executor->requests, room, sizeof(struct executor_request));
        if (!requests)
            abort();
        memset(requests + executor->room, 0,
               (room - executor->room) * sizeof(struct executor_request));
        executor->requests = requests;
        executor->room = room;
    }
    struct executor_request *request = &executor->requests[place];
    request->answer = answer;
    request->owner = owner;
    request->times++;
    return (request->times << PLACE_BITS | place) + 1;
}

static struct executor_request *find_request(struct executor *executor,
                                             uint64_t ref)
{
    if (ref == 0)
        return NULL;
    size_t place = (ref - 1) & ((1u << PLACE_BITS) - 1);
    if (place >= executor->room)
        return NULL;
    struct executor_request *request = &executor->requests[place];
    bool same = request->times == (ref - 1) >> PLACE_BITS;
    return same && request->answer ? request : NULL;
}

static void ignore_answer(void *owner, const struct frame *frame)
{
    (void)owner;
    (void)frame;
}

uint64_t executor_ask(struct executor *executor, struct frame *frame,
                      executor_answer *answer, void *owner)
{
    if (executor->machine.state != READY)
        return 0;
    frame->ref = take_place(executor, answer ? answer : ignore_answer, owner);
    bool sent = send_frame(executor, frame);
    if (!sent || !answer)
        executor_dismiss(executor, frame->ref);
    return sent ? frame->ref : 0;
}

bool executor_add(struct executor *executor, struct frame *frame, uint64_t ref)
{
    frame->ref = ref;
    return executor->machine.state == READY && send_frame(executor, frame);
}

void executor_dismiss(struct executor *executor, uint64_t ref)
{
    struct executor_request *request = find_request(executor, ref);
    if (request)
        request->answer = NULL;
}

/* ------------------------------------------------------------ receiving */

static void on_welcome(struct executor *executor, const struct frame *frame)
{
    snprintf(executor->isolation, sizeof(executor->isolation), "%.*s",
             VIEW_ARG(frame->isolation));
    snprintf(executor->libraries, sizeof(executor->libraries), "%.*s",
             VIEW_ARG(frame->libraries));
    executor->counts = frame->counts;
    alarm_stop(executor->alarm);
    executor->backoff_ms = BACKOFF_MIN_MS;
    executor->word = NULL;
    executor_enter(executor, READY);
    tell_watches(executor, true);
    tell_state(executor);
}

static bool executor_take_frame(struct executor *executor, struct view bytes,
                                struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct frame frame;
    if (!message_decode(&schema_frame, bytes, &frame, &arena, err))
        return false;
    if (executor->machine.state == GREETING && frame.type == FRAME_WELCOME) {
        on_welcome(executor, &frame);
        return true;
    }
    if (executor->machine.state != READY)
        return err_set(err, ERR_RETRY, "executor_unavailable", "%.*s",
                       VIEW_ARG(frame.error.message));
    struct executor_request *request = find_request(executor, frame.ref);
    if (request)
        request->answer(request->owner, &frame);
    return true;
}

/* Takes every whole frame. A callback may break the connection on the way: then
 * the pipe is another one, and input belongs to that. */
static bool executor_take_frames(struct executor *executor, struct err *err)
{
    size_t at = 0;
    const struct executor_pipe *pipe = executor->pipe;
    while (executor->pipe == pipe && pipe) {
        struct view rest = { executor->input.data + at,
                             executor->input.len - at };
        size_t total = 0;
        if (!frame_length(rest, MAX_FRAME_BYTES, &total, err))
            return false;
        if (total == 0 || total > rest.len)
            break;
        struct view body = { rest.data + FRAME_HEADER_BYTES,
                             total - FRAME_HEADER_BYTES };
        if (!executor_take_frame(executor, body, err))
            return false;
        at += total;
    }
    if (executor->pipe == pipe)
        buf_drop(&executor->input, at);
    return true;
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *bytes)
{
    struct executor_pipe *pipe = handle->data;
    (void)suggested;
    *bytes = uv_buf_init(NULL, 0);
    if (!pipe->executor)
        return;
    char *room = buf_reserve(&pipe->executor->input, READ_BYTES);
    if (room)
        *bytes = uv_buf_init(room, READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *bytes)
{
    struct executor *executor =
        ((struct executor_pipe *)stream->data)->executor;
    (void)bytes;
    if (!executor || got == 0)
        return;
    if (got < 0) {
        executor_lose(executor, "lost",
                      got == UV_EOF ? "it has closed the connection"
                                    : uv_strerror((int)got));
        return;
    }
    executor->input.len += (size_t)got;
    struct err err = { 0 };
    if (!executor_take_frames(executor, &err))
        executor_lose(executor, "unreachable", err.text);
}

/* ----------------------------------------------------------- connecting */

static void on_connect(uv_connect_t *connect, int status)
{
    struct executor_pipe *pipe = connect->handle->data;
    struct executor *executor = pipe->executor;
    if (!executor)
        return;
    if (status < 0) {
        executor_lose(executor, word_of(status), sentence_of(status));
        return;
    }
    executor_enter(executor, GREETING);
    struct frame hello = { .type = FRAME_HELLO };
    uv_read_start((uv_stream_t *)&pipe->handle, on_room, on_read);
    if (!send_frame(executor, &hello))
        executor_lose(executor, "unreachable",
                      "the greeting could not be sent");
}

static void try_connect(struct executor *executor)
{
    struct executor_pipe *pipe = calloc(1, sizeof(*pipe));
    if (!pipe)
        abort();
    uv_pipe_init(executor->loop, &pipe->handle, 0);
    pipe->handle.data = pipe;
    pipe->executor = executor;
    executor->pipe = pipe;
    executor_enter(executor, CONNECTING);
    alarm_set(executor->alarm, GREETING_MS);
    uv_pipe_connect(&pipe->connect, &pipe->handle, executor->path, on_connect);
}

static void on_alarm(void *owner)
{
    struct executor *executor = owner;
    if (executor->machine.state == BACKOFF)
        try_connect(executor);
    else
        executor_lose(executor, "silent",
                      "it has not answered within 5 seconds");
}

struct executor *executor_new(uv_loop_t *loop, const char *path)
{
    struct executor *executor = calloc(1, sizeof(*executor));
    if (!executor)
        abort();
    machine_init(&executor->machine, &kind, executor, CLOSED);
    executor->loop = loop;
    executor->path = view_dup(view_of(path));
    executor->off = strcmp(path, EXECUTOR_NONE) == 0;
    executor->backoff_ms = BACKOFF_MIN_MS;
    buf_init(&executor->input, MAX_FRAME_BYTES + 2 * READ_BYTES);
    executor->alarm = alarm_new(loop, on_alarm, executor);
    return executor;
}

void executor_open(struct executor *executor)
{
    if (!executor->off)
        try_connect(executor);
}

bool executor_is_off(const struct executor *executor)
{
    return executor->off;
}

bool executor_is_away(const struct executor *executor,
                      struct executor_absence *absence)
{
    if (executor->off || !executor->word)
        return false;
    *absence = (struct executor_absence){
        .word = executor->word,
        .text = executor->reason,
        .since_ms = executor->away_since,
        .ms = uv_now(executor->loop) - executor->away_ms,
    };
    return true;
}

void executor_notify(struct executor *executor, void (*on_state)(void *owner),
                     void *owner)
{
    executor->on_state = on_state;
    executor->state_owner = owner;
}

bool executor_is_ready(const struct executor *executor)
{
    return executor->machine.state == READY;
}

bool executor_counts(const struct executor *executor)
{
    return executor->machine.state == READY && executor->counts;
}

const char *executor_libraries(const struct executor *executor)
{
    return executor->libraries;
}

const char *executor_isolation(const struct executor *executor)
{
    return executor->isolation;
}

void executor_free(struct executor *executor)
{
    if (!executor)
        return;
    if (executor->machine.state != CLOSED)
        executor_enter(executor, CLOSED);
    drop_pipe(executor);
    alarm_free(executor->alarm);
    buf_finish(&executor->input);
    free(executor->requests);
    free(executor->path);
    free(executor);
}

void executor_watch(struct executor *executor, struct executor_watch *watch)
{
    watch->previous = NULL;
    watch->next = executor->watches;
    if (watch->next)
        watch->next->previous = watch;
    executor->watches = watch;
}

void executor_unwatch(struct executor *executor, struct executor_watch *watch)
{
    if (watch->next)
        watch->next->previous = watch->previous;
    if (watch->previous)
        watch->previous->next = watch->next;
    else if (executor->watches == watch)
        executor->watches = watch->next;
    watch->next = watch->previous = NULL;
}
