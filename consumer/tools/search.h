/* search.h - the tool search_web.
 *
 *   each provider in turn: is it cached? --> asked --> read --> over
 *                                 ^             |        |
 *                                 `-------------+--------' it failed: the next
 *
 * Calls that ask the same provider the same thing at the same time share one
 * request. Its answer is cached for a while (search.cache_ms of the settings).
 */
#ifndef CONSUMER_SEARCH_H
#define CONSUMER_SEARCH_H

#include "consumer/settings.h"
#include "consumer/tools/tool.h"

/* Makes the tool from the settings. *tool: NULL, without an error, when they
 * switch it off. Error: bad_setting. */
bool search_tool_new(const struct consumer_settings *settings,
                     struct tool **tool, struct err *err);

#endif
