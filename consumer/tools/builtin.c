/* builtin.c - tools of our own, which an operator switches on by name. */
#include "consumer/tools/builtin.h"

#include <string.h>

#include "consumer/tools/calculate.h"
#include "consumer/tools/fetch.h"
#include "consumer/tools/search.h"

static bool make_fetch(const struct consumer_settings *settings,
                       struct tool **tool, struct err *err)
{
    *tool = fetch_tool_new(settings->tools.fetch_allow,
                           settings->tools.fetch_deny, err);
    return *tool != NULL;
}

static bool make_calculate(const struct consumer_settings *settings,
                           struct tool **tool, struct err *err)
{
    (void)settings;
    (void)err;
    *tool = calculate_tool_new();
    return true;
}

static const struct {
    const char *name;
    /* *tool: NULL when the settings switch it off. False: they are wrong. */
    bool (*make)(const struct consumer_settings *settings, struct tool **tool,
                 struct err *err);
} known[] = {
    { "search_web", search_tool_new },
    { "fetch_url", make_fetch },
    { "calculate_math_expression", make_calculate },
};
enum { COUNT = sizeof(known) / sizeof(known[0]) };

static bool builtin_refuse(struct view name, struct err *err)
{
    CLEANUP(buf_finish) struct buf all;
    buf_init(&all, 256);
    for (size_t i = 0; i < COUNT; i++)
        buf_printf(&all, "%s%s", i > 0 ? ", " : "", known[i].name);
    return err_set(err, ERR_REJECT, "bad_setting",
                   "there is no tool \"%.*s\"; there are: %.*s",
                   VIEW_ARG(view_head(name, 64)), VIEW_ARG(buf_view(&all)));
}

static bool builtin_add(struct catalog *catalog, struct view name,
                        const struct consumer_settings *settings,
                        struct err *err)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (!view_is(name, known[i].name))
            continue;
        if (catalog_find(catalog, name))
            return true; /* named twice */
        struct tool *tool = NULL;
        return known[i].make(settings, &tool, err) &&
               (!tool || catalog_add(catalog, tool, err));
    }
    return builtin_refuse(name, err);
}

bool builtin_load(struct catalog *catalog,
                  const struct consumer_settings *settings, bool has_reader,
                  struct err *err)
{
    if (*settings->tools.builtin != '\0' && !has_reader)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "QUERN_TOOLS_BUILTIN: there is no quern-reader beside "
                       "this program, nor in libexec");
    for (const char *at = settings->tools.builtin; *at != '\0';) {
        size_t blank = strspn(at, ", \t\n");
        size_t len = strcspn(at + blank, ", \t\n");
        struct view name = { at + blank, len };
        if (len > 0 && !builtin_add(catalog, name, settings, err))
            return err_prefix(err, "QUERN_TOOLS_BUILTIN");
        at += blank + len;
    }
    return true;
}
