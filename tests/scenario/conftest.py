"""What the tests of the transitions share, those of the command, those of cells,
those of sessions, and those of all of quern."""

import signal

import pytest
from command import Command
from executor_client import Executor
from gateway import Gateway
from hosts import hosts
from library import Library
from servers import RedisServer
from stack import Stack
from standin import PNG, ROOT, SHA, StandIn


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


# --- the command: a real Redis, and a stand-in for the consumer


def out_of_time(*_):
    raise TimeoutError("the test has not ended in time")


@pytest.fixture
def ends():
    """No test waits for ever for what does not come."""
    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(180)
    yield
    signal.alarm(0)


@pytest.fixture(scope="module")
def server():
    with RedisServer(aof=True) as server:
        yield server


@pytest.fixture
def redis(server):
    with server.client() as client:
        client.flushall()
        client.set(f"{ROOT}blob:{SHA}", PNG)
        yield client


@pytest.fixture
def consumer(redis):
    return StandIn(redis)


@pytest.fixture
def quern(server, tmp_path):
    return Command(server.url, tmp_path)


# --- cells: an executor for all tests of a module


@pytest.fixture(scope="module")
def profile(request):
    """PROFILE of the module: most of them need no libraries, and these take
    seconds to load."""
    return getattr(request.module, "PROFILE", "bare")


@pytest.fixture(scope="module")
def executor(profile):
    with Executor("--profile", profile) as executor:
        yield executor


@pytest.fixture
def session(executor, request):
    session = executor.open(f"s{abs(hash(request.node.name))}")
    yield session
    session.close()


# --- sessions: two hosts, for all tests of a module


@pytest.fixture(scope="module")
def pair():
    with hosts("a", "b") as made:
        yield made


@pytest.fixture
def name(request):
    """A session of the test's own."""
    return f"s-{abs(hash(request.node.name))}"


# --- all of quern with a consumer, for all tests of a module


@pytest.fixture(scope="module")
def stack(profile):
    with Stack(profile=profile) as stack:
        stack.consumer()
        yield stack


@pytest.fixture(scope="module")
def gateway(stack, request):
    """With the settings GATEWAY of the module."""
    with Gateway(stack.redis.url, **getattr(request.module, "GATEWAY", {})) as gateway:
        gateway.ready()
        yield gateway
        gateway.drain()
