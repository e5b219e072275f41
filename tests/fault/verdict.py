"""All invariants on one history, and what a run tells of itself."""

from collections import Counter

from fleet_invariants import INVARIANTS
from seen import is_end, recoveries


def judge(seen, state, within_ms):
    """Breaches by the name of the invariant; empty: it holds."""
    return {
        invariant.__name__: list(invariant(seen, state, within_ms))
        for invariant in INVARIANTS
    }


def summary(seen, state, breaches):
    """What a run tells in its last line."""
    answers = Counter(
        line["verdict"]
        for submit in seen.submits.values()
        for line, _ in submit.answers
    )
    late = [ms for _, ms in recoveries(seen) if ms is not None]
    ends = sum(
        len({(e["seq"], e["type"]) for e in events if is_end(e["type"])})
        > 1 + seen.revived[id]
        for id, events in seen.events.items()
    )
    kept = sum(
        sum(is_end(event["type"]) for event in job.told()) > 1
        for job in state.jobs.values()
    )
    return {
        "jobs": len(seen.accepted()),
        "faults": dict(Counter(line["kind"] for line in seen.of["fault"])),
        "duplicates_suppressed": answers["exists"],
        "unknown": answers["unknown"],
        "late_writes_refused": sum(
            not write["ok"] and write.get("word") == "STALE"
            for writes in seen.writes.values()
            for write in writes
        ),
        "lost": len(breaches["no_loss"]),
        "second_terminals": max(ends, kept),
        "worst_recovery_s": round(max(late, default=0) / 1000, 3),
        "invariants": {name: len(found) for name, found in breaches.items()},
    }
