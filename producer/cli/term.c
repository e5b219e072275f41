/* term.c - writes text for people, harmless on a terminal. */
#include "producer/cli/term.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const char *const codes[] = {
    [PLAIN] = "",        [BOLD] = "\033[1m",   [DIM] = "\033[2m",
    [RED] = "\033[31m",  [GREEN] = "\033[32m", [YELLOW] = "\033[33m",
    [CYAN] = "\033[36m",
};

static void pane_init(struct pane *pane, FILE *file)
{
    const char *name = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");

    *pane = (struct pane){ .file = file, .tty = isatty(fileno(file)) == 1 };
    pane->colour = pane->tty && !(no_color && *no_color) && name &&
                   strcmp(name, "dumb") != 0;
}

void term_init(struct term *term, bool json)
{
    setlocale(LC_CTYPE, "");
    pane_init(&term->out, stdout);
    pane_init(&term->err, stderr);
    term->bar = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "│ " : "| ";
    term->json = json;
}

static void pane_begin(struct pane *pane, enum style style)
{
    if (pane->colour && style != PLAIN)
        fputs(codes[style], pane->file);
}

static void pane_end(struct pane *pane, enum style style)
{
    if (pane->colour && style != PLAIN)
        fputs("\033[0m", pane->file);
    fflush(pane->file);
}

/* The number of a hidden character is printed inverted: the same text, written
 * by a model, would look alike otherwise. */
static void put_number(struct pane *pane, enum style style, const char *number)
{
    if (pane->colour && *number)
        fputs("\033[7m", pane->file);
    fputs(number, pane->file);
    if (pane->colour && *number)
        fputs("\033[0m", pane->file);
    pane_begin(pane, style);
}

static void pane_put(struct pane *pane, enum style style,
                     enum glyph_use reading, struct view text)
{
    if (text.len == 0)
        return;
    pane->mid_line = text.data[text.len - 1] != '\n';
    while (pane->tty && text.len > 0) {
        size_t len = glyph_run(text, reading, &pane->before);
        char number[GLYPH_BYTES];

        fwrite(text.data, 1, len, pane->file);
        text = (struct view){ text.data + len, text.len - len };
        if (text.len == 0)
            return;
        len = glyph_show(text, reading, number);
        put_number(pane, style, number);
        text = (struct view){ text.data + len, text.len - len };
    }
    fwrite(text.data, 1, text.len, pane->file);
}

static void term_say(struct pane *pane, enum style style,
                     enum glyph_use reading, struct view text)
{
    pane_begin(pane, style);
    pane_put(pane, style, reading, text);
    pane_end(pane, style);
}

void pane_name(struct pane *pane, enum style style, struct view text)
{
    pane->before = 0;
    term_say(pane, style, READ_NAME, text);
}

void pane_text(struct pane *pane, enum style style, struct view text)
{
    pane->before = 0;
    term_say(pane, style, READ_CODE, text);
}

void pane_prose(struct pane *pane, enum style style, struct view text)
{
    term_say(pane, style, READ_PROSE, text);
}

void pane_printf(struct pane *pane, enum style style, const char *format, ...)
{
    CLEANUP(cleanup_free) char *text = NULL;
    va_list args;
    int len;

    va_start(args, format);
    len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0)
        abort();
    pane_text(pane, style, (struct view){ text, (size_t)len });
}

void pane_redraw(struct pane *pane)
{
    fputs("\r\033[K", pane->file);
    fflush(pane->file);
    pane->mid_line = false;
}

void pane_quote(struct pane *pane, enum style style, const char *bar,
                enum glyph_use reading, struct view text)
{
    while (text.len > 0) {
        const char *newline = memchr(text.data, '\n', text.len);
        size_t len = newline ? (size_t)(newline - text.data) + 1 : text.len;

        if (!pane->mid_line) {
            pane_begin(pane, DIM);
            fputs(bar, pane->file);
            pane_end(pane, DIM);
        }
        term_say(pane, style, reading, (struct view){ text.data, len });
        text.data += len;
        text.len -= len;
    }
}

void pane_line(struct pane *pane)
{
    if (pane->mid_line)
        fputc('\n', pane->file);
    pane->mid_line = false;
    pane->before = 0;
    fflush(pane->file);
}

struct pane *term_notice(struct term *term)
{
    if (term->out.tty)
        pane_line(&term->out);
    pane_line(&term->err);
    return &term->err;
}

/* Room for a text, used again after four calls. */
static char *scratch(void)
{
    static char texts[4][32];
    static unsigned int at;

    return texts[at++ % 4];
}

const char *term_size(uint64_t bytes)
{
    char *text = scratch();

    if (bytes < 1024)
        snprintf(text, 32, "%u B", (unsigned int)bytes);
    else if (bytes < 1 << 20)
        snprintf(text, 32, "%.1f KiB", (double)bytes / 1024);
    else
        snprintf(text, 32, "%.1f MiB", (double)bytes / (1 << 20));
    return text;
}

const char *term_time(uint64_t ms)
{
    char *text = scratch();

    if (ms < 1000)
        snprintf(text, 32, "%u ms", (unsigned int)ms);
    else if (ms < 60000)
        snprintf(text, 32, "%.1f s", (double)ms / 1000);
    else
        snprintf(text, 32, "%u min %u s", (unsigned int)(ms / 60000),
                 (unsigned int)(ms / 1000 % 60));
    return text;
}

/* Two decimal places at least, six at most. */
const char *term_cost(uint64_t micro)
{
    char *text = scratch();
    int len = snprintf(text, 32, "$%llu.%06llu",
                       (unsigned long long)(micro / 1000000),
                       (unsigned long long)(micro % 1000000));

    for (int zeros = 0; zeros < 4 && text[len - 1] == '0'; zeros++)
        text[--len] = '\0';
    return text;
}

/* In one unit, rounded down: nobody needs "5 days 3 h" in a table. */
const char *term_age(uint64_t ms)
{
    static const struct {
        uint64_t ms;
        const char *one, *many;
    } units[] = {
        { 86400000, "day", "days" },
        { 3600000, "hour", "hours" },
        { 60000, "min", "min" },
        { 1000, "s", "s" },
    };
    enum { UNITS = sizeof(units) / sizeof(units[0]) };
    char *text = scratch();
    size_t i = 0;

    while (i < UNITS - 1 && ms < units[i].ms)
        i++;

    unsigned int count = (unsigned int)(ms / units[i].ms);

    snprintf(text, 32, "%u %s", count,
             count == 1 ? units[i].one : units[i].many);
    return text;
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

const char *term_since(uint64_t ms)
{
    uint64_t now = now_ms();

    return term_age(now > ms ? now - ms : 0);
}

const char *term_until(uint64_t ms)
{
    uint64_t now = now_ms();

    return term_age(ms > now ? ms - now : 0);
}

size_t pane_width(const struct pane *pane)
{
    struct winsize size = { 0 };

    if (!pane->tty)
        return 0;
    return ioctl(fileno(pane->file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0
               ? size.ws_col
               : 80;
}

void term_json(FILE *file, const char *json)
{
    CLEANUP(buf_finish) struct buf line;

    buf_init(&line, 6 * strlen(json) + 1);
    if (isatty(fileno(file)) == 1)
        glyph_add_json(&line, view_of(json));
    else
        buf_add(&line, view_of(json));
    buf_append(&line, "\n", 1);
    fwrite(line.data, 1, line.len, file);
    fflush(file);
}
