/* verb_key.c - quern key ls, add, rotate, rm. */
#include <stdlib.h>

#include "producer/cli/option.h"
#include "producer/cli/progress.h"
#include "producer/cli/show.h"
#include "producer/cli/table.h"
#include "producer/client/quern_operate.h"
#include "schemas/settings/amount.h"

enum { GRACE_MS = 24 * 3600 * 1000 }; /* of a key that was replaced */

static void say_limit(char text[AMOUNT_BYTES], enum amount_kind kind,
                      uint64_t limit)
{
    if (limit > 0)
        amount_write(text, kind, limit);
    else
        snprintf(text, AMOUNT_BYTES, "-");
}

static void key_add_row(struct table *table, const struct quern_key *key)
{
    char rate[AMOUNT_BYTES], jobs[AMOUNT_BYTES], cost[AMOUNT_BYTES];
    char ends[64] = "never", used[64] = "never";

    say_limit(rate, AMOUNT_COUNT, key->rate);
    say_limit(jobs, AMOUNT_COUNT, key->jobs);
    say_limit(cost, AMOUNT_DOLLARS, key->cost);
    if (key->expires_at > 0)
        snprintf(ends, sizeof(ends), "in %s", term_until(key->expires_at));
    if (key->last_used_at > 0)
        snprintf(used, sizeof(used), "%s ago", term_since(key->last_used_at));
    table_add(table, (const char *[]){
                         key->id, key->tenant, *key->name ? key->name : "-",
                         key->scopes, rate, jobs, cost, used, ends });
}

int verb_key_ls(struct app *app)
{
    static const struct column columns[] = {
        { .title = "KEY" },
        { .title = "TENANT", .cut = true },
        { .title = "NAME", .cut = true },
        { .title = "SCOPES" },
        { .title = "A MINUTE", .right = true },
        { .title = "JOBS", .right = true },
        { .title = "$ A DAY", .right = true },
        { .title = "USED" },
        { .title = "ENDS" },
    };
    struct quern_keys keys;
    struct quern_error error;
    struct table *table;

    if (!quern_keys(app->quern, app->options.tenant, &keys, &error))
        return app_fail(app, &error);
    table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < keys.count; i++)
        if (app->term.json)
            json_line(operate_key_json(&keys.items[i]));
        else
            key_add_row(table, &keys.items[i]);
    if (!app->term.json && keys.count > 0)
        table_print(table, &app->term.out, pane_width(&app->term.out));
    else if (!app->term.json)
        pane_printf(&app->term.err, DIM, "there are no keys\n");
    table_free(table);
    free(keys.items);
    return EXIT_DONE;
}

/* The key alone on stdout, so that a script can take it. It is printed here and
 * never again. */
static int say_key(struct app *app, const struct quern_key *key,
                   const char *secret)
{
    if (app->term.json) {
        json_t *json = operate_key_json(key);

        json_object_set_new(json, "secret", json_string(secret));
        json_line(json);
        return EXIT_DONE;
    }
    pane_printf(&app->term.out, PLAIN, "%s\n", secret);
    pane_printf(&app->term.err, DIM,
                "%s, of tenant %s: %s; quern does not show the key again\n",
                key->id, key->tenant, key->scopes);
    return EXIT_DONE;
}

int verb_key_add(struct app *app)
{
    const struct options *options = &app->options;
    const char *scopes = options->api_key.scopes;
    const struct quern_new_key wanted = {
        .tenant = options->tenant,
        .name = options->hook.name,
        .scopes = scopes ? scopes : "submit read",
        .life_ms = options->api_key.life_ms,
        .rate = options->api_key.rate,
        .jobs = options->api_key.jobs,
        .cost = options->api_key.cost,
    };
    char secret[QUERN_KEY];
    struct quern_error error;
    struct quern_key key;

    if (!quern_key_add(app->quern, &wanted, &key, secret, &error))
        return app_fail(app, &error);
    return say_key(app, &key, secret);
}

int verb_key_rotate(struct app *app)
{
    const struct options *options = &app->options;
    uint64_t grace_ms =
        options_have(options, "grace") ? options->api_key.grace_ms : GRACE_MS;
    char secret[QUERN_KEY];
    struct quern_error error;
    struct quern_key key;

    if (!quern_key_rotate(app->quern, options->words[0], grace_ms, &key, secret,
                          &error))
        return app_fail(app, &error);
    return say_key(app, &key, secret);
}

int verb_key_rm(struct app *app)
{
    const struct options *options = &app->options;
    bool dry = options->change.dry_run;
    struct quern_error error;
    int code = EXIT_DONE;

    if (!dry &&
        !app_confirm(app, &code, "Remove %d key%s?", options->word_count,
                     options->word_count == 1 ? "" : "s"))
        return code;
    for (int i = 0; i < options->word_count; i++) {
        const char *id = options->words[i];

        if (!dry && !quern_key_remove(app->quern, id, &error))
            return app_fail(app, &error);
        if (app->term.json)
            json_line(json_pack("{s:s, s:s}", "key", id, "outcome",
                                dry ? "would be removed" : "removed"));
        else
            pane_printf(&app->term.out, PLAIN, "%s %s\n", id,
                        dry ? "would be removed" : "removed");
    }
    return EXIT_DONE;
}
