/* guard.c - what holds while the code of a cell runs, and only then.
 *
 * This is for cells that go wrong, not against hostile ones: those own the
 * process, and the warden ends it from outside. */
#include "executor/guest/guard.h"

#include <Python.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    RESERVE_BYTES = 8 << 20, /* a traceback, its frame, and some to spare */
    STREAMS = 3,
    SPARE_FROM = 64, /* out of the way of low descriptors */
};

static struct {
    void *reserve;
    int spares[STREAMS]; /* duplicates of 0, 1, 2 */
    PyObject *set_signal;
    PyObject *raise_interrupt;
} guard;

/* Once, before any cell could replace them. */
static bool find_functions(void)
{
    /* Not "signal": it wraps these functions, to give enums. */
    PyObject *module = PyImport_ImportModule("_signal");

    if (!module)
        return false;
    guard.set_signal = PyObject_GetAttrString(module, "signal");
    guard.raise_interrupt =
        PyObject_GetAttrString(module, "default_int_handler");
    Py_DECREF(module);
    return guard.set_signal && guard.raise_interrupt;
}

bool guard_init(void)
{
    for (int fd = 0; fd < STREAMS; fd++)
        guard.spares[fd] = fcntl(fd, F_DUPFD_CLOEXEC, SPARE_FROM);
    return guard.set_signal || find_functions();
}

/* Only if twice as much is left: a cell that has hardly any memory must not
 * lose the rest, as it may be there to free some. */
static void take_reserve(void)
{
    char *twice = mmap(NULL, 2 * (size_t)RESERVE_BYTES, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (twice == MAP_FAILED)
        return;
    munmap(twice + RESERVE_BYTES, RESERVE_BYTES);
    guard.reserve = twice;
}

void guard_release(void)
{
    if (guard.reserve)
        munmap(guard.reserve, RESERVE_BYTES);
    guard.reserve = NULL;
}

/* A cell may have blocked SIGINT or set another handler: the warden's interrupt
 * must reach the next one all the same. */
void guard_listen(void)
{
    sigset_t interrupt;
    PyObject *before;

    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_UNBLOCK, &interrupt, NULL);
    before = PyObject_CallFunction(guard.set_signal, "iO", SIGINT,
                                   guard.raise_interrupt);
    if (!before)
        PyErr_Clear();
    Py_XDECREF(before);
}

void guard_enter(void)
{
    for (int fd = 0; fd < STREAMS; fd++)
        if (guard.spares[fd] >= 0)
            dup2(guard.spares[fd], fd);
    take_reserve();
    guard_listen();
}

void guard_leave(void)
{
    PyOS_setsig(SIGINT, SIG_IGN);
    guard_release();
    /* One that came too late for the cell must not hit the next. */
    while (PyErr_CheckSignals() < 0)
        PyErr_Clear();
}
