/* help.h - what quern says of itself: help/VERB.txt, session-get.txt of
 * "session get", beside the tables of verbs, options and settings. Four texts
 * are of no verb: settings, exit-status, environment and files.
 *
 * Paragraphs are wrapped to the terminal. A line that begins with a blank, or
 * has two blanks within, is of an example or a table and stays as it is. */
#ifndef PRODUCER_CLI_HELP_H
#define PRODUCER_CLI_HELP_H

#include <stdbool.h>
#include <stdio.h>

#include "schemas/message/view.h"

struct help_text {
    const char *file; /* session-get */
    const char *text;
};
extern const struct help_text help_texts[]; /* ends in NULLs; made by CMake */

/* -------- verb_help.c */

/* "session get", "exit status"; NULL: there is none. */
const char *help_find(const char *name);
/* Whether the line is of an example or a table. */
bool help_stays(struct view line);

/* -------- help_man.c */

/* All of it as a page for man, section 1: what `quern help man` prints, and
 * what is installed. */
void help_man(FILE *out);

#endif
