"""Look for transformers and tokenizers without importing them."""

from __future__ import annotations

import sys
from importlib.util import find_spec

IS_INSTALLED = all(
    sys.modules[name] is not None if name in sys.modules else find_spec(name) is not None
    for name in ("tokenizers", "transformers")
)
