/* verb_hook.c - quern hook ls, add, rotate, test, enable, rm. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "producer/cli/option.h"
#include "producer/cli/progress.h"
#include "producer/cli/show.h"
#include "producer/cli/table.h"
#include "producer/client/quern_operate.h"
#include "schemas/message/buf.h"

enum { KEEP_MS = 24 * 3600 * 1000 }; /* secrets that a rotation replaces */

/* "disabled: it answers 410 ...", "failed 3 times, 2 min: it answers 503",
 * "204 5 s", "-". */
static void print_state(const struct quern_hook *hook, struct buf *out)
{
    if (hook->disabled)
        buf_printf(out, "disabled: %s", hook->reason);
    else if (hook->last_at == 0)
        buf_printf(out, "-");
    else if (hook->failures == 0)
        buf_printf(out, "%" PRIu64 " %s", hook->last_status,
                   term_since(hook->last_at));
    else
        buf_printf(out, "failed %" PRIu64 " time%s, %s: %s", hook->failures,
                   hook->failures == 1 ? "" : "s", term_since(hook->last_at),
                   hook->last_why);
    buf_append(out, "", 1);
}

static void hook_add_row(struct table *table, const struct quern_hook *hook)
{
    CLEANUP(buf_finish) struct buf state;

    buf_init(&state, 1024);
    print_state(hook, &state);
    table_add(table, (const char *[]){
                         hook->id, *hook->name ? hook->name : "-", hook->url,
                         *hook->events ? hook->events : "all", state.data });
}

int verb_hook_ls(struct app *app)
{
    static const struct column columns[] = {
        { .title = "WEBHOOK" },
        { .title = "NAME", .cut = true },
        { .title = "URL", .cut = true },
        { .title = "EVENTS", .cut = true },
        { .title = "LAST REQUEST", .cut = true },
    };
    struct quern_hooks hooks;
    struct quern_error error;
    struct table *table;

    if (!quern_hooks(app->quern, app->options.tenant, &hooks, &error))
        return app_fail(app, &error);
    table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < hooks.count; i++)
        if (app->term.json)
            json_line(operate_hook_json(&hooks.items[i]));
        else
            hook_add_row(table, &hooks.items[i]);
    if (!app->term.json && hooks.count > 0)
        table_print(table, &app->term.out, pane_width(&app->term.out));
    else if (!app->term.json)
        pane_printf(&app->term.err, DIM, "the tenant has no webhooks\n");
    table_free(table);
    free(hooks.items);
    return EXIT_DONE;
}

/* The secret is printed here and never again. */
static int say_secret(struct app *app, const char *id, const char *secret)
{
    if (app->term.json)
        json_line(json_pack("{s:s, s:s}", "hook", id, "secret", secret));
    else
        pane_printf(&app->term.out, PLAIN, "%s\n%s\n", id, secret);
    if (!app->term.json)
        pane_printf(&app->term.err, DIM,
                    "the receiver checks signatures with this secret; quern "
                    "does not show it again\n");
    return EXIT_DONE;
}

/* "failed,response.cancelled" as the words that quern_hook_add() takes. */
static void write_events(const char *events, struct buf *words)
{
    static const char head[] = "response.";

    while (*events) {
        size_t len = strcspn(events, ", "), skip = sizeof(head) - 1;

        if (len < skip || strncmp(events, head, skip) != 0)
            skip = 0;
        buf_printf(words, "%s%.*s", words->len > 0 ? " " : "",
                   (int)(len - skip), events + skip);
        events += len + (events[len] != '\0');
    }
    buf_append(words, "", 1);
}

int verb_hook_add(struct app *app)
{
    const struct options *options = &app->options;
    const char *given = options->hook.events ? options->hook.events : "";
    CLEANUP(buf_finish) struct buf events;
    struct quern_new_hook hook = { .url = options->words[0],
                                   .name = options->hook.name };
    struct quern_hook_key key;
    struct quern_error error;

    buf_init(&events, strlen(given) + 2); /* it becomes no longer */
    write_events(given, &events);
    hook.events = events.data;
    if (!quern_hook_add(app->quern, options->tenant, &hook, &key, &error))
        return app_fail(app, &error);
    return say_secret(app, key.id, key.secret);
}

int verb_hook_rotate(struct app *app)
{
    const struct options *options = &app->options;
    uint64_t keep_ms =
        options_have(options, "keep") ? options->hook.keep_ms : KEEP_MS;
    char secret[QUERN_HOOK_SECRET];
    struct quern_error error;

    if (options->hook.at_once)
        keep_ms = 0;
    if (!quern_hook_rotate(app->quern, options->tenant, options->words[0],
                           keep_ms, secret, &error))
        return app_fail(app, &error);
    return say_secret(app, options->words[0], secret);
}

static int say_outcome(struct app *app, const char *id, const char *outcome)
{
    if (app->term.json)
        json_line(json_pack("{s:s, s:s}", "hook", id, "outcome", outcome));
    else
        pane_printf(&app->term.out, PLAIN, "%s %s\n", id, outcome);
    return EXIT_DONE;
}

int verb_hook_test(struct app *app)
{
    const char *id = app->options.words[0];
    struct quern_error error;

    if (!quern_hook_test(app->quern, app->options.tenant, id, &error))
        return app_fail(app, &error);
    if (!app->term.json)
        pane_printf(&app->term.err, DIM,
                    "quern hook ls shows how the request went, once a "
                    "quern-deliverer has sent it\n");
    return say_outcome(app, id, "will be sent a test");
}

int verb_hook_enable(struct app *app)
{
    const char *id = app->options.words[0];
    struct quern_error error;

    if (!quern_hook_enable(app->quern, app->options.tenant, id, &error))
        return app_fail(app, &error);
    return say_outcome(app, id, "enabled");
}

int verb_hook_rm(struct app *app)
{
    const struct options *options = &app->options;
    struct quern_error error;
    int code = EXIT_DONE;

    if (!options->change.dry_run &&
        !app_confirm(app, &code, "Remove %d webhook%s?", options->word_count,
                     options->word_count == 1 ? "" : "s"))
        return code;
    for (int i = 0; i < options->word_count; i++) {
        const char *id = options->words[i];

        if (!options->change.dry_run &&
            !quern_hook_remove(app->quern, options->tenant, id, &error))
            return app_fail(app, &error);
        say_outcome(app, id,
                    options->change.dry_run ? "would be removed" : "removed");
    }
    return EXIT_DONE;
}
