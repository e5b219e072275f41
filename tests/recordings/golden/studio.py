"""The whole of quern, for one job after another, each of which is recorded.

    with Studio(folder) as studio:
        studio.record(row)

Each job has a Redis that is empty and a consumer of its own: what one endpoint
or session has come to is nobody else's.
"""

import json
import os
import shutil
import tempfile
from mimetypes import guess_type
from pathlib import Path

import msgpack
from command import Command
from golden.houses import HOUSES, Pages, write_models, write_prompts, write_tools
from servers import BUILD
from stack import ROOT, Stack, job_id
from test_tools_mcp_wire import Server, text, tool
from wire import Wire

LARGEST = 100_000  # bytes of one recording


class Scene:
    """A job of a row, as it goes on."""

    def __init__(self, studio, row):
        self.studio, self.stack, self.row = studio, studio.stack, row
        self.id, self.questions, self.wire = job_id(), 0, None
        self.job = {"v": 1, "id": self.id, **studio.job_of(row.job)}
        if speaks_for_itself(row):
            self.job["prompt"] = f"of {row.name}"

    def packed(self):
        return self.row.body(self.id) if self.row.body else msgpack.packb(self.job)

    def wait_for_cut(self):
        cut = self.wire.cut.wait(30)
        assert cut, f"there were only {sorted(self.wire.counts)}"


def speaks_for_itself(row):
    given = {"prompt", "messages", "files", "cells", "action", "kind"}
    return not given & set(row.job)


def is_step(item):
    return callable(item)


def is_told_apart(result):
    """A replay does not compare what Redis has written, in which no time is; so
    what a consumer has written needs some."""
    of_redis = {"crashed", "deadline_exceeded", "not_approved"}
    failed = result["status"] == "failed" and result["error"]["code"] not in of_redis
    return not failed or result.get("timings", {}).get("total", 0) > 0


class Studio:
    def __init__(self, folder, *executor_flags):
        self.folder = Path(folder)
        self.own = Path(tempfile.mkdtemp(prefix="quern-golden-", dir="/tmp"))
        self.pages, self.weather = Pages(), Server(["say", "book"])
        self.weather.answers["say"] = text("It rains.")
        self.weather.answers["book"] = {**text("all seats are taken"), "isError": True}
        self.stack = self.consumer = None
        self.executor_flags = self.usual_flags = executor_flags

    def __enter__(self):
        self.pages.__enter__()
        self.weather.__enter__()
        self.stack = Stack(executor=False, profile="science")
        self.stack.start_executor(*self.usual_flags)
        self.quern = Command(self.stack.redis.url, self.own)
        write_models(self.own, self.stack.model.url)
        write_tools(self.own, self.pages.url, self.weather.url)
        write_prompts(self.own)
        return self

    def __exit__(self, *why):
        self.stack.__exit__(*why)
        self.weather.__exit__(*why)
        self.pages.__exit__(*why)
        shutil.rmtree(self.own, ignore_errors=True)

    # -- what is there beside consumers

    def replace_executor(self, *flags):
        self.executor_flags = flags
        self.stack.executor.kill()
        self.stack.start_executor(*flags)

    def load_library(self, change=lambda text: text):
        path = Path(BUILD) / "schemas" / "redis" / "library.lua"
        text = path.read_text()
        self.stack.db.function_load(change(text), replace=True)

    def clear(self):
        """As if there had been no job before."""
        self.let_go()
        self.stack.db.flushall()
        self.load_library()
        if self.executor_flags != self.usual_flags:
            self.replace_executor(*self.usual_flags)

    # -- consumers

    def hire(self, house, **more):
        settings = HOUSES[house](self)
        self.consumer = self.stack.consumer(**{**settings, **more})

    def kill_consumer(self):
        self.consumer.kill()

    def let_go(self):
        for consumer in self.stack.consumers:
            self.stack.dismiss(consumer)
        self.stack.consumers.clear()

    def serve(self, scene):
        """By way of a wire, where one of its commands is to be lost."""
        places = [step for step in scene.row.during if hasattr(step, "place")]
        if not places:
            self.hire(scene.row.house)
            return
        [step] = places
        scene.wire = Wire(self.stack.redis.socket).__enter__()
        self.hire(scene.row.house, redis_url=scene.wire.url)
        scene.wire.cut_at(step.place, step.loss, self.kill_consumer)

    # -- jobs

    def job_of(self, given):
        """With blobs of its files, and times that are of now."""
        job = {k: v() if callable(v) else v for k, v in given.items()}
        if isinstance(job.get("files"), dict):
            job["files"] = [self.file(*pair) for pair in job["files"].items()]
        return job

    def file(self, name, data):
        return self.stack.file(name, data, guess_type(name)[0] or "text/plain")

    def script(self, replies):
        """A URL in them may be of our pages."""
        said = json.dumps(replies).replace("http://pages", self.pages.url)
        replies = json.loads(said)
        self.stack.model.script([{"match": "", "in_order": True, "replies": replies}])
        self.stack.model.reset()

    def prepare(self, scene):
        """What was there before the job."""
        for item in scene.row.before:
            if is_step(item):
                item(scene)
                continue
            says, job = item
            self.script(says)
            self.stack.run(**self.job_of(job))
        self.script(scene.row.says)

    def play(self, row):
        """The job, from its submit to its end."""
        self.clear()
        scene = Scene(self, row)
        self.serve(scene)
        self.prepare(scene)
        about = {"id": scene.id, "job": scene.packed(), **(row.pairs or {})}
        if row.body:
            about["pairs"] = "all"
        self.stack.call("submit", *[word for pair in about.items() for word in pair])
        for step in row.during:
            step(scene)
        result = self.stack.result(scene.id)
        if scene.wire:
            self.let_go()
            scene.wire.__exit__()
        return scene, result

    # -- recordings

    def record(self, row):
        """Its file: made by quern, looked at, and in its place."""
        scene, result = self.play(row)
        code = result.get("error", {}).get("code", "")
        ended = f"{result['status']} {code}".strip()
        assert ended == row.end, f"it ended {ended}: {result.get('error')}"
        assert is_told_apart(result), "it took no time: make it again"
        path = self.own / f"{row.name}.jsonl"
        self.save(scene, path)
        found = path.read_text()
        for words in row.shows:
            assert words in found.replace(
                '\\"', '"'
            ), f"it has no {words!r}; it is {path.name}"
        for hidden in (str(self.own), self.stack.folder, os.uname().nodename + "-"):
            assert hidden not in found, f"it tells {hidden}"
        assert len(found) < LARGEST, (
            f"it has {len(found)} bytes, and may have {LARGEST}: leave this case to a scenario"
        )
        return shutil.copy(path, self.folder)

    def save(self, scene, path):
        """Of a job without a journal Redis has dropped the body: here it is."""
        self.stack.db.set(f"{ROOT}body:{scene.id}", scene.packed(), nx=True)
        [outcome] = self.quern.json("replay", scene.id, "--save", path)
        assert outcome["equal"], outcome["first_difference"]["diff"]
