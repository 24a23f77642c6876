"""Names of annotations for autodoc: what a module of fastbpe imports for type checkers only.

Its modules do not import `typing`, so that Sphinx cannot switch `typing.TYPE_CHECKING` on.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

_completed: set[Path] = set()


def before_signature(app: Any, described: Any, is_bound: bool) -> None:
    """Complete the module that defines what autodoc describes next."""
    complete(inspect.unwrap(described).__module__)


def complete(name: str | None) -> None:
    """Run the `if TYPE_CHECKING` blocks of a module, and first those of the modules that they import from.

    Names of other packages are left out: `npt.NDArray[np.uint32]` is clearer than what it stands for.
    """
    module = sys.modules.get(name or "")
    path = Path(getattr(module, "__file__", None) or "")
    if module is None or not module.__name__.startswith("fastbpe") or path.suffix != ".py" or path in _completed:
        return
    _completed.add(path)
    for block in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(block, ast.If) or ast.unparse(block.test) != "TYPE_CHECKING":
            continue
        for statement in block.body:
            origin = (statement.module or "") if isinstance(statement, ast.ImportFrom) else ""
            if origin.startswith("fastbpe."):
                importlib.import_module(origin)
                complete(origin)
            elif origin not in ("", "collections.abc", "typing") or isinstance(statement, ast.Import):
                continue
            with suppress(NameError):  # it uses one of those left out
                exec(compile(ast.Module([statement], []), str(path), "exec"), vars(module))


def setup(app: Any) -> dict[str, bool]:
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-before-process-signature", before_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
