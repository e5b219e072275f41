"""tools.py - functions outside of the box that a cell may call.

offer() is called with them before every cell, as the model knows them: name,
description and the JSON Schema of the parameters. Each becomes a function in
__main__, unless that name is taken; all are in `tools`. A call waits for its answer
while other threads run.
"""

import builtins
import inspect
import json
import keyword
import re
import threading
import time
import types
import typing

import _quern

import __main__

TYPES = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": None,
}
namespace = types.SimpleNamespace()  # `tools`
_described = ""  # what is in it
_given = {}  # name in __main__: what we put there
_turns = None  # of the calls of a cell
_pace = None


class ToolError(Exception):
    """A tool did not give a result; the text says why."""


ToolError.__module__ = "__main__"


def offer(described):
    """Called before a cell. described: JSON, a list of functions; "": none."""
    global _described, _turns, _pace
    if described != _described:
        _take_back()
        _fill_namespace(json.loads(described) if described else [])
        _described = described
    if described:
        _turns = threading.BoundedSemaphore(_quern.MAX_OPEN_QUESTIONS)
        _pace = Pace()
        _put({**vars(namespace), "tools": namespace})


def _fill_namespace(functions):
    vars(namespace).clear()
    for function in functions:
        tool = Tool(function)
        setattr(namespace, tool.__name__, tool.function())
    namespace.ToolError = ToolError


def _take_back():
    """Takes them out of __main__, but for ToolError: a thread that still waits for an
    answer may want to catch it."""
    for name in _given.keys() - {"ToolError"}:
        if vars(__main__).get(name) is _given.pop(name):
            del vars(__main__)[name]


def is_given(name, value):
    """Whether the name holds what we put there, and not something of a cell."""
    return name in _given and _given[name] is value


def _put(names):
    for name, value in names.items():
        if name not in vars(__main__) and not hasattr(builtins, name):
            vars(__main__)[name] = _given[name] = value


class Pace:
    """Makes calls wait, so that the warden need not refuse them for coming too fast. It
    may see two calls closer together than they were made, so a few are kept back."""

    most = _quern.QUESTION_BURST - 8

    def __init__(self):
        self.lock = threading.Lock()
        self.left = self.most
        self.at = time.monotonic()

    def keep(self):
        with self.lock:
            now = time.monotonic()
            gained = (now - self.at) * _quern.QUESTIONS_PER_S
            self.left = min(self.left + gained, self.most) - 1
            self.at = now
            wait = -self.left / _quern.QUESTIONS_PER_S
        if wait > 0:
            time.sleep(wait)


class Tool:
    """One function, from its description."""

    def __init__(self, function):
        self.name = function["name"]
        self.description = function.get("description") or ""
        schema = function.get("parameters") or {}
        self.properties = schema.get("properties") or {}
        self.required = set(schema.get("required") or ())
        self.open = bool(schema.get("additionalProperties"))
        self.rest = "others"  # what is given beyond the named ones
        while self.rest in self.properties:
            self.rest += "_"
        self.__name__ = identifier(self.name)
        self.signature = self._signature()

    def _signature(self):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        named = [name for name in self.properties if is_identifier(name)]
        named.sort(key=lambda name: name not in self.required)
        parameters = [
            inspect.Parameter(
                name,
                kind,
                default=self._default(name),
                annotation=annotation(self.properties[name]),
            )
            for name in named
        ]
        if self.open or len(named) < len(self.properties):
            rest = inspect.Parameter(self.rest, inspect.Parameter.VAR_KEYWORD)
            parameters.append(rest)
        return inspect.Signature(parameters)

    def _default(self, name):
        if name in self.required:
            return inspect.Parameter.empty
        return _schema(self.properties[name]).get("default")

    def doc(self):
        lines = [self.description]
        told = [
            f"    {name}: {_schema(schema)['description']}"
            for name, schema in self.properties.items()
            if _schema(schema).get("description")
        ]
        return "\n".join(lines + (["", "Args:"] + told if told else []))

    def function(self):
        def call(*args, **kwargs):
            return self.call(args, kwargs)

        call.__name__ = call.__qualname__ = self.__name__
        call.__module__ = "__main__"
        call.__doc__ = self.doc()
        call.__signature__ = self.signature
        call.__annotations__ = {
            name: parameter.annotation
            for name, parameter in self.signature.parameters.items()
            if parameter.annotation is not inspect.Parameter.empty
        }
        return call

    def call(self, args, kwargs):
        data = self._encode(self._arguments(args, kwargs))
        with _turns:
            _pace.keep()
            code, sentence, answer = _quern.ask("tool", self.name, data)
        if code:
            raise ToolError(f"{self.__name__}(): {sentence}")
        try:
            return json.loads(answer) if answer else None
        except (ValueError, RecursionError) as error:
            raise ToolError(
                f"{self.__name__}(): its answer cannot be read: {error}"
            ) from None

    def _arguments(self, args, kwargs):
        """Gives the arguments by name. None stands for one that may be left out."""
        try:
            given = dict(self.signature.bind(*args, **kwargs).arguments)
        except TypeError as error:
            raise TypeError(f"{self.__name__}(): {error}") from None
        given.update(given.pop(self.rest, {}))
        return {
            name: value
            for name, value in given.items()
            if value is not None or name in self.required
        }

    def _encode(self, arguments):
        parts = []
        for name, value in arguments.items():
            try:
                text = json.dumps(
                    value, ensure_ascii=False, allow_nan=False, default=plain
                )
                parts.append(f"{json.dumps(name)}:{text}".encode())
            except (TypeError, ValueError, RecursionError) as error:
                raise TypeError(
                    f"{self.__name__}(): argument '{name}' is not JSON: {error}"
                ) from None
        data = b"{" + b",".join(parts) + b"}"
        if len(data) > _quern.MAX_TOOL_BYTES:
            raise ValueError(
                f"{self.__name__}(): the arguments are {len(data):,} bytes of "
                f"JSON, at most {_quern.MAX_TOOL_BYTES:,}"
            )
        return data


def plain(value):
    """For JSON: gives numbers and arrays of numpy as Python's."""
    if hasattr(value, "tolist") and type(value).__module__ == "numpy":
        return value.tolist()
    raise TypeError(f"it holds a {type(value).__name__}")


def is_identifier(name):
    return name.isidentifier() and not keyword.iskeyword(name)


def identifier(name):
    """Makes a name of Python: search-web becomes search_web."""
    name = re.sub(r"\W", "_", name)
    return name if is_identifier(name) else f"{name}_"


def _schema(schema):
    """Gives a schema as a dict: true and false are schemas, too."""
    return schema if isinstance(schema, dict) else {}


def annotation(schema):
    """Gives the type of Python that is closest to a JSON Schema."""
    schema = _schema(schema)
    if values := schema.get("enum"):
        return typing.Literal[tuple(values)]
    kind = schema.get("type")
    if kind == "array" and _schema(schema.get("items")).get("type"):
        return list[annotation(schema["items"])]
    kinds = kind if isinstance(kind, list) and kind else [kind]
    return typing.Union[tuple(_type(one) for one in kinds)]


def _type(name):
    return TYPES.get(name, typing.Any) if isinstance(name, str) else typing.Any
