"""What the tests of the transitions share."""

import pytest
from library import Library
from servers import RedisServer


@pytest.fixture(scope="module")
def queue_server():
    with RedisServer() as server:
        yield server


@pytest.fixture
def queue(queue_server):
    """An empty server with the library; what a test leaves must be sound."""
    client = queue_server.client()
    client.flushall()
    queue = Library(client).load()
    yield queue
    queue.check()
    client.close()
