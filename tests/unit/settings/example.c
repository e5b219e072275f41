/* example.c - a table that has a row of each type, for tests. */
#include "tests/unit/settings/example.h"

#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct example, member)

static const char *const levels[] = { "low", "high", NULL };
static const char *const words[] = { "abort", "skip", NULL };

static bool check_name(const char *text, struct err *err)
{
    return !strchr(text, ' ') ||
           err_set(err, ERR_REJECT, "bad_setting", "must have no blank");
}

static bool read_mode(void *settings, const char *text, struct err *err)
{
    char *rest;
    unsigned long mode = strtoul(text, &rest, 8);
    if (*text < '0' || *text > '7' || *rest || mode > 0777)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "must be octal, 0 to 0777");
    ((struct example *)settings)->mode = (unsigned int)mode;
    return true;
}

static const struct setting rows[] = {
    { .name = "name",
      .group = "Names",
      .type = SETTING_TEXT,
      .offset = AT(name),
      .normal = "",
      .normally = "made up",
      .check = check_name,
      .about = "The name." },
    { .name = "user",
      .type = SETTING_TEXT,
      .offset = AT(user),
      .about = "Whom root becomes." },
    { .name = "queues",
      .type = SETTING_LIST,
      .offset = AT(queues),
      .normal = "default",
      .about = "Queues." },
    { .name = "api-key",
      .variable = "EXAMPLE_API_KEY",
      .type = SETTING_SECRET,
      .offset = AT(key),
      .normal = "",
      .check = check_name,
      .about = "A key | a pipe." },
    { .name = "on-end",
      .type = SETTING_TEXT,
      .offset = AT(word),
      .choices = words,
      .normal = "abort",
      .about = "What happens at the end." },
    { .name = "slots",
      .group = "Numbers",
      .type = SETTING_NUMBER,
      .offset = AT(slots),
      .min = 1,
      .max = 1000,
      .normal = "64",
      .about = "Jobs at once." },
    { .name = "lease",
      .type = SETTING_TIME,
      .offset = AT(lease_ms),
      .min = 300,
      .max = 3600000,
      .normal = "30s",
      .is_reloaded = true,
      .about = "A job that is silent for so long goes to another consumer, "
               "which goes on where this one has been." },
    { .name = "memory",
      .type = SETTING_SIZE,
      .offset = AT(memory_bytes),
      .max = UINT64_C(1) << 40,
      .normal = "0",
      .about = "Memory." },
    { .name = "max-cost",
      .type = SETTING_DOLLARS,
      .offset = AT(max_cost),
      .max = 1000000000,
      .normal = "0",
      .about = "Dollars." },
    { .name = "save",
      .type = SETTING_SWITCH,
      .offset = AT(save),
      .normal = "on",
      .about = "Saves." },
    { .name = "check",
      .type = SETTING_SWITCH,
      .offset = AT(check),
      .is_flag_only = true,
      .about = "Checks and ends." },
    { .name = "level",
      .type = SETTING_CHOICE,
      .offset = AT(level),
      .choices = levels,
      .normal = "low",
      .about = "How high." },
    { .name = "mode",
      .type = SETTING_OF_READER,
      .read = read_mode,
      .normal = "0660",
      .value = "OCTAL",
      .about = ".dots and \\ mean something to roff." },
};

const struct setting_table example_table = {
    .program = "quern-example",
    .about = "Has a setting of each type.",
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .details = "First paragraph.\nSecond paragraph.\n",
    .examples = "  quern-example --lease 10s\n",
};
