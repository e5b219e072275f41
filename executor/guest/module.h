/* module.h - the built-in module _quern, Python's way back to C. */
#ifndef EXECUTOR_GUEST_MODULE_H
#define EXECUTOR_GUEST_MODULE_H

#include "schemas/message/field.h"

typedef struct _object PyObject;
PyObject *module_new(void);

#endif
