"""Packaged test suites: does anything fail in a box that works outside?

    tests/conformance/run suites [NAME...]

The tests that Debian ships with numpy and matplotlib are run twice, in a
session as a cell that starts pytest, and outside by a user without rights, in
an empty folder with the same environment. The selections below leave out what
needs compilers, windows or the network; both runs of both take ten minutes on
two cores.
"""

import os
import re
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

from executor_client import Executor

SUITES = {
    "numpy": (
        "numpy.core numpy.lib numpy.linalg numpy.fft numpy.random numpy.ma "
        "numpy.polynomial numpy.matrixlib"
    ).split(),
    "matplotlib": [
        f"matplotlib.tests.test_{name}"
        for name in (
            "agg animation artist backend_bases backend_pdf backend_svg basic "
            "category cbook collections colorbar colors contour cycles dates "
            "figure font_manager gridspec image legend lines mathtext mlab "
            "offsetbox patches path patheffects pickle png polar pyplot quiver "
            "rcparams scale style subplots table text ticker tightlayout "
            "transforms triangulation units"
        ).split()
    ],
}
OPTIONS = "-q -p no:cacheprovider --tb=line".split()
OPTIONS += ["-m", "not slow", "--junitxml=report.xml", "--pyargs"]
NOBODY = 65534
SUITE_S = 900
MEMORY_MIB = 4096  # the suites hold on to what they have loaded
CELL = """
import os, subprocess, sys
os.environ["NPY_AVAILABLE_MEM"] = "1 GB"
done = subprocess.run([sys.executable, "-m", "pytest", *{arguments!r}],
                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
print(done.stdout.decode()[-2000:])
done.returncode
"""
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MPLBACKEND": "Agg",
    "NPY_AVAILABLE_MEM": "1 GB",
}


def outcomes(report):
    """{test: passed, failed, skipped} and the first line of why not."""
    found = {}
    for case in ElementTree.fromstring(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        bad = [c for c in case if c.tag in ("failure", "error")]
        skipped = case.find("skipped")
        if bad:
            found[name] = ("failed", bad[0].get("message", "").split("\n")[0])
        elif skipped is not None:
            found[name] = ("skipped", skipped.get("message", ""))
        else:
            found[name] = ("passed", "")
    return found


def inside(arguments):
    limits = ("--memory", MEMORY_MIB, "--cell-ms", SUITE_S * 1000)
    with Executor(*limits) as executor:
        executor.connection.socket.settimeout(2 * SUITE_S)
        session = executor.open("suite")
        cell = session.run(CELL.format(arguments=arguments), cell_ms=SUITE_S * 1000)
        if "report.xml" not in cell.files:
            sys.exit(
                f"no report: {cell.status} {cell.reason}\n{cell.stdout}{cell.error}"
            )
        return outcomes(session.get("report.xml"))


def outside(arguments):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        done = subprocess.run(
            ["/usr/bin/python3", "-m", "pytest", *arguments],
            cwd=folder,
            env={**ENVIRONMENT, "HOME": folder},
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SUITE_S,
        )
        try:
            with open(os.path.join(folder, "report.xml"), "rb") as report:
                return outcomes(report.read())
        except FileNotFoundError:
            sys.exit(f"no report:\n{done.stdout.decode()[-2000:]}")


def count(found):
    kinds = ("passed", "failed", "skipped")
    number = {k: sum(kind == k for kind, _ in found.values()) for k in kinds}
    return ", ".join(f"{number[k]} {k}" for k in kinds)


def named(test):
    """Ids that hold an address are never the same twice."""
    return re.sub(r"0x[0-9a-f]+", "0x", test)


def worse(inside, outside):
    """{what became of it in the box: tests that pass outside}."""
    found = {"failed": [], "skipped": [], "absent": []}
    for test, (kind, _) in sorted(outside.items()):
        here, why = inside.get(test, ("absent", ""))
        if kind == "passed" != here:
            found[here].append(test)
            print(f"{test}: {here} in the box\n    {why}"[:400], file=sys.stderr)
    return found


def compare(name):
    """A line about both runs; gives how many tests pass outside only."""
    runs = [run(OPTIONS + SUITES[name]) for run in (inside, outside)]
    boxed, plain = ({named(t): o for t, o in run.items()} for run in runs)
    only = worse(boxed, plain)
    told = [f"{kind} {', '.join(tests)}" for kind, tests in only.items() if tests]
    print(
        f"{name}: in the box {count(boxed)}; outside {count(plain)}; "
        f"in the box only: {'; '.join(told) or 'nothing'}",
        flush=True,
    )
    return sum(map(len, only.values()))


def main(*names):
    return sum(compare(name) for name in names or SUITES) > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
