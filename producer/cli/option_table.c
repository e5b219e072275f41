/* option_table.c - every option of every verb. */
#include <stddef.h>
#include <string.h>

#include "producer/cli/option.h"

#define AT(member) offsetof(struct options, member)

static const char *const priorities[] = { "normal", "high", "low", NULL };

#define JOBS ",run,submit,exec,"
/* Verbs of sessions that are jobs, and those that only read. */
#define ACTS "session files,session put,session get,session close,session fork,"
#define READS "session ls,session show,"
#define SCHEDULED "schedule add,"
/* Verbs that destroy. */
#define RIDS "queue purge,dead requeue,dead rm,schedule rm,"

const struct option option_table[] = {
    { .name = "file",
      .letter = 'f',
      .type = OPTION_TEXTS,
      .offset = AT(files),
      .value = "FILE",
      .verbs = JOBS SCHEDULED,
      .about = "send FILE along, into the working directory; may be repeated" },
    { .name = "out",
      .letter = 'o',
      .type = OPTION_TEXT,
      .flags = OPTION_SETTING,
      .offset = AT(out),
      .value = "DIR",
      .verbs = ",run,exec,get,wait,watch,session get,",
      .about = "save images and files into DIR (run, exec, session get: "
               "quern-out)" },
    { .name = "session",
      .letter = 's',
      .type = OPTION_TEXT,
      .offset = AT(session),
      .value = "NAME",
      .verbs = JOBS SCHEDULED,
      .about = "keep variables and files under NAME for later jobs" },
    { .name = "model",
      .letter = 'm',
      .type = OPTION_TEXT,
      .offset = AT(model),
      .value = "NAME",
      .verbs = ",run,submit," SCHEDULED,
      .about = "a model of the operator's configuration" },
    { .name = "system",
      .type = OPTION_TEXT,
      .offset = AT(system),
      .value = "TEXT",
      .verbs = ",run,submit," SCHEDULED,
      .about = "what the model is told before the question" },
    { .name = "tool",
      .type = OPTION_TEXTS,
      .offset = AT(tools),
      .value = "NAME",
      .verbs = ",run,submit," SCHEDULED,
      .about = "only this tool; may be repeated" },
    { .name = "job",
      .letter = 'j',
      .type = OPTION_TEXT,
      .offset = AT(job),
      .value = "FILE",
      .verbs = ",run,submit," SCHEDULED,
      .about = "a whole job as JSON instead of a question; -: standard input" },
    { .name = "jobs",
      .type = OPTION_TEXT,
      .offset = AT(jobs),
      .value = "FILE",
      .verbs = ",submit,",
      .about = "many jobs instead, JSON, one a line; -: standard input" },
    { .name = "queue",
      .letter = 'q',
      .type = OPTION_TEXT,
      .flags = OPTION_SETTING,
      .offset = AT(queue),
      .value = "NAME",
      .verbs = JOBS "doctor,dead ls,dead requeue,dead rm," ACTS SCHEDULED,
      .about = "the queue (default; dead: every one)" },
    { .name = "priority",
      .type = OPTION_CHOICE,
      .flags = OPTION_SETTING,
      .offset = AT(priority),
      .value = "WORD",
      .verbs = JOBS ACTS SCHEDULED,
      .about = "high, normal or low (normal)",
      .choices = priorities },
    { .name = "tenant",
      .type = OPTION_TEXT,
      .flags = OPTION_SETTING,
      .offset = AT(tenant),
      .value = "NAME",
      .verbs = JOBS ACTS READS SCHEDULED,
      .about = "for whom (default)" },
    { .name = "key",
      .letter = 'k',
      .type = OPTION_TEXT,
      .offset = AT(key),
      .value = "TEXT",
      .verbs = JOBS,
      .about = "idempotency: the same key gives the same job for a day" },
    { .name = "metadata",
      .type = OPTION_TEXTS,
      .offset = AT(metadata),
      .value = "KEY=VALUE",
      .verbs = JOBS SCHEDULED,
      .about = "given back in the result; may be repeated" },
    { .name = "max-turns",
      .type = OPTION_COUNT,
      .offset = AT(turns),
      .value = "N",
      .verbs = ",run,submit," SCHEDULED,
      .about = "model calls at the most",
      .max = MAX_TURNS },
    { .name = "deadline",
      .type = OPTION_TIME,
      .offset = AT(deadline_ms),
      .value = "TIME",
      .verbs = JOBS ACTS SCHEDULED,
      .about = "fail when not done by then, waiting included: 90s, 5m, 2h",
      .max = MAX_DEADLINE_MS },
    { .name = "cell-time",
      .type = OPTION_TIME,
      .offset = AT(cell_ms),
      .value = "TIME",
      .verbs = JOBS SCHEDULED,
      .about = "longest run of one piece of code",
      .max = MAX_CELL_MS },
    { .name = "deadline-ms",
      .type = OPTION_COUNT,
      .offset = AT(cell_ms),
      .value = "N",
      .verbs = ",exec,",
      .about = "the same in milliseconds: --cell-time of N ms",
      .max = MAX_CELL_MS },
    { .name = "memory",
      .type = OPTION_BYTES,
      .offset = AT(memory_bytes),
      .value = "SIZE",
      .verbs = JOBS SCHEDULED,
      .about = "memory of the session: 512M, 2G" },
    { .name = "timeout",
      .letter = 't',
      .type = OPTION_TIME,
      .offset = AT(timeout_ms),
      .value = "TIME",
      .verbs = ",wait,",
      .about = "give up waiting then; the job goes on (no limit)" },
    { .name = "from",
      .type = OPTION_COUNT,
      .offset = AT(from),
      .value = "SEQ",
      .verbs = ",watch,",
      .about = "only events after this number (0: all of them)" },
    { .name = "reason",
      .letter = 'r',
      .type = OPTION_TEXT,
      .offset = AT(reason),
      .value = "TEXT",
      .verbs = ",cancel,approve,",
      .about = "kept with the job" },
    { .name = "delay",
      .type = OPTION_TIME,
      .offset = AT(delay_ms),
      .value = "TIME",
      .verbs = JOBS,
      .about = "not before so long from now: 90s, 5m, 2h",
      .max = UINT64_C(366) * 86400000 },
    { .name = "unique",
      .letter = 'u',
      .type = OPTION_TEXT,
      .offset = AT(unique),
      .value = "TEXT",
      .verbs = JOBS SCHEDULED,
      .about = "while a job of this key has not ended, that one stands" },
    { .name = "reject",
      .type = OPTION_FLAG,
      .offset = AT(reject),
      .verbs = ",approve,",
      .about = "it is told that it may not" },
    { .name = "zone",
      .letter = 'z',
      .type = OPTION_TEXT,
      .flags = OPTION_SETTING,
      .offset = AT(zone),
      .value = "NAME",
      .verbs = "," SCHEDULED,
      .about = "whose clock it goes by: Europe/Berlin (UTC)" },
    { .name = "limit",
      .letter = 'n',
      .type = OPTION_COUNT,
      .offset = AT(limit),
      .value = "N",
      .verbs = ",dead ls,",
      .about = "so many at the most (50)",
      .max = 1000000 },
    { .name = "skip",
      .type = OPTION_COUNT,
      .offset = AT(skip),
      .value = "N",
      .verbs = ",dead ls,",
      .about = "leave out the latest N",
      .max = 1000000000 },
    { .name = "all",
      .letter = 'a',
      .type = OPTION_FLAG,
      .offset = AT(all),
      .verbs = ",dead requeue,dead rm,",
      .about = "every one, or every one of --queue" },
    { .name = "anew",
      .type = OPTION_FLAG,
      .offset = AT(anew),
      .verbs = ",dead requeue,retry,",
      .about = "from the beginning, not where they failed" },
    { .name = "dry-run",
      .type = OPTION_FLAG,
      .offset = AT(dry_run),
      .verbs = "," RIDS SCHEDULED,
      .about = "only tell what would be done" },
    { .name = "yes",
      .letter = 'y',
      .type = OPTION_FLAG,
      .offset = AT(yes),
      .verbs = "," RIDS,
      .about = "do not ask whether it shall be done" },
    { .name = "redis-url",
      .type = OPTION_TEXT,
      .flags = OPTION_SETTING,
      .offset = AT(redis_url),
      .value = "URL",
      .about = "where Redis is ($REDIS_URL, else redis://127.0.0.1:6379)" },
    { .name = "prefix",
      .type = OPTION_TEXT,
      .flags = OPTION_SETTING,
      .offset = AT(prefix),
      .value = "TEXT",
      .about = "what every key begins with (quern:)" },
    { .name = "durability",
      .type = OPTION_TEXT,
      .flags = OPTION_SETTING,
      .offset = AT(durability),
      .value = "WORD",
      .about = "when a write counts: async, replica:N, fsync (async)" },
    { .name = "config",
      .type = OPTION_TEXT,
      .offset = AT(config),
      .value = "FILE",
      .about = "settings (~/.config/quern/quern.conf)" },
    { .name = "json",
      .type = OPTION_FLAG,
      .offset = AT(json),
      .about = "one JSON object per line" },
    { .name = "help",
      .letter = 'h',
      .type = OPTION_FLAG,
      .offset = AT(help),
      .about = "what the verb does" },
};

const size_t option_count = sizeof(option_table) / sizeof(option_table[0]);

bool option_is_of(const struct option *option, const char *verb)
{
    size_t len = strlen(verb);
    const char *at = option->verbs;

    if (!at)
        return true;
    while ((at = strstr(at + 1, verb)))
        if (at[-1] == ',' && at[len] == ',')
            return true;
    return false;
}

void options_help(const char *verb, FILE *out)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        char left[40];

        if (verb ? !option->verbs || !option_is_of(option, verb)
                 : option->verbs != NULL)
            continue;
        snprintf(
            left, sizeof(left), "%s%c%s --%s %s", option->letter ? "-" : " ",
            option->letter ? option->letter : ' ', option->letter ? "," : " ",
            option->name, option->value ? option->value : "");
        fprintf(out, "  %-26s %s\n", left, option->about);
    }
}

void options_list_settings(FILE *out)
{
    const char *comma = "";

    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].flags & OPTION_SETTING) {
            fprintf(out, "%s%s", comma, option_table[i].name);
            comma = ", ";
        }
}
