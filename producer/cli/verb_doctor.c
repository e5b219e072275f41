/* verb_doctor.c - quern doctor: prints what the checks of doctor_table.c find,
 * and asks every server of the fleet. */
#include <assert.h>
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

static bool is_check(const char *name)
{
    for (size_t i = 0; i < doctor_check_count; i++)
        if (strcmp(doctor_checks[i].name, name) == 0)
            return true;
    return false;
}

void find(struct doctor *doctor, enum level level, const char *check,
          const char *remedy, const char *format, ...)
{
    static const struct {
        const char *word;
        enum style style;
    } levels[] = {
        [FINE] = { "ok", GREEN },     [NOTE] = { "note", CYAN },
        [UNSEEN] = { "unseen", DIM }, [WARNING] = { "warning", YELLOW },
        [FAULT] = { "fault", RED },
    };
    struct pane *out = &doctor->app->term.out;
    char text[512];
    int len = snprintf(text, sizeof(text), "%s%s", doctor->where,
                       *doctor->where ? ": " : "");
    va_list args;

    assert(is_check(check));
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
static void check_one(struct doctor *doctor, unsigned int partition)
{
    bool apart = doctor->address.kind == ADDRESS_CLUSTER;
    struct err err = { 0 };

    if (partition > 0 && !apart)
        return;
    doctor_turn(doctor, partition);
    CLEANUP(cleanup_answer) redisReply *pong = ASK(doctor, &err, "PING");
    if (pong && doctor_knows_server(doctor, partition))
        return;
    if (pong && apart)
        conn_print_server(doctor->conn, doctor->where, sizeof(doctor->where));
    doctor->refuses = false;
    doctor_run(doctor, PART_SERVER);
    *doctor->where = '\0';
}

/* Checks every server that holds jobs, then the fleet as a whole. */
void check_fleet(struct doctor *doctor)
{
    bool away = false;

    doctor_read_partitions(doctor);
    for (unsigned int p = 0; p < doctor->partitions; p++) {
        check_one(doctor, p);
        away = away || doctor->away;
        doctor->away = false;
    }
    if (away)
        return;
    doctor_turn(doctor, 0);
    doctor_run(doctor, PART_FLEET);
}

int verb_doctor(struct app *app)
{
    struct doctor doctor = { .app = app };
    struct err err = { 0 };
    int code = EXIT_DONE;

    if (doctor_open(&doctor, &err)) {
        doctor_run_parts(&doctor);
        if (doctor.worst == FAULT)
            code = EXIT_UNAVAILABLE;
    } else {
        code = app_fail_err(app, &err);
    }
    doctor_close(&doctor);
    return code;
}
