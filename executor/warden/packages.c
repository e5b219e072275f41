/* packages.c - packages on demand: folders, and the program that fills them.
 *
 * That program runs outside of every box, as the warden's user: it gets names
 * from hostile code as arguments, and prints what it did. */
#include "executor/warden/packages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executor/base/log.h"
#include "executor/base/wire.h"
#include "executor/warden/folder.h"
#include "executor/warden/spawn.h"

enum {
    MAX_AT_ONCE = 2, /* others wait: it takes memory, and the network */
    MAX_OUTPUT_BYTES = 64 << 10,
    MAX_ARGUMENTS = 64, /* flags, and what is asked for */
    READ_BYTES = 4096,
};

struct packages {
    uv_loop_t *loop;
    const struct executor_settings *settings;
    char *program; /* the folder that Python runs */
    char *store;
    char *run;
    int lock; /* on run */
    uint64_t numbers;
    struct install *installs; /* in the order of asking */
    size_t going_on;
    struct install *trial;
    char *trial_folder;
    void (*on_tried)(void *owner, bool works, const char *text);
    void *owner;
};

struct install {
    struct install *next;
    struct packages *packages;
    struct install_request request;
    char *names; /* what is asked for */
    char *work;
    struct watch *output; /* while it goes on */
    int process;
    struct loop_alarm *failed; /* it could not even begin */
    struct buf said;
    bool ended, worked; /* worked: only when ended */
    char text[480];
};

/* ---------------------------------------------------------------- folders */

struct removal {
    uv_work_t work; /* first */
    char *folder;
};

static void remove_now(uv_work_t *work)
{
    folder_remove(((struct removal *)work)->folder);
}

static void on_removed(uv_work_t *work, int status)
{
    (void)status;
    free(work);
}

/* Thousands of files take time, which sessions must not wait for. */
void packages_remove(uv_loop_t *loop, char *folder)
{
    if (!folder || rmdir(folder) == 0) {
        free(folder);
        return;
    }
    struct removal *removal = allocate(sizeof(*removal));
    removal->folder = folder;
    if (uv_queue_work(loop, &removal->work, remove_now, on_removed) != 0)
        abort(); /* only without a function to call */
}

static char *make_folder(struct packages *packages, const char *kind)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s-%llu", packages->run, kind,
                 (unsigned long long)++packages->numbers) < 0)
        return NULL;
    /* Whatever our umask is: it is for the box's user to read. */
    if (mkdir(path, 0755) == 0 && chmod(path, 0755) == 0)
        return path;
    free(path);
    return NULL;
}

char *packages_folder(struct packages *packages)
{
    return make_folder(packages, "box");
}

/* ---------------------------------------------------- before and after all */

static bool packages_fail(struct err *err, const char *path)
{
    return err_set(err, ERR_REJECT, "bad_setting", "packages: %s: %s", path,
                   strerror(errno));
}

static char *choose_store(const char *given)
{
    const char *cache = getenv("CACHE_DIRECTORY"); /* systemd's */
    char *path = NULL;
    int len = given             ? asprintf(&path, "%s", given)
              : cache && *cache ? asprintf(&path, "%s/packages", cache)
                                : asprintf(&path, "/var/tmp/quern-packages-%u",
                                           (unsigned int)geteuid());
    if (len < 0)
        abort();
    return path;
}

/* The user of a box must be able to pass through to its own folder, when
 * quern-box opens that. It cannot list what else there is. */
static bool let_through(const char *path)
{
    struct stat status;
    mode_t pass = S_IXUSR | S_IXGRP | S_IXOTH;
    return stat(path, &status) == 0 &&
           ((status.st_mode & pass) == pass ||
            chmod(path, (status.st_mode & ALLPERMS) | pass) == 0);
}

/* The store may lie where others may write (/var/tmp). A folder, or a link,
 * that another user has put there would let that user choose what sessions
 * import: so it must be a folder of our own that nobody else may write to. */
static bool open_store(struct packages *packages, const char *given,
                       struct err *err)
{
    struct stat status;
    CLEANUP(cleanup_free) char *path = choose_store(given);
    if ((mkdir(path, 0700) < 0 && errno != EEXIST) || lstat(path, &status) < 0)
        return packages_fail(err, path);
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
        (status.st_mode & (S_IWGRP | S_IWOTH)))
        return err_set(
            err, ERR_REJECT, "bad_setting",
            "packages: %s must be a folder that only user %u may write", path,
            (unsigned int)geteuid());
    packages->store = realpath(path, NULL);
    return (packages->store && let_through(packages->store)) ||
           packages_fail(err, path);
}

static int lock_folder(const char *path)
{
    CLEANUP(close_fd)
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
        return -1;
    return take_fd(&fd);
}

/* Removes folders of wardens that were killed: they are not locked. */
static void remove_stale(const struct packages *packages)
{
    struct uv_fs_s scan;
    uv_dirent_t entry;
    if (uv_fs_scandir(NULL, &scan, packages->store, 0, NULL) >= 0)
        while (uv_fs_scandir_next(&scan, &entry) == 0) {
            char *path = NULL;
            if (strncmp(entry.name, "run-", 4) != 0 ||
                asprintf(&path, "%s/%s", packages->store, entry.name) < 0)
                continue;
            CLEANUP(close_fd) int fd = lock_folder(path);
            if (fd >= 0)
                folder_remove(path);
            else
                free(path);
        }
    uv_fs_req_cleanup(&scan);
}

/* The store is locked meanwhile: a folder that is not locked yet would look
 * like one that nobody has. */
static bool open_run(struct packages *packages, struct err *err)
{
    CLEANUP(close_fd)
    int store = open(packages->store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store < 0 || flock(store, LOCK_EX) < 0)
        return packages_fail(err, packages->store);
    remove_stale(packages);
    if (asprintf(&packages->run, "%s/run-XXXXXX", packages->store) < 0)
        abort();
    if (!mkdtemp(packages->run) || !let_through(packages->run))
        return packages_fail(err, packages->store);
    packages->lock = lock_folder(packages->run);
    return packages->lock >= 0 || packages_fail(err, packages->run);
}

/* Beside our own executable, in the build tree as where it is installed. */
static bool packages_find_program(struct packages *packages, struct err *err)
{
    char own[PATH_MAX] = "";
    if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0)
        return packages_fail(err, "/proc/self/exe");
    *strrchr(own, '/') = '\0';
    if (asprintf(&packages->program, "%s/%s", own, QUERN_PACKAGES) < 0)
        abort();
    return access(packages->program, R_OK) == 0 ||
           packages_fail(err, packages->program);
}

struct packages *packages_open(uv_loop_t *loop,
                               const struct executor_settings *settings,
                               struct err *err)
{
    *err = (struct err){ 0 };
    if (!settings->packages)
        return NULL;
    struct packages *packages = allocate(sizeof(*packages));
    packages->loop = loop;
    packages->settings = settings;
    packages->lock = -1;
    if (packages_find_program(packages, err) &&
        open_store(packages, settings->packages_store, err) &&
        open_run(packages, err))
        return packages;
    packages_close(packages);
    return NULL;
}

void packages_close(struct packages *packages)
{
    if (!packages)
        return;
    install_free(packages->trial);
    free(packages->trial_folder);
    if (packages->lock >= 0)
        folder_remove(packages->run);
    else
        free(packages->run);
    close_fd(&packages->lock);
    free(packages->program);
    free(packages->store);
    free(packages);
}

/* ------------------------------------------------------------ one of them */

static void start_next(struct packages *packages);

/* "done SENTENCE" or "failed SENTENCE"; others ("wheel NAME VERSION SHA256") go
 * into the log. */
static void install_take_line(struct install *install, char *line)
{
    static const char done[] = "done ", failed[] = "failed ";
    if (strncmp(line, done, strlen(done)) == 0) {
        install->worked = true;
        snprintf(install->text, sizeof(install->text), "%s",
                 line + strlen(done));
    } else if (strncmp(line, failed, strlen(failed)) == 0) {
        snprintf(install->text, sizeof(install->text), "%s",
                 line + strlen(failed));
    } else {
        log_line("packages.wheel", install->request.folder, "%s", line);
    }
}

static void take_lines(struct install *install)
{
    char *rest = NULL;
    buf_append(&install->said, "", 1);
    snprintf(install->text, sizeof(install->text),
             "the program that installs packages ended without a word");
    if (!buf_ok(&install->said))
        return;
    for (char *line = strtok_r(install->said.data, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest))
        install_take_line(install, line);
}

static void install_stop(struct install *install)
{
    if (install->process >= 0)
        syscall(SYS_pidfd_send_signal, install->process, SIGKILL, NULL, 0);
    close_fd(&install->process);
    if (install->output)
        install->packages->going_on--;
    watch_free(install->output);
    install->output = NULL;
    packages_remove(install->packages->loop, install->work);
    install->work = NULL;
}

static void install_end(void *owner)
{
    struct install *install = owner;
    struct packages *packages = install->packages;
    install_stop(install);
    take_lines(install);
    install->ended = true;
    log_line(install->worked ? "packages.installed" : "packages.refused",
             install->request.folder, "%s: %s", install->names, install->text);
    start_next(packages);
    install->request.on_end(install->request.owner);
}

static void on_output(void *owner, int events)
{
    struct install *install = owner;
    char bytes[READ_BYTES];
    (void)events;
    ssize_t got = read(watch_fd(install->output), bytes, sizeof(bytes));
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0)
        buf_append(&install->said, bytes, (size_t)got);
    else
        install_end(install);
}

/* Of our own environment, what pip takes its settings from. */
static char **choose_environment(void)
{
    static const char *const names[] = {
        "HOME",           "PIP_INDEX_URL",   "PIP_EXTRA_INDEX_URL",
        "PIP_FIND_LINKS", "PIP_NO_INDEX",    "PIP_TRUSTED_HOST",
        "PIP_CERT",       "PIP_CLIENT_CERT", "PIP_CONFIG_FILE",
        "PIP_PROXY",      "PIP_TIMEOUT",     "PIP_DEFAULT_TIMEOUT",
        "PIP_RETRIES",    "SSL_CERT_FILE",   "SSL_CERT_DIR",
        "http_proxy",     "https_proxy",     "no_proxy",
        "HTTP_PROXY",     "HTTPS_PROXY",     "NO_PROXY",
        "all_proxy",      "ALL_PROXY",       "REQUESTS_CA_BUNDLE",
    };
    size_t most = sizeof(names) / sizeof(names[0]), count = 0;
    char **environment = allocate((most + 2) * sizeof(char *));
    for (size_t i = 0; i < most; i++)
        if (getenv(names[i]) && asprintf(&environment[count++], "%s=%s",
                                         names[i], getenv(names[i])) < 0)
            abort();
    environment[count] = strdup("LANG=C.UTF-8");
    return environment;
}

static void free_environment(char **environment)
{
    for (char **entry = environment; *entry; entry++)
        free(*entry);
    free(environment);
}

/* What is asked for comes last, after "--": it is never taken for a flag. */
static void install_add_names(char *names, const char **argv, size_t count)
{
    char *rest = NULL;
    argv[count++] = "--";
    for (char *name = strtok_r(names, "\n", &rest);
         name && count < MAX_ARGUMENTS - 1; name = strtok_r(NULL, "\n", &rest))
        argv[count++] = name;
}

static bool install_run(struct install *install, int channel)
{
    const struct packages *packages = install->packages;
    const struct executor_settings *settings = packages->settings;
    const char *allow =
        settings->packages_allow ? settings->packages_allow : "*";
    char bytes[24];
    snprintf(bytes, sizeof(bytes), "%llu",
             (unsigned long long)settings->packages_bytes);
    CLEANUP(cleanup_free) char *names = strdup(install->names);
    const char *argv[MAX_ARGUMENTS] = {
        QUERN_PYTHON, "-I",
        "-B",         packages->program,
        "--source",   settings->packages,
        "--allow",    allow,
        "--store",    packages->store,
        "--work",     install->work,
        "--into",     install->request.folder,
        "--bytes",    bytes,
    };
    size_t flags = 16;
    if (install->request.module.len > 0) {
        argv[flags++] = "--module";
        argv[flags++] = names;
    } else {
        install_add_names(names, argv, flags);
    }
    char **environment = choose_environment();
    int pid = spawn_with(packages->loop, argv, channel, environment);
    free_environment(environment);
    if (pid > 0)
        install->process = (int)syscall(SYS_pidfd_open, pid, 0);
    return pid > 0;
}

static bool install_start(struct install *install)
{
    int pair[2];
    install->work = make_folder(install->packages, "work");
    if (!install->work || pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    install->output =
        watch_new(install->packages->loop, pair[0], on_output, install);
    install->packages->going_on++;
    bool started = install_run(install, pair[1]);
    close(pair[1]);
    watch_want(install->output, UV_READABLE);
    return started;
}

static void start_next(struct packages *packages)
{
    for (struct install *install = packages->installs;
         install && packages->going_on < MAX_AT_ONCE; install = install->next)
        if (!install->ended && !install->output && !install->work &&
            !install_start(install))
            alarm_set(install->failed, 0);
}

struct install *install_new(struct packages *packages,
                            const struct install_request *request)
{
    struct install *install = allocate(sizeof(*install));
    install->packages = packages;
    install->request = *request;
    install->process = -1;
    install->names = view_dup(request->module.len > 0 ? request->module
                                                      : request->requirements);
    install->failed = alarm_new(packages->loop, install_end, install);
    buf_init(&install->said, MAX_OUTPUT_BYTES);
    struct install **last = &packages->installs;
    while (*last)
        last = &(*last)->next;
    *last = install;
    start_next(packages);
    return install;
}

void install_free(struct install *install)
{
    if (!install)
        return;
    struct packages *packages = install->packages;
    for (struct install **link = &packages->installs; *link;
         link = &(*link)->next)
        if (*link == install) {
            *link = install->next;
            break;
        }
    if (!install->ended)
        install_stop(install);
    alarm_free(install->failed);
    buf_finish(&install->said);
    free(install->names);
    free(install);
    start_next(packages);
}

bool install_worked(const struct install *install)
{
    return install->ended && install->worked;
}
const char *install_text(const struct install *install)
{
    return install->text;
}

/* ------------------------------------------------------------------ trial */

static void on_trial(void *owner)
{
    struct packages *packages = owner;
    packages->on_tried(packages->owner, install_worked(packages->trial),
                       install_text(packages->trial));
    install_free(packages->trial);
    packages->trial = NULL;
}

/* Of nothing: the program looks whether it has all that it takes. */
void packages_try(struct packages *packages,
                  void (*on_tried)(void *owner, bool works, const char *text),
                  void *owner)
{
    packages->on_tried = on_tried;
    packages->owner = owner;
    packages->trial_folder = make_folder(packages, "trial");
    packages->trial =
        install_new(packages, &(struct install_request){
                                  .folder = packages->trial_folder,
                                  .on_end = on_trial,
                                  .owner = packages,
                              });
}
