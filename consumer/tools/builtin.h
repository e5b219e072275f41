/* builtin.h - tools that come with quern. An operator switches them on by name;
 * all are off by default, because a request can send what a model knows to
 * somebody else. */
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
