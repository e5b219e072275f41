"""The systemd units: what ends for good stays ended, all else is restarted."""

import configparser
import os
import re
import shutil
import subprocess

import pytest
from servers import SOURCE
from stack import DRAINED

UNITS = os.path.join(SOURCE, "deploy", "systemd")
SERVICES = [
    *("quern-consumer@.service", "quern-executor.service", "quern-gateway.service"),
    "quern-deliverer.service",
]


def read(name):
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(os.path.join(UNITS, name))
    return unit


@pytest.mark.parametrize("name", SERVICES)
def test_systemd_never_gives_up(name):
    """Before: five quick failures of Redis, and the unit was dead."""
    unit = read(name)
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    assert unit["Service"]["Restart"] == "always"


def test_pauses_between_restarts_grow():
    service = read("restart.conf")["Service"]
    assert int(service["RestartSteps"]) > 1
    for name in SERVICES:
        first = int(read(name)["Service"]["RestartSec"])
        assert int(service["RestartMaxDelaySec"]) > first


def test_a_drained_worker_is_not_started_again():
    service = read("quern-consumer@.service")["Service"]
    assert service["RestartPreventExitStatus"] == str(DRAINED)
    assert service["SuccessExitStatus"] == str(DRAINED)
    with open(os.path.join(SOURCE, "consumer", "service.h")) as header:
        (code,) = re.findall(r"SERVICE_EXIT_DRAINED = (\d+)", header.read())
    assert code == str(DRAINED)


def test_its_name_is_the_same_after_a_restart():
    with open(os.path.join(UNITS, "quern-consumer@.service")) as unit:
        assert "\nEnvironment=QUERN_NAME=%H.%i\n" in unit.read()


def test_the_gateway_may_listen_on_a_socket():
    service = read("quern-gateway.service")["Service"]
    assert service["RuntimeDirectory"] == "quern-gateway"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_systemd_finds_no_fault(tmp_path):
    for source in SERVICES:
        name = source.replace("@", "@1")
        with open(os.path.join(UNITS, source)) as unit:
            text = re.sub("^ExecStart=.*", "ExecStart=/bin/true", unit.read(), flags=re.M)
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=no", *tmp_path.iterdir()],
        capture_output=True,
        text=True,
    )
    ours = [line for line in done.stderr.splitlines() if str(tmp_path) in line]
    assert ours == [], done.stderr
