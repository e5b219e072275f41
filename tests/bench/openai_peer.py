"""Who asks the same model without a queue, in the same ways.

    openai_peer.py client|aiohttp|agent

Reads "N VERB" a line and prints what came of it as JSON.

    turns  N streamed turns, one after the other: the seconds of all
    hold   N of them at once: the same

client is openai's AsyncOpenAI as it comes, but for its bound of connections;
aiohttp the same with openai's own other transport; agent a pydantic-ai Agent on
top of the first.
"""

import asyncio
import json
import sys
import time

import openai
from openai import AsyncOpenAI, DefaultAioHttpClient, DefaultAsyncHttpxClient

PROMPT = "ping"
TIMEOUT_S = 600


def make_client(kind):
    if kind == "aiohttp":
        http = DefaultAioHttpClient(timeout=TIMEOUT_S, limits=no_limits())
    else:
        http = DefaultAsyncHttpxClient(timeout=TIMEOUT_S, limits=no_limits())
    return AsyncOpenAI(http_client=http, max_retries=0, timeout=TIMEOUT_S)


def no_limits():
    kind = type(openai._constants.DEFAULT_CONNECTION_LIMITS)
    return kind(max_connections=100_000, max_keepalive_connections=100)


def plain_turn(client):
    async def turn():
        pieces = []
        stream = await client.chat.completions.create(
            model="practice",
            messages=[{"role": "user", "content": PROMPT}],
            stream=True,
            stream_options={"include_usage": True},
        )
        async for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content:
                pieces.append(chunk.choices[0].delta.content)
        return "".join(pieces)

    return turn


def agent_turn(client):
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(openai_client=client)
    agent = Agent(OpenAIChatModel("practice", provider=provider))

    async def turn():
        pieces = []
        async with agent.run_stream(PROMPT) as result:
            # Every delta as it comes, as the others have it.
            async for piece in result.stream_text(delta=True, debounce_by=None):
                pieces.append(piece)
        return "".join(pieces)

    return turn


async def answer_lines(turn):
    loop = asyncio.get_running_loop()
    print("ready", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        count, verb = line.split()
        start = time.perf_counter()
        if verb == "turns":
            for _ in range(int(count)):
                assert await turn()
        else:
            texts = await asyncio.gather(*(turn() for _ in range(int(count))))
            assert all(texts)
        print(json.dumps(time.perf_counter() - start), flush=True)


async def main(kind):
    client = make_client(kind)
    await answer_lines(agent_turn(client) if kind == "agent" else plain_turn(client))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
