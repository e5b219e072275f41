"""A client's container outlives all that it runs on. The client asks again where nobody
listens, as often as it was told to, and notices only that it waits longer."""

import signal

import pytest
from expectations import MODEL
from scenarios import CODE_TOOL, OFFICIAL
from service import Service
from servers import wait_until
from stack import call_of

BEGIN = "x = 41; _ = open('/mnt/data/kept.txt', 'w').write('kept')"
# The client waits 0.5 s, 1, 2, 4 and then 8 s between tries: half a minute without a gateway.
RETRIES = 7
GO_ON = "import time; time.sleep(3); x += 1; print(x, open('/mnt/data/kept.txt').read())"


def script(client):
    return [
        {
            "match": f"Survive {step} {client}",
            "replies": [{"tool_calls": [call_of(code)]}, {"text": "Done."}],
        }
        for step, code in [("first", BEGIN), ("second", GO_ON)]
    ]


def kill_all(service):
    """As when the power of every host but that of Redis fails; then all come back."""
    stack = service.stack
    [consumer] = stack.consumers
    for process in (service.gateway, consumer, stack.executor):
        process.signal(signal.SIGKILL)
        process.wait()
    stack.consumers.remove(consumer)
    service.gateway.start()
    stack.start_executor()
    stack.consumer()


@pytest.mark.parametrize("client", OFFICIAL)
def test_a_container_survives_gateway_consumer_and_executor(client):
    with Service() as service:
        service.stack.model.script(script(client))
        request = {"model": MODEL, "tools": [CODE_TOOL]}
        asked = {**request, "input": f"Survive first {client}"}
        first = service.run(client, "plain", {"request": asked})["response"]
        assert first["status"] == "completed", first

        before = service.jobs()
        asked = {
            **request,
            "input": f"Survive second {client}",
            "previous_response_id": first["id"],
            "include": ["code_interpreter_call.outputs"],
        }
        started = service.start(client, "background", {"request": asked, "retries": RETRIES})
        [job] = wait_until(lambda: service.jobs() - before, what="a second job")
        service.stack.wait_event(job, "tool.started")
        kill_all(service)
        second = service.finish(started, timeout=180)["response"]
    assert second["status"] == "completed", second
    calls = [i for i in second["output"] if i["type"] == "code_interpreter_call"]
    assert [call["container_id"] for call in calls] == [container_of(first)]
    assert calls[0]["outputs"] == [{"type": "logs", "logs": "42 kept\n"}], calls


def container_of(response):
    [call] = [i for i in response["output"] if i["type"] == "code_interpreter_call"]
    return call["container_id"]
