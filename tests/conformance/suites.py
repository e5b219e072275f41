"""Packaged test suites: does anything fail in a box that works outside?

    tests/conformance/run suites [NAME...]

The tests that Debian ships with numpy and matplotlib are run twice, in a
session as a cell that starts pytest, and outside by a user without rights, in
an empty folder with the same environment. The selections below leave out what
needs compilers, windows or the network, and LEFT_OUT what a box refuses on purpose;
both runs of both take ten minutes on two cores. What passes outside only is named;
the end is all of it as JSON.

Debian leaves out most images that matplotlib's tests compare with. So these fail,
here as there, but not before they have drawn: what they drew is compared instead,
byte for byte.
"""

import hashlib
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
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
LEFT_OUT = {
    "test_mem_policy": "compiles an extension: nothing in a workspace is executed",
    "test_failing_ffmpeg": "writes a program: the same",
    "(Test_X86_Features and test_features)": "reads /proc/cpuinfo: processes only",
    "test_large_file_support": "writes 5 GB: a file has a quota",
    "test_xerbla_override": "sets RLIMIT_CORE: it stays what keeps cores off",
}
OPTIONS = "-q -p no:cacheprovider --tb=line".split()
OPTIONS += ["-m", "not slow", "-k", " and ".join(f"not {name}" for name in LEFT_OUT)]
OPTIONS += "-o junit_family=xunit1 --junitxml=report.xml --pyargs".split()
NOBODY = 65534
SUITE_S = 1800
MEMORY_MIB = 4096  # the suites hold on to what they have loaded
CELL = """
import hashlib, json, os, pathlib, subprocess, sys
os.environ["NPY_AVAILABLE_MEM"] = "1 GB"
done = subprocess.run([sys.executable, "-m", "pytest", *{arguments!r}],
                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
print(done.stdout.decode()[-2000:])
{drawn}
with open("drawn.json", "w") as file:
    json.dump(drawn("."), file)
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


def drawn(folder):
    """{image: digest} of those that tests drew there."""
    found = pathlib.Path(folder, "result_images").rglob("*.png")
    return {
        "/".join(path.parts[-2:]): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
        if "-expected" not in path.name
    }


def outcomes(report):
    """{test: passed, failed, skipped} and the first line of why not."""
    found = {}
    for case in ElementTree.fromstring(report).iter("testcase"):
        where = os.path.basename(case.get("file", ""))
        name = f"{where}:{case.get('classname')}::{case.get('name')}"
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
    limits = ("--memory", f"{MEMORY_MIB}M", "--cell-time", f"{SUITE_S}s")
    with Executor(*limits) as executor:
        executor.connection.socket.settimeout(2 * SUITE_S)
        session = executor.open("suite")
        code = CELL.format(arguments=arguments, drawn=inspect.getsource(drawn))
        cell = session.run(code, cell_ms=SUITE_S * 1000)
        if "report.xml" not in cell.files:
            sys.exit(
                f"no report: {cell.status} {cell.reason}\n{cell.stdout}{cell.error}"
            )
        images = json.loads(session.get("drawn.json"))
        return outcomes(session.get("report.xml")), images


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
                return outcomes(report.read()), drawn(folder)
        except FileNotFoundError:
            sys.exit(f"no report:\n{done.stdout.decode()[-2000:]}")


KINDS = ("passed", "failed", "skipped")


def count(found):
    return {k: sum(kind == k for kind, _ in found.values()) for k in KINDS}


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
    """A table of both runs; gives the same for machines."""
    runs, images = {}, []
    print(f"{name:12} {'passed':>8} {'failed':>8} {'skipped':>8} {'seconds':>8}")
    for where, run in ("in a box", inside), ("outside", outside):
        started = time.monotonic()
        found, drawings = run(OPTIONS + SUITES[name])
        images.append(drawings)
        runs[where] = {named(test): outcome for test, outcome in found.items()}
        numbers = count(runs[where]), round(time.monotonic() - started)
        print(f"{where:12}", *(f"{n:8}" for n in (*numbers[0].values(), numbers[1])))
    only = worse(*runs.values())
    for kind, tests in only.items():
        print(f"{kind} in a box, passed outside: {', '.join(tests) or 'none'}")
    boxed, plain = images
    only["drawn otherwise"] = [i for i in sorted(plain) if boxed.get(i) != plain[i]]
    print(f"{len(plain)} images drawn; others: {only['drawn otherwise'] or 'none'}")
    sys.stdout.flush()
    numbers = {where: count(run) for where, run in runs.items()}
    return {**numbers, "drawn": len(plain), "outside only": only}


def main(*names):
    found = {name: compare(name) for name in names or SUITES}
    print(json.dumps({"suites": found}))
    return any(any(one["outside only"].values()) for one in found.values())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
