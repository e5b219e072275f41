/* builtin.h - tools of our own, which an operator switches on by name. */
#ifndef CONSUMER_BUILTIN_H
#define CONSUMER_BUILTIN_H

#include "consumer/settings.h"
#include "consumer/tools/catalog.h"

/* Those of settings.tools.builtin, in its order. They need quern-reader. Error:
 * bad_setting. */
bool builtin_load(struct catalog *catalog,
                  const struct consumer_settings *settings, bool has_reader,
                  struct err *err);

#endif
