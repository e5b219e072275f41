"""The image that deploy/image builds: its programs in containers, as an engine would
run them. QUERN_IMAGE names its folder; tests/long image builds one."""

import json
import os
import re
import subprocess

import pytest
from container import Image, bind, quern_profile, tmpfs

FOLDER = os.environ.get("QUERN_IMAGE", "")
MOST_BYTES = 350 << 20
PROGRAMS = [
    *("quern", "quern-consumer", "quern-executor", "quern-gateway"),
    *("quern-deliverer", "quern-practice-model"),
]

pytestmark = pytest.mark.skipif(not FOLDER, reason="QUERN_IMAGE names no image")


def blob(described):
    return os.path.join(FOLDER, "blobs", *described["digest"].split(":"))


def read(path):
    with open(path) as file:
        return json.load(file)


@pytest.fixture(scope="module")
def manifest():
    (described,) = read(os.path.join(FOLDER, "index.json"))["manifests"]
    return read(blob(described))


@pytest.fixture(scope="module")
def image(manifest, tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    root.chmod(0o755)
    for layer in manifest["layers"]:
        subprocess.run(["tar", "-xzpf", blob(layer), "-C", root], check=True)
    with Image(lower=str(root)) as image:
        image.root_files = root
        yield image


def run(image, *args, **options):
    """As its user, with no capability, a root that cannot be written, and Docker's
    tmpfs for /run and /tmp."""
    options = {"caps": [], "seccomp": quern_profile(), **options}
    options["mounts"] = [tmpfs("/run", "mode=1777"), *options.get("mounts", [])]
    words = image.words(*args, **options)
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


def test_it_says_what_it_is(manifest):
    config = read(blob(manifest["config"]))["config"]
    assert config["User"] == "65532:65532" and config["StopSignal"] == "SIGTERM"
    labels = config["Labels"]
    for name in ("title", "version", "revision", "licenses", "created"):
        assert labels[f"org.opencontainers.image.{name}"]


def test_it_is_small(image):
    done = subprocess.run(["du", "-sb", image.root_files], capture_output=True, text=True)
    science = (image.root_files / "usr/lib/python3/dist-packages/numpy").exists()
    assert science or int(done.stdout.split()[0]) <= MOST_BYTES, done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_role_is_a_command(image, program):
    done = run(image, program, "--help")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert program in done.stdout


def test_boxes_hold_and_no_program_needs_a_shell(image):
    """The level of an engine's defaults and the profile."""
    shells = [bind("/dev/null", f"/usr/bin/{name}") for name in ("dash", "bash")]
    done = run(image, "quern-executor", "--check", mounts=shells)
    assert done.returncode == 0, done
    assert "\nlevel: boxed\n" in done.stdout
    done = run(image, "quern-executor", "--check", "--level", "watched", masked=False)
    assert done.returncode == 0, done
    assert re.search(r"\nlevel: watched\nuser pid mount net ipc uts cgroup, ", done.stdout)


def test_a_host_file_is_not_in_it(image):
    assert not (image.root_files / "src").exists()
    profile = image.root_files / "usr/share/quern/seccomp.json"
    assert read(profile) == quern_profile()
