"""item_reference in the input of POST /v1/responses: an item of an earlier response,
by its id, with a real Redis and a real consumer."""

from gateway import Gateway, bearer, make_key
from stack import ROOT, call_of
from test_gateway_responses import CODE, WEATHER, create, job_of, texts

GATEWAY = {"foreground_grace": "200ms"}
ASK = {"role": "user", "content": "And now?"}


def reference(id):
    return {"type": "item_reference", "id": id}


def answer(gateway, stack, text="x", **request):
    stack.model.script([{"text": text}] * 3)
    return create(gateway, **request)


def messages_of(stack):
    """What the model was sent; one part of text is the text."""
    messages = stack.model.request()["messages"]
    for message in messages:
        if isinstance(message.get("content"), list):
            [part] = message["content"]
            message["content"] = part["text"]
    return [message for message in messages if message["role"] != "system"]


def told(stack):
    return [(m["role"], m.get("content")) for m in messages_of(stack)]


def given(gateway, response):
    path = f"/v1/responses/{response['id']}/input_items?order=asc"
    status, page = gateway.json("GET", path)
    assert status == 200, page
    return [item["id"] for item in page["data"]]


def refused(gateway, *items, **headers):
    """(param, message) of the refusal."""
    status, body = gateway.json("POST", "/v1/responses", {"input": list(items)}, **headers)
    assert status == 400 and body["error"]["code"] == "invalid_value", body
    return body["error"]["param"], body["error"]["message"]


def test_messages_that_were_made_and_given(gateway, stack):
    first = answer(gateway, stack, "one", input="a")
    second = answer(gateway, stack, "two", input="b", previous_response_id=first["id"])
    a, one, b = given(gateway, second)
    made = second["output"][0]["id"]
    # In the order of the request, not of the conversation; without a type too.
    items = [reference(b), {"id": made}, reference(a), reference(given(gateway, first)[0])]
    items += [reference(one), reference(first["output"][0]["id"]), ASK]
    third = answer(gateway, stack, "three", input=items)
    assert texts(third) == ["three"]
    assert told(stack) == [
        *(("user", "b"), ("assistant", "two"), ("user", "a"), ("user", "a")),
        *(("assistant", "one"), ("assistant", "one"), ("user", "And now?")),
    ]
    # The third has them itself.
    gateway.json("DELETE", f"/v1/responses/{second['id']}")
    items = [reference(id) for id in given(gateway, third)]
    answer(gateway, stack, input=items[:2] + [ASK])
    assert told(stack) == [("user", "b"), ("assistant", "two"), ("user", "And now?")]


def test_a_call_with_its_output(gateway, stack):
    call = {"id": "w", "name": "get_weather", "arguments": '{"city": "Rome"}'}
    stack.model.script([{"tool_calls": [call]}])
    first = create(gateway, input="weather?", tools=[WEATHER])
    [made] = [i for i in first["output"] if i["type"] == "function_call"]
    output = {"type": "function_call_output", "call_id": made["call_id"], "output": "sunny"}
    items = [{"role": "user", "content": "weather?"}, reference(made["id"]), output]
    second = answer(gateway, stack, "Sunny.", input=items, tools=[WEATHER])
    assert texts(second) == ["Sunny."]
    messages = messages_of(stack)
    assert [m["role"] for m in messages] == ["user", "assistant", "tool"]
    assert messages[1]["tool_calls"][0]["function"] == {
        "name": "get_weather",
        "arguments": made["arguments"],
    }
    assert messages[2]["content"] == "sunny"
    # The same three once more: all as items that were given.
    answer(gateway, stack, input=[reference(id) for id in given(gateway, second)])
    assert messages_of(stack) == messages


def test_python_with_what_it_printed(gateway, stack):
    stack.model.script([{"tool_calls": [call_of("print(6 * 7)")]}, {"text": "42"}])
    first = create(gateway, input="go", tools=[CODE])
    [made] = [i for i in first["output"] if i["type"] == "code_interpreter_call"]
    assert made["outputs"] is None
    answer(gateway, stack, input=[reference(made["id"]), ASK], tools=[CODE])
    output = [content for role, content in told(stack) if role == "tool"]
    assert len(output) == 1 and "42" in output[0]


def test_reasoning_is_found_and_left_out(gateway, stack):
    stack.model.script([{"reasoning": "hm", "text": "one"}])
    first = create(gateway, input="a")
    kinds = [item["type"] for item in first["output"]]
    assert kinds == ["reasoning", "message"]
    answer(gateway, stack, input=[reference(i["id"]) for i in first["output"]] + [ASK])
    assert told(stack) == [("assistant", "one"), ("user", "And now?")]


def test_what_is_not_there_is_refused_in_the_same_words(gateway, stack):
    ann, bob = bearer(make_key(stack)), bearer(make_key(stack, tenant="bob"))
    with Gateway(stack.redis.url, open=None) as keyed:
        keyed.ready()
        stack.model.script([{"text": "secret"}])
        status, first = keyed.json("POST", "/v1/responses", {"input": "a"}, **ann)
        assert status == 200, first
        id = first["output"][0]["id"]
        mine = [ASK, reference(id)]
        foreign = refused(keyed, *mine, **bob)
        stack.model.script([{"text": "x"}])
        status, next = keyed.json("POST", "/v1/responses", {"input": mine}, **ann)
        assert status == 200 and ("assistant", "secret") in told(stack), next
        stack.db.delete(f"{ROOT}result:{job_of(first)}")
        assert refused(keyed, *mine, **ann) == foreign
        stack.db.delete(f"{ROOT}asked:{job_of(first)}")
        assert refused(keyed, *mine, **ann) == foreign
        keyed.drain()
    assert foreign == ("input[1].id", f'input[1].id is "{id}": there is no such item')


def test_ids_of_no_item(gateway, stack):
    first = answer(gateway, stack, "one", input="a")
    digits = first["id"].removeprefix("resp_")
    here, unknown = first["output"][0]["id"], digits[:-4] + "ffff"
    for id in (
        *("", "msg_7", "x" * 64, first["id"], f"msg_{digits}", f"msg_{unknown}0000"),
        *(f"msg_{digits}i0001", f"msg_{digits}ffff", f"fc_{here.removeprefix('msg_')}"),
    ):
        param, message = refused(gateway, reference(here), reference(id))
        assert param == "input[1].id"
        assert message == f'{param} is "{id}": there is no such item'
    got = gateway.refusal("POST", "/v1/responses", {"input": [reference(7)]})
    assert got == (400, "invalid_type", "input[0].id")


def test_how_many_and_how_long(gateway, stack):
    first = answer(gateway, stack, "one", input="y" * 200_000)
    made, [long] = first["output"][0]["id"], given(gateway, first)
    answer(gateway, stack, input=[reference(made)] * 64)
    assert told(stack) == [("assistant", "one")] * 64
    param, message = refused(gateway, *[reference(made)] * 65)
    assert param == "input" and "65" in message and "64" in message
    param, message = refused(gateway, *[reference(long)] * 22)
    assert param == "input" and message.endswith("bytes, more than 4194304")
