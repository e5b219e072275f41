"""What processes hold in memory, and have had of the processor."""

import collections
import os
import re
import resource
import time


def resident(pid):
    """Bytes that it has in memory."""
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def cpu_s(pid):
    """Seconds that all of its threads have had of the processor."""
    return time.clock_gettime(~pid << 3 | 2)


def memory_of(pid):
    """{Rss, Pss, Private} in KiB."""
    with open(f"/proc/{pid}/smaps_rollup") as rollup:
        found = dict(re.findall(r"^(\w+): +(\d+) kB", rollup.read(), re.M))
    private = int(found["Private_Clean"]) + int(found["Private_Dirty"])
    return collections.Counter(
        Rss=int(found["Rss"]), Pss=int(found["Pss"]), Private=private
    )


def descendants(pid):
    """It and all that it has started, and they."""
    children = collections.defaultdict(list)
    for task in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{task}/stat") as stat:
                parent = int(stat.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        children[parent].append(int(task))
    found = [pid]
    for one in found:
        found += children[one]
    return found
