"""Submits jobs and takes them back, as a careful service does."""

import time

import msgpack
import redis
from jobs import ROOT
from stack import job_id

PATIENCE_S = 60
UNKNOWN = (redis.ConnectionError, redis.TimeoutError)


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
        pairs = {"id": id, "job": body_of(id, made), **made.pairs}
        if made.key:
            pairs["idempotency_key"] = made.key
        if made.session:
            pairs["session"] = made.session
        self.follower.follow(root, id)
        self.history.note(
            "submit",
            job=id,
            token=made.token,
            expect=made.expect,
            session=made.session,
            key=made.key,
        )
        args = [part for pair in pairs.items() for part in pair]
        return self.until_told("answer", id, lambda: self.say_submit(id, args, root))

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


def body_of(id, made):
    if made.raw is not None:
        return made.raw
    metadata = {"token": made.token}
    return msgpack.packb({"v": 1, "id": id, "metadata": metadata, **made.members})
