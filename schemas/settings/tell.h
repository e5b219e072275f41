/* tell.h - which settings a program runs with, for others to compare. */
#ifndef SCHEMAS_SETTINGS_TELL_H
#define SCHEMAS_SETTINGS_TELL_H

#include "schemas/message/buf.h"
#include "schemas/settings/setting.h"

/* Appends a line "name=value" for each row that members of a fleet should agree
 * about (is_shared), as an operator would write it. A secret is left out. */
void setting_tell(const struct setting_table *table, const void *settings,
                  struct buf *out);

#endif
