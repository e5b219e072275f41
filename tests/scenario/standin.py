"""A consumer in a few lines, driven by a test step by step.

It goes through the real transitions, so what a client sees is what it sees of
quern-consumer; only the work is the test's.
"""

import hashlib

import msgpack

ROOT = "quern:{000}:"
LEASE_MS = 60000


# A picture that a job may have made.
PNG = b"\x89PNG\r\n\x1a\n" + b"not much of a picture"
SHA = hashlib.sha256(PNG).hexdigest()
IMAGE = {
    "name": "figure-1.png",
    "mime": "image/png",
    "blob": SHA,
    "bytes": len(PNG),
    "width": 640,
    "height": 480,
}


class StandIn:
    def __init__(self, client, name="stand-in", queue="default"):
        self.redis = client
        self.name = name
        self.stream = f"{ROOT}work:{queue}:normal"
        self.redis.xgroup_create(self.stream, "consumers", id="0", mkstream=True)

    def take(self, timeout_ms=60000):
        """Waits for a job and starts it."""
        self.redis.client_setname("quern-consumer-claim")  # doctor counts these
        streams = self.redis.xreadgroup(
            "consumers", self.name, {self.stream: ">"}, count=1, block=timeout_ms
        )
        assert streams, "no job came"
        entry = streams[0][1][0][0]
        about = (self.name, LEASE_MS, 2, 1)
        reply = self.call("take", *about, "entry", self.stream, entry)[0]
        assert reply[0] == 1, reply
        return Holding(self, reply[2].decode(), reply[3], msgpack.unpackb(reply[10]))

    def call(self, name, *args):
        return self.redis.execute_command("FCALL", f"quern_v1_{name}", 1, ROOT, *args)


class Holding:
    """A started job."""

    def __init__(self, owner, id, epoch, job):
        self.owner, self.id, self.epoch, self.job = owner, id, epoch, job

    def event(self, type, **data):
        args = (self.id, self.epoch, type, msgpack.packb(data))
        return self.owner.call("event", *args)

    def finish(self, state="completed", error=None, **result):
        result = {"v": 1, "id": self.id, "status": state, "attempts": 1, **result}
        data = {"ms": 1, "answer": result.get("answer", "")}
        if error:
            result["error"] = data["error"] = error
        self.owner.call(
            "finish",
            self.id,
            self.epoch,
            state,
            msgpack.packb(result),
            msgpack.packb(data),
            error["code"] if error else "",
            0,
            0,
        )
