/* guests.c - boxes, births and whoever lives there, without a process. */
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executor/base/wire.h"
#include "executor/warden/memory.h"
#include "executor/warden/process.h"
#include "schemas/message/limits.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/world.h"

struct box {
    struct box *next;
    struct box_events events;
    struct loop_alarm *answer; /* to sweeps */
    size_t sweeps;
    pid_t spared; /* by the last of them: the snapshot */
    bool ends_runner;
    char folder[64];
    int workspace;
};

struct interpreter_pool {
    int unused;
};
struct zygote {
    struct child_process *wanted;
    struct loop_alarm *pace;
};
struct install {
    struct install *next;
    struct install_request request;
    bool worked;
};

static struct zygote zygote;
static struct install *installs;
static struct box_request *requests;

/* --------------------------------------------------------------- processes */

/* A guest may send any descriptor: those of a process are events here. */
pid_t process_pid(int pidfd)
{
    char path[32], target[32] = "";
    snprintf(path, sizeof(path), "/proc/self/fd/%d", pidfd);
    if (readlink(path, target, sizeof(target) - 1) < 0 ||
        strcmp(target, "anon_inode:[eventfd]") != 0)
        return 0;
    return pidfd + 2;
}

void process_spare(int pidfd, bool spare)
{
    (void)pidfd;
    (void)spare;
}

static struct guest *guest_new(int channel, int out, int trace, int process)
{
    struct guest *guest = NULL;
    MUST(channel >= 0 && trace >= 0 && process >= 0);
    for (size_t i = 0; i < GUESTS && !guest; i++)
        if (world.guests[i].channel < 0)
            guest = &world.guests[i];
    MUST(guest != NULL);
    *guest = (struct guest){ .channel = channel, .out = out, .trace = trace };
    guest->process = process;
    buf_init(&guest->heard, 2 * (size_t)MAX_FRAME_BYTES);
    return guest;
}

struct guest *guest_find(bool parked)
{
    for (size_t i = GUESTS; i-- > 0;)
        if (world.guests[i].channel >= 0 && world.guests[i].parked == parked)
            return &world.guests[i];
    return NULL;
}

void guest_die(struct guest *guest)
{
    eventfd_write(guest->process, 1);
    close(guest->process);
    close_fd(&guest->channel);
    close_fd(&guest->out);
    close_fd(&guest->trace);
    buf_finish(&guest->heard);
}

void guests_finish(void)
{
    for (size_t i = 0; i < GUESTS; i++)
        if (world.guests[i].channel >= 0)
            guest_die(&world.guests[i]);
    alarm_free(zygote.pace);
    MUST(!zygote.wanted && !installs && !requests);
    zygote = (struct zygote){ 0 };
}

/* ------------------------------------------------------------------ births */

static void on_pace(void *owner)
{
    struct child_process *child = zygote.wanted;
    (void)owner;
    if (!child)
        return;
    zygote.wanted = child->next;
    if (zygote.wanted)
        alarm_set(zygote.pace, 0);
    int process = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct guest *guest =
        guest_new(fcntl(child->ends[0], F_DUPFD_CLOEXEC, 0),
                  fcntl(child->ends[1], F_DUPFD_CLOEXEC, 0),
                  fcntl(child->ends[3], F_DUPFD_CLOEXEC, 0), process);
    fcntl(guest->out, F_SETFL, O_NONBLOCK);
    child->pid = ++world.births;
    child->on_forked(child->owner, fcntl(process, F_DUPFD_CLOEXEC, 0));
    guest_say(guest, &(struct guest_frame){ .type = GUEST_READY });
}

void zygote_fork(struct zygote *its, struct child_process *child)
{
    struct child_process **last = &its->wanted;
    while (*last)
        last = &(*last)->next;
    *last = child;
    child->next = NULL;
    child->pid = 0;
    if (!its->pace)
        its->pace = alarm_new(&world.loop, on_pace, NULL);
    alarm_set(its->pace, 0);
}

bool zygote_starts(const struct zygote *its)
{
    return its == &zygote;
}

void zygote_forget(struct zygote *its, struct child_process *child)
{
    for (struct child_process **link = &its->wanted; *link;
         link = &(*link)->next)
        if (*link == child) {
            *link = child->next;
            return;
        }
}

struct interpreter *pool_take(struct interpreter_pool *pool,
                              enum profile profile,
                              const struct session_limits *limits)
{
    (void)pool;
    (void)profile;
    (void)limits;
    return NULL;
}

size_t pool_ready(const struct interpreter_pool *pool)
{
    (void)pool;
    return 0;
}

struct zygote *pool_zygote(struct interpreter_pool *pool, enum profile profile)
{
    (void)pool;
    (void)profile;
    return &zygote;
}

/* ------------------------------------------------------------------- boxes */

/* The runner that is to end is whoever is not spared: each hears of it. */
static void on_answer(void *owner)
{
    struct box *box = owner;
    const struct box_events events = box->events;
    bool clean = !world.dirty, ends = box->ends_runner;
    pid_t spared = box->spared;
    box->sweeps = 0;
    box->ends_runner = false;
    /* A callback may release the box, but not while it waits for the other. */
    for (pid_t pid = 2; ends && clean && pid < 512; pid++)
        if (pid != spared)
            events.on_ended(events.owner, pid, SIGKILL);
    events.on_swept(events.owner, clean);
}

bool boxes_take(struct boxes *boxes, struct box_request *request)
{
    (void)boxes;
    if (world.boxless) {
        request->waiting = true;
        request->next = requests;
        requests = request;
        return false;
    }
    struct box *box = allocate(sizeof(*box));
    snprintf(box->folder, sizeof(box->folder), "/dev/shm/quern-fuzz-XXXXXX");
    MUST(mkdtemp(box->folder) != NULL);
    box->workspace = open(box->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    MUST(box->workspace >= 0);
    box->answer = alarm_new(&world.loop, on_answer, box);
    request->box = box;
    request->err = (struct err){ 0 };
    return true;
}

void boxes_forget(struct boxes *boxes, struct box_request *request)
{
    struct box_request **link = &requests;
    (void)boxes;
    while (*link != request)
        link = &(*link)->next;
    *link = request->next;
    request->waiting = false;
}

/* One is to be made in the place of another, which fails. */
static void refuse_wishes(void)
{
    while (requests) {
        struct box_request *request = requests;
        requests = request->next;
        request->waiting = false;
        err_set(&request->err, ERR_RETRY, "session_failed", "there is no box");
        request->on_answer(request->owner);
    }
}

static int remove_one(const char *path, const struct stat *status, int type,
                      struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void box_release(struct box *box)
{
    if (!box)
        return;
    alarm_free(box->answer);
    close(box->workspace);
    MUST(nftw(box->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
    free(box);
    refuse_wishes();
}

void box_use(struct box *box, struct box_events events)
{
    box->events = events;
}

void box_sweep(struct box *box, const pid_t keep[BOX_KEPT])
{
    box->sweeps++;
    box->spared = keep[1];
    box->ends_runner |= keep[0] == 0;
    alarm_set(box->answer, 0);
}

const int *box_namespaces(const struct box *box)
{
    (void)box;
    return NULL;
}
bool box_has_own_user(const struct box *box)
{
    (void)box;
    return false;
}
bool box_is_folder(const struct box *box)
{
    (void)box;
    return false;
}

int box_workspace(const struct box *box)
{
    return box->workspace;
}

/* A file with a number for a name stands for a process. */
int box_proc(const struct box *box)
{
    return box->workspace;
}

bool box_limit(struct box *box, const struct session_limits *limits,
               struct err *err)
{
    (void)box;
    (void)err;
    MUST(limits->memory_bytes <= world.settings.limits.memory_bytes);
    return true;
}

const char *box_packages(const struct box *box)
{
    return world.packages ? box->folder : NULL;
}

void box_name(struct box *box, const char *session)
{
    (void)box;
    (void)session;
}

/* ------------------------------------------------------------------ memory */

void memory_begin(const struct box *box)
{
    (void)box;
}

bool memory_exceeded(const struct box *box, uint64_t limit_bytes,
                     uint64_t *taken_bytes)
{
    (void)box;
    *taken_bytes = limit_bytes + 1;
    return world.hungry;
}

uint64_t memory_peak_bytes(const struct box *box)
{
    (void)box;
    return 1;
}

uint64_t memory_kills(const struct box *box)
{
    (void)box;
    return world.hungry;
}

uint64_t memory_taken(const struct box *box)
{
    (void)box;
    return 1;
}

uint64_t memory_of(const struct box *box, pid_t pid)
{
    (void)box;
    (void)pid;
    return 1;
}

/* ---------------------------------------------------------------- packages */

struct install *install_new(struct packages *packages,
                            const struct install_request *request)
{
    struct install *install = allocate(sizeof(*install));
    (void)packages;
    MUST(request->folder &&
         (request->module.len > 0 || request->requirements.len > 0));
    *install = (struct install){ .next = installs, .request = *request };
    installs = install;
    return install;
}

void install_free(struct install *install)
{
    for (struct install **link = &installs; *link && install;
         link = &(*link)->next)
        if (*link == install) {
            *link = install->next;
            break;
        }
    free(install);
}

bool install_worked(const struct install *install)
{
    return install->worked;
}

const char *install_text(const struct install *install)
{
    return install->worked ? "installed x 1" : "there is no x";
}

bool installs_end(bool worked)
{
    struct install *install = installs;
    if (!install)
        return false;
    install->worked = worked;
    install->request.on_end(install->request.owner);
    return true;
}

/* -------------------------------------------------------- what guests say */

void guest_write(struct guest *guest, struct view bytes, int passenger)
{
    wire_send(guest->channel, bytes, &passenger, passenger >= 0, MSG_DONTWAIT);
}

static void say(struct guest *guest, const struct guest_frame *frame,
                int passenger)
{
    CLEANUP(buf_finish) struct buf out = { .max = MAX_FRAME_BYTES + 4 };
    struct err err;
    MUST(frame_encode(&schema_guest_frame, frame, &out, &err));
    guest_write(guest, buf_view(&out), passenger);
}

void guest_say(struct guest *guest, const struct guest_frame *frame)
{
    say(guest, frame, -1);
}

void guest_print(struct guest *guest, struct view bytes)
{
    if (guest->out >= 0 && write(guest->out, bytes.data, bytes.len) < 0)
        return; /* the pipe is full, and we do not wait */
}

void guest_trace(struct guest *guest, uint64_t cell, uint64_t line)
{
    dprintf(guest->trace,
            "Current thread (most recent call first):\n"
            "  File \"<cell-%llu>\", line %llu in f\n",
            (unsigned long long)cell, (unsigned long long)line);
}

/* A fork of it: it has the same streams, and says so with its own pidfd. */
static void park(struct guest *guest, int channel)
{
    static const struct guest_frame ready = { .type = GUEST_READY };
    int process = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int out = fcntl(guest->out, F_DUPFD_CLOEXEC, 0);
    int trace = fcntl(guest->trace, F_DUPFD_CLOEXEC, 0);
    struct guest *child = guest_new(channel, out, trace, process);
    child->parked = true;
    say(child, &ready, process);
    guest_say(guest, &ready);
}

static void obey(struct guest *guest, const struct guest_frame *frame,
                 int *passenger)
{
    if (frame->type == GUEST_CELL) {
        guest->parked = false;
        if (view_starts(frame->code, "wait"))
            return;
        guest_say(guest, &(struct guest_frame){ .type = GUEST_DONE,
                                                .nonce = frame->nonce,
                                                .result = VIEW("1") });
    } else if (frame->type == GUEST_SNAPSHOT && *passenger >= 0) {
        park(guest, take_fd(passenger));
    }
}

/* Of a silent one nothing comes. */
static void take_heard(struct guest *guest, int *passenger)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct guest_frame frame;
    while (frame_take(&guest->heard, &schema_guest_frame, &frame, &arena)) {
        world.last_cells += frame.type == GUEST_CELL && frame.last;
        if (!world.silent)
            obey(guest, &frame, passenger);
    }
}

/* 0: nothing came. */
static bool listen_to(struct guest *guest)
{
    int passenger = -1;
    size_t count = 1;
    char *room = buf_reserve(&guest->heard, 65536);
    MUST(room != NULL);
    ssize_t got = wire_receive(guest->channel, room, 65536, &passenger, &count,
                               MSG_DONTWAIT);
    if (got == 0) { /* the warden has done with it: so it ends */
        guest_die(guest);
        return true;
    }
    if (got < 0)
        return false;
    guest->heard.len += (size_t)got;
    take_heard(guest, &passenger);
    close_fd(&passenger);
    return true;
}

bool guests_listen(void)
{
    for (size_t i = 0; i < GUESTS; i++)
        if (world.guests[i].channel >= 0 && listen_to(&world.guests[i]))
            return true;
    return false;
}
