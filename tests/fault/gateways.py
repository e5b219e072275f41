"""gateways: as R1, but every job is submitted over HTTP and followed over HTTP, by
way of two gateways, which are killed too.

Whoever submits repeats a request with its Idempotency-Key until it is answered;
whoever follows comes back with the number of the last event that it has, at
either gateway. Each follower must see each event once and in order.
"""

import http.client
import itertools
import json
import threading
import time

import msgpack
import r1
from client import PATIENCE_S, Client
from fleet import Fleet, server_of
from gateway import Gateway
from jobs import FLAKY, Made, ask, code, dice_of, effect, flaky, jobs, session, talk
from jobs import twice, unwanted
from seen import is_end
from servers import free_ports
from staff import Staff
from upgrade import Upgrade

SHOWN = 5  # sentences of one kind
LOST = (OSError, http.client.HTTPException)


def lengthy(token, _):
    return Made(token, {"prompt": f"say {token} " + "and so on, and so on; " * 30})


KINDS = {
    talk: 40,
    lengthy: 10,
    ask: 10,
    code: 5,
    session: 10,
    effect: 5,
    twice: 8,
    unwanted: 4,
    flaky: 3,
}


class Doors:
    """The gateways, each on a port that it keeps when it is started again."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.gateways = [Gateway(fleet.redis.url, port) for port in free_ports(2)]
        self.numbers = itertools.count()

    def connect(self):
        """By turns, whether it is up or not."""
        gateway = self.gateways[next(self.numbers) % len(self.gateways)]
        return http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=20)

    def strike(self, number):
        gateway = self.gateways[number % len(self.gateways)]
        self.fleet.fault("gateway killed")
        gateway.kill()
        gateway.begin()

    def end(self):
        for gateway in self.gateways:
            gateway.drain()


class HttpClient(Client):
    """Submits by way of the doors. The id of a job is known when it is answered."""

    def __init__(self, fleet, doors):
        super().__init__(fleet.history, fleet.follower, fleet.redis.client)
        self.doors = doors
        self.numbers = itertools.count()
        self.watches = {}

    def submit_one(self, made, root=None):
        job = {"metadata": {"token": made.token}, **made.members}
        job["priority"] = made.priority
        if made.session:
            job["session"] = made.session
        key = made.key or f"key-{made.token}-{next(self.numbers)}"
        return self.until_answered(lambda: self.say(made, job, key))

    def say(self, made, job, key):
        status, answer = self.post("/v1/jobs", job, key)
        if status not in (200, 201):
            return None
        id = answer["id"]
        about = {"expect": made.expect, "session": made.session, "key": made.key}
        self.history.note(
            "submit", job=id, token=made.token, failures=made.failures, **about
        )
        verdict = "created" if status == 201 else "exists"
        self.history.note("answer", job=id, verdict=verdict, stands=id)
        self.accepted.add(id)
        if id not in self.watches:
            self.watches[id] = Watch(self.doors, id)
        return id

    def cancel(self, id, root=None):
        def say():
            status, answer = self.post(f"/v1/jobs/{id}/cancel", {"reason": "not wanted"})
            verdict = answer.get("outcome") if status in (200, 202) else None
            # What was repeated may have been done by the first try.
            if status == 409:
                verdict = "too_late"
            if verdict:
                self.history.note("cancel", job=id, verdict=verdict)
            return verdict

        return self.until_answered(say)

    def post(self, path, value, key=None):
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        connection = self.doors.connect()
        try:
            connection.request("POST", path, json.dumps(value), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def until_answered(self, say):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                if told := say():
                    return told
            except LOST:
                pass
            time.sleep(0.05)
        return None


class Watch(threading.Thread):
    """Follows one job, as a browser does."""

    def __init__(self, doors, id):
        super().__init__(daemon=True)
        self.doors, self.id = doors, id
        self.seen = []  # (number, type)
        self.wrong = None
        self.ended = threading.Event()
        self.start()

    def run(self):
        while not self.ended.is_set() and not self.wrong:
            try:
                self.follow()
            except LOST:
                pass
            time.sleep(0.05)

    def follow(self):
        connection = self.doors.connect()
        try:
            headers = {"Last-Event-ID": str(self.seen[-1][0])} if self.seen else {}
            connection.request("GET", f"/v1/jobs/{self.id}/events", headers=headers)
            answer = connection.getresponse()
            if answer.status == 204:
                self.ended.set()
            elif answer.status == 200:
                self.read(answer)
            elif answer.status != 503:
                self.wrong = f"{answer.status} {answer.read()[:200]}"
        finally:
            connection.close()

    def read(self, answer):
        number = None
        for line in answer:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "id":
                number = int(value)
            elif name == "event":
                type = value
            elif name == "data":
                self.take(number, type, json.loads(value))

    def take(self, number, type, event):
        last = self.seen[-1][0] if self.seen else 0
        if number != last + 1 or event.get("seq") != number or event["type"] != type:
            self.wrong = self.wrong or f"event {number} ({type}) came behind {last}"
        self.seen.append((number, type))
        if is_end(type):
            self.ended.set()


def run(asked, history, tell):
    server = server_of(asked.redis, aof=True, appendfsync=asked.fsync)
    settings = {"server": server, "script": [FLAKY], "max_crashes": 1000}
    with Fleet(history, tell, away_time="30s", **settings) as fleet:
        fleet.allowed = r1.PER_STRIKE
        doors = Doors(fleet)
        fleet.client = HttpClient(fleet, doors)
        staff = Staff(r1.client_of(fleet, None), dice_of(asked.seed))
        staff.start()
        made = jobs(asked.jobs, dice_of(asked.seed), KINDS)
        submitter = threading.Thread(
            target=r1.submit_all, args=(fleet, staff, None, made), daemon=True
        )
        submitter.is_done = lambda: not submitter.is_alive()
        submitter.start()
        people = [submitter, staff]
        r1.strike_until_done(fleet, people, Upgrade(None), asked, doors.strike)
        staff.stop()
        fleet.wait_done()
        wait_for_watches(fleet)
        fleet.settle()
        told, breaches = fleet.verdicts(asked.within_s * 1000)
        wrong = breaches["followed over HTTP"] = list(wrong_watches(fleet))
        for sentence in wrong[:SHOWN]:
            tell(sentence)
        doors.end()
        watches = {"followers": len(fleet.client.watches), "wrong": len(wrong)}
        return {**told, **watches}, breaches


def wait_for_watches(fleet):
    watches = list(fleet.client.watches.values())
    end = time.monotonic() + r1.STUCK_S
    for watch in watches:
        watch.ended.wait(max(0, end - time.monotonic()))


def wrong_watches(fleet):
    """What each has seen must be what Redis has."""
    for id, watch in fleet.client.watches.items():
        if watch.wrong:
            yield f"{id}: {watch.wrong}"
        elif not watch.ended.is_set():
            yield f"{id}: the last event that was seen is {watch.seen[-1:]}"
        elif watch.seen != list(events_of(fleet, id)):
            yield f"{id}: other events were seen than Redis has"


def events_of(fleet, id):
    for _, fields in fleet.db.xrange(f"quern:{{000}}:events:{id}"):
        event = msgpack.unpackb(fields[b"event"])
        yield event["seq"], event["type"]
