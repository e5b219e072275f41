"""A name server that does not answer: what waits for it holds up nothing else."""

import os
import time

import pytest
from internet import Internet
from servers import wait_until
from stack import Stack

SILENT = "silent.test"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a namespace")


def test_a_request_is_given_up_while_its_name_is_looked_up():
    """Before: the consumer stood still until the look-up was over, here for 30 s."""
    with Internet({}, [], []) as internet, Stack(executor=False) as stack:
        internet.silent.add(SILENT)
        stack.consumer(env={"OPENAI_BASE_URL": f"http://{SILENT}/v1"})
        job = stack.submit(prompt="hello")
        wait_until(lambda: internet.asked[SILENT], what="the look-up")
        began = time.monotonic()
        stack.call("cancel", job)
        assert stack.result(job)["status"] == "cancelled"
        assert time.monotonic() - began < 15
