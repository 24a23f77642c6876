"""Completion of the names of vocabularies in IPython and Jupyter: fastbpe.load("gp<Tab>."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

#: A call of load whose first argument, a string, is being typed: the name of its module, and the string so far.
_LOAD = r".*?(?:\b(\w+)\.|\b)load\(\s*['\"]([^'\"]*)$"


def complete_names() -> None:
    """Let IPython, if it is running, complete names and files in `fastbpe.load("`."""
    shell = sys.modules["IPython"].get_ipython()
    if shell is not None:
        shell.set_hook("complete_command", _names, re_key=_LOAD)


def _names(shell: Any, event: Any) -> list[str]:
    """List the known names, and the files and folders that complete the typed path.

    If `load` is not fastbpe's, raises TryNext, so that other completers handle the line.
    """
    from fastbpe.published.find import ENDINGS, KNOWN_NAMES  # here: an import of fastbpe does not need it

    called = re.match(_LOAD, event.text_until_cursor)
    if called is None or not _is_ours(shell, called[1]):
        from IPython.core.error import TryNext

        raise TryNext
    typed = called[2]
    folder = os.path.dirname(typed)
    try:
        entries = [*os.scandir(folder or ".")]
    except OSError:
        entries = []
    files = [os.path.join(folder, one.name) for one in entries if one.name.endswith(ENDINGS) or one.is_dir()]
    return [name for name in (*KNOWN_NAMES, *files) if name.startswith(typed)]


def _is_ours(shell: Any, owner: str | None) -> bool:
    """Tell whether a name in the session is the module fastbpe; owner None: whether `load` is one of fastbpe's."""
    if owner is not None:
        return shell.user_ns.get(owner) is sys.modules.get("fastbpe")
    return getattr(shell.user_ns.get("load"), "__module__", "").startswith("fastbpe.")
