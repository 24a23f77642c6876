"""Files of id maps (`IdMap.save`): a container (see container.py) with three sections.

"new_to_old": the old id of each new id, int64, or -1. "init_counts": for each new id without an old id, the number
of old ids that its embedding row is initialized from, uint32. "init_ids": those old ids, concatenated, uint32.
The header has "n_old", the size of the old vocabulary.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._version import __version__
from fastbpe.errors import FormatError
from fastbpe.formats.container import Kind, check_sections, pack, unpack
from fastbpe.model import Buffer

KIND = Kind("ids", 1, "a file of an id map", {"new_to_old": 8, "init_counts": 4, "init_ids": 4})
_SECTIONS = {"new_to_old": "q", "init_counts": "I", "init_ids": "I"}
_REQUIRED: Mapping[str, type | tuple[type, ...]] = {"n_old": int, "library": str}


class Mapped(NamedTuple):
    """Id map as plain data.

    Attributes:
        n_old: size of the old vocabulary.
        new_to_old: int64 – the old id of each new id; -1 if it is new.
        init_counts: uint32 – number of old ids for each new id without an old id, in order.
        init_ids: uint32 – those old ids.
    """

    n_old: int
    new_to_old: array[int]
    init_counts: array[int]
    init_ids: array[int]


def dump(mapped: Mapped) -> list[Buffer]:
    """Return the parts of the file, to be written in order."""
    header = {"mode": "ids", "n_old": mapped.n_old, "library": __version__}
    return pack(KIND, header, {name: getattr(mapped, name).tobytes() for name in _SECTIONS})


def parse(data: Buffer, where: str) -> Mapped:
    """Read a file. Raises FormatError if it is damaged or of another kind."""
    header, sections = unpack(KIND, data, where, {"ids": _REQUIRED})
    check_sections(sections, {*_SECTIONS}, where)
    tables = {}
    for name, code in _SECTIONS.items():
        tables[name] = array(code)
        if len(sections[name]) % tables[name].itemsize:
            raise FormatError(f"{where}: its section {name!r} ends in the middle of a number")
        tables[name].frombytes(sections[name])
    if sum(tables["init_counts"]) != len(tables["init_ids"]):
        raise FormatError(f"{where}: its sections 'init_counts' and 'init_ids' do not match")
    if len(tables["init_counts"]) != tables["new_to_old"].count(-1):
        raise FormatError(f"{where}: its sections 'init_counts' and 'new_to_old' do not match")
    return Mapped(header["n_old"], **tables)
