/* module.c - the built-in module _quern, Python's way back to C. */
#define PY_SSIZE_T_CLEAN
#include "executor/guest/module.h"

#include <Python.h>

#include "executor/guest/guard.h"
#include "executor/guest/runner.h"
#include "schemas/message/limits.h"

enum { MAX_TYPES = 16 }; /* media types in one bundle */

static PyObject *enter(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    guard_enter();
    Py_RETURN_NONE;
}

static PyObject *release(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    guard_release();
    Py_RETURN_NONE;
}

static PyObject *leave(PyObject *module, PyObject *none)
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

/* The encoder aborts when memory is out, but a cell gets a MemoryError. */
static bool memory_allows(size_t bytes)
{
    void *probe = PyMem_RawMalloc(bytes);

    PyMem_RawFree(probe);
    return probe != NULL;
}

static PyObject *display(PyObject *module, PyObject *bundle)
{
    struct pair pairs[MAX_TYPES];
    struct list list = { pairs, 0 };
    size_t total = 4096;
    PyObject *type, *data;
    struct err err;

    (void)module;
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
    if (!runner_display(list, &err))
        return PyErr_Format(PyExc_RuntimeError, "%s", err.text);
    Py_RETURN_NONE;
}

/* As target.update(source), but it looks before it writes, and takes no
 * references: pages stay shared with the snapshot. */
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

static PyMethodDef methods[] = {
    { "display", display, METH_O, "Shows {media type: bytes}." },
    { "enter", enter, METH_NOARGS, "The code of a cell starts." },
    { "release", release, METH_NOARGS, "It raised: the reserve is free." },
    { "leave", leave, METH_NOARGS, "It has ended." },
    { "restore", restore, METH_VARARGS, "target.update(source)." },
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
        { "MAX_DISPLAY_BYTES", MAX_DISPLAY_BYTES },
        { "MAX_OBSERVATION_BYTES", MAX_OBSERVATION_BYTES },
        { "MAX_STREAM_BYTES", MAX_STREAM_BYTES },
    };
    PyObject *module = PyModule_Create(&definition);

    for (size_t i = 0; module && i < sizeof(limits) / sizeof(limits[0]); i++)
        if (PyModule_AddIntConstant(module, limits[i].name, limits[i].value))
            Py_CLEAR(module);
    return module;
}
