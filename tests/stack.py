"""The whole of quern for a test: Redis, practice model, executor, consumers.

    with Stack() as stack:
        stack.consumer()
        job = stack.submit(prompt="hello")
        result = stack.result(job)

Jobs go in and results come out with nothing but redis-py and msgpack, as any
other service would do it.
"""

import hashlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time

import msgpack
from executor_client import borrow, give_back
from practice_model import PracticeModel
from servers import BUILD, PATIENCE_S, Process, binary, redis_of_kind, wait_until

ROOT = "quern:{000}:"
DRAINED = 3  # the exit status of a worker that operators have drained
TERMINAL = {"completed", "incomplete", "failed", "cancelled"}


def job_id():
    """A UUIDv7 of partition 000."""
    at = int(time.time() * 1000)
    a, b = f"{at:012x}", secrets.token_hex(8)
    return f"{a[:8]}-{a[8:]}-7000-8{b[:3]}-{b[3:15]}"


class Stack:
    """What it starts it ends, but for its executor, which the next one may have.
    executor=False: it has none, and consumers look for none. server: a Redis that is not of the kind which QUERN_REDIS
    names. profile: what the executor's interpreters have loaded; "science" takes
    seconds to load, and a bare one can import the same packages."""

    def __init__(
        self,
        executor=True,
        script=None,
        redis=None,
        server=None,
        profile="bare",
        **settings,
    ):
        self.folder = tempfile.mkdtemp(prefix="quern-stack-", dir="/tmp")
        self.redis = server or redis_of_kind(**(redis or {}))
        self.db = self.redis.client()
        with open(os.path.join(BUILD, "schemas", "redis", "library.lua")) as library:
            self.db.function_load(library.read(), replace=True)
        self.model = PracticeModel(script)
        self.settings = settings
        self.profile = profile
        self.consumers = []
        # As root the executor is somebody else; it makes the inner folder.
        os.chmod(self.folder, 0o755)
        self.socket = os.path.join(self.folder, "run", "executor.sock")
        self.executor = self.borrowed = None
        if executor:
            self.take_executor()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        processes = [*self.consumers, self.executor]
        if kind is not None:
            for process in filter(None, processes):
                print(f"--- {process.args[0]}\n{process.text()[-6000:]}")
        codes = [self.dismiss(consumer) for consumer in self.consumers]
        if self.borrowed:
            give_back(self.borrowed, failed=kind is not None)
        elif self.executor:
            self.executor.stop()
        self.model.stop()
        self.redis.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        if kind is None:
            assert set(codes) <= {0, DRAINED, -signal.SIGKILL}, f"they ended with {codes}"

    @staticmethod
    def dismiss(consumer):
        """Its exit code: by now it may leave as it likes, but not leak."""
        if consumer.alive():
            consumer.signal(signal.SIGTERM)
            consumer.wait_for('"drain"')
            consumer.signal(signal.SIGTERM)
        try:
            return consumer.wait()
        except subprocess.TimeoutExpired:
            return consumer.kill() and "did not end"

    # -- processes

    def take_executor(self):
        """One that another stack may have had before."""
        self.borrowed = borrow("--profile", self.profile)
        self.socket, self.executor = self.borrowed.path, self.borrowed.process

    def start_executor(self, *flags):
        """One of its own, or once more the one that it has taken."""
        if self.borrowed:
            assert not flags, "those that others will have are alike"
            self.borrowed.restart()
            self.executor = self.borrowed.process
            return self.executor
        if self.executor and self.executor.alive():
            self.executor.stop()
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        args = [binary("quern-executor"), "--executor", self.socket]
        args += ["--profile", self.profile, *flags]
        self.executor = Process(args).start()
        self.executor.wait_for('"executor.ready"')
        return self.executor

    def consumer(self, **settings):
        """One more consumer; settings as in QUERN_..., lower case, with their
        units; env: other variables."""
        given = {
            "lease": "3s",
            "backoff": "50ms",
            **self.settings,
            **settings,
        }
        redis_url = given.pop("redis_url", self.redis.url)
        executor = given.pop("executor", self.socket if self.executor else "none")
        program = given.pop("program", binary("quern-consumer"))
        more = given.pop("env", {})
        env = {f"QUERN_{k.upper()}": str(v) for k, v in given.items()}
        env.update(
            REDIS_URL=redis_url,
            OPENAI_BASE_URL=self.model.url,
            OPENAI_MODEL="practice",
            QUERN_EXECUTOR=executor,
            no_proxy="*",
        )
        env.update(more)
        process = Process([program], env=env).start()
        self.consumers.append(process)
        process.wait_for('"ready"')
        return process

    # -- jobs

    def call(self, name, *args):
        return self.db.execute_command("FCALL", f"quern_v1_{name}", 1, ROOT, *args)

    def blob(self, data):
        name = hashlib.sha256(data).hexdigest()
        self.db.set(f"quern:{{000}}:blob:{name}", data, ex=3600)
        return name

    def file(self, name, data, mime="text/csv"):
        return {
            "name": name,
            "blob": self.blob(data),
            "bytes": len(data),
            "mime": mime,
        }

    def submit(self, body=None, pairs=None, **job):
        """The job's id. body: bytes as they are, instead of a job; who sends
        them says all that is said beside them."""
        id = job.pop("id", None) or job_id()
        given = {"id": id, "job": body}
        if body is None:
            given["job"] = msgpack.packb({"v": 1, "id": id, **job})
        else:
            given.update(pairs="all", **job)
        given.update(pairs or {})
        answer = self.call("submit", *[x for pair in given.items() for x in pair])
        assert answer[1] in (b"created", b"exists"), answer
        return id

    def facts(self, job):
        hash = self.db.hgetall(f"{ROOT}job:{job}")
        return {k.decode(): v.decode() for k, v in hash.items()}

    def state(self, job):
        return self.facts(job).get("state")

    def result(self, job, timeout=PATIENCE_S):
        try:
            wait_until(
                lambda: self.state(job) in TERMINAL, timeout, f"the end of job {job}"
            )
        except TimeoutError as error:
            events = [(e["at"], e["type"], e["data"]) for e in self.events(job)]
            raise TimeoutError(f"{error}: {self.facts(job)}, {events}") from None
        return msgpack.unpackb(self.db.get(f"{ROOT}result:{job}"))

    def run(self, timeout=PATIENCE_S, **job):
        return self.result(self.submit(**job), timeout)

    def events(self, job):
        entries = self.db.xrange(f"{ROOT}events:{job}")
        return [msgpack.unpackb(fields[b"event"]) for _, fields in entries]

    def types(self, job):
        return [event["type"] for event in self.events(job)]

    def wait_event(self, job, type, timeout=PATIENCE_S):
        """The first event of that type."""

        def found():
            return next((e for e in self.events(job) if e["type"] == type), None)

        return wait_until(found, timeout, f"event {type} of {job}")

    def bytes_of(self, ref):
        """The blob that an image or file names, checked against its name."""
        data = self.db.get(f"quern:{{000}}:blob:{ref['blob']}")
        assert data is not None, ref
        assert hashlib.sha256(data).hexdigest() == ref["blob"]
        assert len(data) == ref.get("bytes", 0)
        return data

    def check_events(self, job):
        """Contiguous, the stream's ids are the numbers, the end comes last."""
        entries = self.db.xrange(f"{ROOT}events:{job}")
        events = [msgpack.unpackb(fields[b"event"]) for _, fields in entries]
        for number, ((id, _), event) in enumerate(zip(entries, events), 1):
            assert id == b"%d-0" % number, (id, number)
            assert event["seq"] == number
        ends = [e["type"] for e in events if e["type"][4:] in TERMINAL]
        assert len(ends) == 1 and events[-1]["type"] == ends[0], ends
        return events

    def is_quiet(self):
        """Nothing waits, nothing runs."""
        if self.db.exists(f"{ROOT}leases:default"):
            return False
        for priority in ("high", "normal", "low"):
            stream = f"{ROOT}work:default:{priority}"
            if self.db.exists(stream) and self.db.xlen(stream):
                return False
        return True


def call_of(code, id="c1", name="execute_python_code", index=0):
    """A tool call for the practice model's script."""
    return {
        "id": id,
        "index": index,
        "name": name,
        "arguments": json.dumps({"code": code}),
    }
