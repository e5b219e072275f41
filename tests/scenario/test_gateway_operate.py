"""quern-gateway for operators: queues, workers, dead jobs, schedules, sessions."""

import concurrent.futures
import json
import shutil

import pytest
import servers
from gateway import Gateway
from servers import wait_until
from stack import ROOT, call_of, job_id

TENANT = "acme"


@pytest.fixture(scope="module")
def other(stack):
    with Gateway(stack.redis.url, open=TENANT) as gateway:
        yield gateway.ready()
        gateway.drain()


def get(gateway, path, status=200):
    got, answer = gateway.json("GET", path)
    assert got == status, answer
    return answer


def act(gateway, method, path, body=None, status=200):
    got, answer = gateway.json(method, path, body)
    assert got == status, answer
    return answer


def run(gateway, stack, **job):
    job = act(gateway, "POST", "/v1/jobs", job, 201)["id"]
    return job, stack.result(job)


def dead_job(gateway, stack, **job):
    stack.model.script([{"status": 400, "body": {"error": {"message": "no"}}}])
    job, result = run(gateway, stack, prompt="x", **job)
    assert result["status"] == "failed", result
    return job


def test_queues_are_listed_set_and_paused(gateway, stack):
    act(gateway, "PATCH", "/v1/queues/slow", {"max_depth": 5, "tenant_running:a": 2})
    shown = get(gateway, "/v1/queues/slow")
    assert shown["max_depth"] == 5 and shown["limits"] == {"a": {"tenant_running": 2}}
    assert "slow" in [q["queue"] for q in get(gateway, "/v1/queues")["queues"]]
    assert act(gateway, "POST", "/v1/queues/slow/pause")["paused"] is True
    for _ in range(3):
        act(gateway, "POST", "/v1/jobs", {"prompt": "x", "queue": "slow"}, 201)
    scale = get(gateway, "/v1/scale?queue=slow")
    assert scale == {"queue": "slow", "wanted": 0, "ready": 0, "lanes": 3, "running": 0}
    dry = act(gateway, "POST", "/v1/queues/slow/purge", {"dry_run": True})
    assert dry == {"jobs": 3, "dry_run": True, "more": False}
    assert act(gateway, "POST", "/v1/queues/slow/purge")["jobs"] == 3
    assert act(gateway, "POST", "/v1/queues/slow/resume")["paused"] is False
    cleared = act(gateway, "PATCH", "/v1/queues/slow", {"max_depth": None})
    assert cleared["max_depth"] == 0
    act(gateway, "POST", "/v1/jobs", {"prompt": "x", "queue": "slow"}, 201)
    scale = get(gateway, "/v1/scale?queue=slow")
    assert scale == {"queue": "slow", "wanted": 1, "ready": 1, "lanes": 0, "running": 0}
    everything = get(gateway, "/v1/scale")
    assert everything["queue"] is None and everything["wanted"] >= 1
    assert act(gateway, "POST", "/v1/queues/slow/purge")["jobs"] == 1


def test_figures_and_tenants(gateway, stack):
    run(gateway, stack, kind="code", cells=["1"])
    minutes = get(gateway, "/v1/queues/default/figures")["minutes"]
    assert sum(m["completed"] for m in minutes) >= 1
    newer = f"/v1/queues/default/figures?since={minutes[-1]['at']}"
    assert get(gateway, newer)["minutes"][0]["at"] == minutes[-1]["at"]
    assert isinstance(get(gateway, "/v1/tenants?queue=default")["tenants"], list)


def test_workers_and_endpoints(gateway, stack):
    [worker] = get(gateway, "/v1/workers")["workers"]
    assert worker["slots"] > 0 and worker["draining"] is False
    path = f"/v1/workers/{worker['worker']}/drain"
    assert act(gateway, "POST", path, {"drain": False})["draining"] is False
    assert gateway.refusal("POST", "/v1/workers/nobody/drain") == (
        404,
        "unknown_worker",
        None,
    )
    assert isinstance(get(gateway, "/v1/endpoints")["endpoints"], list)


def test_the_dead_are_shown_run_again_and_removed(gateway, stack):
    job = dead_job(gateway, stack)
    listed = get(gateway, "/v1/dead?queue=default&limit=500")
    assert job in [d["id"] for d in listed["dead"]] and listed["total"] >= 1
    shown = get(gateway, f"/v1/dead/{job}")
    assert shown["error_code"] == "model_rejected"
    assert shown["job"]["prompt"] == "x" and shown["result"]["status"] == "failed"
    stack.model.script([{"text": "well"}])
    path = f"/v1/dead/{job}/requeue"
    assert act(gateway, "POST", path, {"anew": True})["state"] == "queued"
    wait_until(lambda: get(gateway, f"/v1/jobs/{job}")["state"] == "completed")
    assert gateway.refusal("POST", path)[:2] == (409, "not_dead")
    gone = dead_job(gateway, stack)
    assert act(gateway, "DELETE", f"/v1/dead/{gone}")["removed"] is True
    assert gateway.refusal("GET", f"/v1/dead/{gone}")[:2] == (404, "unknown_job")


def test_schedules(gateway, stack):
    path = "/v1/schedules/nightly"
    job = {"kind": "code", "cells": ["6 * 7"]}
    act(gateway, "PUT", path, {"spec": "@daily", "zone": "Europe/Berlin", "job": job})
    [shown] = get(gateway, "/v1/schedules")["schedules"]
    assert (shown["schedule"], shown["zone"]) == ("nightly", "Europe/Berlin")
    assert act(gateway, "POST", f"{path}/pause")["paused"] is True
    made = act(gateway, "POST", f"{path}/run", status=201)
    assert stack.result(made["id"])["cells"][0]["result"] == "42"
    assert act(gateway, "POST", f"{path}/resume")["paused"] is False
    assert act(gateway, "DELETE", path)["removed"] is True
    assert gateway.refusal("DELETE", path)[:2] == (404, "unknown_schedule")
    for body, word in [
        ({"spec": "@daily"}, "job"),
        ({"spec": "never", "job": job}, None),
        ({"spec": 7, "job": job}, "spec"),
        ({"spec": "@daily", "job": job, "colour": 1}, None),
        ({"spec": "@daily", "zone": "Moon/Base", "job": job}, None),
    ]:
        status, code, param = gateway.refusal("PUT", path, body)
        assert (status, code) == (400, "bad_field") and param in (word, "schedule", "zone", None)


def test_sessions_are_of_the_tenant_and_show_no_blobs(gateway, other, stack):
    run(
        gateway,
        stack,
        kind="code",
        session="lab",
        cells=["x = 1\nopen('a.txt', 'w').write('a')"],
    )
    shown = get(gateway, "/v1/sessions/lab")
    assert shown["name"] == "lab" and shown["files"][0]["name"] == "a.txt"
    text = json.dumps(shown)
    assert "blob" not in text and "picture" not in shown and "history" not in shown
    assert "lab" in [s["name"] for s in get(gateway, "/v1/sessions")["sessions"]]
    assert get(other, "/v1/sessions") == {"sessions": []}
    unknown = other.refusal("GET", "/v1/sessions/nothing")
    assert other.refusal("GET", "/v1/sessions/lab") == unknown
    assert unknown[:2] == (404, "unknown_session")


def test_a_job_is_explained(gateway, stack):
    act(gateway, "POST", "/v1/queues/held/pause", status=404)
    act(gateway, "PATCH", "/v1/queues/held", {"paused": True})
    job = act(gateway, "POST", "/v1/jobs", {"prompt": "x", "queue": "held"}, 201)["id"]
    assert "paused" in get(gateway, f"/v1/jobs/{job}/explain")["why"]
    act(gateway, "POST", "/v1/queues/held/purge")


def test_a_job_is_replayed(gateway, stack):
    """It goes the same way; and another way, when its journal says so."""
    stack.model.script([{"tool_calls": [call_of("print(6 * 7)")]}, {"text": "42"}])
    job = act(gateway, "POST", "/v1/jobs", {"prompt": "x"}, 201)["id"]
    stack.result(job)
    path = f"/v1/jobs/{job}/replay"
    verdict = get(gateway, path)
    assert verdict["equal"] and verdict["job"] == job and verdict["requests"] == 2
    result = stack.db.get(f"{ROOT}result:{job}")
    stack.db.set(f"{ROOT}result:{job}", result.replace(b"\xa242", b"\xa243"))
    verdict = get(gateway, path)
    assert not verdict["equal"]
    other = verdict["first_difference"]
    assert other["what"] == "result" and "43" in other["diff"]
    assert "recorded" not in other
    stack.db.delete(f"{ROOT}body:{job}")
    assert gateway.refusal("GET", path)[1] == "expired"
    assert gateway.refusal("GET", f"/v1/jobs/{job_id()}/replay")[0] == 404


@pytest.mark.parametrize("program, status, code", [
    ("exit 3", 500, "internal"),
    ("exec sleep 60 >&- 2>&-", 500, "internal"),  # the request does not wait for it
    ("head -c 20000000 /dev/zero", 400, "too_large"),
    ("exec sleep 60", 400, "too_slow"),
])
def test_a_replay_is_bounded(monkeypatch, tmp_path, stack, program, status, code):
    """Whatever the program beside the gateway does; and there is one at a time."""
    (tmp_path / "bin").mkdir()
    shutil.copy(servers.binary("quern-gateway"), tmp_path / "bin")
    script = tmp_path / "bin" / "quern-replay"
    script.write_text(f"#!/bin/sh\n{program}\n")
    script.chmod(0o755)
    monkeypatch.setattr(servers, "BUILD", str(tmp_path))
    with Gateway(stack.redis.url) as gateway:
        job, _ = run(gateway.ready(), stack, kind="code", cells=["1"])
        path = f"/v1/jobs/{job}/replay"
        with concurrent.futures.ThreadPoolExecutor() as pool:
            asked = [pool.submit(gateway.refusal, "GET", path) for _ in range(2)]
            answers = {one.result()[:2] for one in asked}
        assert (status, code) in answers <= {(status, code), (503, "work_full")}
        if code == "too_slow":
            assert len(answers) == 2
        gateway.drain()


def listed(gateway, query):
    """All pages of two jobs."""
    rows, cursor = [], ""
    while True:
        page = get(gateway, f"/v1/jobs?limit=2&{query}&cursor={cursor}")
        rows += page["jobs"]
        if not (cursor := page.get("next")):
            return {row["id"]: row["tenant"] for row in rows}


def test_jobs_of_all_tenants(gateway, other, stack):
    own = [run(gateway, stack, kind="code", cells=["1"])[0] for _ in range(3)]
    theirs = [run(other, stack, kind="code", cells=["1"])[0] for _ in range(3)]
    found = listed(gateway, "tenant=*&state=completed")
    assert {found[id] for id in own} == {"default"}
    assert {found[id] for id in theirs} == {TENANT}
    assert gateway.refusal("GET", "/v1/jobs?tenant=*&cursor=zz")[2] == "cursor"


def test_jobs_are_found_by_a_part_of_their_id_and_their_worker(gateway, stack):
    job, _ = run(gateway, stack, kind="code", cells=["1"])
    waits = act(gateway, "POST", "/v1/jobs", {"prompt": "x", "queue": "far"}, 201)["id"]
    for id in (job, waits):
        assert set(listed(gateway, f"id={id[9:]}")) == {id}
        assert set(listed(gateway, f"id={id[:13]}&queue=none")) == set()
    [worker] = {row["worker"] for row in get(gateway, f"/v1/jobs?id={job}")["jobs"]}
    assert job in listed(gateway, f"worker={worker}")
    assert listed(gateway, "worker=nobody") == {}


def test_what_was_submitted_is_shown(gateway, stack):
    """Also while it waits in a lane; values of env are hidden."""
    act(gateway, "PATCH", "/v1/queues/narrow", {"tenant_running": 1})
    given = {"prompt": "what is asked", "env": {"TOKEN": "secret"}, "queue": "narrow"}
    ids = [act(gateway, "POST", "/v1/jobs", given, 201)["id"] for _ in range(40)]
    bodies = [get(gateway, f"/v1/jobs/{id}/body") for id in ids]
    assert [body["id"] for body in bodies] == ids
    assert {body["prompt"] for body in bodies} == {"what is asked"}
    assert bodies[0]["env"] == {"TOKEN": "(hidden)"}
    kept = sum(stack.db.exists(f"quern:{{000}}:body:{id}") for id in ids)
    assert 0 < kept < len(ids), "some of them wait in a lane with their bytes"
    stack.db.delete(f"quern:{{000}}:body:{ids[0]}")
    assert gateway.refusal("GET", f"/v1/jobs/{ids[0]}/body")[:2] == (404, "expired")
    act(gateway, "POST", "/v1/queues/narrow/purge")


@pytest.mark.parametrize(
    "method, path, body, status, param",
    [
        ("PATCH", "/v1/queues/q", {}, 400, None),
        ("PATCH", "/v1/queues/q", {"max_depth": [1]}, 400, "max_depth"),
        ("PATCH", "/v1/queues/q", {"colour": 1}, 400, None),
        ("PATCH", "/v1/queues/%20", {"max_depth": 1}, 400, "queue"),
        ("POST", "/v1/queues/default/purge", {"dry_run": 1}, 400, "dry_run"),
        ("POST", "/v1/queues/default/purge", {"dryrun": True}, 400, None),
        ("POST", "/v1/queues/default/purge", [1], 400, None),
        ("POST", "/v1/queues/nobody-named-it/pause", None, 404, None),
        ("GET", "/v1/queues/nobody-named-it", None, 404, None),
        ("GET", "/v1/queues/default/figures?since=x", None, 400, "since"),
        ("GET", "/v1/dead?limit=501", None, 400, "limit"),
        ("GET", "/v1/dead?colour=1", None, 400, "colour"),
        ("GET", "/v1/dead/none-such", None, 404, None),
        ("GET", "/v1/sessions/" + "x" * 200, None, 404, None),
        ("GET", "/v1/queues/" + "x" * 1000, None, 404, None),
    ],
)
def test_bad_input(gateway, method, path, body, status, param):
    got = gateway.refusal(method, path, body)
    assert (got[0], got[2]) == (status, param), got


def test_every_act_leaves_a_line(gateway, stack):
    act(gateway, "PATCH", "/v1/queues/noted", {"max_depth": 7})
    gateway.refusal("POST", "/v1/workers/noted/drain")
    lines = [json.loads(line) for line in open(gateway.log) if '"audit"' in line]
    lines = [line for line in lines if line.get("what") == "audit" or "act" in line]
    acts = [(line["act"], line["outcome"]) for line in lines]
    assert ("queue.set", "done") in acts
    assert ("worker.drain", "unknown_worker") in acts


def test_the_document_is_served(gateway):
    document = get(gateway, "/openapi.json")
    assert document["openapi"] == "3.1.0"
    assert document["components"]["schemas"]["Job"]["properties"]["prompt"]
    assert "operationId" in document["paths"]["/v1/jobs"]["post"]
