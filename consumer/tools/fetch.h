/* fetch.h - the tool fetch_url: the text of a page of the web.
 *
 *   ASKING --> READING --> over
 *     ^  |  a redirect, at most 5
 *     `--'
 *
 * Where it may go is decided at each connection, when the name has been
 * resolved to an address (fetch_policy.h). What comes back is parsed by another
 * process (reader.h). Cookies, user names and passwords are never sent. */
#ifndef CONSUMER_FETCH_H
#define CONSUMER_FETCH_H

#include "consumer/tools/fetch_policy.h"
#include "consumer/tools/tool.h"

/* allow, deny: lists as fetch_rules_parse() takes them, "": empty. NULL: one of
 * them is wrong. Error: bad_setting. */
struct tool *fetch_tool_new(const char *allow, const char *deny,
                            struct err *err);

#endif
