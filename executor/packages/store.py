"""store.py - wheels, unpacked once, and linked into the folders of sessions.

    STORE/wheels/SHA256-BYTES/    a wheel's files, never changed
    STORE/lock                    held while wheels are used; alone, to drop some

A session's folder holds hard links: it takes names, not bytes. It is mounted read-only
in the box, and stays whole when the store drops a wheel.
"""

import contextlib
import fcntl
import os
import shutil
import stat
import zipfile

from names import Refused, normal, printable

MAX_FILES = 50_000
MAX_NAME_BYTES = 1024
STORE_FACTOR = 8  # of what one session may have
CHUNK = 1 << 20


class Store:
    def __init__(self, path, work, session_bytes):
        self.wheels = os.path.join(path, "wheels")
        self.work = work
        self.session_bytes = session_bytes
        os.makedirs(self.wheels, exist_ok=True)
        self.lock = os.open(
            os.path.join(path, "lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600
        )
        fcntl.flock(self.lock, fcntl.LOCK_SH)

    def find(self, sha256):
        """Gives (folder, bytes) of a wheel that is in the store, or None."""
        for entry in os.listdir(self.wheels):
            if entry.startswith(sha256):
                path = os.path.join(self.wheels, entry)
                with contextlib.suppress(OSError):
                    os.utime(path)  # used: it stays longest
                return path, int(entry.rpartition("-")[2])
        return None

    def add(self, wheel):
        """Unpacks a wheel into the store; gives the same as find()."""
        folder = os.path.join(self.work, "unpacked")
        os.mkdir(folder)
        try:
            with zipfile.ZipFile(wheel.file) as archive:
                total = unpack(archive, wheel, folder, self.session_bytes)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            why = printable(str(error))
            raise Refused(f"the wheel of {wheel.name} is broken: {why}") from error
        with contextlib.suppress(OSError):  # somebody else was quicker
            os.rename(folder, os.path.join(self.wheels, f"{wheel.sha256}-{total}"))
        shutil.rmtree(folder, ignore_errors=True)
        return self.find(wheel.sha256)

    def prune(self):
        """Drops wheels that were not used for longest, when there are too many bytes
        and nobody else uses the store."""
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        entries = []
        for entry in os.scandir(self.wheels):
            size = int(entry.name.rpartition("-")[2])
            entries.append((entry.stat().st_mtime, size, entry.path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= STORE_FACTOR * self.session_bytes:
                break
            shutil.rmtree(path, ignore_errors=True)
            total -= size


def unpack(archive, wheel, folder, limit):
    """Unpacks; gives the number of bytes. Refuses all but files beneath the folder, and
    metadata of another package than the wheel is said to be."""
    infos = archive.infolist()
    if len(infos) > MAX_FILES:
        raise Refused(f"{wheel.name} has {len(infos)} files, at most {MAX_FILES}")
    total = 0
    own_info = False
    for info in infos:
        target = place(info, wheel)
        if not target:
            continue
        own_info |= target.partition("/")[0].endswith(".dist-info")
        mode = 0o555 if info.external_attr >> 16 & 0o111 else 0o444
        try:
            path = os.path.join(folder, target)
            total = write(archive, info, path, mode, total, limit)
        except (FileExistsError, NotADirectoryError):
            told = printable(target)
            raise Refused(f'the wheel of {wheel.name} has "{told}" twice') from None
    if not own_info:
        raise Refused(f"the wheel of {wheel.name} has no metadata")
    return total


def place(info, wheel):
    """Gives where a file of a wheel goes, or None. NAME.data/purelib and platlib belong
    to the package; scripts, headers and data are of no use in a session. What comes out
    of them is checked as well: it could be metadata of another package."""
    name = info.filename
    parts = name.rstrip("/").split("/")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if (
        "\\" in name
        or "\0" in name
        or any(part in ("", ".", "..") for part in parts)
        or len(name.encode("utf-8", "surrogateescape")) > MAX_NAME_BYTES
        or kind not in (0, stat.S_IFREG, stat.S_IFDIR)
    ):
        raise Refused(f'the wheel of {wheel.name} has a file "{printable(name)}"')
    if name.endswith("/"):
        return None
    if len(parts) > 1 and parts[0].endswith(".data"):
        check_owner(parts[0], ".data", wheel)
        parts = parts[2:] if parts[1] in ("purelib", "platlib") else []
    if parts and parts[0].endswith(".dist-info"):
        check_owner(parts[0], ".dist-info", wheel)
    return "/".join(parts) or None


def check_owner(folder, ending, wheel):
    """The folder must be NAME-VERSION and the ending, of this very wheel. When a wheel
    has a build number, some tools write it into the name of NAME.data, too."""
    stem = folder[: -len(ending)]
    own = (normal(wheel.name), wheel.version)
    before, _, build = stem.rpartition("-")
    stems = [stem, before] if ending == ".data" and build[:1].isdigit() else [stem]
    if own not in [(normal(s.rpartition("-")[0]), s.rpartition("-")[2]) for s in stems]:
        what = "metadata" if ending == ".dist-info" else "files"
        raise Refused(f"the wheel of {wheel.name} has {what} of another package")


def write(archive, info, path, mode, total, limit):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with (
        archive.open(info) as source,
        open(os.open(path, flags, mode), "wb") as target,
    ):
        while chunk := source.read(CHUNK):
            total += len(chunk)
            if total > limit:
                raise Refused(too_much(limit))
            target.write(chunk)
    return total


def too_much(limit):
    return f"that is more than a session may have of packages, {limit >> 20} MiB"


def bytes_in(folder):
    return sum(
        os.lstat(os.path.join(root, name)).st_size
        for root, _, names in os.walk(folder)
        for name in names
    )


def link(tree, folder):
    """Links a wheel into a session's folder; files that are there already stay."""
    for root, _, names in os.walk(tree):
        inside = os.path.join(folder, os.path.relpath(root, tree))
        os.makedirs(inside, exist_ok=True)
        for name in names:
            with contextlib.suppress(FileExistsError):
                os.link(os.path.join(root, name), os.path.join(inside, name))
