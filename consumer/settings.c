/* settings.c - the table of what an operator may set. */
#include "consumer/settings.h"

#include <stddef.h>
#include <string.h>

#include "consumer/consumer.h"
#include "consumer/conversation/links.h"
#include "consumer/conversation/request_image.h"
#include "schemas/message/limits.h"
#include "schemas/redis/durability.h"
#include "schemas/redis/names.h"
#include "schemas/redis/rows.h"
#include "schemas/settings/listen_place.h"

#define AT(member) offsetof(struct consumer_settings, member)
#define MIB (UINT64_C(1) << 20)
#define TIB (UINT64_C(1) << 40)
#define DAY_MS (UINT64_C(24) * 3600 * 1000)
#define YEAR_MS (365 * DAY_MS)
#define COUNT_MAX (UINT64_C(1) << 53)
#define COST_MAX (UINT64_C(999999999) * 1000000)

enum { HOUR_MS = 3600 * 1000 };

static const char *const approval_defaults[] = { "abort", "skip", NULL };

static bool check_durability(const char *text, struct err *err)
{
    struct durability durability;
    return durability_parse(&durability, view_of(text), err);
}

static bool check_metrics(const char *text, struct err *err)
{
    struct listen_place place;
    struct err wrong = { 0 };
    if (strchr(text, ','))
        return err_set(err, ERR_REJECT, "bad_setting", "must be one place");
    if (*text == '\0' || listen_place_read(&text, &place, &wrong))
        return true;
    *err = wrong;
    return false;
}

static const struct setting rows[] = {
    REDIS_URL_ROW(AT(redis.url), .normal = "",
                  .normally = "none, it has to be given"),
    REDIS_SENTINEL_PASSWORD_ROW(AT(redis.sentinel_password)),
    REDIS_PREFIX_ROW(AT(redis.prefix)),
    { .name = "durability",
      .type = SETTING_TEXT,
      .offset = AT(redis.durability),
      .normal = "async",
      .value = "WORD",
      .check = check_durability,
      .about =
          "When a write that must not be lost counts: when the master has it "
          "(async), N replicas (replica:N), or the master's disk (fsync)." },
    { .name = "partitions",
      .type = SETTING_NUMBER,
      .offset = AT(partitions),
      .max = NAMES_MAX_PARTITIONS,
      .normal = "0",
      .about = "The number of partitions, which the fleet's first consumer "
               "sets for good; 0: the fleet's number, or 1." },
    { .name = "redis-timeout",
      .type = SETTING_TIME,
      .offset = AT(redis_ms),
      .min = 1000,
      .max = HOUR_MS,
      .normal = "30s",
      .about = "If Redis does not answer a write for this time, the consumer "
               "closes the connection." },

    { .name = "queues",
      .group = "Work",
      .type = SETTING_LIST,
      .offset = AT(queues),
      .normal = "default",
      .check = consumer_check_queues,
      .about = "The queues that this consumer serves, the most urgent first." },
    { .name = "name",
      .type = SETTING_TEXT,
      .offset = AT(name),
      .normal = "",
      .normally = "made of host, process and chance",
      .value = "NAME",
      .check = consumer_check_name,
      .about = "The name of this consumer, by which operators drain it." },
    { .name = "metrics",
      .type = SETTING_TEXT,
      .offset = AT(metrics),
      .normal = "",
      .value = "PLACE",
      .check = check_metrics,
      .about =
          "Where /metrics (for Prometheus), /livez and /readyz are answered: "
          "127.0.0.1:9464 or unix:/path. Whoever reaches it reads, without "
          "a key, names of queues, models and tools, and what they do and "
          "cost." },
    { .name = "slots",
      .type = SETTING_NUMBER,
      .offset = AT(slots),
      .min = 1,
      .max = 100000,
      .normal = "64",
      .about = "Jobs that this consumer runs at the same time." },
    { .name = "lease",
      .type = SETTING_TIME,
      .offset = AT(lease_ms),
      .min = 300,
      .max = HOUR_MS,
      .normal = "30s",
      .about = "If a consumer is silent for this time, its jobs go to other "
               "consumers." },
    { .name = "max-crashes",
      .type = SETTING_NUMBER,
      .offset = AT(max_crashes),
      .max = 1000,
      .normal = "3",
      .about = "How many consumers a job may lose; when it loses one more, "
               "it fails." },
    { .name = "drain",
      .type = SETTING_TIME,
      .offset = AT(drain_ms),
      .max = HOUR_MS,
      .normal = "25s",
      .about = "How long running jobs may go on after TERM; then they go back "
               "to the queue." },
    { .name = "deadline",
      .type = SETTING_TIME,
      .offset = AT(limits.deadline_ms),
      .min = 1000,
      .max = MAX_DEADLINE_MS,
      .normal = "1h",
      .about =
          "The deadline of a job that sets none, counted from its start." },
    { .name = "max-attempts",
      .type = SETTING_NUMBER,
      .offset = AT(retry.max_attempts),
      .min = 1,
      .max = 100,
      .normal = "4",
      .about = "How often a step is tried when it fails for a reason that may "
               "pass." },
    { .name = "backoff",
      .type = SETTING_TIME,
      .offset = AT(retry.backoff_ms),
      .min = 1,
      .max = HOUR_MS,
      .normal = "1s",
      .about =
          "The wait before the second try; it doubles with each further try." },
    { .name = "hold",
      .type = SETTING_TIME,
      .offset = AT(retry.hold_ms),
      .max = HOUR_MS,
      .normal = "10s",
      .about = "A job that has to wait longer than this for its next try waits "
               "in its queue." },
    { .name = "delta",
      .type = SETTING_TIME,
      .offset = AT(result.delta_ms),
      .max = 10000,
      .normal = "50ms",
      .about = "The least time between two events with pieces of an answer; "
               "pieces in between are joined." },
    { .name = "result-ttl",
      .type = SETTING_TIME,
      .offset = AT(result.ttl_ms),
      .min = 1000,
      .max = YEAR_MS,
      .normal = "1d",
      .about = "How long a result is kept." },
    { .name = "dead-ttl",
      .type = SETTING_TIME,
      .offset = AT(result.dead_ttl_ms),
      .min = 1000,
      .max = YEAR_MS,
      .normal = "7d",
      .about = "How long a failed job is kept." },

    { .name = "models",
      .group = "Models",
      .type = SETTING_TEXT,
      .offset = AT(endpoint.file),
      .normal = "",
      .value = "FILE",
      .is_reloaded = true,
      .about = "A JSON file of models: name -> {url, model, key_file, ...}, as "
               "consumer/MODELS.md has it." },
    { .name = "base-url",
      .variable = "OPENAI_BASE_URL",
      .type = SETTING_TEXT,
      .offset = AT(endpoint.base_url),
      .normal = "",
      .value = "URL",
      .about = "The endpoint of the model called \"default\"." },
    { .name = "key",
      .variable = "OPENAI_API_KEY",
      .type = SETTING_SECRET,
      .offset = AT(endpoint.key),
      .normal = "",
      .about = "The key of that endpoint." },
    { .name = "model",
      .variable = "OPENAI_MODEL",
      .type = SETTING_TEXT,
      .offset = AT(endpoint.model),
      .normal = "",
      .value = "NAME",
      .about = "What that endpoint calls the model." },
    { .name = "prompts",
      .type = SETTING_TEXT,
      .offset = AT(prompts),
      .normal = "",
      .normally = "those of this program",
      .value = "FOLDER",
      .about = "A folder with your own instructions for models: tools.en.md, "
               "codeact.zh.md and so on." },
    { .name = "max-turns",
      .type = SETTING_NUMBER,
      .offset = AT(limits.max_turns),
      .min = 1,
      .max = MAX_TURNS,
      .normal = "12",
      .about = "The most model calls of a job; after them one more call asks "
               "for the answer." },
    { .name = "repeats",
      .type = SETTING_NUMBER,
      .offset = AT(limits.repeats),
      .max = 100,
      .normal = "4",
      .about = "How often the same call may have the same outcome before the "
               "model is stopped; 0: always." },
    { .name = "max-tokens",
      .type = SETTING_NUMBER,
      .offset = AT(limits.max_tokens),
      .max = MIB,
      .normal = "0",
      .about = "The most tokens of one reply; 0: the endpoint's own limit." },
    { .name = "max-total-tokens",
      .type = SETTING_NUMBER,
      .offset = AT(limits.max_total_tokens),
      .max = COUNT_MAX,
      .normal = "0",
      .about = "The most tokens that models read and write for one job; 0: no "
               "limit." },
    { .name = "max-cost",
      .type = SETTING_DOLLARS,
      .offset = AT(limits.max_cost),
      .max = COST_MAX,
      .normal = "0",
      .about = "What the model calls of one job may cost, by the prices of "
               "--models; 0: no limit." },
    { .name = "output-repairs",
      .type = SETTING_NUMBER,
      .offset = AT(limits.output_repairs),
      .max = 100,
      .normal = "2",
      .about = "How often a model may repair an answer that does not fit the "
               "job's output_schema." },
    { .name = "images",
      .type = SETTING_NUMBER,
      .offset = AT(limits.images),
      .max = MAX_SHOWN,
      .normal = "4",
      .about = "The most images in one request to a model that accepts them, "
               "the newest first; 0: none." },
    { .name = "image-size",
      .type = SETTING_SIZE,
      .offset = AT(limits.image_bytes),
      .max = MAX_FILE_BYTES,
      .normal = "4M",
      .about = "The most bytes of these images together." },
    { .name = "blob-url",
      .type = SETTING_TEXT,
      .offset = AT(result.blob_url),
      .normal = "",
      .normally = "links stay as the model writes them",
      .value = "URL",
      .check = links_check,
      .about = "The address of an image or file in an answer: "
               "https://files.example/{blob}/{name}" },

    { .name = "executor",
      .group = "Python",
      .type = SETTING_TEXT,
      .offset = AT(executor),
      .normal = "/run/quern/executor.sock",
      .value = "SOCKET",
      .about = "The unix socket of quern-executor; none: this consumer has no "
               "Python, and jobs that need it fail." },
    { .name = "away-time",
      .type = SETTING_TIME,
      .offset = AT(retry.away_ms),
      .min = 100,
      .max = HOUR_MS,
      .normal = "5s",
      .about = "When the executor has been away for this time, jobs that need "
               "it go back to their queues." },
    { .name = "cell-time",
      .type = SETTING_TIME,
      .offset = AT(limits.cell_ms),
      .min = 10,
      .max = MAX_CELL_MS,
      .normal = "1m",
      .about = "How long one cell may run, if the job does not say." },
    { .name = "memory",
      .type = SETTING_SIZE,
      .offset = AT(limits.memory_bytes),
      .max = TIB,
      .normal = "0",
      .about = "Memory of a session, if the job does not say; 0: the "
               "executor's limit." },
    { .name = "save-sessions",
      .type = SETTING_SWITCH,
      .offset = AT(session.save),
      .normal = "on",
      .about = "Named sessions outlive their host: their variables and files "
               "are saved after each job." },
    { .name = "session-ttl",
      .type = SETTING_TIME,
      .offset = AT(session.ttl_ms),
      .min = 1000,
      .max = YEAR_MS,
      .normal = "7d",
      .about = "How long a session is kept after its last job." },
    { .name = "session-size",
      .type = SETTING_SIZE,
      .offset = AT(session.bytes),
      .max = TIB,
      .normal = "128M",
      .about = "The most bytes of a session's files that are saved." },
    { .name = "history-size",
      .type = SETTING_SIZE,
      .offset = AT(session.history_bytes),
      .max = MAX_HISTORY_BYTES / 2,
      .normal = "64K",
      .about = "The most bytes of a session's conversation that its next job "
               "is shown; 0: none." },

    { .name = "tools",
      .group = "Tools",
      .type = SETTING_TEXT,
      .offset = AT(tools.file),
      .normal = "",
      .value = "FILE",
      .about = "A JSON file of HTTP requests and MCP servers that models and "
               "code may call, as consumer/TOOLS.md has it." },
    { .name = "tools-builtin",
      .type = SETTING_LIST,
      .offset = AT(tools.builtin),
      .normal = "",
      .about = "Tools that come with quern: search_web, fetch_url, "
               "calculate_math_expression." },
    { .name = "approve",
      .type = SETTING_LIST,
      .offset = AT(approval.tools),
      .normal = "",
      .about = "Tools that a model calls only when a person approves; "
               "execute_python_code is one." },
    { .name = "approval-time",
      .type = SETTING_TIME,
      .offset = AT(approval.ms),
      .min = 1000,
      .max = MAX_DEADLINE_MS,
      .normal = "7d",
      .about = "How long a job waits for an approval." },
    { .name = "approval-default",
      .type = SETTING_TEXT,
      .offset = AT(approval.otherwise),
      .choices = approval_defaults,
      .normal = "abort",
      .value = "WORD",
      .about = "What happens when nobody has decided by then: abort the job, "
               "or skip the call." },
    { .name = "fetch-allow",
      .type = SETTING_LIST,
      .offset = AT(tools.fetch_allow),
      .normal = "",
      .value = "HOST,...",
      .about = "Hosts, addresses and networks that fetch_url may reach "
               "although they are not public." },
    { .name = "fetch-deny",
      .type = SETTING_LIST,
      .offset = AT(tools.fetch_deny),
      .normal = "",
      .value = "HOST,...",
      .about = "Hosts, addresses and networks that fetch_url may not reach." },
    { .name = "search",
      .type = SETTING_LIST,
      .offset = AT(search.providers),
      .normal = "",
      .normally = "all that have what they need",
      .about = "The providers that search_web asks, in this order: tavily, "
               "bocha, brave, searxng, duckduckgo; or off." },
    { .name = "tavily-key",
      .variable = "TAVILY_API_KEY",
      .type = SETTING_SECRET,
      .offset = AT(search.tavily_key),
      .normal = "",
      .about = "The key of Tavily." },
    { .name = "bocha-key",
      .variable = "BOCHA_API_KEY",
      .type = SETTING_SECRET,
      .offset = AT(search.bocha_key),
      .normal = "",
      .about = "The key of Bocha." },
    { .name = "brave-key",
      .variable = "BRAVE_API_KEY",
      .type = SETTING_SECRET,
      .offset = AT(search.brave_key),
      .normal = "",
      .about = "The key of Brave." },
    { .name = "searxng-url",
      .variable = "SEARXNG_URL",
      .type = SETTING_TEXT,
      .offset = AT(search.searxng_url),
      .normal = "",
      .value = "URL",
      .about = "The URL of your SearXNG." },
    { .name = "tavily-url",
      .variable = "TAVILY_BASE_URL",
      .type = SETTING_TEXT,
      .offset = AT(search.tavily_url),
      .normal = "https://api.tavily.com",
      .value = "URL",
      .about = "Where Tavily is." },
    { .name = "bocha-url",
      .variable = "BOCHA_BASE_URL",
      .type = SETTING_TEXT,
      .offset = AT(search.bocha_url),
      .normal = "https://api.bochaai.com",
      .value = "URL",
      .about = "Where Bocha is." },
    { .name = "brave-url",
      .variable = "BRAVE_BASE_URL",
      .type = SETTING_TEXT,
      .offset = AT(search.brave_url),
      .normal = "https://api.search.brave.com",
      .value = "URL",
      .about = "Where Brave is." },
    { .name = "duckduckgo-url",
      .variable = "DUCKDUCKGO_BASE_URL",
      .type = SETTING_TEXT,
      .offset = AT(search.duckduckgo_url),
      .normal = "https://html.duckduckgo.com",
      .value = "URL",
      .about = "Where DuckDuckGo's page is." },
    { .name = "search-cache-time",
      .type = SETTING_TIME,
      .offset = AT(search.cache_ms),
      .max = YEAR_MS,
      .normal = "1d",
      .about = "How long results of a search are cached." },
    { .name = "search-cache-size",
      .type = SETTING_SIZE,
      .offset = AT(search.cache_bytes),
      .max = UINT64_C(1) << 30,
      .normal = "4M",
      .about = "The most bytes of cached results; 0: none." },
};

const struct setting_table settings_table = {
    .program = "quern-consumer",
    .about = "Takes jobs from Redis, and moves each through its model and the "
             "executor to its result.",
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .details =
        "TERM drains: no more jobs, and those that run may go on for --drain. "
        "A second TERM ends at once. TSTP takes no more jobs, HUP reads "
        "--models again, USR1 logs the state.\n"
        "Exit status: 0 after a drain, 3 when operators have drained this "
        "consumer, 64 when a setting is wrong, 69 when Redis refuses it.\n",
    .examples =
        "  quern-consumer --redis-url unix:///run/redis.sock --slots 500\n"
        "  QUERN_LEASE=10s QUERN_MEMORY=512M quern-consumer --config "
        "/etc/quern/consumer.conf\n"
        "  quern-consumer --document sample > consumer.conf\n",
};
