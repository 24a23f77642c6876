"""The original tokenizers package, even while fastbpe's module is installed under its name."""

from __future__ import annotations

from typing import Any

from fastbpe._utils.originals import find

tokenizers: Any = find("tokenizers")
if tokenizers is None:
    raise ImportError("fastbpe.transformers needs tokenizers: pip install transformers")
