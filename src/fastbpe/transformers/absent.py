"""Stand-ins for the calls where transformers is not installed: each is an ImportError that names it."""

from __future__ import annotations

from typing import NoReturn


def _need_transformers(*args: object, **options: object) -> NoReturn:
    """Raise ImportError: transformers is not installed."""
    raise ImportError("fastbpe.transformers needs transformers: pip install transformers")


accelerate = patch = status = unpatch = _need_transformers
