/* compile.c - turns a list of executor/policy into a filter that is built in.
 *
 *   compile_policy offline|online|proxy < LIST > FILTER.c
 *
 * Runs when quern is built: what guards a session is decided then, and the
 * guest needs no compiler of filters. */
#include <errno.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executor/policy/policy.h"

enum { MAX_LINE_BYTES = 512 };

static void die(const char *what, int error)
{
    fprintf(stderr, "compile_policy: %s: %s\n", what, strerror(error));
    exit(1);
}

static scmp_filter_ctx filter_new(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    if (!filter)
        die("filter", ENOMEM);
    int failed = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH,
                                  SCMP_ACT_KILL_PROCESS);
    /* A tree: the cost of a call does not depend on its place in the list. */
    if (!failed)
        failed = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (failed)
        die("attribute", -failed);
    return filter;
}

static bool policy_rule_holds(const struct policy_rule *rule, const char *name)
{
    switch (rule->place) {
    case POLICY_OFFLINE:
        return strcmp(name, "offline") == 0;
    case POLICY_ONLINE:
        return strcmp(name, "online") == 0;
    case POLICY_ANYWHERE:
        break;
    }
    return true;
}

/* Bits differ when one of them does: a rule for each. */
static int add_differing(scmp_filter_ctx filter, const struct policy_rule *rule)
{
    struct scmp_arg_cmp conditions[POLICY_CONDITIONS];
    memcpy(conditions, rule->conditions, sizeof(conditions));
    struct scmp_arg_cmp *one = &conditions[rule->differs - 1];
    uint64_t mask = one->datum_a, value = one->datum_b;
    int failed = 0;
    for (unsigned int i = 0; i < 64 && !failed; i++) {
        one->datum_a = mask & 1ULL << i;
        one->datum_b = ~value & one->datum_a;
        if (one->datum_a)
            failed = seccomp_rule_add_array(filter, rule->action, rule->call,
                                            rule->count, conditions);
    }
    return failed;
}

static int policy_rule_add(scmp_filter_ctx filter,
                           const struct policy_rule *rule)
{
    if (rule->differs)
        return add_differing(filter, rule);
    return seccomp_rule_add_array(filter, rule->action, rule->call, rule->count,
                                  rule->conditions);
}

static void read_rules(scmp_filter_ctx filter, const char *name)
{
    char line[MAX_LINE_BYTES], error[POLICY_ERROR_BYTES];
    struct policy_rule rule;
    for (int number = 1; fgets(line, sizeof(line), stdin); number++) {
        switch (policy_parse(line, &rule, error)) {
        case POLICY_NOTHING:
            continue;
        case POLICY_WRONG:
            fprintf(stderr, "%s:%d: %s\n", name, number, error);
            exit(1);
        case POLICY_RULE:
            break;
        }
        /* The default says ENOSYS already; the line is for the reader. */
        if (rule.call < 0 || rule.action == SCMP_ACT_ERRNO(ENOSYS) ||
            !policy_rule_holds(&rule, name))
            continue;
        int failed = policy_rule_add(filter, &rule);
        if (failed) {
            fprintf(stderr, "%s:%d: %s\n", name, number, strerror(-failed));
            exit(1);
        }
    }
}

static void write_program(scmp_filter_ctx filter, const char *name)
{
    FILE *program = tmpfile();
    if (!program)
        die("temporary file", errno);
    int failed = seccomp_export_bpf(filter, fileno(program));
    if (failed)
        die("export", -failed);
    rewind(program);

    struct sock_filter step;
    printf("/* Made from a list in executor/policy. */\n"
           "#include \"executor/policy/filter.h\"\n\n"
           "static struct sock_filter steps[] = {\n");
    while (fread(&step, sizeof(step), 1, program) == 1)
        printf("    { 0x%x, %u, %u, 0x%x },\n", step.code, step.jt, step.jf,
               step.k);
    printf("};\nconst struct policy_filter policy_%s = {\n"
           "    steps, sizeof(steps) / sizeof(steps[0])\n};\n",
           name);
    fclose(program);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: compile_policy offline|online|proxy\n", stderr);
        return 64;
    }
    scmp_filter_ctx filter = filter_new();
    read_rules(filter, argv[1]);
    write_program(filter, argv[1]);
    seccomp_release(filter);
    return fflush(stdout) == 0 ? 0 : 1;
}
