/* boxes.c - executors, one on each host, as who sends them frames sees them. */
#include "tests/unit/attempt/boxes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/buf.h"
#include "schemas/message/limits.h"
#include "tests/unit/attempt/judge.h"

enum { CODE_BYTES = 4096, OUT_BYTES = 16384 };

struct run {
    struct run *next;
    struct box *box;
    char call[160];
    char *code, *line; /* the next one */
    struct buf out;
    uint64_t asked; /* calls of tools so far */
    bool asks;      /* one is open */
    char tool[32], arguments[96];
    bool over, forgotten;
    int status, state; /* of the cell */
    uint64_t ref;      /* who listens; 0: nobody */
    struct letter *letter;
};

struct later {
    struct later *next;
    struct buf frame;
    uint64_t ref;
};

struct box {
    struct box *next;
    int host;
    char name[80];
    char holder[32];
    bool used;
    struct run *runs, *running;
    struct later *later; /* requests behind the cell that runs */
};

struct said {
    int host;
    uint64_t plug;
    uint64_t ref;
    struct buf frame;
};

static struct box *boxes;
static uint64_t holders;
static uint64_t plugs[HOSTS];
static struct lane lanes[HOSTS];

/* ------------------------------------------------------------------ saying */

static void on_said(void *about)
{
    struct said *said = about;
    struct arena arena = { 0 };
    struct frame frame;
    struct err err;
    if (said->plug == plugs[said->host]) {
        bool good = message_decode(&schema_frame, buf_view(&said->frame),
                                   &frame, &arena, &err);
        assert(good);
        executor_say(said->host, said->ref, &frame);
    }
    arena_finish(&arena);
    buf_finish(&said->frame);
    free(said);
}

static void say(int host, uint64_t ref, const struct frame *frame)
{
    struct said *said = calloc(1, sizeof(*said));
    struct err err;
    if (said == NULL)
        abort();
    *said = (struct said){ .host = host, .plug = plugs[host], .ref = ref };
    buf_init(&said->frame, MAX_FRAME_BYTES);
    bool good = message_encode(&schema_frame, frame, &said->frame, &err);
    assert(good);
    post(&lanes[host], chance_delay() / 2, on_said, said);
}

static void answer(int host, uint64_t ref, int type)
{
    struct frame frame = { .type = type, .ref = ref };
    if (type == FRAME_FAILED)
        frame.error = (struct result_error){ .kind = VIEW("reject"),
                                             .code = VIEW("unknown"),
                                             .message = VIEW("not here") };
    if (ref != 0)
        say(host, ref, &frame);
}

static void fail_for_now(int host, uint64_t ref)
{
    struct frame frame = {
        .type = FRAME_FAILED,
        .ref = ref,
        .error = { .kind = VIEW("retry"),
                   .code = VIEW("busy"),
                   .message = VIEW("no room just now"),
                   .retryable = true },
    };
    say(host, ref, &frame);
}

/* ------------------------------------------------------------------- cells */

static void say_output(struct run *run, uint64_t offset, struct view bytes)
{
    struct frame frame = { .type = FRAME_OUTPUT,
                           .ref = run->ref,
                           .call = view_of(run->call),
                           .stream = VIEW("stdout"),
                           .offset = offset,
                           .data = bytes };
    if (run->ref != 0 && bytes.len > 0)
        say(run->box->host, run->ref, &frame);
}

static void say_tool(struct run *run)
{
    struct frame frame = { .type = FRAME_TOOL,
                           .ref = run->ref,
                           .call = view_of(run->call),
                           .number = run->asked,
                           .name = view_of(run->tool),
                           .data = view_of(run->arguments) };
    if (run->ref != 0)
        say(run->box->host, run->ref, &frame);
}

static void say_done(struct run *run, bool fresh)
{
    struct frame frame = {
        .type = FRAME_DONE,
        .ref = run->ref,
        .call = view_of(run->call),
        .fresh = fresh,
        .cell = { .status = run->status,
                  .state = run->state,
                  .out_bytes = run->out.len,
                  .ms = 5 },
    };
    if (run->status == CELL_ERROR) {
        frame.cell.error.name = VIEW("ValueError");
        frame.cell.error.value = VIEW("raised");
    }
    if (run->state != CELL_KEPT)
        frame.cell.reason = VIEW("it was killed");
    if (run->ref != 0)
        say(run->box->host, run->ref, &frame);
}

static void end_run(struct run *run, int status, int state);

static void print(struct run *run, struct view text)
{
    uint64_t offset = run->out.len;
    buf_add(&run->out, text);
    buf_add(&run->out, VIEW("\n"));
    say_output(run, offset,
               (struct view){ run->out.data + offset, run->out.len - offset });
}

static void on_line(void *about);

static void go_on(struct run *run, uint64_t after_us)
{
    run->letter = post(NULL, after_us, on_line, run);
}

static void ask_tool(struct run *run, const char *line, size_t name_len)
{
    const char *word = strchr(line, '\'') + 1;
    snprintf(run->tool, sizeof(run->tool), "%.*s", (int)name_len, line);
    snprintf(run->arguments, sizeof(run->arguments), "{\"word\": \"%.*s\"}",
             (int)strcspn(word, "'"), word);
    run->asks = true;
    run->asked++;
    say_tool(run);
}

static void on_line(void *about)
{
    struct run *run = about;
    char *line = run->line, *end = strchr(line, '\n');
    run->letter = NULL;
    if (end == NULL) {
        end_run(run, CELL_OK, CELL_KEPT);
        return;
    }
    run->line = end + 1;
    size_t name_len = strcspn(line, "(");
    struct view name = { line, name_len };
    if (view_is(name, "print")) {
        char *word = strchr(line, '\'') + 1;
        print(run, (struct view){ word, strcspn(word, "'") });
        go_on(run, chance_delay());
    } else if (view_is(name, "rest")) {
        go_on(run, chance(20 * 1000 * 1000));
    } else if (view_is(name, "raise")) {
        end_run(run, CELL_ERROR, CELL_KEPT);
    } else if (view_is(name, "crash")) {
        end_run(run, CELL_CRASHED, CELL_ROLLED_BACK);
    } else {
        ask_tool(run, line, name_len);
    }
}

static void do_later(struct box *box)
{
    struct later *later = box->later;
    struct arena arena = { 0 };
    struct frame frame;
    struct err err;
    if (later == NULL || box->running != NULL)
        return;
    int host = box->host;
    box->later = later->next;
    bool good = message_decode(&schema_frame, buf_view(&later->frame), &frame,
                               &arena, &err);
    assert(good);
    boxes_hear(host, &frame, later->ref);
    arena_finish(&arena);
    buf_finish(&later->frame);
    free(later);
}

static void end_run(struct run *run, int status, int state)
{
    letter_burn(run->letter);
    run->letter = NULL;
    run->over = true;
    run->asks = false;
    run->status = status;
    run->state = state;
    trace("executor: cell %s ends, status %d", run->call, status);
    say_done(run, true);
    run->box->running = NULL;
    do_later(run->box);
}

static struct run *find_run(struct box *box, struct view call)
{
    struct run *run = box->runs;
    while (run != NULL && !view_is(call, run->call))
        run = run->next;
    return run;
}

static void put_off(struct box *box, const struct frame *frame, uint64_t ref)
{
    struct later *later = calloc(1, sizeof(*later)), **end = &box->later;
    struct err err;
    if (later == NULL)
        abort();
    while (*end != NULL)
        end = &(*end)->next;
    *end = later;
    later->ref = ref;
    buf_init(&later->frame, MAX_FRAME_BYTES);
    message_encode(&schema_frame, frame, &later->frame, &err);
}

static void attach(struct run *run, uint64_t ref)
{
    run->ref = ref;
    if (!run->forgotten)
        say_output(run, 0, buf_view(&run->out));
    if (run->over)
        say_done(run, false);
    else if (run->asks)
        say_tool(run);
}

/* call: without the job's id. */
static bool has_run(const void *box, const char *call)
{
    const struct run *run = ((const struct box *)box)->runs;
    while (run != NULL && strcmp(strchr(run->call, '/') + 1, call) != 0)
        run = run->next;
    return run != NULL;
}

static void begin_run(struct box *box, const struct frame *frame, uint64_t ref)
{
    struct run *run = calloc(1, sizeof(*run));
    if (run == NULL)
        abort();
    run->next = box->runs;
    box->runs = box->running = run;
    run->box = box;
    run->ref = ref;
    run->code = run->line = view_dup(frame->code);
    snprintf(run->call, sizeof(run->call), "%.*s", VIEW_ARG(frame->call));
    buf_init(&run->out, OUT_BYTES);
    box->used = true;
    trace("executor: cell %s begins in %s of host %d", run->call, box->holder,
          box->host);
    judge_cell(box->holder, frame->call, frame->code, has_run, box);
    go_on(run, chance_delay());
}

/* What is no cell of the job: names are saved, or brought back. */
static void run_task(struct box *box, const struct frame *frame, uint64_t ref)
{
    struct frame done = { .type = FRAME_DONE,
                          .ref = ref,
                          .call = frame->call,
                          .fresh = true,
                          .cell = { .result = VIEW("{}") } };
    if (ref == 0)
        return;
    if (frame->task == TASK_SAVE)
        done.picture = VIEW("a picture of its names");
    box->used = true;
    say(box->host, ref, &done);
}

static void hear_run(struct box *box, const struct frame *frame, uint64_t ref)
{
    struct run *known = find_run(box, frame->call);
    if (frame->task == TASK_CODE && known != NULL)
        attach(known, ref);
    else if (box->running != NULL)
        put_off(box, frame, ref);
    else if (frame->task == TASK_CODE)
        begin_run(box, frame, ref);
    else
        run_task(box, frame, ref);
}

/* ------------------------------------------------------------------- boxes */

static void free_run(struct run *run)
{
    letter_burn(run->letter);
    buf_finish(&run->out);
    free(run->code);
    free(run);
}

static void free_box(struct box *box)
{
    struct box **link = &boxes;
    while (*link != box)
        link = &(*link)->next;
    *link = box->next;
    while (box->runs != NULL) {
        struct run *run = box->runs;
        box->runs = run->next;
        free_run(run);
    }
    while (box->later != NULL) {
        struct later *later = box->later;
        box->later = later->next;
        buf_finish(&later->frame);
        free(later);
    }
    free(box);
}

static struct box *find_box(int host, struct view name)
{
    struct box *box = boxes;
    while (box != NULL && (box->host != host || !view_is(name, box->name)))
        box = box->next;
    return box;
}

static void hear_open(int host, const struct frame *frame, uint64_t ref)
{
    struct box *box = find_box(host, frame->session);
    if (!world.calm && chance_of(world.trouble / 3)) {
        fail_for_now(host, ref);
        return;
    }
    if (box == NULL) {
        box = calloc(1, sizeof(*box));
        if (box == NULL)
            abort();
        box->next = boxes;
        boxes = box;
        box->host = host;
        snprintf(box->name, sizeof(box->name), "%.*s",
                 VIEW_ARG(frame->session));
        snprintf(box->holder, sizeof(box->holder), "holder-%llu",
                 (unsigned long long)++holders);
        trace("executor: %s is made on host %d", box->holder, host);
    }
    struct frame opened = { .type = FRAME_OPENED,
                            .ref = ref,
                            .fresh = !box->used,
                            .call = box->running != NULL
                                        ? view_of(box->running->call)
                                        : (struct view){ 0 },
                            .holder = view_of(box->holder) };
    say(host, ref, &opened);
}

static void hear_answer(struct box *box, const struct frame *frame)
{
    struct run *run = find_run(box, frame->call);
    if (run == NULL || run->over || !run->asks || run->asked != frame->number)
        return;
    run->asks = false;
    print(run, frame->error.code.len > 0 ? frame->error.code : frame->data);
    go_on(run, chance_delay());
}

static void hear_close(struct box *box, uint64_t ref)
{
    int host = box->host;
    struct run *run = box->running;
    trace("executor: %s of host %d is closed", box->holder, host);
    if (run != NULL && run->ref != 0)
        answer(host, run->ref, FRAME_FAILED);
    free_box(box);
    answer(host, ref, FRAME_OK);
}

static void hear_get(struct box *box, const struct frame *frame, uint64_t ref)
{
    struct frame chunk = { .type = FRAME_CHUNK,
                           .ref = ref,
                           .name = frame->name,
                           .data = VIEW("bytes"),
                           .last = true };
    say(box->host, ref, &chunk);
}

static void hear_of(struct box *box, const struct frame *frame, uint64_t ref)
{
    struct run *run = find_run(box, frame->call);
    switch (frame->type) {
    case FRAME_RUN:
        hear_run(box, frame, ref);
        break;
    case FRAME_INTERRUPT:
        if (box->running != NULL)
            end_run(box->running, CELL_INTERRUPTED, CELL_KEPT);
        break;
    case FRAME_PUT:
        if (frame->last)
            answer(box->host, ref, FRAME_OK);
        break;
    case FRAME_GET:
        hear_get(box, frame, ref);
        break;
    case FRAME_LIST:
        answer(box->host, ref, FRAME_LISTING);
        break;
    case FRAME_CLOSE:
        hear_close(box, ref);
        break;
    case FRAME_FORGET:
        if (run != NULL)
            run->forgotten = true;
        answer(box->host, ref, run != NULL ? FRAME_OK : FRAME_FAILED);
        break;
    case FRAME_ANSWER:
        hear_answer(box, frame);
        break;
    default:
        demand(false, "known_frames", "frame of type %d", frame->type);
    }
}

void boxes_hear(int host, const struct frame *frame, uint64_t ref)
{
    struct box *box = find_box(host, frame->session);
    trace("host %d -> executor: %s %.*s", host, frame_type_names[frame->type],
          VIEW_ARG(frame->call));
    if (frame->type == FRAME_OPEN)
        hear_open(host, frame, ref);
    else if (box != NULL)
        hear_of(box, frame, ref);
    else
        answer(host, ref, frame->type == FRAME_CLOSE ? FRAME_OK : FRAME_FAILED);
}

void boxes_unplug(int host)
{
    plugs[host]++;
    for (struct box *box = boxes; box; box = box->next)
        for (struct run *run = box->runs; run && box->host == host;
             run = run->next)
            run->ref = 0;
}

void boxes_die(int host)
{
    struct box *next;
    plugs[host]++;
    for (struct box *box = boxes; box; box = next) {
        next = box->next;
        if (box->host != host)
            continue;
        if (box->running != NULL)
            judge_cell_lost(view_of(box->running->call));
        free_box(box);
    }
}

size_t boxes_of(int host, const char *name)
{
    size_t count = 0;
    for (struct box *box = boxes; box; box = box->next)
        count += box->host == host && strcmp(box->name, name) == 0;
    return count;
}

size_t boxes_running(int host)
{
    size_t count = 0;
    for (struct box *box = boxes; box; box = box->next)
        count += box->host == host && box->running != NULL;
    return count;
}

void boxes_reset(void)
{
    while (boxes != NULL)
        free_box(boxes);
    holders = 0;
    for (int host = 0; host < HOSTS; host++)
        lanes[host] = (struct lane){ 0 };
}
