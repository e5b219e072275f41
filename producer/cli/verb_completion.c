/* verb_completion.c - what a shell may offer behind "quern ...".
 *
 * The scripts know nothing themselves: with every key they ask quern, whose
 * tables of verbs and options are always those of the command that is there. */
#include <string.h>

#include "producer/cli/cli.h"

static const char bash[] =
    "# quern completion for bash: source <(quern completion bash)\n"
    "_quern() {\n"
    "    local IFS=$'\\n'\n"
    "    COMPREPLY=($(quern completion words -- "
    "\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null))\n"
    "    [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default\n"
    "}\n"
    "complete -F _quern quern\n";

static const char zsh[] =
    "#compdef quern\n"
    "# quern completion for zsh: source <(quern completion zsh)\n"
    "_quern() {\n"
    "    local -a found\n"
    "    found=(${(f)\"$(quern completion words -- "
    "\"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
    "    (( $#found )) && compadd -- $found || _files\n"
    "}\n"
    "compdef _quern quern\n";

static const char fish[] =
    "# quern completion for fish: quern completion fish | source\n"
    "complete -c quern -f -a '(quern completion words -- "
    "(commandline -opc)[2..] (commandline -ct) 2>/dev/null)'\n"
    "complete -c quern -n 'test (count (commandline -opc)) -gt 2' -F\n";

static const struct {
    const char *name, *script;
} shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };

enum { SHELLS = sizeof(shells) / sizeof(shells[0]) };

static bool completion_begins(const char *text, const char *head)
{
    return strncmp(text, head, strlen(head)) == 0;
}

/* Prints verbs that begin with head; group: words of that group. The first word
 * of a group is printed once. */
static void offer_verbs(const char *group, const char *head)
{
    const char *before = "";

    for (size_t i = 0; i < verb_count; i++) {
        const char *name =
            group ? verb_within(&verbs[i], group) : verbs[i].name;
        size_t len = name ? strcspn(name, " ") : 0;

        if (!name || !completion_begins(name, head) ||
            (strlen(before) >= len && strncmp(before, name, len) == 0 &&
             (before[len] == ' ' || before[len] == '\0')))
            continue;
        printf("%.*s\n", (int)len, name);
        before = name;
    }
}

static void offer_options(const struct verb *verb, const char *head)
{
    for (size_t i = 0; i < option_count; i++) {
        char text[48];

        snprintf(text, sizeof(text), "--%s", option_table[i].name);
        if (option_is_of(&option_table[i], verb->name) &&
            completion_begins(text, head))
            printf("%s\n", text);
    }
}

/* Prints the values of the option before, if its values are words of a list.
 * False: before is no option that takes a value. */
static bool offer_values(const struct verb *verb, const char *before,
                         const char *head)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];

        if (option_is_of(option, verb->name) &&
            completion_begins(before, "--") &&
            strcmp(before + 2, option->name) == 0 &&
            option_type(option) != OPTION_FLAG) {
            const char *const *choices = option_choices(option);

            for (int n = 0; choices && choices[n]; n++)
                if (completion_begins(choices[n], head))
                    printf("%s\n", choices[n]);
            return true;
        }
    }
    return false;
}

static void offer_shells(const char *head)
{
    for (size_t i = 0; i < SHELLS; i++)
        if (completion_begins(shells[i].name, head))
            printf("%s\n", shells[i].name);
}

static void offer_probes(const char *head)
{
    static const char *const probes[] = { "live", "ready", "executor" };

    for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
        if (completion_begins(probes[i], head))
            printf("%s\n", probes[i]);
}

/* words: of the command line, without "quern"; the last one is not yet
 * complete. */
static void completion_offer(const char *const *words, int count)
{
    const char *head = count > 0 ? words[count - 1] : "";
    const struct verb *verb = count > 1 ? verb_find(words[0], words[1]) : NULL;
    int used = verb && verb_within(verb, words[0]) ? 2 : 1;

    bool help = verb && verb->run == verb_help && count == used + 1;

    if (count <= 1 || (help && !completion_begins(head, "-")))
        offer_verbs(NULL, head);
    else if (count == 2 && verb_is_group(words[0]))
        offer_verbs(words[0], head);
    else if (!verb || offer_values(verb, words[count - 2], head))
        return;
    else if (completion_begins(head, "-"))
        offer_options(verb, head);
    else if (verb->run == verb_completion)
        offer_shells(head);
    else if (verb->run == verb_probe && count == used + 1)
        offer_probes(head);
}

int verb_completion(struct app *app)
{
    const struct options *options = &app->options;
    struct err err = { 0 };
    int count = options->word_count;

    if (strcmp(options->words[0], "words") == 0) {
        completion_offer(options->words + 1, count - 1);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < SHELLS; i++)
        if (strcmp(options->words[0], shells[i].name) == 0 && count == 1) {
            printf("%s", shells[i].script);
            return EXIT_DONE;
        }
    err_set(&err, ERR_REJECT, "bad_setting",
            "there is a completion for bash, zsh and fish, not for \"%.32s\"",
            options->words[0]);
    return app_fail_err(app, &err);
}
