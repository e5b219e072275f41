/* verb_tenant.c - quern tenant ls. */
#include <inttypes.h>
#include <stdlib.h>

#include "producer/cli/show.h"
#include "producer/cli/table.h"
#include "producer/client/quern_operate.h"
#include "schemas/message/buf.h"

/* "4 at once, 90000 tokens a day". */
static void write_limits(const struct quern_tenant *tenant, struct buf *out)
{
    const char *period = tenant->tenant_budget_ms
                             ? term_time(tenant->tenant_budget_ms)
                             : "a day";

    if (tenant->tenant_depth > 0)
        buf_printf(out, "%" PRIu64 " waiting, ", tenant->tenant_depth);
    if (tenant->tenant_running > 0)
        buf_printf(out, "%" PRIu64 " at once, ", tenant->tenant_running);
    if (tenant->tenant_rate > 0)
        buf_printf(
            out, "%" PRIu64 " start%s each %s, ", tenant->tenant_rate,
            tenant->tenant_rate == 1 ? "" : "s",
            term_time(tenant->tenant_rate_ms ? tenant->tenant_rate_ms : 1000));
    if (tenant->tenant_tokens > 0)
        buf_printf(out, "%" PRIu64 " tokens in %s, ", tenant->tenant_tokens,
                   period);
    if (tenant->tenant_cost > 0)
        buf_printf(out, "%s in %s, ", term_cost(tenant->tenant_cost), period);
    if (out->len > 0)
        buf_truncate(out, out->len - 2);
    else
        buf_printf(out, "-");
    buf_append(out, "", 1);
}

static void tenant_add_row(struct table *table,
                           const struct quern_tenant *tenant)
{
    CLEANUP(buf_finish) struct buf limits;
    const uint64_t counts[] = { tenant->waiting, tenant->running,
                                tenant->scheduled, tenant->tokens };
    char numbers[5][40];

    for (int i = 0; i < 4; i++)
        snprintf(numbers[i], sizeof(numbers[i]), "%" PRIu64, counts[i]);
    snprintf(numbers[4], sizeof(numbers[4]), "%s", term_cost(tenant->cost));
    buf_init(&limits, 512);
    write_limits(tenant, &limits);
    table_add(table, (const char *[]){ tenant->name, tenant->queue, numbers[0],
                                       numbers[1], numbers[2], numbers[3],
                                       numbers[4], limits.data });
}

int verb_tenant_ls(struct app *app)
{
    static const struct column columns[] = {
        { .title = "TENANT", .cut = true },
        { .title = "QUEUE", .cut = true },
        { .title = "WAITING", .right = true },
        { .title = "RUNNING", .right = true },
        { .title = "LATER", .right = true },
        { .title = "TOKENS", .right = true },
        { .title = "SPENT", .right = true },
        { .title = "LIMITS" },
    };
    struct quern_tenants tenants;
    struct quern_error error;
    struct table *table;
    int code = app_check_queue(app, app->options.queue);

    if (code != EXIT_DONE)
        return code;
    if (!quern_tenants(app->quern, app->options.queue, &tenants, &error))
        return app_fail(app, &error);
    table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < tenants.count; i++)
        if (app->term.json)
            json_line(operate_tenant_json(&tenants.items[i]));
        else
            tenant_add_row(table, &tenants.items[i]);
    if (!app->term.json && tenants.count > 0)
        table_print(table, &app->term.out, pane_width(&app->term.out));
    else if (!app->term.json)
        pane_printf(&app->term.err, DIM,
                    "no tenant has a job, a limit, or has used anything "
                    "today\n");
    table_free(table);
    free(tenants.items);
    return EXIT_DONE;
}
