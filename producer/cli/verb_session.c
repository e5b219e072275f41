/* verb_session.c - quern session ls, show: what Redis keeps of sessions. */
#include <inttypes.h>

#include "producer/cli/show.h"
#include "producer/cli/table.h"
#include "schemas/json/convert.h"
#include "schemas/message/buf.h"

static bool session_read_record(const struct quern_record *record,
                                struct session_record *session,
                                struct arena *arena, struct err *err)
{
    return message_decode(&schema_session_record,
                          (struct view){ record->bytes, record->size }, session,
                          arena, err) ||
           err_prefix(err, "what is kept of a session");
}

static uint64_t session_bytes(const struct session_record *session)
{
    const struct session_file *files = session->files.items;
    uint64_t bytes = session->picture_bytes;

    for (size_t i = 0; i < session->files.count; i++)
        bytes += files[i].blob.len > 0 ? files[i].bytes : 0;
    return bytes;
}

static void session_add_row(struct table *table,
                            const struct session_record *session)
{
    CLEANUP(cleanup_free) char *name = view_dup(session->name);
    CLEANUP(cleanup_free) char *tenant = view_dup(session->tenant);
    CLEANUP(cleanup_free) char *holder = view_dup(session->holder);
    char cells[24], files[24];

    snprintf(cells, sizeof(cells), "%" PRIu64, session->cells);
    snprintf(files, sizeof(files), "%zu", session->files.count);
    table_add(table,
              (const char *[]){ name, tenant, cells, files,
                                term_size(session_bytes(session)),
                                session_age(session), *holder ? holder : "-" });
}

/* A record that cannot be read is an error of its own, and does not hide the
 * others. */
static int session_list(struct app *app, const struct quern_records *records,
                        struct table *table)
{
    int code = EXIT_DONE;

    for (size_t i = 0; i < records->count; i++) {
        CLEANUP(arena_finish) struct arena arena = { 0 };
        struct session_record session;
        struct err err = { 0 };

        if (!session_read_record(&records->items[i], &session, &arena, &err))
            code = app_fail_err(app, &err);
        else if (app->term.json)
            json_line(json_from_message(&schema_session_record, &session));
        else
            session_add_row(table, &session);
    }
    return code;
}

int verb_session_ls(struct app *app)
{
    static const struct column columns[] = {
        { .title = "NAME", .cut = true },
        { .title = "TENANT", .cut = true },
        { .title = "CELLS", .right = true },
        { .title = "FILES", .right = true },
        { .title = "SIZE", .right = true },
        { .title = "AGE", .right = true },
        { .title = "WHERE", .cut = true },
    };
    CLEANUP(quern_records_finish) struct quern_records records = { 0 };
    struct quern_error error;
    struct table *table;
    int code;

    if (!quern_sessions(app->quern, app->options.tenant, &records, &error))
        return app_fail(app, &error);
    table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    code = session_list(app, &records, table);
    if (!app->term.json && records.count > 0)
        table_print(table, &app->term.out, pane_width(&app->term.out));
    else if (!app->term.json)
        pane_printf(&app->term.err, DIM, "no sessions are kept\n");
    table_free(table);
    return code;
}

int verb_session_show(struct app *app)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct session_record session;
    struct quern_record record;
    struct quern_error error;
    struct err err = { 0 };
    bool ok;

    if (!quern_session(app->quern, app->options.tenant, app->options.words[0],
                       &record, &error))
        return app_fail(app, &error);
    ok = session_read_record(&record, &session, &arena, &err);
    if (ok)
        show_record(app, &session);
    free(record.bytes);
    return ok ? EXIT_DONE : app_fail_err(app, &err);
}
