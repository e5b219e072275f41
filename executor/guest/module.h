/* module.h - the built-in module _quern, by which the Python code of this
 * folder calls C. Cells can import it, too: it offers nothing that they may not
 * do. */
#ifndef EXECUTOR_GUEST_MODULE_H
#define EXECUTOR_GUEST_MODULE_H

#include <Python.h>

/* For PyImport_AppendInittab(). NULL: a Python exception. */
PyObject *module_new(void);

#endif
