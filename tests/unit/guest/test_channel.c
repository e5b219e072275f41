/* Frames over a socket: whole, in pieces, with descriptors, and broken. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "executor/guest/channel.h"
#include "schemas/message/limits.h"

struct ends {
    int ours, theirs;
    struct buf bytes;
    struct arena arena;
    struct frame_fds frame_fds;
    struct err err;
};

static int open_ends(void **state)
{
    static struct ends ends;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ends = (struct ends){ .ours = pair[0], .theirs = pair[1] };
    buf_init(&ends.bytes, MAX_FRAME_BYTES + FRAME_HEADER_BYTES);
    *state = &ends;
    return 0;
}

static int close_ends(void **state)
{
    struct ends *ends = *state;

    close(ends->ours);
    close(ends->theirs);
    buf_finish(&ends->bytes);
    arena_finish(&ends->arena);
    frame_fds_close(&ends->frame_fds);
    return 0;
}

static bool read_frame(struct ends *ends, struct guest_frame *frame)
{
    return channel_read(ends->ours, frame, &ends->bytes, &ends->arena,
                        &ends->frame_fds, &ends->err);
}

static void a_frame_arrives_as_it_was_sent(void **state)
{
    struct ends *ends = *state;
    struct guest_frame frame = { .type = GUEST_CELL,
                                 .nonce = UINT64_MAX,
                                 .code = VIEW("x = 'é'\0") };
    struct guest_frame got;

    assert_true(channel_write(ends->theirs, &frame, -1, &ends->err));
    assert_true(channel_write(ends->theirs, &frame, -1, &ends->err));
    for (int i = 0; i < 2; i++) {
        assert_true(read_frame(ends, &got));
        assert_int_equal(got.type, GUEST_CELL);
        assert_true(got.nonce == UINT64_MAX);
        assert_true(view_equal(got.code, frame.code));
        assert_int_equal(ends->frame_fds.count, 0);
    }
}

static void a_descriptor_rides_along_with_its_own_frame(void **state)
{
    struct ends *ends = *state;
    struct guest_frame plain = { .type = GUEST_READY };
    struct guest_frame forked = { .type = GUEST_FORKED, .number = 7 };
    struct guest_frame got;

    assert_true(channel_write(ends->theirs, &plain, -1, &ends->err));
    assert_true(channel_write(ends->theirs, &forked, ends->theirs, &ends->err));
    assert_true(read_frame(ends, &got));
    assert_int_equal(ends->frame_fds.count, 0);
    assert_true(read_frame(ends, &got));
    assert_int_equal(ends->frame_fds.count, 1);
    assert_int_equal(fcntl(ends->frame_fds.fds[0], F_GETFD), FD_CLOEXEC);
}

/* Sends the header of an empty frame with count descriptors. */
static void send_crowd(int fd, size_t count)
{
    char control[CMSG_SPACE(sizeof(int) * 64)] = { 0 };
    unsigned char header[] = { 0, 0, 0, 1, 0x80 };
    struct iovec part = { header, sizeof(header) };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control,
                              .msg_controllen =
                                  CMSG_SPACE(sizeof(int) * count) };
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * count);
    for (size_t i = 0; i < count; i++)
        memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
    assert_int_equal(sendmsg(fd, &message, 0), sizeof(header));
}

static void more_descriptors_than_there_is_room_for_are_dropped(void **state)
{
    struct ends *ends = *state;
    struct guest_frame got;
    int next = dup(ends->ours);

    send_crowd(ends->theirs, FORK_FDS + 5);
    assert_false(read_frame(ends, &got)); /* it has no type */
    assert_int_equal(ends->frame_fds.count, FORK_FDS);
    frame_fds_close(&ends->frame_fds);
    assert_int_equal(dup(ends->ours), next + 1); /* nothing stayed open */
    close(next + 1);
    close(next);
}

static void a_large_frame_arrives_in_pieces(void **state)
{
    enum { BYTES = 4 << 20 };
    struct ends *ends = *state;
    char *data = test_calloc(1, BYTES);
    struct pair pair = { VIEW("image/png"), { data, BYTES } };
    struct guest_frame frame = { .type = GUEST_DISPLAY,
                                 .bundle = { &pair, 1 } };
    struct guest_frame got;

    pid_t writer = fork();
    if (writer == 0)
        _exit(!channel_write(ends->theirs, &frame, -1, &ends->err));
    assert_true(read_frame(ends, &got));
    assert_int_equal(got.bundle.count, 1);
    assert_int_equal(((struct pair *)got.bundle.items)->value.len, BYTES);
    waitpid(writer, NULL, 0);
    test_free(data);
}

static const struct broken {
    const char *name;
    struct view bytes;
    const char *code; /* of the error; NULL: none, it is the end */
} broken[] = {
    { "nothing", { "", 0 }, NULL },
    { "half a header", { "\0\0", 2 }, "internal" },
    { "a header only", { "\0\0\0\5", 4 }, "internal" },
    { "half a body", { "\0\0\0\5\x81\xa1", 6 }, "internal" },
    { "an empty body", { "\0\0\0\0", 4 }, "bad_message" },
    { "a body of 4 GiB", { "\xff\xff\xff\xff", 4 }, "bad_message" },
    { "not MessagePack", { "\0\0\0\1\xc1", 5 }, "bad_message" },
    { "a list of 4 G items",
      { "\0\0\0\5\xdd\xff\xff\xff\xff", 9 },
      "bad_message" },
};

static void a_broken_frame_is_refused(void **state)
{
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct guest_frame got;
        struct ends *ends;
        open_ends(state);
        ends = *state;
        assert_int_equal(
            write(ends->theirs, broken[i].bytes.data, broken[i].bytes.len),
            broken[i].bytes.len);
        shutdown(ends->theirs, SHUT_WR);
        if (read_frame(ends, &got))
            fail_msg("%s: accepted", broken[i].name);
        if (strcmp(ends->err.code, broken[i].code ? broken[i].code : "") != 0)
            fail_msg("%s: error '%s'", broken[i].name, ends->err.code);
        close_ends(state);
    }
}

static void a_peer_that_is_gone_is_an_error_not_a_signal(void **state)
{
    struct ends *ends = *state;
    struct guest_frame frame = { .type = GUEST_READY };

    close(ends->ours);
    ends->ours = -1;
    assert_false(channel_write(ends->theirs, &frame, -1, &ends->err));
    assert_string_equal(ends->err.text, "channel: Broken pipe");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_ends, close_ends)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_frame_arrives_as_it_was_sent),
        TEST(a_descriptor_rides_along_with_its_own_frame),
        TEST(more_descriptors_than_there_is_room_for_are_dropped),
        TEST(a_large_frame_arrives_in_pieces),
        TEST(a_peer_that_is_gone_is_an_error_not_a_signal),
        cmocka_unit_test(a_broken_frame_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
