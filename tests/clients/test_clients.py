"""Official, unmodified clients of OpenAI's API against quern-gateway: each scenario
of the table in each client that can do it."""

import json

import pytest
from expectations import ANSWER, MODEL, limited
from scenarios import OFFICIAL, SCENARIOS, UNKNOWN
from service import CLIENTS, Service
from servers import PATIENCE_S, wait_until
from web import Web

CASES = [
    pytest.param(scenario, client, id=f"{scenario.name}-{client}")
    for scenario in SCENARIOS
    for client in CLIENTS
    if client in scenario.clients
]


def script():
    return [
        {"match": words, "replies": replies}
        for scenario in SCENARIOS
        for words, replies in scenario.replies.items()
    ]


@pytest.fixture(scope="module")
def service():
    with Service() as service:
        service.stack.model.script(script())
        yield service


@pytest.mark.parametrize("scenario, client", CASES)
def test_a_client(service, scenario, client):
    given = scenario.asked_by(client)
    before = service.jobs()
    started = service.start(client, scenario.verb, given, scenario.key)
    if scenario.meanwhile:
        scenario.meanwhile(service, service.streaming_job(before))
    seen = service.finish(started)
    print(json.dumps(seen, indent=1)[:20000])
    assert "raised" not in seen, seen["raised"]
    scenario.expect(seen, client, service)


@pytest.mark.parametrize("client", OFFICIAL)
def test_a_key_has_a_rate(service, client):
    """The client hears of it, and its own retry waits for its turn."""
    key = service.add_key(f"limited-{client}", rate=10)
    minutes = PATIENCE_S + 60 * 2  # the rate is of a minute, whose turn it waits for
    seen = service.run(client, "limited", {"calls": 20}, key, timeout=minutes)
    limited(seen, client, service)


@pytest.mark.parametrize("client", OFFICIAL)
@pytest.mark.parametrize("call", ["retrieve", "cancel", "delete"])
def test_responses_of_other_tenants_are_unknown(service, client, call):
    """In the same words as those that never were."""
    request = {"model": MODEL, "input": "Scenario plain: mine"}
    id = service.run(client, "background", {"request": request})["first"]["id"]
    other = service.add_key(f"other-{client}-{call}", tenant="other")
    found, unknown = (
        service.run(client, "refused", {"call": call, "id": asked}, other)["refusal"]
        for asked in (id, UNKNOWN)
    )
    assert found["raised"]["status"] == 404, found
    assert (
        found["raised"]["message"].replace(id, UNKNOWN) == unknown["raised"]["message"]
    )


@pytest.mark.parametrize("client", OFFICIAL)
def test_a_response_of_another_tenant_cannot_be_continued(service, client):
    request = {"model": MODEL, "input": "Scenario plain: mine"}
    id = service.run(client, "background", {"request": request})["first"]["id"]
    other = service.add_key(f"continuing-{client}", tenant="other")
    given = {"call": "create", "request": {**request, "previous_response_id": id}}
    error = service.run(client, "refused", given, other)["refusal"]["raised"]
    assert (error["status"], error["code"]) == (400, "previous_response_not_found")


class Receiver(Web):
    """A server that takes deliveries; the first one it does not take."""

    def answer(self, asked):
        return 500 if self.seen[asked.path] == 1 else 200, b"", {}

    def delivered(self, count):
        wait_until(lambda: len(self.asked) >= count, what=f"{count} deliveries")
        return [
            {"payload": asked.body.decode(), "headers": lower(asked.headers)}
            for asked in self.asked
        ]


def lower(headers):
    return {name.lower(): value for name, value in headers.items()}


def test_a_webhook_is_delivered(service):
    """Both clients accept the delivery and its repetition, and not a forged one."""
    with Receiver() as receiver:
        secret = service.add_hook(f"{receiver.url}/hook")
        with service.deliverer():
            request = {"model": MODEL, "input": "Scenario plain: tell the hook"}
            made = service.run("python", "background", {"request": request})
            deliveries = receiver.delivered(2)
    assert made["response"]["output_text"] == ANSWER
    ids = {delivery["headers"]["webhook-id"] for delivery in deliveries}
    assert len(ids) == 1, "a delivery keeps its id when it is repeated"
    for delivery in deliveries:
        for client in OFFICIAL:
            seen = service.run(client, "webhook", {**delivery, "secret": secret})
            event = seen["event"]
            assert event["type"] == "response.completed", event
            assert event["data"]["id"] == made["response"]["id"], event
            assert event["object"] == "event" and event["id"] in ids, event
            forged = seen["forged"]["raised"]["class"]
            assert forged == "InvalidWebhookSignatureError", seen
