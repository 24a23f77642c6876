"""Normalizers of tokenizers, unchanged; fastbpe's own if tokenizers is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastbpe.tokenizers._original import IS_INSTALLED

if TYPE_CHECKING or IS_INSTALLED:
    from tokenizers.normalizers import (  # type: ignore[attr-defined]
        NFC,
        NFD,
        NFKC,
        NFKD,
        NORMALIZERS,
        BertNormalizer,
        ByteLevel,
        Lowercase,
        Nmt,
        Normalizer,
        Precompiled,
        Prepend,
        Replace,
        Sequence,
        Strip,
        StripAccents,
        unicode_normalizer_from_str,
    )
else:
    from fastbpe.tokenizers.own.normalizers import *  # noqa: F403

__all__ = [
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "NORMALIZERS",
    "BertNormalizer",
    "ByteLevel",
    "Lowercase",
    "Nmt",
    "Normalizer",
    "Precompiled",
    "Prepend",
    "Replace",
    "Sequence",
    "Strip",
    "StripAccents",
    "unicode_normalizer_from_str",
]
