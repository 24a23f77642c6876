"""Interface for vLLM: the plugin that registers the tokenizer mode "fastbpe".

vLLM calls each entry point of the group `vllm.general_plugins` once in each of its processes. Its registries of
tokenizers and of renderers (chat templates, truncation) then know the mode.
"""

from __future__ import annotations

from typing import Any

from fastbpe.transformers.accelerating import accelerate
from fastbpe.transformers.running import patch_if_asked

MODE = "fastbpe"
RENDERER = ("vllm.renderers.hf", "HfRenderer")  # of mode "hf"


def register() -> None:
    """Register the tokenizer mode. vLLM calls it; does nothing if its version has no registry of tokenizers.

    Versions with a registry of renderers look the mode up there, too: the mode has the renderer of "hf".
    """
    patch_if_asked()
    try:
        from vllm.tokenizers import TokenizerRegistry
    except ImportError:
        return
    TokenizerRegistry.register(MODE, __name__, FastbpeTokenizer.__name__)
    try:
        from vllm.renderers.registry import RENDERER_REGISTRY
    except ImportError:
        return
    RENDERER_REGISTRY.register(MODE, *RENDERER)


class FastbpeTokenizer:
    """Loader of tokenizers for vLLM: as its mode "hf" loads them, accelerated."""

    @staticmethod
    def from_pretrained(name: Any, *args: Any, **options: Any) -> Any:
        """Load a tokenizer by vLLM's mode "hf", and accelerate it. Takes vLLM's arguments.

        vLLM treats that mode by its name (which config it reads, which snapshot of a repository, which name the
        tokenizer keeps), so the whole call goes through it.
        """
        from vllm.tokenizers import get_tokenizer

        return accelerate(get_tokenizer(name, *args, tokenizer_mode="hf", **options))
