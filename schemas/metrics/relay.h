/* relay.h - numbers of another process, which this one shows beside its own.
 *
 * The executor has no network: a consumer asks it for its numbers and shows
 * them. They are checked before, because one wrong line, or one family twice,
 * costs Prometheus the whole scrape. */
#ifndef SCHEMAS_METRICS_RELAY_H
#define SCHEMAS_METRICS_RELAY_H

#include "schemas/message/err.h"
#include "schemas/message/view.h"

enum { RELAY_BYTES = 64 << 10, RELAY_FAMILIES = 64 };

/* Whether the text is what metrics_write() writes, family by family: HELP,
 * TYPE, samples of that name with a number. No family is there twice, nor in
 * the table of this process. Error: bad_message, with the number of the line.
 */
bool relay_check(struct view text, struct err *err);

#endif
