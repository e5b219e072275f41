/* fuzz_consumer.c - whatever consumers send, the server stands, and answers in
 * whole frames.
 *
 * The input is a list of acts: what (a byte), how much (two bytes), and for
 * some as many bytes as that. */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "executor/base/wire.h"
#include "executor/warden/server.h"
#include "schemas/message/limits.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/world.h"

enum { CONSUMERS = 2 };

static struct {
    int fd; /* -1: not connected */
    struct buf heard;
} consumers[CONSUMERS];
static struct sockaddr_un address;
static socklen_t address_bytes;

/* The kernel chooses an abstract name. */
static int listen_somewhere(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    MUST(fd >= 0);
    address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    MUST(bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)) == 0);
    address_bytes = sizeof(address);
    MUST(getsockname(fd, (struct sockaddr *)&address, &address_bytes) == 0);
    return fd;
}

static void hang_up(size_t who)
{
    close_fd(&consumers[who].fd);
    buf_finish(&consumers[who].heard);
}

static void say(size_t who, struct view bytes)
{
    wire_send(consumers[who].fd, bytes, NULL, 0, MSG_DONTWAIT);
}

static void say_frame(size_t who, struct view body)
{
    char header[] = { 0, 0, (char)(body.len >> 8), (char)body.len };
    say(who, (struct view){ header, sizeof(header) });
    say(who, body);
}

static void say_known(size_t who, const struct frame *frame)
{
    CLEANUP(buf_finish) struct buf bytes = { .max = MAX_FRAME_BYTES };
    struct err err;
    MUST(frame_encode(&schema_frame, frame, &bytes, &err));
    say(who, buf_view(&bytes));
}

static void greet(size_t who)
{
    struct frame hello = { .type = FRAME_HELLO, .ref = 1 };
    hang_up(who);
    consumers[who].fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    buf_init(&consumers[who].heard, 2 * (size_t)MAX_FRAME_BYTES);
    MUST(connect(consumers[who].fd, (struct sockaddr *)&address,
                 address_bytes) == 0);
    say_known(who, &hello);
}

static void check_frames(struct buf *heard)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct frame frame;
    while (frame_take(heard, &schema_frame, &frame, &arena)) {
        MUST(frame.type >= FRAME_WELCOME);
        MUST(frame.type != FRAME_FAILED || frame.error.message.len > 0);
    }
}

static void hear(size_t who)
{
    struct buf *heard = &consumers[who].heard;
    for (ssize_t got = 1; got > 0 && consumers[who].fd >= 0;) {
        char *room = buf_reserve(heard, 1 << 16);
        MUST(room != NULL);
        got = recv(consumers[who].fd, room, 1 << 16, MSG_DONTWAIT);
        heard->len += got > 0 ? (size_t)got : 0;
        check_frames(heard);
        if (got == 0)
            hang_up(who);
        world_settle(); /* there is room for more */
    }
}

/* A cell that waits is over. */
static void end_cell(size_t much)
{
    struct guest *guest = guest_find(false);
    if (guest && much & 1)
        guest_die(guest);
    else if (guest)
        guest_say(guest, &(struct guest_frame){ .type = GUEST_DONE,
                                                .nonce = world.nonces });
}

static void print_much(void)
{
    static char bytes[60000];
    struct guest *guest = guest_find(false);
    for (int i = 0; guest && i < 40; i++) {
        guest_print(guest, (struct view){ bytes, sizeof(bytes) });
        world_settle();
    }
}

/* What sessions are mostly asked, with the session and call that are alike. */
static void ask(size_t who, size_t much)
{
    static const char *const names[] = { "a", "b", "c", "d", "e" };
    static const int types[] = { FRAME_OPEN,   FRAME_RUN,    FRAME_INTERRUPT,
                                 FRAME_PUT,    FRAME_GET,    FRAME_LIST,
                                 FRAME_CLOSE,  FRAME_FORGET, FRAME_SESSIONS,
                                 FRAME_NUMBERS };
    struct frame frame = {
        .type = types[much % 10],
        .ref = much,
        .session = view_of(names[much / 10 % 5]),
        .call = view_of(names[much / 50 % 5]),
        .code = much & 0x100 ? VIEW("wait") : VIEW("1"),
        .name = much & 0x200 ? VIEW("d/f") : VIEW("f"),
        .data = VIEW("bytes of a file"),
        .offset = much & 0x400 ? much : 0,
        .last = much & 0x800,
        .limits = { much & 0x1000 ? 1 << 20 : 0, 0, 0 },
    };
    say_known(who, &frame);
}

static void act(unsigned int what, size_t who, size_t much, struct view bytes)
{
    switch (what) {
    case 0:
        say_frame(who, bytes);
        break;
    case 1:
        say(who, bytes);
        break;
    case 2:
    case 3:
        ask(who, much);
        break;
    case 4:
        hear(who);
        break;
    case 5:
        world_advance(much % 4096);
        break;
    case 6:
        end_cell(much);
        break;
    case 7:
        print_much();
        break;
    case 8:
        hang_up(who);
        break;
    default:
        greet(who);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct frame welcome = { .type = FRAME_WELCOME };
    struct err err;
    world_begin();
    struct server *server =
        server_new(&world.sessions, listen_somewhere(), &welcome, &err);
    MUST(server != NULL);
    for (size_t i = 0; i < CONSUMERS; i++) {
        consumers[i].fd = -1;
        greet(i);
    }
    for (size_t at = 0; at + 3 <= size;) {
        unsigned int what = data[at] % 20;
        size_t much = data[at + 1] | (size_t)data[at + 2] << 8;
        at += 3;
        size_t len = what / 2 < 2 ? much : 0;
        if (len > size - at)
            len = size - at;
        act(what / 2, what % 2, much,
            (struct view){ (const char *)data + at, len });
        at += len;
        world_settle();
    }
    for (size_t i = 0; i < CONSUMERS; i++) {
        hear(i);
        hang_up(i);
    }
    world_settle();
    server_free(server);
    world_end();
    return 0;
}
