"""Models of sequences: creation from merges, and checks of arguments."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fastbpe._core.merge.sequence_vocabulary import MAX_SEQUENCE_IDS
from fastbpe._core.text.utf8_text import plain
from fastbpe._utils.arguments import integer
from fastbpe.errors import SpecialTokenError, VocabularyError
from fastbpe.formats.byte_order import little_endian
from fastbpe.formats.sequence_tokenizer_file import SequenceModel

if TYPE_CHECKING:
    from fastbpe.vocabularies.id_map import IdMap

MAX_BASE_SIZE = 1 << 20  # base symbols: half of MAX_SEQUENCE_IDS; the rest is for merges and special tokens
_MAX_STARTS = 1 << 10  # old ids from which a row starts: n merges, each of the one before with itself, join 2**n


def model_of_pairs(base_size: object, merges: Iterable[tuple[int, int]]) -> SequenceModel:
    """Return the model of a user's merges. base_size, merges: as in `SequenceTokenizer.from_merges`."""
    n_symbols = check_base_size(base_size)
    flat = array("I")
    for i, pair in enumerate(merges):
        left, right = (integer(f"an id of merge {i}", token_id) for token_id in pair)
        for token_id in (left, right):
            if not 0 <= token_id < n_symbols + i:
                raise VocabularyError(
                    f"merge {i}: ({left}, {right}) -> {n_symbols + i} names an id that no earlier merge makes"
                )
        flat.extend((left, right))
    return SequenceModel(n_symbols, _packed(flat), {})


def check_base_size(base_size: object) -> int:
    """Return base_size as an int. Raises VocabularyError unless it is from 1 to MAX_BASE_SIZE."""
    size = integer("base_size", base_size)
    if not 1 <= size <= MAX_BASE_SIZE:
        raise VocabularyError(f"base_size={size}: must be the number of symbols, 1 to {MAX_BASE_SIZE}")
    return size


def checked_special(special_tokens: Mapping[str, int], n_ids: int) -> dict[str, int]:
    """Return special tokens (name to id), checked. n_ids: number of symbols and merges.

    Raises SpecialTokenError for a bad name or id, TypeError for an id that is not an integer.
    """
    taken: dict[int, str] = {}
    for name, token_id in special_tokens.items():
        if not isinstance(name, str) or not name:
            raise SpecialTokenError(f"the special token {name!r}: its name must be a str of one character or more")
        token_id = integer(f"the id of the special token {name!r}", token_id)
        if not n_ids <= token_id < MAX_SEQUENCE_IDS:
            raise SpecialTokenError(
                f"special token {name!r} has the id {token_id}: not in {n_ids}..{MAX_SEQUENCE_IDS - 1}, the "
                "ids after the symbols and merges"
            )
        if token_id in taken:
            raise SpecialTokenError(f"special tokens {taken[token_id]!r} and {name!r} have the same id {token_id}")
        taken[token_id] = plain(name)
    return {name: token_id for token_id, name in taken.items()}


def with_more_special(
    special: Mapping[str, int], given: Mapping[str, int] | Iterable[str], first_id: int
) -> dict[str, int]:
    """Add special tokens as `SequenceTokenizer.with_special_tokens` does. Names alone get ids from first_id on."""
    if isinstance(given, str):
        raise TypeError(f"special_tokens is a str: pass a list of names, [{given!r}]")
    if not isinstance(given, Mapping):
        given = {name: first_id + i for i, name in enumerate(dict.fromkeys(given))}
    if known := next((name for name in given if name in special), None):
        raise SpecialTokenError(
            f"{known!r} is already a special token, with the id {special[known]}; leave it out"
        )
    return {**special, **given}


def model_of_merges(
    base_size: int,
    merges: Sequence[tuple[int, int, int]],
    training: Mapping[str, Any],
    before: bytes = b"",
    special_tokens: Iterable[str] = (),
) -> SequenceModel:
    """Return a model of the packed merges `before`, followed by learned merges (left id, right id, count)."""
    flat = array("I", [token_id for left, right, _ in merges for token_id in (left, right)])
    packed = before + _packed(flat)
    n_merges = len(packed) // 8  # two uint32 each
    special = {name: base_size + n_merges + i for i, name in enumerate(special_tokens)}
    return SequenceModel(base_size, packed, training, special)


def _packed(flat: array[int]) -> bytes:
    return bytes(little_endian(flat.tobytes(), 4))


def extension_map(
    n_old: int,
    n_vocab_old: int,
    n_vocab_new: int,
    merges: Iterable[tuple[int, int]],
    special_old: Mapping[str, int],
    special_new: Mapping[str, int],
) -> IdMap:
    """Return the map to a tokenizer that extends another; see `SequenceTokenizer.id_map`.

    n_old: number of symbols and merges of the old one.
    merges: the additional merges, which make the ids from n_old on.
    """
    from fastbpe.vocabularies.id_map import NONE, IdMap  # here: few programs need it

    new_to_old = [*range(n_old), *[NONE] * (n_vocab_new - n_old)]
    for name, token_id in special_new.items():
        new_to_old[token_id] = special_old.get(name, NONE)
    init_from: dict[int, tuple[int, ...]] = {}
    for token_id, pair in enumerate(merges, n_old):
        left, right = (init_from.get(part, (part,)) for part in pair)
        init_from[token_id] = (left + right)[:_MAX_STARTS]
    return IdMap(n_vocab_old, new_to_old, init_from)
