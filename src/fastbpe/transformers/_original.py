"""The package tokenizers itself, also while fastbpe's module stands under its name."""

from __future__ import annotations

from typing import Any

from fastbpe._utils.originals import find

tokenizers: Any = find("tokenizers")
