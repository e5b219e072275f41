/* interp.c - the Python interpreter inside quern-guest.
 *
 * The modules that are called from here are looked up before any cell runs: a
 * cell may put others into sys.modules. */
#define PY_SSIZE_T_CLEAN
#include "executor/guest/interp.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "executor/box/enter.h"
#include "executor/guest/guard.h"
#include "executor/guest/heap.h"
#include "executor/guest/module.h"

static struct {
    PyObject *boot;    /* module quern_guest.boot */
    PyObject *run;     /* quern_guest.cell.run */
    PyObject *picture; /* module quern_guest.picture */
    PyObject *warm_up; /* quern_guest.cell.warm_up */
    PyObject *at_exit; /* atexit._ncallbacks */
    long at_start;     /* functions that the libraries have registered */
    PyObject *outcome; /* of the last cell; views borrow from it */
} interp;

/* Prints the exception that is set, and gives an error that says so. */
static bool failed(struct err *err, const char *what)
{
    PyErr_Print();
    return err_set(err, ERR_REJECT, "internal",
                   "%s failed in Python; the traceback is on stderr", what);
}

/* Takes the reference that a call gave; false: it gave none, and raised. */
static bool succeeded(PyObject *done)
{
    Py_XDECREF(done);
    return done;
}

static bool initialize(struct err *err)
{
    PyPreConfig before;
    PyConfig config;
    PyStatus status;

    PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = 1;
    status = Py_PreInitialize(&before);
    if (PyStatus_Exception(status))
        return err_set(err, ERR_REJECT, "internal", "Python: %s",
                       status.err_msg);
    PyImport_AppendInittab("_quern", module_new);
    PyConfig_InitIsolatedConfig(&config);
    config.install_signal_handlers = 1;
    config.write_bytecode = 0;
    /* Its path tells where the library is; cells may start it. */
    status =
        PyConfig_SetBytesString(&config, &config.program_name, QUERN_PYTHON);
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status))
        return err_set(err, ERR_REJECT, "internal", "Python: %s",
                       status.err_msg);
    return true;
}

static bool load_libraries(const char *profile)
{
    PyObject *ahead = PyImport_ImportModule("quern_guest.ahead");
    bool loaded =
        ahead && succeeded(PyObject_CallMethod(ahead, "load", "s", profile));

    Py_XDECREF(ahead);
    return loaded;
}

/* The function that counts is called from C: a cell can neither watch that nor
 * replace it. */
static bool find_at_exit(void)
{
    PyObject *module = PyImport_ImportModule("atexit");

    interp.at_exit =
        module ? PyObject_GetAttrString(module, "_ncallbacks") : NULL;
    Py_XDECREF(module);
    return interp.at_exit;
}

static long count_at_exit(void)
{
    PyObject *count = PyObject_CallNoArgs(interp.at_exit);
    long functions = count ? PyLong_AsLong(count) : 0;

    Py_XDECREF(count);
    PyErr_Clear();
    return functions;
}

static bool load(const char *folder, const char *profile)
{
    PyObject *path = PySys_GetObject("path");
    PyObject *entry = PyUnicode_DecodeFSDefault(folder);
    PyObject *cell;

    if (!path || !entry || PyList_Insert(path, 0, entry) < 0)
        return false;
    Py_DECREF(entry);
    if (!load_libraries(profile))
        return false;
    heap_fill();
    interp.boot = PyImport_ImportModule("quern_guest.boot");
    cell = interp.boot ? PyImport_ImportModule("quern_guest.cell") : NULL;
    if (!cell)
        return false;
    interp.run = PyObject_GetAttrString(cell, "run");
    interp.warm_up = PyObject_GetAttrString(cell, "warm_up");
    interp.picture = PyImport_ImportModule("quern_guest.picture");
    Py_DECREF(cell);
    /* Not there inside a box. */
    return interp.run && interp.warm_up && interp.picture &&
           PySequence_DelItem(path, 0) == 0;
}

bool interp_start(const char *folder, const char *profile, struct err *err)
{
    if (!initialize(err))
        return false;
    if (!load(folder, profile) || !find_at_exit() || !guard_init())
        return failed(err, "loading quern_guest");
    if (!succeeded(PyObject_CallMethod(interp.boot, "zygote", "sii", profile,
                                       TRACE_FD, TRACE_SIGNAL)))
        return failed(err, "preparing the zygote");
    interp.at_start = count_at_exit();
    heap_settle();
    return succeeded(PyObject_CallMethod(interp.boot, "settle", NULL)) ||
           failed(err, "settling the zygote");
}

size_t interp_libraries(char *names, size_t size)
{
    const char *text = "";
    PyObject *told =
        PyObject_CallMethod(interp.boot, "libraries_installed", NULL);

    if (told)
        text = PyUnicode_AsUTF8(told);
    if (!text)
        text = "";
    PyErr_Clear();
    int len = snprintf(names, size, "%s", text);
    Py_XDECREF(told);
    return len > 0 && (size_t)len < size ? (size_t)len : 0;
}

/* The zygote has one thread, and its child is that thread once more: no lock
 * has lost its owner, so the child goes on as the parent does. To mend what
 * forks of many threads leave behind would write to a hundred pages. */
pid_t interp_fork(const int *namespaces)
{
    PyOS_BeforeFork();
    pid_t pid = box_fork(namespaces);
    int error = errno;
    PyOS_AfterFork_Parent();
    errno = error;
    return pid;
}

/* Prints what a call raised, and goes on. */
static void interp_print_failure(PyObject *done)
{
    if (!succeeded(done))
        PyErr_Print();
}

/* Functions of the session's run at a fork: they may be interrupted. */
pid_t interp_split(void)
{
    interp_print_failure(
        PyObject_CallMethod(interp.boot, "before_snapshot", NULL));
    guard_listen();
    PyOS_BeforeFork();
    pid_t pid = orphan_fork();
    int error = errno;
    if (pid != 0) {
        PyOS_AfterFork_Parent();
        guard_leave();
    }
    errno = error;
    return pid;
}

/* Other threads may have asked for the interpreter's lock before the fork, and
 * are not there to take it: Python code that offered it to them would wait for
 * ever. So until Python has been told of the fork, only C code may run. */
static PyObject *state_of_random(void)
{
    bool collects = PyGC_Disable(); /* it might call Python */
    PyObject *state = PyObject_CallMethod(interp.boot, "state_of_random", NULL);
    if (collects)
        PyGC_Enable();
    PyErr_Clear();
    return state;
}

void interp_wake(void)
{
    PyObject *state = state_of_random();
    PyOS_AfterFork_Child();
    guard_leave();
    interp_print_failure(PyObject_CallMethod(interp.boot, "after_snapshot",
                                             "(O)", state ? state : Py_None));
    Py_XDECREF(state);
}

bool interp_session(struct err *err)
{
    return (succeeded(PyObject_CallMethod(interp.boot, "session", NULL)) &&
            guard_init()) ||
           failed(err, "preparing the session");
}

static struct view text_view(PyObject *text)
{
    Py_ssize_t len = 0;
    const char *data = PyUnicode_AsUTF8AndSize(text, &len);

    if (!data)
        PyErr_Clear();
    return (struct view){ data, data ? (size_t)len : 0 };
}

static bool read_outcome(struct guest_frame *done)
{
    PyObject *status, *result, *name, *value, *traceback, *missing;
    const char *picture = NULL;
    Py_ssize_t len = 0;

    if (!interp.outcome ||
        !PyArg_ParseTuple(interp.outcome, "UUUUUU|y#", &status, &result, &name,
                          &value, &traceback, &missing, &picture, &len))
        return false;
    done->picture = (struct view){ picture, (size_t)len };
    for (int i = 0; cell_status_names[i]; i++)
        if (view_is(text_view(status), cell_status_names[i]))
            done->status = i;
    done->result = text_view(result);
    done->error = (struct cell_error){ text_view(name), text_view(value),
                                       text_view(traceback) };
    done->missing = text_view(missing);
    return true;
}

/* cell.run() handles what a cell raises; here it has itself been hit: by a
 * signal between two of its own steps, by the end of memory, by a cell that
 * took it apart. */
static void read_exception(struct guest_frame *done)
{
    bool interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
    bool memory = PyErr_ExceptionMatches(PyExc_MemoryError);

    PyErr_Clear();
    guard_leave();
    done->status = interrupted ? CELL_INTERRUPTED : CELL_ERROR;
    done->error.name = interrupted ? VIEW("KeyboardInterrupt")
                       : memory    ? VIEW("MemoryError")
                                   : VIEW("RuntimeError");
    done->error.value = VIEW("the cell ended, but not how it ended is known");
}

static PyObject *code_of(const struct guest_frame *cell)
{
    return PyUnicode_DecodeUTF8(cell->code.data, (Py_ssize_t)cell->code.len,
                                "replace");
}

static PyObject *interp_text(struct view text)
{
    return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, "replace");
}

static bool add_variable(PyObject *env, const struct pair *pair)
{
    PyObject *name = interp_text(pair->key);
    PyObject *value = name ? interp_text(pair->value) : NULL;
    bool added = value && PyDict_SetItem(env, name, value) == 0;

    Py_XDECREF(name);
    Py_XDECREF(value);
    return added;
}

/* None, if there are none, as in most cells. */
static PyObject *env_of(const struct guest_frame *cell)
{
    const struct pair *pairs = cell->env.items;
    if (cell->env.count == 0)
        return Py_NewRef(Py_None);
    PyObject *env = PyDict_New();

    for (size_t i = 0; env && i < cell->env.count; i++)
        if (!add_variable(env, &pairs[i]))
            Py_CLEAR(env);
    return env;
}

static PyObject *run_code(const struct guest_frame *cell)
{
    PyObject *code = code_of(cell);
    PyObject *env = code ? env_of(cell) : NULL;

    if (!env) {
        Py_XDECREF(code);
        return NULL;
    }
    return PyObject_CallFunction(
        interp.run, "NKs#ON", code, (unsigned long long)cell->number,
        cell->tools.len ? cell->tools.data : "", (Py_ssize_t)cell->tools.len,
        cell->last ? Py_True : Py_False, env);
}

static PyObject *do_task(const struct guest_frame *cell)
{
    switch ((enum task)cell->task) {
    case TASK_SAVE:
        return PyObject_CallMethod(interp.picture, "save", NULL);
    case TASK_RESTORE:
        return PyObject_CallMethod(interp.picture, "restore", "y#",
                                   cell->picture.len ? cell->picture.data : "",
                                   (Py_ssize_t)cell->picture.len);
    case TASK_CODE:
        break;
    }
    return run_code(cell);
}

void interp_run(const struct guest_frame *cell, struct guest_frame *done)
{
    Py_CLEAR(interp.outcome);
    interp.outcome = do_task(cell);
    if (!read_outcome(done))
        read_exception(done);
    done->at_exit = count_at_exit() > interp.at_start;
}

/* If a cell has broken it, the next cell is slower, and no more. */
void interp_warm_up(void)
{
    struct guest_frame done;

    Py_CLEAR(interp.outcome);
    interp.outcome = PyObject_CallNoArgs(interp.warm_up);
    if (!read_outcome(&done))
        PyErr_Clear();
}
