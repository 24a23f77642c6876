"""The original module: parts of tokenizers come from it as they are, and it answers what fastbpe does not.

Where it is not installed, `own` takes its place: fastbpe's own classes, for BPE alone.
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
