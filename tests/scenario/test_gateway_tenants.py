"""quern-gateway: what belongs to one tenant, another one cannot tell from what does
not exist. The routes are those of openapi.json that have a name in their path: a new
one fails here until its names are in THINGS."""

import json
import os
import re
import statistics
import time

import pytest
from gateway import bearer, make_key
from servers import SOURCE
from test_gateway_containers import DRAW
from test_gateway_openai_files import FORM, PURPOSE, form, part

GATEWAY = {"open": None}
TIMES = 50
SLOWER = 3  # times another median: more would tell that there is something
DOCUMENT = os.path.join(SOURCE, "producer", "gateway", "openapi.json")
CELL = f"open('a.txt', 'w').write('a')\n{DRAW}"
VARIES = {"date", "x-request-id"}

# What stands for the names in paths that begin so; the longest beginning counts.
THINGS = {
    "/v1/jobs/{id}": {"id": "job"},
    "/v1/jobs/{id}/files/": {"id": "job", "name": "file of job"},
    "/v1/jobs/{id}/images/": {"id": "job", "name": "image of job"},
    "/v1/queues/{name}": {"name": "queue"},
    "/v1/workers/{name}": {"name": "worker"},
    "/v1/sessions/{name}": {"name": "session"},
    "/v1/dead/{id}": {"id": "dead job"},
    "/v1/schedules/{name}": {"name": "schedule"},
    "/v1/responses/{id}": {"id": "response"},
    "/v1/conversations/{id}": {"id": "conversation"},
    "/v1/conversations/{id}/items/": {"id": "conversation", "item": "item"},
    "/v1/containers/{id}": {"id": "container"},
    "/v1/containers/{id}/files/": {"id": "container", "file": "file of container"},
    "/v1/files/{id}": {"id": "file"},
    "/v1/librechat/files/{session}": {"session": "upload"},
    "/v1/librechat/files/{session}/{file}": {"session": "upload", "file": "file of upload"},
    "/v1/librechat/download/": {"session": "upload", "file": "file of upload"},
    "/v1/librechat/sessions/": {"session": "upload", "file": "file of upload"},
    "/v1/keys/{id}": {"id": "key"},
    "/v1/hooks/{id}": {"id": "webhook"},
}
ITS_TENANT_S_ALONE = (  # also for a key that operates
    "/v1/sessions/",
    "/v1/conversations/",
    "/v1/containers/",
    "/v1/files/",
    "/v1/librechat/",
)
OF_NO_TENANT = (
    "/v1/models/",  # the same for every key
    "/v1/links/",  # no key is needed: test_gateway_links.py
    "/page/",  # nor here: test_gateway_page.py
)
MESSAGE = {"role": "user", "content": "hello"}
BODIES = {  # where {} would be refused before the name is looked up
    "/v1/jobs/{id}/approve": {"verdict": "yes", "call": "c1"},
    "/v1/conversations/{id}": {"metadata": {"a": "b"}},
    "/v1/conversations/{id}/items": {"items": [MESSAGE]},
}


def routes():
    """(method, path, its scopes) of each route with a name in its path."""
    with open(DOCUMENT) as file:
        paths = json.load(file)["paths"]
    for path, operations in paths.items():
        for method, operation in operations.items():
            of_tenants = "{" in path and not path.startswith(OF_NO_TENANT)
            if of_tenants and method != "parameters":
                yield method.upper(), path, operation["security"][0]["key"]


ROUTES = list(routes())
OTHERS = (["operate"], ["admin"])  # scopes that tenants' keys do not have
FOR_TENANTS = [r for r in ROUTES if r[2] not in OTHERS]


@pytest.fixture(scope="module")
def keys(stack):
    return {
        "ann": make_key(stack, tenant="ann"),
        "bob": make_key(stack, tenant="bob"),
        "boss": make_key(stack, tenant="boss", scopes="submit read operate admin"),
    }


class Owner:
    """Makes one of everything with ann's key; operators' things with the boss's."""

    def __init__(self, gateway, stack, keys):
        self.gateway, self.stack, self.keys = gateway, stack, keys

    def make(self, method, path, body=None, who="ann"):
        status, answer = self.gateway.json(method, path, body, **bearer(self.keys[who]))
        assert status in (200, 201), answer
        return answer

    def upload(self, path):
        body = form(part("file", b"a", "a.txt", "text/plain"), *self.purpose(path))
        headers = {**FORM, **bearer(self.keys["ann"])}
        status, _, data = self.gateway.call("POST", path, body, **headers)
        assert status == 200, data
        return json.loads(data)["id"]

    @staticmethod
    def purpose(path):
        return [PURPOSE] if path == "/v1/files" else []

    def jobs(self):
        job = {"kind": "code", "cells": [CELL], "session": "laboratory"}
        id = self.make("POST", "/v1/jobs", job)["id"]
        result = self.stack.result(id)
        assert result["status"] == "completed", result
        self.stack.model.script([{"status": 400, "body": {"error": {"message": "no"}}}])
        dead = self.make("POST", "/v1/jobs", {"prompt": "x"})["id"]
        assert self.stack.result(dead)["status"] == "failed"
        image = result["images"][0]["name"]
        return {"job": id, "image of job": image, "file of job": "a.txt", "dead job": dead}

    def talk(self):
        self.stack.model.script([{"text": "Hello."}])
        response = self.make("POST", "/v1/responses", {"input": "hi"})
        conversation = self.make("POST", "/v1/conversations", {"items": [MESSAGE]})["id"]
        items = self.make("GET", f"/v1/conversations/{conversation}/items")
        item = items["data"][0]["id"]
        return {"response": response["id"], "conversation": conversation, "item": item}

    def files(self):
        container = self.make("POST", "/v1/containers", {"name": "lab"})["id"]
        inside = self.upload(f"/v1/containers/{container}/files")
        file = self.upload("/v1/files")
        return {"container": container, "file of container": inside, "file": file}

    def plugged(self):
        body = form(part("file", b"a", "a.txt", "text/plain"))
        headers = {**FORM, **bearer(self.keys["ann"])}
        status, _, data = self.gateway.call("POST", "/v1/librechat/upload", body, **headers)
        assert status == 200, data
        answer = json.loads(data)
        [file] = answer["files"]
        return {"upload": answer["session_id"], "file of upload": file["fileId"]}

    def operated(self):
        job = {"kind": "code", "cells": ["1"]}
        given = {"spec": "@daily", "job": job}
        self.make("PUT", "/v1/schedules/nightly", given, who="boss")
        [worker] = self.make("GET", "/v1/workers", who="boss")["workers"]
        key = self.make("POST", "/v1/keys", {}, who="boss")["key"]
        hook = self.make("POST", "/v1/hooks", {"url": "https://a.example"}, who="boss")["hook"]
        made = {"worker": worker["worker"], "key": key, "webhook": hook}
        return {**made, "queue": "default", "schedule": "nightly"}


@pytest.fixture(scope="module")
def things(gateway, stack, keys):
    owner = Owner(gateway, stack, keys)
    made = {**owner.jobs(), **owner.talk(), **owner.files(), **owner.plugged()}
    made.update(owner.operated())
    return {**made, "session": "laboratory"}


def names_of(path, things):
    """The names in the path, and what stands for each."""
    start = max((s for s in THINGS if path.startswith(s)), key=len, default=None)
    assert start, f"{path} is not in THINGS"
    names = re.findall(r"{(\w+)}", path)
    assert set(names) == set(THINGS[start]), f"{path} is not in THINGS as it is"
    return {name: things[THINGS[start][name]] for name in names}


def unlike(name):
    """A name of the same form that nothing has."""
    tail = name[-4:]
    other = "0000" if tail != "0000" else "1111"
    return name[:-4] + other


def request_of(method, path):
    """(body, headers) that are right for the route."""
    if method in ("GET", "DELETE"):
        return None, {}
    if path == "/v1/containers/{id}/files":
        body = form(part("file", b"a", "b.txt", "text/plain"))
        return body, {"content-type": FORM["content_type"]}
    body = json.dumps(BODIES.get(path, {})).encode()
    return body, {"content-type": "application/json"}


class Client:
    """Sends a route's request on a connection that it keeps."""

    def __init__(self, gateway, key):
        self.connection, self.key = gateway.connection(), key

    def ask(self, method, path, names):
        """(status, headers, body), without what is another one each time."""
        body, headers = request_of(method, path)
        self.connection.request(
            method, path.format(**names), body, {**headers, **bearer(self.key)}
        )
        answer = self.connection.getresponse()
        data = answer.read()
        kept = {k.lower(): v for k, v in answer.headers.items() if k.lower() not in VARIES}
        for name, text in names.items():
            data = data.replace(text.encode(), f"<{name}>".encode())
        return answer.status, kept, data

    def seconds(self, method, path, names):
        begun = time.perf_counter()
        self.ask(method, path, names)
        return time.perf_counter() - begun


def title(route):
    return f"{route[0]} {route[1]}"


@pytest.mark.parametrize("route", ROUTES, ids=title)
def test_another_tenant_s_is_as_what_is_not_there(gateway, keys, things, route):
    method, path, scopes = route
    there = names_of(path, things)
    cases = [there, *({**there, name: unlike(there[name])} for name in there)]
    bob = Client(gateway, keys["bob"])
    answers = [bob.ask(method, path, names) for names in cases]
    assert all(answer == answers[0] for answer in answers), answers
    assert answers[0][0] == (403 if scopes in OTHERS else 404), answers
    times = [[bob.seconds(method, path, names) for names in cases] for _ in range(TIMES)]
    medians = [statistics.median(column) for column in zip(*times)]
    assert max(medians) < SLOWER * min(medians), medians


@pytest.mark.parametrize(
    "route", [r for r in FOR_TENANTS if r[0] == "GET"], ids=title
)
def test_the_owner_still_has_it(gateway, keys, things, route):
    method, path, _ = route
    ann = Client(gateway, keys["ann"])
    assert ann.ask(method, path, names_of(path, things))[0] == 200


@pytest.mark.parametrize("route", [r for r in ROUTES if r[0] == "GET"], ids=title)
def test_a_key_that_operates_sees_jobs_and_responses(gateway, keys, things, route):
    method, path, _ = route
    boss = Client(gateway, keys["boss"])
    hidden = path.startswith(ITS_TENANT_S_ALONE)
    answer = boss.ask(method, path, names_of(path, things))
    assert answer[0] == (404 if hidden else 200), answer
