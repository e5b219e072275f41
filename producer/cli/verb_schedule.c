/* verb_schedule.c - quern schedule ls, add, show, pause, resume, run, rm. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer/cli/progress.h"
#include "producer/cli/show.h"
#include "producer/cli/submission.h"
#include "producer/cli/table.h"
#include "producer/client/quern_operate.h"
#include "schemas/json/convert.h"
#include "schemas/message/buf.h"
#include "schemas/message/zone.h"

enum { PREVIEW = 5 }; /* next times that are shown */

/* The time as the zone's clock shows it, with its offset: "2026-11-22 06:30
 * +01:00"; with seconds when there are some. */
static void print_time(char *text, size_t size, const char *zone_name,
                       uint64_t ms)
{
    struct zone *zone = zone_open(view_of(zone_name), NULL);
    int64_t at = (int64_t)(ms / 1000);
    int64_t offset = zone ? zone_at(zone, at).offset : 0;
    int64_t local = at + offset;
    int64_t apart = (offset < 0 ? -offset : offset) / 60;
    int64_t day = floor_div(local, 86400);
    int rest = (int)(local - day * 86400);
    struct date date = date_of_day(day);
    int len =
        snprintf(text, size, "%04" PRId64 "-%02d-%02d %02d:%02d", date.year,
                 date.month, date.day, rest / 3600, rest / 60 % 60);

    if (rest % 60)
        len += snprintf(text + len, size - (size_t)len, ":%02d", rest % 60);
    snprintf(text + len, size - (size_t)len, " %c%02" PRId64 ":%02" PRId64,
             offset < 0 ? '-' : '+', apart / 60, apart % 60);
    zone_free(zone);
}

/* "3 hours"; of what is due "now". */
static const char *time_until(uint64_t at, uint64_t now)
{
    return at > now ? term_age(at - now) : "now";
}

static void schedule_add_row(struct table *table,
                             const struct quern_schedule *schedule,
                             uint64_t now)
{
    char next[40] = "never";

    if (schedule->paused)
        snprintf(next, sizeof(next), "paused");
    else if (schedule->next_at > 0)
        print_time(next, sizeof(next), schedule->zone, schedule->next_at);
    table_add(table,
              (const char *[]){
                  schedule->name, schedule->spec, next, schedule->zone,
                  schedule->next_at > 0 && !schedule->paused
                      ? time_until(schedule->next_at, now)
                      : "-",
                  schedule->last_at > 0 ? term_since(schedule->last_at) : "-",
                  schedule->paused     ? "paused"
                  : *schedule->refused ? "refused"
                                       : "" });
}

int verb_schedule_ls(struct app *app)
{
    static const struct column columns[] = {
        { .title = "NAME", .cut = true },
        { .title = "SCHEDULE", .cut = true },
        { .title = "NEXT" },
        { .title = "ZONE", .cut = true },
        { .title = "IN", .right = true },
        { .title = "LAST", .right = true },
        { .title = "STATE", .cut = true },
    };
    struct quern_schedules schedules;
    struct quern_error error;
    struct table *table;

    if (!quern_schedules(app->quern, &schedules, &error))
        return app_fail(app, &error);
    table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < schedules.count; i++)
        if (app->term.json)
            json_line(operate_schedule_json(&schedules.items[i]));
        else
            schedule_add_row(table, &schedules.items[i], schedules.now);
    if (!app->term.json && schedules.count > 0)
        table_print(table, &app->term.out, pane_width(&app->term.out));
    else if (!app->term.json)
        pane_printf(&app->term.err, DIM, "there are no schedules\n");
    table_free(table);
    free(schedules.items);
    return EXIT_DONE;
}

/* Prints the next times after that one, a line each. */
static bool preview(struct app *app, const char *spec, const char *zone,
                    uint64_t after, struct quern_error *error)
{
    for (int i = 0; i < PREVIEW; i++) {
        char text[40];

        if (!quern_schedule_next(spec, zone, after, &after, error))
            return false;
        if (after == 0)
            break;
        print_time(text, sizeof(text), zone ? zone : "UTC", after);
        if (app->term.json)
            json_line(json_pack("{s:I, s:s}", "at", (json_int_t)after, "local",
                                text));
        else
            pane_printf(&app->term.out, PLAIN, "%-10s %s  %s\n",
                        i == 0 ? "next" : "", text, zone ? zone : "UTC");
    }
    return true;
}

static uint64_t host_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool add_schedule(struct app *app, struct quern_error *error)
{
    const struct options *options = &app->options;
    const char *name = options->words[0], *spec = options->words[1];
    CLEANUP(submission_finish) struct submission submission = { 0 };
    struct err err = { 0 };

    if (!submission_read(&submission, options, options->words[2], NULL, &err))
        return error_of(error, &err);

    bool ok = quern_schedule_set(app->quern, name, spec, options->schedule.zone,
                                 submission.text, &submission.options, error);

    submission_note(&submission, app);
    return ok;
}

/* Whether the schedule is paused: it keeps the state of the one that it
 * replaced. */
static bool is_paused(struct app *app, const char *name)
{
    struct quern_schedules schedules;
    struct quern_error error;
    bool paused = false;

    if (!quern_schedules(app->quern, &schedules, &error))
        return false;
    for (size_t i = 0; i < schedules.count; i++)
        if (strcmp(schedules.items[i].name, name) == 0)
            paused = schedules.items[i].paused;
    free(schedules.items);
    return paused;
}

/* JSON has the times alone. */
static void say_added(struct app *app)
{
    const char *name = app->options.words[0];

    if (app->term.json)
        return;
    pane_printf(&app->term.out, PLAIN, "%s %s\n", name,
                app->options.change.dry_run ? "would be added" : "added");
    if (is_paused(app, name))
        pane_printf(&app->term.err, YELLOW,
                    "%s is paused: quern schedule resume %s\n", name, name);
}

int verb_schedule_add(struct app *app)
{
    const struct options *options = &app->options;
    struct quern_error error = { 0 };
    uint64_t next;

    if (!quern_schedule_next(options->words[1], options->schedule.zone,
                             host_now(), &next, &error) ||
        (!options->change.dry_run && !add_schedule(app, &error)))
        return app_fail(app, &error);
    say_added(app);
    if (!preview(app, options->words[1], options->schedule.zone, host_now(),
                 &error))
        return app_fail(app, &error);
    return EXIT_DONE;
}

static void schedule_say(struct pane *out, const char *what, const char *text)
{
    if (!*text)
        return;
    pane_printf(out, BOLD, "%-10s ", what);
    pane_text(out, PLAIN, view_of(text));
    pane_printf(out, PLAIN, "\n");
}

/* Reads a number of so many digits, which must follow the character before (0:
 * none), and moves *at behind it. */
static bool schedule_take_number(const char **at, char before, int digits,
                                 int *number)
{
    *number = 0;
    if (before && *(*at)++ != before)
        return false;
    for (int i = 0; i < digits; i++, ++*at) {
        if (**at < '0' || **at > '9')
            return false;
        *number = *number * 10 + (**at - '0');
    }
    return true;
}

/* "+01:00" or "Z". False: it is neither. */
static bool read_offset(const char *text, int64_t *offset)
{
    const char *at = text + 1;
    int hours, minutes;

    *offset = 0;
    if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0)
        return true;
    if ((*text != '+' && *text != '-') ||
        !schedule_take_number(&at, 0, 2, &hours) ||
        !schedule_take_number(&at, ':', 2, &minutes) || *at || hours > 14 ||
        minutes > 59)
        return false;
    *offset = ((int64_t)hours * 60 + minutes) * 60;
    if (*text == '-')
        *offset = -*offset;
    return true;
}

/* Reads "2026-11-22" with an optional " 06:30" or "T06:30:15": seconds since
 * 1970 as if the clock were UTC; moves *at behind it. */
static bool read_local(const char **at, int64_t *local)
{
    int year, month, day, hour = 0, minute = 0, second = 0;

    if (!schedule_take_number(at, 0, 4, &year) ||
        !schedule_take_number(at, '-', 2, &month) ||
        !schedule_take_number(at, '-', 2, &day) || year < 1970 || month < 1 ||
        month > 12 || day < 1 || day > 31)
        return false;
    if ((**at == ' ' || **at == 'T') &&
        (!schedule_take_number(at, **at, 2, &hour) ||
         !schedule_take_number(at, ':', 2, &minute)))
        return false;
    if (**at == ':' && !schedule_take_number(at, ':', 2, &second))
        return false;
    int64_t number = day_of_date((struct date){ year, month, day });
    *local = number * 86400 + ((int64_t)hour * 60 + minute) * 60 + second;
    /* February 30 would be a day of March. */
    return date_of_day(number).day == day && hour < 24 && minute < 60 &&
           second <= 60;
}

/* The time, in seconds since 1970 UTC, at which a clock of the zone shows
 * local. The offset depends on the time that is sought: the second round
 * corrects a first guess on the other side of a change of the clocks. */
static int64_t instant_of(const char *zone_name, int64_t local)
{
    struct zone *zone = zone_open(view_of(zone_name), NULL);
    int64_t at = local;

    for (int i = 0; zone && i < 2; i++)
        at = local - zone_at(zone, at).offset;
    zone_free(zone);
    return at;
}

/* "2026-11-22", "2026-11-22 06:30", "2026-11-22T06:30:15+01:00": in ms. */
static bool read_time(const char *text, const char *zone, uint64_t *ms,
                      struct quern_error *error)
{
    const char *rest = text;
    int64_t offset = 0, at;
    struct err err;
    bool right = read_local(&rest, &at);
    bool by_zone = right && *rest == '\0';

    if (!right || (!by_zone && !read_offset(rest, &offset))) {
        err_set(&err, ERR_REJECT, "bad_setting",
                "--from is \"%.40s\", must be a time such as \"2026-11-22 "
                "06:30\", with +01:00 or Z behind it for another clock",
                text);
        return error_of(error, &err);
    }
    at = by_zone ? instant_of(zone, at) : at - offset;
    *ms = at > 0 ? (uint64_t)at * 1000 : 0;
    return true;
}

static int show_schedule(struct app *app, const struct quern_schedule *schedule,
                         const void *bytes, size_t size)
{
    const char *from = app->options.schedule.from;
    uint64_t after = host_now();
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const msgpack_object *value;
    struct pane *out = &app->term.out;
    struct quern_error error;

    if (from && !read_time(from, schedule->zone, &after, &error))
        return app_fail(app, &error);
    json_t *job =
        value_decode((struct view){ bytes, size }, &value, &arena, NULL)
            ? json_from_value(value)
            : json_null();

    if (app->term.json) {
        json_t *object = operate_schedule_json(schedule);

        json_object_set_new(object, "job", job);
        json_line(object);
        if (from &&
            !preview(app, schedule->spec, schedule->zone, after, &error))
            return app_fail(app, &error);
        return EXIT_DONE;
    }
    schedule_say(out, "schedule", schedule->name);
    schedule_say(out, "goes off", schedule->spec);
    schedule_say(out, "last job", schedule->last_id);
    schedule_say(out, "refused", schedule->refused);
    schedule_say(out, "state",
                 schedule->paused ? "paused: quern schedule resume" : "");
    if (!preview(app, schedule->spec, schedule->zone, after, &error))
        app_fail(app, &error);
    char *text = json_dumps(job, JSON_INDENT(2) | JSON_ENCODE_ANY);

    pane_printf(out, BOLD, "job\n");
    pane_text(out, PLAIN, view_of(text ? text : "null"));
    pane_printf(out, PLAIN, "\n");
    free(text);
    json_decref(job);
    return EXIT_DONE;
}

int verb_schedule_show(struct app *app)
{
    const char *name = app->options.words[0];
    CLEANUP(cleanup_free) void *bytes = NULL;
    struct quern_schedules schedules;
    struct quern_error error;
    size_t size;
    int code = EXIT_DONE;

    if (!quern_schedule_job(app->quern, name, &bytes, &size, &error) ||
        !quern_schedules(app->quern, &schedules, &error))
        return app_fail(app, &error);
    for (size_t i = 0; i < schedules.count; i++)
        if (strcmp(schedules.items[i].name, name) == 0)
            code = show_schedule(app, &schedules.items[i], bytes, size);
    free(schedules.items);
    return code;
}

/* Checks all names before a person is asked to confirm: one may be misspelled.
 */
static bool all_are_there(struct app *app, struct quern_error *error)
{
    for (int i = 0; i < app->options.word_count; i++) {
        CLEANUP(cleanup_free) void *bytes = NULL;
        size_t size;

        if (!quern_schedule_job(app->quern, app->options.words[i], &bytes,
                                &size, error))
            return false;
    }
    return true;
}

static int pause_all(struct app *app, bool pause)
{
    const struct options *options = &app->options;
    struct quern_error error;

    if (!all_are_there(app, &error))
        return app_fail(app, &error);
    for (int i = 0; i < options->word_count; i++) {
        const char *name = options->words[i];

        if (!quern_schedule_pause(app->quern, name, pause, &error))
            return app_fail(app, &error);
        if (app->term.json)
            json_line(json_pack("{s:s, s:b}", "schedule", name, "paused",
                                (int)pause));
        else
            pane_printf(&app->term.out, PLAIN, "%s %s\n", name,
                        pause ? "paused" : "goes on");
    }
    return EXIT_DONE;
}

int verb_schedule_pause(struct app *app)
{
    return pause_all(app, true);
}

int verb_schedule_resume(struct app *app)
{
    return pause_all(app, false);
}

int verb_schedule_run(struct app *app)
{
    const char *name = app->options.words[0];
    struct quern_error error;
    struct quern_id id;

    if (!quern_schedule_run(app->quern, name, &id, &error))
        return app_fail(app, &error);
    if (app->term.json)
        json_line(json_pack("{s:s, s:s}", "schedule", name, "id", id.text));
    else
        pane_printf(&app->term.out, PLAIN, "%s\n", id.text);
    return EXIT_DONE;
}

int verb_schedule_rm(struct app *app)
{
    const struct options *options = &app->options;
    struct quern_error error;
    int code = EXIT_DONE;

    if (!all_are_there(app, &error))
        return app_fail(app, &error);
    if (!options->change.dry_run &&
        !app_confirm(app, &code, "Remove %d schedule%s?", options->word_count,
                     options->word_count == 1 ? "" : "s"))
        return code;
    for (int i = 0; i < options->word_count; i++) {
        const char *name = options->words[i];

        if (!options->change.dry_run &&
            !quern_schedule_remove(app->quern, name, &error))
            return app_fail(app, &error);
        if (app->term.json)
            json_line(json_pack("{s:s, s:s, s:b}", "schedule", name, "outcome",
                                "removed", "dry_run",
                                (int)options->change.dry_run));
        else
            pane_printf(&app->term.out, PLAIN, "%s %s\n", name,
                        options->change.dry_run ? "would be removed"
                                                : "removed");
    }
    return EXIT_DONE;
}
