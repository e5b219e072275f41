"""R3: a consumer is killed at every step of a conversation's journal.

The model counts its requests, a tool its calls: by the model itself, by code of a
cell, in tools mode and in CodeAct mode; without people and with somebody who
approves each call; of an endpoint that keeps its replies, too. What is in the journal is not done again; of the one thing
whose outcome nobody knows, the result tells.
"""

import json

import r2
from scenarios import Scenario
from stack import call_of

STEPS = ("take", "journal", "spend", "wait", "finish")
WORLDS = 1500  # as many as there may be


def noted(token):
    """Code that calls the tool, and bears that nobody knows what came of it."""
    return f"try: note('{token}')\nexcept ToolError as e: print(e)\n6 * 7"


def asks(number):
    arguments = json.dumps({"token": f"m{number}"})
    return {"id": "n1", "name": "note", "arguments": arguments}


def tools_mode(number):
    calls = [asks(number), call_of(noted(f"c{number}"), "p1"), call_of("n = 1", "p2")]
    return [
        {"text": "Let me see.", "tool_calls": calls},
        {"tool_calls": [call_of("n + 1", "p3")]},
        {"text": "done"},
    ]


def codeact(number):
    acts = [noted(f"a{number}"), "n = 1\nprint(n)"]
    texts = [f"I do it.\n```python\n{code}\n```" for code in acts]
    return [{"text": text} for text in [*texts, "FINAL ANSWER: done"]]


MODES = {"tools": tools_mode, "codeact": codeact}
SCRIPT = [
    {"match": f"{mode} of {number}.", "replies": replies(number)}
    for mode, replies in MODES.items()
    for number in range(WORLDS)
]


def talk_with_tools(world):
    world.submit({"prompt": f"tools of {world.number}."})


def talk_to_one_that_keeps(world):
    """Where the id of a reply is in the journal, it is not paid for twice."""
    world.submit({"prompt": f"tools of {world.number}.", "model": "kept"})


def act_with_code(world):
    world.submit({"prompt": f"codeact of {world.number}.", "mode": "codeact"})


def with_approval(world, members):
    """Somebody says yes to whatever is asked."""
    client = world.fleet.client
    id = world.submit({**members, "approve": ["note", "execute_python_code"]})
    asked = [b"waiting", b"approval"]

    def approve():
        if world.fleet.db.hmget(f"{world.root}job:{id}", "state", "reason") == asked:
            client.approve(id, True, world.root)

    world.wait(meanwhile=approve)


def be_asked_about_tools(world):
    with_approval(world, {"prompt": f"tools of {world.number}."})


def be_asked_about_code(world):
    with_approval(world, {"prompt": f"codeact of {world.number}.", "mode": "codeact"})


SCENARIOS = [
    Scenario(talk_with_tools),
    Scenario(act_with_code),
    Scenario(talk_to_one_that_keeps),
    Scenario(be_asked_about_tools),
    Scenario(be_asked_about_code),
]


def is_of_the_journal(point):
    return point.kill and point.place[0] in STEPS


def run(asked, history, tell):
    return r2.run(asked, history, tell, "R3", SCENARIOS, SCRIPT, is_of_the_journal)
