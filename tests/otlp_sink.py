"""A collector of a test's own, on loopback: it takes traces by OTLP over HTTP in
JSON, and reads them strictly.

    with Sink() as sink:
        stack.consumer(env=sink.env)
        ...
        spans = sink.wait_for(job)

Whatever is not as the protocol has it (lowerCamelCase names that it knows, ids in
hexadecimal, times as decimal texts, enums as numbers, no empty envelope) is in
sink.faults, and check() raises it. A test may answer otherwise: sink.reply.
"""

import json
import re

from servers import wait_until
from web import Web

SCHEMA_URL = "https://opentelemetry.io/schemas/1.41.0"
BATCH = 512
CLIENT, CONSUMER, INTERNAL = 3, 5, 1


def demand(true, what):
    if not true:
        raise AssertionError(what)


def members(thing, required, optional=()):
    demand(isinstance(thing, dict), f"no object: {thing!r}")
    missing, odd = set(required) - set(thing), set(thing) - {*required, *optional}
    demand(not missing and not odd, f"missing {missing}, unknown {odd} in {thing}")


def unique(pairs):
    demand(len(dict(pairs)) == len(pairs), f"a member twice: {[k for k, _ in pairs]}")
    return dict(pairs)


def read_value(value):
    demand(isinstance(value, dict) and len(value) == 1, f"no value: {value!r}")
    [(kind, held)] = value.items()
    if kind == "stringValue":
        demand(isinstance(held, str), value)
        return held
    if kind == "intValue":
        demand(isinstance(held, str) and re.fullmatch(r"\d+", held), value)
        demand(int(held) < 2**63, value)
        return int(held)
    if kind == "doubleValue":
        demand(isinstance(held, float), value)
        return held
    if kind == "boolValue":
        demand(isinstance(held, bool), value)
        return held
    demand(kind == "arrayValue", f"unknown kind of value {kind}")
    members(held, ["values"])
    return [read_value(one) for one in held["values"]]


def read_attributes(given):
    demand(isinstance(given, list), given)
    found = {}
    for one in given:
        members(one, ["key", "value"])
        demand(one["key"] and one["key"] not in found, f"{one['key']} twice")
        found[one["key"]] = read_value(one["value"])
    return found


def demand_ids(span):
    demand(re.fullmatch("[0-9a-f]{32}", span["traceId"]), span["traceId"])
    demand(re.fullmatch("[0-9a-f]{16}", span["spanId"]), span["spanId"])
    demand(int(span["traceId"], 16) and int(span["spanId"], 16), "an id of zeros")


class Span:
    def __init__(self, given):
        members(
            given,
            ["traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano"],
            ["parentSpanId", "flags", "attributes", "links", "status", "traceState"],
        )
        demand_ids(given)
        self.trace, self.id = given["traceId"], given["spanId"]
        self.parent = given.get("parentSpanId")
        demand(self.parent is None or re.fullmatch("[0-9a-f]{16}", self.parent), given)
        self.name, self.kind = given["name"], given["kind"]
        demand(self.name and isinstance(self.name, str), given)
        demand(self.kind in (CLIENT, CONSUMER, INTERNAL), f"kind {self.kind!r}")
        self.begin, self.end = self.read_times(given)
        self.attributes = read_attributes(given.get("attributes", []))
        self.links = given.get("links", [])
        for link in self.links:
            members(link, ["traceId", "spanId"], ["flags", "traceState", "attributes"])
            demand_ids(link)
        demand(given.get("links") != [], "an empty list of links")
        status = given.get("status", {"code": 0})
        members(status, ["code"], ["message"])
        demand(status["code"] in (0, 1, 2), status)
        self.failed = status["code"] == 2
        self.message = status.get("message", "")
        demand(self.failed == ("error.type" in self.attributes), f"{status}, {given}")

    @staticmethod
    def read_times(given):
        times = [given["startTimeUnixNano"], given["endTimeUnixNano"]]
        for time in times:
            demand(isinstance(time, str) and re.fullmatch(r"[1-9]\d{18}", time), time)
        begin, end = map(int, times)
        demand(begin <= end, f"it ends before it begins: {times}")
        return begin, end

    def __repr__(self):
        return f"<{self.name}: {self.attributes}>"


def read_body(body):
    """Resource and spans of one request."""
    given = json.loads(body.decode("utf-8"), object_pairs_hook=unique)
    members(given, ["resourceSpans"])
    [resource_spans] = given["resourceSpans"]
    members(resource_spans, ["resource", "scopeSpans", "schemaUrl"])
    members(resource_spans["resource"], ["attributes"])
    resource = read_attributes(resource_spans["resource"]["attributes"])
    [scope_spans] = resource_spans["scopeSpans"]
    members(scope_spans, ["scope", "spans", "schemaUrl"])
    members(scope_spans["scope"], ["name", "version"])
    for holder in (resource_spans, scope_spans):
        demand(holder["schemaUrl"] == SCHEMA_URL, holder["schemaUrl"])
    spans = [Span(one) for one in scope_spans["spans"]]
    demand(0 < len(spans) <= BATCH, f"{len(spans)} spans in a batch")
    return resource, spans


class Sink(Web):
    def __init__(self):
        super().__init__()
        self.spans, self.faults, self.resources, self.requests = [], [], [], []
        self.reply = None  # (status, bytes, headers), or called for one

    @property
    def env(self):
        """What tells a consumer of it."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url}

    def answer(self, asked):
        self.requests.append(asked)
        try:
            demand(asked.method == "POST" and asked.path == "/v1/traces", asked[:2])
            demand(asked.headers["Content-Type"] == "application/json", asked.headers)
            resource, spans = read_body(asked.body)
        except (AssertionError, KeyError, TypeError, ValueError) as fault:
            self.faults.append(fault)
            return 400, b'{"code":3,"message":"not OTLP"}', {}
        reply = self.reply() if callable(self.reply) else self.reply
        if reply is None or reply[0] == 200:
            self.resources.append(resource)
            self.spans += spans
        return reply or (200, b'{"partialSuccess":{}}', {"Content-Type": "application/json"})

    def check(self):
        if self.faults:
            raise self.faults[0]

    def of(self, job):
        """Spans of a job, in the order of their begin."""
        self.check()
        trace = job.replace("-", "")
        return sorted((s for s in self.spans if s.trace == trace), key=lambda s: s.begin)

    def wait_for(self, job, roots=1):
        """The same, when so many attempts have ended."""

        def told():
            return sum(s.parent is None for s in self.of(job)) >= roots

        wait_until(told, what=f"{roots} attempts of {job}")
        return self.of(job)


def tree(spans):
    """Names, nested as the spans are: [("process default", [...]), ...]."""
    known = {span.id for span in spans}

    def below(parent):
        found = [s for s in spans if s.parent == parent]
        return [(s.name, below(s.id)) for s in found]

    lost = [s for s in spans if s.parent is not None and s.parent not in known]
    return below(None) + [("lost", [(s.name, below(s.id))]) for s in lost]
