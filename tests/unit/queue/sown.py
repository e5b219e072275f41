"""Bugs that are sown into consumer/queue, one by one: the world finds each.

    sown.py --write BUG SOURCE INTO    a copy of that source with the bug in it
    sown.py --names                    "BUG:FILE" for CMake, a line each
    sown.py BUILD                      builds and runs all, prints the table

Each is looked for from seed 1 on, in at most SEEDS of them.
"""

import pathlib
import re
import subprocess
import sys

SEEDS = 4000

# bug: (file, what stands there, what stands there instead, what must break)
BUGS = {
    "beats_too_seldom": (
        "consumer/queue/lease.c",
        "consumer->settings.lease_ms / 3);\n    beat_all",
        "consumer->settings.lease_ms * 4 / 3);\n    beat_all",
        "leases are renewed in time",
    ),
    "lost_is_not_told": (
        "consumer/queue/lease.c",
        "consumer->jobs->on_lost(consumer, slot);",
        "(void)slot;",
        "a lost lease ends the attempt",
    ),
    "cancel_is_not_told": (
        "consumer/queue/lease.c",
        "consumer->jobs->on_cancel(consumer, slot);",
        "(void)slot;",
        "a cancel reaches the attempt in time",
    ),
    "answer_for_another": (
        "consumer/queue/lease.c",
        "job->serial == batch->jobs[index].serial",
        "job->serial != 0",
        "only who has lost a job gives it up",
    ),
    "deaf_to_cancel": (
        "consumer/queue/lease.c",
        'if (view_starts(text, "cancel "))',
        'if (!view_starts(text, "cancel "))',
        "a cancel reaches the attempt in time",
    ),
    "take_not_asked_again": (
        "consumer/queue/intake.c",
        "intake->asked = false;\n        return; /* it is sent again",
        "end_take(intake);\n        end_round(intake);\n        return; /* it is sent again",
        "what was taken is started",
    ),
    "claims_while_draining": (
        "consumer/queue/intake.c",
        "(may_claim(intake) || intake->arrival_count > 0) &&",
        "",
        "who drains takes nothing new",
    ),
    "keeps_slots_for_ever": (
        "consumer/queue/intake.c",
        "intake->consumer->coming -= intake->pending.count;",
        "",
        "who has nothing leaves at once",
    ),
    "offers_slots_twice": (
        "consumer/queue/partition.c",
        "consumer->running + partitions->offered;",
        "consumer->running;",
        "never more than the slots",
    ),
    "offered_for_ever": (
        "consumer/queue/partition.c",
        "partitions->offered -= offered;",
        "(void)offered;",
        "it consumes again in time",
    ),
    "chore_gives_up": (
        "consumer/queue/upkeep.c",
        '"why", err->text);\n    rest(chore, chore->rest_ms);',
        '"why", err->text);\n    (void)chore;',
        "upkeep is done within its period",
    ),
    "lapses_after_outage": (
        "consumer/queue/upkeep.c",
        "[LAPSE] = lease_ms,\n",
        "[LAPSE] = 0,\n",
        "nothing lapses within a lease after an outage",
    ),
    "never_mends": (
        "consumer/queue/upkeep.c",
        'view_of("0"));\n    alarm_set(chore->alarm, 0);',
        'view_of("0"));',
        "no job is lost",
    ),
    "sweep_gives_up": (
        "consumer/queue/upkeep.c",
        "upkeep->stream_at = 0;\n        rest(chore, chore->rest_ms);",
        "upkeep->stream_at = 0;",
        "upkeep is done within its period",
    ),
    "write_not_sent_again": (
        "consumer/queue/store.c",
        "control->welcome = true;\n    push_all(control);",
        "control->welcome = true;",
        "no job is lost",
    ),
    "durable_too_early": (
        "consumer/queue/ledger.c",
        "else if (durability_told(&ledger->durability, reply, &err)) {",
        "else if (reply->type != REDIS_REPLY_ERROR) {",
        "what counts as durable is",
    ),
    "end_is_forgotten": (
        "consumer/queue/store.c",
        "if (!control->ends)\n        control->last_end = &control->ends;",
        "",
        "",
    ),
    "old_master": (
        "schemas/redis/sentinel.c",
        "node_set(master, words[3], strtoull(words[4].data",
        "node_set(master, words[1], strtoull(words[2].data",
        "links go where the sentinel says",
    ),
    "drain_keeps_jobs": (
        "consumer/service.c",
        "consumer->jobs->on_release(consumer, i);",
        "(void)consumer;",
        "who leaves hands back what it holds",
    ),
    "resume_wakes_nobody": (
        "consumer/service.c",
        "partitions_wake(consumer->partitions);\n    partitions_report",
        "partitions_report",
        "it consumes again in time",
    ),
}


def write(bug, source, into):
    _, old, new, _ = BUGS[bug]
    text = pathlib.Path(source).read_text()
    if text.count(old) != 1:
        sys.exit(f"{bug}: stands {text.count(old)} times in {source}: {old!r}")
    pathlib.Path(into).write_text(text.replace(old, new))


def find(build, bug):
    """What its world says first, and the seed; or None."""
    run = subprocess.run(
        [build / "bin" / f"sown_{bug}", "--seeds", str(SEEDS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    found = re.search(r'seed (\d+) (?:broke "(.*?)"|ends)', run.stdout)
    return run.returncode != 0 and found and (found[2] or "it ends", int(found[1]))


def run_all(build):
    subprocess.run(
        ["cmake", "--build", build, "--target", "queue_sown", "-j1"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    missed = 0
    for bug, (file, _, _, invariant) in BUGS.items():
        found = find(build, bug)
        good = bool(found) and (not invariant or found[0] == invariant)
        missed += not good
        told = f"{found[0]}, seed {found[1]}" if found else "nothing"
        print(f"{'ok ' if good else 'NOT'} {bug:24} {file:18} {told}", flush=True)
    print(f"{len(BUGS)} bugs, {missed} not found as they should be")
    return 1 if missed else 0


if __name__ == "__main__":
    if sys.argv[1] == "--names":
        print("\n".join(f"{bug}:{row[0]}" for bug, row in BUGS.items()))
    elif sys.argv[1] == "--write":
        write(*sys.argv[2:5])
    else:
        sys.exit(run_all(pathlib.Path(sys.argv[1])))
