/* test_numbers.c - the tables of consumer and warden: names as Prometheus wants
 * them, and the page that lists them.
 *
 * QUERN_UPDATE=1 writes the table of consumer/OPERATING.md anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/numbers.h"
#include "executor/warden/numbers.h"

#define PAGE SOURCE_DIR "/consumer/OPERATING.md"
#define MARK "<!-- generated -->\n"

static const struct {
    const struct metric *rows;
    size_t count;
} tables[] = { { consumer_numbers, CONSUMER_NUMBERS },
               { warden_numbers, WARDEN_NUMBERS } };

static bool ends_in(const char *text, const char *end)
{
    size_t len = strlen(text), tail = strlen(end);
    return len >= tail && strcmp(text + len - tail, end) == 0;
}

static void check_row(const struct metric *metric)
{
    size_t len = strlen(metric->help);
    if (ends_in(metric->name, "_total") != (metric->type == METRIC_COUNTER))
        fail_msg("%s: counters, and no others, end in _total", metric->name);
    if ((metric->type == METRIC_HISTOGRAM) != (metric->buckets != NULL))
        fail_msg("%s: histograms, and no others, have buckets", metric->name);
    if (metric->buckets && !ends_in(metric->name, "_seconds"))
        fail_msg("%s: its unit is missing", metric->name);
    if (len == 0 || strspn(metric->name, "abcdefghijklmnopqrstuvwxyz_") !=
                        strlen(metric->name))
        fail_msg("%s: no name, or no help", metric->name);
    for (size_t i = 0; metric->buckets && metric->buckets[i] > 0; i++)
        if (i > 0 && metric->buckets[i] <= metric->buckets[i - 1])
            fail_msg("%s: bucket %zu", metric->name, i);
}

static void names_are_as_prometheus_wants_them(void **state)
{
    (void)state;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t].count; i++)
            check_row(&tables[t].rows[i]);
}

static void consumer_and_warden_share_no_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < WARDEN_NUMBERS; i++)
        for (size_t j = 0; j < CONSUMER_NUMBERS; j++)
            assert_string_not_equal(warden_numbers[i].name,
                                    consumer_numbers[j].name);
}

/* ---------------------------------------------------------------- the page */

/* Not the version, which changes, nor the many error codes. */
static bool is_listed(const struct metric_label *label)
{
    size_t count = 0;
    while (label->values && label->values[count])
        count++;
    return count > 0 && count < 20 && strcmp(label->name, "version") != 0;
}

static void write_labels(struct buf *out, const struct metric *metric)
{
    for (size_t i = 0; i < METRIC_LABELS && metric->labels[i].name; i++) {
        const struct metric_label *label = &metric->labels[i];
        buf_printf(out, "%s`%s`%s", i > 0 ? ", " : "", label->name,
                   is_listed(label) ? " =" : "");
        for (size_t j = 0; is_listed(label) && label->values[j]; j++)
            buf_printf(out, " %s", label->values[j]);
    }
}

static void write_table(struct buf *out)
{
    static const char *const types[] = { "counter", "gauge", "histogram" };
    buf_printf(out, "| `quern_...` | type | labels | what it is |\n"
                    "|---|---|---|---|\n");
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const struct metric *metric = &tables[t].rows[i];
            buf_printf(out, "| `%s` | %s | ", metric->name,
                       types[metric->type]);
            write_labels(out, metric);
            buf_printf(out, " | %s |\n", metric->help);
        }
}

static void read_page(struct buf *page)
{
    FILE *file = fopen(PAGE, "r");
    char *room = buf_reserve(page, 1 << 20);
    assert_non_null(file);
    page->len = fread(room, 1, 1 << 20, file);
    fclose(file);
    buf_append(page, "", 1);
}

static void the_page_lists_them(void **state)
{
    CLEANUP(buf_finish) struct buf page, table;
    (void)state;
    buf_init(&page, 2 << 20);
    buf_init(&table, 1 << 20);
    read_page(&page);
    write_table(&table);
    char *listed = strstr(page.data, MARK);
    assert_non_null(listed);
    listed += strlen(MARK);
    if (view_equal(view_of(listed), buf_view(&table)))
        return;
    if (!getenv("QUERN_UPDATE"))
        fail_msg("QUERN_UPDATE=1 writes this into consumer/OPERATING.md:\n%.*s",
                 (int)table.len, table.data);
    FILE *file = fopen(PAGE, "w");
    assert_non_null(file);
    fprintf(file, "%.*s%.*s", (int)(listed - page.data), page.data,
            (int)table.len, table.data);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_as_prometheus_wants_them),
        cmocka_unit_test(consumer_and_warden_share_no_name),
        cmocka_unit_test(the_page_lists_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
