"""The fault runs by name. tests/fault/run."""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile

import gateways
import hosts
import r1
import r2
import r3
import r4
import r5
import subscribers
from check import report
from fleet import SERVERS
from history import History
from seeded import run_seeded

NAMES = sorted({name for faults in r5.FAULTS_OF.values() for name in faults})
RUNS = {
    "R1": (r1, 20000),
    "R2": (r2, 0),
    "R3": (r3, 0),
    "R4": (r4, 320),
    "R5": (r5, 384),
    "subscribers": (subscribers, 10000),
    "gateways": (gateways, 5000),
    "hosts": (hosts, 24),
}
ALONE = ("R2", "R3", "R4", "subscribers", "hosts")  # on a unix socket


def read_arguments():
    parser = argparse.ArgumentParser(prog="tests/fault/run")
    parser.add_argument("name", nargs="?", choices=RUNS)
    parser.add_argument("--seeded", action="store_true")
    parser.add_argument("--jobs", type=int, metavar="N", help="R2, R3: points; 0: all; hosts: sessions")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--redis", choices=SERVERS, default="single")
    parser.add_argument("--fsync", choices=["everysec", "always"], default="everysec")
    parser.add_argument("--upgrade", nargs="?", const="", metavar="BUILD")
    parser.add_argument("--only", action="append", choices=NAMES, dest="faults")
    parser.add_argument("--within-s", type=float, default=5, metavar="N")
    parser.add_argument("--period-s", type=float, default=1, metavar="N")
    parser.add_argument("--keep", metavar="FOLDER", help="for the history")
    asked = parser.parse_args()
    if bool(asked.name) == asked.seeded:
        parser.error("either a run or --seeded")
    if asked.name in ALONE and asked.redis != "single":
        parser.error(f"{asked.name} is for a single server")
    if asked.name and asked.jobs is None:
        asked.jobs = RUNS[asked.name][1]
    return asked


def tell(line):
    print(line, flush=True)


def main():
    asked = read_arguments()
    # An executor that was root does not die with us: it is ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if asked.seeded:
        told, good = run_seeded(asked.within_s * 1000, tell)
        print(json.dumps(told))
        return not good
    folder = asked.keep or tempfile.mkdtemp(prefix="quern-run-", dir="/tmp")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{asked.name}.history")
    if os.path.exists(path):
        os.unlink(path)  # of another run
    with History(path) as history:
        told, breaches = RUNS[asked.name][0].run(asked, history, tell)
    broken = any(breaches.values())
    report(breaches)
    if broken:
        tell(f"the history is {path}")
    elif not asked.keep:
        shutil.rmtree(folder)
    print(json.dumps({"run": asked.name, "seed": asked.seed, **told}))
    return broken


if __name__ == "__main__":
    sys.exit(main())
