"""Faster tokenizers for Hugging Face's transformers: `accelerate` one, or `patch` all, with the same results."""

from typing import TYPE_CHECKING

from fastbpe.transformers._installed import IS_INSTALLED

__all__ = ["accelerate", "patch", "status", "unpatch"]

if TYPE_CHECKING or IS_INSTALLED:
    from fastbpe.transformers.accelerating import accelerate, status
    from fastbpe.transformers.patching import patch, unpatch
    from fastbpe.transformers.running import patch_if_asked

    patch_if_asked()
else:
    from fastbpe.transformers._installed import accelerate, patch, status, unpatch
