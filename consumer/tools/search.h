/* search.h - the tool search_web.
 *
 *   each provider in turn: is it known? --> asked --> read --> over
 *                                 ^            |        |
 *                                 `------------+--------' it failed: the next
 *
 * Who asks the same of the same provider at the same time waits for one
 * request; what comes of it is kept for a while. */
#ifndef CONSUMER_SEARCH_H
#define CONSUMER_SEARCH_H

#include "consumer/settings.h"
#include "consumer/tools/tool.h"

/* *tool: NULL, without an error, when it is switched off. Error: bad_setting.
 */
bool search_tool_new(const struct consumer_settings *settings,
                     struct tool **tool, struct err *err);

#endif
