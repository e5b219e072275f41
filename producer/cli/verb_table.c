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
          "QUESTION - is read from standard input. What may stand beside "
          "--job: quern\n"
          "help submit.\n"
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
          "  quern exec --json --cell-time 5s --out here plot.py | jq "
          ".displays\n",
      .more = exec_members,
      .run = verb_exec },
    { .name = "submit",
      .words = "QUESTION",
      .max_words = 1,
      .about = "put a job into the queue and print its id",
      .details =
          "Ask for it later with get, wait or watch. --jobs prints the ids in "
          "the order\n"
          "of the lines, and a sentence for each that is refused; with --json "
          "an object\n"
          "for each, with its line and its id or error.\n"
          "\n"
          "The JSON of --job or --jobs says all about a job; settings add "
          "nothing. Only\n"
          "--file, --queue, --priority and --delay may stand beside it, and of "
          "one job\n"
          "--key and --unique: they win over the JSON.\n"
          "\n"
          "  jq -c '{prompt: .question}' asked.json | quern submit --jobs -\n",
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
    { .name = "retry",
      .words = "ID...",
      .min_words = 1,
      .max_words = MAX_TEXTS,
      .about = "run a job again that failed for good",
      .details = "The same as dead requeue.\n",
      .run = verb_retry },
    { .name = "approve",
      .words = "ID",
      .max_words = 1,
      .about = "let a job go on that waits for an approval, or list those",
      .details =
          "Without ID it lists the jobs that wait for one.\n"
          "\n"
          "It waits before a call that its model wants to make, as job.waiting "
          "tells it\n"
          "(quern watch). Without an option the call is made. --reason is told "
          "to the model.\n",
      .hint = "The verdicts are approve (without an option), --reject, "
              "--edit FILE, --skip,\n--regenerate, --ask TEXT and --abort.",
      .run = verb_approve },
    { .name = "job ls",
      .about = "list jobs: what runs, waits, comes later, and has ended",
      .details =
          "What has ended comes last, the latest first; it is kept in an index "
          "of about\n"
          "100,000 jobs. RAN: since its first start, to its end.\n"
          "\n"
          "  quern job ls --state in_progress --sort runtime\n"
          "  quern job ls --state failed --newer 1h --json | jq -r .id\n"
          "  quern job ls --reason approval\n",
      .run = verb_job_ls },
    { .name = "job show",
      .words = "ID",
      .min_words = 1,
      .max_words = 1,
      .about = "all facts of a job, and why it is where it is",
      .details = "",
      .run = verb_job_show },
    { .name = "job rm",
      .about = "remove jobs that have ended before some time",
      .details =
          "With their results and events. What waits or runs stays. They would "
          "go by\n"
          "themselves after a day and a week.\n"
          "\n"
          "  quern job rm --older 2d --state failed --queue night --dry-run\n",
      .run = verb_job_rm },
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
    { .name = "queue ls",
      .about = "list the queues: what waits, runs, comes later, is dead",
      .details =
          "OLDEST: for how long the first job that may start could have; - "
          "when "
          "none may:\n"
          "the queue is paused, or limits hold up all that wait. LATER:\n"
          "back-off, approval, or not before some time.\n",
      .run = verb_queue_ls },
    { .name = "queue stats",
      .words = "NAME",
      .max_words = 1,
      .about = "one queue and its limits (default)",
      .details = "",
      .run = verb_queue_stats },
    { .name = "queue history",
      .words = "NAME",
      .max_words = 1,
      .about = "what a queue did in each minute of the last hour (default)",
      .details =
          "WAIT, RUN: half of the jobs that started, or ended, took no longer "
          "than that.\n"
          "With --json the counts of all jobs by how long they took: up to 10 "
          "ms, 30 ms,\n"
          "100 ms and so on to 3000 s, and longer. Figures are kept for a "
          "week.\n"
          "\n"
          "  quern queue history default --newer 1d --json\n",
      .run = verb_queue_history },
    { .name = "queue pause",
      .words = "NAME",
      .min_words = 1,
      .max_words = 1,
      .about = "let nothing of a queue start; what runs goes on",
      .details = "Jobs are accepted meanwhile.\n",
      .run = verb_queue_pause },
    { .name = "queue resume",
      .words = "NAME",
      .min_words = 1,
      .max_words = 1,
      .about = "end a pause",
      .details = "",
      .run = verb_queue_resume },
    { .name = "queue set",
      .words = "NAME SETTING=VALUE...",
      .min_words = 2,
      .max_words = 1 + MAX_TEXTS,
      .about = "limit a queue, or each of its tenants",
      .details =
          "max_depth       jobs that wait, those that come later included\n"
          "tenant_depth    jobs of one tenant that wait, without those\n"
          "tenant_running  jobs of one tenant at once\n"
          "tenant_rate     starts of one tenant in tenant_rate_ms, so many at "
          "once,\n"
          "                then evenly\n"
          "tenant_tokens   of models, of one tenant in tenant_budget_ms (a "
          "day)\n"
          "tenant_cost     what these may cost, in micro-dollars:\n"
          "                5000000 is $5\n"
          "\n"
          "Of one tenant alone: tenant_running:acme=20. Nothing behind the = "
          "removes a\n"
          "limit. More jobs are refused with 75; what is over its share waits "
          "its turn,\n"
          "and what is over its budget the next day.\n"
          "\n"
          "  quern queue set default tenant_running=8 tenant_running:acme=32\n"
          "  quern queue set default tenant_rate=60 tenant_rate_ms=60000\n"
          "  quern queue set default tenant_cost:acme=5000000\n",
      .run = verb_queue_set },
    { .name = "queue purge",
      .words = "NAME",
      .min_words = 1,
      .max_words = 1,
      .about = "cancel all jobs of a queue that wait",
      .details = "Also those that come later. What runs goes on.\n",
      .run = verb_queue_purge },
    { .name = "tenant ls",
      .about = "list the tenants: what runs, waits, is spent, and their limits",
      .details =
          "Those that have a job, a limit, or have used tokens today. SPENT: "
          "of "
          "their budget\n"
          "in its period; where they have none, by the jobs that ended today "
          "(UTC).\n"
          "\n"
          "  quern tenant ls --queue default --json\n",
      .run = verb_tenant_ls },
    { .name = "dead ls",
      .about = "list the jobs that failed for good, the latest first",
      .details = "They are kept for a week.\n",
      .run = verb_dead_ls },
    { .name = "dead show",
      .words = "ID",
      .min_words = 1,
      .max_words = 1,
      .about = "why a job failed, and what was submitted",
      .details = "",
      .run = verb_dead_show },
    { .name = "dead requeue",
      .words = "ID...",
      .max_words = MAX_TEXTS,
      .about = "run them again, under their ids",
      .details = "They go on where they failed: what is paid for or has run is "
                 "not repeated,\nnor is a cell that failed. With --anew from "
                 "the beginning.\n\n"
                 "  quern dead requeue --all --queue default\n",
      .run = verb_dead_requeue },
    { .name = "dead rm",
      .words = "ID...",
      .max_words = MAX_TEXTS,
      .about = "forget them: job, result, events",
      .details = "",
      .run = verb_dead_rm },
    { .name = "worker ls",
      .about = "list the consumers that live",
      .details = "JOBS: those that run, of so many that may. SEEN: since it "
                 "last reported.\n",
      .run = verb_worker_ls },
    { .name = "worker drain",
      .words = "WORKER...",
      .min_words = 1,
      .max_words = MAX_TEXTS,
      .about = "have a consumer finish what it runs, and leave",
      .details = "It takes no more jobs.\n",
      .run = verb_worker_drain },
    { .name = "worker resume",
      .words = "WORKER...",
      .min_words = 1,
      .max_words = MAX_TEXTS,
      .about = "have it stay after all",
      .details = "",
      .run = verb_worker_resume },
    { .name = "endpoint ls",
      .about = "list the models' endpoints: what was asked, and learned",
      .details =
          "CALLS: requests, of about a month. PAID TWICE: of them again, as "
          "nobody knows\n"
          "whether the one before was answered and charged. RECOVERED: "
          "replies that the\n"
          "endpoint had kept, and that were fetched instead. WINDOW, LEARNED: "
          "what it has\n"
          "refused. WAITS: for so long it wants to be left alone.\n",
      .run = verb_endpoint_ls },
    { .name = "schedule ls",
      .about = "list what is submitted by the clock, the next first",
      .details = "NEXT is what the clock shows in its ZONE, with the offset "
                 "from UTC.\n",
      .run = verb_schedule_ls },
    { .name = "schedule add",
      .words = "NAME SCHEDULE QUESTION",
      .min_words = 2,
      .max_words = 3,
      .about = "submit a job by the clock, again and again",
      .details =
          "SCHEDULE is \"every 15m\" (s, m, h, d), @hourly, @daily, @weekly, "
          "@monthly,\n"
          "@yearly, or the five fields of crontab: minute hour day month "
          "weekday. A\n"
          "schedule of that name is replaced. Prints the next times; with "
          "--dry-run\n"
          "that is all. A time at which nobody could submit is made up for "
          "once. What\n"
          "may stand beside --job: quern help submit.\n"
          "\n"
          "Where clocks change, a schedule of given hours goes off once a "
          "day: what is\n"
          "due in an hour that is left out at the end of it, in one that comes "
          "twice\n"
          "the first time. With * as hour it follows the clock.\n"
          "\n"
          "  quern schedule add report \"30 6 * * mon-fri\" --zone "
          "Europe/Berlin \\\n"
          "      \"Sum up the sales of yesterday\" --session sales\n",
      .run = verb_schedule_add },
    { .name = "schedule show",
      .words = "NAME",
      .min_words = 1,
      .max_words = 1,
      .about = "a schedule, its next times, and its job",
      .details = "",
      .run = verb_schedule_show },
    { .name = "schedule pause",
      .words = "NAME...",
      .min_words = 1,
      .max_words = MAX_TEXTS,
      .about = "let schedules rest; nothing of them is submitted",
      .details = "",
      .run = verb_schedule_pause },
    { .name = "schedule resume",
      .words = "NAME...",
      .min_words = 1,
      .max_words = MAX_TEXTS,
      .about = "let paused schedules go on",
      .details = "From the next time on: what was due meanwhile is left out.\n",
      .run = verb_schedule_resume },
    { .name = "schedule run",
      .words = "NAME",
      .min_words = 1,
      .max_words = 1,
      .about = "submit a schedule's job now, once more; prints its ID",
      .details =
          "Also of a paused one. When it goes off next stays as it is.\n",
      .run = verb_schedule_run },
    { .name = "schedule rm",
      .words = "NAME...",
      .min_words = 1,
      .max_words = MAX_TEXTS,
      .about = "remove schedules; what they have submitted stays",
      .details = "",
      .run = verb_schedule_rm },
    { .name = "check",
      .offline = true, /* it has a connection of its own */
      .about = "look whether every job is where it should be",
      .details =
          "Each job that has not ended must be in a stream, a lane or a line "
          "of its\n"
          "session, or come later; each that runs must have a lease; and "
          "nothing may\n"
          "name a job that is not there. What is found is looked at again, as "
          "jobs\n"
          "move meanwhile. Reads every key. Ends with 1 when something is "
          "wrong.\n",
      .run = verb_check },
    { .name = "replay",
      .words = "JOB...",
      .min_words = 1,
      .max_words = MAX_TEXTS,
      .offline = true,
      .about = "do a job again from its journal, and show where it differs",
      .details =
          "Nothing is run and nobody is asked: what models and code gave is as "
          "it was;\n"
          "what follows from it is worked out anew, request by request, and "
          "compared.\n"
          "Ends with 1 when a step differs, which is shown. JOB may be a file: "
          "what --save\n"
          "has written stands alone, and is a test.\n"
          "\n"
          "  quern replay 019aa5c8-1b2c-7000-8000-4f0c1f0a9e11 --save "
          "charts.jsonl\n"
          "  quern replay tests/jobs/*.jsonl\n",
      .run = verb_replay },
    { .name = "doctor",
      .offline = true,
      .about = "look for what could be wrong here",
      .details = "Every finding comes with what to do about it. Ends with 69 "
                 "when\njobs cannot run.\n",
      .run = verb_doctor },
    { .name = "completion",
      .words = "SHELL",
      .min_words = 1,
      .max_words = MAX_TEXTS,
      .offline = true,
      .about = "print what makes bash, zsh or fish complete quern",
      .details = "\n"
                 "  echo 'source <(quern completion bash)' >>~/.bashrc\n"
                 "  echo 'source <(quern completion zsh)' >>~/.zshrc\n"
                 "  quern completion fish "
                 ">~/.config/fish/completions/quern.fish\n",
      .run = verb_completion },
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
