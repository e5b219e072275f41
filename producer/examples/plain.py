"""Ask quern with redis-py and msgpack alone: plain.py QUESTION [FILE]...

"Function not found" means that nobody has used this Redis yet: run any quern
verb (quern queue ls) or a quern-consumer once.
"""

import hashlib
import os
import secrets
import sys
import time

import msgpack
import redis

ROOT = "quern:{000}:"
ONGOING = ("scheduled", "queued", "in_progress", "waiting")
ENDS = ("job.completed", "job.incomplete", "job.failed", "job.cancelled")
r = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"))


def new_id():
    """A UUIDv7; the three digits after the 7 are the partition."""
    ms, noise = f"{time.time_ns() // 1_000_000:012x}", secrets.token_hex(8)
    return f"{ms[:8]}-{ms[8:]}-7000-8{noise[:3]}-{noise[3:15]}"


def put(path):
    data = open(path, "rb").read()
    sha = hashlib.sha256(data).hexdigest()
    key = f"{ROOT}blob:{sha}"
    if not r.set(key, data, ex=86400, nx=True):
        r.set(key, data, xx=True, keepttl=True)  # what is there may be false
        r.expire(key, 86400, gt=True)
    return {"name": os.path.basename(path), "blob": sha, "bytes": len(data)}


def submit(**job):
    job = {"v": 1, "id": new_id(), **job}
    pairs = ["id", job["id"], "job", msgpack.packb(job)]
    for file in job["files"]:
        pairs += ["blob", file["blob"]]  # to live as long as the job
    r.execute_command("FCALL", "quern_v1_submit", 1, ROOT, *pairs)
    return job["id"]


def news(id, last):
    """Subscribe, replay, then live."""
    key = f"{ROOT}events:{id}"
    with r.pubsub() as channel:
        channel.subscribe(key)
        for message in channel.listen():
            if message["type"] == "subscribe":
                state = (r.hget(f"{ROOT}job:{id}", "state") or b"unknown").decode()
                yield from (f[b"event"] for _, f in r.xrange(key, f"({last}-0"))
                if state not in ONGOING:  # and its last event did not come
                    sys.exit(f"job {id} is {state}, its events are not kept")
            else:
                yield message["data"]


def follow(id, last=0):
    """Every event once, in order; what is not newer is dropped."""
    while True:
        try:
            for event in map(msgpack.unpackb, news(id, last)):
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
    if hashlib.sha256(png or b"").hexdigest() != image["blob"]:
        sys.exit(f"{image['name']}: its bytes are gone, or are not what was drawn")
    open(os.path.basename(image["name"]), "wb").write(png)
error = result.get("error", {"message": result["status"]})
print(result.get("answer") or error["message"])
