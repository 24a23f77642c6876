"""Interface for vLLM: the plugin that registers the tokenizer mode "fastbpe".

vLLM calls each entry point of the group `vllm.general_plugins` once in each of its processes. Afterwards
`--tokenizer-mode fastbpe` finds the class by the registry's (mode, module, class).
"""

from __future__ import annotations

from typing import Any

from fastbpe.transformers.accelerating import accelerate
from fastbpe.transformers.running import patch_if_asked

MODE = "fastbpe"
CLASS = "FastbpeTokenizer"


def register() -> None:
    """Register the tokenizer mode. vLLM calls it; does nothing if its version has no registry of tokenizers."""
    patch_if_asked()
    try:
        from vllm.tokenizers import TokenizerRegistry
    except ImportError:
        return
    TokenizerRegistry.register(MODE, __name__, CLASS)


def __getattr__(name: str) -> Any:
    if name != CLASS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[CLASS] = _make_class()
    return made


def _make_class() -> type:
    """Make the class of the mode. It derives from a class of vLLM, which only vLLM's processes can import."""
    from vllm.tokenizers.hf import CachedHfTokenizer

    class FastbpeTokenizer(CachedHfTokenizer):  # type: ignore[misc]
        """Loader of tokenizers for vLLM: as its mode "hf" loads them, accelerated."""

        @classmethod
        def from_pretrained(cls, *args: Any, **options: Any) -> Any:
            """Load a tokenizer as the mode "hf" does, and accelerate it. Takes vLLM's arguments."""
            return accelerate(super().from_pretrained(*args, **options))

    return FastbpeTokenizer
