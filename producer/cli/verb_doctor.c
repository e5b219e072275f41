/* verb_doctor.c - quern doctor: every finding with what to do about it. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "producer/cli/doctor.h"
#include "producer/cli/show.h"

/* One a line. */
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
    show_remedies(out, remedy);
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
    address_set_sentinel_password(&doctor->address,
                                  getenv("QUERN_SENTINEL_PASSWORD"));
    doctor->conn =
        conn_new(&doctor->address, names_slot(&doctor->names, 0), "doctor");
    return true;
}

int verb_doctor(struct app *app)
{
    static bool (*const redis_checks[])(struct doctor *) = {
        check_redis, check_server,  check_login,
        check_clock, check_library, check_consumers,
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
