/* builtin.h - tools of our own, which an operator switches on by name. */
#ifndef CONSUMER_BUILTIN_H
#define CONSUMER_BUILTIN_H

#include "consumer/settings.h"
#include "consumer/tools/catalog.h"

/* Adds the tools that settings.tools.builtin names, in its order. Any of them
 * needs quern-reader. Error: bad_setting. */
bool builtin_load(struct catalog *catalog,
                  const struct consumer_settings *settings, bool has_reader,
                  struct err *err);

#endif
