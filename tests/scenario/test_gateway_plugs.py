"""Programs that want code run and nothing else: /v1/exec and Dify's sandbox,
with a real Redis, consumer and executor."""

import json
import re
import socket

import pytest
from gateway import Gateway, make_key
from servers import wait_until

GATEWAY = {"foreground_grace": "100ms"}


def run(gateway, **body):
    status, answer = gateway.json("POST", "/v1/exec", body)
    assert status == 200, answer
    return answer


def test_code_runs_and_its_output_and_value_come_back(gateway):
    answer = run(gateway, code="import sys\nprint('out')\nprint('oops', file=sys.stderr)\n6 * 7")
    assert answer["status"] == "completed"
    assert (answer["stdout"], answer["stderr"]) == ("out\n", "oops\n")
    assert (answer["result"], answer["error"]) == ("42", None)


def test_what_cells_write_is_joined_and_they_see_the_variables_of_env(gateway):
    cells = ["print(1)", "import os\nprint(os.environ['COLOUR'])"]
    assert run(gateway, cells=cells, env={"COLOUR": "red"})["stdout"] == "1\nred\n"


def test_long_output_is_whole_and_longer_one_says_what_is_missing(gateway):
    code = "import sys\nprint('a' * 300_000, 'ü')\nprint('b' * 100_000, file=sys.stderr)"
    answer = run(gateway, code=code)
    assert answer["stdout"] == "a" * 300_000 + " ü\n"
    assert answer["stderr"] == "b" * 100_000 + "\n"
    longer = run(gateway, code="print('x' * 900_000)\nprint('y' * 900_000)\nprint('end')")
    assert longer["stdout"].startswith("x" * 900_000 + "\ny")
    assert re.search(r"y\n\[\.\.\. \d+ bytes left out \.\.\.\]", longer["stdout"][1_040_000:])
    cells = ["print('a' * 600_000)", "print('b' * 600_000)", "print('c' * 20_000)"]
    assert len(run(gateway, cells=cells)["stdout"]) < (1 << 20) + (17 << 10)


def test_long_output_of_any_bytes_is_readable(gateway):
    code = "import os\nfor n in range(2000): os.write(1, b'%d\\r\\xff\\x1b[1m%d\\n' % (n, n) * 3)"
    answer = run(gateway, code=code)
    assert answer["stdout"].count("\ufffd1999\n") == 3 and "\x1b" not in answer["stdout"]


def test_an_exception_is_the_error(gateway):
    error = run(gateway, code="print('before')\n1/0")["error"]
    assert error["name"] == "ZeroDivisionError"
    assert "division" in error["value"] and "1/0" in error["traceback"]


def test_a_session_keeps_its_variables_and_without_one_nothing_is_kept(gateway):
    assert run(gateway, code="x = 5", session="s1")["session"] == "s1"
    assert run(gateway, code="x", session="s1")["result"] == "5"
    assert run(gateway, code="x")["error"]["name"] == "NameError"


def test_a_file_that_code_wrote_is_read_by_its_url(gateway):
    answer = run(gateway, code="open('/mnt/data/a b%.csv', 'w').write('1,2')")
    [file] = answer["files"]
    assert (file["name"], file["bytes"]) == ("a b%.csv", 3)
    assert gateway.call("GET", file["url"])[2] == b"1,2"


def test_a_file_written_as_a_blob_is_there(gateway):
    status, _, data = gateway.call("POST", "/v1/blobs", b"hello")
    written = json.loads(data)
    assert status in (200, 201)
    file = {"name": "in.txt", "blob": written["blob"], "bytes": 5}
    answer = run(gateway, code="print(open('/mnt/data/in.txt').read())", files=[file])
    assert answer["stdout"] == "hello\n"


def test_the_time_of_a_run_has_an_end(gateway):
    answer = run(gateway, code="import time; time.sleep(60)", timeout=1)
    assert answer["error"], answer


@pytest.mark.parametrize(
    "body, param",
    [
        ({}, "code"),
        ({"code": "1", "cells": ["1"]}, "code"),
        ({"code": 1}, "code"),
        ({"cells": [1]}, "cells[0]"),
        ({"code": "1", "timeout": 601}, "timeout"),
        ({"code": "1", "timeout": 0}, "timeout"),
        ({"code": "1", "timeout": "5"}, "timeout"),
        ({"code": "1", "tenant": "bob"}, "tenant"),
    ],
)
def test_what_is_wrong_is_named(gateway, body, param):
    status, _, named = gateway.refusal("POST", "/v1/exec", body)
    assert (status, named) == (400, param)


def test_a_run_whose_client_went_away_is_cancelled(gateway):
    body = '{"code": "import time; time.sleep(500)", "timeout": 600, "session": "left"}'
    head = f"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    with socket.create_connection(("127.0.0.1", gateway.port)) as client:
        client.sendall(f"POST /v1/exec HTTP/1.1\r\n{head}\r\n\r\n{body}".encode())
        wait_for_state(gateway, "in_progress")
    wait_for_state(gateway, "cancelled")


def wait_for_state(gateway, state):
    def states():
        return [job["state"] for job in gateway.json("GET", "/v1/jobs?session=left")[1]["jobs"]]

    wait_until(lambda: states() == [state], what=f"a job that is {state}")


def dify(gateway, code, **more):
    body = {"language": "python3", "code": code, "preload": "", "enable_network": True, **more}
    status, answer = gateway.json("POST", "/v1/sandbox/run", body)
    assert status == 200, answer
    return answer


def test_dify_gets_what_its_code_printed_after_the_preload(gateway):
    answer = dify(gateway, "print(x + 1)\nimport sys; print('w', file=sys.stderr)", preload="x = 1")
    data = {"stdout": "2\n", "error": "", "exit_code": 0}
    assert answer == {"code": 0, "message": "success", "data": data}


def test_dify_gets_the_traceback_of_code_that_failed(gateway):
    data = dify(gateway, "print('a')\n1/0")["data"]
    assert (data["stdout"], data["exit_code"]) == ("a\n", 1)
    assert "ZeroDivisionError" in data["error"]


def test_runs_for_dify_share_nothing(gateway):
    dify(gateway, "x = 1")
    assert "NameError" in dify(gateway, "x")["data"]["error"]


@pytest.mark.parametrize(
    "wrong, word", [({"language": "nodejs"}, "language"), ({"preload": 1}, "preload")]
)
def test_dify_is_refused_in_its_own_form(gateway, wrong, word):
    answer = dify(gateway, "1", **wrong)
    assert (answer["code"], answer["data"]) == (-400, None) and word in answer["message"]


def test_dify_asks_for_dependencies_and_health(gateway):
    status, answer = gateway.json("GET", "/v1/sandbox/dependencies?language=python3")
    assert (status, answer["data"]) == (200, {"dependencies": []})
    assert gateway.json("GET", "/health") == (200, "ok")


def test_the_key_of_dify_is_checked(stack):
    with Gateway(stack.redis.url, open=None) as gateway:
        gateway.ready()
        body = {"language": "python3", "code": "print(1)"}
        key = make_key(stack)
        answers = [
            gateway.json("POST", "/v1/sandbox/run", body, x_api_key=k) for k in ("qk_wrong", key)
        ]
        assert [status for status, _ in answers] == [401, 200]
        assert answers[1][1]["data"]["stdout"] == "1\n"
