/* info.c - whether a server may be trusted with jobs, by what INFO says. */
#include "schemas/redis/info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void info_ask(struct command *command)
{
    command_init(command, "INFO");
}

struct view info_value(struct view info, const char *name)
{
    size_t len = strlen(name);

    while (info.len > 0) {
        const char *end = memchr(info.data, '\n', info.len);
        size_t line = end ? (size_t)(end - info.data) : info.len;

        if (line > len && info.data[len] == ':' &&
            memcmp(info.data, name, len) == 0) {
            struct view value = { info.data + len + 1, line - len - 1 };
            if (value.len > 0 && value.data[value.len - 1] == '\r')
                value.len--;
            return value;
        }
        line += end != NULL;
        info = (struct view){ info.data + line, info.len - line };
    }
    return (struct view){ 0 };
}

bool info_is(struct view info, const char *name, const char *value)
{
    return view_is(info_value(info, name), value);
}

static void set(struct finding *finding, enum info_level level,
                const char *text, const char *remedy)
{
    finding->level = level;
    finding->remedy = remedy;
    snprintf(finding->text, sizeof(finding->text), "%s", text);
}

static void judge_version(struct view info, struct finding *finding)
{
    struct view version = info_value(info, "redis_version");
    struct view valkey = info_value(info, "valkey_version");
    char number[16];

    snprintf(number, sizeof(number), "%.*s", VIEW_ARG(view_head(version, 15)));
    finding->check = "version";
    if (version.len == 0) {
        set(finding, INFO_UNSEEN, "INFO does not say which version this is",
            NULL);
        return;
    }
    if (strtoul(number, NULL, 10) >= 7) {
        snprintf(finding->text, sizeof(finding->text), "%s %.*s",
                 valkey.len > 0 ? "Valkey" : "Redis",
                 VIEW_ARG(valkey.len > 0 ? valkey : version));
        return;
    }
    finding->level = INFO_FAULT;
    finding->remedy = "install Redis 7.0 or later, or Valkey";
    snprintf(finding->text, sizeof(finding->text),
             "Redis %.*s lacks functions; 7.0 is the least",
             VIEW_ARG(view_head(version, 32)));
}

static void judge_storage(struct view info, const char *fsync,
                          struct finding *finding)
{
    finding->check = "storage";
    if (info_value(info, "aof_enabled").len == 0)
        set(finding, INFO_UNSEEN,
            "INFO does not say whether there is an append-only file",
            "look at the service's own settings of durability");
    else if (!info_is(info, "aof_enabled", "1"))
        set(finding, INFO_WARNING,
            "no append-only file: a restart of Redis loses the jobs since "
            "the last snapshot",
            "redis-cli CONFIG SET appendonly yes, and in redis.conf");
    else if (info_is(info, "aof_last_write_status", "err") ||
             info_is(info, "aof_last_bgrewrite_status", "err"))
        set(finding, INFO_FAULT,
            "Redis cannot write its append-only file: it refuses new jobs",
            "make room on its disk; see its log");
    else if (fsync && strcmp(fsync, "no") == 0)
        set(finding, INFO_WARNING,
            "appendfsync is no: a power failure loses half a minute of jobs",
            "redis-cli CONFIG SET appendfsync everysec, and in redis.conf");
    else
        snprintf(finding->text, sizeof(finding->text),
                 "append-only file is on%s%s", fsync ? ", appendfsync " : "",
                 fsync ? fsync : "");
}

/* Keys of jobs that have not ended have no time to live, so the policies
 * volatile-* do not evict them, but they may evict results and files too early.
 * Without a limit of memory nothing is evicted yet. */
static void judge_eviction(struct view info, struct finding *finding)
{
    struct view policy = info_value(info, "maxmemory_policy");
    bool limited = !info_is(info, "maxmemory", "0");
    bool all = view_starts(policy, "allkeys-");

    finding->check = "eviction";
    if (policy.len == 0) {
        set(finding, INFO_UNSEEN,
            "INFO does not say what Redis drops when memory runs short",
            "look at the service's own settings: maxmemory-policy noeviction");
        return;
    }
    if (view_is(policy, "noeviction")) {
        set(finding, INFO_FINE, "noeviction", NULL);
        return;
    }
    finding->level = all && limited ? INFO_FAULT : INFO_WARNING;
    finding->remedy = "redis-cli CONFIG SET maxmemory-policy noeviction, and "
                      "in redis.conf";
    snprintf(finding->text, sizeof(finding->text),
             "maxmemory-policy is %.*s: Redis may drop %s when memory runs "
             "short%s",
             VIEW_ARG(view_head(policy, 32)),
             all ? "jobs" : "results and files",
             limited ? "" : ", once it has a limit (maxmemory)");
}

void info_judge(struct view info, const char *fsync,
                struct finding findings[INFO_CHECKS])
{
    memset(findings, 0, INFO_CHECKS * sizeof(*findings));
    judge_version(info, &findings[0]);
    judge_storage(info, fsync, &findings[1]);
    judge_eviction(info, &findings[2]);
}
