"""See tests/recordings/make."""

import argparse
import pathlib
import sys
import time

from golden import talks, troubles, work
from golden.studio import Studio

ROWS = [*talks.ROWS, *troubles.ROWS, *work.ROWS]
JOBS = pathlib.Path(__file__).parent.parent / "jobs"


def make(studio, row):
    """Whether it has come out as the row says; else it is told why."""
    begun = time.monotonic()
    try:
        path = pathlib.Path(studio.record(row))
    except Exception as error:  # whatever it is, the others are made
        print(f"{row.name}: {str(error)[:2000] or repr(error)}", flush=True)
        return False
    took = time.monotonic() - begun
    print(f"{row.name}: {path.stat().st_size} bytes, {took:.1f} s", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(prog="make")
    parser.add_argument("--to", default=JOBS, metavar="FOLDER")
    parser.add_argument("names", nargs="*", metavar="NAME")
    asked = parser.parse_args()
    rows = [r for r in ROWS if not asked.names or any(n in r.name for n in asked.names)]
    assert len({row.name for row in ROWS}) == len(ROWS), "two have the same name"
    with Studio(asked.to) as studio:
        bad = sum(not make(studio, row) for row in rows)
    print(f"{len(rows) - bad} recordings made, {bad} not")
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
