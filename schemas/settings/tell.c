/* tell.c - values as text. */
#include "schemas/settings/tell.h"

#include <string.h>

static void tell_value(const struct setting *row, const void *settings,
                       struct buf *out)
{
    const void *place = (const char *)settings + row->offset;
    struct amount_range range;
    if (setting_range(row, &range)) {
        char text[AMOUNT_BYTES];
        amount_write(text, range.kind, *(const uint64_t *)place);
        buf_add(out, view_of(text));
    } else if (row->type == SETTING_SWITCH) {
        buf_add(out, *(const bool *)place ? VIEW("on") : VIEW("off"));
    } else if (row->type == SETTING_CHOICE) {
        buf_add(out, view_of(row->choices[*(const int *)place]));
    } else {
        buf_add(out, view_of(*(char *const *)place));
    }
}

void setting_tell(const struct setting_table *table, const void *settings,
                  struct buf *out)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct setting *row = &table->rows[i];
        if (!row->is_shared || row->type == SETTING_SECRET ||
            row->type == SETTING_OF_READER)
            continue;
        buf_printf(out, "%s=", row->name);
        tell_value(row, settings, out);
        buf_add(out, VIEW("\n"));
    }
}
