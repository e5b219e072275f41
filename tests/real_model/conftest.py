"""One server for all tests, and what it served kept beside it."""

import pytest

from real_model import served
from real_model.server import RealModel
from real_model.tap import Tap


@pytest.fixture(scope="session")
def model():
    with RealModel() as model:
        yield model
        served.keep(model.version)


@pytest.fixture(scope="session")
def tap(model):
    with Tap(model.port) as tap:
        yield tap
