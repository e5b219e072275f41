/* approval_rule.c - which calls need a person's approval, and how long to wait.
 */
#include "consumer/conversation/approval_rule.h"

#include <ctype.h>
#include <string.h>

#include "consumer/conversation/tools.h"
#include "schemas/message/limits.h"

static bool is_named(const struct job *job, struct view name)
{
    const struct view *names = job->approve.items;
    for (size_t i = 0; i < job->approve.count; i++)
        if (view_equal(names[i], name))
            return true;
    return false;
}

bool approval_rule_of_tool(const struct job *job, const struct tool *tool)
{
    return tool->approve || is_named(job, view_of(tool->name));
}

static bool is_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || (byte & 0x80);
}

/* The code has the tool's name as a word, as code writes it: search_web for
 * search-web. That may be in a comment or a text: then a person is asked once
 * too often, which is the safe mistake. */
static bool code_names(struct view code, const char *tool)
{
    char name[MAX_NAME_BYTES + 1];
    size_t len = (size_t)snprintf(name, sizeof(name), "%s", tool);
    for (char *dash; (dash = strchr(name, '-'));)
        *dash = '_';
    const char *end = code.data + code.len;
    for (const char *at = code.data; at && at < end; at++) {
        at = memmem(at, (size_t)(end - at), name, len);
        if (!at)
            return false;
        if ((at == code.data || !is_word(at[-1])) &&
            (at + len == end || !is_word(at[len])))
            return true;
    }
    return false;
}

/* Only tools that the job may use count: code cannot call others. */
bool approval_rule_of_code(const struct terms *terms, const struct job *job,
                           struct view code)
{
    const struct catalog *catalog = terms->catalog;
    struct err err;
    if (job->kind != JOB_CONVERSATION)
        return false;
    if (terms->approves_code || is_named(job, VIEW(TOOL_PYTHON)))
        return true;
    for (size_t i = 0; i < catalog->count; i++)
        if (approval_rule_of_tool(job, catalog->items[i]) &&
            terms_tool(terms, job, view_of(catalog->items[i]->name), &err) &&
            code_names(code, catalog->items[i]->name))
            return true;
    return false;
}

uint64_t approval_rule_ms(const struct terms *terms, const struct job *job)
{
    return terms_least(job->approval_ms, terms->approval_ms);
}

struct view approval_rule_default(const struct terms *terms,
                                  const struct job *job)
{
    int own = job->approval_default;
    return view_of(own == APPROVAL_UNSAID ? terms->approval_default
                                          : approval_default_names[own]);
}
