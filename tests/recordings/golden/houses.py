"""Under which settings a job is served; the endpoints and tools that there are."""

import json
import time

from web import Web

NOWHERE = "http://127.0.0.1:1/v1"
PRICE = {"input": 2, "cached": 0.5, "output": 8}
PARAMETERS = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "kind": {"enum": ["a", "b"]}},
    "required": ["query"],
}
FOUND = {
    "query": "grain",
    "results": [
        {"title": "Mills", "url": "https://mills.example/", "content": "All of them."}
    ],
}
PAGE = """<!doctype html><title>Grain</title><h1>Grain</h1>
<p>It is <a href="https://mills.example/">milled</a> by <em>hand</em>."""


class Pages(Web):
    """What the operator's tools, and our own, ask for."""

    def answer(self, asked):
        path = asked.path.partition("?")[0]
        if path == "/search":
            return 200, json.dumps({"path": asked.path}).encode(), {}
        if path == "/page":
            return 200, PAGE.encode(), {"Content-Type": "text/html"}
        if path == "/searxng/search":
            return 200, json.dumps(FOUND).encode(), {"Content-Type": "application/json"}
        if path == "/takes-a-second":
            time.sleep(1)
            return 200, b'{"at": "last"}', {}
        if path == "/broken":
            return 500, b"out of order", {}
        if path == "/large":
            return 200, b"x" * 9000, {}
        return super().answer(asked)


def write_models(folder, url):
    """Endpoints by name."""
    chat = {"url": url, "model": "m"}
    claude = {"url": url, "model": "c", "dialect": "anthropic"}
    o = {"url": url, "model": "o", "dialect": "responses"}
    keeps = {"parameters": {"store": True, "background": True}}
    bounds = {"temperature": [0, 1], "seed": "drop", "top_p": True, "*": False}
    thinks = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    models = {
        "default": chat,
        "small": {**chat, "window": 2400},
        "forgetful": {**chat, "window": 4000, "history": "summarise"},
        "priced": {**chat, "price": PRICE},
        "seeded": {**chat, "parameters": {"seed": 7, "temperature": 0.2}},
        "bounded": {**chat, "job_parameters": bounds},
        "away": {**chat, "url": NOWHERE},
        "falls": {**chat, "url": NOWHERE, "fallback": "default"},
        "falls-to-claude": {**chat, "url": NOWHERE, "fallback": "claude"},
        "tired": {**chat, "fallback": "small"},
        "hasty": {**chat, "first_byte_ms": 300, "idle_ms": 300},
        "claude": claude,
        "claude-thinks": {**claude, "parameters": thinks},
        "claude-small": {**claude, "window": 2400},
        "o": o,
        "o-small": {**o, "window": 2400},
        "o-keeps": {**o, **keeps},
        "sees": {**chat, "sees": True},
        "claude-sees": {**claude, "sees": True},
        "o-sees": {**o, "sees": True},
    }
    (folder / "models.json").write_text(json.dumps(models))


def write_tools(folder, pages, weather):
    """Tools of an operator: HTTP requests, and a server of them."""
    find = {"url": f"{pages}/search", "parameters": PARAMETERS}
    search = {"search": {**find, "description": "Looks words up."}}
    tools = {
        **search,
        "order": {
            "url": f"{pages}/items/{{item}}/orders",
            "method": "POST",
            "description": "Orders an item.",
            "parameters": {
                "type": "object",
                "properties": {
                    "item": {"type": "string"},
                    "count": {"type": "integer"},
                },
                "required": ["item"],
            },
            "headers": {"X-User": "{{job.metadata.user}}"},
        },
        "broken": {"url": f"{pages}/broken"},
        "large": {"url": f"{pages}/large", "max_bytes": 2000},
        "slow": {"url": f"{pages}/slow", "total_ms": 300},
        "slow_search": {"url": f"{pages}/takes-a-second"},
        "slow_order": {"url": f"{pages}/takes-a-second", "method": "POST"},
        "guarded": {**find, "approve": True},
        "mcpServers": {"weather": {"url": f"{weather}/mcp"}},
    }
    away = {**search, "mcpServers": {"gone": {"url": "http://127.0.0.1:1/mcp"}}}
    (folder / "search.json").write_text(json.dumps(search))
    (folder / "tools.json").write_text(json.dumps(tools))
    (folder / "away.json").write_text(json.dumps(away))


def write_prompts(folder):
    (folder / "prompts").mkdir()
    for name in ("tools", "codeact", "plain"):
        words = f"You are the mill's {name} assistant.\n"
        (folder / "prompts" / f"{name}.en.md").write_text(words)


def usual(studio, tools="search", **more):
    return {
        "models": studio.own / "models.json",
        "tools": studio.own / f"{tools}.json",
        "lease": "600ms",
        "away_time": "60s",  # an executor that starts anew is waited for
        "backoff": "20ms",
        "max_attempts": 2,
        **more,
    }


def house(tools="search", **settings):
    return lambda studio: usual(studio, tools, **settings)


def tooled(studio):
    """With all tools that there are; pages of this machine may be fetched."""
    return usual(
        studio,
        "tools",
        tools_builtin="search_web,fetch_url,calculate_math_expression",
        fetch_allow="127.0.0.1:%d" % studio.pages.server_port,
        search="searxng",
        env={"SEARXNG_URL": f"{studio.pages.url}/searxng"},
    )


HOUSES = {
    "usual": house(),
    "tooled": tooled,
    "servers away": house("away", hold=0),
    "no executor": house(executor="none"),
    "careful": house(approve="execute_python_code", approval_default="skip"),
    "hands back": house(hold=0, max_attempts=4),
    "one crash": house(max_crashes=1),
    "strict": house(repeats=1, output_repairs=0),
    "few turns": house(max_turns=3),
    "few tokens": house(max_total_tokens=8000),
    "little money": house(max_cost="0.02"),
    "linked": house(blob_url="https://files.example/{blob}/{name}"),
    "own words": lambda studio: usual(studio, prompts=studio.own / "prompts"),
    "forgets": house(history_size=0),
    "saves nothing": house(save_sessions="off"),
    "two pictures": house(images=2),
}
