"""deploy/kubernetes: what its files say agrees with the programs and with each other."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from servers import SOURCE, binary

FOLDER = Path(SOURCE, "deploy", "kubernetes")
OTHERS = {"REDIS_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"}
HAND_BACK_S = 15  # after QUERN_DRAIN, as the units give it


def documents():
    named = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    files = {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}
    assert files == set(named)
    return [one for name in named for one in yaml.safe_load_all((FOLDER / name).read_text())]


def pods():
    return {
        one["metadata"]["name"]: one["spec"]["template"]["spec"]
        for one in documents()
        if one["kind"] == "Deployment"
    }


def containers(pod):
    return [*pod.get("initContainers", []), *pod["containers"]]


def env_of(container):
    return {e["name"]: e["value"] for e in container.get("env", [])}


@pytest.mark.parametrize("name", ["quern-consumer", "quern-gateway"])
def test_a_pod_has_time_to_drain(name):
    pod = pods()[name]
    drain = env_of(pod["containers"][0])["QUERN_DRAIN"]
    assert pod["terminationGracePeriodSeconds"] >= int(drain.rstrip("s")) + HAND_BACK_S


def test_every_variable_is_a_setting_of_its_program():
    for pod in pods().values():
        for one in containers(pod):
            program = one["command"][0]
            text = subprocess.run(
                [binary(program), "--document", "sample"], capture_output=True, text=True
            ).stdout
            for name in env_of(one):
                plain = name.removesuffix("_FILE")
                assert plain in OTHERS or re.search(rf"\b{plain}\b", text), (program, name)


def test_probes_ask_where_the_program_answers():
    for pod in pods().values():
        for one in containers(pod):
            ports = {p["name"]: p["containerPort"] for p in one.get("ports", [])}
            if ports:
                place = env_of(one)["QUERN_METRICS"]
                assert place.endswith(f":{ports['metrics']}")
            for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
                get = one.get(kind, {}).get("httpGet")
                assert not get or get["port"] == "metrics"


def test_every_container_is_closed():
    for pod in pods().values():
        assert pod["securityContext"]["runAsUser"] == 65532
        for one in containers(pod):
            security = one["securityContext"]
            assert security["readOnlyRootFilesystem"] and not security["allowPrivilegeEscalation"]
            assert security["capabilities"] == {"drop": ["ALL"]}


def test_the_executor_outlives_its_consumer():
    pod = pods()["quern-consumer"]
    (executor,) = pod["initContainers"]
    assert executor["restartPolicy"] == "Always"
    assert executor["securityContext"]["procMount"] == "Unmasked" and not pod["hostUsers"]
    socket = env_of(pod["containers"][0])["QUERN_EXECUTOR"]
    mounts = {m["mountPath"] for m in executor["volumeMounts"]}
    assert socket.rpartition("/")[0] in mounts


def test_scaling_counts_the_slots_of_a_consumer():
    (scaled,) = [one for one in documents() if one["kind"] == "ScaledObject"]
    (trigger,) = scaled["spec"]["triggers"]
    usage = subprocess.run([binary("quern-consumer"), "--help"], capture_output=True, text=True)
    slots = re.search(r"--slots .*?\[default (\d+)", usage.stdout, re.S)[1]
    assert trigger["metadata"]["targetValue"] == slots
    assert scaled["spec"]["minReplicaCount"] >= 1
