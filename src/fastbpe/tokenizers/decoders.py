"""Decoders of tokenizers, unchanged, and a faster DecodeStream; fastbpe's own if tokenizers is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastbpe.tokenizers._original import IS_INSTALLED

if TYPE_CHECKING or IS_INSTALLED:
    from tokenizers.decoders import (
        CTC,
        BPEDecoder,
        ByteFallback,
        ByteLevel,
        Decoder,
        Fuse,
        Metaspace,
        Replace,
        Sequence,
        Strip,
        WordPiece,
    )

    from fastbpe.tokenizers.streams import DecodeStream
else:
    from fastbpe.tokenizers.own.decoders import *  # noqa: F403

__all__ = [
    "CTC",
    "BPEDecoder",
    "ByteFallback",
    "ByteLevel",
    "DecodeStream",
    "Decoder",
    "Fuse",
    "Metaspace",
    "Replace",
    "Sequence",
    "Strip",
    "WordPiece",
]
