/* users.c - a user id of its own for each box.
 *
 * All of this but taking and returning ids happens before the warden becomes an
 * ordinary user. The pool has no process in it: its descriptor keeps it. */
#include "executor/warden/users.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/base/log.h"
#include "executor/base/loop.h"
#include "executor/base/wire.h"
#include "executor/box/walls.h"

enum {
    BLOCK = 256, /* ids that belong to one executor; aligned */
    SPARE = 48,  /* for boxes that stand ready or are ending */
    MAX_BLOCKS = 128,
    MAP_BYTES = MAX_BLOCKS * 40, /* "4294967295 4294967295 256\n" */
};

/* Nobody hands these out: systemd lists them as unused, and shadow-utils begins
 * at 100000 and ends at 600100000. */
static const struct uid_range usual_range = { 1900000000, 1900065535 };

struct users {
    int pool;              /* a user namespace; -1: none */
    int locks[MAX_BLOCKS]; /* sockets, bound to the names of blocks */
    uid_t firsts[MAX_BLOCKS];
    unsigned int sizes[MAX_BLOCKS];
    size_t blocks;
    uid_t *free; /* a ring: the one that has rested longest comes first */
    size_t room, first, count;
    uid_t *doubtful; /* ids whose last box may still have processes */
    size_t doubtful_count;
    char lack[160];
};

/* ---------------------------------------------------------------- the range */

static bool may_set_ids(void)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3,
    };
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { 0 };
    unsigned int both = 1U << CAP_SETUID | 1U << CAP_SETGID;
    return syscall(SYS_capget, &header, caps) == 0 &&
           (caps[0].effective & both) == both;
}

/* "name:100000:65536"; the user may also be named by its number. */
static bool parse_subid(char *line, const char *name, uid_t uid,
                        struct uid_range *range)
{
    char *rest, number[16];
    const char *who = strtok_r(line, ":", &rest);
    const char *first = strtok_r(NULL, ":", &rest);
    const char *count = strtok_r(NULL, ":\n", &rest);
    snprintf(number, sizeof(number), "%u", uid);
    if (!who || !first || !count ||
        (strcmp(who, number) != 0 && (!name || strcmp(who, name) != 0)))
        return false;
    unsigned long long from = strtoull(first, NULL, 10);
    unsigned long long many = strtoull(count, NULL, 10);
    if (from == 0 || many == 0 || from + many - 1 > MAX_BOX_UID)
        return false;
    *range = (struct uid_range){ (uid_t)from, (uid_t)(from + many - 1) };
    return true;
}

/* Its first line for that user. */
static bool read_subids(const char *path, uid_t uid, struct uid_range *range)
{
    const struct passwd *entry = getpwuid(uid);
    char line[256];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof(line), file))
        found = parse_subid(line, entry ? entry->pw_name : NULL, uid, range);
    if (file)
        fclose(file);
    return found;
}

/* Both files: a box has a group of the same number. */
static bool find_subids(uid_t uid, struct uid_range *range)
{
    struct uid_range groups;
    if (!read_subids("/etc/subuid", uid, range) ||
        !read_subids("/etc/subgid", uid, &groups))
        return false;
    if (range->first < groups.first)
        range->first = groups.first;
    if (range->last > groups.last)
        range->last = groups.last;
    return range->first <= range->last;
}

static bool find_range(struct users *users,
                       const struct executor_settings *settings,
                       struct user_ids ids, struct uid_range *range)
{
    *range = settings->uids;
    if (range->last > 0 || find_subids(ids.uid, range))
        return true;
    if (may_set_ids()) {
        *range = usual_range;
        return true;
    }
    snprintf(users->lack, sizeof(users->lack),
             "/etc/subuid and /etc/subgid have no range for user %u", ids.uid);
    return false;
}

/* --------------------------------------------------------------- its blocks */

/* An abstract socket: its name is taken as long as the socket is open, so it is
 * free again however this process ends. The abstract names of a machine are
 * those of one network namespace. */
static int lock_block(uid_t number)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
                       "quern-executor/uids/%u", number);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&name, size) < 0)
        close_fd(&fd);
    return fd;
}

static void take_blocks(struct users *users, struct uid_range range,
                        size_t wanted)
{
    size_t got = 0;
    for (uid_t number = range.first / BLOCK;
         number <= range.last / BLOCK && got < wanted &&
         users->blocks < MAX_BLOCKS;
         number++) {
        uid_t first = number * BLOCK, last = first + BLOCK - 1;
        int lock = lock_block(number);
        if (lock < 0)
            continue; /* another executor has it */
        if (first < range.first)
            first = range.first;
        if (last > range.last)
            last = range.last;
        users->locks[users->blocks] = lock;
        users->firsts[users->blocks] = first;
        users->sizes[users->blocks++] = last - first + 1;
        got += last - first + 1;
    }
}

/* ----------------------------------------------------------------- the pool */

/* Gives a process in a new user namespace that belongs to our future user, and
 * the end of a socket: the process lives until that is closed. It becomes that
 * user first, because whoever makes a user namespace owns it. */
static pid_t begin_pool(struct user_ids ids, int *end)
{
    int pair[2];
    char word = 0;
    if (!wire_pair(SOCK_STREAM, pair))
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        bool made =
            (geteuid() != 0 ||
             (syscall(SYS_setresgid, ids.gid, ids.gid, ids.gid) == 0 &&
              syscall(SYS_setresuid, ids.uid, ids.uid, ids.uid) == 0)) &&
            unshare(CLONE_NEWUSER) == 0;
        word = (char)(made ? 0 : errno);
        if (write(pair[1], &word, 1) == 1)
            (void)!read(pair[1], &word, 1);
        _exit(0);
    }
    close(pair[1]);
    *end = pair[0];
    if (pid > 0 && read(pair[0], &word, 1) == 1 && word == 0)
        return pid;
    errno = pid > 0 && word ? word : EAGAIN;
    close_fd(end);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return -1;
}

static bool write_map(pid_t pid, const char *name, const char *map)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, map, strlen(map)) == (ssize_t)strlen(map);
}

/* newuidmap and newgidmap, which are setuid, do it for ordinary users, within
 * what /etc/subuid and /etc/subgid give them. */
static bool run_helper(const char *program, pid_t pid, const char *map)
{
    char *words[3 + 3 * MAX_BLOCKS] = { NULL };
    char number[16], copy[MAP_BYTES], *rest;
    static char *const environment[] = { NULL };
    size_t count = 0;
    int status = -1;
    pid_t helper;
    snprintf(number, sizeof(number), "%d", (int)pid);
    snprintf(copy, sizeof(copy), "%s", map);
    words[count++] = strdup(program);
    words[count++] = number;
    for (char *word = strtok_r(copy, " \n", &rest);
         word && count < sizeof(words) / sizeof(words[0]) - 1;
         word = strtok_r(NULL, " \n", &rest))
        words[count++] = word;
    bool ran =
        posix_spawn(&helper, program, NULL, NULL, words, environment) == 0 &&
        waitpid(helper, &status, 0) == helper && status == 0;
    free(words[0]);
    return ran;
}

static bool map_pool(struct users *users, pid_t pid)
{
    char map[MAP_BYTES] = "";
    size_t len = 0;
    for (size_t i = 0; i < users->blocks; i++)
        len += (size_t)snprintf(map + len, sizeof(map) - len, "%u %u %u\n",
                                users->firsts[i], users->firsts[i],
                                users->sizes[i]);
    if (may_set_ids()) {
        if (write_map(pid, "uid_map", map) && write_map(pid, "gid_map", map))
            return true;
        snprintf(users->lack, sizeof(users->lack),
                 "ids %u to %u cannot be mapped: %s", users->firsts[0],
                 users->firsts[0] + users->sizes[0] - 1, strerror(errno));
        return false;
    }
    if (run_helper("/usr/bin/newuidmap", pid, map) &&
        run_helper("/usr/bin/newgidmap", pid, map))
        return true;
    snprintf(users->lack, sizeof(users->lack),
             "/usr/bin/newuidmap and newgidmap do not map ids %u to %u",
             users->firsts[0], users->firsts[0] + users->sizes[0] - 1);
    return false;
}

static bool make_pool(struct users *users, struct user_ids ids)
{
    char path[40];
    CLEANUP(close_fd) int end = -1;
    pid_t pid = begin_pool(ids, &end);
    if (pid < 0) {
        snprintf(users->lack, sizeof(users->lack),
                 "no user namespace can be made: %s", strerror(errno));
        return false;
    }
    if (map_pool(users, pid)) {
        snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
        users->pool = open(path, O_RDONLY | O_CLOEXEC);
        if (users->pool < 0)
            snprintf(users->lack, sizeof(users->lack), "%s: %s", path,
                     strerror(errno));
    }
    close_fd(&end);
    waitpid(pid, NULL, 0);
    return users->pool >= 0;
}

/* ------------------------------------------------------------------ the ids */

static bool users_own(const struct users *users, uid_t id)
{
    for (size_t i = 0; i < users->blocks; i++)
        if (id >= users->firsts[i] && id - users->firsts[i] < users->sizes[i])
            return true;
    return false;
}

static void add_free(struct users *users, uid_t id)
{
    users->free[(users->first + users->count++) % users->room] = id;
}

static bool contains(const uid_t *ids, size_t count, uid_t id)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Ids of ours that processes of this machine have, each once: of our boxes, or
 * of those of an executor that was killed a moment ago. used: room for all. */
static size_t find_used(const struct users *users, uid_t *used)
{
    struct stat status;
    size_t count = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));)
        if (isdigit((unsigned char)entry->d_name[0]) &&
            fstatat(dirfd(proc), entry->d_name, &status, 0) == 0 &&
            users_own(users, status.st_uid) &&
            !contains(used, count, status.st_uid))
            used[count++] = status.st_uid;
    if (proc)
        closedir(proc);
    return count;
}

/* Ids in doubt that no process has any more become free. */
static void look_again(struct users *users)
{
    uid_t *used = allocate(users->room * sizeof(*used));
    size_t used_count = find_used(users, used), kept = 0;
    for (size_t i = 0; i < users->doubtful_count; i++) {
        uid_t id = users->doubtful[i];
        if (contains(used, used_count, id))
            users->doubtful[kept++] = id;
        else
            add_free(users, id);
    }
    users->doubtful_count = kept;
    free(used);
}

static void users_fill(struct users *users)
{
    for (size_t i = 0; i < users->blocks; i++)
        users->room += users->sizes[i];
    users->free = allocate(users->room * sizeof(uid_t));
    users->doubtful = allocate(users->room * sizeof(uid_t));
    users->doubtful_count = find_used(users, users->doubtful);
    for (size_t i = 0; i < users->room; i++) {
        uid_t id = users_at(users, i);
        if (!contains(users->doubtful, users->doubtful_count, id))
            add_free(users, id);
    }
}

/* The one that has rested longest: whatever the kernel still counts for it has
 * had the most time to go. */
bool users_take(struct users *users, uid_t *id)
{
    *id = 0;
    if (users->pool < 0)
        return true;
    if (users->count == 0)
        look_again(users);
    if (users->count == 0)
        return false;
    *id = users->free[users->first];
    users->first = (users->first + 1) % users->room;
    users->count--;
    return true;
}

void users_return(struct users *users, uid_t id, bool ended)
{
    if (id == 0)
        return;
    if (ended)
        add_free(users, id);
    else
        users->doubtful[users->doubtful_count++] = id;
}

/* --------------------------------------------------------------- life cycle */

static void give_up_blocks(struct users *users)
{
    while (users->blocks > 0)
        close_fd(&users->locks[--users->blocks]);
}

static bool find_pool(struct users *users,
                      const struct executor_settings *settings,
                      struct user_ids ids)
{
    struct uid_range range;
    if (!find_range(users, settings, ids, &range))
        return false;
    take_blocks(users, range,
                2 * (settings->sessions + settings->ready) + SPARE);
    if (users->blocks == 0) {
        snprintf(users->lack, sizeof(users->lack),
                 "other executors have all ids from %u to %u", range.first,
                 range.last);
        return false;
    }
    return make_pool(users, ids);
}

bool users_open(struct users **opened, const struct executor_settings *settings,
                struct user_ids ids, struct err *err)
{
    struct users *users = *opened = allocate(sizeof(*users));
    users->pool = -1;
    if (settings->insecure || !settings->own_uids || !wall_wanted("users")) {
        snprintf(users->lack, sizeof(users->lack), "--uid-range off");
        return true;
    }
    if (find_pool(users, settings, ids)) {
        users_fill(users);
        return true;
    }
    give_up_blocks(users);
    return settings->uids.last == 0 ||
           err_set(err, ERR_REJECT, "bad_setting", "--uid-range %u-%u: %s",
                   settings->uids.first, settings->uids.last, users->lack);
}

void users_free(struct users *users)
{
    if (!users)
        return;
    close_fd(&users->pool);
    give_up_blocks(users);
    free(users->free);
    free(users->doubtful);
    free(users);
}

size_t users_count(const struct users *users)
{
    return users->room;
}
uid_t users_at(const struct users *users, size_t index)
{
    size_t block = 0;
    while (index >= users->sizes[block])
        index -= users->sizes[block++];
    return users->firsts[block] + (uid_t)index;
}
const char *users_lack(const struct users *users)
{
    return users->lack;
}
int users_pool(const struct users *users)
{
    return users->pool;
}
