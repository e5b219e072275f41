/* settings.c - the table of what an operator may set in quern-deliverer. */
#include "producer/deliver/settings.h"

#include <stddef.h>
#include <string.h>

#include "schemas/redis/rows.h"
#include "schemas/service/log_row.h"
#include "schemas/service/reloader.h"

#define AT(member) offsetof(struct deliver_settings, member)

enum {
    HOUR_MS = 3600 * 1000,
    DAY_MS = 24 * HOUR_MS,
    /* Redis drops what is older than a week, see library/hooks.lua. */
    RETRIES_MOST_MS = 6 * DAY_MS,
};

bool deliver_retries_read(const char *text, struct deliver_retries *retries,
                          struct err *err)
{
    static const struct amount_range range = { .kind = AMOUNT_TIME,
                                               .min = 1,
                                               .max = DAY_MS };
    uint64_t sum = 0;

    *retries = (struct deliver_retries){ 0 };
    while (*text) {
        size_t len = strcspn(text, ",");
        char word[AMOUNT_BYTES];

        if (retries->count == DELIVER_MOST_RETRIES)
            return err_set(err, ERR_REJECT, "bad_setting",
                           "must be at most %d times", DELIVER_MOST_RETRIES);
        snprintf(word, sizeof(word), "%.*s", (int)len, text);
        if (!amount_read(&retries->ms[retries->count], &range, word, err))
            return err_prefix(err, "%s", word);
        sum += retries->ms[retries->count++];
        text += len + (text[len] == ',');
    }
    return sum <= RETRIES_MOST_MS ||
           err_set(err, ERR_REJECT, "bad_setting",
                   "must be at most 6d together, because older deliveries are "
                   "dropped");
}

static bool check_retries(const char *text, struct err *err)
{
    struct deliver_retries retries;

    return deliver_retries_read(text, &retries, err);
}

#define AT_TLS(member) AT(redis_tls.member)

static const struct setting rows[] = {
    REDIS_URL_ROW(AT(redis_url), .normal = "redis://127.0.0.1:6379"),
    REDIS_SENTINEL_PASSWORD_ROW(AT(sentinel_password)),
    REDIS_TLS_ROWS(AT_TLS),
    REDIS_PREFIX_ROW(AT(prefix)),
    { .name = "redis-timeout",
      .type = SETTING_TIME,
      .offset = AT(redis_ms),
      .min = 100,
      .max = HOUR_MS,
      .normal = "5s",
      .about = "If Redis does not answer a call for this time, the deliverer "
               "connects anew." },
    { .name = "poll",
      .type = SETTING_TIME,
      .offset = AT(poll_ms),
      .min = 10,
      .max = HOUR_MS,
      .normal = "1s",
      .is_reloaded = true,
      .about = "How often each partition is asked for deliveries that are "
               "due." },
    { .name = "hook-requests",
      .group = "Requests",
      .type = SETTING_NUMBER,
      .offset = AT(requests),
      .min = 1,
      .max = 1000,
      .normal = "256",
      .is_reloaded = true,
      .about = "Requests at the same time." },
    { .name = "hook-requests-each",
      .type = SETTING_NUMBER,
      .offset = AT(requests_per_hook),
      .min = 1,
      .max = 1000,
      .normal = "16",
      .is_reloaded = true,
      .about = "Of these to one webhook: a receiver that is slow keeps none "
               "from the others." },
    { .name = "hook-timeout",
      .type = SETTING_TIME,
      .offset = AT(timeout_ms),
      .min = 100,
      .max = UINT64_C(5) * 60 * 1000,
      .normal = "20s",
      .is_reloaded = true,
      .about = "A request that is not answered in this time has failed." },
    { .name = "hook-retries",
      .type = SETTING_LIST,
      .offset = AT(retries),
      .normal = "5s,5m,30m,2h,5h,10h,14h,20h,1d",
      .value = "TIME,...",
      .check = check_retries,
      .about = "How long after each failed request the next one is made; after "
               "the last one the delivery is given up." },
    { .name = "hook-plain-http",
      .type = SETTING_SWITCH,
      .offset = AT(plain_http),
      .normal = "off",
      .is_reloaded = true,
      .about = "Also to http: what is sent can be read on the way." },
    { .name = "hook-private",
      .type = SETTING_SWITCH,
      .offset = AT(private_addresses),
      .normal = "off",
      .is_reloaded = true,
      .about = "Also to addresses that are not of the public internet: whoever "
               "sets up webhooks can then reach this network." },
    { .name = "drain",
      .group = "Leaving",
      .type = SETTING_TIME,
      .offset = AT(drain_ms),
      .max = HOUR_MS,
      .normal = "25s",
      .is_reloaded = true,
      .about = "After TERM, requests may go on for this time." },
    LOG_LEVEL_ROW(AT(log_level)),
    RELOAD_ROW(AT(reload_ms)),
};

const struct setting_table deliver_settings_table = {
    .program = "quern-deliverer",
    .about = "Tells webhooks of the ends of jobs.",
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .size = sizeof(struct deliver_settings),
    .details =
        "TERM drains: no more deliveries are taken, and requests may go on for "
        "--drain. A second TERM ends at once; another deliverer then makes the "
        "deliveries again.\n"
        "Exit status: 0 after a drain, 64 when a setting is wrong, 69 when "
        "Redis refuses the deliverer.\n",
    .examples = "  quern-deliverer --hook-timeout 10s\n"
                "  quern-deliverer --document sample > deliverer.conf\n",
};
