"""What a service that is written in a day does in the gateway's place: reads the
request, adds the job to a stream of Redis, answers. uvicorn fastapi_peer:app"""

import os
import time
import uuid

import fastapi
import pydantic
import redis.asyncio

app = fastapi.FastAPI()
db = redis.asyncio.Redis(unix_socket_path=os.environ["SOCKET"])


class Request(pydantic.BaseModel):
    input: str
    background: bool = False
    model: str | None = None


@app.post("/v1/responses")
async def create(request: Request):
    id = f"resp_{uuid.uuid4().hex}"
    await db.xadd("jobs", {"id": id, "job": request.model_dump_json()})
    return {
        "id": id,
        "object": "response",
        "created_at": int(time.time()),
        "status": "queued",
        "background": request.background,
        "model": request.model,
        "output": [],
    }
