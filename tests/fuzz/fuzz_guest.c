/* fuzz_guest.c - whatever a guest does, its session ends as sessions do.
 *
 * The input is a list of acts: what (a byte), how much (a byte), and for some
 * as many bytes as that. What the warden then tells a consumer is checked. */
#include <string.h>

#include "executor/warden/image.h"
#include "executor/warden/output.h"
#include "schemas/message/limits.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/world.h"

enum { NO_RUN = 1 << 20 }; /* ref of everything else */

/* The consumer, who writes down what it is told. */
static struct {
    struct peer peer; /* first */
    uint64_t runs;    /* asked for; the ref of a run is its number */
    uint64_t done;
    size_t displays;
    uint64_t out_bytes[2];
    uint64_t call; /* of a tool, the last one */
    size_t open_calls;
    bool lags;
    bool closed;
} consumer;

static void check_display(const struct frame *frame)
{
    const struct pair *pairs = frame->bundle.items;
    MUST(++consumer.displays <= MAX_DISPLAYS && frame->bundle.count > 0);
    MUST(frame->number == consumer.displays);
    for (size_t i = 0; i < frame->bundle.count; i++) {
        struct image_size size;
        MUST(image_is_sound(pairs[i].key, pairs[i].value, &size));
    }
}

static void be_done(void)
{
    consumer.done++;
    consumer.displays = consumer.open_calls = 0;
    consumer.out_bytes[0] = consumer.out_bytes[1] = consumer.call = 0;
}

static void check_done(const struct frame *frame)
{
    const struct cell *cell = &frame->cell;
    MUST(cell->state == CELL_KEPT || cell->reason.len > 0);
    MUST(view_is_utf8(cell->reason));
    if (cell->status == CELL_TIMEOUT || cell->status == CELL_MEMORY ||
        cell->status == CELL_CRASHED)
        MUST(cell->reason.len > 0);
    MUST(cell->result.len == 0 || cell->status != CELL_CRASHED);
    MUST(frame->number == consumer.displays);
    be_done();
}

static void check_tool(const struct frame *frame)
{
    MUST(frame->number > consumer.call && frame->name.len > 0);
    consumer.call = frame->number;
    MUST(++consumer.open_calls <= MAX_OPEN_QUESTIONS);
}

static void check_output(const struct frame *frame)
{
    uint64_t *bytes = &consumer.out_bytes[view_is(frame->stream, "stderr")];
    bool end = *bytes == OUTPUT_MAX_BYTES;
    MUST(frame->type == FRAME_OUTPUT);
    MUST(end ? frame->offset >= *bytes : frame->offset == *bytes);
    *bytes += frame->data.len;
    MUST(*bytes <= OUTPUT_MAX_BYTES + (end ? OUTPUT_END_BYTES : 0));
}

static void hear(struct peer *peer, const struct frame *frame)
{
    CLEANUP(buf_finish) struct buf bytes = { .max = MAX_FRAME_BYTES + 4 };
    struct err err;
    (void)peer;
    MUST(frame_encode(&schema_frame, frame, &bytes, &err));
    MUST(frame->type != FRAME_FAILED || frame->error.message.len > 0);
    if (frame->ref == NO_RUN)
        return;
    MUST(frame->ref == consumer.done + 1); /* one after the other, once each */
    if (frame->type == FRAME_DISPLAY)
        check_display(frame);
    else if (frame->type == FRAME_TOOL)
        check_tool(frame);
    else if (frame->type == FRAME_DONE)
        check_done(frame);
    else if (frame->type == FRAME_FAILED)
        be_done(); /* there is no interpreter, or it was closed */
    else if (frame->type == FRAME_RESTART)
        consumer.displays = consumer.open_calls = consumer.call =
            consumer.out_bytes[0] = consumer.out_bytes[1] = 0;
    else
        check_output(frame);
}

static size_t backlog(const struct peer *peer)
{
    (void)peer;
    return consumer.lags ? PEER_HIGH_BYTES + 1 : 0;
}

static void no_relief(struct peer *peer)
{
    (void)peer;
}

static void ask(struct frame frame)
{
    CLEANUP(buf_finish) struct buf body = { .max = MAX_FRAME_BYTES };
    struct err err;
    frame.session = VIEW("s");
    MUST(message_encode(&schema_frame, &frame, &body, &err));
    struct peer_request *request =
        request_new(&consumer.peer, buf_view(&body), &err);
    MUST(request != NULL);
    sessions_ask(&world.sessions, request);
}

static void ask_run(bool waits)
{
    char call[24];
    if (consumer.closed || consumer.runs > consumer.done + 2)
        return;
    snprintf(call, sizeof(call), "c%llu", (unsigned long long)++consumer.runs);
    ask((struct frame){
        .type = FRAME_RUN,
        .ref = consumer.runs,
        .call = view_of(call),
        .code = waits ? VIEW("wait") : VIEW("1"),
        .tools = VIEW("[]"),
    });
}

static void answer_tool(uint64_t number)
{
    char call[24];
    snprintf(call, sizeof(call), "c%llu",
             (unsigned long long)consumer.done + 1);
    if (number > 0 && number <= consumer.call && consumer.open_calls > 0)
        consumer.open_calls--;
    ask((struct frame){
        .type = FRAME_ANSWER,
        .ref = NO_RUN,
        .call = view_of(call),
        .number = number,
        .data = VIEW("{}"),
    });
}

/* -------------------------------------------------------------------- acts */

static void say_frame(struct guest *guest, struct view body)
{
    char header[] = { 0, 0, (char)(body.len >> 8), (char)body.len };
    guest_write(guest, (struct view){ header, sizeof(header) }, -1);
    guest_write(guest, body, -1);
}

static void say_known(struct guest *guest, size_t which)
{
    static const struct pair png = { VIEW_INIT("image/png"), VIEW_INIT("x") };
    static const struct pair text = { VIEW_INIT("text/plain"), VIEW_INIT("x") };
    static const struct list bundles[] = {
        { .items = (void *)(uintptr_t)&png, .count = 1 },
        { .items = (void *)(uintptr_t)&text, .count = 1 },
    };
    struct guest_frame frame = { .nonce = world.nonces, .number = which };
    static const int types[] = { GUEST_DONE,    GUEST_DISPLAY, GUEST_TOOL,
                                 GUEST_INSTALL, GUEST_READY,   GUEST_EXITED };
    static const int words[] = { GUEST_FIGURE, GUEST_DRAWING };
    frame.type = which < 240 ? types[which % 6] : words[which % 2];
    frame.bundle = bundles[which / 6 % 2];
    frame.status = (int)(which % 4);
    frame.at_exit = which % 5 == 0;
    frame.name = VIEW("tool");
    frame.data = VIEW("{}");
    if (frame.type == GUEST_DONE && which > 200) {
        frame.status = CELL_ERROR;
        frame.missing = VIEW("numpy");
    }
    guest_say(guest, &frame);
}

static void act_on_guest(unsigned int what, size_t much, struct view bytes)
{
    struct guest *guest = guest_find(what & 1);
    if (!guest)
        return;
    switch (what >> 1) {
    case 0:
        say_frame(guest, bytes);
        break;
    case 1:
        guest_write(guest, bytes, -1);
        break;
    case 2:
        guest_print(guest, bytes);
        break;
    case 3:
        say_known(guest, much);
        break;
    default:
        guest_die(guest);
    }
}

static void act(unsigned int what, size_t much)
{
    switch (what) {
    case 0:
        world_advance(much);
        break;
    case 1:
        world_advance(much * 20);
        break;
    case 2:
        ask_run(much & 1);
        break;
    case 3:
        answer_tool(much);
        break;
    case 4:
        ask((struct frame){ .type = FRAME_INTERRUPT, .ref = NO_RUN });
        break;
    case 5:
        world.hungry = much & 1;
        world.dirty = much & 2;
        world.silent = much & 4;
        consumer.lags = much & 8;
        sessions_caught_up(&world.sessions);
        break;
    case 6:
        installs_end(much & 1);
        break;
    default:
        if (much == 'x') {
            ask((struct frame){ .type = FRAME_CLOSE, .ref = NO_RUN });
            consumer.closed = true;
        } else if (guest_find(false)) {
            guest_trace(guest_find(false), consumer.done + 1,
                        UINT64_MAX >> much % 64);
        }
    }
}

enum { GUEST_ACTS = 10, BYTES_BELOW = 6, ACTS = 18 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    world_begin();
    memset(&consumer, 0, sizeof(consumer));
    consumer.peer = (struct peer){ hear, backlog, no_relief, 0 };
    world.packages = size > 0 && data[0] & 1;
    if (world.packages)
        world.sessions.packages = (struct packages *)&world;
    ask((struct frame){ .type = FRAME_OPEN, .ref = NO_RUN });
    ask_run(true);
    world_settle();
    for (size_t at = 1; at + 2 <= size;) { /* it may take a while to leave */
        unsigned int what = data[at] % ACTS;
        size_t much = data[at + 1];
        at += 2;
        size_t len = what < BYTES_BELOW && much < size - at ? much : 0;
        struct view bytes = { (const char *)data + at, len };
        if (what < GUEST_ACTS)
            act_on_guest(what, much, bytes);
        else
            act(what - GUEST_ACTS, much);
        at += len;
        world_settle();
    }
    consumer.lags = world.hungry = world.dirty = world.silent = false;
    sessions_caught_up(&world.sessions);
    while (installs_end(false))
        world_settle();
    world_advance(20 * WAITS_MS);
    MUST(consumer.closed || consumer.done == consumer.runs);
    sessions_leave(&world.sessions, &consumer.peer);
    MUST(consumer.peer.queued_bytes == 0);
    world_end();
    return 0;
}
