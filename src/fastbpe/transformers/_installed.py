"""Check for transformers and tokenizers without importing them; functions that raise if one is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import NoReturn

IS_INSTALLED = all(
    sys.modules[name] is not None if name in sys.modules else find_spec(name) is not None
    for name in ("tokenizers", "transformers")
)


def _need_transformers(*args: object, **options: object) -> NoReturn:
    """Raise ImportError: transformers or tokenizers is not installed."""
    raise ImportError("fastbpe.transformers needs transformers: pip install transformers")


accelerate = patch = status = unpatch = _need_transformers
