"""A queue of taskiq-redis: taskiq_peer.py producer, or taskiq worker
taskiq_peer:broker. REDIS_SOCKET says where Redis is; see peer_producer.py."""

import asyncio
import os

from peer_producer import answer_lines
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

BATCH = 100  # on their way at once
URL = "unix://" + os.environ["REDIS_SOCKET"]
broker = RedisStreamBroker(URL, consumer_id="0").with_result_backend(
    RedisAsyncResultBackend(URL, result_ex_time=24 * 3600)
)


@broker.task(task_name="empty")
async def empty(text=""):
    return ""


async def trip():
    task = await empty.kiq()
    await task.wait_result(check_interval=0.0005, timeout=60)


async def one(count):
    for _ in range(count):
        await empty.kiq()


async def many(count, text=""):
    for at in range(0, count, BATCH):
        await asyncio.gather(*(empty.kiq(text) for _ in range(min(BATCH, count - at))))


async def main():
    await broker.startup()
    await answer_lines(trip, one, many)
    await broker.shutdown()


if __name__ == "__main__":
    asyncio.run(main())
