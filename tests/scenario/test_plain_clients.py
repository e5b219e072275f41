"""Clients without a line of quern: redis and MessagePack libraries alone.

They prove that the published contract is enough. Their work is done by the
stand-in consumer, which goes through the real transitions.
"""

import hashlib
import os
import shutil
import socket
import subprocess
import sys

import pytest
from servers import BUILD, SOURCE, RedisServer, die_with_parent
from standin import StandIn

EXAMPLES = os.path.join(SOURCE, "producer", "examples")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
SHA = hashlib.sha256(PNG).hexdigest()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def server():
    with RedisServer(port=free_port()) as server:
        yield server


@pytest.fixture
def consumer(server):
    with server.client() as client:
        client.flushall()
        client.function_load(library(), replace=True)
        client.set(f"quern:blob:{SHA}", PNG)
        yield StandIn(client)


def library():
    with open(os.path.join(BUILD, "schemas", "redis", "library.lua")) as file:
        return file.read()


@pytest.fixture(scope="module")
def node_modules(tmp_path_factory):
    """ioredis and @msgpack/msgpack, of the versions that package.json names."""
    folder = tmp_path_factory.mktemp("node")
    for name in ("package.json", "plain.mjs"):
        shutil.copy(os.path.join(EXAMPLES, name), folder)
    install = "npm install --no-audit --no-fund --no-package-lock".split()
    done = subprocess.run(install, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"npm: {done.stderr[-300:]}")
    return folder


def php():
    modules = subprocess.run(["php", "-m"], capture_output=True, text=True).stdout
    for name in ("redis", "msgpack"):
        if name not in modules.split():
            pytest.skip(f"php lacks the extension {name}")
    return ["php", os.path.join(EXAMPLES, "plain.php")]


@pytest.fixture
def client(request):
    """The command of the client that a test names by parametrize(indirect)."""
    if request.param == "python":
        return [sys.executable, os.path.join(EXAMPLES, "plain.py")]
    if not shutil.which(request.param):
        pytest.skip(f"no {request.param}")
    if request.param == "php":
        return php()
    folder = request.getfixturevalue("node_modules")
    return ["node", str(folder / "plain.mjs")]


def clients(*names):
    return pytest.mark.parametrize("client", names, indirect=True)


def ask(client, server, cwd, *words):
    return subprocess.Popen(
        [*client, *words],
        env={**os.environ, "REDIS_URL": f"redis://127.0.0.1:{server.port}"},
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,
    )


@clients("python", "node", "php")
def test_asks_follows_and_reads(client, server, consumer, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/sales.csv").write_text("a,b\n1,2\n")
    child = ask(client, server, tmp_path, "what sells?", "in/sales.csv")
    job = consumer.take()
    assert job.job["prompt"] == "what sells?"
    (file,) = job.job["files"]
    assert (file["name"], file["bytes"]) == ("sales.csv", 8)
    assert consumer.redis.get(f"quern:blob:{file['blob']}") == b"a,b\n1,2\n"
    for n in range(300):
        job.event("message.delta", turn=1, text=f"w{n}")
    image = {"name": "figure-1.png", "mime": "image/png", "blob": SHA, "bytes": 264}
    job.finish(answer="b: 2", images=[image])
    out, err = child.communicate(timeout=30)
    assert (out, child.returncode) == ("b: 2\n", 0), err
    seen = [line.split(" ") for line in err.splitlines()]
    assert [int(seq) for seq, *_ in seen] == list(range(1, 304))
    assert [type for _, type, *_ in seen[:3]] == [
        "job.queued",
        "job.started",
        "message.delta",
    ]
    assert seen[3][2] == "w1"
    assert seen[-1][1] == "job.completed"
    assert (tmp_path / "figure-1.png").read_bytes() == PNG


@clients("python", "node")  # PHP's has no subscription to lose
def test_goes_on_when_its_connection_is_killed(client, server, consumer, tmp_path):
    child = ask(client, server, tmp_path, "q")
    job = consumer.take()
    assert child.stderr.readline().startswith("1 job.queued")
    assert child.stderr.readline().startswith("2 job.started")
    for n in range(3):
        job.event("message.delta", turn=1, text="before")
        assert child.stderr.readline().startswith(f"{3 + 2 * n} ")
        consumer.redis.client_kill_filter(_type="pubsub")
        job.event("message.delta", turn=1, text="meanwhile")
        assert child.stderr.readline().startswith(f"{4 + 2 * n} ")
    job.finish(answer="x")
    out, err = child.communicate(timeout=30)
    assert (out, child.returncode) == ("x\n", 0), err


@clients("python", "node", "php")
def test_says_why_a_job_failed(client, server, consumer, tmp_path):
    child = ask(client, server, tmp_path, "q")
    error = {"kind": "reject", "code": "unknown_model", "message": "no such model"}
    consumer.take().finish("failed", error=error)
    out, err = child.communicate(timeout=30)
    assert (out, child.returncode) == ("no such model\n", 0), err
