"""deploy/compose.yaml, run as it is written: users, read-only roots, networks,
volumes, health checks and the security of each container."""

import json
import os
import re

import pytest
from composed import Compose
from container import RUNTIMES
from servers import SOURCE

FILE = os.path.join(SOURCE, "deploy", "compose.yaml")

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not RUNTIMES, reason="needs root, and crun or runc"
)


@pytest.fixture(scope="module")
def project():
    # Names of containers come from the engine's DNS, which Prometheus asks.
    with Compose(FILE, without=["prometheus"]) as project:
        project.up()
        yield project


def test_a_question_is_answered(project):
    done = project.run("quern", "run", "```python\nprint(6 * 7)\n```")
    assert done.returncode == 0, done
    assert "42" in done.stdout


def test_boxes_have_the_level_that_the_file_demands(project):
    done = project.run("quern", "doctor", "--json")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    executor = [f for f in found if f["check"] == "executor"]
    assert executor and "memory 2048 MiB by watchdog" in executor[0]["text"], done
    assert not [f for f in found if f["level"] == "fault"], found


def test_the_gateway_asks_for_a_key_that_an_operator_makes(project):
    assert project.fetch("http://gateway:8088/v1/models")[0] == 401
    done = project.run("quern", "key", "add", "--name", "me")
    (key,) = re.findall(r"qk_\w+", done.stdout)
    header = ["-H", f"Authorization: Bearer {key}"]
    status, body = project.fetch("http://gateway:8088/v1/models", *header)
    assert status == 200 and json.loads(body)["data"], body


def test_prometheus_finds_numbers_where_its_file_looks(project):
    for job in project.read("container/prometheus.yml")["scrape_configs"]:
        for place in job["dns_sd_configs"]:
            for name in place["names"]:
                status, body = project.fetch(f"http://{name}:{place['port']}/metrics")
                assert status == 200 and "quern_build_info" in body


def test_the_executor_has_no_network_and_redis_is_inside_only(project):
    (executor,), (valkey,) = project.containers["executor"], project.containers["valkey"]
    assert executor.addresses == {}
    assert list(valkey.addresses) == ["inside"]
    assert project.said["networks"]["inside"] == {"internal": True}


def test_consumers_leave_within_their_grace(project):
    """Last: it ends them."""
    first, second = project.containers["consumer"]
    assert first.stop() == 0, first.process.text()
    assert second.is_healthy()
