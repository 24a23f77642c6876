"""Tokenizer of vLLM's mode "fastbpe". Only vLLM imports this module."""

from __future__ import annotations

from typing import Any

from vllm.tokenizers.hf import CachedHfTokenizer

from fastbpe.transformers.accelerating import accelerate


class FastbpeTokenizer(CachedHfTokenizer):  # type: ignore[misc]
    """Loader of tokenizers for vLLM: those of its mode "hf", accelerated."""

    @classmethod
    def from_pretrained(cls, *args: Any, **options: Any) -> Any:
        """Load a tokenizer as the mode "hf" does, and accelerate it. Arguments are those of vLLM."""
        return accelerate(super().from_pretrained(*args, **options))
