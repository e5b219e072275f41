"""quern doctor where walls are missing: it says which, and what to do."""

import errno
import json
import os
import subprocess
import sys

import pytest
from executor_client import Executor
from servers import SOURCE, binary, die_with_parent

WITHOUT = os.path.join(SOURCE, "tests", "scenario", "without.py")
SECCOMP, LANDLOCK = 317, 444  # system calls of x86-64
NO_LANDLOCK = [sys.executable, WITHOUT, f"{LANDLOCK}:{errno.ENOSYS}"]
NO_SECCOMP = [sys.executable, WITHOUT, f"{SECCOMP}:{errno.EINVAL}"]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def doctor(*by, **env):
    """What it says of the executor and its walls, as (check, finding)."""
    child = subprocess.run(
        [*by, binary("quern"), "doctor", "--json", "--timeout", "2m"],
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nowhere",
            "REDIS_URL": "unix:///nowhere/r.sock",
            "QUERN_EXECUTOR": "/nowhere/executor.sock",
            "QUERN_PROFILE": "bare",
            **env,
        },
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=die_with_parent,
    )
    lines = [json.loads(line) for line in child.stdout.splitlines()]
    found = [line for line in lines if line["check"] in ("executor", "walls")]
    assert found, (child.stdout, child.stderr)
    return found


def test_a_running_executor_says_itself_what_it_lacks():
    with Executor("--profile", "bare", "--cgroup", "off") as executor:
        said, lack = doctor(QUERN_EXECUTOR=executor.path)
    assert said["level"] == "ok" and "by watchdog" in said["text"]
    assert (lack["check"], lack["level"]) == ("walls", "warning")
    assert "not limited by a cgroup: memory, pids, cpu" in lack["text"]
    assert "Delegate=yes" in lack["remedy"]


def test_an_insecure_executor_is_a_warning():
    with Executor("--profile", "bare", "--insecure") as executor:
        said, lack = doctor(QUERN_EXECUTOR=executor.path)
    assert said["text"].startswith("insecure")
    assert lack["text"] == "code runs without a box"
    assert lack["remedy"] == "start it without --insecure"


def test_a_kernel_without_landlock():
    said, *lacks = doctor(*NO_LANDLOCK)
    assert said["level"] == "note" and ", no landlock," in said["text"]
    assert said["remedy"] == "start it: quern-executor"
    assert [lack["level"] for lack in lacks] == ["warning"] * len(lacks)
    assert lacks[0]["text"] == "this kernel has no Landlock"
    assert "lsm=" in lacks[0]["remedy"]


def test_a_kernel_without_seccomp():
    said, *lacks = doctor(*NO_SECCOMP)
    assert (said["level"], lacks) == ("fault", [])
    assert "cannot be boxed here" in said["text"]
    remedies = said["remedy"].splitlines()
    assert "no seccomp filters" in remedies[0]
    assert "--insecure" in remedies[-1]


# A place where an ordinary user may make no namespaces, and a switch of the
# kernel that says so, as some distributions have it.
FORBIDDEN = """
mount -t tmpfs none /proc/sys/kernel
echo "$2" >"/proc/sys/kernel/$1"
shift 2
exec setpriv --reuid 61184 --regid 61184 --clear-groups \\
    unshare -U --map-current-user --keep-caps sh -c '
    echo 0 >/proc/sys/user/max_user_namespaces
    exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all "$@"
' sh "$@"
"""

# switch, its value, a word of the remedy
SWITCHES = [
    ("unprivileged_userns_clone", 0, "sysctl kernel.unprivileged_userns_clone=1"),
    ("apparmor_restrict_unprivileged_userns", 1, "deploy/apparmor/quern-box"),
]


@needs_root
@pytest.mark.parametrize(
    "switch, value, remedy", SWITCHES, ids=[s[0] for s in SWITCHES]
)
def test_a_host_that_forbids_user_namespaces(switch, value, remedy):
    place = ["unshare", "-m", "sh", "-ec", FORBIDDEN, "sh", switch, str(value)]
    (said,) = doctor(*place)
    assert said["level"] == "fault" and "cannot be boxed here" in said["text"]
    remedies = said["remedy"].splitlines()
    assert f"{switch} is {value}: " in remedies[0] and remedy in remedies[0]
    assert "sysctl user.max_user_namespaces=" in remedies[1]
    assert "--insecure" in remedies[-1]
