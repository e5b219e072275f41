"""A container as Docker and containerd make it by default, by crun or runc alone.

    with Image() as image:
        Executor("--profile", "bare", within=image.words(seccomp=QUERN))

The files of the container are the test machine's own system, read-only, as an
overlay; the tree under test is where it is outside.

What an engine does by itself is written down here: which parts of /proc and
/sys are covered, which system calls are allowed, which capabilities there are.
"""

import atexit
import json
import os
import shutil
import subprocess
import tempfile

from executor_client import Executor
from servers import BUILD, SOURCE

RUNTIMES = [name for name in ("crun", "runc") if shutil.which(name)]
# gVisor's runtime, whose kernel is its own; tests/long builds one.
RUNSC = os.environ.get("QUERN_RUNSC")
RUNSC_FLAGS = ["--ignore-cgroups", "--network=none", "--host-uds=all"]
USER = 65532
PROFILE = os.path.join(SOURCE, "deploy", "container", "seccomp.json")

# moby/moby, daemon/pkg/oci/defaults.go
MASKED = [
    *("/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys"),
    *("/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list"),
    *("/proc/timer_stats", "/sys/devices/virtual/powercap", "/sys/firmware"),
]
READONLY = [
    *("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"),
]
CAPS = [  # of root; anybody else has them in the bounding set only
    *("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD"),
    *("CAP_NET_RAW", "CAP_SETGID", "CAP_SETUID", "CAP_SETFCAP", "CAP_SETPCAP"),
    *("CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL", "CAP_AUDIT_WRITE"),
]
NAMESPACES = 0x7E020000  # every CLONE_NEW...
NOSUID = ["nosuid", "nodev", "noexec"]


def quern_profile():
    """The profile that we ship."""
    with open(PROFILE) as file:
        return json.load(file)


def docker_profile():
    """Docker's own: ours without what quern-box needs; clone() without namespaces."""
    profile = quern_profile()
    ours = [s for s in profile["syscalls"] if "quern-box" in s.get("comment", "")]
    assert len(ours) == 1
    profile["syscalls"].remove(ours[0])
    plain = {"index": 0, "value": NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    profile["syscalls"].append(
        {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [plain]}
    )
    return profile


def mount(kind, to, *options, source=None):
    made = {"destination": to, "type": kind, "source": source or kind}
    return {**made, "options": list(options)}


def bind(source, to, *options):
    return mount("bind", to, "rbind", *(options or ["ro"]), source=source)


def tmpfs(to, *options):
    return mount("tmpfs", to, "nosuid", "nodev", *options)


# Programs of a build read files of the source tree.
TREES = [SOURCE] + ([] if BUILD.startswith(f"{SOURCE}/") else [BUILD])
# In mount namespaces of their own: with the runtime, its mounts are gone. crun
# takes both versions of cgroups, but not version 1 with an empty 2 beside it.
BEGIN = """
! mountpoint -q /sys/fs/cgroup/unified || umount /sys/fs/cgroup/unified
mount -t tmpfs top "$1/top" && (cd "$1/top" && mkdir -p $3) &&
mount -t overlay root -o "ro,lowerdir=$1/top:$2" "$1/root" && shift 3 && exec "$@"
"""
OWN_MOUNTS = ["unshare", "--mount", "sh", "-c", BEGIN, "sh"]
# The runtime ends when the tests do, and what runs in its container then, too.
WITH_RUNTIME = ["/usr/bin/setpriv", "--pdeathsig", "KILL", "--"]


def needs_folder(mounted):
    """A place to be mounted at, which an engine makes before."""
    return mounted["type"] != "bind" or os.path.isdir(mounted["source"])


class Image:
    """The files of containers, and the containers."""

    def __init__(self, lower="/", runtime=None):
        self.runtime, self.lower = runtime or RUNTIMES[0], lower
        self.folder = tempfile.mkdtemp(prefix="quern-container-", dir="/tmp")
        self.state = os.path.join(self.folder, "state")
        self.root = os.path.join(self.folder, "root")
        self.names = []
        for name in ("root", "top"):
            os.mkdir(os.path.join(self.folder, name))
        atexit.register(self.close)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        while self.names:
            words = [*self.command("delete"), "--force", self.names.pop()]
            subprocess.run(words, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def command(self, verb):
        flags = RUNSC_FLAGS if self.runtime == RUNSC else []
        return [self.runtime, "--root", self.state, *flags, verb]

    def words(self, *args, **options):
        """What runs args in a new container, and ends as they end."""
        name = f"{os.path.basename(self.folder)}-{len(self.names)}"
        self.names.append(name)
        bundle = os.path.join(self.folder, name)
        os.mkdir(bundle)
        config = self.config(*args, **options)
        with open(os.path.join(bundle, "config.json"), "w") as file:
            json.dump(config, file, indent=1)
        run = [*self.command("run"), "--bundle", bundle, name]
        folders = [m["destination"] for m in config["mounts"] if needs_folder(m)]
        points = " ".join(f".{folder}" for folder in folders)
        return [*OWN_MOUNTS, self.folder, self.lower, points, *run]

    def config(
        self,
        *args,
        user=USER,
        caps=CAPS,
        seccomp=None,
        masked=True,
        cgroup=None,
        env=None,
        mounts=(),
        network=None,
        readonly=True,
    ):
        """masked: False is what systempaths=unconfined and procMount: Unmasked
        give. cgroup: the path of one that the container may write; None: it may
        write none. network: the path of a namespace; None: one of its own."""
        caps = list(caps)
        has = caps if user == 0 else []
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", **(env or {})}
        spaces = [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")]
        spaces.append({"type": "network", **({"path": network} if network else {})})
        if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            spaces.append({"type": "cgroup"})
        config = {
            "ociVersion": "1.0.2",
            "hostname": "container",
            "root": {"path": self.root, "readonly": readonly},
            "process": {
                "args": [*WITH_RUNTIME, *map(str, args)],
                "cwd": "/",
                "user": {"uid": user, "gid": user},
                "env": [f"{name}={value}" for name, value in env.items()],
                "noNewPrivileges": True,
                "capabilities": {
                    "bounding": caps,
                    "effective": has,
                    "permitted": has,
                },
            },
            "mounts": [
                mount("proc", "/proc", *NOSUID),
                mount("tmpfs", "/dev", "nosuid", "strictatime", "mode=755", "size=65536k"),
                mount("devpts", "/dev/pts", "nosuid", "noexec", "newinstance", "ptmxmode=0666"),
                mount("tmpfs", "/dev/shm", *NOSUID, "mode=1777", "size=67108864"),
                mount("mqueue", "/dev/mqueue", *NOSUID),
                mount("sysfs", "/sys", *NOSUID, "ro"),
                mount("cgroup", "/sys/fs/cgroup", *NOSUID, "relatime", "rw" if cgroup else "ro"),
            ],
            "linux": {
                "namespaces": spaces,
                "maskedPaths": MASKED if masked else [],
                "readonlyPaths": READONLY if masked else [],
                "resources": {},
            },
        }
        if all(mounted["destination"] != "/tmp" for mounted in mounts):
            config["mounts"].append(tmpfs("/tmp", "mode=1777"))
        config["mounts"] += mounts
        if self.lower == "/":
            config["mounts"] += [bind(tree, tree) for tree in TREES]
        if cgroup:
            config["linux"]["cgroupsPath"] = cgroup
        if seccomp:
            config["linux"]["seccomp"] = seccomp
        return config


class ContainedExecutor(Executor):
    """An executor in a container; options as for Image.config()."""

    def __init__(self, image, *flags, **options):
        self.image, self.options = image, options
        super().__init__(*flags)

    def start(self, args):
        user = self.options.get("user", USER)
        os.chown(self.folder, user, user)
        folder = bind(self.folder, self.folder, "rw")
        super().start(self.image.words(*args, mounts=[folder], **self.options))
