"""quern with its gateway, as the official clients find it.

with Service() as service:
    service.stack.model.script(...)
    seen = service.run("python", "plain", {"request": {...}})
"""

import json
import os
import re
import subprocess
import tempfile
import urllib.error
import urllib.request

import npm
import pytest
from pypi import python_with
from servers import PATIENCE_S, Process, binary, die_with_parent, free_ports, wait_until
from stack import ROOT, Stack

HERE = os.path.dirname(os.path.abspath(__file__))
OPENAI = "openai==3.57.0"
TENANT = "acme"
CLIENTS = ("python", "node", "ai")


def command(client):
    """What starts it; skips where its packages cannot be had."""
    if client == "python":
        return [python_with(OPENAI), os.path.join(HERE, "python_client.py")]
    return ["node", npm.program_with(HERE, f"{client}_client.mjs")]


class Service:
    def __init__(self):
        self.stack = Stack()
        self.stack.consumer()
        [port] = free_ports(1)
        self.base = f"http://127.0.0.1:{port}"
        self.gateway = Process(
            [binary("quern-gateway"), "--listen", f"127.0.0.1:{port}"],
            env={"REDIS_URL": self.stack.redis.url, "QUERN_OPEN": TENANT},
        )
        self.gateway.start()
        self.key = "none"  # an open gateway takes any text for no key

    def __enter__(self):
        try:
            wait_until(self.is_ready, what="the gateway is ready")
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print(f"--- quern-gateway\n{self.gateway.text()[-6000:]}")
        code = self.gateway.stop()
        self.stack.__exit__(kind)
        assert kind is not None or code == 0, self.gateway.end()

    def is_ready(self):
        assert self.gateway.alive(), self.gateway.end()
        try:
            with urllib.request.urlopen(f"{self.base}/readyz", timeout=5) as answer:
                return answer.status == 200
        except urllib.error.URLError:
            return False

    # -- the operator

    def quern(self, *words):
        env = {**os.environ, "REDIS_URL": self.stack.redis.url}
        done = subprocess.run(
            [binary("quern"), *words],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, f"quern {' '.join(words)}: {done.stderr}"
        return done.stdout

    def add_key(self, name, tenant=TENANT, rate=None):
        """The key itself, which is shown once."""
        words = ["key", "add", "--name", name, "--tenant", tenant]
        if rate:
            words += ["--rate", str(rate)]
        [key] = re.findall(r"\bqk_\w{36}\b", self.quern(*words))
        return key

    def add_hook(self, url):
        """The secret of a hook for all ends of the tenant's jobs."""
        words = ["hook", "add", url, "--tenant", TENANT]
        [secret] = re.findall(r"\bwhsec_[\w+/=]+", self.quern(*words))
        return secret

    def deliverer(self):
        """The program that makes deliveries, also to this host and without TLS."""
        program = binary("quern-deliverer")
        if not os.path.exists(program):
            pytest.skip("quern-deliverer is not in this build")
        env = {
            "REDIS_URL": self.stack.redis.url,
            "QUERN_HOOK_PRIVATE": "on",
            "QUERN_HOOK_PLAIN_HTTP": "on",
            "QUERN_HOOK_RETRIES": "100ms,100ms",
        }
        return Process([program], env=env)

    # -- a client

    def start(self, client, verb, given, key=None):
        env = {
            **os.environ,
            "OPENAI_BASE_URL": f"{self.base}/v1",
            "OPENAI_API_KEY": key or self.key,
            "no_proxy": "*",
        }
        out = tempfile.TemporaryFile("w+")
        err = tempfile.TemporaryFile("w+")
        child = subprocess.Popen(
            [*command(client), verb, json.dumps(given)],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            preexec_fn=die_with_parent,
        )
        return child, out, err

    def finish(self, started, timeout=PATIENCE_S):
        """What it saw; a client that never ends has failed."""
        child, out, err = started
        try:
            child.wait(timeout)
        finally:
            child.kill()
            child.wait()
        out.seek(0)
        err.seek(0)
        said = out.read()
        assert child.returncode == 0 and said, (
            f"{child.returncode}: {err.read()[-3000:]}"
        )
        return json.loads(said)

    def run(self, client, verb, given, key=None, timeout=PATIENCE_S):
        return self.finish(self.start(client, verb, given, key), timeout)

    # -- what goes on behind the gateway

    def jobs(self):
        prefix = f"{ROOT}events:".encode()
        keys = self.stack.db.scan_iter(prefix + b"*")
        return {key[len(prefix) :].decode() for key in keys}

    def streaming_job(self, before):
        """The job that is not among those before, once its text has begun."""

        def found():
            for job in self.jobs() - before:
                if "message.delta" in self.stack.types(job):
                    return job
            return None

        return wait_until(found, what="a job whose text has begun")
