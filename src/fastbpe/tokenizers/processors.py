"""Processors of tokenizers, unchanged; fastbpe's own if tokenizers is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastbpe.tokenizers._original import IS_INSTALLED

if TYPE_CHECKING or IS_INSTALLED:
    from tokenizers.processors import (
        BertProcessing,
        ByteLevel,
        PostProcessor,
        RobertaProcessing,
        Sequence,
        TemplateProcessing,
    )
else:
    from fastbpe.tokenizers.own.processors import *  # noqa: F403

__all__ = [
    "BertProcessing",
    "ByteLevel",
    "PostProcessor",
    "RobertaProcessing",
    "Sequence",
    "TemplateProcessing",
]
