/* main.c - quern-guest: Python for the sessions of quern-executor.
 *
 * Started by the warden with a channel on descriptor 3; it is of no use by
 * hand. What this process is, each session inherits: its environment,
 * arguments, path and memory must tell nothing of the host. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "executor/box/walls.h"
#include "executor/guest/channel.h"
#include "executor/guest/heap.h"
#include "executor/guest/interp.h"
#include "executor/guest/zygote.h"

enum { ARGUMENTS = 16 };

struct guest_settings {
    const char *profile;
    const char *python; /* folder */
    bool online;        /* sessions have a proxy */
};

/* Both spellings: requests, urllib, pip and curl do not look at the same. */
static void name_proxy(void)
{
    static const char *const names[] = {
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
    };
    char address[40];

    snprintf(address, sizeof(address), "http://127.0.0.1:%d", BOX_PROXY_PORT);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        setenv(names[i], address, 1);
    setenv("NO_PROXY", "localhost,127.0.0.1", 1);
    setenv("no_proxy", "localhost,127.0.0.1", 1);
}

/* A session sees these variables, and none of the warden's. */
static void set_environment(bool online)
{
    static const char *const variables[][2] = {
        { "HOME", "/workspace" },
        { "LANG", "C.UTF-8" },
        { "PATH", "/usr/bin:/bin:/opt/bin" },
        { "TERM", "dumb" },
        /* Programs that a cell starts; in the session it is quern_guest's. */
        { "MPLBACKEND", "Agg" },
        { "MPLCONFIGDIR", "/tmp/matplotlib" },
        { "PYTHONDONTWRITEBYTECODE", "1" },
        /* A forked process has lost the threads that these would start. */
        { "OPENBLAS_NUM_THREADS", "1" },
        { "OMP_NUM_THREADS", "1" },
        { "MKL_NUM_THREADS", "1" },
    };

    clearenv();
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        setenv(variables[i][0], variables[i][1], 1);
    if (online)
        name_proxy();
}

/* The Python files lie at a place relative to the program. */
static const char *find_python(char path[PATH_MAX])
{
    static const char *const places[] = {
        QUERN_GUEST_PYTHON_INSTALLED,
        QUERN_GUEST_PYTHON_BUILT,
    };
    char own[PATH_MAX / 2] = "";
    char *slash;

    if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0)
        return NULL;
    slash = strrchr(own, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, PATH_MAX, "%s/%s", own, places[i]);
        if (access(path, R_OK | X_OK) == 0)
            return path;
    }
    return NULL;
}

/* All boxes of a zygote share the inode of this copy. So their users may
 * execute it, but neither open it, to lock it for each other, nor set its
 * times: hence the mode, and its owner is our user. */
static int copy_to_memory(void)
{
    struct stat status;
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = memfd_create("quern-guest", MFD_CLOEXEC);
    bool good = from >= 0 && to >= 0 && fstat(from, &status) == 0 &&
                fchmod(to, S_IRUSR | S_IXUSR | S_IXGRP | S_IXOTH) == 0;

    for (off_t left = good ? status.st_size : 0; good && left > 0;) {
        ssize_t got = sendfile(to, from, NULL, (size_t)left);
        good = got > 0;
        left -= got;
    }
    if (from >= 0)
        close(from);
    if (good)
        return to;
    if (to >= 0)
        close(to);
    return -1;
}

/* A session sees in /proc what its process was started from, and what is
 * mapped: that would be a path of the host. So the program starts once more,
 * from a copy in memory, which has no path. False: the kernel does not allow
 * that. */
static bool leave_path(char **argv, char *python)
{
    static char name[] = "quern-guest", flag[] = "--python";
    char own[PATH_MAX] = "";
    char *words[ARGUMENTS] = { name };
    size_t count = 1;

    if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0 ||
        strncmp(own, "/memfd:", 7) == 0)
        return true;
    for (; argv[count] && count < ARGUMENTS - 3; count++)
        words[count] = argv[count];
    words[count++] = flag;
    words[count] = python;
    int copy = copy_to_memory();
    if (copy >= 0)
        fexecve(copy, words, environ);
    return false;
}

/* Nor may a path be among its arguments. */
static void forget_arguments(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        memset(argv[i], ' ', strlen(argv[i]));
}

_Noreturn static void usage(int status)
{
    fprintf(status ? stderr : stdout,
            "usage: quern-guest [--profile bare|science] [--online]\n"
            "                   [--python FOLDER]\n"
            "Started by quern-executor, with a channel on descriptor %d.\n",
            CHANNEL_FD);
    exit(status);
}

static struct guest_settings read_settings(int argc, char **argv)
{
    static const struct option options[] = {
        { "profile", required_argument, NULL, 'p' },
        { "online", no_argument, NULL, 'o' },
        { "python", required_argument, NULL, 'y' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'v' },
        { NULL, 0, NULL, 0 },
    };
    struct guest_settings settings = { .profile = "science" };
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (option) {
        case 'p':
            settings.profile = optarg;
            break;
        case 'o':
            settings.online = true;
            break;
        case 'y':
            settings.python = optarg;
            break;
        case 'v':
            puts("quern-guest " QUERN_VERSION);
            exit(EX_OK);
        case 'h':
            usage(EX_OK);
        default:
            usage(EX_USAGE);
        }
    if (optind < argc || (strcmp(settings.profile, "bare") != 0 &&
                          strcmp(settings.profile, "science") != 0))
        usage(EX_USAGE);
    return settings;
}

int main(int argc, char **argv)
{
    struct guest_settings settings = read_settings(argc, argv);
    char path[PATH_MAX];
    struct err err;

    if (!settings.python)
        settings.python = find_python(path);
    if (!settings.python) {
        fprintf(stderr, "quern-guest: its Python files are not there\n");
        return EX_UNAVAILABLE;
    }
    if (settings.python != path)
        snprintf(path, sizeof(path), "%s", settings.python);
    settings.python = path;
    if (!leave_path(argv, path))
        fprintf(stderr, "quern-guest: sessions see its path: %s\n",
                strerror(errno));
    bool bare = strcmp(settings.profile, "bare") == 0;
    settings.profile = bare ? "bare" : "science";
    forget_arguments(argc, argv);
    prctl(PR_SET_NAME, "quern-guest");
    set_environment(settings.online);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    /* While it loads it does not look at its channel: if the warden died then,
     * nobody else would end it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    close_range(CHANNEL_FD + 1, ~0U, 0);
    heap_begin();
    bool going = interp_start(settings.python, settings.profile, &err) &&
                 zygote_run(settings.online, &err);
    if (!going)
        fprintf(stderr, "quern-guest: %s\n", err.text);
    return going ? EX_OK : EX_SOFTWARE;
}
