/* socket.c - the socket of the warden, and its user. */
#include "executor/warden/socket.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "executor/base/wire.h"

/* Where there is no account for quern: of the range that systemd gives to
 * services (61184 to 65519). */
enum { NAMELESS_ID = 61184 };

enum { BACKLOG = 64 };

bool user_find(const struct executor_settings *settings, struct user_ids *ids,
               struct err *err)
{
    const char *name = settings->user ? settings->user : "quern";
    const struct passwd *entry = getpwnam(name);
    if (entry)
        *ids = (struct user_ids){ entry->pw_uid, entry->pw_gid };
    else if (!settings->user)
        *ids = (struct user_ids){ NAMELESS_ID, NAMELESS_ID };
    else
        return err_set(err, ERR_REJECT, "bad_setting", "--user %s: unknown",
                       name);
    if (geteuid() != 0)
        *ids = (struct user_ids){ geteuid(), getegid() };
    else if (ids->uid == 0)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--user: root is not a user for running other "
                       "people's code");
    return true;
}

static bool socket_fail(struct err *err, const char *path)
{
    return err_set(err, ERR_REJECT, "bad_setting", "%s: %s", path,
                   strerror(errno));
}

static bool address_of(const char *path, struct sockaddr_un *address,
                       struct err *err)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(address->sun_path))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--executor %s: longer than %zu bytes", path,
                       sizeof(address->sun_path) - 1);
    memcpy(address->sun_path, path, strlen(path) + 1);
    return true;
}

static bool make_folder(const char *path, struct user_ids ids)
{
    char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return true;
    snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
    if (mkdir(folder, 0755) < 0)
        return errno == EEXIST;
    return geteuid() != 0 || chown(folder, ids.uid, ids.gid) == 0;
}

static bool somebody_answers(const struct sockaddr_un *address)
{
    CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;
}

/* Removes a socket that an executor left behind when it was killed; nothing
 * else. */
static bool make_way(const char *path, struct err *err)
{
    struct stat status;
    if (lstat(path, &status) == 0 && !S_ISSOCK(status.st_mode))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--executor %s: exists and is not a socket", path);
    return unlink(path) == 0 || errno == ENOENT || socket_fail(err, path);
}

static bool hand_over(const struct executor_settings *settings,
                      struct user_ids ids, struct err *err)
{
    const char *path = settings->socket_path;
    if (settings->group) {
        const struct group *group = getgrnam(settings->group);
        if (!group)
            return err_set(err, ERR_REJECT, "bad_setting",
                           "--group %s: unknown", settings->group);
        ids.gid = group->gr_gid;
    }
    bool root = geteuid() == 0;
    if ((root || settings->group) &&
        chown(path, root ? ids.uid : (uid_t)-1, ids.gid) < 0)
        return socket_fail(err, path);
    return chmod(path, settings->mode) == 0 || socket_fail(err, path);
}

int socket_bind(const struct executor_settings *settings, struct user_ids ids,
                struct err *err)
{
    const char *path = settings->socket_path;
    struct sockaddr_un address;
    if (!address_of(path, &address, err))
        return -1;
    CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!make_folder(path, ids) || fd < 0) {
        err_set(err, ERR_REJECT, "bad_setting",
                "--executor %s: its folder cannot be made: %s", path,
                strerror(errno));
        return -1;
    }
    if (somebody_answers(&address)) {
        err_set(err, ERR_REJECT, "bad_setting",
                "%s: another executor answers there", path);
        return -1;
    }
    if (!make_way(path, err))
        return -1;
    /* Until hand_over() nobody else may connect: the mode is set later. */
    mode_t before = umask(0177);
    int bound = bind(fd, (const struct sockaddr *)&address, sizeof(address));
    umask(before);
    if (bound < 0) {
        socket_fail(err, path);
        return -1;
    }
    /* Who connects now waits until the self-test is over. */
    if (!hand_over(settings, ids, err) || listen(fd, BACKLOG) < 0)
        return -1;
    return take_fd(&fd);
}

/* Capabilities that a systemd unit may have given us for the start. */
static bool drop_rights(void)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3,
    };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 &&
           syscall(SYS_capset, &header, none) == 0;
}

bool user_drop(struct user_ids ids, struct err *err)
{
    if (geteuid() != 0)
        return drop_rights() || socket_fail(err, "capabilities");
    /* Groups first, then the group, then the user: afterwards root is gone, and
     * with it the right to change the others. */
    if (setgroups(0, NULL) < 0 || setresgid(ids.gid, ids.gid, ids.gid) < 0 ||
        setresuid(ids.uid, ids.uid, ids.uid) < 0)
        return socket_fail(err, "change of user");
    return true;
}

/* The first folder above path that we may not pass; "" when all let us. */
static void find_closed(const char *path, char *folder, size_t size)
{
    const char *slash = path;
    while ((slash = strchr(slash + 1, '/'))) {
        snprintf(folder, size, "%.*s", (int)(slash - path), path);
        if (access(folder, X_OK) != 0)
            return;
    }
    *folder = '\0';
}

bool user_can_run(const char *path, struct err *err)
{
    char folder[PATH_MAX];
    if (access(path, X_OK) == 0)
        return true;
    if (errno != EACCES)
        return err_set(err, ERR_REJECT, "bad_setting", "%s: %s", path,
                       strerror(errno));
    find_closed(path, folder, sizeof(folder));
    return err_set(err, ERR_REJECT, "bad_setting",
                   "user %u, who runs boxes, may not start %s: %s is closed to "
                   "it. Install the programs (cmake --install), keep the tree "
                   "where every user may enter, or start this by "
                   "deploy/visible",
                   (unsigned int)geteuid(), path,
                   *folder ? folder : "the file itself");
}

void notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address;
    if (!path || !address_of(path, &address, NULL))
        return;
    if (address.sun_path[0] == '@')
        address.sun_path[0] = '\0'; /* an abstract one */
    socklen_t len =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (sendto(fd, state, strlen(state), MSG_NOSIGNAL,
               (const struct sockaddr *)&address, len) < 0)
        return;
}

uint64_t notify_watchdog_ms(void)
{
    const char *text = getenv("WATCHDOG_USEC");
    return !text ? 0 : strtoull(text, NULL, 10) / 3000;
}
