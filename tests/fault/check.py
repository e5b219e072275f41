"""The checker: a history and a Redis in, verdicts out. tests/fault/checker."""

import argparse
import json
import sys

import redis
from history import read_history
from fleet_invariants import INVARIANTS
from seen import Seen
from state import read_state
from verdict import judge, summary

SHOWN = 5  # breaches of one invariant


def verdicts(lines, clients, within_ms, secrets=()):
    """The summary, and the breaches by invariant."""
    seen = Seen(lines)
    told = [line["value"] for line in seen.of["secret"]]
    state = read_state(clients, [*secrets, *told])
    breaches = judge(seen, state, within_ms)
    return summary(seen, state, breaches), breaches


def report(breaches):
    """A line an invariant, and the first breaches of each."""
    for invariant in INVARIANTS:
        found = breaches[invariant.__name__]
        sentence = " ".join(invariant.__doc__.split())
        verdict = f"{len(found)} breaches" if found else "holds"
        print(f"{invariant.__name__:20} {verdict:>12}  {sentence}")
        for breach in found[:SHOWN]:
            print(f"    {breach}")
        if len(found) > SHOWN:
            print(f"    and {len(found) - SHOWN} more")


def main():
    parser = argparse.ArgumentParser(prog="tests/fault/checker")
    parser.add_argument("history")
    parser.add_argument("--redis", action="append", required=True, metavar="URL")
    parser.add_argument("--within-s", type=float, default=5, metavar="N")
    asked = parser.parse_args()
    clients = [redis.Redis.from_url(url, encoding="latin-1") for url in asked.redis]
    told, breaches = verdicts(
        read_history(asked.history), clients, asked.within_s * 1000
    )
    report(breaches)
    print(json.dumps(told))
    return any(breaches.values())


if __name__ == "__main__":
    sys.exit(main())
