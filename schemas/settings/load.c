/* load.c - the values of a table: from its defaults, a file, the environment,
 * the command line; each writes over those before it. */
#include "schemas/settings/load.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/buf.h"
#include "schemas/settings/spell.h"

enum { MAX_FILE = 256 << 10, MAX_SECRET = 16 << 10 };

static const char file_suffix[] = "_FILE";

/* Who loads, and where to. */
struct load_target {
    const struct setting_table *table;
    void *settings;
    enum setting_request request;
    struct setting_files *files; /* what was read, or NULL */
};

/* --- what every program has ----------------------------------------------- */

static const char *const documents[] = { "man", "sample", "markdown", NULL };

static const struct setting common_rows[] = {
    { .name = "config",
      .group = "Of every program",
      .type = SETTING_TEXT,
      .value = "FILE",
      .is_flag_only = true,
      .about = "Reads settings from this file, a VARIABLE=value line each." },
    { .name = "document",
      .type = SETTING_CHOICE,
      .choices = documents,
      .is_flag_only = true,
      .about = "Prints all settings: as a man page, as a settings file that "
               "has the defaults, or as a table in Markdown." },
    { .name = "help",
      .type = SETTING_SWITCH,
      .value = "",
      .is_flag_only = true,
      .about = "Prints this." },
    { .name = "version",
      .type = SETTING_SWITCH,
      .value = "",
      .is_flag_only = true,
      .about = "Prints the version." },
};
const struct setting_table setting_common = {
    .rows = common_rows,
    .count = sizeof(common_rows) / sizeof(common_rows[0]),
};

/* --- defaults ------------------------------------------------------------- */

static void put_defaults(const struct load_target *target)
{
    for (size_t i = 0; i < target->table->count; i++) {
        const struct setting *row = &target->table->rows[i];
        struct err err = { 0 };
        bool taken = !row->normal || setting_put(row, target->settings,
                                                 row->normal, row->name, &err);
        assert(taken); /* a table refuses its own default: our bug */
        (void)taken;
    }
}

/* --- files ---------------------------------------------------------------- */

/* All of it, with a NUL at the end. */
static bool setting_read_file(const char *path, struct buf *text,
                              struct err *err)
{
    FILE *file = fopen(path, "re");
    char piece[4096];
    size_t got;
    if (!file)
        return err_set(err, ERR_REJECT, "bad_setting", "%s: %s", path,
                       strerror(errno));
    while ((got = fread(piece, 1, sizeof(piece), file)) > 0)
        buf_append(text, piece, got);
    bool failed = ferror(file);
    fclose(file);
    buf_append(text, "", 1);
    if (failed)
        return err_set(err, ERR_REJECT, "bad_setting", "%s cannot be read",
                       path);
    if (!buf_ok(text))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "%s has more than %zu bytes", path, text->max - 1);
    if (strlen(text->data) + 1 != text->len)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "%s is not text: it holds a NUL byte", path);
    return true;
}

/* Remembers the file, for a reload. */
static bool load_file(const struct load_target *target, const char *path,
                      struct buf *text, struct err *err)
{
    struct setting_files *files = target->files;
    if (files && files->count < SETTING_MOST_FILES)
        files->paths[files->count++] = view_dup(view_of(path));
    return setting_read_file(path, text, err);
}

static char *trim(char *text)
{
    size_t len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        text[--len] = '\0';
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

/* As of a variable: what is empty is not set. Remembered for a reload, as the
 * file may be in the middle of being written. */
static bool note_blank(const struct load_target *target,
                       const struct setting *row)
{
    struct setting_files *files = target->files;
    if (files && files->blank_count < SETTING_MOST_FILES)
        files->blanks[files->blank_count++] = row->offset;
    return true;
}

/* The file at that path, which is one line. An editor's line end is no part of
 * the secret. */
static bool put_secret(const struct load_target *target,
                       const struct setting *row, const char *path,
                       const char *name, struct err *err)
{
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, MAX_SECRET + 1);
    if (!load_file(target, path, &text, err))
        return err_prefix(err, "%s", name);
    char *secret = trim(text.data);
    if (strpbrk(secret, "\r\n"))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "%s: %s has more than one line, and a secret has one",
                       name, path);
    return *secret ? setting_put(row, target->settings, secret, name, err)
                   : note_blank(target, row);
}

/* The row that has this variable. *from_file: it is VARIABLE_FILE of a secret.
 */
static const struct setting *find_variable(const struct setting_table *table,
                                           const char *name, bool *from_file)
{
    for (size_t i = 0; i < table->count; i++) {
        char variable[SETTING_NAME_BYTES];
        size_t len;
        if (table->rows[i].is_flag_only)
            continue;
        setting_variable(&table->rows[i], variable);
        len = strlen(variable);
        if (strncmp(name, variable, len) != 0)
            continue;
        *from_file = table->rows[i].type == SETTING_SECRET &&
                     strcmp(name + len, file_suffix) == 0;
        if (name[len] == '\0' || *from_file)
            return &table->rows[i];
    }
    return NULL;
}

static bool no_variable(const struct setting_table *table, const char *name,
                        struct err *err)
{
    char nearest[SETTING_NAME_BYTES] = "";
    unsigned int least = SPELL_FAR;
    for (size_t i = 0; i < table->count; i++) {
        char variable[SETTING_NAME_BYTES];
        setting_variable(&table->rows[i], variable);
        unsigned int distance = spell_distance(name, strlen(name), variable);
        if (table->rows[i].is_flag_only || distance >= least)
            continue;
        least = distance;
        memcpy(nearest, variable, sizeof(nearest));
    }
    return err_set(
        err, ERR_REJECT, "bad_setting", "there is no setting \"%.60s\"%s%s%s",
        name, *nearest ? "; did you mean " : "", nearest, *nearest ? "?" : "");
}

static bool put_line(const struct load_target *target, char *line,
                     struct err *err)
{
    char *value = strchr(line, '=');
    const struct setting *row;
    const char *name;
    bool from_file;
    if (!value)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "\"%.60s\" is not a line of the form VARIABLE=value",
                       line);
    *value++ = '\0';
    name = trim(line);
    value = trim(value);
    row = find_variable(target->table, name, &from_file);
    if (!row)
        return no_variable(target->table, name, err);
    return from_file ? put_secret(target, row, value, name, err)
                     : setting_put(row, target->settings, value, name, err);
}

static bool put_lines(const struct load_target *target, const char *path,
                      char *text, struct err *err)
{
    for (unsigned int number = 1; text; number++) {
        char *line = trim(strsep(&text, "\n"));
        if (*line && *line != '#' && !put_line(target, line, err))
            return err_prefix(err, "%s:%u", path, number);
    }
    return true;
}

bool setting_load_text(const struct setting_table *table, void *settings,
                       const char *path, char *text, struct err *err)
{
    struct load_target target = { table, settings, SETTING_RUN, NULL };
    return put_lines(&target, path, text, err);
}

static bool put_file(const struct load_target *target, const char *path,
                     struct err *err)
{
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, MAX_FILE + 1);
    if (!load_file(target, path, &text, err))
        return err_prefix(err, "--config");
    if (target->files)
        target->files->is_blank = view_trimmed(view_of(text.data)).len == 0;
    return put_lines(target, path, text.data, err);
}

/* --- environment ---------------------------------------------------------- */

/* NULL: it is not there, or empty. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static bool put_variable(const struct load_target *target,
                         const struct setting *row, struct err *err)
{
    char name[SETTING_NAME_BYTES];
    char file[SETTING_NAME_BYTES + sizeof(file_suffix)];
    const char *value;
    setting_variable(row, name);
    value = environment(name);
    if (value)
        return setting_put(row, target->settings, value, name, err);
    snprintf(file, sizeof(file), "%s%s", name, file_suffix);
    value = row->type == SETTING_SECRET ? environment(file) : NULL;
    return !value || put_secret(target, row, value, file, err);
}

static bool put_environment(const struct load_target *target, struct err *err)
{
    for (size_t i = 0; i < target->table->count; i++) {
        const struct setting *row = &target->table->rows[i];
        if (!row->is_flag_only && !put_variable(target, row, err))
            return false;
    }
    return true;
}

/* --- command line --------------------------------------------------------- */

static void no_flag(const struct setting_table *table, struct view name,
                    struct err *err)
{
    const struct setting_table *tables[] = { table, &setting_common };
    const char *near = NULL;
    unsigned int least = SPELL_FAR;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t]->count; i++) {
            const char *known = tables[t]->rows[i].name;
            unsigned int distance = spell_distance(name.data, name.len, known);
            if (distance < least) {
                least = distance;
                near = known;
            }
        }
    err_set(err, ERR_REJECT, "bad_setting", "there is no flag --%.*s%s%s%s",
            VIEW_ARG(view_head(name, 60)), near ? "; did you mean --" : "",
            near ? near : "", near ? "?" : "");
}

/* A switch takes the next word only when that says on or off. */
static bool takes_next(const struct setting *row, const char *next)
{
    return next && (row->type != SETTING_SWITCH || strcmp(next, "on") == 0 ||
                    strcmp(next, "off") == 0);
}

/* The row of the flag at *at, which is moved past what it has used: --name
 * VALUE or --name=VALUE. NULL: it is wrong. */
static const struct setting *take_flag(const struct setting_table *table,
                                       char *const **at, const char **value,
                                       struct err *err)
{
    const char *word = *(*at)++;
    if (strncmp(word, "--", 2) != 0 || word[2] == '\0') {
        err_set(err, ERR_REJECT, "bad_setting",
                "\"%.60s\" is not a flag, and there are no other words", word);
        return NULL;
    }
    struct view name = { word + 2, strcspn(word + 2, "=") };
    const struct setting *row = setting_find(table, name);
    if (!row)
        row = setting_find(&setting_common, name);
    if (!row) {
        no_flag(table, name, err);
        return NULL;
    }
    *value = name.data[name.len] == '=' ? name.data + name.len + 1 : NULL;
    if (!*value && takes_next(row, **at))
        *value = *(*at)++;
    if (!*value && row->type == SETTING_SWITCH)
        *value = "on";
    if (*value)
        return row;
    err_set(err, ERR_REJECT, "bad_setting", "--%s needs a value: %s", row->name,
            setting_value_name(row));
    return NULL;
}

static bool is_common(const struct setting *row)
{
    return setting_find(&setting_common, view_of(row->name)) == row;
}

static bool put_common(struct load_target *target, const struct setting *row,
                       const char *value, struct err *err)
{
    int document = 0;
    if (row == &common_rows[0])
        return put_file(target, value, err);
    if (strcmp(row->name, "help") == 0)
        target->request = SETTING_HELP;
    else if (strcmp(row->name, "version") == 0)
        target->request = SETTING_VERSION;
    else if (!setting_put(row, &document, value, "--document", err))
        return false;
    else
        target->request = SETTING_MAN + (enum setting_request)document;
    return true;
}

/* The flags of setting_common come first, wherever they stand: the file is
 * weaker than the environment, and that is weaker than other flags. */
static bool put_flags(struct load_target *target, char *const *argv,
                      bool common, struct err *err)
{
    while (*argv) {
        const char *value = NULL;
        char name[SETTING_NAME_BYTES];
        const struct setting *row =
            take_flag(target->table, &argv, &value, err);
        if (!row)
            return false;
        if (is_common(row) != common)
            continue;
        snprintf(name, sizeof(name), "--%s", row->name);
        if (!(common ? put_common(target, row, value, err)
                     : setting_put(row, target->settings, value, name, err)))
            return false;
    }
    return true;
}

bool setting_load_files(const struct setting_table *table, void *settings,
                        char *const *argv, enum setting_request *request,
                        struct setting_files *files, struct err *err)
{
    struct load_target target = { table, settings, SETTING_RUN, files };
    put_defaults(&target);
    if (!put_flags(&target, argv + 1, true, err))
        return false;
    *request = target.request;
    return target.request != SETTING_RUN ||
           (put_environment(&target, err) &&
            put_flags(&target, argv + 1, false, err));
}

bool setting_load(const struct setting_table *table, void *settings,
                  char *const *argv, enum setting_request *request,
                  struct err *err)
{
    return setting_load_files(table, settings, argv, request, NULL, err);
}
