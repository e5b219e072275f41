/* settings.c - what an operator may set, and where from. */
#include "consumer/settings.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/picture.h"
#include "schemas/message/buf.h"
#include "schemas/message/limits.h"
#include "schemas/redis/names.h"

enum setting_type {
    SETTING_TEXT,
    SETTING_SECRET,
    SETTING_NUMBER,
    SETTING_SWITCH,
};

struct setting {
    const char *flag;
    const char *variable;
    enum setting_type type;
    size_t offset;
    uint64_t min, max;
    const char *normal; /* default, as text */
    const char *about;
};

#define TEXT(flag, variable, member, normal, about)                            \
    {                                                                          \
        flag, variable, SETTING_TEXT, offsetof(struct settings, member), 0, 0, \
            normal, about                                                      \
    }
#define SECRET(flag, variable, member, about)                                  \
    {                                                                          \
        flag, variable, SETTING_SECRET, offsetof(struct settings, member), 0,  \
            0, "", about                                                       \
    }
#define NUMBER(flag, variable, member, min, max, normal, about)                \
    {                                                                          \
        flag, variable, SETTING_NUMBER, offsetof(struct settings, member),     \
            min, max, normal, about                                            \
    }
#define SWITCH(flag, variable, member, normal, about)                          \
    {                                                                          \
        flag, variable, SETTING_SWITCH, offsetof(struct settings, member), 0,  \
            0, normal, about                                                   \
    }

enum { DAY_MS = 24 * 3600 * 1000, HOUR_MS = 3600 * 1000 };

static const struct setting table[] = {
    SECRET("redis", "REDIS_URL", redis_url,
           "redis://[user[:password]@]host[:port][/db], unix:///path, "
           "redis+sentinel://host,host/master, redis+cluster://host,host"),
    SECRET("sentinel-password", "QUERN_SENTINEL_PASSWORD", sentinel_password,
           "of the sentinels themselves"),
    TEXT("prefix", "QUERN_PREFIX", prefix,
         "quern:", "what every key starts with"),
    TEXT("durability", "QUERN_DURABILITY", durability, "async",
         "what must not be lost counts when it is written: async, replica:N, "
         "fsync"),
    TEXT("queues", "QUERN_QUEUES", queues, "default",
         "queues to serve, comma-separated, the most urgent first"),
    TEXT("name", "QUERN_NAME", name, "",
         "of this consumer; else made of host, process and chance"),
    TEXT("executor", "QUERN_EXECUTOR", executor, "/run/quern/executor.sock",
         "unix socket of quern-executor; none: there is no Python here, jobs "
         "that need it fail"),
    TEXT("models", "QUERN_MODELS", models, "",
         "JSON file: name -> {url, model, key_file, ...}"),
    TEXT("tools", "QUERN_TOOLS", tools, "",
         "JSON file: what code may call, name -> {url, parameters, ...}; "
         "mcpServers -> {name -> {url, ...}}"),
    TEXT("prompts", "QUERN_PROMPTS", prompts, "",
         "folder with tools.en.md, codeact.zh.md, ...: in place of ours"),
    TEXT("tools-builtin", "QUERN_TOOLS_BUILTIN", tools_builtin, "",
         "tools of our own, comma-separated: search_web, fetch_url, "
         "calculate_math_expression"),
    TEXT("approve", "QUERN_APPROVE", approve, "",
         "tools that a model calls only when a person approves, "
         "comma-separated; execute_python_code: code"),
    NUMBER("approval-ms", "QUERN_APPROVAL_MS", approval_ms, 1000,
           MAX_DEADLINE_MS, "604800000", "how long a job waits for that"),
    TEXT("approval-default", "QUERN_APPROVAL_DEFAULT", approval_default,
         "abort", "what happens then: abort, skip"),
    TEXT("fetch-allow", "QUERN_FETCH_ALLOW", fetch_allow, "",
         "hosts, addresses, networks: fetch_url may go there, too"),
    TEXT("fetch-deny", "QUERN_FETCH_DENY", fetch_deny, "",
         "the same: it may not"),
    TEXT("search", "QUERN_SEARCH", search, "",
         "who search_web asks, in this order: tavily, bocha, brave, searxng, "
         "duckduckgo; off; else all that have what they need"),
    SECRET("tavily-key", "TAVILY_API_KEY", tavily_key, "of Tavily"),
    SECRET("bocha-key", "BOCHA_API_KEY", bocha_key, "of Bocha"),
    SECRET("brave-key", "BRAVE_API_KEY", brave_key, "of Brave"),
    TEXT("searxng-url", "SEARXNG_URL", searxng_url, "", "of your SearXNG"),
    TEXT("tavily-url", "TAVILY_BASE_URL", tavily_url, "https://api.tavily.com",
         "where Tavily is"),
    TEXT("bocha-url", "BOCHA_BASE_URL", bocha_url, "https://api.bochaai.com",
         "where Bocha is"),
    TEXT("brave-url", "BRAVE_BASE_URL", brave_url,
         "https://api.search.brave.com", "where Brave is"),
    TEXT("duckduckgo-url", "DUCKDUCKGO_BASE_URL", duckduckgo_url,
         "https://html.duckduckgo.com", "where DuckDuckGo's page is"),
    NUMBER("search-cache-ms", "QUERN_SEARCH_CACHE_MS", search_cache_ms, 0,
           365ULL * DAY_MS, "86400000", "how long results are good for"),
    NUMBER("search-cache-bytes", "QUERN_SEARCH_CACHE_BYTES", search_cache_bytes,
           0, 1ULL << 30, "4194304", "of results that are kept; 0: none"),
    TEXT("base-url", "OPENAI_BASE_URL", base_url, "",
         "the model endpoint called \"default\""),
    SECRET("key", "OPENAI_API_KEY", key, "its key"),
    TEXT("model", "OPENAI_MODEL", model, "", "the model asked for there"),
    NUMBER("partitions", "QUERN_PARTITIONS", partitions, 0,
           NAMES_MAX_PARTITIONS, "0",
           "of the fleet's queues, for good; 0: as it has them, or 1"),
    NUMBER("slots", "QUERN_SLOTS", slots, 1, 100000, "64",
           "conversations at once"),
    NUMBER("lease-ms", "QUERN_LEASE_MS", lease_ms, 300, HOUR_MS, "30000",
           "a job silent for so long goes to another consumer"),
    NUMBER("max-crashes", "QUERN_MAX_CRASHES", max_crashes, 0, 1000, "3",
           "consumers that may die of a job before it fails"),
    NUMBER("drain-ms", "QUERN_DRAIN_MS", drain_ms, 0, HOUR_MS, "25000",
           "after TERM: how long running jobs may go on"),
    NUMBER("redis-ms", "QUERN_REDIS_MS", redis_ms, 1000, HOUR_MS, "30000",
           "a Redis that has not answered by then has hung: it is left"),
    NUMBER("away-ms", "QUERN_AWAY_MS", away_ms, 100, HOUR_MS, "5000",
           "so long after the executor was lost, jobs that need it are handed "
           "back"),
    NUMBER("max-turns", "QUERN_MAX_TURNS", max_turns, 1, MAX_TURNS, "12",
           "model calls of a job; one more when it has to answer then"),
    NUMBER("repeats", "QUERN_REPEATS", repeats, 0, 100, "4",
           "times that the same may come of the same call; 0: any number"),
    NUMBER("max-tokens", "QUERN_MAX_TOKENS", max_tokens, 0, 1 << 20, "0",
           "of a model reply; 0: the endpoint's own bound"),
    NUMBER("max-total-tokens", "QUERN_MAX_TOTAL_TOKENS", max_total_tokens, 0,
           1ULL << 53, "0", "of all model calls of a job; 0: no limit"),
    NUMBER("max-cost", "QUERN_MAX_COST", max_cost, 0, 1ULL << 53, "0",
           "of these in micro-dollars (1000000 is $1), by the prices of "
           "--models; 0: no limit"),
    NUMBER("output-repairs", "QUERN_OUTPUT_REPAIRS", output_repairs, 0, 100,
           "2",
           "answers that do not fit the job's output_schema, each asked for "
           "again"),
    NUMBER("max-attempts", "QUERN_MAX_ATTEMPTS", max_attempts, 1, 100, "4",
           "tries of a step that fails for a while"),
    NUMBER("backoff-ms", "QUERN_BACKOFF_MS", backoff_ms, 1, HOUR_MS, "1000",
           "before the second try; doubled for each one after it"),
    NUMBER("hold-ms", "QUERN_HOLD_MS", hold_ms, 0, HOUR_MS, "10000",
           "a longer wait for another try gives the job back until then"),
    NUMBER("deadline-ms", "QUERN_DEADLINE_MS", deadline_ms, 1000,
           MAX_DEADLINE_MS, "3600000",
           "of a job that names none, from its start"),
    NUMBER("cell-ms", "QUERN_CELL_MS", cell_ms, 10, MAX_CELL_MS, "60000",
           "how long one cell may run"),
    NUMBER("memory-bytes", "QUERN_MEMORY_BYTES", memory_bytes, 0, 1ULL << 40,
           "0", "of a session; 0: the executor's bound"),
    NUMBER("delta-ms", "QUERN_DELTA_MS", delta_ms, 0, 10000, "50",
           "between two events with text: pieces are gathered meanwhile"),
    NUMBER("result-ttl-ms", "QUERN_RESULT_TTL_MS", result_ttl_ms, 1000,
           365ULL * DAY_MS, "86400000", "how long a result is kept"),
    NUMBER("dead-ttl-ms", "QUERN_DEAD_TTL_MS", dead_ttl_ms, 1000,
           365ULL * DAY_MS, "604800000", "how long a failed job is kept"),
    SWITCH("save-sessions", "QUERN_SAVE_SESSIONS", save_sessions, "on",
           "sessions outlive their host: on, off"),
    NUMBER("session-ttl-ms", "QUERN_SESSION_TTL_MS", session_ttl_ms, 1000,
           365ULL * DAY_MS, "604800000",
           "how long a session is kept after its last job"),
    NUMBER("session-bytes", "QUERN_SESSION_BYTES", session_bytes, 0, 1ULL << 40,
           "134217728", "of a session's files that are saved"),
    TEXT("blob-url", "QUERN_BLOB_URL", blob_url, "",
         "where an answer's links to images and files of the job lead: "
         "https://files.example/{blob}/{name}"),
    NUMBER("pictures", "QUERN_PICTURES", pictures, 0, MAX_SHOWN, "4",
           "that a request shows a model which sees, the newest; 0: none"),
    NUMBER("picture-bytes", "QUERN_PICTURE_BYTES", picture_bytes, 0,
           MAX_FILE_BYTES, "4194304", "of these in all"),
    NUMBER("history-bytes", "QUERN_HISTORY_BYTES", history_bytes, 0,
           MAX_HISTORY_BYTES / 2, "65536",
           "of what was said in a session, shown to its next job; 0: none"),
};
enum { COUNT = sizeof(table) / sizeof(table[0]) };

/* Where a value came from, the weakest first. */
enum source { FROM_DEFAULT, FROM_FILE, FROM_ENVIRONMENT, FROM_FLAG };

struct loading {
    struct settings *settings;
    enum source from[COUNT];
};

static bool parse_number(const struct setting *row, const char *text,
                         uint64_t *number, struct err *err)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0 ||
        value < row->min || value > row->max)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "%s is \"%.40s\", must be a number from %llu to %llu",
                       row->variable, text, (unsigned long long)row->min,
                       (unsigned long long)row->max);
    *number = value;
    return true;
}

static bool parse_switch(const struct setting *row, const char *text,
                         bool *is_on, struct err *err)
{
    *is_on = strcmp(text, "on") == 0;
    return *is_on || strcmp(text, "off") == 0 ||
           err_set(err, ERR_REJECT, "bad_setting",
                   "%s is \"%.40s\", must be on or off", row->variable, text);
}

static bool put(struct loading *loading, const struct setting *row,
                const char *text, enum source from, struct err *err)
{
    size_t index = (size_t)(row - table);
    if (from < loading->from[index])
        return true;
    loading->from[index] = from;
    char *member = (char *)loading->settings + row->offset;
    if (row->type == SETTING_NUMBER)
        return parse_number(row, text, (uint64_t *)(void *)member, err);
    if (row->type == SETTING_SWITCH)
        return parse_switch(row, text, (bool *)(void *)member, err);
    char **place = (char **)(void *)member;
    free(*place);
    *place = view_dup(view_of(text));
    return true;
}

static bool read_file(const char *path, struct buf *text, struct err *err)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return err_set(err, ERR_REJECT, "bad_setting", "%s: %s", path,
                       strerror(errno));
    char piece[4096];
    size_t got;
    while ((got = fread(piece, 1, sizeof(piece), file)) > 0)
        buf_append(text, piece, got);
    bool whole = ferror(file) == 0 && buf_ok(text);
    fclose(file);
    buf_append(text, "", 1);
    if (!whole || !buf_ok(text))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "%s: not readable, or more than %zu bytes", path,
                       text->max);
    return true;
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    text[len] = '\0';
    return text;
}

/* A secret's own file: its first line. */
static bool put_secret(struct loading *loading, const struct setting *row,
                       const char *path, enum source from, struct err *err)
{
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, 16 << 10);
    if (!read_file(path, &text, err))
        return err_prefix(err, "%s_FILE", row->variable);
    text.data[strcspn(text.data, "\r\n")] = '\0';
    return put(loading, row, trim(text.data), from, err);
}

/* KEY=value, or KEY_FILE=path for a secret. */
static bool put_named(struct loading *loading, const char *key,
                      const char *value, enum source from, bool *known,
                      struct err *err)
{
    *known = true;
    for (size_t i = 0; i < COUNT; i++) {
        size_t len = strlen(table[i].variable);
        if (strncmp(key, table[i].variable, len) != 0)
            continue;
        if (key[len] == '\0')
            return put(loading, &table[i], value, from, err);
        if (table[i].type == SETTING_SECRET && strcmp(key + len, "_FILE") == 0)
            return put_secret(loading, &table[i], value, from, err);
    }
    *known = false;
    return true;
}

static bool load_config(struct loading *loading, const char *path,
                        struct err *err)
{
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, 256 << 10);
    if (!read_file(path, &text, err))
        return false;
    char *rest = text.data;
    for (unsigned int number = 1; rest != NULL; number++) {
        char *line = trim(strsep(&rest, "\n"));
        if (*line == '\0' || *line == '#')
            continue;
        char *value = strchr(line, '=');
        bool known = false;
        if (value != NULL) {
            *value = '\0';
            if (!put_named(loading, trim(line), trim(value + 1), FROM_FILE,
                           &known, err))
                return err_prefix(err, "%s:%u", path, number);
        }
        if (!known)
            return err_set(err, ERR_REJECT, "bad_setting",
                           "%s:%u: \"%.40s\" is not a setting", path, number,
                           line);
    }
    return true;
}

static bool load_environment(struct loading *loading, struct err *err)
{
    for (size_t i = 0; i < COUNT; i++) {
        CLEANUP(cleanup_free) char *name = NULL;
        const char *value = getenv(table[i].variable);
        if (value != NULL && *value != '\0') {
            if (!put(loading, &table[i], value, FROM_ENVIRONMENT, err))
                return false;
            continue;
        }
        if (table[i].type != SETTING_SECRET ||
            asprintf(&name, "%s_FILE", table[i].variable) < 0)
            continue;
        value = getenv(name);
        if (value != NULL && *value != '\0' &&
            !put_secret(loading, &table[i], value, FROM_ENVIRONMENT, err))
            return false;
    }
    return true;
}

enum { FLAG_CONFIG = COUNT + 1, FLAG_HELP, FLAG_VERSION };

static void flags(struct option *options)
{
    for (size_t i = 0; i < COUNT; i++)
        options[i] = (struct option){ table[i].flag, required_argument, NULL,
                                      (int)i + 1 };
    options[COUNT] =
        (struct option){ "config", required_argument, NULL, FLAG_CONFIG };
    options[COUNT + 1] =
        (struct option){ "help", no_argument, NULL, FLAG_HELP };
    options[COUNT + 2] =
        (struct option){ "version", no_argument, NULL, FLAG_VERSION };
    options[COUNT + 3] = (struct option){ 0 };
}

static bool load_flags(struct loading *loading, int argc, char **argv,
                       enum settings_wish *wish, struct err *err)
{
    struct option options[COUNT + 4];
    flags(options);
    opterr = 0;
    optind = 1;
    for (int flag;
         (flag = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        const char *said = argv[optind - 1];
        if (flag == '?' || flag == ':')
            return err_set(err, ERR_REJECT, "bad_setting", "%.60s %s", said,
                           flag == ':' ? "needs a value" : "is not a flag");
        if (flag == FLAG_HELP)
            *wish = SETTINGS_HELP;
        else if (flag == FLAG_VERSION)
            *wish = SETTINGS_VERSION;
        else if (flag == FLAG_CONFIG) {
            if (!load_config(loading, optarg, err))
                return false;
        } else if (!put(loading, &table[flag - 1], optarg, FROM_FLAG, err)) {
            return err_prefix(err, "--%s", table[flag - 1].flag);
        }
    }
    if (optind < argc)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "\"%.60s\" is not a flag", argv[optind]);
    return true;
}

bool settings_load(struct settings *settings, int argc, char **argv,
                   enum settings_wish *wish, struct err *err)
{
    *settings = (struct settings){ 0 };
    *wish = SETTINGS_RUN;
    struct loading loading = { .settings = settings };
    for (size_t i = 0; i < COUNT; i++)
        put(&loading, &table[i], table[i].normal, FROM_DEFAULT, NULL);
    return load_flags(&loading, argc, argv, wish, err) &&
           load_environment(&loading, err);
}

void settings_finish(struct settings *settings)
{
    for (size_t i = 0; i < COUNT && settings != NULL; i++) {
        char *member = (char *)settings + table[i].offset;
        if (table[i].type == SETTING_TEXT || table[i].type == SETTING_SECRET)
            free(*(char **)(void *)member);
    }
}

void settings_help(void)
{
    printf("quern-consumer: moves jobs from Redis through model and executor\n"
           "\n  --config FILE    settings as VARIABLE=value lines\n"
           "  --help --version\n\nFlags win over variables, variables over the "
           "file.\n\n");
    for (size_t i = 0; i < COUNT; i++) {
        const struct setting *row = &table[i];
        printf("  --%-15s %-20s %s", row->flag, row->variable, row->about);
        if (row->type == SETTING_NUMBER)
            printf(" [%s; %llu to %llu]", row->normal,
                   (unsigned long long)row->min, (unsigned long long)row->max);
        else if (*row->normal != '\0')
            printf(" [%s]", row->normal);
        if (row->type == SETTING_SECRET)
            printf(" (or %s_FILE)", row->variable);
        putchar('\n');
    }
}
