"""The builds of quern that are measured: one, or an old and a new one by turns."""

import contextlib
import dataclasses
import os

import servers
from harness import first_line
from stack import Stack


@dataclasses.dataclass(frozen=True)
class Build:
    column: str
    folder: str

    def binary(self, name):
        return os.path.join(self.folder, "bin", name)

    def version(self):
        return first_line(self.binary("quern"), "--version").split()[-1]

    def library(self):
        path = os.path.join(self.folder, "schemas", "redis", "library.lua")
        with open(path, encoding="utf-8") as library:
            return library.read()

    @contextlib.contextmanager
    def chosen(self):
        """What the tests' helpers start meanwhile is of this build."""
        before, servers.BUILD = servers.BUILD, self.folder
        try:
            yield
        finally:
            servers.BUILD = before

    def stack(self, **settings):
        with self.chosen():
            stack = Stack(**settings)
        stack.db.function_load(self.library(), replace=True)
        return stack

    def consumer(self, stack, **settings):
        with self.chosen():
            return stack.consumer(**settings)
