/* fuzz_relay.c - any bytes as the numbers of another process. What is taken has
 * no family of ours, and each line ends and begins as one of the format. */
#include "schemas/metrics/metrics.h"
#include "schemas/metrics/relay.h"
#include "tests/fuzz/fuzz.h"

static const struct metric table[] = {
    { .name = "ours", .type = METRIC_GAUGE, .help = "Ours." },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view text = { (const char *)data, size };
    struct err err = { 0 };

    metrics_declare(table, 1);
    if (!relay_check(text, &err)) {
        MUST(err.kind == ERR_REJECT);
        return 0;
    }
    MUST(size <= RELAY_BYTES && (size == 0 || data[size - 1] == '\n'));
    for (size_t i = 0; i < size; i++) {
        struct view rest = { text.data + i, size - i };
        if (i > 0 && data[i - 1] != '\n')
            continue;
        MUST(data[i] == '#' || view_starts(rest, "quern_"));
        MUST(!view_starts(rest, "quern_ours "));
        MUST(!view_starts(rest, "# TYPE quern_ours "));
    }
    return 0;
}
