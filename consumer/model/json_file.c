/* json_file.c - what an operator sets up in a JSON file, an entry a name. */
#include "consumer/model/json_file.h"

#include <stdlib.h>
#include <string.h>

static bool complain(struct err *err, const char *path, json_error_t *error)
{
    char *quote = strstr(error->text, " near '");
    if (quote)
        *quote = '\0';
    if (error->line < 1)
        return err_set(err, ERR_REJECT, "bad_setting", "%s", error->text);
    return err_set(err, ERR_REJECT, "bad_setting", "%s:%d: %s", path,
                   error->line, error->text);
}

bool json_file_read(const char *path, const char *form, json_entry *take,
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

char *json_file_beside(const char *file, const char *path)
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
