"""hooks.py - does something as soon as a module of somebody else is loaded."""

import importlib.abc
import importlib.machinery
import sys


class AfterImport(importlib.abc.MetaPathFinder):
    """Calls then(module) when the module of that name has been executed."""

    def __init__(self, name, then):
        self.name, self.then = name, then

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            execute = spec.loader.exec_module

            def execute_and_then(module):
                execute(module)
                self.then(module)

            spec.loader.exec_module = execute_and_then
        return spec


def after_import(name, then):
    if name in sys.modules:
        then(sys.modules[name])
        return
    sys.meta_path.insert(0, AfterImport(name, then))
