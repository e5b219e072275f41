"""A queue of Celery: celery_peer.py producer, or celery -A celery_peer worker.

REDIS_SOCKET says where Redis is. The producer reads "N VERB" a line and prints
what came of it as JSON: trips, the milliseconds of each; one and many, the
seconds of all.
"""

import os

from celery import Celery
from peer_producer import serve

URL = "redis+socket://" + os.environ["REDIS_SOCKET"]
app = Celery("bench", broker=URL, backend=URL)
app.conf.update(
    task_acks_late=True,
    result_expires=24 * 3600,
    worker_prefetch_multiplier=64,
    broker_connection_retry_on_startup=True,
)


@app.task(name="empty")
def empty(text=""):
    return ""


def trip():
    empty.delay().get(timeout=60)


def one(count):
    for _ in range(count):
        empty.delay()


def many(count, text=""):
    """On one connection; Celery has no call for many."""
    with app.producer_or_acquire() as producer:
        for _ in range(count):
            empty.apply_async((text,), producer=producer)


if __name__ == "__main__":
    serve(trip=trip, one=one, many=many)
