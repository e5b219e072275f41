/* hierarchy.c - where this process stands among the cgroups of the machine. */
#include "executor/warden/hierarchy.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *const controller_names[CONTROLLERS] = {
    [CONTROLLER_MEMORY] = "memory",
    [CONTROLLER_PIDS] = "pids",
    [CONTROLLER_CPU] = "cpu",
};

static bool hierarchy_has_word(const char *text, const char *between,
                               const char *word)
{
    size_t len = strlen(word);
    while (*text) {
        size_t here = strcspn(text, between);
        if (here == len && memcmp(text, word, len) == 0)
            return true;
        text += here;
        text += strspn(text, between);
    }
    return false;
}

unsigned int controllers_read(const char *text, const char *between)
{
    unsigned int controllers = 0;
    for (unsigned int i = 0; i < CONTROLLERS; i++)
        if (hierarchy_has_word(text, between, controller_names[i]))
            controllers |= 1U << i;
    return controllers;
}

/* A space is written as \040 in mountinfo. In place. */
static void unescape(char *text)
{
    char *out = text;
    for (const char *in = text; *in; out++)
        if (in[0] == '\\' && strspn(in + 1, "01234567") >= 3) {
            *out = (char)(((in[1] - '0') << 6) | ((in[2] - '0') << 3) |
                          (in[3] - '0'));
            in += 4;
        } else {
            *out = *in++;
        }
    *out = '\0';
}

struct mount {
    int version;
    unsigned int controllers;
    const char *root, *point;
};

/* ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG...] - TYPE SOURCE SUPER */
static bool read_mount(char *line, struct mount *mount)
{
    char *rest = strstr(line, " - ");
    char *save = NULL;
    if (!rest)
        return false;
    *rest = '\0';
    (void)strtok_r(line, " ", &save);
    (void)strtok_r(NULL, " ", &save);
    (void)strtok_r(NULL, " ", &save);
    char *root = strtok_r(NULL, " ", &save);
    char *point = strtok_r(NULL, " ", &save);
    char *type = strtok_r(rest + 3, " ", &save);
    (void)strtok_r(NULL, " ", &save);
    const char *super = strtok_r(NULL, " \n", &save);
    if (!root || !point || !type || !super || strncmp(type, "cgroup", 6) != 0)
        return false;
    unescape(root);
    unescape(point);
    *mount = (struct mount){
        .version = strcmp(type, "cgroup2") == 0 ? 2 : 1,
        .root = root,
        .point = point,
    };
    if (mount->version == 1)
        mount->controllers = controllers_read(super, ",");
    return mount->version == 2 || mount->controllers;
}

/* ID:CONTROLLERS:PATH; of version 2 without controllers. */
static bool read_path(char *line, const struct mount *mount, const char **path)
{
    char *names = strchr(line, ':');
    char *colon = names ? strchr(names + 1, ':') : NULL;
    if (!colon)
        return false;
    *colon = '\0';
    colon[1 + strcspn(colon + 1, "\n")] = '\0';
    *path = colon + 1;
    return mount->version == 2
               ? names[1] == '\0'
               : controllers_read(names + 1, ",") & mount->controllers;
}

/* Of a path that begins with the mount's root, the mount shows the rest. */
static bool join(const struct mount *mount, const char *path,
                 char folder[PATH_MAX])
{
    size_t len = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
    if (strncmp(path, mount->root, len) != 0 ||
        (path[len] != '/' && path[len] != '\0') || strstr(path, "/.."))
        return false;
    int needed = snprintf(folder, PATH_MAX, "%s%s", mount->point, path + len);
    return needed < PATH_MAX;
}

static bool find_folder(FILE *cgroup, const struct mount *mount,
                        char folder[PATH_MAX])
{
    char *line = NULL;
    size_t size = 0;
    bool found = false;
    const char *path;
    rewind(cgroup);
    while (!found && getline(&line, &size, cgroup) > 0)
        found = read_path(line, mount, &path) && join(mount, path, folder);
    free(line);
    return found;
}

/* A hierarchy may be mounted at several places: the first one is taken. */
static bool hierarchy_is_known(const struct hierarchy *found, size_t count,
                               const struct mount *mount)
{
    for (size_t i = 0; i < count; i++)
        if (mount->version == 2 ? found[i].version == 2
                                : found[i].controllers & mount->controllers)
            return true;
    return false;
}

size_t hierarchies_find(FILE *cgroup, FILE *mountinfo,
                        struct hierarchy found[MAX_HIERARCHIES])
{
    char *line = NULL;
    size_t size = 0, count = 0;
    struct mount mount;
    while (count < MAX_HIERARCHIES && getline(&line, &size, mountinfo) > 0)
        if (read_mount(line, &mount) &&
            !hierarchy_is_known(found, count, &mount) &&
            find_folder(cgroup, &mount, found[count].folder)) {
            found[count].version = mount.version;
            found[count++].controllers = mount.controllers;
        }
    free(line);
    return count;
}
