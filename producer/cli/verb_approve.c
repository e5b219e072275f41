/* verb_approve.c - a person's verdict on a call that a model wants to make: by
 * quern approve, or at the terminal on which the job is followed. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "producer/cli/approve.h"
#include "producer/cli/show.h"
#include "producer/cli/table.h"
#include "producer/client/quern_operate.h"

static const struct {
    char letter;
    const char *word;
    const char *sentence;
} verdicts[] = {
    [QUERN_VERDICT_APPROVE] = { 'y', "approve", "approved: it goes on" },
    [QUERN_VERDICT_REJECT] = { 'n', "reject",
                               "rejected: it goes on, and is told" },
    [QUERN_VERDICT_EDIT] = { 'e', "edit", "edited: it goes on with that" },
    [QUERN_VERDICT_SKIP] = { 's', "skip", "skipped: it goes on without" },
    [QUERN_VERDICT_REGENERATE] = { 'r', "regenerate",
                                   "the model is asked for another reply" },
    [QUERN_VERDICT_ASK] = { 'a', "ask", "the model is told" },
    [QUERN_VERDICT_ABORT] = { 'q', "abort", "it ends" },
};
enum { VERDICTS = sizeof(verdicts) / sizeof(verdicts[0]) };

/* --- the verb ------------------------------------------------------------- */

/* The verdict that the options give; without one it is to approve. */
static bool read_verdict(const struct options *options,
                         struct quern_decision *decision, struct err *err)
{
    const struct {
        bool given;
        enum quern_verdict verdict;
    } rows[] = {
        { options->verdict.reject, QUERN_VERDICT_REJECT },
        { options->verdict.edit, QUERN_VERDICT_EDIT },
        { options->verdict.skip, QUERN_VERDICT_SKIP },
        { options->verdict.again, QUERN_VERDICT_REGENERATE },
        { options->verdict.ask, QUERN_VERDICT_ASK },
        { options->verdict.abort, QUERN_VERDICT_ABORT },
    };
    unsigned int count = 0;

    decision->verdict = QUERN_VERDICT_APPROVE;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].given) {
            decision->verdict = rows[i].verdict;
            count++;
        }
    return count <= 1 ||
           err_set(
               err, ERR_REJECT, "bad_setting",
               "%u verdicts are given; give one of --reject, --edit, --skip, "
               "--regenerate, --ask and --abort",
               count);
}

/* Lists the jobs that wait for an approval: the call, and how much time is
 * left. */
static int list_waiting(struct app *app)
{
    static const struct column columns[] = {
        { .title = "ID" },
        { .title = "CALL" },
        { .title = "QUEUE", .cut = true },
        { .title = "TENANT", .cut = true },
        { .title = "LEFT", .right = true },
        { .title = "SESSION", .cut = true },
    };
    const struct quern_filter filter = { .states = "waiting",
                                         .reason = "approval",
                                         .limit = 1000 };
    struct quern_listing listing;
    struct quern_error error;
    struct table *table;

    if (!quern_list(app->quern, &filter, &listing, &error))
        return app_fail(app, &error);
    table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < listing.count; i++) {
        const struct quern_listed_job *job = &listing.items[i];
        uint64_t left =
            job->due_at > listing.now ? job->due_at - listing.now : 0;

        if (app->term.json)
            json_line(operate_job_json(job));
        else
            table_add(table,
                      (const char *[]){ job->id, *job->call ? job->call : "-",
                                        job->queue, job->tenant, term_age(left),
                                        *job->session ? job->session : "-" });
    }
    if (!app->term.json && listing.count > 0)
        table_print(table, &app->term.out, pane_width(&app->term.out));
    else if (!app->term.json)
        pane_printf(&app->term.err, DIM, "no job waits for an approval\n");
    table_free(table);
    free(listing.items);
    return EXIT_DONE;
}

/* Without an ID it lists; with a verdict but no ID, the ID was forgotten. */
int verb_approve(struct app *app)
{
    CLEANUP(cleanup_free) char *text = NULL;
    const struct options *options = &app->options;
    const char *id = options->word_count > 0 ? options->words[0] : NULL;
    struct quern_decision decision = { .call = options->verdict.call,
                                       .text = options->verdict.ask,
                                       .note = options->reason };
    struct quern_error error;
    struct err err = { 0 };
    size_t size;
    bool late;

    if (!read_verdict(options, &decision, &err))
        return app_fail_err(app, &err);
    if (!id && decision.verdict == QUERN_VERDICT_APPROVE)
        return list_waiting(app);
    if (!id) {
        err_set(&err, ERR_REJECT, "bad_setting",
                "ID is missing: quern approve lists the jobs that wait");
        return app_fail_err(app, &err);
    }
    if (options->verdict.edit) {
        text = read_text(options->verdict.edit, MAX_VERDICT_BYTES, &size, &err);
        if (!text)
            return app_fail_err(app, &err);
        decision.text = text;
    }
    if (!quern_decide(app->quern, id, &decision, &late, &error))
        return app_fail(app, &error);
    if (app->term.json)
        json_line(json_pack("{s:s, s:s}", "id", id, "outcome",
                            late ? "late" : verdicts[decision.verdict].word));
    else
        printf("%s\n", late ? "the job does not wait for an approval"
                            : verdicts[decision.verdict].sentence);
    return EXIT_DONE;
}

/* --- on a terminal -------------------------------------------------------- */

/* Reads a line, without its end. False: the input has ended, or Ctrl-C came. */
static bool approve_read_line(char *line, int size)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

    if (poll(&input, 1, -1) < 1 || !fgets(line, size, stdin))
        return false;
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static bool ask_line(struct app *app, const char *question, char *line,
                     int size)
{
    pane_printf(term_notice(&app->term), BOLD, "%s ", question);
    fflush(app->term.err.file);
    return approve_read_line(line, size) && line[0] != '\0';
}

/* y approve, n reject, ...: */
static void write_choices(struct buf *out)
{
    buf_init(out, 256);
    for (int i = QUERN_VERDICT_APPROVE; i < VERDICTS; i++)
        buf_printf(out, "%s%c %s", i == QUERN_VERDICT_APPROVE ? "" : ", ",
                   verdicts[i].letter, verdicts[i].word);
    buf_append(out, ":", 2);
}

/* Asks until one of the letters is given. 0: nothing was given. */
static enum quern_verdict ask_verdict(struct app *app)
{
    CLEANUP(buf_finish) struct buf choices;
    char line[16];

    write_choices(&choices);
    while (ask_line(app, choices.data, line, sizeof(line)))
        for (int i = QUERN_VERDICT_APPROVE; i < VERDICTS; i++)
            if (line[0] == verdicts[i].letter)
                return (enum quern_verdict)i;
    return 0;
}

/* Asks for the text that the verdict needs, and sets decision->text; most need
 * none. *text: free() it. False: nothing was given, or the file cannot be read.
 */
static bool ask_text(struct app *app, struct quern_decision *decision,
                     char *line, int size, char **text)
{
    struct err err = { 0 };
    size_t len;

    if (decision->verdict == QUERN_VERDICT_ASK) {
        decision->text = line;
        return ask_line(app, "text for the model:", line, size);
    }
    if (decision->verdict != QUERN_VERDICT_EDIT)
        return true;
    if (!ask_line(app, "file with the new code or arguments:", line, size))
        return false;
    *text = read_text(line, MAX_VERDICT_BYTES, &len, &err);
    decision->text = *text;
    if (!*text)
        app_fail_err(app, &err);
    return *text != NULL;
}

static void say_how(struct app *app, const char *id)
{
    pane_printf(term_notice(&app->term), DIM, "it waits: quern approve %s\n",
                id);
}

static void show_call(struct app *app, const struct event_data *data)
{
    struct pane *err = term_notice(&app->term);

    if (data->error.message.len > 0) {
        pane_text(err, YELLOW, data->error.message);
        pane_line(err);
    }
    pane_printf(err, YELLOW, "to be approved: ");
    pane_name(err, CYAN, data->tool);
    pane_line(err);
    pane_quote(err, PLAIN, app->term.bar, READ_CODE,
               data->code.len > 0 ? data->code : data->text);
    pane_line(err);
}

/* Whether the job still waits: an event that is replayed may be long past, or
 * somebody else has decided. A login that may not read the status is asked all
 * the same: the verdict then tells whether it was late. */
static bool still_waits(struct app *app, const char *id)
{
    CLEANUP(quern_status_finish) struct quern_status status = { 0 };
    struct quern_error error;

    return !quern_get(app->quern, id, &status, &error) ||
           status.state == QUERN_WAITING;
}

/* The call is named in the decision, so that a verdict which comes late decides
 * on no other call of the job. */
void approve_on_terminal(struct app *app, const char *id,
                         const struct event_data *data)
{
    CLEANUP(cleanup_free) char *text = NULL;
    char call[MAX_NAME_BYTES + 1], line[4096];
    struct quern_decision decision = { .call = call };
    struct quern_error error;
    bool late;

    show_call(app, data);
    if (!isatty(STDIN_FILENO) || !still_waits(app, id)) {
        say_how(app, id);
        return;
    }
    snprintf(call, sizeof(call), "%.*s", VIEW_ARG(data->call));
    decision.verdict = ask_verdict(app);
    if (decision.verdict == 0 ||
        !ask_text(app, &decision, line, sizeof(line), &text))
        say_how(app, id);
    else if (!quern_decide(app->quern, id, &decision, &late, &error))
        app_fail(app, &error);
    else
        pane_printf(term_notice(&app->term), DIM, "%s\n",
                    late ? "somebody has answered already"
                         : verdicts[decision.verdict].sentence);
}
