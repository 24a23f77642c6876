"""Steps of a tokenizer.json that several modules write."""

from __future__ import annotations

from fastbpe.model import METASPACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def replace(kind: str, pattern: str, content: str) -> dict[str, Any]:
    """Return a Replace. kind: "String" or "Regex"."""
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def split(
    pattern: object, behavior: str = "Isolated", *, kind: str = "Regex", invert: bool = False
) -> dict[str, Any]:
    """Return a Split. kind: "String" or "Regex"."""
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def metaspace(scheme: str, *, split: bool = True) -> dict[str, Any]:
    """Return a Metaspace with U+2581. scheme: its prepend_scheme."""
    return {"type": "Metaspace", "replacement": METASPACE, "prepend_scheme": scheme, "split": split}


ESCAPE = replace("String", " ", METASPACE)
UNESCAPE = replace("String", METASPACE, " ")
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


def llama_decoder(*last: dict[str, Any]) -> dict[str, Any]:
    """Return the decoder of Llama and its relatives, with further steps at its end."""
    return {"type": "Sequence", "decoders": [UNESCAPE, {"type": "ByteFallback"}, {"type": "Fuse"}, *last]}
