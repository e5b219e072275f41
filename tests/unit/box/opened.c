/* opened.c - boxes for tests, as the warden has them made. */
#include "tests/unit/box/opened.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct box_word box_receive(int channel, int *fds, size_t *count)
{
    struct box_word word = { .kind = -1 };
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * BOX_FDS)];
    } control;
    struct iovec bytes = { &word, sizeof(word) };
    struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    assert_int_equal(recvmsg(channel, &message, MSG_CMSG_CLOEXEC),
                     sizeof(word));
    *count = 0;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    if (rights) {
        *count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(rights), *count * sizeof(int));
    }
    return word;
}

/* It enters no cgroups: what it writes to the doors goes nowhere. */
static void send_order(int maker, int channel)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * ORDER_POOL)];
    } control = { 0 };
    struct box_order order = { .disk_bytes = DISK_BYTES };
    struct iovec bytes = { &order, sizeof(order) };
    struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC), fds[ORDER_POOL];
    for (size_t i = 0; i < ORDER_POOL; i++)
        fds[i] = i == ORDER_CHANNEL ? channel : null;
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
    assert_int_equal(sendmsg(maker, &message, 0), sizeof(order));
    close(null);
}

static void open_pair(int pair[2])
{
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

struct box box_open(void)
{
    struct box box = { 0 };
    int orders[2], pair[2];
    open_pair(orders);
    open_pair(pair);
    box.channel = pair[0];
    pid_t maker = fork();
    if (maker == 0) {
        dup2(orders[1], BOX_CHANNEL);
        execl(QUERN_BOX, "quern-box", NULL);
        _exit(127);
    }
    send_order(orders[0], pair[1]);
    close(pair[1]);
    close(orders[0]); /* what was ordered is made all the same */
    close(orders[1]);
    struct box_word word = box_receive(box.channel, box.fds, &box.count);
    if (word.kind != BOX_UP)
        fail_msg("no box: %s", word.text);
    assert_in_range(box.count, BOX_FD_DOOR, BOX_FDS);
    assert_int_equal(waitpid(maker, NULL, 0), maker);
    return box;
}

void box_close(struct box *box)
{
    struct pollfd ended = { box->fds[BOX_FD_INIT], POLLIN, 0 };
    close(box->channel);
    assert_int_equal(poll(&ended, 1, -1), 1);
    for (size_t i = 0; i < box->count; i++)
        close(box->fds[i]);
}

struct box_word box_sweep(const struct box *box, pid_t keep)
{
    struct box_word word = { .kind = BOX_SWEEP, .keep = { keep } };
    int fds[BOX_FDS];
    size_t count;
    assert_int_equal(send(box->channel, &word, sizeof(word), 0), sizeof(word));
    word = box_receive(box->channel, fds, &count);
    assert_int_equal(word.kind, BOX_SWEPT);
    return word;
}

bool become_nobody(void)
{
    return geteuid() != 0 ||
           (setgroups(0, NULL) == 0 && setresgid(61184, 61184, 61184) == 0 &&
            setresuid(61184, 61184, 61184) == 0);
}
