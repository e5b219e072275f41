"""A job whose consumer is the test: it takes the job and tells its events by the
functions that consumers call, so neither a model nor an executor is needed. calls() and
printed() are events of jobs that are larger than a screen.

    job = TakenJob(stack, prompt="x")
    job.tell(("tool.started", {"call": "c1", "tool": "python", "code": "1"}))
    job.finish()
"""

import msgpack

AT_ONCE_BYTES = 1 << 20


class TakenJob:
    def __init__(self, stack, **job):
        self.stack = stack
        self.id = stack.submit(queue="by-hand", **job)
        taken = stack.call("take", "test", 600_000, 3, 1, "queue", "by-hand")
        assert taken[0][0] == 1 and taken[0][2].decode() == self.id, taken
        self.epoch = taken[0][3]

    def tell(self, *events):
        given, size = [], 0
        for type, data in events:
            given += [type, msgpack.packb(data)]
            size += len(given[-1])
            if len(given) >= 200 or size > AT_ONCE_BYTES:
                self.stack.call("event", self.id, self.epoch, *given)
                given, size = [], 0
        if given:
            self.stack.call("event", self.id, self.epoch, *given)

    def finish(self, **result):
        whole = {"v": 1, "id": self.id, "status": "completed", **result}
        data = msgpack.packb({"answer": result.get("answer", "")})
        given = [self.id, self.epoch, "completed", msgpack.packb(whole), data, "", 0, 0]
        self.stack.call("finish", *given)


def calls(count):
    for n in range(count):
        code = f"for i in range({n}):\n    print('row', i)  # all"
        yield "tool.started", {"call": f"c{n}", "tool": "python", "code": code}
        yield "tool.output", {"call": f"c{n}", "stream": "stdout", "text": f"printed {n}\n"}
        yield "tool.completed", {"call": f"c{n}", "tool": "python", "status": "ok", "ms": 5}


def printed(*texts):
    yield "tool.started", {"call": "c", "tool": "python", "code": "1"}
    for text in texts:
        yield "tool.output", {"call": "c", "stream": "stdout", "text": text}
