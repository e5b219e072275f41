"""Leaves out one wall after the other, and tells which attacks miss it.

    tests/escape/run --without-each [WALL...]

Of the attacks that should: with a wall missing, others do harm. Exit status 1
when none of them misses a wall. Only builds for tests can leave any out.
"""

import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

REFUSED = "test_attacks.py::test_refused[{}]".format
OWN = "test_walls.py::test_an_attack_tells_whether_it_stands[standing-{}]".format
ANY = [REFUSED("the host's passwords")]  # where nobody is served
MISSED = {
    "user": ANY,
    "mnt": ANY,
    "pid": ANY,
    "net": [OWN("net")],
    "ipc": [OWN("ipc")],
    "uts": [OWN("uts"), REFUSED("the machine's name")],
    "cgroup": [OWN("cgroup"), REFUSED("where it is among cgroups")],
    "readonly": [
        REFUSED("a system that can be written"),
        REFUSED("programs with another's rights"),
    ],
    "proc": [
        REFUSED("settings of the kernel"),
        REFUSED("any setting of the kernel"),
        REFUSED("the machine's memory"),
    ],
    "overlay": ["test_locks.py::test_no_file_of_the_host_can_be_locked"],
    "devices": ["test_locks.py::test_no_device_of_the_host_can_be_locked"],
    "users": [
        "test_users.py::test_descriptors_in_flight_are_nobody_elses"
        "[the same executor's]",
        "test_users.py::test_pages_of_pipes_are_nobody_elses",
    ],
    "quota": ["test_births.py::test_a_lower_quota_holds_for_all_files_together"],
    "rlimits": [REFUSED("higher limits"), REFUSED("a core"), OWN("rlimits")],
    "caps": [REFUSED("any capability"), REFUSED("a bounding set"), OWN("caps")],
    "landlock": ANY,
    "scopes": [
        REFUSED("killing init"),
        REFUSED("asking for init's life"),
        REFUSED("its parent"),
    ],
    "seccomp": ANY,
    "deadline": ["test_exhaustion.py::test_deadline[sleep]"],
    "watchdog": [
        "test_exhaustion.py::test_memory_of_many_processes_is_counted_together[off]",
        "test_snapshots.py::test_memory_is_watched_while_a_snapshot_is_made",
    ],
    "freeze": ["test_snapshots.py::test_nothing_runs_between_cells[nothing at all]"],
    "sweep": [
        "test_exhaustion.py::test_strays_do_not_outlive_the_cell[a child]",
        "test_exhaustion.py::test_strays_do_not_outlive_the_cell[a daemon]",
    ],
    "nonce": [
        "test_forgery.py::test_a_forged_result_without_the_nonce_is_dropped",
        "test_frames.py::test_an_old_nonce_is_worth_nothing_in_the_next_cell",
    ],
    "bounds": [
        "test_floods.py::test_what_is_shown_is_bounded[10^5 displays]",
        "test_forgery.py::test_a_broken_channel_ends_the_interpreter_only"
        "[a flood of frames]",
    ],
    "images": [
        "test_forgery.py::test_an_unsound_image_is_not_passed_on[no image at all]",
        "test_forgery.py::test_an_unsound_image_is_not_passed_on[a bomb of pixels]",
    ],
    "files": [
        "test_files.py::test_only_regular_files_go_out_or_in[a symbolic link]",
        "test_files.py::test_only_regular_files_go_out_or_in[the parent]",
    ],
}
# What an executor says that serves nobody.
REFUSES = re.compile(r'self-test "[^"]+" failed|no box could be made: \S+')


def short(test_id):
    """'attacks: refused[a core]'"""
    module, name = test_id.split("::")
    return f"{module[5:-3]}: {name[5:]}"


def misses(wall, tests):
    """Those of the tests that fail without it; why, when nobody is served."""
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
            + [f"--junitxml={report.name}", *tests],
            env={**os.environ, "QUERN_WITHOUT_WALL": wall},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        cases = [*xml.parse(report.name).iter("testcase")]
    broken = [case.find("error") for case in cases if case.find("error") is not None]
    said = REFUSES.search(" ".join(error.text for error in broken))
    if said:
        return [f"nobody is served: {said[0]}"]
    names = {case.get("name") for case in cases if case.find("failure") is not None}
    return [short(test) for test in tests if test.split("::")[1] in names]


def main(walls):
    unmissed = 0
    for wall in walls or MISSED:
        missing = misses(wall, MISSED[wall])
        unmissed += not missing
        print(f"{wall:10} {'; '.join(missing) or 'NOTHING MISSES IT'}", flush=True)
    print(f"{len(walls or MISSED)} walls left out, {unmissed} that nothing missed")
    return 1 if unmissed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
