"""Interface for SGLang: its `--tokenizer-backend` calls the function `patch_transformers` once before it loads."""

from __future__ import annotations

from fastbpe.transformers.patching import patch


def patch_transformers() -> None:
    """Accelerate every tokenizer that transformers loads from now on. The same as `fastbpe.transformers.patch()`.

    SGLang keeps the tokenizers that transformers returns. It calls `tokenizer(texts)`, `tokenizer.encode(text)`,
    `decode`, `batch_decode` and `copy.deepcopy`. An accelerated tokenizer answers them all, so no class of its own
    is needed.
    """
    patch()
