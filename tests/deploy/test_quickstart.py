"""quickstart leaves nothing running and takes nothing away, also when killed.

The script is the shipped one; what it would install and build is there.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest
from practice_model import PracticeModel
from servers import BUILD, wait_until

TREE = pathlib.Path(__file__).resolve().parents[2]


class Quickstart:
    def __init__(self, tree):
        self.tree = tree
        self.out = tree / "quern-out"
        shutil.copytree(TREE / "deploy", tree / "deploy")
        (tree / "build" / "release").mkdir(parents=True)
        for part in ("bin", "producer"):
            (tree / "build/release" / part).symlink_to(pathlib.Path(BUILD, part))
        stubs = tree / "stubs"
        stubs.mkdir()
        for stub in (stubs / "cmake", tree / "deploy" / "install"):
            stub.unlink(missing_ok=True)
            stub.write_text("#!/bin/sh\n")
            stub.chmod(0o755)
        kept = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI_")}
        # To load the scientific modules takes longer than all else that it starts.
        bare = {"QUERN_PROFILE": "bare", "PATH": f"{stubs}:{os.environ['PATH']}"}
        self.env = {**kept, **bare}
        self.stubs, self.user = stubs, None

    def start(self, *args, **env):
        return subprocess.Popen(
            ["deploy/quickstart", *args],
            cwd=self.tree,
            env={**self.env, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )

    def __call__(self, *args, code=0, **env):
        child = self.start(*args, **env)
        said, _ = child.communicate(timeout=600)
        assert child.returncode == code, said
        return said

    def running(self):
        """The servers of which the numbers are still in use."""
        files = (self.out / "run").glob("*.pid")
        numbers = {f.stem: f.read_text().split()[0] for f in files if f.stat().st_size}
        return {n for n, pid in numbers.items() if os.path.exists(f"/proc/{pid}")}


@pytest.fixture
def quickstart():
    # Not below pytest's own folder: that is closed, and others come and go in it.
    with tempfile.TemporaryDirectory(prefix="quern-quickstart-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        quickstart = Quickstart(pathlib.Path(folder, "a tree"))
        yield quickstart
        quickstart("--stop")


def test_keep_and_stop(quickstart):
    del quickstart.env["QUERN_PROFILE"]  # once as it is shipped
    quickstart.out.mkdir()
    (quickstart.out / "mine.png").write_bytes(b"a chart of mine")
    said = quickstart("--keep")
    assert "The chart: quern-out/figure-1.png" in said
    assert quickstart.running() == ALL | {"model"}
    # What it says to paste.
    [curl] = [line for line in said.splitlines() if line.startswith("    curl ")]
    answer = json.loads(shell(quickstart, f". quern-out/env\n{curl}"))
    assert answer["object"] == "response" and answer["status"] == "completed"
    assert (quickstart.out / "mine.png").exists()
    assert "running already" in quickstart(code=1)
    assert quickstart("--stop") == "Stopped.\n"
    assert quickstart("--stop") == "Nothing is running.\n"
    assert "The chart: quern-out/figure-1.png" in quickstart()  # it was there


def shell(quickstart, script):
    """What it prints, in a shell that has read the env."""
    done = subprocess.run(
        ["bash", "-c", f". quern-out/env\n{script}"],
        cwd=quickstart.tree,
        env=quickstart.env,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


ANOTHER = """
QUERN_QUEUES=mine quern-consumer 2>consumer.log &
quern run --queue mine "Are you there?"
kill %1 && wait
"""


def test_another_consumer_finds_the_practice_model(quickstart):
    quickstart("--keep")
    assert shell(quickstart, ANOTHER) == "You said: Are you there?\n"
    again = "deploy/quickstart --stop && deploy/quickstart"
    assert "The chart: quern-out/figure-1.png" in shell(quickstart, again)


def test_what_a_killed_one_left_is_stopped(quickstart):
    child = quickstart.start()
    wait_until(lambda: "consumer" in quickstart.running(), what="the consumer")
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    folder = os.readlink(quickstart.out / "run")
    assert "running already" in quickstart(code=1)
    assert quickstart("--stop") == "Stopped.\n"
    assert not os.path.exists(folder)


def test_a_consumer_that_cannot_start_says_why_at_once(quickstart):
    said = quickstart(code=1, OPENAI_BASE_URL="nonsense")
    assert "consumer ended" in said and "http://" in said
    assert quickstart.running() == set()


def test_a_proxy_is_not_asked_for_the_practice_model(quickstart):
    assert "The chart" in quickstart(http_proxy="http://127.0.0.1:9", no_proxy="")


# --- a real model --------------------------------------------------------------


@pytest.fixture
def model():
    with PracticeModel() as model:
        yield model


def real(model):
    return {"OPENAI_BASE_URL": model.url, "OPENAI_MODEL": "small", "no_proxy": "*"}


ALL = {"redis", "executor", "consumer", "gateway"}


def test_a_model_that_draws_no_chart_is_no_fault(quickstart, model):
    model.script([{"text": "The second shop grows."}])
    said = quickstart("--keep", **real(model))
    assert "The second shop grows." in said
    assert "The model has drawn no chart" in said
    assert "quickstart --stop" in said
    assert quickstart.running() == ALL
    assert quickstart("--stop") == "Stopped.\n"
    assert "has drawn no chart" in quickstart(**real(model))
    assert quickstart.running() == set()


def test_a_model_that_fails_ends_what_is_not_to_be_kept(quickstart, model):
    model.script([{"status": 400, "error": "no such luck"}])
    said = quickstart("--keep", code=1, **real(model))
    assert "no such luck" in said and "the question was not answered" in said
    assert "Everything is left running" in said
    assert quickstart.running() == ALL
    assert quickstart("--stop") == "Stopped.\n"
    said = quickstart(code=1, **real(model))
    assert "the question was not answered" in said
    assert quickstart.running() == set()


def test_the_practice_model_has_to_draw_one(quickstart):
    question = quickstart.tree / "deploy/demo/question.md"
    question.write_text("Say something.")
    assert "without a chart" in quickstart(code=1)


def test_models_of_a_file_are_named(quickstart, model):
    model.script([{"text": "Shrinks."}])
    models = {
        "small": {"url": model.url, "model": "qwen3"},
        "large": {"url": "https://key:word@models.example/v1?key=s3cret"},
    }
    (quickstart.tree / "models.json").write_text(json.dumps(models))
    said = quickstart("--keep", QUERN_MODELS="models.json", no_proxy="*")
    assert "Model: small, qwen3 at 127.0.0.1." in said
    assert "Model: large, large at models.example." in said
    assert "practice" not in said and "s3cret" not in said and "word" not in said
    assert quickstart.running() == ALL
    assert quickstart("--stop") == "Stopped.\n"
    (quickstart.tree / "models.json").write_text("{")
    said = quickstart(code=1, QUERN_MODELS="models.json")
    assert "models.json cannot be read" in said, said
    assert "consumer ended" in said, said


# --- who may ---------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be somebody else")
def test_an_ordinary_user_needs_no_root(quickstart):
    """With the real installer: of what is there it asks neither apt nor sudo."""
    quickstart.user = 65534
    shutil.copy(TREE / "deploy/install", quickstart.tree / "deploy/install")
    for name in ("apt-get", "sudo"):
        stub = quickstart.stubs / name
        stub.write_text(f"#!/bin/sh\necho {name} was asked: $*\nexit 1\n")
        stub.chmod(0o755)
    subprocess.run(["chown", "-R", "65534:65534", quickstart.tree], check=True)
    said = quickstart("--keep", HOME=str(quickstart.tree))
    assert "The chart: quern-out/figure-1.png" in said
    assert "was asked" not in said
    owners = {path.lstat().st_uid for path in quickstart.out.rglob("*")}
    assert owners == {65534}
    assert quickstart("--stop") == "Stopped.\n"
    with open(quickstart.tree / "deploy/packages", "a") as packages:
        packages.write("science  quern-no-such-package\n")
    said = quickstart(HOME=str(quickstart.tree))
    assert "Going on without what is missing" in said
    assert "The chart: quern-out/figure-1.png" in said


def test_nobody_else_may_read_what_it_makes(quickstart):
    logs = quickstart.out / "log"
    logs.mkdir(parents=True, mode=0o755)
    mask = os.umask(0)
    try:
        quickstart("--keep")
    finally:
        os.umask(mask)
    open_to_others = [
        str(path)
        for path in [quickstart.out, *quickstart.out.rglob("*")]
        if not path.is_symlink() and path.stat().st_mode & 0o077
    ]
    assert open_to_others == []
    assert (quickstart.out / "run").stat().st_mode & 0o077 == 0


def test_programs_compile_against_what_it_built(quickstart):
    quickstart("--keep")
    line = ". quern-out/env; pkg-config --cflags --libs quern; echo $PKG_CONFIG_PATH"
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=quickstart.tree,
        env={"PATH": os.environ["PATH"], "PKG_CONFIG_PATH": "/mine"},
        capture_output=True,
        text=True,
    )
    flags, path = done.stdout.splitlines()
    assert "-lquern" in flags and "-Wl,-rpath," in flags
    assert path == f"{quickstart.tree}/build/release/producer/client:/mine"
