"""Executors that install from a folder of a test's own."""

import os
import pathlib
import tempfile
from contextlib import contextmanager

import pytest
from executor_client import Executor

# What this machine's pip is told is no business of a test.
QUIET = {name: "" for name in os.environ if name.startswith("PIP_")}
QUIET["PIP_CONFIG_FILE"] = "/dev/null"


@pytest.fixture(scope="module")
def scratch():
    """A folder that the warden's user may look into."""
    with tempfile.TemporaryDirectory(prefix="quern-wheels-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


@contextmanager
def installing(scratch, source, *flags, env=None):
    """An executor with a store of its own, for all users to begin with."""
    with tempfile.TemporaryDirectory(prefix="quern-store-", dir="/tmp") as place:
        os.chmod(place, 0o777)
        store = os.path.join(place, "store")
        with Executor(
            *("--profile", "bare", "--packages", str(source)),
            *("--packages-store", store, *flags),
            env={**QUIET, **(env or {})},
        ) as executor:
            executor.store = pathlib.Path(store)
            yield executor
            assert executor.process.alive(), executor.process.text()
            assert executor.stop() == 0
        left = sorted(p.name for p in pathlib.Path(store).iterdir())
        assert left in (["lock", "wheels"], []), "nothing stays but the wheels"


@pytest.fixture
def session(executor, request):
    """Of the test's own, in the executor of its module."""
    session = executor.open(f"s-{abs(hash(request.node.name))}")
    yield session
    session.close()
