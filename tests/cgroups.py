"""Where this process stands among the cgroups, read without quern's code."""

import fcntl
import os


def hierarchies():
    """{controller: folder}: "" is version 2, as in /proc/self/cgroup."""
    paths = {}
    with open("/proc/self/cgroup") as file:
        for line in file:
            _, names, path = line.rstrip("\n").split(":", 2)
            paths.update({name: path for name in names.split(",")})
    found = {}
    with open("/proc/self/mountinfo") as file:
        for line in file:
            fields, rest = line.split(" - ")
            kind, _, options = rest.split()
            root, point = fields.split()[3:5]
            names = options.split(",") if kind == "cgroup" else [""]
            if kind.startswith("cgroup") and root == "/":
                for name in set(names) & set(paths):
                    found.setdefault(name, point + paths[name].rstrip("/"))
    return found


def own_folders():
    """Those of executors that were started here, whichever."""
    folders = [os.path.join(folder, "quern") for folder in hierarchies().values()]
    return [folder for folder in folders if os.path.isdir(folder)]


def remove_if_left(folder):
    """An executor keeps its folder locked, also one in a container, whose
    processes have other numbers here."""
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return  # gone
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rmdir(folder)
    except OSError:
        pass  # somebody uses it
    finally:
        os.close(held)


def tidy():
    """An executor that was root cannot remove the folder of all executors; and
    who was killed has left its own."""
    for folder in own_folders():
        for name in os.listdir(folder):
            if os.path.isdir(os.path.join(folder, name)):
                remove_if_left(os.path.join(folder, name))
        remove_if_left(folder)
