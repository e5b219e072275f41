#!/usr/bin/python3
"""Sends the spans of a real job to a real OpenTelemetry Collector, and compares what it has
read with the tree that they should be.

    QUERN_BUILD=$PWD/build/asan tests/real_collector.py

Builds the collector once, beside the build, from the Go module proxy: that takes minutes, Go
1.25 or newer, and 500 MB. Prints the collector's version and the tree; ends with 1 where they
differ."""

import json
import pathlib
import re
import signal
import subprocess
import sys

from otlp_sink import tree
from servers import BUILD, Process, free_ports, wait_until
from stack import Stack, call_of

VERSION = "v0.165.0"
PLACE = pathlib.Path(BUILD).resolve().parent / f"collector-{VERSION}"
COLLECTOR = PLACE / "built" / "collector"
PARTS = f"""
dist: {{name: collector, version: {VERSION[1:]}, output_path: {COLLECTOR.parent}}}
receivers:
  - gomod: go.opentelemetry.io/collector/receiver/otlpreceiver {VERSION}
exporters:
  - gomod: go.opentelemetry.io/collector/exporter/debugexporter {VERSION}
"""
CONFIG = """
receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:%d}}}}
exporters: {debug: {verbosity: detailed}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [debug]}}
"""
CODE = "print(6 * 7)"
REPLIES = [{"tool_calls": [call_of(CODE)]}, {"tool_calls": [call_of(CODE)]}, {"text": "42"}]
PYTHON = ("execute_tool execute_python_code", [("quern.cell", [])])
ASKED = ("chat practice", [])
EXPECTED = [
    (
        "process default",
        [
            ("invoke_agent", [ASKED, PYTHON]),
            ("invoke_agent", [ASKED, PYTHON]),
            ("invoke_agent", [ASKED]),
        ],
    )
]
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def build():
    if COLLECTOR.exists():
        return
    PLACE.mkdir(parents=True, exist_ok=True)
    (PLACE / "parts.yaml").write_text(PARTS)
    builder = f"go.opentelemetry.io/collector/cmd/builder@{VERSION}"
    subprocess.run(["go", "run", builder, "--config", PLACE / "parts.yaml"], check=True)


class Read:
    """A span as the debug exporter has printed it."""

    def __init__(self, text):
        lines = dict(re.findall(r"^    (\S[\w ]*?) *: ?(.*)$", text, re.M))
        self.trace, self.id = lines["Trace ID"], lines["ID"]
        self.parent, self.name = lines["Parent ID"] or None, lines["Name"]
        self.kind, self.begin = lines["Kind"], lines["Start time"]
        own, _, self.links = text.partition("Links:")
        self.attributes = dict(re.findall(r"^ +-> ([\w.]+): (.*)$", own, re.M))


def spans_in(text):
    """In the order of their begin."""
    found = re.split(r"^Span #\d+$", text, flags=re.M)[1:]
    return sorted((Read(one) for one in found), key=lambda span: span.begin)


def run_job(url):
    """The id of a job that calls tools, when its consumer has left."""
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": url}
    with Stack(script=[{"match": "", "replies": REPLIES}]) as stack:
        consumer = stack.consumer(env=env)
        job = stack.submit(prompt="go", traceparent=TRACEPARENT, session="ann")
        assert stack.result(job)["status"] == "completed"
        consumer.signal(signal.SIGTERM)
        assert consumer.wait() == 0
        assert "traces.lost" not in consumer.text(), consumer.text()[-2000:]
    return job


def check(job, spans):
    assert {span.trace for span in spans} == {job.replace("-", "")}
    assert tree(spans) == EXPECTED, tree(spans)
    root = spans[0]
    assert root.kind == "Consumer" and TRACEPARENT.split("-")[2] in root.links
    assert root.attributes["quern.job.outcome"] == "Str(completed)"
    chat = next(span for span in spans if span.name == "chat practice")
    assert chat.kind == "Client" and chat.attributes["gen_ai.usage.input_tokens"].startswith("Int(")
    assert chat.attributes["gen_ai.response.finish_reasons"] == 'Slice(["tool_calls"])'


def main():
    build()
    [port] = free_ports(1)
    config = PLACE / "config.yaml"
    config.write_text(CONFIG % port)
    with Process([str(COLLECTOR), "--config", str(config)]) as collector:
        collector.wait_for("Everything is ready")
        job = run_job(f"http://127.0.0.1:{port}")
        wait_until(lambda: len(spans_in(collector.text())) >= 9, what="9 spans")
        text = collector.text()
    spans = spans_in(text)
    check(job, spans)
    print(subprocess.check_output([COLLECTOR, "--version"], text=True).strip())
    print(json.dumps(tree(spans), indent=1))


if __name__ == "__main__":
    sys.exit(main())
