"""Which way the rooms may point, and what the tree may hold.

    arrows.py TREE [BUILD]

prints one line a violation and exits 1 when there is any. Includes are read
from the sources of TREE, symbols and libraries from the objects and binaries of
BUILD.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

# (sources under, must not include, because): the target is a path in the tree
# or, in angle brackets, a library's header.
INCLUDE_RULES = [
    ("producer/", r"(consumer|executor|tests)/", "rooms meet in schemas/"),
    ("consumer/", r"(producer|executor|tests)/", "rooms meet in schemas/"),
    ("executor/", r"(producer|consumer|tests)/", "rooms meet in schemas/"),
    (
        "schemas/",
        r"(producer|consumer|executor|tests)/",
        "nothing in schemas/ points at a room",
    ),
    ("executor/", r"schemas/(redis|json|http)/", "the executor has no Redis"),
    ("executor/", r"<(hiredis|curl|openssl|jansson)\b", "it has no network"),
    ("executor/warden/", r"<Python\.h>", "the trusted side has no Python"),
    ("executor/box/", r"<Python\.h>", "the trusted side has no Python"),
    ("executor/warden/", r"executor/guest/", "they meet in schemas/message"),
    ("executor/guest/", r"executor/warden/", "they meet in schemas/message"),
    ("executor/warden/", r"<(netdb|arpa/|netinet/)", "it has no network"),
    ("executor/base/", r"executor/(?!base/)", "all others stand on it"),
    ("executor/proxy/", r"executor/warden/", "they meet in base/"),
    ("executor/guest/", r"<(netdb|arpa/|netinet/)", "the proxy has, for it"),
    ("consumer/tools/", r"<(gumbo|muParser)", "quern-reader parses"),
    ("consumer/queue/", r"consumer/(job|activity)/", "it knows jobs by queue/jobs.h"),
    ("consumer/output/", r"consumer/(job|activity)/", "it tells by callbacks"),
    ("consumer/python/", r"consumer/(job|activity)/", "it tells by callbacks"),
    ("consumer/conversation/", r"consumer/(job|activity)/", "it only decides"),
    ("consumer/model/", r"consumer/(job|activity)/", "it tells by callbacks"),
    ("consumer/tools/", r"consumer/(job|activity)/", "it tells by callbacks"),
    ("consumer/queue/", r"consumer/service\.h", "it tells by callbacks"),
    ("consumer/", r"<Python\.h>", "cells run in the executor only"),
    ("producer/", r"<Python\.h>", "cells run in the executor only"),
    ("schemas/", r"<Python\.h>", "cells run in the executor only"),
    ("schemas/message/", r"schemas/(redis|json|http)/", "message stands alone"),
    ("schemas/json/", r"<curl/|schemas/http/", "requests are made by http/"),
    ("schemas/redis/", r"<curl/|schemas/http/", "requests are made by http/"),
    ("schemas/service/", r"<curl/|schemas/http/", "requests are made by http/"),
    ("schemas/settings/", r"<curl/|schemas/http/", "requests are made by http/"),
    ("producer/", r"<curl/", "requests are made by schemas/http/"),
    ("producer/gateway/", r"schemas/http/", "only the deliverer makes requests"),
    ("producer/client/", r"schemas/http/", "only the deliverer makes requests"),
    ("producer/cli/", r"schemas/http/", "only the deliverer makes requests"),
]

# (sources under, must not call, because): a regular expression of functions.
CALL_RULES = [
    ("consumer/", r"command_(init|add\w*)", "schemas/redis builds the commands"),
    ("executor/", r"command_(init|add\w*)", "the executor has no Redis"),
]

# schemas/message links libc and msgpack-c, and never asks the clock.
MESSAGE_MAY_INCLUDE = re.compile(
    r"""<(assert|ctype|endian|errno|float|inttypes|limits|math|msgpack|
          netinet/in|stdalign|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|strings
        )(\.h|/\w+\.h)>""",
    re.VERBOSE,
)

# (binary, must not use, because): names of symbols.
SYMBOL_RULES = [
    ("quern", r"_?Py[A-Z_]", "no Python in the producer"),
    ("quern-gateway", r"_?Py[A-Z_]", "no Python in the producer"),
    ("quern-deliverer", r"_?Py[A-Z_]", "no Python in the producer"),
    ("quern-deliverer", r"(listen|uv_listen)$", "nobody reaches it"),
    ("quern-consumer", r"_?Py[A-Z_]", "cells run in the executor only"),
    ("quern-executor", r"_?Py[A-Z_]", "the trusted side has no Python"),
    ("quern-box", r"_?Py[A-Z_]", "the trusted side has no Python"),
    ("quern-executor", r"(redis[A-Z]|curl_|SSL_)", "it has no network"),
    ("quern-box", r"(redis[A-Z]|curl_|SSL_)", "it has no network"),
    ("quern-guest", r"(redis[A-Z]|curl_|SSL_)", "it has no network"),
    ("quern-box", r"(connect|accept4?)$", "it opens a door, and goes nowhere"),
    ("quern-guest", r"(socket|connect|bind|listen)$", "it is given its channel"),
    # It connects to its own socket's path, to see whether somebody answers.
    ("quern-executor", r"(uv_)?getaddrinfo$", "it knows no names"),
    ("quern-executor", r"uv_(tcp|udp|ip[46])_", "it has no network"),
    ("quern-box", r"getaddrinfo$", "it knows no names"),
    ("quern-guest", r"getaddrinfo$", "it knows no names"),
    ("quern-proxy", r"(_?Py[A-Z_]|redis[A-Z]|curl_|SSL_)", "it passes bytes on"),
    ("quern-reader", r"(_?Py[A-Z_]|redis[A-Z]|uv_)", "it only reads"),
    ("quern-reader", r"(socket|connect|bind|listen)$", "it only reads"),
    ("quern-reader", r"(fork|vfork|execv|execve|system|popen)$", "it is alone"),
    ("quern-proxy", r"(uv_spawn|execv|execve|fork|system|popen)$", "it is alone"),
]

# (binary, must not load, because): names of libraries.
LIBRARY_RULES = [
    ("quern", r"lib(python|curl)", "the producer has Redis only"),
    ("quern-gateway", r"lib(python|curl)", "the producer has Redis only"),
    ("quern-deliverer", r"libpython", "cells run in the executor only"),
    ("quern-consumer", r"libpython", "cells run in the executor only"),
    ("quern-consumer", r"lib(gumbo|muparser|stdc\+\+)", "quern-reader parses"),
    ("quern-executor", r"lib(python|hiredis|curl|ssl)", "the trusted side"),
    ("quern-box", r"lib(python|hiredis|curl|ssl|uv)", "the trusted side"),
    ("quern-guest", r"lib(hiredis|curl|ssl|uv)", "hostile ground"),
    ("quern-proxy", r"lib(python|hiredis|curl|ssl)", "it passes bytes on"),
]

# What quern is made of; all else is tests.
PRODUCT = ("schemas/", "producer/", "consumer/", "executor/", "tests/fake/model/")
# What other people's programs call: its functions are defined all over client/.
# Of gateway/ what routes that are still to come will call.
PUBLIC = (
    "producer/client/quern.h",
    "producer/client/quern_operate.h",
    "producer/gateway/body/inline_file.h",
    "producer/gateway/http/http_request.h",
    "producer/gateway/http/multipart.h",
    "producer/gateway/responses/response_list.h",
    "producer/gateway/responses/response_request.h",
    "producer/gateway/responses/response_stream.h",
    "producer/gateway/responses/wire_item.h",
)

# (function, because): no other file of the product calls it.
UNCALLED = {
    "amount_write": "tests/unit/settings holds what it writes against what is read",
    "document_help": "tests/unit/settings has it written for some widths",
    "metrics_most_series": "tests/unit/metrics holds the series that there are against it",
    "metrics_series": "likewise",
    "links_write": "tests/unit/consumer and tests/fuzz/fuzz_links.c hand it any text",
    "openapi_json": "tests/unit/gateway compares it with the tables of routes",
    "pem_load_trust": "schemas/redis/tls.c calls it where hiredis has TLS",
    "setting_load_text": "tests/fuzz/fuzz_settings.c hands it the text of a file",
    "zone_read": "tests/fuzz/fuzz_cron.c hands it the bytes of a zone's file",
}

TOP_LEVEL = set(
    """CMakeLists.txt CMakePresets.json README.md CHANGELOG.md SECURITY.md LICENSE
    producer consumer executor schemas deploy tests""".split()
)


def files_of(tree):
    """Paths of the tree's files, relative, without what git ignores."""
    listed = subprocess.run(
        ["git", "-C", tree, "ls-files", "-z", "-co", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    )
    paths = {pathlib.PurePosixPath(p) for p in listed.stdout.split("\0") if p}
    return sorted(p for p in paths if (tree / p).is_file())


def includes_of(tree, path):
    """Yields (line, target): a path in the tree, or <header>."""
    text = (tree / path).read_text(errors="replace")
    pattern = r'^[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|(<[^>]+>))'
    for match in re.finditer(pattern, text, re.MULTILINE):
        line = text.count("\n", 0, match.start()) + 1
        quoted, angled = match.groups()
        if angled:
            yield line, angled
        elif (tree / path.parent / quoted).is_file():
            beside = (tree / path.parent / quoted).resolve()
            yield line, str(beside.relative_to(tree.resolve()))
        else:
            yield line, quoted


def check_includes(tree, paths):
    for path in (p for p in paths if p.suffix in (".c", ".h")):
        for line, target in includes_of(tree, path):
            for under, forbidden, because in INCLUDE_RULES:
                if str(path).startswith(under) and re.match(forbidden, target):
                    yield f"{path}:{line}: includes {target}: {because}"
            if (
                str(path).startswith("schemas/message/")
                and target.startswith("<")
                and not MESSAGE_MAY_INCLUDE.match(target)
            ):
                yield f"{path}:{line}: includes {target}: not libc or msgpack-c"


def check_forbidden_calls(tree, paths):
    for path in (p for p in paths if p.suffix in (".c", ".h")):
        rules = [rule for rule in CALL_RULES if str(path).startswith(rule[0])]
        text = without_comments((tree / path).read_text()) if rules else ""
        for _, forbidden, because in rules:
            for match in re.finditer(rf"\b({forbidden})\(", text):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: calls {match.group(1)}(): {because}"


def check_tree(tree, paths):
    for name in sorted({p.parts[0] for p in paths}):
        if name not in TOP_LEVEL and not name.startswith("."):
            yield f"{name}: the top level does not know it"


def output_of(*command):
    return subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout


def objects_of(tree, build):
    """Yields (source, object) of the product: a path in the tree, and a file."""
    for unit in json.loads((build / "compile_commands.json").read_text()):
        source = os.path.relpath(unit["file"], tree.resolve())
        if source.startswith(PRODUCT):
            output = re.search(r" -o (\S+)", unit["command"]).group(1)
            object = pathlib.Path(unit["directory"], output)
            if object.exists():  # examples are built by their tests alone
                yield source, object


def functions_of(tree, build):
    """Two sets of (function, source): those that are defined, those called."""
    source_of = {str(object): source for source, object in objects_of(tree, build)}
    defined, called = set(), set()
    for line in output_of("nm", "-A", *source_of).splitlines():
        object, _, symbol = line.partition(":")
        *_, kind, name = symbol.split()
        if kind in "TU" and name != "main":
            (defined if kind == "T" else called).add((name, source_of[object]))
    return defined, called


def may_meet(source, other):
    """Both may be in one program, where a name means one function."""
    rooms = {path.split("/")[0] for path in (source, other)}
    return len(rooms) == 1 or rooms & {"schemas", "tests"}


def without_comments(text):
    """The same lines, with blanks for comments."""
    return re.sub(
        r"/\*.*?\*/",
        lambda match: re.sub(r"[^\n]", " ", match.group()),
        text,
        flags=re.DOTALL,
    )


def declared_in(text):
    """Yields (function, offset): of each name in a header that may be one."""
    code = without_comments(text)
    for match in re.finditer(r"\b([a-z]\w*)\(", code):
        yield match.group(1), match.start()
    for match in re.finditer(r"^[a-z]\w* (\w+(?:,\s+\w+)*);", code, re.MULTILINE):
        for name in re.finditer(r"\w+", match.group(1)):
            yield name.group(), match.start(1) + name.start()


def files_named(text):
    """Yields (from, to, files): what a header says of where functions are.

    A comment that names a file is about what follows, to the next that does;
    behind a declaration it is about that one. The first comment is the page's.
    """
    comments = list(re.finditer(r"/\*.*?\*/", text, re.DOTALL))[1:]
    begin, files = 0, set()
    for comment in comments:
        named = set(re.findall(r"\b\w+\.c\b", comment.group()))
        line = text.rfind("\n", 0, comment.start()) + 1
        if not named:
            continue
        if text[line : comment.start()].strip():
            yield line, comment.start(), named
        else:
            yield begin, comment.start(), files
            begin, files = comment.end(), named
    yield begin, len(text), files


def places_of(tree, path):
    """Yields (function, files): where a header says that it is defined."""
    text = (tree / path).read_text()
    named = list(files_named(text))
    for name, at in declared_in(text):
        files = [files for begin, end, files in named if begin <= at < end]
        yield name, {f"{path.stem}.c"}.union(*files)


def is_named_after(function, source):
    """ask_write() is in ask.c."""
    stem = pathlib.PurePosixPath(source).stem
    return function == stem or function.startswith(f"{stem}_")


def check_calls(defined, called):
    callers = {}
    for name, source in called:
        callers.setdefault(name, []).append(source)
    for name, source in sorted(defined):
        if name not in UNCALLED and not any(
            may_meet(source, caller) for caller in callers.get(name, [])
        ):
            yield f"{source}: no other file calls {name}()"


def check_places(defined, places):
    """A reader of a header finds what it declares: in the file of that name, in
    one that the function is named after, or in one that the header names."""
    for name, source in sorted(defined):
        folder, file = os.path.split(source)
        headers = {
            path: files
            for path, files in places.get(name, [])
            if str(path.parent) == folder
        }
        if not (
            is_named_after(name, source)
            or any(file in files for files in headers.values())
        ):
            where = ", ".join(map(str, headers)) or "no header beside it"
            yield f"{source}: defines {name}(), which {where} does not tell"


def check_functions(tree, paths, build):
    places, public = {}, set()
    for path in (p for p in paths if p.suffix == ".h"):
        if str(path).startswith(PRODUCT):
            for name, files in places_of(tree, path):
                places.setdefault(name, []).append((path, files))
                if str(path) in PUBLIC:
                    public.add(name)
    defined, called = functions_of(tree, build)
    defined = {(name, source) for name, source in defined if name not in public}
    yield from check_calls(defined, called)
    yield from check_places(defined, places)


def symbols_of(binary):
    """Names of what the binary uses or holds, own code and linked in."""
    text = output_of("nm", "-D", binary) + output_of("nm", binary)
    names = (line.split()[-1] for line in text.splitlines() if line)
    return sorted({name.split("@")[0] for name in names})


def libraries_of(binary):
    needed = r"\(NEEDED\).*\[(.+)\]"
    return re.findall(needed, output_of("readelf", "-dW", binary))


def check_binaries(bin_dir):
    parts = (
        (SYMBOL_RULES, symbols_of, "uses"),
        (LIBRARY_RULES, libraries_of, "loads"),
    )
    for rules, names_of, verb in parts:
        for binary in dict.fromkeys(rule[0] for rule in rules):
            if not (bin_dir / binary).exists():
                yield f"{binary}: not in {bin_dir}"
                continue
            names = names_of(bin_dir / binary)
            for _, forbidden, because in (r for r in rules if r[0] == binary):
                for name in (n for n in names if re.match(forbidden, n)):
                    yield f"{binary}: {verb} {name}: {because}"


def violations(tree, build=None):
    tree = pathlib.Path(tree)
    paths = files_of(tree)
    found = [*check_includes(tree, paths), *check_tree(tree, paths)]
    found += check_forbidden_calls(tree, paths)
    if build:
        build = pathlib.Path(build)
        found += check_functions(tree, paths, build)
        found += check_binaries(build / "bin")
    return found


if __name__ == "__main__":
    lines = violations(*sys.argv[1:3])
    print("\n".join(lines) or "every arrow points the right way")
    sys.exit(bool(lines))
