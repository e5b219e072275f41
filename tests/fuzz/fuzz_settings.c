/* fuzz_settings.c - any text as a settings file: what is taken is within the
 * bounds of its row, what is not is told with its line, and nothing is read
 * beside the text. A line that names a secret's file may read that file. */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/settings/example.h"

static void check_values(const struct example *example)
{
    MUST(example->slots <= 1000);
    MUST(example->lease_ms == 0 ||
         (example->lease_ms >= 300 && example->lease_ms <= 3600000));
    MUST(example->memory_bytes <= UINT64_C(1) << 40);
    MUST(example->max_cost <= 1000000000);
    MUST(example->level == EXAMPLE_LOW || example->level == EXAMPLE_HIGH);
    MUST(example->mode <= 0777);
    MUST(!example->name || !strchr(example->name, ' '));
    MUST(!example->user || *example->user);
    MUST(!example->word || strcmp(example->word, "abort") == 0 ||
         strcmp(example->word, "skip") == 0);
    MUST(!example->check);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = calloc(1, size + 1);
    struct example example = { 0 };
    struct err err = { 0 };

    MUST(text);
    memcpy(text, data, size);
    if (!setting_load_text(&example_table, &example, "file", text, &err)) {
        MUST(err.kind == ERR_REJECT);
        MUST(strncmp(err.text, "file:", 5) == 0);
        MUST(err.text[5] >= '1' && err.text[5] <= '9');
    }
    check_values(&example);
    setting_finish(&example_table, &example);
    MUST(!example.name && !example.queues);
    free(text);
    return 0;
}
