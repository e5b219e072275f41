/* settings.c - options that may stand in the environment and the settings file
 * as well: the table of these settings, and how they reach the options. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "producer/cli/option.h"
#include "schemas/message/buf.h"
#include "schemas/message/job.h"

/* Filled from the environment and the file. All are texts, which option_set()
 * then reads as if they came from the command line; NULL: not given. */
struct preferences {
    char *redis_url, *prefix, *durability;
    char *out, *queue, *priority, *tenant, *zone;
};

#define AT(member) offsetof(struct preferences, member)

/* A setting has the name of its option: value_of() finds it by that. */
static const struct setting rows[] = {
    { .name = "redis-url",
      .variable = "REDIS_URL",
      .group = "Redis",
      .type = SETTING_SECRET,
      .offset = AT(redis_url),
      .normally = "redis://127.0.0.1:6379",
      .value = "URL",
      .about = "Where Redis is." },
    { .name = "prefix",
      .type = SETTING_TEXT,
      .offset = AT(prefix),
      .normally = "quern:",
      .about = "What every key of the fleet begins with." },
    { .name = "durability",
      .type = SETTING_TEXT,
      .offset = AT(durability),
      .normally = "async",
      .value = "WORD",
      .about = "When a write counts as written: async, replica:N or fsync." },
    { .name = "queue",
      .group = "Jobs",
      .type = SETTING_TEXT,
      .offset = AT(queue),
      .normally = "default",
      .value = "NAME",
      .about = "The queue of a job." },
    { .name = "priority",
      .type = SETTING_TEXT,
      .offset = AT(priority),
      .choices = priority_names,
      .normally = "normal",
      .value = "WORD",
      .about = "The priority of a job." },
    { .name = "tenant",
      .type = SETTING_TEXT,
      .offset = AT(tenant),
      .normally = "default",
      .value = "NAME",
      .about = "The tenant that a job is for." },
    { .name = "out",
      .type = SETTING_TEXT,
      .offset = AT(out),
      .normally = "quern-out, of run, exec and session get",
      .value = "FOLDER",
      .about = "Where images and files of a result are saved." },
    { .name = "zone",
      .type = SETTING_TEXT,
      .offset = AT(zone),
      .normally = "UTC",
      .value = "NAME",
      .about = "The time zone of a schedule." },
};
const struct setting_table preferences_table = {
    .program = "quern",
    .about = "Asks a model that may run Python, through a queue.",
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
};

/* The path of the settings file: the given one, whether it is there or not (a
 * missing one is then an error), else the usual one. NULL: none is at the usual
 * place. free() it. */
static char *find_file(const char *given)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    CLEANUP(buf_finish) struct buf path = { .max = 4096 };

    if (given)
        return view_dup(view_of(given));
    if (config && *config)
        buf_printf(&path, "%s/quern/quern.conf", config);
    else
        buf_printf(&path, "%s/.config/quern/quern.conf", home ? home : "");
    buf_append(&path, "", 1);
    return buf_ok(&path) && access(path.data, R_OK) == 0
               ? view_dup(view_of(path.data))
               : NULL;
}

/* Through the loader that the other programs use, as if --config were given. */
static bool load(struct preferences *preferences, const char *given,
                 struct err *err)
{
    CLEANUP(cleanup_free) char *path = find_file(given);
    char program[] = "quern", config[] = "--config";
    char *argv[] = { program, path ? config : NULL, path, NULL };
    enum setting_request request;

    return setting_load(&preferences_table, preferences, argv, &request, err);
}

/* Whether the option takes its value from a setting: the verb has it, and the
 * command line did not give it. */
static bool wanted(const struct options *options, const struct option *option,
                   const char *verb)
{
    bool told = option->flags & OPTION_OF_JOB &&
                (options->submit.job || options->submit.jobs);

    return option->flags & OPTION_SETTING && option_is_of(option, verb) &&
           !told && !option_is_given(options, option);
}

/* The value that the environment or the file has for the option; NULL: none. */
static const char *value_of(const struct preferences *preferences,
                            const struct option *option)
{
    const struct setting *row =
        setting_find(&preferences_table, view_of(option->name));

    return row ? *(char *const *)(const void *)((const char *)preferences +
                                                row->offset)
               : NULL;
}

bool options_settle(struct options *options, const char *verb, struct err *err)
{
    const char *path =
        options->config ? options->config : getenv("QUERN_CONFIG");

    options->preferences = calloc(1, sizeof(*options->preferences));
    if (!options->preferences)
        abort();
    if (!load(options->preferences, path, err))
        return false;
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        const char *value = wanted(options, option, verb)
                                ? value_of(options->preferences, option)
                                : NULL;

        if (value && !option_set(options, option, option->name, value, err))
            return false;
    }
    return true;
}
