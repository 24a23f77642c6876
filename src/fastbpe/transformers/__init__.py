"""Faster tokenizers for Hugging Face's transformers: `accelerate` one, or `patch` all, with the same results."""

from fastbpe.transformers.accelerating import accelerate, status

__all__ = ["accelerate", "status"]
