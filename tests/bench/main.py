"""Starts a benchmark: reads its arguments, installs what is missing, builds."""

import argparse
import contextlib
import importlib
import os
import subprocess
import sys

from harness import BENCH, OWN, SOURCE, Run, report

LOG = os.path.join(SOURCE, "build", "bench.log")
NAMES = {
    "foundation": "foundation",
    "executor": "executor",
    "queue": "queues",  # Python has a module of its own of that name
    "conversation": "conversation",
    "listing": "listing",
    "gateway": "gateway_requests",
}
ROUNDS = 5  # of --full
MINUTES = 4.5  # with what is set up before and cleared away after them, 5

ABOUT = """\
Measures quern against its peers and its limits, which take turns, and prints the
median of the rounds that are complete. Without --build: builds release into
build/bench first. Installs what is missing (deploy/packages, npm, PyPI, the Go
module proxy); a peer that cannot be had is left out, and named.

Rounds go on until the next one would not end in time; what is measured after
them is scaled down. With --rounds or --full the time is not looked at, and all
has its full size. SIGINT or SIGTERM: the rounds that are complete are printed;
exit status 130 or 143.
"""


def read_options():
    parser = argparse.ArgumentParser(
        prog="tests/bench/run",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--minutes",
        type=number_above_0(float),
        default=MINUTES,
        help=f"end within so many, once all is built ({MINUTES})",
    )
    length.add_argument(
        "--rounds", type=number_above_0(int), help="so many, all at its full size"
    )
    length.add_argument(
        "--full",
        action="store_const",
        dest="rounds",
        const=ROUNDS,
        help=f"the same as --rounds {ROUNDS}",
    )
    parser.add_argument(
        "--build",
        action="append",
        default=[],
        metavar="FOLDER",
        help="measure this build, made with -DQUERN_BENCH=ON; given twice, both take"
        " turns, and B/A is what the second one's figure is of the first one's",
    )
    parser.add_argument(
        "--no-peers",
        action="store_false",
        dest="peers",
        help="quern alone, without its peers and limits",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, no table")
    options = parser.parse_args()
    if len(options.build) > 2:
        parser.error("--build is given twice at most")
    for folder in options.build:
        if not os.path.exists(f"{folder}/bin/bench-submit"):
            parser.error(
                f"{folder} has no bin/bench-submit: make it with"
                f" cmake --preset release -B {folder} -DQUERN_BENCH=ON"
            )
    return options


def number_above_0(kind):
    def number(text):
        value = kind(text)
        if not value > 0:
            raise ValueError(text)
        return value

    return number


def prepare(options):
    """Installs, builds; what that says goes to a log."""
    groups, steps = ["run", "science", "bench"], []
    if not options.build:
        groups.append("build")
        steps += [
            ["cmake", "--preset", "release", "-B", OWN, "-DQUERN_BENCH=ON"],
            ["cmake", "--build", OWN, "-j", f"{os.cpu_count()}"],
        ]
    if options.peers and options.name != "listing":
        groups.append("peers")
        steps.append([f"{BENCH}/install-peers", OWN, options.name])
    steps.insert(0, [f"{SOURCE}/deploy/install", *groups])
    os.makedirs(OWN, exist_ok=True)
    with open(LOG, "wb") as log:
        for step in steps:
            if subprocess.run(step, cwd=SOURCE, stdout=log, stderr=log).returncode:
                subprocess.run(["tail", "-n", "20", LOG], stdout=sys.stderr)
                sys.exit(f"tests/bench/run: {step[0]} failed, see {LOG}")


def builds_of(folders):
    from builds import Build  # needs what was missing before prepare()

    names = ["quern"] if len(folders) == 1 else ["quern A", "quern B"]
    return [Build(*pair) for pair in zip(names, folders)]


def main():
    options = read_options()
    folders = [os.path.abspath(folder) for folder in options.build] or [OWN]
    os.environ["QUERN_BUILD"] = folders[0]
    run = Run(options.rounds, options.minutes * 60, options.peers)
    # What the tests' helpers say of a failure is not part of the report.
    with run.stoppable(), contextlib.redirect_stdout(sys.stderr):
        prepare(options)
        run.builds = builds_of(folders)
        bench = importlib.import_module(NAMES[options.name])
        run.begin()
        bench.measure(run)
    if run.rounds:
        rows, bars, versions = bench.rows(run), bench.bars(run), bench.versions(run)
        report(options.name, run, rows, bars, versions, options.json)
    elif run.signal:
        print(f"stopped by {run.signal.name}: no round was complete", file=sys.stderr)
    sys.exit(128 + run.signal if run.signal else 0)


if __name__ == "__main__":
    main()
