"""Interface for vLLM: the plugin that registers the tokenizer mode "fastbpe".

vLLM calls each entry point of the group `vllm.general_plugins` once in each of its processes. After that, its
registries of tokenizers and of renderers (chat templates, truncation) contain the mode.
"""

from __future__ import annotations

from typing import Any

from fastbpe.transformers.accelerating import accelerate
from fastbpe.transformers.running import patch_if_asked

MODE = "fastbpe"
RENDERER = ("vllm.renderers.hf", "HfRenderer")  # renderer of the mode "hf"


def register() -> None:
    """Register the tokenizer mode, if vLLM has a registry of tokenizers. vLLM calls this.

    First, patch transformers if the environment has FASTBPE_PATCH=transformers. Versions of vLLM with a registry
    of renderers also look the mode up there; it gets the renderer of "hf".
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
    """Loader of tokenizers for vLLM: like its mode "hf", but accelerated."""

    @staticmethod
    def from_pretrained(name: Any, *args: Any, **options: Any) -> Any:
        """Load a tokenizer with vLLM's mode "hf", and accelerate it. Accepts vLLM's arguments.

        The mode "fastbpe" would call this method again. The mode "auto" may choose Mistral's own tokenizer, which
        has no backend to accelerate, and which the renderer of "hf" does not accept.
        """
        from vllm.tokenizers import get_tokenizer

        return accelerate(get_tokenizer(name, *args, tokenizer_mode="hf", **options))
