"""Ask quern with redis-py and msgpack alone: plain.py QUESTION [FILE]..."""

import hashlib
import os
import secrets
import sys
import time

import msgpack
import redis

ROOT = "quern:{000}:"
ENDS = ("job.completed", "job.incomplete", "job.failed", "job.cancelled")
r = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"))


def new_id():
    """A UUIDv7; the three digits after the 7 are the partition."""
    ms, noise = f"{time.time_ns() // 1_000_000:012x}", secrets.token_hex(8)
    return f"{ms[:8]}-{ms[8:]}-7000-8{noise[:3]}-{noise[3:15]}"


def put(path):
    data = open(path, "rb").read()
    sha = hashlib.sha256(data).hexdigest()
    r.set(f"{ROOT}blob:{sha}", data, ex=86400, nx=True)
    return {"name": os.path.basename(path), "blob": sha, "bytes": len(data)}


def submit(**job):
    job = {"v": 1, "id": new_id(), **job}
    pairs = ["id", job["id"], "job", msgpack.packb(job)]
    for file in job["files"]:
        pairs += ["blob", file["blob"]]  # to live as long as the job
    r.execute_command("FCALL", "quern_v1_submit", 1, ROOT, *pairs)
    return job["id"]


def news(key, last):
    """Subscribe, replay, then live."""
    with r.pubsub() as channel:
        channel.subscribe(key)
        for message in channel.listen():
            if message["type"] == "subscribe":
                yield from (f[b"event"] for _, f in r.xrange(key, f"({last}-0"))
            else:
                yield message["data"]


def follow(id, last=0):
    """Every event once, in order; what is not newer is dropped."""
    while True:
        try:
            for event in map(msgpack.unpackb, news(f"{ROOT}events:{id}", last)):
                if event["seq"] > last:
                    last = event["seq"]
                    yield event
                    if event["type"] in ENDS:
                        return
        except redis.ConnectionError:
            time.sleep(0.1)  # and subscribe again


id = submit(prompt=sys.argv[1], files=[put(path) for path in sys.argv[2:]])
for event in follow(id):
    print(event["seq"], event["type"], event["data"].get("text", ""), file=sys.stderr)
result = msgpack.unpackb(r.get(f"{ROOT}result:{id}"))
for image in result.get("images", []):
    png = r.get(f"{ROOT}blob:{image['blob']}")
    open(os.path.basename(image["name"]), "wb").write(png)
print(result.get("answer") or result["error"]["message"])
