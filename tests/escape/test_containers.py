"""Boxes within containers: each privilege that a container is given brings a
level of walls back, what is missing is said, and what is there holds."""

import contextlib
import os
import subprocess

import pytest
from conftest import PRELUDE
from container import (
    RUNSC,
    RUNTIMES,
    USER,
    ContainedExecutor,
    Image,
    docker_profile,
    quern_profile,
)
from servers import binary
from test_attacks import REFUSED
from test_exhaustion import BOUNDED, MANY

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not RUNTIMES, reason="needs root, and crun or runc"
)


NEWCGROUP = 0x02000000
EINVAL, ENOSYS = 22, 38


def masked(value):
    rule = {"index": 0, "value": NEWCGROUP, "valueTwo": value}
    return [{**rule, "op": "SCMP_CMP_MASKED_EQ"}]


def like_gvisor():
    """System calls as gVisor of 9/2026 has them: without Landlock, and without
    namespaces of cgroups."""
    profile = quern_profile()
    gone = "landlock_create_ruleset"
    both = ["clone", "unshare"]
    for rule in profile["syscalls"]:
        rule["names"] = [n for n in rule["names"] if n not in (gone, *both)]
    no = {"action": "SCMP_ACT_ERRNO"}
    profile["syscalls"] += [
        {"names": [gone], "errnoRet": ENOSYS, **no},
        {"names": both, "errnoRet": EINVAL, "args": masked(NEWCGROUP), **no},
        {"names": both, "action": "SCMP_ACT_ALLOW", "args": masked(0)},
    ]
    return profile


@contextlib.contextmanager
def cgroup_of(user):
    """The path of a cgroup in every hierarchy, which the user may write: what a
    runtime makes of a container's own, when it is mounted to be written."""
    name = f"quern-container-{os.getpid()}"
    top = "/sys/fs/cgroup"
    roots = [top] if os.path.exists(f"{top}/cgroup.controllers") else os.scandir(top)
    made = [os.path.join(root, name) for root in roots if os.path.isdir(root)]
    for folder in made:
        os.makedirs(folder, exist_ok=True)
        for file in ("", "cgroup.procs", "cgroup.subtree_control", "tasks"):
            if os.path.exists(os.path.join(folder, file)):
                os.chown(os.path.join(folder, file), user, user)
    try:
        yield f"/{name}"
    finally:
        for folder in made:
            remove(folder)


def remove(folder):
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(folder):
            if entry.is_dir():
                remove(entry.path)
        os.rmdir(folder)


@pytest.fixture(scope="module", params=RUNTIMES)
def image(request):
    with Image(runtime=request.param) as image:
        yield image


def check(image, *flags, **options):
    """What --check says: its status, and its lines without the log's."""
    args = [binary("quern-executor"), "--check", "--profile", "bare", *flags]
    done = subprocess.run(
        image.words(*args, **options), capture_output=True, text=True, timeout=120
    )
    said = [s for s in (done.stdout + done.stderr).splitlines() if s[:1] != "{"]
    return done.returncode, "\n".join(said)


NO_PROC = (
    "boxes have no /proc: their memory cannot be watched",
    "systempaths=unconfined",
)
NO_CGROUP = ("not limited by a cgroup: memory, pids, cpu (", "writable-cgroups=true")
NO_DEVICES = ("code in a box can lock /dev/null", "and MKNOD")
NO_USERS = ("one user id for all boxes (", "SETUID, SETGID, SYS_ADMIN and SYS_PTRACE")
NO_LANDLOCK = ("this kernel has no Landlock", "without --outer")
GVISOR_CGROUP = ("not limited by a cgroup: memory, pids, cpu (", "without --outer")
GVISOR_SELF = ("within gVisor the processes of a box are not limited", "--pids-limit")
NO_NAMESPACE = ("boxes have no cgroup namespace", "without --outer")
ROOT = [f"CAP_{c}" for c in ("SETUID", "SETGID", "SYS_ADMIN", "SYS_PTRACE", "MKNOD")]
# Of version 1: a runtime gives those of version 2 to the container's user.
ROOT += ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER"]

# What a container is given; flags of the executor; the level that it reaches, and
# what is missing then, each with a word of its remedy.
PLACES = {
    "the profile": (
        {"seccomp": quern_profile()},
        [],
        "boxed",
        [NO_PROC, NO_CGROUP, NO_DEVICES, NO_USERS],
    ),
    "all of /proc": (
        {"seccomp": quern_profile(), "masked": False},
        [],
        "watched",
        [NO_CGROUP, NO_DEVICES, NO_USERS],
    ),
    "its own cgroup": (
        {"seccomp": quern_profile(), "masked": False, "cgroup": USER},
        [],
        "full",
        [NO_DEVICES, NO_USERS],
    ),
    "capabilities of root": (
        {"seccomp": quern_profile(), "masked": False, "cgroup": 0, "user": 0, "caps": ROOT},
        [],
        "full",
        [],
    ),
    "the calls of gvisor": (
        {"seccomp": like_gvisor(), "masked": False},
        ["--outer", "gvisor"],
        "watched",
        [NO_LANDLOCK, GVISOR_CGROUP, GVISOR_SELF, NO_NAMESPACE, NO_DEVICES, NO_USERS],
    ),
}
LEVELS = ["boxed", "watched", "full"]


@contextlib.contextmanager
def given(place):
    options, flags, *rest = PLACES[place]
    if "cgroup" not in options:
        yield options, flags, *rest
        return
    with cgroup_of(options["cgroup"]) as path:
        yield {**options, "cgroup": path}, flags, *rest


@pytest.mark.parametrize("place", PLACES)
def test_what_a_container_is_given_brings_a_level(image, place):
    with given(place) as (options, flags, level, lacks):
        code, said = check(image, *flags, **options)
        assert code == 0, said
        assert f"\nlevel: {level}\n" in said
        told = said.split(f"level: {level}\n")[1].splitlines()[1:]
        assert len(told) == 2 * len(lacks), said
        for (what, remedy), one, other in zip(lacks, told[::2], told[1::2]):
            assert one.startswith(f"  {what}") and remedy in other, said


@pytest.mark.parametrize("place", PLACES)
def test_less_than_the_level_that_is_demanded_is_refused(image, place):
    with given(place) as (options, flags, level, lacks):
        reached = LEVELS.index(level)
        assert check(image, *flags, "--level", level, **options)[0] == 0
        for more in LEVELS[reached + 1 :]:
            code, said = check(image, *flags, "--level", more, **options)
            assert code == 69, said
            assert "fewer walls than demanded: " in said
            assert any(what in said and remedy in said for what, remedy in lacks), said


def test_the_profile_of_docker_allows_no_box_and_ours_is_named(image):
    code, said = check(image, seccomp=docker_profile())
    assert code == 69, said
    assert "no box could be made: clone: Operation not permitted\n    a seccomp" in said
    assert "deploy/container/seccomp.json" in said


def test_gvisor_is_believed_only_when_it_is_said(image):
    code, said = check(image, seccomp=like_gvisor(), masked=False)
    assert code == 69, said
    assert "\n    no cgroup namespace can be made here: within gVisor" in said
    assert "--outer gvisor" in said


def test_who_says_gvisor_on_linux_gives_up_nothing_but_cgroups(image):
    code, said = check(image, "--outer", "gvisor", seccomp=quern_profile(), masked=False)
    assert code == 0, said
    assert "within gvisor: user pid mount net ipc uts cgroup, landlock" in said


if RUNSC:

    def test_gvisor_itself():
        _, flags, level, lacks = PLACES["the calls of gvisor"]
        with Image(runtime=RUNSC) as image:
            code, said = check(image)
            assert code == 69 and "start it with --outer gvisor" in said, said
            code, said = check(image, *flags, "--level", level)
            assert code == 0 and f"\nlevel: {level}\nwithin gvisor: " in said, said
            assert all(what in said and remedy in said for what, remedy in lacks), said


# ------------------------------------------------- what is there holds, too


@pytest.fixture(scope="module", params=PLACES)
def executor(request):
    with Image() as image, given(request.param) as place:
        options, flags, level, _ = place
        flags = ["--profile", "bare", "--level", level, *flags]
        with ContainedExecutor(image, *flags, **options) as executor:
            executor.place = request.param
            yield executor
            assert executor.process.stop() == 0, executor.process.text()


def differences(executor, rows):
    """{name: what came} of the attacks that did not end as on a host."""
    odd = {}
    for number, (name, code, expected) in enumerate(rows):
        session = executor.open(f"attacker-{number}")
        session.run(PRELUDE)
        done = session.run(code)
        got = (done.result, done.error.get("name"))
        refused = done.status == "error" if expected is None else expected in got
        if not refused:
            odd[name] = (done.status, *got, done.reason)
        session.close()
    return odd


# What gVisor lacks: Landlock, which keeps code from its own box's init and its own
# files in /proc, and names of cgroups. None of these leads out of the box.
BY_GVISOR = {
    "killing init",
    "asking for init's life",
    "init, by a pidfd",
    "init, by a thread",
    "its parent",
    "its own memory, as a file",
    "to be killed last",
    "where it is among cgroups",
}


def test_attacks_are_refused(executor):
    odd = differences(executor, REFUSED)
    if executor.place == "the profile":  # there is no /proc to look into
        code = {name: code for name, code, _ in REFUSED}
        assert all("/proc" in code[name] for name in odd), odd
        assert all(error or result == "0" for _, result, error, _ in odd.values()), odd
    else:
        assert set(odd) == (BY_GVISOR if "gvisor" in executor.place else set()), odd


def test_attacks_that_take_too_much_are_bounded(executor):
    """Processes, memory, disk; the rest of the list is the same everywhere."""
    assert differences(executor, BOUNDED[:6]) == {}


def test_memory_of_many_processes_is_counted_from_watched_on(executor):
    session = executor.open("memory", memory_bytes=128 << 20)
    session.run("kept = 7")
    done = session.run(MANY, cell_ms=5000)
    if executor.place == "the profile":
        assert done.status == "timeout", done
    else:
        assert (done.status, done.state) == ("memory", "rolled_back"), done
        assert "its limit is 128 MiB" in done.reason
    assert session.run("kept").result == "7"
