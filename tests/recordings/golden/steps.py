"""What happens to a job while it runs: each step waits for its moment."""

import signal
import time

from servers import wait_until
from wire import Loss


def when(type, count=1):
    """An event of that type has been told so often."""

    def wait(scene):
        wait_until(
            lambda: scene.stack.types(scene.id).count(type) >= count,
            what=f"{count} {type} of {scene.row.name}",
        )

    return wait


def when_asked(count=1):
    """The model has been asked so often, for this job."""

    def wait(scene):
        wait_until(
            lambda: scene.stack.model.counts()["total"] >= count,
            what=f"request {count} of {scene.row.name}",
        )

    return wait


def a_while(ms):
    return lambda scene: time.sleep(ms / 1000)


def consumer_killed(scene):
    """And another one takes over."""
    scene.studio.kill_consumer()
    scene.studio.hire(scene.row.house)


def consumer_killed_at(command, which=1, answered=False):
    """At its so many-th command of that name to Redis, which is lost; or its
    answer is."""

    def wait(scene):
        scene.wait_for_cut()
        scene.studio.hire(scene.row.house)

    wait.place = command, which
    wait.loss = Loss.ANSWER if answered else Loss.COMMAND
    return wait


def consumer_told_to_leave(scene):
    """It hands the job back, and another one goes on."""
    consumer = scene.studio.consumer
    consumer.signal(signal.SIGTERM)
    consumer.wait_for('"drain"')
    consumer.signal(signal.SIGTERM)
    consumer.wait()
    scene.studio.hire(scene.row.house)


def executor_killed(scene):
    """And another one, without any of the sessions, takes its place."""
    scene.studio.replace_executor(*scene.studio.executor_flags)


def executor_with(*flags):
    def replace(scene):
        scene.studio.replace_executor(*flags)

    return replace


def library_broken(name):
    """That function of it fails, whoever calls it."""

    def change(scene):
        scene.studio.load_library(
            lambda text: text.replace(
                f'register("{name}", {name}',
                f'register("{name}", function(_, args) return args.none.such end',
            )
        )

    return change


def meanwhile(**job):
    """Another job is submitted, and not waited for."""
    return lambda scene: scene.stack.submit(**job)


def cancelled(reason=""):
    def cancel(scene):
        scene.stack.call("cancel", scene.id, *([reason] if reason else []))

    return cancel


def requeued(*how):
    """As an operator brings back a job that has failed."""

    def bring_back(scene):
        assert scene.stack.call("requeue", scene.id, *how) == b"queued"

    return bring_back


def person_says(verdict, note="", text=""):
    """To the next question."""

    def answer(scene):
        scene.questions += 1
        when("job.waiting", scene.questions)(scene)
        said = scene.stack.call("approve", scene.id, verdict, note, "", text)
        assert said == b"queued", (scene.row.name, verdict, said)

    return answer


def queue(**settings):
    """An operator's settings of the queue, from here on."""
    pairs = [word for pair in settings.items() for word in pair]
    return lambda scene: scene.stack.call("queue_set", "default", *pairs)


def tenant(name, **settings):
    pairs = [word for k, v in settings.items() for word in (f"{k}:{name}", v)]
    return lambda scene: scene.stack.call("queue_set", "default", *pairs)


def blob_changed(name):
    """Of one of its files: the key has other bytes than it says."""

    def change(scene):
        [file] = [f for f in scene.job["files"] if f["name"] == name]
        scene.stack.db.set(f"quern:{{000}}:blob:{file['blob']}", b"false", ex=3600)

    return change


def blob_of_another_type(name):
    """Of one of its files: what is there is no string."""

    def change(scene):
        [file] = [f for f in scene.job["files"] if f["name"] == name]
        key = f"quern:{{000}}:blob:{file['blob']}"
        scene.stack.db.delete(key)
        scene.stack.db.sadd(key, "x")

    return change


def blob_written(data):
    """By a producer, or an earlier job."""
    return lambda scene: scene.stack.blob(data)


def blobs_deleted(scene):
    for key in scene.stack.db.keys("quern:{000}:blob:*"):
        scene.stack.db.delete(key)
