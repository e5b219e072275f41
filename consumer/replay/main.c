/* main.c - quern-replay: replays recordings, and shows the first difference.
 *
 *   quern-replay [--json] [--prompts FOLDER] FILE...     -: standard input
 *
 * Exit status: 0 all are equal, 1 one differs, 64 or 65 one cannot be replayed.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "consumer/replay/replay.h"
#include "consumer/replay/show.h"
#include "schemas/message/glyph.h"
#include "schemas/message/id.h"
#include "schemas/message/limits.h"

enum { DIFFERS = 1, MAX_SHOWN_BYTES = 64 << 20 };

struct arguments {
    bool json;
    const char *prompts;
};

/* ---------------------------------------------------------------- reading
 */

static bool replay_read_file(const char *path, struct buf *text,
                             struct err *err)
{
    bool is_input = strcmp(path, "-") == 0;
    FILE *file = is_input ? stdin : fopen(path, "re");
    char piece[65536];
    size_t got;
    if (!file)
        return err_set(err, ERR_REJECT, "bad_setting", "%s", strerror(errno));
    while ((got = fread(piece, 1, sizeof(piece), file)) > 0)
        buf_append(text, piece, got);
    bool whole = ferror(file) == 0;
    if (!is_input)
        fclose(file);
    if (!whole)
        return err_set(err, ERR_REJECT, "bad_setting", "it cannot be read");
    return buf_ok(text) || err_set(err, ERR_REJECT, "too_large",
                                   "it is larger than %zu bytes", text->max);
}

/* ---------------------------------------------------------------- telling
 */

static void diff_of(const struct replay_outcome *outcome, struct buf *out)
{
    CLEANUP(buf_finish) struct buf before, after;
    buf_init(&before, MAX_SHOWN_BYTES);
    buf_init(&after, MAX_SHOWN_BYTES);
    show_json(&before, outcome->recorded);
    show_json(&after, outcome->replayed);
    buf_init(out, 2 * (size_t)MAX_SHOWN_BYTES);
    show_diff(out, buf_view(&before), buf_view(&after));
}

static json_t *difference_of(const struct replay_outcome *outcome)
{
    CLEANUP(buf_finish) struct buf diff;
    diff_of(outcome, &diff);
    return json_pack("{s:I, s:I, s:s, s:o, s:O, s:O, s:o}", "step",
                     (json_int_t)outcome->steps + 1, "turn",
                     (json_int_t)outcome->turn, "what", outcome->what, "call",
                     replay_text(view_of(outcome->call)), "recorded",
                     outcome->recorded, "replayed", outcome->replayed, "diff",
                     replay_text(buf_view(&diff)));
}

/* On a terminal, characters that it would act on or not show are escaped, as in
 * \u202e: the JSON value is the same. */
static void put_json(FILE *file, const json_t *json)
{
    CLEANUP(cleanup_free) char *text = json_dumps(json, JSON_COMPACT);
    CLEANUP(buf_finish) struct buf line;
    buf_init(&line, !text ? 1 : 6 * strlen(text) + 1);
    if (text && isatty(fileno(file)) == 1)
        glyph_add_json(&line, view_of(text));
    else if (text)
        buf_add(&line, view_of(text));
    buf_add(&line, VIEW("\n"));
    fwrite(line.data, 1, line.len, file);
}

static void tell_json(const char *job, const struct replay_outcome *outcome)
{
    json_t *json = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:b}", "job", job, "steps",
        (json_int_t)outcome->steps, "requests", (json_int_t)outcome->requests,
        "hidden_requests", (json_int_t)outcome->hidden, "bare_requests",
        (json_int_t)outcome->bare, "equal", !outcome->differs);
    if (outcome->differs)
        json_object_set_new(json, "first_difference", difference_of(outcome));
    put_json(stdout, json);
    json_decref(json);
}

static void tell_people(const char *job, const struct replay_outcome *outcome)
{
    if (!outcome->differs) {
        printf("%s: equal in %zu step%s, %zu request%s to a model among them",
               job, outcome->steps, outcome->steps == 1 ? "" : "s",
               outcome->requests, outcome->requests == 1 ? "" : "s");
        if (outcome->hidden > 0)
            printf("; of %zu the bytes cannot be compared: a parameter is "
                   "secret",
                   outcome->hidden);
        if (outcome->bare > 0)
            printf("; of %zu the bytes cannot be compared: a picture, or what "
                   "was said before, is not in the recording",
                   outcome->bare);
        putchar('\n');
        return;
    }
    CLEANUP(buf_finish) struct buf call, diff;
    buf_init(&call, GLYPH_BYTES * sizeof(outcome->call));
    glyph_add(&call, view_of(outcome->call), READ_NAME);
    printf("%s: step %zu, %s of turn %llu%s%.*s, differs\n", job,
           outcome->steps + 1, outcome->what, (unsigned long long)outcome->turn,
           call.len > 0 ? ", call " : "", VIEW_ARG(buf_view(&call)));
    diff_of(outcome, &diff);
    fwrite(diff.data, 1, diff.len, stdout);
}

static void tell_failure(const struct arguments *arguments, const char *path,
                         const struct err *err)
{
    if (!arguments->json) {
        CLEANUP(buf_finish) struct buf text;
        buf_init(&text, MAX_SHOWN_BYTES);
        glyph_add(&text, view_of(err->text), READ_CODE);
        fprintf(stderr, "quern-replay: %s: %.*s\n", path, (int)text.len,
                text.data);
        return;
    }
    json_t *json =
        json_pack("{s:s, s:{s:s, s:o}}", "file", path, "error", "code",
                  err->code, "message", replay_text(view_of(err->text)));
    put_json(stderr, json);
    json_decref(json);
}

static int replay_file(const struct arguments *arguments, const char *path)
{
    CLEANUP(buf_finish) struct buf text = { .max = MAX_RECORDING_BYTES };
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(outcome_finish) struct replay_outcome outcome = { 0 };
    struct recording recording;
    struct err err;
    char job[ID_LEN + 1];
    if (!replay_read_file(path, &text, &err) ||
        !recording_read(&recording, buf_view(&text), &arena, &err) ||
        !replay_run(&recording, arguments->prompts, &outcome, &err)) {
        tell_failure(arguments, path, &err);
        return strcmp(err.code, "bad_setting") == 0 ? EX_USAGE : EX_DATAERR;
    }
    snprintf(job, sizeof(job), "%.*s", VIEW_ARG(recording.id));
    if (arguments->json)
        tell_json(job, &outcome);
    else
        tell_people(job, &outcome);
    return outcome.differs ? DIFFERS : EX_OK;
}

/* ------------------------------------------------------------------- main */

static int usage(FILE *out, int code)
{
    fprintf(out,
            "quern-replay: does recorded jobs again, and shows where one "
            "differs first\n\n"
            "  quern-replay [--json] [--prompts FOLDER] FILE...\n\n"
            "FILE - is standard input. quern replay JOB --save FILE makes a "
            "recording.\n");
    return code;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "json", no_argument, NULL, 'j' },
        { "prompts", required_argument, NULL, 'p' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'v' },
        { 0 },
    };
    struct arguments arguments = { .prompts = getenv("QUERN_PROMPTS") };
    int worst = EX_OK;
    for (int flag; (flag = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (flag == 'h')
            return usage(stdout, EX_OK);
        if (flag == 'v')
            return printf("quern-replay %s\n", QUERN_VERSION) < 0;
        if (flag == '?')
            return usage(stderr, EX_USAGE);
        arguments.json |= flag == 'j';
        if (flag == 'p')
            arguments.prompts = optarg;
    }
    if (arguments.prompts && *arguments.prompts == '\0')
        arguments.prompts = NULL;
    if (optind == argc)
        return usage(stderr, EX_USAGE);
    for (int i = optind; i < argc; i++) {
        int code = replay_file(&arguments, argv[i]);
        worst = code > worst ? code : worst;
    }
    if (fflush(stdout) != 0)
        return EX_IOERR;
    return worst;
}
