"""Door for vLLM: the plugin that registers the tokenizer mode "fastbpe".

vLLM calls each entry point of the group `vllm.general_plugins` once in each of its processes. Afterwards
`--tokenizer-mode fastbpe` finds the class by the registry's (mode, module, class).
"""

from __future__ import annotations

from fastbpe.transformers.running import patch_if_asked

MODE = "fastbpe"


def register() -> None:
    """Register the tokenizer mode. vLLM calls it; does nothing if its version has no registry of tokenizers."""
    patch_if_asked()
    try:
        from vllm.tokenizers import TokenizerRegistry
    except ImportError:
        return
    TokenizerRegistry.register(MODE, "fastbpe.transformers.vllm_tokenizer", "FastbpeTokenizer")
