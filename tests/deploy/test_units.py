"""The systemd units: what ends for good stays ended, all else is restarted; how
much of the system they can reach, as systemd itself reckons it."""

import configparser
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile

import pytest
from executor_client import Executor
from servers import BUILD, SOURCE
from stack import DRAINED

UNITS = os.path.join(BUILD, "systemd")
SERVICES = [
    *("quern-consumer@.service", "quern-executor.service", "quern-gateway.service"),
    "quern-deliverer.service",
]


def read(name, folder=UNITS):
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(os.path.join(folder, name))
    return unit


@pytest.mark.parametrize("name", SERVICES)
def test_systemd_never_gives_up(name):
    """Before: five quick failures of Redis, and the unit was dead."""
    unit = read(name)
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    assert unit["Service"]["Restart"] == "always"


def test_pauses_between_restarts_grow_where_systemd_can(tmp_path):
    """252, of Debian 12, would warn of lines that it does not know."""
    for version, steps in (("252", False), ("257", True)):
        out = tmp_path / version
        out.mkdir()
        (out / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(units NONE)\n"
            f"include(GNUInstallDirs)\nadd_subdirectory({SOURCE}/deploy deploy)\n"
        )
        subprocess.run(
            ["cmake", "-S", out, "-B", out, f"-DQUERN_SYSTEMD={version}"],
            check=True,
            capture_output=True,
        )
        for name in SERVICES:
            service = read(name, out / "systemd")["Service"]
            assert ("RestartSteps" in service) == steps
            assert int(service["RestartSec"]) < 60
            assert not steps or service["RestartMaxDelaySec"] == "60"


def test_a_drained_worker_is_not_started_again():
    service = read("quern-consumer@.service")["Service"]
    assert service["RestartPreventExitStatus"].split() == [str(DRAINED), "64"]
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


@pytest.mark.parametrize("name", SERVICES)
def test_a_wrong_setting_is_told_once(name):
    """It will not get better: the unit fails, and its status has the sentence."""
    program = name.split(".")[0].rstrip("@")
    done = subprocess.run(
        [os.path.join(BUILD, "bin", program), "--no-such-flag"], capture_output=True, text=True
    )
    assert done.stderr.startswith(f"{program}: there is no flag --no-such-flag")
    assert str(done.returncode) in read(name)["Service"]["RestartPreventExitStatus"].split()


def test_secrets_may_be_missing_and_settings_are_files_that_are_read_anew():
    for name in SERVICES:
        with open(os.path.join(UNITS, name)) as file:
            lines = file.read().splitlines()
        given = {x.split("=")[1].split(":")[0] for x in lines if x.startswith("LoadCredential=")}
        spare = {x.split("=")[1].split(":")[0] for x in lines if x.startswith("SetCredential=")}
        assert given == spare, name
        service = read(name)["Service"]
        kind = re.sub(r"quern-|@?\.service", "", name)
        assert service["ExecStart"].endswith(f" --config /etc/quern/{kind}.conf")
        # The environment of a process never changes: settings would not, either.
        assert "EnvironmentFile" not in service
        assert kind == "executor" or service["ExecReload"] == "/bin/kill -HUP $MAINPID"


# What boxes are made of. Each was tried with a real executor; the unit says what
# it costs.
BREAKS_BOXES = {
    *("RestrictNamespaces", "ProtectHostname", "ProtectProc", "ProcSubset"),
    *("ProtectKernelTunables", "ProtectKernelLogs", "ProtectKernelModules"),
    *("ProtectControlGroups", "PrivateDevices", "PrivateUsers"),
    "MemoryDenyWriteExecute",
}


def test_the_executor_may_make_boxes():
    service = read("quern-executor.service")["Service"]
    assert not BREAKS_BOXES & set(service)
    assert service["SystemCallFilter"].startswith("~")
    for call in ("@mount", "@privileged", "@resources", "@process", "@sandbox"):
        assert call not in service["SystemCallFilter"].split()
    with open(os.path.join(UNITS, "quern-executor.service")) as unit:
        comments = "".join(line for line in unit if line.startswith("#"))
    assert [word for word in BREAKS_BOXES if word not in comments] == []


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
@pytest.mark.parametrize("name", SERVICES)
def test_little_of_the_system_is_in_reach(name):
    """0 is nothing, 10 is all. The executor's comment says what each further line
    would cost the boxes."""
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--json=short"]
        + [os.path.join(UNITS, name)],
        capture_output=True,
        text=True,
    )
    told = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", os.path.join(UNITS, name)],
        capture_output=True,
        text=True,
    ).stdout
    [figure] = re.findall(r"exposure level for \S+: ([0-9.]+)", told)
    limit = 3.3 if "executor" in name else 1.5
    lacking = [row["name"] for row in json.loads(done.stdout) if row["set"] is False]
    assert float(figure) <= limit, (figure, lacking)


def test_the_executor_feeds_the_watchdog():
    # Root's executor becomes a user of its own, who tells, too: it must get there.
    # pytest keeps its own folders shut, anew whenever another one starts.
    with (
        tempfile.TemporaryDirectory() as place,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear,
    ):
        os.chmod(place, 0o755)
        path = os.path.join(place, "notify")
        ear.bind(path)
        ear.settimeout(60)
        os.chmod(path, 0o777)
        env = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "900000"}
        with Executor("--profile", "bare", env=env):
            assert [ear.recv(100) for _ in range(3)] == [b"READY=1", *[b"WATCHDOG=1"] * 2]
    assert "WatchdogSec" in read("quern-executor.service")["Service"]
