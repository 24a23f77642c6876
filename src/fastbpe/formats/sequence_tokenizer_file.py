"""File of a `SequenceTokenizer`: a container (see container.py) with the fields of a `SequenceModel`."""

from __future__ import annotations

from types import MappingProxyType

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.errors import FormatError
from fastbpe.formats.container import Kind, check_sections, pack, unpack
from fastbpe.model import Buffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KIND = Kind("sequences", 1, "a fastbpe file of sequences", {})  # merges need no conversion
MAGIC = KIND.magic
_HEADER: Mapping[str, type | tuple[type, ...]] = {"base_size": int, "training": dict}
_BYTES_PER_PAIR = 8


class SequenceModel(NamedTuple):
    """Vocabulary over sequences of integers.

    base_size: int – number of base symbols.
    merges: bytes – uint32 pairs (left id, right id), little-endian, best first; merge i makes base_size + i.
    training: the training report; {} if it was not trained by fastbpe.
    special_tokens: name → id; they represent no symbols, and their ids come after the merges' ids.
    """

    base_size: int
    merges: bytes
    training: Mapping[str, Any]
    special_tokens: Mapping[str, int] = MappingProxyType({})


def dump(model: SequenceModel) -> bytes:
    """Return the bytes of the file."""
    header: dict[str, Any] = {"mode": "ids", "base_size": model.base_size, "training": dict(model.training)}
    if model.special_tokens:
        header["special_tokens"] = dict(model.special_tokens)
    return b"".join(pack(KIND, header, {"merges": model.merges}))


def parse(data: Buffer, where: str) -> SequenceModel:
    """Read the model in a file's bytes.

    Raises:
        FormatError: the file is of another kind, damaged, or from a newer fastbpe.
    """
    header, sections = unpack(KIND, data, where, {"ids": _HEADER})
    check_sections(sections, {"merges"}, where)
    merges = bytes(sections["merges"])
    if len(merges) % _BYTES_PER_PAIR:
        raise FormatError(f"{where}: the size of its section 'merges' is not a multiple of the size of a merge")
    if type(header["base_size"]) is not int:
        raise FormatError(f"{where}: its header has no valid 'base_size'")
    special = header.get("special_tokens", {})
    if not isinstance(special, dict) or not all(type(token_id) is int for token_id in special.values()):
        raise FormatError(f"{where}: its header has no valid 'special_tokens'")
    return SequenceModel(header["base_size"], merges, header["training"], special)
