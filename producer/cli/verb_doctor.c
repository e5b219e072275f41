/* verb_doctor.c - quern doctor: every finding with what to do about it. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "producer/cli/cli.h"
#include "producer/cli/show.h"
#include "schemas/redis/conn.h"
#include "schemas/redis/names.h"
#include "schemas/redis/transition.h"

enum {
    CALL_MS = 3000,
    SEEN_MS = 60000, /* a living consumer asks for work more often than that */
};

enum level { FINE, NOTE, WARNING, FAULT };

struct doctor {
    struct app *app;
    struct address address;
    struct names names;
    struct conn *conn;
    enum level worst;
};

/* remedy: what to do, NULL when nothing. The text follows. */
__attribute__((format(printf, 5, 6))) static void
find(struct doctor *doctor, enum level level, const char *check,
     const char *remedy, const char *format, ...)
{
    static const struct {
        const char *word;
        enum style style;
    } levels[] = {
        [FINE] = { "ok", GREEN },
        [NOTE] = { "note", CYAN },
        [WARNING] = { "warning", YELLOW },
        [FAULT] = { "fault", RED },
    };
    struct pane *out = &doctor->app->term.out;
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (level > doctor->worst)
        doctor->worst = level;
    if (doctor->app->term.json) {
        json_line(json_pack("{s:s, s:s, s:s, s:s?}", "check", check, "level",
                            levels[level].word, "text", text, "remedy",
                            remedy));
        return;
    }
    pane_printf(out, levels[level].style, "%-8s", levels[level].word);
    pane_printf(out, BOLD, "%-10s ", check);
    pane_text(out, PLAIN, view_of(text));
    pane_printf(out, PLAIN, "\n");
    if (remedy)
        pane_printf(out, PLAIN, "%19s%s\n", "-> ", remedy);
}

static redisReply *ask(struct doctor *doctor, struct err *err, int count,
                       const char *const *words)
{
    struct command command;
    redisReply *reply;

    command_init(&command, words[0]);
    for (int i = 1; i < count; i++)
        command_add_text(&command, words[i]);
    reply = conn_call(doctor->conn, &command, CALL_MS, err);
    command_finish(&command);
    return reply;
}
#define ASK(doctor, err, ...)                                                  \
    ask(doctor, err,                                                           \
        (int)(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)),       \
        (const char *[]){ __VA_ARGS__ })

static void cleanup_answer(redisReply **reply)
{
    if (*reply)
        freeReplyObject(*reply);
}

/* A line "name:value" of INFO. */
static bool info_line(const redisReply *info, const char *name, char *value,
                      size_t size)
{
    size_t len = strlen(name);
    const char *line = info->str;

    while (line && (strncmp(line, name, len) != 0 || line[len] != ':')) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (!line)
        return false;
    line += len + 1;
    snprintf(value, size, "%.*s", (int)strcspn(line, "\r\n"), line);
    return true;
}

/* --- the checks: each false when the next ones make no sense ----------------
 */

static bool check_redis(struct doctor *doctor)
{
    struct err err = { 0 };
    char where[256], version[32] = "", valkey[32] = "";
    struct timespec begin, end;
    CLEANUP(cleanup_answer) redisReply *info = NULL;

    address_print(&doctor->address, where, sizeof(where));
    info = ASK(doctor, &err, "INFO");
    if (!info) {
        find(doctor, FAULT, "redis",
             "start Redis, or say where it is: --redis-url, REDIS_URL",
             "%s: %s", where, err.text);
        return false;
    }
    freeReplyObject(info);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    info = ASK(doctor, &err, "INFO");
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (!info || !info_line(info, "redis_version", version, sizeof(version))) {
        find(doctor, FAULT, "redis", "is it a Redis server?",
             "%s does not tell its version", where);
        return false;
    }
    info_line(info, "valkey_version", valkey, sizeof(valkey));
    find(doctor, FINE, "redis", NULL, "%s, answers in %.1f ms", where,
         (double)(end.tv_sec - begin.tv_sec) * 1e3 +
             (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
    if (strtoul(version, NULL, 10) < 7) {
        find(doctor, FAULT, "version", "install Redis 7.0 or later, or Valkey",
             "Redis %s lacks functions; 7.0 is the least", version);
        return false;
    }
    find(doctor, FINE, "version", NULL, "%s %s", *valkey ? "Valkey" : "Redis",
         *valkey ? valkey : version);
    return true;
}

static bool check_durability(struct doctor *doctor)
{
    struct err err = { 0 };
    char value[64];
    CLEANUP(cleanup_answer) redisReply *info = ASK(doctor, &err, "INFO");

    if (!info)
        return false;
    if (info_line(info, "aof_enabled", value, sizeof(value))) {
        if (strcmp(value, "1") == 0)
            find(doctor, FINE, "storage", NULL, "append-only file is on");
        else
            find(doctor, WARNING, "storage",
                 "redis-cli CONFIG SET appendonly yes, and in redis.conf",
                 "no append-only file: a restart of Redis loses the jobs "
                 "since the last snapshot");
    }
    if (info_line(info, "maxmemory_policy", value, sizeof(value))) {
        if (strcmp(value, "noeviction") == 0)
            find(doctor, FINE, "eviction", NULL, "noeviction");
        else
            find(doctor, FAULT, "eviction",
                 "redis-cli CONFIG SET maxmemory-policy noeviction, and in "
                 "redis.conf",
                 "maxmemory-policy is %s: Redis may drop jobs when memory "
                 "runs short",
                 value);
    }
    return true;
}

static bool check_library(struct doctor *doctor)
{
    struct err err = { 0 };
    struct command command;
    CLEANUP(cleanup_answer) redisReply *reply = NULL;

    transition_build_command(&command);
    reply = conn_call(doctor->conn, &command, CALL_MS, &err);
    command_finish(&command);
    if (!reply)
        find(doctor, WARNING, "library",
             "start a quern-consumer: it loads the library",
             "function library quern_v1: %s", err.text);
    else if (reply->integer < (long long)transition_build)
        find(doctor, WARNING, "library",
             "start a quern-consumer of this version: it loads the library",
             "function library quern_v1 is build %lld, this client knows %u",
             reply->integer, transition_build);
    else
        find(doctor, FINE, "library", NULL, "quern_v1, build %lld",
             reply->integer);
    return true;
}

/* A field of one map of XINFO (a flat array in RESP2). */
static const redisReply *field_of(const redisReply *map, const char *name)
{
    for (size_t i = 0; i + 1 < map->elements; i += 2)
        if (strcmp(map->element[i]->str, name) == 0)
            return map->element[i + 1];
    return NULL;
}

/* How many consumers of one stream have been heard of lately. */
static int count_seen(struct doctor *doctor, const char *stream)
{
    struct err err = { 0 };
    CLEANUP(cleanup_answer)
    redisReply *consumers =
        ASK(doctor, &err, "XINFO", "CONSUMERS", stream, NAMES_GROUP);
    int seen = 0;

    for (size_t i = 0; consumers && i < consumers->elements; i++) {
        const redisReply *idle = field_of(consumers->element[i], "idle");

        seen += idle && idle->integer < SEEN_MS;
    }
    return seen;
}

static bool check_consumers(struct doctor *doctor)
{
    const char *name = doctor->app->options.queue;
    struct view queue = name ? view_of(name) : VIEW("default");
    struct err err = { 0 };
    long long waiting = 0;
    int seen = 0;

    for (int i = 0; priority_names[i]; i++) {
        struct key key = names_work(&doctor->names, 0, queue, i);
        CLEANUP(cleanup_answer)
        redisReply *length = ASK(doctor, &err, "XLEN", key.text);
        int now = count_seen(doctor, key.text);

        waiting += length ? length->integer : 0;
        seen = now > seen ? now : seen;
    }
    if (seen > 0)
        find(doctor, FINE, "consumers", NULL,
             "%d at queue %.*s, %lld jobs waiting or running", seen,
             VIEW_ARG(queue), waiting);
    else
        find(doctor, FAULT, "consumers", "start one: quern-consumer",
             "none seen at queue %.*s in the last %s, %lld jobs are there",
             VIEW_ARG(queue), term_time(SEEN_MS), waiting);
    return true;
}

/* --- this host --------------------------------------------------------------
 */

/* Beside this program, else somewhere in PATH. */
static void executor_path(char *path, size_t size)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (len > 0) {
        self[len] = '\0';
        snprintf(path, size, "%s/quern-executor", dirname(self));
        if (access(path, X_OK) == 0)
            return;
    }
    snprintf(path, size, "quern-executor");
}

static bool check_executor(struct doctor *doctor)
{
    char path[PATH_MAX + 32];
    char check[] = "--check";
    char *argv[] = { path, check, NULL };
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int fault, status = 0;

    executor_path(path, sizeof(path));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    fault = posix_spawnp(&pid, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (fault) {
        find(doctor, NOTE, "executor", NULL, "none on this host");
        return true;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        find(doctor, FINE, "executor", NULL, "%s can make boxes", path);
    else
        find(doctor, FAULT, "executor", "see what it says above",
             "%s --check failed", path);
    return true;
}

static bool check_model(struct doctor *doctor)
{
    const char *url = getenv("OPENAI_BASE_URL");
    bool key = getenv("OPENAI_API_KEY") || getenv("OPENAI_API_KEY_FILE");

    find(doctor, url && key ? FINE : NOTE, "model", NULL,
         "OPENAI_BASE_URL is %s%s, OPENAI_API_KEY is %s (consumers read "
         "theirs)",
         url ? "" : "not set", url ? url : "", key ? "set" : "not set");
    return true;
}

static bool doctor_open(struct doctor *doctor, struct err *err)
{
    const struct options *options = &doctor->app->options;
    const char *url =
        options->redis_url ? options->redis_url : getenv("REDIS_URL");

    if (!address_parse(&doctor->address, view_of(url), err) ||
        !names_init(&doctor->names,
                    options->prefix ? options->prefix : "quern:", err))
        return false;
    doctor->conn = conn_new(&doctor->address, "quern-doctor");
    return true;
}

int verb_doctor(struct app *app)
{
    static bool (*const redis_checks[])(struct doctor *) = {
        check_redis,
        check_durability,
        check_library,
        check_consumers,
    };
    struct doctor doctor = { .app = app };
    struct err err = { 0 };
    int code = EXIT_DONE;

    if (!doctor_open(&doctor, &err)) {
        code = app_fail_err(app, &err);
    } else {
        for (size_t i = 0; i < sizeof(redis_checks) / sizeof(*redis_checks);
             i++)
            if (!redis_checks[i](&doctor))
                break;
        check_executor(&doctor);
        check_model(&doctor);
        if (doctor.worst == FAULT)
            code = EXIT_UNAVAILABLE;
    }
    conn_free(doctor.conn);
    address_finish(&doctor.address);
    return code;
}
