"""machine.py - what psutil and joblib read of the machine, as a session may know it.

A box shows processes only in /proc: no stat, meminfo or cpuinfo, which would tell of
the host. psutil complains at length over that, or fails. Here it reads the session's
own share in the same form: its memory limit, its processors, its processor time.
"""

import io
import os
import resource
import time

UNKNOWN_MODEL = "virtual processor"


def install(module):
    """Makes this module of psutil read from here what it opens and does not find."""
    for name, kind in (("open_binary", io.BytesIO), ("open_text", as_text)):
        if hasattr(module, name):
            setattr(module, name, reader(getattr(module, name), kind))


def as_text(data):
    return io.StringIO(data.decode())


def reader(read, kind):
    def open_or_make(path):
        try:
            return read(path)
        except FileNotFoundError:
            name = str(path).removeprefix("/proc/")
            if name not in FILES:
                raise
            return kind(FILES[name]().encode())

    return open_or_make


def processors():
    return sorted(os.sched_getaffinity(0))


def total_bytes():
    """Gives how much memory the session may use, or else the machine has."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return there if limit == resource.RLIM_INFINITY else min(limit, there)


def used_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def meminfo():
    total = total_bytes()
    free = max(total - used_bytes(), 0)
    sizes = {"MemTotal": total, "MemFree": free, "MemAvailable": free}
    for name in ("Buffers", "Cached", "Active", "Inactive", "Shmem", "Slab"):
        sizes[name] = 0
    sizes.update(SReclaimable=0, SwapTotal=0, SwapFree=0)
    return "".join(f"{name}: {size >> 10} kB\n" for name, size in sizes.items())


def stat():
    """Gives processor time in ticks: the session's and its children's; else idle."""
    ticks, count = os.sysconf("SC_CLK_TCK"), len(processors())
    up = time.clock_gettime(time.CLOCK_BOOTTIME)
    times = os.times()
    user = int((times.user + times.children_user) * ticks)
    system = int((times.system + times.children_system) * ticks)
    idle = max(int(up * ticks) * count - user - system, 0)
    parts = user, 0, system, idle, 0, 0, 0, 0, 0, 0
    lines = ["cpu  " + " ".join(map(str, parts))]
    shares = " ".join(str(part // count) for part in parts)
    lines += [f"cpu{number} {shares}" for number in processors()]
    started = int(time.time() - up)
    lines += ["intr 0", "ctxt 0", f"btime {started}", "processes 1"]
    lines += ["procs_running 1", "procs_blocked 0", "softirq 0"]
    return "\n".join(lines) + "\n"


def cpuinfo():
    count = len(processors())
    return "".join(
        f"processor\t: {number}\nmodel name\t: {UNKNOWN_MODEL}\nphysical id\t: 0\n"
        f"siblings\t: {count}\ncore id\t\t: {core}\ncpu cores\t: {count}\n\n"
        for core, number in enumerate(processors())
    )


def loadavg():
    return "{:.2f} {:.2f} {:.2f} 1/1 1\n".format(*os.getloadavg())


def uptime():
    up = time.clock_gettime(time.CLOCK_BOOTTIME)
    return f"{up:.2f} {up * len(processors()):.2f}\n"


FILES = {
    "cpuinfo": cpuinfo,
    "diskstats": lambda: "",
    "filesystems": lambda: "nodev\ttmpfs\n",
    "loadavg": loadavg,
    "meminfo": meminfo,
    "net/dev": lambda: "Inter-|   Receive\n face |bytes\n",
    "stat": stat,
    "uptime": uptime,
    "vmstat": lambda: "pswpin 0\npswpout 0\n",
}
