"""The programs under producer/examples, ready to run."""

import functools
import os
import shutil
import socket
import subprocess
import sys
import tempfile

import pytest
from servers import SOURCE, die_with_parent

EXAMPLES = os.path.join(SOURCE, "producer", "examples")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def command(language, program):
    """What starts the client of that language; skips where it cannot run."""
    if language == "python":
        return [sys.executable, os.path.join(EXAMPLES, f"{program}.py")]
    if not shutil.which(language):
        pytest.skip(f"no {language}")
    if language == "node":
        return ["node", os.path.join(node_folder().name, f"{program}.mjs")]
    modules = subprocess.run(["php", "-m"], capture_output=True, text=True).stdout
    for name in ("redis", "msgpack"):
        if name not in modules.split():
            pytest.skip(f"php lacks the extension {name}")
    return ["php", os.path.join(EXAMPLES, f"{program}.php")]


@functools.cache
def node_folder():
    """Holds ioredis and @msgpack/msgpack as package.json names them."""
    folder = tempfile.TemporaryDirectory(prefix="quern-node-")
    for name in ("package.json", "plain.mjs", "ask.mjs"):
        shutil.copy(os.path.join(EXAMPLES, name), folder.name)
    install = "npm install --no-audit --no-fund --no-package-lock --fetch-retries=1"
    done = subprocess.run(install.split(), cwd=folder.name, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"npm: {done.stderr[-300:]}")
    return folder


def ask(language, port, cwd, *words, program="plain"):
    return subprocess.Popen(
        [*command(language, program), *words],
        env={**os.environ, "REDIS_URL": f"redis://127.0.0.1:{port}"},
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,
    )
