/* verb_doctor.c - quern doctor: runs the checks of doctor.h over every server
 * of the fleet and this host, and prints the findings. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "producer/cli/doctor.h"
#include "producer/cli/show.h"
#include "schemas/redis/slot.h"

static void show_remedies(struct pane *out, const char *remedy)
{
    while (remedy) {
        const char *end = strchrnul(remedy, '\n');

        pane_printf(out, PLAIN, "%19s", "-> ");
        pane_text(out, PLAIN, (struct view){ remedy, (size_t)(end - remedy) });
        pane_printf(out, PLAIN, "\n");
        remedy = *end ? end + 1 : NULL;
    }
}

void find(struct doctor *doctor, enum level level, const char *check,
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
    int len = snprintf(text, sizeof(text), "%s%s", doctor->where,
                       *doctor->where ? ": " : "");
    va_list args;

    va_start(args, format);
    vsnprintf(text + len, sizeof(text) - (size_t)len, format, args);
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
    show_remedies(out, remedy);
}

void doctor_turn(struct doctor *doctor, unsigned int partition)
{
    bool apart = doctor->address.kind == ADDRESS_CLUSTER;
    struct conn **conn = &doctor->conns[apart ? partition : 0];

    if (!*conn)
        *conn = conn_new(&doctor->address,
                         names_slot(&doctor->names, partition), "doctor");
    doctor->conn = *conn;
    doctor->partition = partition;
}

static bool doctor_open(struct doctor *doctor, struct err *err)
{
    const struct options *options = &doctor->app->options;
    const char *url =
        options->redis_url ? options->redis_url : getenv("REDIS_URL");
    const struct address_tls tls = address_tls_of_environment();

    if (!address_parse(&doctor->address, view_of(url), err) ||
        !address_set_tls(&doctor->address, &tls, err) ||
        !names_init(&doctor->names,
                    options->prefix ? options->prefix : "quern:", err) ||
        !durability_parse(&doctor->durability, view_of(options->durability),
                          err))
        return false;
    address_set_sentinel_password(&doctor->address,
                                  getenv("QUERN_SENTINEL_PASSWORD"));
    return true;
}

static void doctor_close(struct doctor *doctor)
{
    for (size_t i = 0; i < NAMES_MAX_PARTITIONS; i++)
        conn_free(doctor->conns[i]);
    address_finish(&doctor->address);
}

/* The number is not set before the fleet's first consumer: one is assumed. */
static void doctor_read_partitions(struct doctor *doctor)
{
    struct key key = names_fleet(&doctor->names);
    struct err err = { 0 };
    unsigned long count;

    doctor->conn =
        conn_new(&doctor->address, slot_of(key_view(&key)), "doctor");
    CLEANUP(cleanup_answer)
    redisReply *reply =
        ASK(doctor, &err, "HGET", key.text, NAMES_FLEET_PARTITIONS);
    conn_free(doctor->conn);
    count = reply && reply->type == REDIS_REPLY_STRING
                ? strtoul(reply->str, NULL, 10)
                : 1;
    doctor->partitions =
        count > 0 && count <= NAMES_MAX_PARTITIONS ? (unsigned int)count : 1;
}

/* Whether the server was checked before, for another partition. */
static bool doctor_knows_server(const struct doctor *doctor,
                                unsigned int partition)
{
    for (unsigned int p = 0; p < partition; p++)
        if (conn_is_at_one(doctor->conn, doctor->conns[p]))
            return true;
    return false;
}

/* Without a cluster one server has all partitions, and is checked once. In a
 * cluster several partitions may share a server: each server is checked for its
 * first one. */
static bool check_one(struct doctor *doctor, unsigned int partition)
{
    bool apart = doctor->address.kind == ADDRESS_CLUSTER;
    struct err err = { 0 };

    if (partition > 0 && !apart)
        return true;
    doctor_turn(doctor, partition);
    CLEANUP(cleanup_answer) redisReply *pong = ASK(doctor, &err, "PING");
    if (pong && doctor_knows_server(doctor, partition))
        return true;
    if (pong && apart)
        conn_print_server(doctor->conn, doctor->where, sizeof(doctor->where));
    doctor->refuses = false;
    bool there = check_redis(doctor);
    if (there) {
        check_server(doctor);
        check_writes(doctor);
        check_clock(doctor);
        check_library(doctor);
    }
    *doctor->where = '\0';
    return there;
}

/* Checks every server that holds jobs, then the fleet as a whole. */
static void check_fleet(struct doctor *doctor)
{
    bool there = true;

    doctor_read_partitions(doctor);
    for (unsigned int p = 0; p < doctor->partitions; p++)
        there = check_one(doctor, p) && there;
    if (!there)
        return;
    doctor_turn(doctor, 0);
    check_login(doctor);
    check_consumers(doctor);
    if (!doctor->bare) /* a handle would load the library */
        check_reports(doctor);
}

int verb_doctor(struct app *app)
{
    struct doctor doctor = { .app = app };
    struct err err = { 0 };
    int code = EXIT_DONE;

    if (!doctor_open(&doctor, &err)) {
        code = app_fail_err(app, &err);
    } else {
        check_fleet(&doctor);
        check_executor(&doctor);
        check_model(&doctor);
        if (doctor.worst == FAULT)
            code = EXIT_UNAVAILABLE;
    }
    doctor_close(&doctor);
    return code;
}
