"""What every benchmark here does alike: one clock, rounds, one table.

Columns are what is compared: quern, or two builds of it, its peers, its limit.
Rows are what is measured. Within a round all of them take turns, so that what
else the machine does hits each alike, and every other round they go in the
opposite order. What is printed is the median of the rounds that are complete.
"""

import contextlib
import dataclasses
import itertools
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import time

BENCH = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(BENCH))
OWN = os.path.join(SOURCE, "build", "bench")  # the build made here, and the peers


@dataclasses.dataclass
class Turn:
    """What one column does in a round: give() gives {row: figure}."""

    column: str
    name: str
    give: callable


@dataclasses.dataclass
class Row:
    """A line of the table. peer: the row of those columns that are not quern,
    when it has another name there."""

    what: str
    key: str
    form: str = "{:.2f}"
    peer: str = None


def percentile(times, share):
    """The smallest of the times that share of them do not exceed."""
    times = sorted(times)
    return times[max(0, -(-len(times) * share // 100) - 1)]


def percentiles(name, times):
    """The figures of the two rows that delay_rows() makes."""
    return {f"{name} p{share}": percentile(times, share) for share in (50, 99)}


def delay_rows(what, name, peer=None):
    lines = {50: f"{what}, ms: p50", 99: "   p99"}
    return [
        Row(line, f"{name} p{share}", peer=peer and f"{peer} p{share}")
        for share, line in lines.items()
    ]


def timed_turn(column, name, run, count):
    """The turn of a function of a count that gives that many times in ms."""
    run(2)  # warm: caches, connections, compiled code
    return Turn(column, name, lambda: percentiles(name, run(count)))


def alternate(turns):
    """One list of those of each build: the same of all builds, then the next."""
    return list(itertools.chain.from_iterable(zip(*turns)))


# --- the clock, and what it has let be measured -----------------------------------


class Stopped(BaseException):
    """SIGINT or SIGTERM came."""


class Run:
    """One run of a benchmark.

    wanted: so many rounds, and whatever is measured after them at its full size.
    Without it all of it ends within so many seconds of begin(), and what is
    measured after the rounds is scaled down.
    """

    def __init__(self, wanted, seconds, peers):
        self.wanted, self.seconds, self.peers = wanted, seconds, peers
        self.full = wanted is not None
        self.builds = []
        self.rounds = []  # those that are complete: {column: {row: figure}}
        self.signal = None
        self.end = None

    def begin(self):
        self.end = time.monotonic() + self.seconds

    @contextlib.contextmanager
    def stoppable(self):
        """Leaves early when SIGINT or SIGTERM comes; rounds are what is there."""

        def stop(number, _):
            for each in (signal.SIGINT, signal.SIGTERM):
                signal.signal(each, signal.SIG_DFL)  # the next one ends it at once
            self.signal = signal.Signals(number)
            raise Stopped

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        try:
            yield
        except BaseException:
            # What breaks while all of it is ended early is nobody's news: a
            # terminal sends SIGINT to what was started here as well.
            if self.signal is None:
                raise

    def take_turns(self, turns, share=1.0, rounds=None):
        """Rounds of these turns: as many as the run wants, else until the next
        would not end within that share of the time that is left. rounds: so
        many, whatever the run wants. One at least, unless the time is over."""
        since = time.monotonic()
        end, longest = since + (self.end - since) * share, 0.0
        wanted = rounds or self.wanted
        if not self.full and self.rounds and since > self.end:
            names = ", ".join(f"{turn.column} {turn.name}" for turn in turns)
            print(f"left out, the time is over: {names}", file=sys.stderr)
            return
        for number in itertools.count():
            since = time.monotonic()
            late = number > 0 and since + longest > end
            if number == wanted or (wanted is None and late):
                return
            self.rounds.append(one_round(number, turns))
            longest = max(longest, time.monotonic() - since)

    def scale(self, full_size):
        """What the name of a row says that is scaled down in this run."""
        return "" if self.full else f" (full size: {full_size})"

    # -- what has been measured

    @property
    def ours(self):
        """The column of the build that is judged."""
        return self.builds[-1].column

    def columns(self):
        return list(dict.fromkeys(c for taken in self.rounds for c in taken))

    def figures(self, column, key):
        """One of each round that has it."""
        rows = (taken.get(column, {}) for taken in self.rounds)
        return [row[key] for row in rows if key in row]

    def median(self, key, column=None):
        """None: there is no such figure."""
        figures = self.figures(column or self.ours, key)
        return statistics.median(figures) if figures else None

    def ratio(self, key, column, peer=None):
        """What quern's figure is of the other column's."""
        ours, theirs = self.median(key), self.median(peer or key, column)
        return ours / theirs if ours is not None and theirs else None

    def ratios_of_builds(self, key):
        """The second build's figure of the first one's, round by round: what
        slows a round down hits both."""
        first, second = (build.column for build in self.builds)
        pairs = (
            [taken[column].get(key) for column in (first, second)]
            for taken in self.rounds
            if first in taken and second in taken
        )
        return [b / a for a, b in pairs if a and b is not None]


def one_round(number, turns):
    taken = {}
    for turn in turns[:: -1 if number % 2 else 1]:
        print(f"round {number + 1}: {turn.column}: {turn.name}", file=sys.stderr)
        taken.setdefault(turn.column, {}).update(turn.give())
    return taken


# --- what it ran on ----------------------------------------------------------------


def first_line(*command):
    return subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout.splitlines()[0]


def redis_version():
    return first_line("redis-server", "--version").split()[2][2:]


def machine():
    with open("/proc/cpuinfo") as file:
        model = next((x for x in file if x.startswith("model name")), ": ?")
    with open("/proc/meminfo") as file:
        memory_kib = int(file.readline().split()[1])
    with open("/etc/os-release") as file:
        system = next(x for x in file if x.startswith("PRETTY_NAME="))
    return {
        "cpu": model.split(":", 1)[1].strip(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory_kib / 2**20, 1),
        "kernel": platform.release(),
        "system": system.split("=", 1)[1].strip().strip('"'),
    }


# --- what comes of it ----------------------------------------------------------------


def report(name, run, rows, bars, versions, as_json):
    """bars: (what, figure or None, "<=" or ">=", bound)."""
    quern = {build.column: build.version() for build in run.builds}
    of = {
        "bench": name,
        "stopped": run.signal.name if run.signal else None,
        "full": run.full,
        "rows": [line_of(run, row) for row in rows],
        "bars": [judged(*bar) for bar in bars if bar[1] is not None],
        "machine": machine(),
        "versions": {**quern, **versions},
        "builds": {build.column: build.folder for build in run.builds},
    }
    if as_json:
        print(json.dumps({**of, "rounds": run.rounds}))
    else:
        print_report(run, rows, of)


def line_of(run, row):
    """Medians, and of how many rounds: {column: figure}."""
    builds = [build.column for build in run.builds]
    line = {"row": row.key, "what": row.what.strip(), "is": {}, "rounds": {}}
    for column in run.columns():
        key = row.key if column in builds else row.peer or row.key
        if figures := run.figures(column, key):
            line["is"][column] = statistics.median(figures)
            line["rounds"][column] = len(figures)
    if len(builds) > 1 and (ratios := run.ratios_of_builds(row.key)):
        low, middle, high = quartiles(ratios)
        line["B/A"] = {"median": middle, "low": low, "high": high}
    return line


def quartiles(figures):
    if len(figures) < 2:
        return figures * 3
    return statistics.quantiles(figures, n=4, method="inclusive")


def judged(what, figure, relation, bound):
    met = figure <= bound if relation == "<=" else figure >= bound
    bar = {"what": what, "figure": round(figure, 3)}
    return {**bar, "bound": f"{relation} {bound}", "met": met}


def print_report(run, rows, of):
    print(of["bench"])
    if run.signal:
        print(f"stopped by {of['stopped']}: these are the rounds that were complete")
    print_columns(table_of(run, rows, of["rows"]))
    if of["bars"]:
        print()
        table = [("bar", "is", "", "")]
        for bar in of["bars"]:
            met = "met" if bar["met"] else "NOT MET"
            table.append((bar["what"], f"{bar['figure']:g}", bar["bound"], met))
        print_columns(table, (0, 2, 3))
    for what in ("machine", "versions", "builds"):
        print(f"{what}: " + ", ".join(f"{k} {v}" for k, v in of[what].items()))


def table_of(run, rows, lines):
    """Rows that have no figure are left out."""
    columns = [c for c in run.columns() if any(c in line["is"] for line in lines)]
    both = len(run.builds) > 1
    table = [("", *columns, "rounds", *(("B/A", "half of them") if both else ()))]
    for row, line in zip(rows, lines):
        if line["is"]:
            cells = [cell_of(run, row, line, column) for column in columns]
            cells.append(span(line["rounds"].values()))
            table.append((row.what, *cells, *(ratio_of(line) if both else ())))
    return table


def span(counts):
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low}-{high}"


def cell_of(run, row, line, column):
    """A peer's: in brackets, what quern's figure is of it."""
    if column not in line["is"]:
        return "-"
    figure, ours = line["is"][column], line["is"].get(run.ours)
    text = row.form.format(figure)
    if ours is None or not figure or column in [b.column for b in run.builds]:
        return text
    return f"{text} ({ours / figure:.3g})"


def ratio_of(line):
    ratio = line.get("B/A")
    if ratio is None:
        return "-", "-"
    return f"{ratio['median']:.3f}", f"{ratio['low']:.3f}..{ratio['high']:.3f}"


def print_columns(table, left=(0,)):
    """left: the columns of words."""
    widths = [max(map(len, column)) for column in zip(*table)]
    for line in table:
        cells = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths))
        ]
        print("  ".join(cells).rstrip())
