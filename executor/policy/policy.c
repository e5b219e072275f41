/* policy.c - reads the lines of the lists in executor/policy.
 *
 * Strictly: a line that is misread would open a system call to hostile code, so
 * whatever is not understood fails the build. */
#include "executor/policy/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;
    int number;
} errors[] = {
    { "EACCES", EACCES },
    { "ENOSYS", ENOSYS },
    { "ENOTSUP", ENOTSUP },
    { "EPERM", EPERM },
};

/* Errno 0 would be a lie: the call would seem to have worked. */
static bool parse_action(const char *word, unsigned int *action)
{
    if (strcmp(word, "allow") == 0) {
        *action = SCMP_ACT_ALLOW;
        return true;
    }
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (strcmp(word, errors[i].word) == 0) {
            *action = SCMP_ACT_ERRNO((unsigned int)errors[i].number);
            return true;
        }
    return false;
}

/* Another word is the line's action: it holds anywhere. */
static enum policy_place parse_place(const char *word)
{
    if (strcmp(word, "offline") == 0)
        return POLICY_OFFLINE;
    return strcmp(word, "online") == 0 ? POLICY_ONLINE : POLICY_ANYWHERE;
}

static bool parse_number(const char *word, scmp_datum_t *number)
{
    char *end;
    if (!word || *word < '0' || *word > '9')
        return false;
    errno = 0;
    *number = strtoull(word, &end, 0);
    return errno == 0 && *end == '\0';
}

static bool is_comparison(const char *word, bool *differs)
{
    *differs = word && strcmp(word, "!=") == 0;
    return *differs || (word && strcmp(word, "==") == 0);
}

/* "a0 == 1", "a0 != 1", "a0 > 1", "a0 & 0xff == 2"; differs: "a0 & 0xff != 2".
 */
static bool parse_condition(char *text, struct scmp_arg_cmp *out, bool *differs)
{
    char *rest;
    const char *arg = strtok_r(text, " ", &rest);
    const char *op = strtok_r(NULL, " ", &rest);
    if (!arg || arg[0] != 'a' || arg[1] < '0' || arg[1] > '5' || arg[2] || !op)
        return false;
    out->arg = (unsigned int)(arg[1] - '0');
    out->datum_b = 0;
    if (strcmp(op, "&") == 0) {
        const char *mask = strtok_r(NULL, " ", &rest);
        op = strtok_r(NULL, " ", &rest);
        out->op = SCMP_CMP_MASKED_EQ;
        return parse_number(mask, &out->datum_a) &&
               is_comparison(op, differs) &&
               parse_number(strtok_r(NULL, " ", &rest), &out->datum_b) &&
               !strtok_r(NULL, " ", &rest);
    }
    if (strcmp(op, "==") == 0)
        out->op = SCMP_CMP_EQ;
    else if (strcmp(op, "!=") == 0)
        out->op = SCMP_CMP_NE;
    else if (strcmp(op, ">") == 0)
        out->op = SCMP_CMP_GT;
    else
        return false;
    return parse_number(strtok_r(NULL, " ", &rest), &out->datum_a) &&
           !strtok_r(NULL, " ", &rest);
}

static enum policy_line wrong(char error[POLICY_ERROR_BYTES], const char *what,
                              const char *word)
{
    snprintf(error, POLICY_ERROR_BYTES, "%s: %s", what,
             word ? word : "nothing");
    return POLICY_WRONG;
}

enum policy_line policy_parse(char *line, struct policy_rule *rule,
                              char error[POLICY_ERROR_BYTES])
{
    char *reason = strchr(line, '#');
    if (reason)
        *reason++ = '\0';
    char *rest;
    const char *word = strtok_r(line, " \t\n", &rest);
    if (!word)
        return POLICY_NOTHING;
    *rule = (struct policy_rule){ .place = parse_place(word), .call = -1 };
    if (rule->place != POLICY_ANYWHERE)
        word = strtok_r(NULL, " \t\n", &rest);
    if (!word || !parse_action(word, &rule->action))
        return wrong(error, "neither allow nor an error that we know", word);
    const char *name = strtok_r(NULL, " \t\n", &rest);
    if (!name ||
        (rule->call = seccomp_syscall_resolve_name(name)) == __NR_SCMP_ERROR)
        return wrong(error, "no such system call", name);
    if (!reason || strspn(reason, " \t\n") == strlen(reason))
        return wrong(error, "no reason given", name);

    for (char *text; (text = strtok_r(NULL, ",\n", &rest));) {
        if (strspn(text, " \t") == strlen(text))
            continue;
        if (rule->count == POLICY_CONDITIONS)
            return wrong(error, "too many conditions", name);
        bool differs = false;
        if (!parse_condition(text, &rule->conditions[rule->count++], &differs))
            return wrong(error, "condition not understood", name);
        if (differs && rule->differs)
            return wrong(error, "two masks that differ", name);
        if (differs)
            rule->differs = rule->count;
    }
    return POLICY_RULE;
}
