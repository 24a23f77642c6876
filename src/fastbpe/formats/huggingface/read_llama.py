"""A tokenizer.json of the Llama kind: code points, U+2581 for spaces, byte fallback, merges ordered by score.

Such files are made from sentencepiece models. Their merges list every pair of pieces that makes a piece, the best
piece first. If scores cannot express the merges, the model keeps the merges. Other known differences from
sentencepiece become the model's `conventions`. Files with unknown differences are refused.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Collection, Mapping
from functools import cache
from itertools import chain
from typing import Any

from fastbpe.formats import merges_as_scores
from fastbpe.formats.huggingface import _vocab_json, llama_spaces, llama_symbols, step_parts, templates
from fastbpe.formats.huggingface.byte_vocabulary import (
    BYTE_NAMES,
    Vocabulary,
    check_vocabulary,
    read_added_tokens,
    read_merges,
    texts_by_id,
)
from fastbpe.formats.huggingface.llama_spaces import PREPEND, Spaces
from fastbpe.formats.huggingface.named_tokens import NamedTokens
from fastbpe.formats.huggingface.read import check_model, read_model
from fastbpe.formats.huggingface.step_json import ESCAPE, STRIP, UNESCAPE, llama_decoder
from fastbpe.formats.huggingface.step_parts import Part
from fastbpe.formats.sentencepiece import specs
from fastbpe.model import (
    METASPACE,
    AddedToken,
    Buffer,
    CodePointModel,
    Conventions,
    PieceType,
    pack_merges,
    pack_pieces,
)

_SCHEMES = {"always": "always", "first": "first", "never": ""}
_SHORT = 100  # characters of a name; added tokens are shorter


def parse(
    data: Buffer,
    where: str,
    *,
    named: NamedTokens | None = None,
    entries: _vocab_json.Entries | None = None,
) -> CodePointModel:
    """Read the model in a file's bytes. Arguments, except special_tokens, and errors are as for `read.parse`."""
    return read_model(data, where, named, _model, entries)


def _model(top: Part, named: NamedTokens | None, entries: _vocab_json.Entries | None) -> CodePointModel | None:
    """Create the model of a parsed file, as `read._model`."""
    model = top.needed("model")
    check_model(model)
    if templates.trims(top):
        top.fail("trimmed offsets are not supported where spaces are U+2581", "post_processor")
    symbols = None
    if model.get("ignore_merges", bool, False):
        symbols = llama_symbols.read(top.value.get("pre_tokenizer"))
        if symbols is None:
            model.fail("not supported where spaces are U+2581; it must be false", "ignore_merges")
    vocabulary = check_vocabulary(model) if entries is None else entries
    added = read_added_tokens(top, vocabulary, named)
    laid_out = _lay_out(model, vocabulary) if isinstance(vocabulary, dict) else vocabulary.pieces()
    if laid_out is None:
        return None
    piece_bytes, piece_ends, merges = laid_out
    spaces, conventions = _conventions(top, any(token.normalized for token in added), symbols is not None)
    # Metaspace puts a U+2581 before a text after the search, so merging may make a token that was not found.
    in_all_text = conventions.escapes and not conventions.prefix and spaces == Spaces(dummy=False)
    types = _types(model, vocabulary, added, merges, in_all_text=in_all_text)
    for token in added:
        if conventions.escapes and token.normalized and (token.lstrip or token.rstrip):
            top.fail(
                f"{token.content!r:.60} is normalized and strips white space, which cannot be combined, because "
                "spaces have become U+2581 by then",
                "added_tokens",
            )
    _refuse_stand_ins(model, types, piece_bytes, merges)
    step_parts.warn_of_settings(top)
    if symbols is not None:
        _find_symbols(top, types, symbols, vocabulary, added, laid_out, conventions.fuses)
    if METASPACE not in vocabulary:
        model.fail(f"{METASPACE!r}, which stands for a space, is not a token", "vocab")
    if PieceType.BYTE in types:  # no character is unknown, so `fuses` changes nothing; a .model stores only True
        conventions = conventions._replace(fuses=True)
    new_bytes, new_ends = pack_pieces(token.content.encode() for token in added if token.id >= len(vocabulary))
    n_bytes = len(piece_bytes)
    piece_bytes += new_bytes
    piece_ends += array("I", [n_bytes + end for end in memoryview(new_ends).cast("I")]).tobytes()
    scores, are_enough = merges_as_scores.judge(
        piece_bytes,
        piece_ends,
        bytes(types),
        memoryview(merges).cast("I"),
        conventions.splits,
        int.from_bytes(os.urandom(8), "little"),
    )
    if not (are_enough or merges):
        model.fail("there are no merges, so no input can produce a token of several characters", "merges")
    ids = {token.content: token.id for token in added}
    around = templates.read(top)
    return CodePointModel(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=scores,
        merges=b"" if are_enough else merges,
        types=bytes(types),
        trainer=specs.make(
            specs.TRAINER,
            {
                "model_type": "bpe",
                "vocab_size": len(types),
                "byte_fallback": PieceType.BYTE in types,
                **({"treat_whitespace_as_suffix": True} if spaces.suffix else {}),
                **_meta(model, types, lambda name: ids.get(name, vocabulary.get(name, -1))),
            },
        ),
        normalizer=specs.make(
            specs.NORMALIZER,
            {
                "name": "identity",
                "add_dummy_prefix": spaces.dummy,
                "remove_extra_whitespaces": spaces.trims,
            },
        ),
        added_tokens=added,
        template=templates.split(around.single),
        pair_template=around.pair,
        conventions=conventions,
    )


def _lay_out(model: Part, vocabulary: Mapping[str, int]) -> tuple[bytes, bytes, bytes]:
    """Return (piece_bytes, piece_ends, merges). The slow counterpart of `Entries.pieces`."""
    if "" in vocabulary:
        model.fail("an empty token is not supported where tokens are text", "vocab")
    if not vocabulary:
        model.fail("it has no tokens", "vocab")
    if max(vocabulary.values()) >= len(vocabulary):  # ids are distinct, so a lower id is missing
        gap = min({*range(len(vocabulary))} - {*vocabulary.values()})
        model.fail(f"no token has the id {gap}, though greater ids are used; renumber the vocabulary", "vocab")
    return *pack_pieces(map(str.encode, texts_by_id(vocabulary))), pack_merges(read_merges(model, vocabulary))


# Normalizer, pre-tokenizer, decoder


def _conventions(top: Part, finds_normalized: bool, symbols: bool) -> tuple[Spaces, Conventions]:
    """Return (sentencepiece's options for white space, other differences from sentencepiece).

    Args:
        finds_normalized: normalized text is searched for some added token.
        symbols: the pre-tokenizer was read by `llama_symbols`.
    """
    steps = step_parts.normalizers(top.part("normalizer"))
    metaspace = None if symbols else _metaspace(top.part("pre_tokenizer"))
    spaces = llama_spaces.read(steps)
    escapes = [[ESCAPE], []] if metaspace else [[ESCAPE]]  # a Metaspace also writes spaces as U+2581
    if spaces is None and [step for step in steps if step != PREPEND] not in escapes:
        top.fail(
            "it is not byte-level, since it has no ByteLevel pre-tokenizer, and not of the Llama kind, which has "
            "the normalizers Prepend and Replace: spaces must become U+2581, and nothing else may change",
            "normalizer",
        )
    if spaces is None and steps:
        top.fail("Prepend must come together with one Replace, of spaces by U+2581", "normalizer")
    spaces = spaces or Spaces(dummy=False)
    prefix, is_split = metaspace or ("", False)
    if (spaces.trims or spaces.suffix) and (metaspace or finds_normalized):
        top.fail("regexes for spaces cannot be combined with Metaspace or normalized added tokens", "normalizer")
    if spaces.dummy and prefix and finds_normalized:
        top.fail('with Prepend and normalized added tokens it must be "never"', "pre_tokenizer.prepend_scheme")
    decoder, strips = _decoder(top.part("decoder"), top)
    return spaces, Conventions(
        prefix="" if spaces.dummy else prefix,
        escapes=ESCAPE in steps,
        splits=is_split,
        fuses=bool(top.value["model"].get("fuse_unk")),
        decoder=decoder,
        strips=strips,
        symbols=symbols,
    )


def _find_symbols(
    top: Part,
    types: bytearray,
    symbols: list[str],
    vocabulary: Vocabulary,
    added: list[AddedToken],
    laid_out: tuple[bytes, bytes, bytes],
    fuses: bool,
) -> None:
    """Set the types of user-defined pieces. Refuse a pre-tokenizer other than `llama_symbols` writes for them."""
    for symbol in symbols:
        token_id = vocabulary.get(symbol, -1)
        if token_id >= 0 and types[token_id] == PieceType.NORMAL:
            types[token_id] = PieceType.USER_DEFINED
    piece_bytes, piece_ends, merges = laid_out
    pieces = texts_of(piece_bytes, piece_ends)
    expected, _ = llama_symbols.pre_tokenizer(
        pieces, bytes(types), merges, added={token.id for token in added}, fuses=fuses
    )
    if expected != top.value["pre_tokenizer"]:
        top.fail(
            "with ignore_merges and spaces that are U+2581, only the pre-tokenizer that fastbpe writes is "
            "supported: it finds tokens that no merge makes, and cuts tokens that must not be found whole",
            "pre_tokenizer",
        )


def texts_of(piece_bytes: bytes, piece_ends: bytes) -> list[str]:
    """Return the texts of concatenated pieces."""
    ends = array("I", piece_ends)
    return [piece_bytes[start:end].decode() for start, end in zip(chain((0,), ends), ends, strict=False)]


def _metaspace(part: Part | None) -> tuple[str, bool] | None:
    """Return (prefix as in Conventions, whether pieces end before each U+2581); None if it changes nothing."""
    if part is None or (part.value.get("type") == "Split" and _splits_at_spaces(part)):
        return None  # the normalizer leaves no space to split at
    if part.value.get("type") != "Metaspace":
        part.fail(f"{part.value.get('type')!r:.60} is not supported where spaces are U+2581; Metaspace is")
    scheme = _scheme(part)
    return _SCHEMES[scheme], part.member("split", bool, True)


def _scheme(part: Part) -> str:
    """Return the prepend_scheme of a Metaspace. Old files have add_prefix_space, which must not contradict it."""
    if part.get("replacement", str) != METASPACE:
        part.fail(f"{part.value['replacement']!r:.60} is not supported; it must be U+2581", "replacement")
    scheme: str = part.member("prepend_scheme", str, "always")
    if scheme not in _SCHEMES:
        part.fail(f"{scheme!r:.60} is not one of {', '.join(_SCHEMES)}", "prepend_scheme")
    if not part.member("add_prefix_space", bool, True) and scheme != "never":
        part.fail(f"false contradicts the prepend_scheme {scheme!r}", "add_prefix_space")
    return scheme


def _splits_at_spaces(part: Part) -> bool:
    return part.pattern() in ({"String": " "}, {"Regex": " "}) and not part.get("invert", bool, False)


def _decoder(part: Part | None, top: Part) -> tuple[str, bool]:
    """Return (kind of decoder as in Conventions, whether it drops a space at the start).

    A Replace may also have U+2581 as a regex, which matches the same.
    """
    if part is None:
        top.fail("there is no decoder: tokenizers would put a space between all tokens", "decoder")
    steps = [*part.parts("decoders")] if part.value.get("type") == "Sequence" else [part]
    if len(steps) == 1 and steps[0].value.get("type") == "Metaspace":
        return "Metaspace", _scheme(steps[0]) != "never"
    values = [step.value for step in steps]
    if values[:1] == [{**UNESCAPE, "pattern": {"Regex": METASPACE}}]:
        values[0] = UNESCAPE
    if values not in (llama_decoder()["decoders"], llama_decoder(STRIP)["decoders"]):
        part.fail(
            "not supported; it must be Metaspace, or Replace, ByteFallback and Fuse, with or without a Strip of "
            "one space"
        )
    return "ByteFallback", STRIP in values


# Types of pieces


def _types(
    model: Part, vocabulary: Vocabulary, added: list[AddedToken], merges: bytes, *, in_all_text: bool
) -> bytearray:
    """Return the PieceType of each id.

    in_all_text: normalized added tokens are found anywhere in a text, so a .model can have them as user-defined.
    """
    n_added = sum(token.id >= len(vocabulary) for token in added)
    types = bytearray([PieceType.NORMAL]) * (len(vocabulary) + n_added)
    byte_ids = [vocabulary.get(name, -1) for name in BYTE_NAMES] if model.get("byte_fallback", bool, False) else []
    named = [i for i in byte_ids if i >= 0]
    # A byte of ASCII needs no byte token if its character is a token.
    missing = [byte for byte, i in enumerate(byte_ids) if i < 0 and not (byte < 128 and chr(byte) in vocabulary)]
    if named and missing:
        name = BYTE_NAMES[missing[0]]
        model.fail(f"with byte_fallback, all 256 bytes or no byte must be tokens: {name!r} is missing", "vocab")
    for i in named:
        types[i] = PieceType.BYTE
    unknown = _unknown(model, vocabulary)
    if unknown >= 0:
        types[unknown] = PieceType.UNKNOWN
    elif not named:
        model.fail("it is missing: without it and byte_fallback, characters would be lost", "unk_token")
    # Where tokenizers skips "ab", which is no single word or not allowed there, it does not find a "b" in it.
    may_skip = any(token.normalized and (token.special or token.single_word) for token in added)
    made = cache(lambda: frozenset(memoryview(merges).cast("I")[2::3].tolist()))  # few files need it
    for token in added:
        # U+2581 stays a normal piece even if no text keeps one, because the core finds spaces by it.
        never_merges = in_all_text and not may_skip and token.normalized and token.content != METASPACE
        if types[token.id] == PieceType.NORMAL and (never_merges or not _is_ordinary(token, vocabulary, made)):
            types[token.id] = PieceType.CONTROL if token.special else PieceType.USER_DEFINED
    for name in (model.get("unk_token", str, ""), *(BYTE_NAMES if named else ())):
        if _is_made(name, vocabulary, made):
            model.fail(f"a merge makes {name!r:.60}, which stands for text without a token", "merges")
    return types


def _refuse_stand_ins(model: Part, types: bytearray, piece_bytes: Buffer, merges: bytes) -> None:
    """Refuse merges of the unknown token or of byte tokens: tokenizers merges them, the core never does."""
    pieces, unknown = bytes(piece_bytes), model.get("unk_token", str, "").encode()
    # Such a merge makes a token that begins or ends with the name. Nearly all vocabularies have no such merge.
    n_bytes = types.count(PieceType.BYTE)
    if not (unknown and pieces.count(unknown) > 1) and not (n_bytes and pieces.count(b"<0x") > n_bytes):
        return
    stand_ins = {i for i, kind in enumerate(types) if kind in (PieceType.UNKNOWN, PieceType.BYTE)}
    ids = memoryview(merges).cast("I").tolist()
    for n, merge in enumerate(zip(ids[::3], ids[1::3], strict=True)):
        if not stand_ins.isdisjoint(merge):
            model.fail(
                f"merge {n} joins a token that stands for text without a token; this is not supported", "merges"
            )


def _unknown(model: Part, vocabulary: Vocabulary) -> int:
    """Return the id for unknown characters; -1 without an unknown token."""
    name = model.get("unk_token", str, "")
    if not name:
        return -1
    if name not in vocabulary:
        model.fail(f"{name!r:.60} is not a token", "unk_token")
    if len(name) == 1:
        model.fail(f"{name!r} is not supported: it is a character, which a text may contain", "unk_token")
    return vocabulary.get(name, -1)


def _is_ordinary(token: AddedToken, vocabulary: Vocabulary, made: Callable[[], Collection[int]]) -> bool:
    """Tell whether merging can also make an added token. made: as for `_is_made`."""
    if token.id >= len(vocabulary):
        return False
    return len(token.content) == 1 or _is_made(token.content, vocabulary, made)


def _is_made(name: str, vocabulary: Vocabulary, made: Callable[[], Collection[int]]) -> bool:
    """Tell whether a merge makes a token. made: function that returns the ids that merges make."""
    # A quick test for nearly all names, which are short: it takes quadratic time.
    cuts = range(1, len(name))
    if len(name) < _SHORT and not any(name[:cut] in vocabulary and name[cut:] in vocabulary for cut in cuts):
        return False
    return vocabulary.get(name, -1) in made()


def _meta(model: Part, types: bytearray, find: Callable[[str], int]) -> dict[str, Any]:
    """Return the ids of `<unk>`, `<s>`, `</s>` and `<pad>`, as options of sentencepiece's trainer; -1: missing."""
    names = {"unk": "<unk>", "bos": "<s>", "eos": "</s>", "pad": "<pad>"}
    found: dict[str, Any] = {f"{key}_id": find(name) for key, name in names.items()}
    if PieceType.UNKNOWN in types:
        found["unk_id"] = types.index(PieceType.UNKNOWN)
        found["unk_piece"] = model.value["unk_token"]
    return found
