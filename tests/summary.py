"""Counts the cases in ctest's JUnit reports: a test of ours is many cases.

    summary.py REPORT...

names what failed or was skipped, ends with "N passed, N failed" and exits 1
when anything failed. With CI set, skipped is failed.
"""

import os
import re
import sys
import xml.etree.ElementTree as xml

# What the runners say: pytest's last line, and cmocka's.
PASSED = re.compile(r"(\d+) passed\b|\[  PASSED  \] (\d+) test")
SKIPPED = re.compile(r"(\d+) skipped\b|\[  SKIPPED \] (\d+) test")


def total(pattern, text):
    return sum(int(a or b) for a, b in pattern.findall(text))


def count(report):
    """Gives (passed, failed names, skipped names) of one report."""
    passed, failed, skipped = 0, [], []
    for test in xml.parse(report).iter("testcase"):
        name, said = test.get("name"), test.findtext("system-out") or ""
        if test.get("status") == "fail":
            failed.append(name)
        elif test.get("status") != "run":
            skipped.append(name)
        else:
            passed += total(PASSED, said) or 1
            skipped += [name] * total(SKIPPED, said)
    return passed, failed, skipped


def main(reports):
    counts = [count(report) for report in reports]
    passed = sum(c[0] for c in counts)
    failed = [name for c in counts for name in c[1]]
    skipped = [name for c in counts for name in c[2]]
    for word, names in (("failed", failed), ("skipped", skipped)):
        for name in names:
            print(f"{word}: {name}")
    if os.environ.get("CI"):
        failed += skipped
    if not passed:
        print("no test ran")
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
