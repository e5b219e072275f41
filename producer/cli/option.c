/* option.c - reads the command line by the table of options, and prints the
 * options of a help page. */
#include "producer/cli/option.h"

#include <stdlib.h>
#include <string.h>

#include "producer/cli/member.h"
#include "schemas/settings/document.h"
#include "schemas/settings/setting.h"
#include "schemas/settings/spell.h"

enum { OPTION_INDENT = 29 }; /* of what help says of an option */

/* The value is wrong; why says what it must be. */
static bool option_refuse(struct err *err, const char *name, const char *value,
                          const struct err *why)
{
    return err_set(err, ERR_REJECT, "bad_setting", "%s is \"%.64s\", %s", name,
                   value, why->text);
}

enum option_type option_type(const struct option *option)
{
    return option->type == OPTION_MEMBER ? member_type(option) : option->type;
}

const char *const *option_choices(const struct option *option)
{
    return option->type == OPTION_MEMBER ? member_field(option)->names
                                         : option->choices;
}

const char *option_value(const struct option *option)
{
    return option->type == OPTION_MEMBER && !option->value
               ? member_value(member_type(option))
               : option->value;
}

static bool set_amount(uint64_t *number, const struct option *option,
                       const char *name, const char *value, struct err *err)
{
    static const enum amount_kind kinds[] = {
        [OPTION_COUNT] = AMOUNT_COUNT,
        [OPTION_TIME] = AMOUNT_TIME,
        [OPTION_BYTES] = AMOUNT_SIZE,
        [OPTION_COST] = AMOUNT_DOLLARS,
    };
    /* A limit of no money would let nothing run: nobody means that. */
    const struct amount_range range = {
        .kind = kinds[option_type(option)],
        .min = option_type(option) == OPTION_COST,
        .max = option->type == OPTION_MEMBER ? member_field(option)->max
                                             : option->max,
    };
    struct err why = { 0 };

    return amount_read(number, &range, value, &why) ||
           option_refuse(err, name, value, &why);
}

static bool set_choice(int *choice, const struct option *option,
                       const char *name, const char *value, struct err *err)
{
    struct err why = { 0 };

    return setting_read_word(option_choices(option), value, choice, &why) ||
           option_refuse(err, name, value, &why);
}

static bool option_add_text(struct option_texts *texts,
                            const struct option *option, const char *value,
                            struct err *err)
{
    if (texts->count == MAX_TEXTS)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--%s: more than %d of them", option->name, MAX_TEXTS);
    texts->items[texts->count++] = value;
    return true;
}

static bool option_set_member(struct options *options,
                              const struct option *option, const char *name,
                              const char *value, struct err *err)
{
    json_t **members = &options->submit.members;
    uint64_t number;
    int choice;

    switch (member_type(option)) {
    case OPTION_FLAG:
        return member_set(members, option, json_true(), err);
    case OPTION_TEXT:
    case OPTION_TEXTS:
        return member_set(members, option, json_string(value), err);
    case OPTION_COUNT:
    case OPTION_TIME:
    case OPTION_BYTES:
    case OPTION_COST:
        return set_amount(&number, option, name, value, err) &&
               member_set(members, option, json_integer((json_int_t)number),
                          err);
    case OPTION_CHOICE:
        return set_choice(&choice, option, name, value, err) &&
               member_set(members, option,
                          json_string(option_choices(option)[choice]), err);
    case OPTION_MEMBER:
        break;
    }
    return false;
}

bool option_is_given(const struct options *options, const struct option *option)
{
    return options->given[option - option_table];
}

bool option_set(struct options *options, const struct option *option,
                const char *name, const char *value, struct err *err)
{
    void *place = (char *)options + option->offset;

    options->given[option - option_table] = true;
    switch (option->type) {
    case OPTION_FLAG:
        *(bool *)place = true;
        return true;
    case OPTION_TEXT:
        *(const char **)place = value;
        return true;
    case OPTION_TEXTS:
        return option_add_text(place, option, value, err);
    case OPTION_COUNT:
    case OPTION_TIME:
    case OPTION_BYTES:
    case OPTION_COST:
        return set_amount(place, option, name, value, err);
    case OPTION_CHOICE:
        return set_choice(place, option, name, value, err);
    case OPTION_MEMBER:
        return option_set_member(options, option, name, value, err);
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
        if (option->member && (options->submit.job || options->submit.jobs))
            return err_set(
                err, ERR_REJECT, "bad_setting",
                "--%s does not go with %s: set %s in the JSON", option->name,
                options->submit.job ? "--job" : "--jobs", option->member);
        if (option->flags & OPTION_OF_ONE && options->submit.jobs)
            return err_set(
                err, ERR_REJECT, "bad_setting",
                "--%s does not go with --jobs: of many jobs with the "
                "same key only the first would be submitted",
                option->name);
    }
    return true;
}

bool option_is_of(const struct option *option, const char *verb)
{
    size_t len = strlen(verb);
    const char *at = option->verbs;

    if (!at)
        return true;
    while ((at = strstr(at + 1, verb)))
        if (at[-1] == ',' && at[len] == ',')
            return true;
    return false;
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

/* Refuses a word that is no option of the verb, and names the one that is
 * spelled most alike. */
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
    bool takes_value;
    char name[SETTING_NAME_BYTES];

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
    takes_value = option_type(option) != OPTION_FLAG;
    if (!takes_value && value)
        return err_set(err, ERR_REJECT, "bad_setting", "--%s takes no value",
                       option->name);
    if (takes_value && !value && *at == argc)
        return err_set(err, ERR_REJECT, "bad_setting", "--%s needs a value: %s",
                       option->name, option_value(option));
    if (takes_value && !value)
        value = argv[(*at)++];
    snprintf(name, sizeof(name), "--%s", option->name);
    return option_set(options, option, name, value, err);
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

void options_finish(struct options *options)
{
    if (options->preferences)
        setting_finish(&preferences_table, options->preferences);
    free(options->preferences);
    options->preferences = NULL;
    json_decref(options->submit.members);
    options->submit.members = NULL;
}

void option_describe(const struct option *option, struct buf *out)
{
    if (option->about)
        buf_printf(out, "%s", option->about);
    else
        member_describe(option, out);
}

/* -n, --limit N          what it is */
static void help_of(const struct option *option, FILE *out)
{
    const char *value = option_value(option);
    CLEANUP(buf_finish) struct buf about = { .max = 1024 };
    char left[40];

    snprintf(left, sizeof(left), "%s%c%s --%s %s", option->letter ? "-" : " ",
             option->letter ? option->letter : ' ', option->letter ? "," : " ",
             option->name, value ? value : "");
    option_describe(option, &about);
    buf_append(&about, "", 1);
    document_wrap(out, about.data, (size_t)fprintf(out, "  %-26s", left),
                  OPTION_INDENT, document_width());
}

void options_help(const char *verb, FILE *out)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];

        if (verb ? option->verbs && option_is_of(option, verb) : !option->verbs)
            help_of(option, out);
    }
}
