"""libquern as somebody else uses it: installed, found by pkg-config, linked."""

import hashlib
import json
import os
import re
import subprocess
import time

import pytest
from servers import BUILD, SOURCE, RedisServer, wait_until
from standin import StandIn

PARTS = ("producer/client", "producer/cli")


def run(*args, **more):
    done = subprocess.run(args, capture_output=True, text=True, **more)
    assert done.returncode == 0, (args, done.stdout, done.stderr)
    return done.stdout


def sanitizers():
    with open(os.path.join(BUILD, "CMakeCache.txt")) as cache:
        found = re.search(r"^QUERN_SANITIZE:\w+=(.+)$", cache.read(), re.M)
    return [f"-fsanitize={found[1]}"] if found else []


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    for part in PARTS:
        run("cmake", "--install", os.path.join(BUILD, part), "--prefix", prefix)
    return prefix


def flags(prefix, *args):
    (pc,) = prefix.glob("**/quern.pc")
    text = re.sub(r"^prefix=.*$", f"prefix={prefix}", pc.read_text(), flags=re.M)
    pc.write_text(text)  # it says where the build would have installed
    env = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}
    return run("pkg-config", *args, "quern", env=env).split()


def compile_client(prefix, how):
    static = how == "static"
    words = flags(prefix, "--cflags", "--libs", *(["--static"] if static else []))
    if static:
        words = ["-l:libquern.a" if word == "-lquern" else word for word in words]
    (lib,) = prefix.glob("**/libquern.a")
    program = prefix / f"client-{how}"
    warnings = "-std=c99 -pedantic -Wall -Wextra -Werror".split()
    source = os.path.join(SOURCE, "tests", "scenario", "client.c")
    run(
        *("cc", *warnings, "-o", program, source, *words),
        *(f"-Wl,-rpath,{lib.parent}", *sanitizers()),
    )
    return program


@pytest.fixture(scope="module", params=["shared", "static"])
def client(request, prefix):
    program = compile_client(prefix, request.param)
    loaded = run("ldd", program)
    assert ("libquern" in loaded) == (request.param == "shared")
    return program


@pytest.fixture(scope="module")
def server():
    with RedisServer() as server:
        yield server


def test_a_program_links_and_works(client, server):
    env = {**os.environ, "REDIS_URL": server.url}

    def call(*words):
        return run(client, *words, env=env)

    with server.client() as redis:
        redis.flushall()
        consumer = StandIn(redis)
        id, existed = call("submit", "why?").split()
        assert existed == "0"
        job = consumer.take()
        assert job.id == id
        assert job.job["prompt"] == "why?"
        assert job.job["files"][0]["name"] == "note.txt"
        assert job.job["metadata"] == {"who": "client.c"}
        job.finish(answer="because")
        events = "1 job.queued\n2 job.started\n3 job.completed.\n"
        assert call("follow", id) == events
        state, result = call("await", id).split(" ", 1)
        assert state == "completed"
        assert json.loads(result)["answer"] == "because"
        sha = hashlib.sha256(b"bytes").hexdigest()
        assert call("blob", "bytes") == f"{sha} bytes\n"


def test_waiting_outlasts_a_long_absence(client):
    env = {**os.environ, "CALL_MS": "100"}
    with RedisServer(aof=True) as server, server.client() as redis:
        env["REDIS_URL"] = server.url
        consumer = StandIn(redis)
        run(client, "submit", "why?", env={**env, "CALL_MS": "10000"})
        job = consumer.take()
        waiting = subprocess.Popen([client, "await", job.id], env=env, stdout=-1)
        wait_until(lambda: redis.info("clients")["blocked_clients"], what="it waits")
        server.kill()
        time.sleep(6)  # longer than one read may last
        server.start()
        job.finish(answer="because")
        assert waiting.communicate(timeout=30)[0].startswith(b"completed ")


def test_only_what_the_headers_mark_is_visible(prefix):
    marked = set()
    for header in prefix.glob("**/quern*.h"):
        marked.update(re.findall(r"QUERN_API[^;]*?\b(quern_\w+)\(", header.read_text()))
    assert {"quern_open", "quern_close", "quern_queues"} < marked
    for pattern, how in (("**/libquern.so", "-D"), ("**/libquern.a", "-g")):
        (library,) = prefix.glob(pattern)
        names = run("nm", how, "--defined-only", library).split("\n")
        seen = {line.split()[2] for line in names if len(line.split()) == 3}
        seen = {name for name in seen if not re.match(r"_|\.|odr_|asan", name)}
        assert seen == marked


def test_the_header_needs_no_other_library(prefix):
    (header,) = prefix.glob("**/quern.h")
    with open(header) as file:
        assert re.findall(r"#include <(.*)>", file.read()) == [
            "stdbool.h",
            "stddef.h",
            "stdint.h",
        ]
