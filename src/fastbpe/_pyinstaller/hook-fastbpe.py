"""Modules and files of fastbpe that a program needs; PyInstaller runs this when a program imports fastbpe.

PyInstaller sees neither the imports of compiled modules nor those by name, such as the lazy ones of
`fastbpe/__init__.py`. So the program gets all modules except those of this folder.
"""

import sys

from PyInstaller import isolated
from PyInstaller.utils.hooks import collect_data_files, collect_submodules


def _is_needed(name: str) -> bool:
    return not name.startswith("fastbpe._pyinstaller")


def _imported_by_compiled_modules() -> list[str]:
    """Import all compiled modules, and return all modules that this imported.

    The modules that their functions import later are also imported by modules in Python, which PyInstaller reads:
    tests/unit/test_imports.py compares them.

    PyInstaller runs only this function in a separate process, without the imports of this file.
    """
    import contextlib
    import importlib
    import sys

    for name in importlib.import_module("fastbpe._compiled").MODULES:
        with contextlib.suppress(ImportError):  # of a package that is not installed
            importlib.import_module(name)
    return sorted(sys.modules)


hiddenimports = collect_submodules("fastbpe", filter=_is_needed)
hiddenimports += [
    name
    for name in isolated.call(_imported_by_compiled_modules)
    if name in sys.stdlib_module_names and not name.startswith("_")  # modules with "_" come with the public ones
]
datas = collect_data_files("fastbpe", excludes=["**/*.pyi", "**/*.pyx", "**/*.pxd", "**/*.h", "**/*.c"])
# Large packages that fastbpe imports only in a program that uses them itself; and matplotlib, for --plot alone.
excludedimports = ["IPython", "matplotlib", "pyspark", "ray", "transformers", "vllm"]
