"""Faster tokenizers for Hugging Face's transformers: `accelerate` one, or `patch` all, with the same results."""

from fastbpe.transformers.accelerating import accelerate, status
from fastbpe.transformers.patching import patch, unpatch
from fastbpe.transformers.running import patch_if_asked

__all__ = ["accelerate", "patch", "status", "unpatch"]

patch_if_asked()
