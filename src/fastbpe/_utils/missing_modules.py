"""Explanation of a missing compiled module, for the error of `import fastbpe`."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def explain(name: str) -> str:
    """Explain why a module of fastbpe cannot be imported, and what to do.

    Args:
        name: full name of the module.
    """
    library = sys.modules.get("fastbpe._compiled")  # one file that contains the compiled modules listed in MODULES
    is_built = library is not None and name in library.MODULES
    if _PACKAGE.parent.joinpath(*name.split(".")).with_suffix(".pyx").is_file() and not is_built:
        python = ".".join(map(str, sys.version_info[:2]))
        return (
            f"fastbpe's compiled core is missing: {name} was not built for Python {python}; "
            "build it with `pip install .` in the project's folder"
        )
    if getattr(sys, "frozen", False):
        return (
            f"the program lacks fastbpe's module {name}: build it again with all modules of fastbpe, "
            "such as PyInstaller's --collect-submodules=fastbpe or cx_Freeze's --packages=fastbpe"
        )
    return (
        f"fastbpe's module {name} is missing, though other parts of fastbpe are there: "
        "install it again with `pip install --force-reinstall fastbpe-tokenizer`"
    )
