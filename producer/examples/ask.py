import os, secrets, time, msgpack, redis

r, ROOT = redis.Redis.from_url(os.environ["REDIS_URL"]), "quern:{000}:"
ms, tail = f"{time.time_ns() // 10**6:012x}", secrets.token_hex(8)
job = f"{ms[:8]}-{ms[8:]}-7000-8{tail[:3]}-{tail[3:15]}"  # UUIDv7 of partition 000
body = msgpack.packb({"v": 1, "id": job, "prompt": "How many primes are there below 1000?"})
r.execute_command("FCALL", "quern_v1_submit", 1, ROOT, "id", job, "job", body)
seq, type, ends = 0, "", ("job.completed", "job.incomplete", "job.failed", "job.cancelled")
while type not in ends and r.exists(f"{ROOT}job:{job}"):
    for _, entries in r.xread({f"{ROOT}events:{job}": f"{seq}-0"}, block=5000):
        for _, fields in entries:
            event = msgpack.unpackb(fields[b"event"])
            seq, type = event["seq"], event["type"]
            print(type, event["data"])
result = msgpack.unpackb(r.get(f"{ROOT}result:{job}") or b"\x80")
error = result.get("error", {"message": result.get("status", f"no result of job {job}")})
print(result.get("answer") or error["message"])
