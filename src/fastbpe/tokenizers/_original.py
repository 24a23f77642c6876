"""The original module: parts of tokenizers come from it unchanged, and it answers the calls that fastbpe does not.

If tokenizers is not installed, `own` takes its place: fastbpe's own classes, which do only BPE.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def _import() -> tuple[Any, bool]:
    try:
        return import_module("tokenizers"), True
    except ModuleNotFoundError:
        return import_module("fastbpe.tokenizers.own"), False


original, IS_INSTALLED = _import()
