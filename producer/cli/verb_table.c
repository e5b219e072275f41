/* verb_table.c - every verb, and its page of help. */
#include <string.h>

#include "producer/cli/cli.h"

const struct verb verbs[] = {
    { .name = "run",
      .words = "QUESTION",
      .max_words = 1,
      .about = "ask a question and follow the work to its answer",
      .details =
          "The model may run Python to find out. The answer goes to standard\n"
          "output, progress to standard error, images and files into a "
          "folder.\n"
          "QUESTION - is read from standard input.\n"
          "\n"
          "  quern run \"What sells best?\" --file sales.csv\n",
      .run = verb_run },
    { .name = "exec",
      .words = "FILE",
      .min_words = 1,
      .max_words = 1,
      .about = "run Python in a box, without a model",
      .details =
          "Prints what it prints, and the value of its last expression. FILE "
          "-\n"
          "is read from standard input. Lines that begin with \"# %%\" part it "
          "into\n"
          "cells, which run until one fails. With --json one object per "
          "cell.\n"
          "\n"
          "  echo 'sum(range(10))' | quern exec -\n"
          "  quern exec --session lab load.py && quern exec --session lab "
          "plot.py\n"
          "  quern exec --json --deadline-ms 5000 --out here plot.py | jq "
          ".displays\n",
      .more = exec_members,
      .run = verb_exec },
    { .name = "submit",
      .words = "QUESTION",
      .max_words = 1,
      .about = "put a job into the queue and print its id",
      .details = "Ask for it later with get, wait or watch.\n",
      .run = verb_submit },
    { .name = "get",
      .words = "ID",
      .min_words = 1,
      .max_words = 1,
      .about = "print a job's answer, or where it stands",
      .details = "Ends with 75 while the job has not ended.\n",
      .run = verb_get },
    { .name = "wait",
      .words = "ID",
      .min_words = 1,
      .max_words = 1,
      .about = "wait for a job's end, then print its answer",
      .details = "Ends with 75 when it has not ended in time.\n",
      .run = verb_wait },
    { .name = "watch",
      .words = "ID",
      .min_words = 1,
      .max_words = 1,
      .about = "follow a job from its beginning to its answer",
      .details = "Also a job that has ended: what happened is shown again.\n",
      .run = verb_watch },
    { .name = "cancel",
      .words = "ID",
      .min_words = 1,
      .max_words = 1,
      .about = "stop a job, or take it out of the queue",
      .details = "",
      .run = verb_cancel },
    { .name = "session ls",
      .about = "list the sessions that are kept",
      .details =
          "Of every tenant, or of --tenant; the latest first. Sessions are "
          "kept for a\n"
          "week after the last job that used them, as the operator has set "
          "it.\n"
          "\n"
          "  quern session ls\n"
          "  quern session ls --json | jq -r .name\n",
      .run = verb_session_ls },
    { .name = "session show",
      .words = "NAME",
      .min_words = 1,
      .max_words = 1,
      .about = "what is kept of a session",
      .details =
          "Files, packages, and the variables that could not be kept: what "
          "its last job\n"
          "has left, and what another host would restore.\n",
      .run = verb_session_show },
    { .name = "session files",
      .words = "NAME",
      .min_words = 1,
      .max_words = 1,
      .about = "list the files in a session's working directory",
      .details = "Size and name, a line each, when no job is at work in it any "
                 "more.\n",
      .run = verb_session_files },
    { .name = "session put",
      .words = "NAME FILE...",
      .min_words = 2,
      .max_words = 1 + MAX_FILES,
      .about = "send files into a session",
      .details =
          "A file that is there is written over. A session that is not there "
          "is made.\n"
          "\n"
          "  quern session put lab sales.csv costs.csv\n",
      .run = verb_session_put },
    { .name = "session get",
      .words = "NAME FILE...",
      .min_words = 2,
      .max_words = 1 + MAX_FILES,
      .about = "save files of a session",
      .details =
          "FILE is a name that session files lists; of d/x.csv it is saved as "
          "d_x.csv.\n"
          "Nothing is written over: a file that is there already stays, the "
          "new one is\n"
          "called name~2.ext. Prints where each is.\n"
          "\n"
          "  quern session get lab totals.csv --out here\n",
      .run = verb_session_get },
    { .name = "session close",
      .words = "NAME",
      .min_words = 1,
      .max_words = 1,
      .about = "end a session, and drop what is kept of it",
      .details = "",
      .run = verb_session_close },
    { .name = "session fork",
      .words = "NAME NEW",
      .min_words = 2,
      .max_words = 2,
      .about = "begin session NEW as a copy of NAME",
      .details =
          "From then on they go their own ways. Variables that cannot be "
          "copied are\nnamed. NEW must not be there yet.\n"
          "\n"
          "  quern session fork lab what-if\n",
      .run = verb_session_fork },
    { .name = "doctor",
      .offline = true,
      .about = "look for what could be wrong here",
      .details = "Every finding comes with what to do about it. Ends with 69 "
                 "when\njobs cannot run.\n",
      .run = verb_doctor },
    { .name = "help",
      .words = "VERB",
      .max_words = 2,
      .offline = true,
      .about = "this page, or a verb's own",
      .details = "",
      .run = verb_help },
};
const size_t verb_count = sizeof(verbs) / sizeof(verbs[0]);

const char *verb_within(const struct verb *verb, const char *group)
{
    size_t len = strlen(group);

    if (strncmp(verb->name, group, len) != 0 || verb->name[len] != ' ')
        return NULL;
    return verb->name + len + 1;
}

const struct verb *verb_find(const char *first, const char *second)
{
    for (size_t i = 0; i < verb_count; i++) {
        const char *rest = verb_within(&verbs[i], first);

        if (strcmp(verbs[i].name, first) == 0 ||
            (rest && second && strcmp(rest, second) == 0))
            return &verbs[i];
    }
    return NULL;
}

bool verb_is_group(const char *name)
{
    for (size_t i = 0; i < verb_count; i++)
        if (verb_within(&verbs[i], name))
            return true;
    return false;
}
