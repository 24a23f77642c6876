"""Normalizers of tokenizers, as they are."""

from __future__ import annotations

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
