/* module.h - the built-in module _quern, Python's way back to C. */
#ifndef EXECUTOR_GUEST_MODULE_H
#define EXECUTOR_GUEST_MODULE_H

#include <Python.h>

/* For PyImport_AppendInittab(). NULL: a Python exception. */
PyObject *module_new(void);

#endif
