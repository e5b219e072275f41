"""A history, sorted by what it is about."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from state import TERMINAL


def is_end(type):
    return type.startswith("job.") and type[4:] in TERMINAL


@dataclass
class Submit:
    line: dict
    number: int
    answers: list = field(default_factory=list)  # (line, number)

    @property
    def stands(self):
        """The id that an answer gave; None: never one that said yes."""
        ids = [line.get("stands") for line, _ in self.answers]
        return next((id for id in ids if id), None)

    @property
    def may_be_there(self):
        return any(line["verdict"] != "refused" for line, _ in self.answers)

    @property
    def accepted(self):
        """Number of the line in which it was, the first time."""
        return next((n for line, n in self.answers if line.get("stands")), None)


class Seen:
    """What was accepted before a declared loss is forgotten: excused."""

    def __init__(self, lines):
        self.lines = lines
        self.submits = {}
        self.excused = set()
        self.events = defaultdict(list)  # of a job, in the order of their coming
        self.results = defaultdict(set)  # hashes
        self.cancels = defaultdict(list)
        self.grants = defaultdict(list)  # (epoch, number)
        self.writes = defaultdict(list)
        self.revived = Counter()  # requeued from the dead, and how often
        self.of = defaultdict(list)  # all other lines, by what
        self.aways = []  # [from, until]: Redis was not there
        for number, line in enumerate(lines, 1):
            line["number"] = number
            getattr(self, f"see_{line['what']}", self.see)(line)

    def see(self, line):
        self.of[line["what"]].append(line)

    def see_submit(self, line):
        self.submits.setdefault(line["job"], Submit(line, line["number"]))

    def see_answer(self, line):
        submit = self.submits.get(line["job"])
        if submit is None:  # its question was before a loss
            if line["verdict"] != "created":
                return
            submit = self.submits[line["job"]] = Submit(line, line["number"])
        submit.answers.append((line, line["number"]))

    def see_event(self, line):
        self.events[line["job"]].append(line)

    def see_result(self, line):
        self.results[line["job"]].add(line["sha"])

    def see_away(self, line):
        self.aways.append([line["at"], float("inf")])

    def see_back(self, line):
        self.aways[-1][1] = line["at"]

    def see_cancel(self, line):
        self.cancels[line["job"]].append(line)

    def see_requeue(self, line):
        """Said before it is asked for: it may have happened unheard."""
        self.revived[line["job"]] += 1

    def see_grant(self, line):
        self.grants[line["job"]].append(line)

    def see_write(self, line):
        self.writes[line["job"]].append(line)

    def see_loss(self, line):
        """Nothing that was said of these jobs so far counts."""
        self.of["loss"].append(line)
        self.excused |= self.submits.keys()
        for about in (
            self.submits,
            self.events,
            self.results,
            self.cancels,
            self.grants,
            self.writes,
        ):
            about.clear()

    def accepted(self):
        """Ids that a client was told are there, and what stands behind each."""
        stands = defaultdict(list)
        for submit in self.submits.values():
            if submit.stands:
                stands[submit.stands].append(submit)
        return stands

    def is_known(self, job):
        return job in self.submits or job in self.excused

    def away_ms(self, begin, end):
        """How much of that time Redis was not there."""
        return sum(
            max(0, min(end, until) - max(begin, since)) for since, until in self.aways
        )


def recoveries(seen):
    """(what, ms) for everything that had to get going again: after a fault the
    first job that starts; after a worker's end every job that it had. ms: None
    when it never did."""
    yield from after_faults(seen)
    yield from after_deaths(seen)


def after_faults(seen):
    starts = sorted(
        line["at"]
        for line in seen.lines
        if line["what"] == "event" and line["type"] == "job.started"
    )
    for line in seen.of["healed"]:
        first = next((at for at in starts if at >= line["at"]), None)
        yield line["kind"], None if first is None else first - line["at"]


def after_deaths(seen):
    gone = {line["consumer"]: line["at"] for line in seen.of["gone"]}
    for job, events in seen.events.items():
        holder = since = None
        for event in events:
            type, at = event["type"], event["at"]
            moves = type in ("job.started", "job.lost", "job.queued") or is_end(type)
            if not moves:
                continue
            if holder in gone and at >= gone[holder] >= since:
                late = at - gone[holder] - seen.away_ms(gone[holder], at)
                yield f"{job} of {holder}", late
            starts = type == "job.started"
            holder, since = (event.get("consumer"), at) if starts else (None, None)
        if holder in gone and gone[holder] >= since:
            yield f"{job} of {holder}", None
