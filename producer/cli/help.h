/* help.h - what quern help VERB says beside the verb's options: help/VERB.txt,
 * session-get.txt of "session get". Two are of no verb: settings.txt and
 * exit-status.txt.
 *
 * Paragraphs are wrapped to the terminal. A line that begins with a blank, or
 * has two blanks within, is of an example or a table and stays as it is. */
#ifndef PRODUCER_CLI_HELP_H
#define PRODUCER_CLI_HELP_H

struct help_text {
    const char *file; /* session-get */
    const char *text;
};
extern const struct help_text help_texts[]; /* ends in NULLs */

#endif
