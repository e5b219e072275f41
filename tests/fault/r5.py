"""R5: what happens to a Redis. After each the fleet consumes again, soon."""

import os
import signal
import time

from fleet import SLOW_S, Fleet, Progress, server_of, wait_started
from jobs import ROOT, Made, fenced
from servers import wait_until

# Longer than a worker may take to be back after the last fault: all of them are
# to run at once.
SLOWLY = [{"match": "slowly", "replies": [{"text": "done", "delay_ms": 3000}]}]
SLOW, QUICK = 8, 24  # as many as there are slots; what waits behind them
HOLD_S = 1.5


def streams(fleet):
    return fleet.db.keys(f"{ROOT}work:*")


def flush(fleet):
    """All that was accepted is gone, and the operator knows."""
    jobs = set(fleet.follower.open)
    fleet.db.flushall()
    fleet.history.note("loss")
    fleet.follower.forget(jobs)


def flush_functions(fleet):
    fleet.db.execute_command("FUNCTION", "FLUSH")


def flush_scripts(fleet):
    fleet.db.script_flush()


def destroy_groups(fleet):
    for stream in streams(fleet):
        fleet.db.xgroup_destroy(stream, "consumers")


def delete_streams(fleet):
    for stream in streams(fleet):
        fleet.db.delete(stream)


def kill_clients(fleet):
    for kind in ("normal", "pubsub"):
        fleet.db.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")


def pause_clients(fleet):
    fleet.db.client_pause(int(1000 * HOLD_S))
    time.sleep(HOLD_S)


def demote(fleet):
    """A replica of nobody who is there: it refuses writes."""
    fleet.db.slaveof("127.0.0.1", 1)
    time.sleep(HOLD_S)
    fleet.db.slaveof()


def fill_memory(fleet):
    fleet.db.config_set("maxmemory-policy", "noeviction")
    fleet.db.config_set("maxmemory", 1)
    time.sleep(HOLD_S)
    fleet.db.config_set("maxmemory", 0)


def fail_to_save(fleet):
    """Its snapshot cannot be written: it refuses writes."""
    there = os.path.join(fleet.redis.folder, "dump.rdb")
    os.mkdir(there)
    fleet.db.config_set("save", "3600 1000000")
    fleet.db.bgsave()
    wait_until(lambda: saved(fleet) == "err", SLOW_S, "it has failed to save")
    time.sleep(HOLD_S)
    os.rmdir(there)
    fleet.db.bgsave()
    wait_until(lambda: saved(fleet) == "ok", SLOW_S, "it has saved")
    fleet.db.config_set("save", "")


def saved(fleet):
    about = fleet.db.info("persistence")
    return not about["rdb_bgsave_in_progress"] and about["rdb_last_bgsave_status"]


def hang(fleet):
    fleet.redis.process.signal(signal.SIGSTOP)
    time.sleep(HOLD_S)
    fleet.redis.process.signal(signal.SIGCONT)


def crash(fleet):
    fleet.redis.kill()
    time.sleep(HOLD_S)
    fleet.redis.start()


def move_slot(fleet):
    """All of a partition, to another master."""
    here = fleet.redis.master()
    others = [node for node in fleet.redis.nodes if node is not here]
    there = next(node for node in others if node.info("role") == "master")
    fleet.redis.move(fleet.redis.KEY, there)


FAULTS = {
    "FLUSHALL": flush,
    "FUNCTION FLUSH": flush_functions,
    "SCRIPT FLUSH": flush_scripts,
    "XGROUP DESTROY": destroy_groups,
    "DEL of work streams": delete_streams,
    "CLIENT KILL": kill_clients,
    "CLIENT PAUSE": pause_clients,
    "READONLY": demote,
    "OOM": fill_memory,
    "MISCONF": fail_to_save,
    "stopped": hang,
    "killed": crash,
}


def replace(fleet):
    fleet.replace_redis()


FAULTS_OF = {
    "single": FAULTS,
    "sentinel": {"failover": replace},
    "cluster": {"failover": replace, "slot moved": move_slot},
}


def submit_some(fleet, name, number):
    """Some that run while it happens, some that wait."""
    token = f"{name.replace(' ', '-')}-{number}"
    for n in range(SLOW):
        fleet.client.submit(Made(f"{token}-s{n}", {"prompt": f"slowly {token} {n}"}))
    wait_started(fleet, SLOW)
    for n in range(QUICK):
        say = f"{token} {n}"
        prompt = fenced(f"print('{say}')") if n % 4 == 0 else say
        fleet.client.submit(Made(f"{token}-q{n}", {"prompt": prompt}))


def try_fault(fleet, name, act, number):
    submit_some(fleet, name, number)
    fleet.suffer(name, lambda: act(fleet))
    token = f"probe-{name}-{number}"
    probe = fleet.client.submit(Made(token, {"prompt": token}))
    wait_until(
        lambda: fleet.follower.ended.issuperset(probe), SLOW_S, f"it works after {name}"
    )
    fleet.bring_back()
    fleet.wait_done(stuck_s=20)


def run(asked, history, tell):
    faults = FAULTS_OF[asked.redis]
    names = [name for name in faults if name in (asked.faults or faults)]
    rounds = max(1, asked.jobs // (len(names) * (SLOW + QUICK)))
    progress = Progress("R5", rounds * len(names))
    server = server_of(asked.redis, aof=True, appendfsync=asked.fsync)
    settings = {"script": SLOWLY, "max_crashes": 1000}
    with Fleet(history, tell, server=server, **settings) as fleet:
        workers = [fleet.hire(slots=SLOW // 2) for _ in range(2)]
        for number in range(rounds):
            for worker in workers:
                fleet.sample(worker.name, worker)
            for place, name in enumerate(names):
                try_fault(fleet, name, faults[name], number)
                progress(number * len(names) + place + 1, name)
        progress.end()
        for worker in workers:
            fleet.sample(worker.name, worker)
        fleet.settle()
        return fleet.verdicts(asked.within_s * 1000)
