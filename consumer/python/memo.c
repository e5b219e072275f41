/* memo.c - the record of a session, as Redis has it. */
#include "consumer/python/memo.h"

#include <stdio.h>
#include <string.h>

bool memo_read(struct session_memo *memo, struct view bytes, struct err *err)
{
    memo_finish(memo);
    if (bytes.len == 0)
        return true;
    struct view kept = arena_copy(&memo->arena, bytes);
    memo->exists = message_decode(&schema_session_record, kept, &memo->record,
                                  &memo->arena, err);
    return memo->exists;
}

void memo_finish(struct session_memo *memo)
{
    arena_finish(&memo->arena);
    *memo = (struct session_memo){ 0 };
}

bool memo_is_open(const struct session_memo *memo)
{
    return memo->exists && !memo->record.closed;
}

bool memo_is_held_by(const struct session_memo *memo, struct view holder)
{
    return memo->exists && holder.len > 0 &&
           view_equal(memo->record.holder, holder);
}

bool memo_is_blank(const struct session_memo *memo)
{
    const struct session_record *record = &memo->record;
    return memo_is_open(memo) && record->updated_ms > 0 &&
           record->holder.len == 0 && record->cells == 0 &&
           record->picture.len == 0 && record->unsaved.len == 0 &&
           record->files.count == 0;
}

bool memo_has_history(const struct session_memo *memo, struct view history)
{
    return history.len == 0 || view_equal(memo->record.history, history);
}

bool memo_is_saved_by(const struct session_memo *memo, struct view job)
{
    return memo->exists && memo->record.updated_ms > 0 &&
           view_equal(memo->record.job, job);
}

/* The error's sentence names the blob. */
static bool is_missing(struct view blob, const struct err *why)
{
    char name[65];
    snprintf(name, sizeof(name), "%.*s", VIEW_ARG(blob));
    return *name != '\0' && strcmp(why->code, "missing_blob") == 0 &&
           strstr(why->text, name);
}

bool record_forget_history(struct session_record *record, const struct err *why)
{
    if (!is_missing(record->history, why))
        return false;
    record->history = (struct view){ 0 };
    record->history_bytes = record->exchanges = 0;
    return true;
}

bool record_forget_blob(struct session_record *record, const struct err *why)
{
    struct session_file *files = record->files.items;
    bool any = record_forget_history(record, why);
    if (is_missing(record->picture, why)) {
        record->picture = (struct view){ 0 };
        record->picture_bytes = 0;
        record->unsaved = VIEW("what was saved of them is gone");
        any = true;
    }
    for (size_t i = 0; i < record->files.count; i++) {
        if (!is_missing(files[i].blob, why))
            continue;
        files[i].blob = (struct view){ 0 };
        files[i].note = VIEW("gone");
        any = true;
    }
    return any;
}
