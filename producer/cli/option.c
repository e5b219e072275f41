/* option.c - reads the command line by the table. */
#include "producer/cli/option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/settings/spell.h"

static bool bad(struct err *err, const struct option *option, const char *value,
                const char *what)
{
    return err_set(err, ERR_REJECT, "bad_setting", "--%s: \"%.64s\" is not %s",
                   option->name, value, what);
}

struct unit {
    const char *suffix;
    uint64_t factor;
};
static const struct unit times[] = {
    { "", 1000 },     { "ms", 1 },       { "s", 1000 }, { "m", 60000 },
    { "h", 3600000 }, { "d", 86400000 }, { NULL, 0 },
};
static const struct unit sizes[] = {
    { "", 1 },        { "k", 1 << 10 }, { "K", 1 << 10 }, { "m", 1 << 20 },
    { "M", 1 << 20 }, { "g", 1 << 30 }, { "G", 1 << 30 }, { NULL, 0 },
};
static const struct unit counts[] = { { "", 1 }, { NULL, 0 } };

/* Digits, then a unit; within uint64_t. */
static bool read_number(const char *text, const struct unit *units,
                        uint64_t *number)
{
    char *end;
    unsigned long long value;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    value = strtoull(text, &end, 10);
    while (units->suffix && strcmp(units->suffix, end) != 0)
        units++;
    if (errno || !units->suffix || value > UINT64_MAX / units->factor)
        return false;
    *number = value * units->factor;
    return true;
}

static bool set_number(uint64_t *number, const struct option *option,
                       const char *value, const struct unit *units,
                       const char *what, struct err *err)
{
    if (!read_number(value, units, number))
        return bad(err, option, value, what);
    if (option->max && *number > option->max)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--%s: %s is more than the limit, %" PRIu64 "%s",
                       option->name, value, option->max,
                       option->type == OPTION_TIME ? " ms" : "");
    return true;
}

/* Dollars, with up to six places, in micro-dollars. */
static bool read_cost(const char *text, uint64_t *cost)
{
    size_t whole = strspn(text, "0123456789");
    size_t places = 0;
    uint64_t micro = 0;

    if (whole == 0 || whole > 9)
        return false;
    for (size_t i = 0; i < whole; i++)
        micro = micro * 10 + (uint64_t)(text[i] - '0');
    if (text[whole] == '.')
        places = strspn(text + whole + 1, "0123456789");
    if (places > 6 || text[whole + (text[whole] == '.') + places] != '\0')
        return false;
    for (size_t i = 0; i < 6; i++)
        micro = micro * 10 +
                (i < places ? (uint64_t)(text[whole + 1 + i] - '0') : 0);
    *cost = micro;
    return micro > 0;
}

static bool set_choice(int *choice, const struct option *option,
                       const char *value, struct err *err)
{
    for (int i = 0; option->choices[i]; i++)
        if (strcmp(option->choices[i], value) == 0) {
            *choice = i;
            return true;
        }
    err_set(err, ERR_REJECT, "bad_setting",
            "--%s: \"%.64s\" is not one of:", option->name, value);
    for (int i = 0; option->choices[i]; i++) {
        size_t len = strlen(err->text);

        snprintf(err->text + len, sizeof(err->text) - len, "%s %s",
                 i > 0 ? "," : "", option->choices[i]);
    }
    return false;
}

static bool add_text(struct texts *texts, const struct option *option,
                     const char *value, struct err *err)
{
    if (texts->count == MAX_TEXTS)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--%s: more than %d of them", option->name, MAX_TEXTS);
    texts->items[texts->count++] = value;
    return true;
}

static uint64_t bit(const struct option *option)
{
    return (uint64_t)1 << (option - option_table);
}

bool option_is_given(const struct options *options, const struct option *option)
{
    return options->given & bit(option);
}

bool option_set(struct options *options, const struct option *option,
                const char *value, struct err *err)
{
    void *place = (char *)options + option->offset;

    options->given |= bit(option);
    switch (option->type) {
    case OPTION_FLAG:
        *(bool *)place = true;
        return true;
    case OPTION_TEXT:
        *(const char **)place = value;
        return true;
    case OPTION_TEXTS:
        return add_text(place, option, value, err);
    case OPTION_COUNT:
        return set_number(place, option, value, counts, "a number", err);
    case OPTION_TIME:
        return set_number(place, option, value, times,
                          "a time, such as 500ms, 30s, 5m, 2h", err);
    case OPTION_BYTES:
        return set_number(place, option, value, sizes,
                          "a size, such as 64k, 512M, 2G", err);
    case OPTION_COST:
        return read_cost(value, place) ||
               bad(err, option, value,
                   "an amount of dollars, such as 2 or 0.05");
    case OPTION_CHOICE:
        return set_choice(place, option, value, err);
    }
    return false;
}

bool options_have(const struct options *options, const char *name)
{
    for (size_t i = 0; i < option_count; i++)
        if (strcmp(option_table[i].name, name) == 0)
            return option_is_given(options, &option_table[i]);
    return false;
}

bool options_check_job(const struct options *options, struct err *err)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];

        if (!option_is_given(options, option))
            continue;
        if (option->member && (options->job || options->jobs))
            return err_set(err, ERR_REJECT, "bad_setting",
                           "--%s is not for %s, where the JSON says it: as %s",
                           option->name, options->job ? "--job" : "--jobs",
                           option->member);
        if (option->flags & OPTION_OF_ONE && options->jobs)
            return err_set(err, ERR_REJECT, "bad_setting",
                           "--%s is not for --jobs: of many jobs with the same "
                           "key only the first would be submitted",
                           option->name);
    }
    return true;
}

static const struct option *find_name(const char *verb, const char *name,
                                      size_t len)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_is_of(&option_table[i], verb) &&
            strlen(option_table[i].name) == len &&
            memcmp(option_table[i].name, name, len) == 0)
            return &option_table[i];
    return NULL;
}

static const struct option *find_letter(const char *verb, char letter)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_is_of(&option_table[i], verb) &&
            option_table[i].letter == letter)
            return &option_table[i];
    return NULL;
}

/* What the word stands for that is no option of the verb. */
static bool no_option(const char *verb, const char *word, struct err *err)
{
    const char *name = NULL;
    unsigned int nearest = SPELL_FAR;

    for (size_t i = 0; i < option_count && word[1] == '-'; i++) {
        const struct option *option = &option_table[i];
        unsigned int distance =
            option_is_of(option, verb)
                ? spell_distance(word + 2, strcspn(word + 2, "="), option->name)
                : SPELL_FAR;

        if (distance < nearest) {
            nearest = distance;
            name = option->name;
        }
    }
    return err_set(
        err, ERR_REJECT, "bad_setting", "there is no option %.64s%s%s%s", word,
        name ? "; did you mean --" : "", name ? name : "", name ? "?" : "");
}

/* --name, --name=VALUE, --name VALUE, -n VALUE, -nVALUE; moves *at past what it
 * used. */
static bool parse_option(struct options *options, const char *verb, int argc,
                         char **argv, int *at, struct err *err)
{
    const char *word = argv[(*at)++];
    const char *value = NULL;
    const struct option *option;

    if (word[1] == '-') {
        size_t len = strcspn(word + 2, "=");

        option = find_name(verb, word + 2, len);
        if (word[2 + len] == '=')
            value = word + 2 + len + 1;
    } else {
        option = find_letter(verb, word[1]);
        if (word[2])
            value = word + 2;
    }
    if (!option)
        return no_option(verb, word, err);
    if (option->type == OPTION_FLAG && value)
        return err_set(err, ERR_REJECT, "bad_setting", "--%s takes no value",
                       option->name);
    if (option->type != OPTION_FLAG && !value && *at == argc)
        return err_set(err, ERR_REJECT, "bad_setting", "--%s needs a value: %s",
                       option->name, option->value);
    if (option->type != OPTION_FLAG && !value)
        value = argv[(*at)++];
    return option_set(options, option, value, err);
}

bool options_parse(struct options *options, const char *verb, int argc,
                   char **argv, struct err *err)
{
    bool only_words = false;

    for (int at = 0; at < argc;) {
        const char *word = argv[at];

        if (!only_words && strcmp(word, "--") == 0) {
            only_words = true;
            at++;
        } else if (!only_words && word[0] == '-' && word[1]) {
            if (!parse_option(options, verb, argc, argv, &at, err))
                return false;
        } else {
            if (options->word_count < MAX_WORDS)
                options->words[options->word_count] = word;
            options->word_count++;
            at++;
        }
    }
    return true;
}
