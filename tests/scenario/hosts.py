"""Hosts of their own around one Redis, for sessions that outlive theirs."""

import contextlib

import msgpack
from executor_client import borrow, give_back
from servers import PATIENCE_S
from stack import ROOT, Stack


class Host:
    """An executor, bare as that of a Stack, and a consumer, which serves a queue
    of its own."""

    def __init__(self, stack, name, flags=(), **settings):
        self.stack, self.name, self.settings = stack, name, settings
        self.executor = borrow("--profile", "bare", *flags)
        self.consumer = self.start()

    def start(self, **settings):
        given = {"queues": self.name, **self.settings, **settings}
        return self.stack.consumer(executor=self.executor.path, **given)

    def submit(self, *cells, session="s", **job):
        if cells:
            job = {"kind": "code", "cells": list(cells), **job}
        return self.stack.submit(queue=self.name, session=session, **job)

    def run(self, *cells, timeout=PATIENCE_S, **job):
        return self.stack.result(self.submit(*cells, **job), timeout)

    def cell(self, code, **job):
        """One that ends well."""
        result = self.run(code, **job)
        assert result["status"] == "completed", result
        return result["cells"][0]

    def act(self, do, session="s", files=(), **action):
        return self.run(
            kind="session",
            session=session,
            action={"do": do, **action},
            **({"files": files} if files else {}),
        )

    def kill(self):
        """As the machine's end would."""
        self.consumer.kill()
        self.executor.process.kill()


@contextlib.contextmanager
def hosts(*names, redis=None, **settings):
    made, failed = [], True
    try:
        with Stack(executor=False, redis=redis) as stack:
            for name in names:
                made.append(Host(stack, name, **settings))
            yield made
        failed = False
    finally:
        for host in made:
            give_back(host.executor, failed)


def record(stack, session, tenant="default"):
    found = stack.db.hget(f"{ROOT}session:{tenant}/{session}", "record")
    return found and msgpack.unpackb(found)
