/* module.c - the built-in module _quern, Python's way back to C.
 *
 * Code of a cell can call it, too: arguments are checked, and what it could do
 * by it, it could do by writing to the channel. */
#define PY_SSIZE_T_CLEAN
#include "executor/guest/module.h"

#include <Python.h>

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "executor/guest/guard.h"
#include "executor/guest/runner.h"
#include "schemas/message/limits.h"

enum {
    MAX_TYPES = 16, /* media types in one bundle */
    MAX_FDS = 1024, /* a box has fewer */
    FDS_AT_ONCE = 64,
};

static PyObject *module_enter(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    guard_enter();
    Py_RETURN_NONE;
}

static PyObject *module_release(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    guard_release();
    Py_RETURN_NONE;
}

static PyObject *module_leave(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    guard_leave();
    Py_RETURN_NONE;
}

/* One media type of a bundle; both views borrow from the objects. */
static bool read_pair(PyObject *type, PyObject *data, struct pair *pair)
{
    Py_ssize_t len;

    pair->key.data = PyUnicode_AsUTF8AndSize(type, &len);
    if (!pair->key.data)
        return false;
    pair->key.len = (size_t)len;
    char *bytes;
    if (PyBytes_AsStringAndSize(data, &bytes, &len) < 0)
        return false;
    pair->value = (struct view){ bytes, (size_t)len };
    return true;
}

/* The encoder aborts when there is no memory: that would end the session. So
 * the memory is tried for first, and the cell gets a MemoryError. */
static bool memory_allows(size_t bytes)
{
    void *probe = PyMem_RawMalloc(bytes);

    PyMem_RawFree(probe);
    return probe;
}

static PyObject *display(PyObject *module, PyObject *arguments)
{
    PyObject *bundle;
    const char *id = "";
    Py_ssize_t id_len = 0;
    unsigned long long clears = 0;
    int update = 0;
    struct pair pairs[MAX_TYPES];
    struct list list = { pairs, 0 };
    size_t total = 4096;
    PyObject *type, *data;
    struct err err;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O|s#pK", &bundle, &id, &id_len, &update,
                          &clears))
        return NULL;
    if (id_len > MAX_NAME_BYTES)
        return PyErr_Format(PyExc_ValueError,
                            "a display_id has %zd bytes, at most %d are "
                            "possible",
                            id_len, MAX_NAME_BYTES);
    if (!PyDict_Check(bundle) || PyDict_Size(bundle) > MAX_TYPES)
        return PyErr_Format(PyExc_TypeError,
                            "display() takes a dict of at most %d items",
                            MAX_TYPES);
    for (Py_ssize_t at = 0; PyDict_Next(bundle, &at, &type, &data);) {
        if (!read_pair(type, data, &pairs[list.count]))
            return NULL;
        total += pairs[list.count++].value.len;
    }
    if (!memory_allows(2 * total))
        return PyErr_NoMemory();
    if (!runner_display(update ? GUEST_UPDATE : GUEST_DISPLAY,
                        (struct view){ id, (size_t)id_len }, clears, list,
                        &err))
        return PyErr_Format(PyExc_RuntimeError, "%s", err.text);
    Py_RETURN_NONE;
}

static PyObject *module_clear(PyObject *module, PyObject *wait)
{
    struct err err;

    (void)module;
    if (runner_clear(PyObject_IsTrue(wait) == 1, &err))
        Py_RETURN_NONE;
    return err.kind == ERR_NONE
               ? NULL
               : PyErr_Format(PyExc_RuntimeError, "%s", err.text);
}

static PyObject *module_tell(enum guest_type type)
{
    struct err err;

    if (!runner_tell(type, &err))
        return PyErr_Format(PyExc_RuntimeError, "%s", err.text);
    Py_RETURN_NONE;
}

static PyObject *figure(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    return module_tell(GUEST_FIGURE);
}

static PyObject *drawing(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    return module_tell(GUEST_DRAWING);
}

/* As target.update(source), but it writes only where something differs, and
 * takes no references to what does not: pages stay shared with the snapshot. */
static PyObject *restore(PyObject *module, PyObject *arguments)
{
    PyObject *target, *source, *key, *value;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyDict_Type, &target,
                          &PyDict_Type, &source))
        return NULL;
    for (Py_ssize_t at = 0; PyDict_Next(source, &at, &key, &value);)
        if (PyDict_GetItemWithError(target, key) != value &&
            (PyErr_Occurred() || PyDict_SetItem(target, key, value) < 0))
            return NULL;
    Py_RETURN_NONE;
}

static bool add_writable(PyObject *files, int fd)
{
    struct stat status;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY ||
        fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return true;
    PyObject *file = Py_BuildValue("iKK", fd, (unsigned long long)status.st_dev,
                                   (unsigned long long)status.st_ino);
    bool added = file && PyList_Append(files, file) == 0;
    Py_XDECREF(file);
    return added;
}

/* Those from first to below end. poll() tells which descriptors there are. */
static bool add_range(PyObject *files, int first, int end)
{
    struct pollfd fds[FDS_AT_ONCE];
    nfds_t count = 0;

    for (int fd = first; fd < end; fd++)
        fds[count++] = (struct pollfd){ .fd = fd };
    if (poll(fds, count, 0) < 0)
        return true;
    for (nfds_t i = 0; i < count; i++)
        if (!(fds[i].revents & POLLNVAL) && !add_writable(files, fds[i].fd))
            return false;
    return true;
}

/* Regular files that are open for writing: (descriptor, device, inode); None
 * between cells, when nothing is written. In steps: after each cell one large
 * array would cost copies of the pages of the stack on which it lies. */
static PyObject *writable_files(PyObject *module, PyObject *none)
{
    struct rlimit limit;
    int end = MAX_FDS;

    (void)module, (void)none;
    if (!runner_runs_cell())
        Py_RETURN_NONE;
    PyObject *files = PyList_New(0);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < MAX_FDS)
        end = (int)limit.rlim_cur;
    for (int fd = CHANNEL_FD + 1; files && fd < end; fd += FDS_AT_ONCE)
        if (!add_range(files, fd,
                       end - fd < FDS_AT_ONCE ? end : fd + FDS_AT_ONCE))
            Py_CLEAR(files);
    return files;
}

static PyObject *is_session(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    return PyBool_FromLong(runner_is_session());
}

/* Arguments of module_ask(); data is borrowed from them. */
static bool read_question(PyObject *arguments, struct guest_frame *question)
{
    const char *kind, *name, *data;
    Py_ssize_t name_len, data_len;

    if (!PyArg_ParseTuple(arguments, "ss#y#", &kind, &name, &name_len, &data,
                          &data_len))
        return false;
    question->type = strcmp(kind, "tool") ? GUEST_INSTALL : GUEST_TOOL;
    question->name = (struct view){ name, (size_t)name_len };
    question->data = (struct view){ data, (size_t)data_len };
    if (memory_allows(3 * (size_t)MAX_TOOL_BYTES))
        return true;
    PyErr_NoMemory();
    return false;
}

static PyObject *module_ask(PyObject *module, PyObject *arguments)
{
    struct guest_frame question = { .type = GUEST_TOOL };
    struct inbox_waiter answer;
    struct err err;

    (void)module;
    if (!read_question(arguments, &question))
        return NULL;
    if (!runner_ask(&question, &answer, &err))
        return err.kind == ERR_NONE
                   ? NULL
                   : Py_BuildValue("ssy", err.code, err.text, "");
    const struct guest_frame *frame = &answer.frame;
    PyObject *told = Py_BuildValue(
        "s#s#y#", frame->error.name.data, (Py_ssize_t)frame->error.name.len,
        frame->error.value.data, (Py_ssize_t)frame->error.value.len,
        frame->data.data, (Py_ssize_t)frame->data.len);
    inbox_forget(&answer);
    return told;
}

static PyMethodDef methods[] = {
    { "ask", module_ask, METH_VARARGS,
      "ask(kind, name, data): waits; (code and sentence of an error, data)." },
    { "clear", module_clear, METH_O,
      "clear(wait): what the cell has put out." },
    { "display", display, METH_VARARGS,
      "display({media type: bytes}, id, update, clears before it)." },
    { "drawing", drawing, METH_NOARGS, "The code has ended, not the cell." },
    { "enter", module_enter, METH_NOARGS, "The code of a cell starts." },
    { "figure", figure, METH_NOARGS, "The cell has opened its first." },
    { "is_session", is_session, METH_NOARGS, "Not a process that it forked." },
    { "release", module_release, METH_NOARGS,
      "It raised: the reserve is free." },
    { "leave", module_leave, METH_NOARGS, "It has ended." },
    { "restore", restore, METH_VARARGS, "target.update(source)." },
    { "writable_files", writable_files, METH_NOARGS,
      "[(descriptor, device, inode)] of files that are open for writing; "
      "None between cells." },
    { NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_quern",
    .m_size = -1,
    .m_methods = methods,
};

PyObject *module_new(void)
{
    static const struct {
        const char *name;
        long value;
    } limits[] = {
        { "MAX_CELL_QUESTIONS", MAX_CELL_QUESTIONS },
        { "MAX_CLEARS", MAX_CLEARS },
        { "MAX_DISPLAY_BYTES", MAX_DISPLAY_BYTES },
        { "MAX_NAME_BYTES", MAX_NAME_BYTES },
        { "MAX_PICTURE_BYTES", MAX_PICTURE_BYTES },
        { "MAX_OBSERVATION_BYTES", MAX_OBSERVATION_BYTES },
        { "MAX_OPEN_QUESTIONS", MAX_OPEN_QUESTIONS },
        { "MAX_STREAM_BYTES", MAX_STREAM_BYTES },
        { "MAX_TOOL_BYTES", MAX_TOOL_BYTES },
        { "QUESTIONS_PER_S", QUESTIONS_PER_S },
        { "QUESTION_BURST", QUESTION_BURST },
    };
    PyObject *module = PyModule_Create(&definition);

    for (size_t i = 0; module && i < sizeof(limits) / sizeof(limits[0]); i++)
        if (PyModule_AddIntConstant(module, limits[i].name, limits[i].value))
            Py_CLEAR(module);
    return module;
}
