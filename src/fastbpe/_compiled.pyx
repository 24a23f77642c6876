"""The shared object that contains all compiled modules, and the finder that imports them from it.

A shared object per module takes half as much room again, and Python opens each of them: figures in ARCHITECTURE.md.
The loader is Python's own. It takes any number of modules from one file, as PEP 489 describes.
"""

import sys
# `importlib.machinery` has these classes, too, but its import brings `warnings`.
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader

cdef extern from "compiled_modules.h":  # setup.py writes it
    const char *COMPILED_MODULES  # full names, separated by spaces

MODULES = frozenset(COMPILED_MODULES.decode().split())


class CompiledModules:
    """Finder of the modules in this shared object. It answers for their names alone."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Say how to import a module of `MODULES`; return None for any other name."""
        if name not in MODULES:
            return None
        spec = ModuleSpec(name, ExtensionFileLoader(name, __file__), origin=__file__)
        spec.has_location = True  # for the module's __file__
        return spec


def add_finder():
    """Let Python find the modules: append the finder to `sys.meta_path`, so that other imports do not ask it."""
    if CompiledModules not in sys.meta_path:  # a reload of fastbpe calls this again
        sys.meta_path.append(CompiledModules)
