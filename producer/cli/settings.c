/* settings.c - what the environment and the settings file say.
 *
 * The file has lines "name = value", where name is an option's; "#" begins a
 * comment line. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "producer/cli/option.h"
#include "schemas/message/buf.h"

enum { MAX_SETTINGS_BYTES = 64 << 10 };

static bool wanted(const struct options *options, const struct option *option,
                   const char *verb)
{
    bool told =
        option->flags & OPTION_OF_JOB && (options->job || options->jobs);

    return option->flags & OPTION_SETTING && option_is_of(option, verb) &&
           !told && !option_is_given(options, option);
}

/* redis-url: QUERN_REDIS_URL */
static const char *variable(const struct option *option)
{
    char name[64];
    int len = snprintf(name, sizeof(name), "QUERN_%s", option->name);

    for (int i = 0; i < len; i++)
        if (name[i] == '-')
            name[i] = '_';
        else if (name[i] >= 'a' && name[i] <= 'z')
            name[i] ^= 'a' ^ 'A';
    return getenv(name);
}

static bool read_environment(struct options *options, const char *verb,
                             struct err *err)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        const char *value =
            wanted(options, option, verb) ? variable(option) : NULL;

        if (value && *value && !option_set(options, option, value, err))
            return err_prefix(err, "from the environment");
    }
    return true;
}

static void cleanup_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

/* The text of the settings file; NULL with ERR_NONE when there is none at its
 * usual place. */
static char *read_file(const char *given, struct err *err)
{
    const char *home = getenv("HOME");
    const char *config = getenv("XDG_CONFIG_HOME");
    CLEANUP(cleanup_file) FILE *file = NULL;
    char path[4096];
    char *text;
    size_t len;

    if (given)
        snprintf(path, sizeof(path), "%s", given);
    else if (config && *config)
        snprintf(path, sizeof(path), "%s/quern/quern.conf", config);
    else
        snprintf(path, sizeof(path), "%s/.config/quern/quern.conf",
                 home ? home : "");
    file = fopen(path, "re");
    if (!file) {
        if (given)
            err_set(err, ERR_REJECT, "bad_setting", "--config: %s: %s", path,
                    strerror(errno));
        return NULL;
    }
    text = calloc(1, MAX_SETTINGS_BYTES + 1);
    if (!text)
        abort();
    len = fread(text, 1, MAX_SETTINGS_BYTES + 1, file);
    if (len <= MAX_SETTINGS_BYTES)
        return text;
    err_set(err, ERR_REJECT, "bad_setting", "%s has more than %d bytes", path,
            MAX_SETTINGS_BYTES);
    free(text);
    return NULL;
}

static char *trim(char *text)
{
    char *end = text + strlen(text);

    while (end > text && isspace((unsigned char)end[-1]))
        *--end = '\0';
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

static bool read_line(struct options *options, const char *verb, char *line,
                      struct err *err)
{
    char *equals = strchr(line, '=');
    const char *name;

    if (*line == '\0' || *line == '#')
        return true;
    if (!equals)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "\"%.64s\" is not name = value", line);
    *equals = '\0';
    name = trim(line);
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];

        if (!(option->flags & OPTION_SETTING) ||
            strcmp(option->name, name) != 0)
            continue;
        return !wanted(options, option, verb) ||
               option_set(options, option, trim(equals + 1), err);
    }
    return err_set(err, ERR_REJECT, "bad_setting",
                   "there is no setting \"%.64s\"", name);
}

bool options_settle(struct options *options, const char *verb, struct err *err)
{
    const char *path =
        options->config ? options->config : getenv("QUERN_CONFIG");
    struct err fault = { 0 };
    char *next, *line;
    int number = 0;

    if (!read_environment(options, verb, err))
        return false;
    options->settings = read_file(path, &fault);
    if (!options->settings && fault.kind != ERR_NONE) {
        *err = fault;
        return false;
    }
    next = options->settings;
    while (next && *next) {
        line = strsep(&next, "\n");
        number++;
        if (!read_line(options, verb, trim(line), err))
            return err_prefix(err, "settings, line %d", number);
    }
    return true;
}
