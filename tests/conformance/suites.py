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


def compare(name):
    """Prints both runs; gives how many tests fail in the box only."""
    boxed, plain = inside(OPTIONS + SUITES[name]), outside(OPTIONS + SUITES[name])
    plain = {named(test): outcome for test, outcome in plain.items()}
    boxed = {named(test): outcome for test, outcome in boxed.items()}
    print(f"{name} in the box: {count(boxed)}\n{name} outside:    {count(plain)}")
    broken = 0
    for test in sorted(plain.keys() | boxed.keys()):
        there, here = plain.get(test, ("absent", "")), boxed.get(test, ("absent", ""))
        if there[0] != here[0]:
            broken += here[0] in ("failed", "absent") and there[0] == "passed"
            print(f"  {test}: {there[0]} outside, {here[0]} in the box")
            print(f"    {here[1] or there[1]}"[:300], flush=True)
    return broken


def main(*names):
    broken = sum(compare(name) for name in names or SUITES)
    print(f"{broken} tests pass outside and not in the box")
    return broken > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
