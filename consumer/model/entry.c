/* entry.c - reads a JSON file of the operator: a map from names to entries. */
#include "consumer/model/entry.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------- file */

static bool complain(struct err *err, const char *path, json_error_t *error)
{
    /* jansson quotes the text at which it stopped, which may be a key. */
    char *quote = strstr(error->text, " near '");
    if (quote)
        *quote = '\0';
    if (error->line < 1)
        return err_set(err, ERR_REJECT, "bad_setting", "%s", error->text);
    return err_set(err, ERR_REJECT, "bad_setting", "%s:%d: %s", path,
                   error->line, error->text);
}

bool entry_read_file(const char *path, const char *form, entry_take *take,
                     void *owner, struct err *err)
{
    json_error_t error;
    json_t *entry, *file = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    const char *name;
    bool good = json_is_object(file);

    if (!file)
        return complain(err, path, &error);
    if (!good)
        err_set(err, ERR_REJECT, "bad_setting", "%s: must be an object %s",
                path, form);
    json_object_foreach(file, name, entry) {
        good = take(owner, name, entry, err);
        if (!good) {
            err_prefix(err, "%s: %s", path, name);
            break;
        }
    }
    json_decref(file);
    return good;
}

char *entry_path_beside(const char *file, const char *path)
{
    const char *slash = strrchr(file, '/');
    size_t folder = *path == '/' || !slash ? 0 : (size_t)(slash - file) + 1;
    size_t len = strlen(path);
    char *joined = malloc(folder + len + 1);

    if (!joined)
        abort();
    memcpy(joined, file, folder);
    memcpy(joined + folder, path, len + 1);
    return joined;
}

/* ----------------------------------------------------------------- members */

bool entry_bad(struct err *err, const char *sentence)
{
    return err_set(err, ERR_REJECT, "bad_setting", "%s", sentence);
}

bool entry_bad_value(struct err *err, const char *member, const json_t *value,
                     const char *must)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY |
                                       JSON_REAL_PRECISION(6));
    err_set(err, ERR_REJECT, "bad_setting", "%s: is %.60s, must be %s", member,
            text ? text : "what it is", must);
    free(text);
    return false;
}

bool entry_name_is_good(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_' &&
            name[i] != '-')
            return false;
    return len > 0 && len <= ENTRY_MOST_NAME &&
           !isdigit((unsigned char)name[0]);
}

bool entry_number(uint64_t *number, const json_t *value, json_int_t most,
                  const char *member, struct err *err)
{
    char must[48];
    json_int_t given = json_integer_value(value);
    snprintf(must, sizeof(must), "1 to %lld", (long long)most);
    if (given < 1 || given > most)
        return entry_bad_value(err, member, value, must);
    *number = (uint64_t)given;
    return true;
}

bool entry_check_url(const char *url, struct err *err)
{
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return entry_bad(err, "url: must start with http:// or https://");
    if (strcspn(strstr(url, "//") + 2, "/?#") == 0)
        return entry_bad(err, "url: names no server");
    if (strchr(url, '#'))
        return entry_bad(err, "url: may have no # in it");
    for (const char *c = url; *c != '\0'; c++)
        if (*c <= ' ' || *c >= 0x7f)
            return entry_bad(
                err, "url: has a byte in it that must be written as %XX");
    return true;
}
