"""quern-gateway: jobs over HTTP, with a real Redis and a real consumer."""

import concurrent.futures
import json

import pytest
from gateway import Gateway
from stack import call_of, job_id

NOBODY = "00000000-0000-7000-8000-000000000000"


def submit(gateway, **job):
    status, answer = gateway.json("POST", "/v1/jobs", job)
    assert status == 201, answer
    return answer["id"]


def wait(gateway, stack, job):
    stack.result(job)
    status, answer = gateway.json("GET", f"/v1/jobs/{job}")
    assert status == 200, answer
    return answer


def test_a_job_is_submitted_and_read(gateway, stack):
    stack.model.script([{"text": "Grüße"}])
    status, answer = gateway.json("POST", "/v1/jobs", {"prompt": "hello"})
    assert (status, answer["state"] in ("queued", "in_progress")) == (201, True)
    shown = wait(gateway, stack, answer["id"])
    assert shown["state"] == "completed"
    assert shown["tenant"] == "default"
    assert shown["result"]["answer"] == "Grüße"
    assert shown["result"]["id"] == answer["id"] == shown["id"]
    assert shown["submitted_at"] <= shown["started_at"] <= shown["finished_at"]


def test_a_key_of_idempotency_gives_the_first_job(gateway, stack):
    body = {"kind": "code", "cells": ["1"]}
    first = gateway.json("POST", "/v1/jobs", body, idempotency_key="once")
    second = gateway.json("POST", "/v1/jobs", body, idempotency_key="once")
    assert (first[0], second[0]) == (201, 200)
    assert first[1]["id"] == second[1]["id"]
    in_body = {**body, "idempotency_key": "once"}
    assert gateway.json("POST", "/v1/jobs", in_body)[1]["id"] == first[1]["id"]
    refused = gateway.refusal("POST", "/v1/jobs", in_body, idempotency_key="twice")
    assert refused == (400, "bad_field", "idempotency_key")
    stack.result(first[1]["id"])


WRONG = [
    ({}, "missing_field", None),
    ({"prompt": 5}, "bad_field", "prompt"),
    ({"prompt": "x", "queue": "a b"}, "bad_field", "queue"),
    ({"prompt": "x", "queue": "q" * 129}, "too_large", "queue"),
    ({"prompt": "x", "kind": "dance"}, "bad_field", "kind"),
    ({"prompt": "x", "priority": "urgent"}, "bad_field", "priority"),
    ({"prompt": "x", "tenant": "other"}, "bad_field", "tenant"),
    ({"prompt": "x", "tenant": 5}, "bad_field", "tenant"),
    ({"prompt": "x", "id": NOBODY}, "bad_field", "id"),
    ({"prompt": "x", "session": ""}, None, None),
    ({"prompt": "x", "session": "a\nb"}, "bad_field", "session"),
    ({"prompt": "x", "history": "some"}, "bad_field", "history"),
    ({"messages": [1]}, "bad_field", "messages[0]"),
    ({"prompt": "x", "mode": "magic"}, "bad_field", "mode"),
    ({"prompt": "x", "model": ["gpt"]}, "bad_field", "model"),
    ({"prompt": "x", "tools": "all"}, "bad_field", "tools"),
    ({"prompt": "x", "tools": [7]}, "bad_field", "tools[0]"),
    ({"prompt": "x", "approve": [None]}, "bad_field", "approve[0]"),
    ({"prompt": "x", "approval_ms": -1}, "bad_field", "approval_ms"),
    ({"prompt": "x", "approval_default": "yes"}, "bad_field", "approval_default"),
    ({"kind": "code", "cells": [[]]}, "bad_field", "cells[0]"),
    ({"kind": "code", "cells": ["1"], "env": {"a=b": "1"}}, "bad_field", "env"),
    ({"kind": "session", "action": {"do": "jump"}}, "bad_field", "action.do"),
    ({"prompt": "x", "output_schema": "text"}, "bad_field", "output_schema"),
    (
        {"prompt": "x", "parameters": {"temperature": 9}},
        "bad_field",
        "parameters.temperature",
    ),
    ({"prompt": "x", "parameters": {"heat": 1}}, "bad_field", "parameters"),
    ({"prompt": "x", "files": [{"name": "a"}]}, "missing_field", "files[0].blob"),
    (
        {"prompt": "x", "files": [{"name": "a", "blob": "beef"}]},
        "bad_field",
        "files[0].blob",
    ),
    ({"prompt": "x", "limits": {"max_turns": 9999}}, "bad_field", "limits.max_turns"),
    ({"prompt": "x", "limits": 5}, "bad_field", "limits"),
    ({"prompt": "x", "retry": {"max_attempts": "3"}}, "bad_field", "retry.max_attempts"),
    ({"prompt": "x", "idempotency_key": 1}, "bad_field", "idempotency_key"),
    ({"prompt": "x", "not_before": "soon"}, "bad_field", "not_before"),
    ({"prompt": "x", "metadata": {"a": 1}}, "bad_field", "metadata"),
    ({"prompt": "x", "traceparent": "00-1"}, "bad_field", "traceparent"),
    ({"prompt": "x", "v": 2}, "unsupported_version", None),
]


@pytest.mark.parametrize("body, code, param", WRONG, ids=lambda x: json.dumps(x)[:60])
def test_a_wrong_member_is_named(gateway, stack, body, code, param):
    before = stack.db.dbsize()
    status, answer = gateway.json("POST", "/v1/jobs", body)
    if code is None:
        assert status == 201
        stack.result(answer["id"])
        return
    error = answer["error"]
    assert status == 400, answer
    assert (error["code"], error["param"]) == (code, param), error
    assert stack.db.dbsize() <= before, "a refused job left keys"


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", '"x"', "nul", '{"prompt": "a", "prompt": "b"}', '{"a": "\\ud800"}']
    + ["[" * 5000, b"\xff\xfe", b'{"prompt": "a\x00b"}', '{"prompt": "\\u0000"}'],
)
def test_a_body_that_is_no_object_is_refused(gateway, body):
    status, _, data = gateway.call(
        "POST", "/v1/jobs", body, content_type="application/json"
    )
    assert status == 400, data
    assert json.loads(data)["error"]["type"] == "invalid_request_error"


def test_the_table_answers_what_no_route_takes(gateway):
    def refusal(method, path, body=None, **headers):
        status, headers, data = gateway.call(method, path, body, **headers)
        return status, json.loads(data)["error"]["code"], headers["Allow"]

    assert refusal("GET", "/v1/nothing") == (404, "unknown_path", None)
    assert refusal("GET", "/v1/jobs/a/b/c")[0] == 404
    assert refusal("PUT", "/v1/jobs") == (405, "unknown_method", "POST, GET, HEAD")
    assert refusal("GET", "/v1/jobs?colour=red")[:2] == (400, "bad_field")
    assert refusal("GET", "/v1/jobs?limit=1&limit=2")[:2] == (400, "bad_field")
    assert refusal("GET", "/v1/jobs?limit=many")[:2] == (400, "bad_field")
    assert refusal("GET", "/v1/jobs?limit=501")[:2] == (400, "bad_field")
    form = "application/x-www-form-urlencoded"
    assert refusal("POST", "/v1/jobs", "a=b", content_type=form)[0] == 415
    assert refusal("POST", "/v1/jobs", "{}")[0] == 415
    large = b'{"prompt": "' + b"x" * (2 << 20) + b'"}'
    json_type = {"content_type": "application/json"}
    assert refusal("POST", "/v1/jobs", large, **json_type)[0] == 413
    status, _, data = gateway.call("HEAD", "/livez")
    assert (status, data) == (200, b"")


def test_a_job_that_is_not_there_is_not_found(gateway):
    texts = set()
    for id in (NOBODY, job_id(), "x", "0" * 36, "00000000-0000-7fff-8000-000000000000"):
        for method, more in [("GET", ""), ("POST", "/cancel"), ("POST", "/retry")]:
            status, answer = gateway.json(method, f"/v1/jobs/{id}{more}")
            assert (status, answer["error"]["code"]) == (404, "unknown_job")
            texts.add(answer["error"]["message"].replace(id, "ID"))
    assert len(texts) == 1


def test_a_tenant_does_not_see_the_jobs_of_another(stack):
    """Not even by its words: they are those of a job that never was."""
    job = stack.submit(kind="code", cells=["1"], tenant="ann")
    stack.result(job)
    with Gateway(stack.redis.url, open="bob") as bob:
        bob.ready()
        # Without keys who is let in may operate; so this is what he must not be.
        status, answer = bob.json("GET", f"/v1/jobs/{job}")
        assert status == 200 and answer["tenant"] == "ann"
        status, answer = bob.json("GET", "/v1/jobs")
        assert (status, answer["jobs"]) == (200, [])
        status, answer = bob.json("GET", "/v1/jobs?tenant=ann")
        assert [row["id"] for row in answer["jobs"]] == [job]
        bob.drain()


def test_a_job_is_cancelled(gateway, stack):
    body = {"kind": "code", "cells": ["import time; time.sleep(600)"]}
    job = submit(gateway, **body)
    stack.wait_event(job, "tool.started")
    status, answer = gateway.json("POST", f"/v1/jobs/{job}/cancel", {"reason": "why"})
    assert (status, answer["outcome"]) == (200, "asked")
    assert wait(gateway, stack, job)["state"] == "cancelled"
    again = gateway.json("POST", f"/v1/jobs/{job}/cancel")
    assert again == (200, {"id": job, "outcome": "cancelled"})
    done = submit(gateway, kind="code", cells=["1"])
    wait(gateway, stack, done)
    late = gateway.json("POST", f"/v1/jobs/{done}/cancel")
    assert late == (200, {"id": done, "outcome": "too_late"})
    refused = gateway.refusal("POST", f"/v1/jobs/{job}/cancel", {"raeson": "why"})
    assert refused == (400, "bad_field", "raeson")


def test_a_call_is_approved(gateway, stack):
    stack.model.script([{"tool_calls": [call_of("print(6 * 7)")]}, {"text": "42"}])
    job = submit(gateway, prompt="x", approve=["execute_python_code"])
    call = stack.wait_event(job, "job.waiting")["data"]["call"]
    shown = gateway.json("GET", f"/v1/jobs/{job}")[1]
    assert (shown["state"], shown["reason"]) == ("waiting", "approval")
    assert shown["approval_call"] == call
    path = f"/v1/jobs/{job}/approve"
    assert gateway.refusal("POST", path, {"verdict": "perhaps"})[2] == "verdict"
    assert gateway.refusal("POST", path, {"call": 5})[2] == "call"
    assert gateway.refusal("POST", path, {"call": "other"})[:2] == (409, "too_late")
    status, answer = gateway.json("POST", path, {"call": call})
    assert (status, answer["outcome"]) == (200, "approved")
    assert wait(gateway, stack, job)["result"]["answer"] == "42"


def test_a_dead_job_runs_again(gateway, stack):
    job = submit(gateway, prompt="x", model="nobody-has-it")
    assert wait(gateway, stack, job)["result"]["error"]["code"] == "unknown_model"
    path = f"/v1/jobs/{job}/retry"
    assert gateway.refusal("POST", path, {"anew": 1})[2] == "anew"
    status, answer = gateway.json("POST", path, {"anew": True})
    assert (status, answer["outcome"]) == (200, "queued")
    wait(gateway, stack, job)
    done = submit(gateway, kind="code", cells=["1"])
    wait(gateway, stack, done)
    refused = gateway.refusal("POST", f"/v1/jobs/{done}/retry")
    assert refused == (409, "not_dead", None)


def test_a_job_that_has_ended_is_removed(gateway, stack):
    job = submit(gateway, kind="code", cells=["1"], queue="nobody")
    refused = gateway.refusal("DELETE", f"/v1/jobs/{job}")
    assert refused == (409, "not_ended", None)
    gateway.json("POST", f"/v1/jobs/{job}/cancel")
    assert gateway.call("DELETE", f"/v1/jobs/{job}")[0] == 204
    assert gateway.refusal("GET", f"/v1/jobs/{job}")[0] == 404
    assert gateway.refusal("DELETE", f"/v1/jobs/{job}")[0] == 404
    assert not stack.db.keys(f"*{job}*")


def test_jobs_are_found_by_model_and_metadata(gateway, stack):
    said = {"model": "practice", "metadata": {"order": "n° 7", "team": "x"}}
    job = submit(gateway, kind="code", cells=["1"], **said)
    submit(gateway, kind="code", cells=["1"], metadata={"order": "n° 8"})
    stack.result(job)
    for query in ("model=practice&metadata=team%3Dx", "metadata=order%3Dn%C2%B0%207"):
        found = gateway.json("GET", f"/v1/jobs?{query}")[1]["jobs"]
        assert [row["id"] for row in found] == [job], query
    assert gateway.json("GET", "/v1/jobs?model=other")[1]["jobs"] == []


def test_jobs_are_listed_page_by_page(gateway, stack):
    jobs = {submit(gateway, kind="code", cells=["1"], session="pages") for _ in range(7)}
    for job in jobs:
        stack.result(job)
    path, found = "/v1/jobs?session=pages&limit=3", []
    status, answer = gateway.json("GET", path)
    while True:
        assert status == 200, answer
        found += [row["id"] for row in answer["jobs"]]
        assert len(answer["jobs"]) <= 3
        if "next" not in answer:
            break
        status, answer = gateway.json("GET", f"{path}&cursor={answer['next']}")
    assert set(found) == jobs
    wrong = (400, "bad_field")
    assert gateway.refusal("GET", "/v1/jobs?state=odd") == (*wrong, "state")
    assert gateway.refusal("GET", "/v1/jobs?place=ended%20odd") == (*wrong, "place")
    assert gateway.json("GET", "/v1/jobs?state=queued%20failed&place=lane%20ended")[0] == 200
    assert gateway.refusal("GET", "/v1/jobs?metadata=odd") == (*wrong, "metadata")
    assert gateway.refusal("GET", "/v1/jobs?cursor=odd")[:2] == (400, "bad_field")
    assert gateway.refusal("GET", "/v1/jobs?cursor=c0")[:2] == (400, "bad_argument")


def test_a_job_that_waits_is_explained(gateway, stack):
    job = submit(gateway, kind="code", cells=["1"], queue="nobody")
    status, answer = gateway.json("GET", f"/v1/jobs/{job}/explain")
    assert (status, answer["id"]) == (200, job)
    assert "queue nobody" in answer["why"], answer
    assert answer["facts"]["state"] == "queued"


def test_too_many_explanations_at_once_are_refused_in_time(gateway, stack):
    """While Redis stands still, some wait, and the others are told so."""
    job = submit(gateway, kind="code", cells=["1"], queue="nobody")
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        calls = [
            pool.submit(gateway.call, "GET", f"/v1/jobs/{job}/explain")
            for _ in range(300)
        ]
        seen = [call.result() for call in calls]
    assert {status for status, _, _ in seen} <= {200, 503}
    for status, headers, data in seen:
        if status == 503:
            assert json.loads(data)["error"]["code"] == "work_full"
            assert headers["Retry-After"] == "1"
    assert [status for status, _, _ in seen].count(200) >= 64
