/* verb_endpoint.c - quern endpoint ls. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "producer/cli/show.h"
#include "producer/cli/table.h"
#include "producer/client/quern_operate.h"

struct number_text {
    char text[24];
};

static struct number_text endpoint_number_of(uint64_t value)
{
    struct number_text number;

    snprintf(number.text, sizeof(number.text), "%" PRIu64, value);
    return number;
}

/* "model_rejected 5 min ago: ..."; "-": it has never failed. */
static void print_failure(const struct quern_endpoint *endpoint, uint64_t now,
                          char *text, size_t size)
{
    uint64_t at = endpoint->failed_at;

    if (at == 0)
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%s %s ago: %s", endpoint->error_code,
                 term_age(now > at ? now - at : 0), endpoint->error);
}

static void endpoint_add_row(struct table *table,
                             const struct quern_endpoint *endpoint,
                             uint64_t now)
{
    char failure[400];
    struct number_text failures = endpoint_number_of(endpoint->failures);
    struct number_text calls = endpoint_number_of(endpoint->calls);
    struct number_text twice = endpoint_number_of(endpoint->paid_twice);
    struct number_text recovered = endpoint_number_of(endpoint->recovered);

    print_failure(endpoint, now, failure, sizeof(failure));
    table_add(table,
              (const char *[]){
                  endpoint->name, *endpoint->host ? endpoint->host : "-",
                  *endpoint->model ? endpoint->model : "-", calls.text,
                  failures.text, twice.text, recovered.text,
                  endpoint->wait_ms > 0 ? term_age(endpoint->wait_ms) : "-",
                  failure });
}

int verb_endpoint_ls(struct app *app)
{
    static const struct column columns[] = {
        { .title = "ENDPOINT", .cut = true },
        { .title = "HOST", .cut = true },
        { .title = "MODEL", .cut = true },
        { .title = "CALLS", .right = true },
        { .title = "FAILURES", .right = true },
        { .title = "PAID TWICE", .right = true },
        { .title = "RECOVERED", .right = true },
        { .title = "WAITS", .right = true },
        { .title = "LAST ERROR", .cut = true },
    };
    struct quern_endpoints all;
    struct quern_error error;
    struct table *table;

    if (!quern_endpoints(app->quern, &all, &error))
        return app_fail(app, &error);
    table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < all.count; i++)
        if (app->term.json)
            json_line(operate_endpoint_json(&all.items[i]));
        else
            endpoint_add_row(table, &all.items[i], all.now);
    if (!app->term.json && all.count > 0)
        table_print(table, &app->term.out, pane_width(&app->term.out));
    else if (!app->term.json)
        pane_printf(&app->term.err, DIM, "no model has been asked lately\n");
    table_free(table);
    free(all.items);
    return EXIT_DONE;
}
