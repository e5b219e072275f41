"""Submits jobs and takes them back, as a careful service does."""

import hashlib
import time

import msgpack
import redis
from jobs import ROOT
from stack import job_id

PATIENCE_S = 60
UNKNOWN = (redis.ConnectionError, redis.TimeoutError)


def upload(db, blob, data):
    """For a day at least; what is there already may be false."""
    if not db.set(blob, data, ex=86400, nx=True):
        db.set(blob, data, xx=True, keepttl=True)
        db.expire(blob, 86400, gt=True)
    return True


class Client:
    """Submits as a careful service does: again, until it is told what became of
    it. Every answer is noted."""

    def __init__(self, history, follower, connect):
        self.history, self.follower = history, follower
        self.db = connect()
        self.accepted = set()

    def call(self, name, *args, root=ROOT):
        return self.db.execute_command("FCALL", f"quern_v1_{name}", 1, root, *args)

    def submit(self, made, root=ROOT):
        """The ids that stand for it, of every copy."""
        stands = [self.submit_one(made, root) for _ in range(made.copies)]
        if made.cancel and stands[0]:
            self.cancel(stands[0], root)
        return stands

    def submit_one(self, made, root=ROOT):
        id = job_id()
        files = [self.put(made.file, root)] if made.file else []
        pairs = pairs_of(id, made, files)
        self.follower.follow(root, id)
        self.history.note(
            "submit",
            job=id,
            token=made.token,
            expect=made.expect,
            tenant=made.tenant,
            session=made.session,
            key=made.key,
            failures=made.failures,
        )
        args = [part for pair in pairs for part in pair]
        return self.until_told("answer", id, lambda: self.say_submit(id, args, root))

    def put(self, data, root):
        """Its bytes, before the job that names them."""
        sha256 = hashlib.sha256(data).hexdigest()
        blob = f"{root}blob:{sha256}"
        self.until_told("put", sha256, lambda: upload(self.db, blob, data))
        return {"name": "a.txt", "blob": sha256, "bytes": len(data)}

    def say_submit(self, id, args, root):
        stands, verdict = self.call("submit", *args, root=root)
        stands = stands.decode()
        self.history.note("answer", job=id, verdict=verdict.decode(), stands=stands)
        self.accepted.add(stands)
        if stands != id:
            self.follower.open.pop(id, None)
        return stands

    def cancel(self, id, root=ROOT):
        def say():
            verdict = self.call("cancel", id, "not wanted", root=root).decode()
            self.history.note("cancel", job=id, verdict=verdict)
            return verdict

        return self.until_told("cancel", id, say)

    def approve(self, id, yes, root=ROOT):
        verdict = "approve" if yes else "reject"
        return self.until_told(
            "approve", id, lambda: self.call("approve", id, verdict, root=root)
        )

    def requeue(self, id, root=ROOT):
        self.history.note("requeue", job=id)
        self.follower.revive(root, id)
        return self.until_told(
            "requeued", id, lambda: self.call("requeue", id, root=root)
        )

    def until_told(self, what, id, say):
        """None when the fleet did not take it in all that time."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                return say()
            except redis.BusyLoadingError:
                self.history.note(what, job=id, verdict="refused", word="LOADING")
            except UNKNOWN:
                self.history.note(what, job=id, verdict="unknown")
            except redis.ResponseError as error:
                word = type(error).__name__ + " " + str(error)[:60]
                self.history.note(what, job=id, verdict="refused", word=word)
            time.sleep(0.05)
        return None


def body_of(id, made, files=()):
    if made.raw is not None:
        return made.raw
    job = {"v": 1, "id": id, "metadata": {"token": made.token}, **made.members}
    said = {
        "tenant": made.tenant,
        "session": made.session,
        "priority": made.priority,
        "idempotency_key": made.key,
        "queue": made.pairs.get("queue"),
        "not_before": made.pairs.get("not_before"),
    }
    job.update({name: value for name, value in said.items() if value is not None})
    if "deadline_ms" in made.pairs:
        limits = {"deadline_ms": made.pairs["deadline_ms"]}
        job["limits"] = {**limits, **job.get("limits", {})}
    if files:
        job["files"] = files
    return msgpack.packb(job)


def pairs_of(id, made, files):
    """What submit is told: all of it, or no more than its job leaves open."""
    pairs = {
        "id": id,
        "job": body_of(id, made, files),
        "unique_key": made.unique,
        **made.pairs,
    }
    said = {
        "priority": made.priority,
        "tenant": made.tenant,
        "session": made.session,
        "idempotency_key": made.key,
    }
    is_short = made.raw is None and int(id[-1], 16) % 2
    if is_short:
        pairs.pop("deadline_ms", None)
    else:
        pairs.update(said, pairs="all")
    told = [(name, value) for name, value in pairs.items() if value is not None]
    return told + [("blob", file["blob"]) for file in files if not is_short]
