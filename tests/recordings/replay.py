"""Recordings, read by us and by the openai client. tests/replay."""

import argparse
import json
import random
import subprocess
import sys
from collections import Counter

from recordings import forms, pack
from recordings.cuts import cuts_of, is_taken_for_whole, truncated_calls
from recordings.known import FAILED, KNOWN, Difference, explain
from recordings.readers import (
    CLIENT,
    Frame,
    fetch_client,
    has_client,
    has_ours,
    read_client,
    read_ours,
)
from recordings.variants import variants_of

UNAVAILABLE = 69
CUTS = 4  # at random, of each kind, a recording


class Verdict:
    """What is equal, what is not, and what was not to be."""

    def __init__(self, tell=lambda line: None):
        self.tell = tell
        self.recordings = self.compared = self.equal = self.splits = 0
        self.truncated = self.variants = self.cuts = 0
        self.different, self.known = Counter(), Counter()

    def differs(self, kind, recording, *what):
        self.different[kind] += 1
        place = f"{recording['source']} {recording['path']} {recording.get('n', '')}"
        self.tell(f"different: {kind}: {place}: " + " | ".join(map(str, what)))

    @property
    def is_good(self):
        return not self.different and self.truncated == 0

    def report(self):
        return {
            "recordings": self.recordings,
            "equal": self.equal,
            "different": dict(self.different),
            "known": dict(self.known),
            "truncated_calls_run": self.truncated,
            "splits": self.splits,
            "variants": self.variants,
            "cuts": self.cuts,
            "compared": self.compared,
        }


def compare(verdict, recording, made, seen):
    """One recording, field by field."""
    ours = forms.form_of_ours(made, recording["status"])
    theirs = forms.form_of_client(seen)
    found = pack.chunks(recording["body"])
    names, good = set(), True
    failed = seen.get("error") and not seen["error"]["told"]
    for field in [FAILED] if failed else forms.NOTHING:
        if ours[field] == theirs[field]:
            continue
        difference = Difference(
            field, ours[field], theirs[field], ours, theirs, found, recording
        )
        name = explain(difference)
        names.add(name)
        if name is None:
            good = False
            verdict.differs(field, recording, ours[field], theirs[field])
    verdict.compared += 1
    verdict.known.update(names - {None})
    verdict.equal += good and not names


def read(verdict, frames, seed):
    verdict.splits += sum(2 + frame.splits for frame in frames)
    return read_ours(frames, seed)


def read_whole(verdict, recordings, asked):
    """What we make of each recording; every split is to give the same."""
    frames = [
        Frame(r["body"], r["status"], pack.max_tokens_of(r), splits=asked.splits)
        for r in recordings
    ]
    answers = read(verdict, frames, asked.seed)
    for recording, made in zip(recordings, answers):
        verdict.recordings += 1
        if "differs" in made:
            verdict.differs("split", recording, made["at"], made["differs"])
        elif not forms.agrees_with_itself(made):
            verdict.differs("told", recording, made)
    return answers


def read_variants(verdict, recordings, answers, seed):
    todo = [
        (recording, made, name, Frame(body, splits=1))
        for recording, made in zip(recordings, answers)
        if recording["status"] == 200
        for name, body in variants_of(recording["body"])
    ]
    others = read(verdict, [frame for *_, frame in todo], seed)
    verdict.variants = len(todo)
    for (recording, made, name, _), other in zip(todo, others):
        if other != made:
            verdict.differs(name, recording, made, other)


def read_cuts(verdict, recordings, answers, seed):
    chance = random.Random(seed)
    todo = [
        (recording, made, frame)
        for recording, made in zip(recordings, answers)
        for frame in cuts_of(recording, chance, CUTS)
    ]
    others = read(verdict, [frame for *_, frame in todo], seed)
    verdict.cuts = len(todo)
    for (recording, made, frame), other in zip(todo, others):
        calls = truncated_calls(frame, other, made)
        verdict.truncated += calls
        if calls:
            verdict.tell(f"run: {recording['path']}: {frame.body[-200:]} | {other}")
        if "differs" in other:
            verdict.differs("split of a cut", recording, other)
        elif is_taken_for_whole(frame, other):
            verdict.differs("a cut taken for the end", recording, frame.body[-200:])


def judge(recordings, seen, asked, tell):
    """seen: what the client makes of each; None where nobody knows."""
    verdict = Verdict(tell)
    answers = read_whole(verdict, recordings, asked)
    for recording, made, theirs in zip(recordings, answers, seen):
        if theirs is not None and "differs" not in made:
            compare(verdict, recording, made, theirs)
    read_variants(verdict, recordings, answers, asked.seed)
    read_cuts(verdict, recordings, answers, asked.seed)
    return verdict


def get_client(asked, tell):
    """Whether the client is there; fetches it unless it is not to."""
    if not has_client() and not asked.offline:
        try:
            fetch_client()
        except (OSError, subprocess.CalledProcessError) as error:
            tell(f"{CLIENT} cannot be had: {error}")
    return has_client()


def read_arguments(arguments):
    parser = argparse.ArgumentParser(prog="tests/replay")
    parser.add_argument("pack", metavar="PACK")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--splits", type=int, default=6, metavar="N")
    parser.add_argument("--offline", action="store_true")
    parser.add_argument("--record", action="store_true")
    return parser.parse_args(arguments)


def replay(arguments, tell):
    """The verdict, or None when there is nothing to compare, or to compare with."""
    asked = read_arguments(arguments)
    recordings = pack.read_pack(asked.pack)
    if not has_ours():
        tell("no reply_replay here: QUERN_BUILD is to name a build with tests")
        return None
    if get_client(asked, tell):
        seen = read_client(recordings)
    else:
        tell(f"{CLIENT} is not here: compared with what was recorded of it")
        seen = [recording.get("client") for recording in recordings]
        if not any(seen) and not asked.offline or asked.record:
            return None
    if asked.record:
        pack.write_pack(
            asked.pack, [{**r, "client": s} for r, s in zip(recordings, seen)]
        )
    return judge(recordings, seen, asked, tell)


def main():
    verdict = replay(sys.argv[1:], lambda line: print(line, flush=True))
    if verdict is None:
        return UNAVAILABLE
    for name, count in sorted(verdict.known.items()):
        print(f"known: {name}: {count}: {KNOWN[name].sentence}")
    print(json.dumps(verdict.report()))
    return 0 if verdict.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
