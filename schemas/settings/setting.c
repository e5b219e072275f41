/* setting.c - one row: its names, and a value that is put into the struct. */
#include "schemas/settings/setting.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/buf.h"
#include "schemas/settings/amount.h"
#include "schemas/settings/spell.h"

static const char *const switch_words[] = { "off", "on", NULL };

static char variable_letter(char letter)
{
    if (letter == '-')
        return '_';
    return (char)toupper((unsigned char)letter);
}

void setting_variable(const struct setting *row,
                      char variable[SETTING_NAME_BYTES])
{
    int len = snprintf(variable, SETTING_NAME_BYTES, "%s%s",
                       row->variable ? "" : "QUERN_",
                       row->variable ? row->variable : row->name);
    for (int i = 0; i < len && !row->variable; i++)
        variable[i] = variable_letter(variable[i]);
}

const struct setting *setting_find(const struct setting_table *table,
                                   struct view name)
{
    for (size_t i = 0; i < table->count; i++)
        if (view_is(name, table->rows[i].name))
            return &table->rows[i];
    return NULL;
}

const char *setting_value_name(const struct setting *row)
{
    static const char *const names[] = {
        [SETTING_TEXT] = "TEXT",       [SETTING_SECRET] = "TEXT",
        [SETTING_LIST] = "NAME,...",   [SETTING_NUMBER] = "N",
        [SETTING_TIME] = "TIME",       [SETTING_SIZE] = "SIZE",
        [SETTING_DOLLARS] = "DOLLARS", [SETTING_SWITCH] = "on|off",
        [SETTING_CHOICE] = "WORD",     [SETTING_OF_READER] = "TEXT",
    };
    return row->value ? row->value : names[row->type];
}

bool setting_range(const struct setting *row, struct amount_range *range)
{
    static const struct {
        enum setting_type type;
        enum amount_kind kind;
    } kinds[] = {
        { SETTING_NUMBER, AMOUNT_COUNT },
        { SETTING_TIME, AMOUNT_TIME },
        { SETTING_SIZE, AMOUNT_SIZE },
        { SETTING_DOLLARS, AMOUNT_DOLLARS },
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].type == row->type) {
            *range = (struct amount_range){ kinds[i].kind, row->min, row->max };
            return true;
        }
    return false;
}

/* ------------------------------------------------------------------ words */

static bool find_word(const char *const *words, struct view word, int *place)
{
    for (int i = 0; words[i]; i++)
        if (view_is(word, words[i])) {
            *place = i;
            return true;
        }
    return false;
}

/* "must be boxed, watched or full; did you mean full?" */
static bool refuse_word(const char *const *words, struct view word,
                        struct err *err)
{
    CLEANUP(buf_finish) struct buf text = { .max = sizeof(err->text) };
    const char *near = spell_nearest(words, word);
    for (int i = 0; words[i]; i++) {
        const char *before = !words[i + 1] ? " or " : ", ";
        buf_printf(&text, "%s%s", i > 0 ? before : "", words[i]);
    }
    return err_set(err, ERR_REJECT, "bad_setting", "must be %.*s%s%s%s",
                   VIEW_ARG(buf_view(&text)), near ? "; did you mean " : "",
                   near ? near : "", near ? "?" : "");
}

static bool check_list(const char *text, struct err *err)
{
    for (const char *at = *text ? text : NULL, *next; at; at = next) {
        size_t len = strcspn(at, ",");
        next = at[len] ? at + len + 1 : NULL;
        if (view_trimmed((struct view){ at, len }).len == 0)
            return err_set(err, ERR_REJECT, "bad_setting",
                           "must have a name before and after each comma");
    }
    return true;
}

/* ----------------------------------------------------------------- values */

static void put_text(const struct setting *row, void *place, const char *text)
{
    char *copy = *text || row->normal ? view_dup(view_of(text)) : NULL;
    free(*(char **)place);
    *(char **)place = copy;
}

bool setting_read_word(const char *const *words, const char *text, int *place,
                       struct err *err)
{
    return find_word(words, view_of(text), place) ||
           refuse_word(words, view_of(text), err);
}

static bool put_choice(const struct setting *row, void *place, const char *text,
                       struct err *err)
{
    int word = 0;
    const char *const *words =
        row->type == SETTING_SWITCH ? switch_words : row->choices;
    if (!setting_read_word(words, text, &word, err))
        return false;
    if (row->type == SETTING_SWITCH)
        *(bool *)place = word == 1;
    else
        memcpy(place, &word, sizeof(word));
    return true;
}

static bool check_text(const struct setting *row, const char *text,
                       struct err *err)
{
    int place;
    if (row->type == SETTING_LIST && !check_list(text, err))
        return false;
    if (row->choices && !setting_read_word(row->choices, text, &place, err))
        return false;
    return !row->check || !*text || row->check(text, err);
}

static bool put_value(const struct setting *row, void *settings,
                      const char *text, struct err *err)
{
    void *place = (char *)settings + row->offset;
    struct amount_range range;
    if (row->type == SETTING_OF_READER)
        return row->read(settings, text, err);
    if (row->type == SETTING_SWITCH || row->type == SETTING_CHOICE)
        return put_choice(row, place, text, err);
    if (setting_range(row, &range))
        return amount_read(place, &range, text, err);
    if (!check_text(row, text, err))
        return false;
    put_text(row, place, text);
    return true;
}

bool setting_put(const struct setting *row, void *settings, const char *text,
                 const char *name, struct err *err)
{
    struct err why = { 0 };
    if (put_value(row, settings, text, &why))
        return true;
    if (row->type == SETTING_SECRET)
        return err_set(err, ERR_REJECT, "bad_setting", "%s: %s", name,
                       why.text);
    return err_set(err, ERR_REJECT, "bad_setting", "%s is \"%.60s\"%s %s", name,
                   text, strncmp(why.text, "must ", 5) == 0 ? "," : ":",
                   why.text);
}

static bool setting_is_text(const struct setting *row)
{
    return row->type == SETTING_TEXT || row->type == SETTING_SECRET ||
           row->type == SETTING_LIST;
}

void setting_finish(const struct setting_table *table, void *settings)
{
    for (size_t i = 0; i < table->count; i++)
        if (setting_is_text(&table->rows[i])) {
            char *place = (char *)settings + table->rows[i].offset;
            free(*(char **)(void *)place);
            *(char **)(void *)place = NULL;
        }
}
