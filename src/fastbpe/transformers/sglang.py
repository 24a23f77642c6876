"""Interface for SGLang: a plugin that patches transformers in each of its processes, if the environment asks.

SGLang calls each entry point of the group `sglang.srt.plugins` once in each process, before it loads a tokenizer.
Its `--tokenizer-backend` accepts only built-in names, so fastbpe cannot be chosen there.
"""

from __future__ import annotations

from fastbpe.transformers.patching import patch
from fastbpe.transformers.running import patch_if_asked


def register() -> None:
    """Patch transformers if the environment has FASTBPE_PATCH=transformers. SGLang calls it."""
    patch_if_asked()


def patch_transformers() -> None:
    """Accelerate every tokenizer that transformers loads from now on. The same as `fastbpe.transformers.patch()`.

    Call it in programs that create an `Engine` of SGLang themselves and do not set the environment variable.
    SGLang uses the tokenizers that transformers returns, so it needs no special class.
    """
    patch()
