"""Any tokenizer.json with a BPE model: base symbols are the characters of the file.

tokenizers runs every file in this way. `read` and `read_llama` recognise the two kinds that the core runs faster,
as bytes, and as code points with U+2581 for spaces; this module reads all others. It refuses the files that
tokenizers refuses, and a few more (docs/formats.md).
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TypeAlias

from fastbpe.formats.huggingface import _vocab_json, step_parts, templates
from fastbpe.formats.huggingface.byte_vocabulary import (
    Vocabulary,
    check_vocabulary,
    read_added_tokens,
    read_merges,
)
from fastbpe.formats.huggingface.decoder_json import flattened
from fastbpe.formats.huggingface.named_tokens import NamedTokens
from fastbpe.formats.huggingface.read import check_bpe, kept_parts_of, read_model, with_special
from fastbpe.formats.huggingface.step_parts import Part
from fastbpe.model import AddedToken, Buffer, Model, Spelling, pack_merges

_LaidOut: TypeAlias = tuple[bytes, bytes, bytes]  # token_bytes, token_ends, merges


def parse(
    data: Buffer,
    where: str,
    *,
    special_tokens: Mapping[str, int] | None = None,
    named: NamedTokens | None = None,
    entries: _vocab_json.Entries | None = None,
) -> Model:
    """Read the model in a file's bytes. Accepts the arguments of `read.parse`.

    Raises:
        FormatError: a damaged file, or one that tokenizers or this module refuses.
        WholeFileNeeded: as `read.parse`.
    """
    return with_special(read_model(data, where, named, _model, entries), special_tokens)


def _model(top: Part, named: NamedTokens | None, entries: _vocab_json.Entries | None) -> Model | None:
    """Create the model of a parsed file, as `read._model`."""
    model = top.needed("model")
    check_bpe(model)
    prefix = model.get("continuing_subword_prefix", str, "")
    vocabulary = check_vocabulary(model) if entries is None else entries
    added = read_added_tokens(top, vocabulary, named)
    if not isinstance(vocabulary, dict):
        laid_out = None if prefix else vocabulary.pieces()
    else:
        laid_out = _lay_out(model, vocabulary, prefix)
    if laid_out is None:
        return None
    token_bytes, token_ends, merges = laid_out
    special, others = special_and_others(added, array("I", token_ends))
    step_parts.warn_of_settings(top)
    flattened(top.value.get("decoder"), f"{top.where}: decoder")  # raises if tokenizers refuses it
    around = templates.read(top)
    unknown = model.get("unk_token", str, "")
    return Model(
        tokens=None,
        tables={"token_bytes": token_bytes, "token_ends": token_ends},
        pattern=None,
        special_tokens=special,
        merges=merges,
        merges_rule="merges",
        whole_piece_first=model.get("ignore_merges", bool, False),
        pre_tokenizers=step_parts.any_pre_tokenizers(top.part("pre_tokenizer")),
        normalizers=step_parts.normalizers(top.part("normalizer")),
        added_tokens=others,
        template=templates.split(around.single),
        pair_template=around.pair,
        roles={"unk": unknown} if vocabulary.get(unknown, -1) >= 0 else {},
        huggingface=kept_parts_of(top, vocabulary),
        spelling=Spelling(
            prefix=prefix,
            suffix=model.get("end_of_word_suffix", str, ""),
            unknown_token=None if model.value.get("unk_token") is None else unknown,
            unknown=vocabulary.get(unknown, -1),
            fuses=model.get("fuse_unk", bool, False),
            byte_ids=_byte_ids(model, vocabulary),
        ),
    )


def _byte_ids(model: Part, vocabulary: Vocabulary) -> Sequence[int]:
    """Return the ids of the byte tokens, -1 for a byte without one; () without byte fallback or tokens."""
    if not model.get("byte_fallback", bool, False):
        return ()
    found = tuple(vocabulary.get(f"<0x{byte:02X}>", -1) for byte in range(256))
    return found if max(found) >= 0 else ()


def _lay_out(model: Part, vocabulary: Mapping[str, int], prefix: str) -> _LaidOut:
    tokens: list[bytes] = [b""] * (max(vocabulary.values(), default=-1) + 1)
    for token, token_id in vocabulary.items():
        tokens[token_id] = token.encode()
    ends = array("I", accumulate(map(len, tokens)))
    return b"".join(tokens), ends.tobytes(), pack_merges(read_merges(model, vocabulary, prefix.encode()))


def special_and_others(added: Sequence[AddedToken], ends: array[int]) -> tuple[dict[str, int], list[AddedToken]]:
    """Return (special tokens by name, added tokens that need more than a name and an id)."""
    special, others = {}, []
    for token in added:
        is_ordinary = token.id < len(ends) and ends[token.id] > (ends[token.id - 1] if token.id else 0)
        if token.special:
            special[token.content] = token.id
        if not token.special or is_ordinary or any(token[3:]):
            others.append(token)
    return special, others
