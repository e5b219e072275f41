/* listing.c - what is in a workspace, and what a cell changed there.
 *
 * Hostile code chooses the names, and how many and how deep they are: entries,
 * depth and bytes of names are bounded. A listing that had to stop is cut, and
 * never claims that a file is gone. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor/base/loop.h"
#include "executor/warden/files.h"

enum { MAX_TICK_NS = 20000000 }; /* of the clock that files are timed by */

struct listing_walk {
    struct file_listing *listing;
    size_t entries;      /* looked at so far */
    bool refused;        /* our user may not look at something */
    char path[PATH_MAX]; /* of the entry, relative to the workspace */
};

static int64_t nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void add_file(struct listing_walk *walk, const struct stat *status)
{
    struct file_listing *listing = walk->listing;
    size_t len = strlen(walk->path);
    if (listing->name_bytes + len > LISTING_NAME_BYTES) {
        listing->cut = true;
        return;
    }
    if (listing->count == listing->room) {
        listing->room = listing->room ? 2 * listing->room : 16;
        listing->files = reallocarray(listing->files, listing->room,
                                      sizeof(*listing->files));
        if (!listing->files)
            abort();
    }
    listing->name_bytes += len;
    if (nanoseconds(status->st_ctim) > listing->newest_ns)
        listing->newest_ns = nanoseconds(status->st_ctim);
    listing->files[listing->count++] = (struct listed_file){
        .name = view_dup((struct view){ walk->path, len }),
        .inode = status->st_ino,
        .bytes = (uint64_t)status->st_size,
        .modified_ns = nanoseconds(status->st_mtim),
        .changed_ns = nanoseconds(status->st_ctim),
    };
}

static bool is_hidden(const char *name)
{
    return name[0] == '.' || strcmp(name, "__pycache__") == 0;
}

static void read_folder(struct listing_walk *walk, int fd, unsigned int depth);

/* len: of the folder's own path, with its slash. */
static void read_entry(struct listing_walk *walk, int folder, size_t len,
                       const char *name, unsigned int depth)
{
    struct stat status;
    if (is_hidden(name))
        return;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        walk->refused |= errno == EACCES;
        return;
    }
    int written =
        snprintf(walk->path + len, sizeof(walk->path) - len, "%s", name);
    if (written < 0 || (size_t)written >= sizeof(walk->path) - len - 1) {
        walk->listing->cut = true;
        return;
    }
    if (S_ISREG(status.st_mode)) {
        add_file(walk, &status);
    } else if (S_ISDIR(status.st_mode)) {
        /* A symbolic link that took its place meanwhile is not followed. */
        int fd = openat(folder, name,
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        walk->path[len + (size_t)written] = '/';
        walk->path[len + (size_t)written + 1] = '\0';
        if (fd >= 0)
            read_folder(walk, fd, depth + 1);
        else
            walk->refused |= errno == EACCES;
    }
}

/* Takes fd. Each level holds a descriptor and some stack: hence the depth. */
static void read_folder(struct listing_walk *walk, int fd, unsigned int depth)
{
    size_t len = strlen(walk->path);
    DIR *folder = depth > LISTING_DEPTH ? NULL : fdopendir(fd);
    if (!folder) {
        walk->listing->cut = true;
        close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (++walk->entries > LISTING_ENTRIES) {
            walk->listing->cut = true;
            break;
        }
        read_entry(walk, dirfd(folder), len, entry->d_name, depth);
        walk->path[len] = '\0';
    }
    closedir(folder);
}

static int by_name(const void *a, const void *b)
{
    const struct listed_file *left = a, *right = b;
    return strcmp(left->name, right->name);
}

bool listing_read(struct file_listing *listing, int workspace)
{
    listing_finish(listing);
    struct listing_walk walk = { .listing = listing };
    int fd = openat(workspace, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        read_folder(&walk, fd, 0);
    else
        walk.refused = errno == EACCES;
    if (listing->count > 1)
        qsort(listing->files, listing->count, sizeof(*listing->files), by_name);
    return !walk.refused;
}

void listing_finish(struct file_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->files[i].name);
    free(listing->files);
    *listing = (struct file_listing){ 0 };
}

/* What lies further ahead was changed before the clock was set back. */
bool listing_is_fresh(const struct file_listing *listing)
{
    int64_t ahead_ns = listing->newest_ns - clock_files_ns();
    return ahead_ns >= 0 && ahead_ns < MAX_TICK_NS;
}

/* Code can set modified_ns as it likes, but not changed_ns. */
static int change_of(const struct listed_file *before,
                     const struct listed_file *after)
{
    bool same = before->inode == after->inode &&
                before->bytes == after->bytes &&
                before->modified_ns == after->modified_ns &&
                before->changed_ns == after->changed_ns;
    return same ? FILE_SAME : FILE_CHANGED;
}

/* A file that is not in a listing that was cut may have been there. */
static bool is_new(const struct file_listing *before,
                   const struct listed_file *file)
{
    return !before->cut || file->changed_ns > before->newest_ns;
}

/* What goes into one frame. */
struct changes {
    struct list list;
    struct arena *arena;
    size_t name_bytes;
    bool cut;
};

static struct changes changes_of(size_t most, struct arena *arena)
{
    if (most > LISTING_ENTRIES)
        most = LISTING_ENTRIES;
    return (struct changes){
        .list.items =
            arena_alloc(arena, (most + 1) * sizeof(struct workspace_file)),
        .arena = arena,
    };
}

static void add_change(struct changes *changes, const struct listed_file *file,
                       int change)
{
    struct list *list = &changes->list;
    struct workspace_file *files = list->items;
    struct view name = view_of(file->name);
    if (list->count == LISTING_ENTRIES ||
        changes->name_bytes + name.len > LISTING_NAME_BYTES) {
        changes->cut = true;
        return;
    }
    changes->name_bytes += name.len;
    files[list->count++] = (struct workspace_file){
        .name = arena_copy(changes->arena, name),
        .bytes = change == FILE_DELETED ? 0 : file->bytes,
        .change = change,
    };
}

struct list listing_all(const struct file_listing *listing, struct arena *arena)
{
    struct changes changes = changes_of(listing->count, arena);
    for (size_t i = 0; i < listing->count; i++)
        add_change(&changes, &listing->files[i], FILE_SAME);
    return changes.list;
}

/* Both are sorted: one pass over the two. */
struct list listing_changes(const struct file_listing *before,
                            const struct file_listing *after,
                            struct arena *arena, bool *cut)
{
    struct changes changes = changes_of(before->count + after->count, arena);
    size_t i = 0, j = 0;
    while (i < before->count || j < after->count) {
        int order = i == before->count ? 1
                    : j == after->count
                        ? -1
                        : by_name(&before->files[i], &after->files[j]);
        if (order < 0) {
            if (!after->cut)
                add_change(&changes, &before->files[i], FILE_DELETED);
            i++;
        } else if (order > 0) {
            if (is_new(before, &after->files[j]))
                add_change(&changes, &after->files[j], FILE_NEW);
            j++;
        } else {
            int change = change_of(&before->files[i++], &after->files[j]);
            if (change != FILE_SAME)
                add_change(&changes, &after->files[j], change);
            j++;
        }
    }
    *cut = after->cut || changes.cut;
    return changes.list;
}
