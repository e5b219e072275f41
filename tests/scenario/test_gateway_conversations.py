"""/v1/conversations, with a real Redis and a real consumer: responses add to them,
one at a time; items are added without one."""

import threading

import pytest
from gateway import Gateway
from held_redis import HeldRedis
from servers import PATIENCE_S, wait_until
from stack import ROOT, Stack
from test_gateway_responses import create, job_of, texts

GATEWAY = {"foreground_grace": "200ms"}
WEEK_S = 7 * 24 * 3600


@pytest.fixture(scope="module")
def stack():
    with Stack(executor=False) as stack:
        stack.consumer()
        yield stack


def make(gateway, **request):
    status, answer = gateway.json("POST", "/v1/conversations", request)
    assert status == 200, answer
    assert answer["object"] == "conversation" and answer["id"].startswith("conv_")
    return answer


def items(gateway, id, query="?order=asc"):
    status, page = gateway.json("GET", f"/v1/conversations/{id}/items{query}")
    assert status == 200, page
    return page["data"]


def said(found):
    return [(item["role"], item["content"][0]["text"]) for item in found]


def test_responses_add_to_it(gateway, stack):
    id = make(gateway, items=[{"role": "user", "content": "My name is Ada."}])["id"]
    stack.model.script([{"text": "Hello."}])
    first = create(gateway, input="Hi.", conversation=id)
    assert texts(first) == ["Hello."] and first["conversation"] == {"id": id}
    stack.model.script([{"text": "Ada."}])
    create(gateway, input="Who am I?", conversation={"id": id}, instructions="Be brief.")
    messages = stack.model.request()["messages"]
    assert [m["content"] for m in messages if m["role"] != "system"] == [
        *("My name is Ada.", "Hi.", "Hello.", "Who am I?")
    ]
    found = items(gateway, id)
    assert said(found) == [
        ("user", "My name is Ada."),
        *(("user", "Hi."), ("assistant", "Hello.")),
        *(("user", "Who am I?"), ("assistant", "Ada.")),
    ]
    # They keep their ids, and can be read one by one.
    assert [i["id"] for i in items(gateway, id)] == [i["id"] for i in found]
    path = f"/v1/conversations/{id}/items"
    assert gateway.json("GET", f"{path}/{found[2]['id']}") == (200, found[2])
    assert gateway.refusal("GET", f"{path}/msg_7")[0] == 404
    assert items(gateway, id, "?limit=2") == found[:2:-1]
    key = "quern:{000}:conversation:" + job_of({"id": id.replace("conv", "resp")})
    assert WEEK_S - 60 < stack.db.ttl(key) <= WEEK_S


def test_items_are_added(gateway, stack):
    id = make(gateway)["id"]
    path = f"/v1/conversations/{id}/items"
    status, added = gateway.json(
        "POST",
        path,
        {"items": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
    )
    assert status == 200 and said(added["data"]) == [("user", "a"), ("assistant", "b")]
    status, more = gateway.json("POST", path, {"items": [{"role": "user", "content": "c"}]})
    assert said(more["data"]) == [("user", "c")]
    found = items(gateway, id)
    assert [i["id"] for i in found] == [
        i["id"] for i in (*added["data"], *more["data"])
    ]
    given = [{"role": "user", "content": "a"}]
    for body, param in [({}, "items"), ({"items": [{"role": "x"}]}, "items[0].role"), ({"items": given * 21}, "items")]:
        status, code, wrong = gateway.refusal("POST", path, body)
        assert status == 400 and wrong == param


def test_items_are_removed(gateway, stack):
    """The others keep their ids; what is added later gets new ones."""
    texts_of = ["a", "b", "c"]
    given = [{"role": "user", "content": text} for text in texts_of]
    id = make(gateway, items=given)["id"]
    path = f"/v1/conversations/{id}/items"
    first, second, third = items(gateway, id)
    status, answer = gateway.json("DELETE", f"{path}/{second['id']}")
    assert status == 200 and answer == gateway.json("GET", f"/v1/conversations/{id}")[1]
    assert items(gateway, id) == [first, third]
    for method in ("GET", "DELETE"):
        assert gateway.refusal(method, f"{path}/{second['id']}")[0] == 404
    stack.model.script([{"text": "e"}])
    create(gateway, input="d", conversation=id)
    sent = [m for m in stack.model.request()["messages"] if m["role"] != "system"]
    assert [m["content"] for m in sent] == ["a", "c", "d"]
    found = items(gateway, id)
    assert found[:2] == [first, third]
    assert [i["content"][0]["text"] for i in found] == ["a", "c", "d", "e"]
    assert len({second["id"], *(i["id"] for i in found)}) == 5
    for one in (first, found[3], third, found[2]):
        assert gateway.json("DELETE", f"{path}/{one['id']}")[0] == 200
        found.remove(one)
        assert items(gateway, id) == found
    stack.model.script([{"text": "Anew."}])
    assert texts(create(gateway, input="x", conversation=id)) == ["Anew."]
    assert stack.model.request()["messages"][-1]["content"] == "x"


@pytest.mark.parametrize("removed", ["function_call", "function_call_output"])
def test_a_call_and_its_output_are_removed_together(gateway, stack, removed):
    """A model would refuse one without the other."""

    def call(id):
        return {"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"}

    def output(id):
        return {"type": "function_call_output", "call_id": id, "output": id}

    id = make(gateway, items=[call("1"), call("2"), output("1"), output("2")])["id"]
    all = items(gateway, id)
    chosen = [i for i in all if i["type"] == removed and i["call_id"] == "1"]
    assert len(all) == 4
    status, _ = gateway.json("DELETE", f"/v1/conversations/{id}/items/{chosen[0]['id']}")
    assert status == 200 and items(gateway, id) == [all[1], all[3]]
    stack.model.script([{"text": "Fine."}])
    function = {"type": "function", "name": "f", "parameters": {"type": "object"}}
    assert texts(create(gateway, input="x", conversation=id, tools=[function])) == ["Fine."]
    [message] = [m for m in stack.model.request()["messages"] if m.get("tool_calls")]
    assert [made["id"] for made in message["tool_calls"]] == ["2"]


def test_no_item_is_removed_while_a_response_adds(gateway, stack):
    id = make(gateway, items=[{"role": "user", "content": "a"}])["id"]
    [item] = items(gateway, id)
    stack.model.script([{"text": "word " * 30, "chunk_ms": 100}])
    running = create(gateway, input="b", conversation=id, background=True)
    path = f"/v1/conversations/{id}/items/{item['id']}"
    assert gateway.refusal("DELETE", path)[:2] == (400, "conversation_locked")
    stack.result(job_of(running))
    assert gateway.json("DELETE", path)[0] == 200


def test_metadata_and_delete(gateway):
    made = make(gateway, metadata={"a": "1"})
    path = f"/v1/conversations/{made['id']}"
    assert gateway.json("GET", path) == (200, made) and made["metadata"] == {"a": "1"}
    changed = gateway.json("POST", path, {"metadata": {"b": "2"}})
    assert changed == (200, {**made, "metadata": {"b": "2"}})
    assert gateway.json("GET", path)[1]["metadata"] == {"b": "2"}
    assert gateway.refusal("POST", path, {})[1:] == ("missing_required_parameter", "metadata")
    assert gateway.json("GET", path)[1]["metadata"] == {"b": "2"}
    assert gateway.json("DELETE", path) == (
        200,
        {"id": made["id"], "object": "conversation.deleted", "deleted": True},
    )
    for method, more in [("GET", ""), ("GET", "/items"), ("DELETE", "")]:
        assert gateway.refusal(method, path + more)[0] == 404
    assert gateway.refusal(
        "POST", "/v1/responses", {"input": "a", "conversation": made["id"]}
    ) == (400, "invalid_value", "conversation")
    for wrong in ({"a": 1}, {"a" * 65: "b"}, {"a": "b" * 513}):
        assert gateway.refusal("POST", "/v1/conversations", {"metadata": wrong}) == (
            *(400, "invalid_value", "metadata"),
        )


def add_while(stack, gateway, id, change):
    """(status, answer) of an item that is added while somebody else changes it."""
    with HeldRedis(stack.redis.socket) as way, Gateway(way.url) as other:
        other.ready()
        way.hold(b"HSETNX")
        path, given = f"/v1/conversations/{id}/items", {}
        body = {"items": [{"role": "user", "content": "a"}]}
        add = threading.Thread(
            target=lambda: given.update(answer=other.json("POST", path, body))
        )
        add.start()
        assert way.held.wait(PATIENCE_S)
        change()
        way.let_go()
        add.join()
        other.drain()
    return given["answer"]


def test_metadata_that_is_changed_meanwhile_stays(stack, gateway):
    id = make(gateway, metadata={"a": "old"})["id"]
    path = f"/v1/conversations/{id}"
    new = {"metadata": {"a": "new"}}
    status, _ = add_while(stack, gateway, id, lambda: gateway.json("POST", path, new))
    assert status == 200
    assert gateway.json("GET", path)[1]["metadata"] == {"a": "new"}
    assert said(items(gateway, id)) == [("user", "a")]


def test_a_conversation_that_is_deleted_meanwhile_stays_so(stack, gateway):
    id = make(gateway)["id"]
    path = f"/v1/conversations/{id}"
    status, answer = add_while(stack, gateway, id, lambda: gateway.json("DELETE", path))
    assert (status, answer["error"]["code"]) == (404, "not_found")
    wait_until(lambda: not stack.db.keys(f"*conversation:{job_of({'id': id.replace('conv', 'resp')})}"))
    assert gateway.json("GET", path)[0] == 404


@pytest.mark.parametrize("body", ["{", "[]", '{"colour": 1}', '{"items": 7}', '{"metadata": 7}'])
def test_a_wrong_body_changes_nothing(gateway, body):
    made = make(gateway, metadata={"a": "b"})
    path, type = f"/v1/conversations/{made['id']}", "application/json"
    assert gateway.call("POST", path, body, content_type=type)[0] == 400
    assert gateway.call("POST", f"{path}/items", body, content_type=type)[0] == 400
    assert gateway.json("GET", path) == (200, made)


def test_one_at_a_time(gateway, stack):
    id = make(gateway)["id"]
    stack.model.script([{"text": "word " * 20, "chunk_ms": 100}])
    first = create(gateway, input="a", conversation=id, background=True)
    locked = (400, "conversation_locked", "conversation")
    ask = {"input": "b", "conversation": id}
    assert gateway.refusal("POST", "/v1/responses", ask) == locked
    more = f"/v1/conversations/{id}/items"
    message = {"role": "user", "content": "c"}
    assert gateway.refusal("POST", more, {"items": [message]})[1] == locked[1]
    stack.result(job_of(first))
    known = items(gateway, id)
    stack.model.script([{"text": "word " * 20, "chunk_ms": 100}])
    second = create(gateway, input="b", conversation=id, background=True)
    assert items(gateway, id)[: len(known)] == known  # what was said can be read
    stack.result(job_of(second))
    # Of ten at once one gets the turn; the others leave nothing behind.
    stack.model.script([{"text": "word " * 10, "chunk_ms": 100}])
    answers = []

    def go():
        answers.append(gateway.json("POST", "/v1/responses", ask)[0])

    threads = [threading.Thread(target=go) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [200] + [400] * 9
    assert [text for role, text in said(items(gateway, id)) if role == "user"] == ["a", "b", "b"]


def test_a_response_that_left_nothing(gateway, stack):
    """It was cancelled before it began: the conversation is as it was before."""
    id = make(gateway, items=[{"role": "user", "content": "a"}])["id"]
    stack.call("queue_set", "default", "paused", 1)
    first = create(gateway, input="b", conversation=id, background=True)
    gateway.json("POST", f"/v1/responses/{first['id']}/cancel")
    stack.call("queue_set", "default", "paused", "")
    wait_until(lambda: stack.state(job_of(first)) == "cancelled", what="its end")
    found = said(items(gateway, id))
    assert found[0] == ("user", "a")
    stack.model.script([{"text": "one"}])
    assert texts(create(gateway, input="c", conversation=id)) == ["one"]


def test_it_is_of_its_tenant(gateway, stack):
    id = make(gateway)["id"]
    with Gateway(stack.redis.url, open="other") as other:
        other.ready()
        foreign = other.refusal("GET", f"/v1/conversations/{id}")
        assert foreign == other.refusal("GET", "/v1/conversations/conv_7")
        assert other.refusal(
            "POST", "/v1/responses", {"input": "a", "conversation": id}
        ) == (400, "invalid_value", "conversation")
        other.drain()


def test_a_system_message_at_its_head_stays(gateway, stack):
    """It is no instructions of a response, which are not part of it."""
    given = [{"role": role, "content": text} for role, text in (("system", "s"), ("user", "u"))]
    id = make(gateway, items=given)["id"]
    assert said(items(gateway, id)) == [("developer", "s"), ("user", "u")]
    known = [item["id"] for item in items(gateway, id)]
    stack.model.script([{"text": "one"}])
    create(gateway, input="a", conversation=id, instructions="i")
    assert [m["content"] for m in stack.model.request()["messages"][1:]] == ["s", "u", "a"]
    assert [item["id"] for item in items(gateway, id)][:2] == known


def test_what_has_expired_is_not_overwritten(gateway, stack):
    uuid = "{}-{}-{}-{}-{}"
    for left_by in ("items", "response"):
        given = [{"role": "user", "content": "a"}]
        id = make(gateway, **({"items": given} if left_by == "items" else {}))["id"]
        name = id.removeprefix("conv_")
        key = f"{ROOT}conversation:" + uuid.format(
            name[:8], name[8:12], name[12:16], name[16:20], name[20:]
        )
        if left_by == "items":
            stack.db.delete(f"{ROOT}blob:{stack.db.hget(key, '1').decode()}")
        else:
            stack.model.script([{"text": "one"}])
            made = create(gateway, input="b", conversation=id)
            stack.db.delete(f"{ROOT}result:{job_of(made)}")
        more = f"/v1/conversations/{id}/items"
        expired = (400, "invalid_value")
        assert gateway.refusal("GET", more)[:2] == expired
        assert gateway.refusal("POST", more, {"items": given})[:2] == expired
        ask = {"input": "c", "conversation": id}
        assert gateway.refusal("POST", "/v1/responses", ask)[:2] == expired
        stack.db.pexpire(key, 60_000)
        gateway.json("POST", f"/v1/conversations/{id}", {"metadata": {"a": "b"}})
        assert 0 < stack.db.pttl(key) <= 60_000
