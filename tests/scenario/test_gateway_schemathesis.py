"""quern-gateway answers as its openapi.json says: Schemathesis makes requests from
the document, right ones and wrong ones, and compares each answer with it.

Left out are the routes that answer when a consumer has run a job, and streams of
events, which it would wait for. Ids are made up or of what it made before, so much is
answered 404: test_gateway_tenants.py asks for what there is."""

import os
import subprocess

import pytest
from gateway import Gateway
from pypi import python_with
from servers import SOURCE
from stack import Stack

SCHEMATHESIS = "schemathesis==4.32.5"
DOCUMENT = os.path.join(SOURCE, "producer", "gateway", "openapi.json")
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
]
WAIT = [
    "POST /v1/responses",
    "POST /v1/chat/completions",
    "POST /v1/exec",
    "POST /v1/sandbox/run",
    "POST /v1/librechat/exec",
    "GET /v1/jobs/{id}/events",
    "POST /v1/containers/{id}/files",
    "DELETE /v1/containers/{id}/files/{file}",
]
LIMIT_S = 560


@pytest.fixture
def gateway():
    with Stack(executor=False) as stack, Gateway(stack.redis.url) as gateway:
        yield gateway.ready()
        gateway.drain()


def test_answers_are_as_the_document_says(gateway, tmp_path):
    python = python_with(SCHEMATHESIS)
    command = [python, "-m", "schemathesis.cli", "run", DOCUMENT]
    command += ["--url", f"http://127.0.0.1:{gateway.port}", "--checks", ",".join(CHECKS)]
    command += ["--phases", "examples,coverage,fuzzing", "--max-examples", "4"]
    command += ["--seed", "1", "--no-color", "--continue-on-failure", "--warnings", "off"]
    command += ["--request-timeout", "20", "--suppress-health-check", "all"]
    for name in WAIT:
        command += ["--exclude-name", name]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=LIMIT_S, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout[-30000:] + done.stderr[-2000:]
    assert " passed" in done.stdout, done.stdout
