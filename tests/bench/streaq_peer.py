"""A queue of streaQ: streaq_peer.py producer, or streaq run
streaq_peer:worker. REDIS_SOCKET says where Redis is; see peer_producer.py."""

import os

import anyio
from peer_producer import answer_lines
from streaq import Worker

worker = Worker(
    redis_url="unix://" + os.environ["REDIS_SOCKET"],
    concurrency=int(os.environ.get("CONCURRENCY", "32")),
)


@worker.task(ttl=24 * 3600)
async def empty(text=""):
    return ""


async def trip():
    task = await empty.enqueue()
    await task.result(60)


async def one(count):
    for _ in range(count):
        await empty.enqueue()


async def many(count, text=""):
    await worker.enqueue_many([empty.enqueue(text) for _ in range(count)])


async def main():
    async with worker:
        await answer_lines(trip, one, many)


if __name__ == "__main__":
    anyio.run(main)
