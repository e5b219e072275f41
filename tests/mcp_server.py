"""A server of tools as the `mcp` package for Python has it, of either generation.

    mcp_server.py PORT LOG [NAME=VALUE...]

Runs where that package is, and nothing of ours. NAME=VALUE: settings of its
transport, as JSON. What its tools are asked goes to LOG, a JSON line each.
"""

import asyncio
import json
import sys
from typing import Annotated

from pydantic import BaseModel, Field

PORT, LOG = int(sys.argv[1]), sys.argv[2]
SETTINGS = dict(word.split("=", 1) for word in sys.argv[3:])
SETTINGS = {name: json.loads(value) for name, value in SETTINGS.items()}
WHERE = {"host": "127.0.0.1", "port": PORT}

try:  # the package's second version, which speaks both generations
    from mcp.server.mcpserver import Context, MCPServer

    server = MCPServer("weather")
    run = WHERE | SETTINGS
    import mcp_types as types
except ImportError:
    from mcp import types
    from mcp.server.fastmcp import Context, FastMCP

    server = FastMCP("weather", **WHERE, **SETTINGS)
    run = {}

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def note(**what):
    with open(LOG, "a") as log:
        log.write(json.dumps(what) + "\n")


def text(text):
    return types.TextContent(type="text", text=text)


@server.tool(description="Adds two numbers.")
def add(a: int, b: int = 2) -> int:
    note(tool="add", a=a, b=b)
    return a + b


@server.tool(structured_output=False)
def say(words: str) -> str:
    note(tool="say", words=words)
    return words


@server.tool(annotations=types.ToolAnnotations(readOnlyHint=True))
def look(city: str) -> dict:
    note(tool="look", city=city)
    return {"city": city, "degrees": 21}


@server.tool(name="draw.map", structured_output=False)
def draw() -> list:
    link = {"type": "resource_link", "uri": "file:///a/b.txt", "name": "b.txt"}
    held = {"uri": "note://1", "mimeType": "text/plain", "text": "held in it"}
    image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    return [
        text("a map:"),
        types.ImageContent(**image),
        types.ResourceLink(**link),
        types.EmbeddedResource(type="resource", resource=held),
    ]


@server.tool(structured_output=False)
def book(
    seat: int,
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
) -> str:
    """The newer generation refuses a call whose headers are not its body's."""
    note(tool="book", seat=seat, region=region)
    return f"{seat} in {region}"


@server.tool()
def fail(why: str) -> str:
    raise ValueError(why)


@server.tool()
async def wait(name: str) -> str:
    note(tool="wait", name=name)
    try:
        await asyncio.sleep(30)
    except BaseException as error:
        note(tool="wait", name=name, ended=type(error).__name__)
        raise
    return "waited"


@server.tool(structured_output=False)
async def steps(ctx: Context) -> str:
    for step in range(3):
        await ctx.report_progress(step, 3, "going on")
    return "done"


class Answer(BaseModel):
    yes: bool


@server.tool(structured_output=False)
async def ask(ctx: Context) -> str:
    """Wants a person, whom we have not."""
    got = await ctx.elicit("May I?", Answer)
    return f"answered: {got.action}"


server.run("streamable-http", **run)
