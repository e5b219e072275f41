"""quern's packages: installs wheels into the folder of one session.

    python3 -I FOLDER --source index|FOLDER --allow LIST --store FOLDER
        --work FOLDER --into FOLDER --bytes N [--module NAME | -- REQUIREMENT...]

The warden runs it outside every box, as its own user, one process for each request.
Nothing of a package runs here: wheels are only unpacked. Without a request it only
checks whether it could do one. It reports to descriptor 3, in lines:

    wheel NAME VERSION SHA256        one that was installed, for the log
    done SENTENCE | failed SENTENCE  for the model
"""

import argparse
import os
import pathlib
import sys
import threading
import time

import names
import resolve
import store
import walls
from names import Refused

OUT = 3
HERE = pathlib.Path(__file__).parent
WATCH_SECONDS = 0.2
WORK_FACTOR = 4  # wheels beside what is in them, and what pip makes of them
TOLD = 4  # packages that the sentence names; the log has them all
SOURCES = (  # of pip's own settings: files that it has to read
    "PIP_CERT",
    "PIP_CLIENT_CERT",
    "PIP_CONFIG_FILE",
    "PIP_FIND_LINKS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
)


def say(*words):
    os.write(OUT, " ".join(words).encode("ascii", "replace") + b"\n")


def read_arguments():
    parser = argparse.ArgumentParser(prog="quern-packages")
    parser.add_argument("--source", required=True)
    parser.add_argument("--allow", default="")
    parser.add_argument("--store", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--into", required=True)
    parser.add_argument("--bytes", type=int, required=True)
    parser.add_argument("--module")
    parser.add_argument("requirements", nargs="*")
    return parser.parse_args()


def watch(work, limit):
    """Ends the process when the work takes more than it may. limit: of a session."""
    while True:
        time.sleep(WATCH_SECONDS)
        try:
            taken = store.bytes_in(work)
        except OSError:
            continue  # it is changing
        if taken > WORK_FACTOR * limit:
            say("failed", store.too_much(limit))
            os._exit(1)


def seal_off():
    """Makes pip use the folder of wheels only, whatever its own settings say."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        del os.environ[name]
    os.environ["PIP_CONFIG_FILE"] = os.devnull


def enter_walls(arguments):
    configured = os.environ.get("HOME", "")
    read = [HERE, os.path.dirname(os.path.realpath("/etc/resolv.conf"))]
    for name in SOURCES:
        read += os.environ.get(name, "").split()
    if configured:
        read += [f"{configured}/.config/pip", f"{configured}/.pip"]
    if arguments.source != "index":
        read.append(arguments.source)
        seal_off()
    walls.enter(
        read,
        [arguments.store],
        network=arguments.source == "index",
        file_bytes=arguments.bytes,
    )


def session_has(folder):
    """Gives [(name, version)] of the packages in the session's folder."""
    found = []
    for entry in os.listdir(folder):
        if entry.endswith(".dist-info"):
            name, _, version = entry[: -len(".dist-info")].rpartition("-")
            found.append((names.normal(name), version))
    return found


def requested(arguments):
    allowed = names.Allowed(arguments.allow)
    if arguments.module:
        package = names.package_of(arguments.module, HERE / "imports")
        allowed.check(package)
        return [package]
    if len(arguments.requirements) > names.MAX_REQUIREMENTS:
        raise Refused(f"at most {names.MAX_REQUIREMENTS} packages at once")
    for requirement in arguments.requirements:
        allowed.check(names.name_of(requirement))
    return arguments.requirements


def install(arguments, requirements):
    """Installs; gives the sentence about what was installed."""
    into = arguments.into
    there = session_has(into)
    wheels = [
        wheel
        for wheel in resolve.resolve(
            requirements, arguments.source, there, arguments.work
        )
        if (names.normal(wheel.name), wheel.version) not in there
    ]
    shelf = store.Store(arguments.store, arguments.work, arguments.bytes)
    missing = [wheel for wheel in wheels if not shelf.find(wheel.sha256)]
    resolve.fetch(missing, arguments.source, arguments.work)
    total = store.bytes_in(into)
    for wheel in wheels:
        tree, size = shelf.find(wheel.sha256) or shelf.add(wheel)
        total += size
        if total > arguments.bytes:
            raise Refused(store.too_much(arguments.bytes))
        store.link(tree, into)
        say("wheel", wheel.name, wheel.version, wheel.sha256)
    shelf.prune()
    if arguments.module and not brings(into, arguments.module):
        raise Refused(
            f"{requirements[0]} is installed now and brings no module "
            f"{arguments.module}: is it another package?"
        )
    return describe(wheels, requirements)


def brings(folder, module):
    return any(entry.partition(".")[0] == module for entry in os.listdir(folder))


def describe(wheels, requirements):
    if not wheels:
        return f"{', '.join(requirements)}: installed already"
    told = [f"{w.name} {w.version} (sha256 {w.sha256[:12]})" for w in wheels[:TOLD]]
    more = len(wheels) - len(told)
    return "installed " + ", ".join(told) + (f" and {more} more" if more else "")


def main():
    os.umask(0o022)
    arguments = read_arguments()
    os.environ["TMPDIR"] = arguments.work
    os.environ.setdefault("HOME", arguments.work)
    threading.Thread(
        target=watch, args=(arguments.work, arguments.bytes), daemon=True
    ).start()
    try:
        requirements = requested(arguments)
        enter_walls(arguments)
        version = resolve.pip_version()
        say("done", install(arguments, requirements) if requirements else version)
    except Refused as error:
        say("failed", names.printable(str(error), 400))
    except Exception as error:
        print(f"quern-packages: {type(error).__name__}: {error}", file=sys.stderr)
        what = names.printable(f"{type(error).__name__}: {error}", 200)
        say("failed the packages could not be installed:", what)


main()
