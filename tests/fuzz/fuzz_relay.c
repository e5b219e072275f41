/* fuzz_relay.c - any bytes as the numbers of another process. What is taken has
 * no family of ours, and each line ends and begins as one of the format. */
#include <string.h>

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
    MUST(!memmem(data, size, "quern_ours ", 11));
    for (size_t i = 0; i < size; i++)
        if (i == 0 || data[i - 1] == '\n')
            MUST(data[i] == '#' || data[i] == 'q');
    return 0;
}
