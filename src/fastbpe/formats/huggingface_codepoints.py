"""A tokenizer.json of the Llama 2 kind: code points, U+2581 for spaces, byte fallback, merges by a piece's score.

Such files are made of sentencepiece's, and say the same in other words: a pair of pieces for each way that a piece
can be made, best piece first. Where scores cannot say what the merges say, the model keeps them; what else
sentencepiece could not say is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NoReturn

from fastbpe.codepoint_model import CodePointModel, PieceType, pack_pieces
from fastbpe.errors import FormatError
from fastbpe.formats import huggingface_parts as parts
from fastbpe.formats import sentencepiece_specs as specs
from fastbpe.formats.huggingface import check_model, read_json
from fastbpe.formats.huggingface_dump import write_document
from fastbpe.formats.huggingface_parts import Part
from fastbpe.formats.huggingface_vocabulary import check_vocabulary, read_added_tokens, read_merges
from fastbpe.model import BYTES_PER_MERGE, AddedToken, Buffer, pack_merges

_MARK = "\u2581"
_MERGED = (PieceType.NORMAL, PieceType.USER_DEFINED)
_BYTES = {f"<0x{byte:02X}>" for byte in range(256)}
_ESCAPE = {"type": "Replace", "pattern": {"String": " "}, "content": _MARK}
_PREPEND = {"type": "Prepend", "prepend": _MARK}
_UNESCAPE = {"type": "Replace", "pattern": {"String": _MARK}, "content": " "}
_STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


def parse(data: Buffer, where: str) -> CodePointModel:
    """The model in a file's bytes. where: what errors call the file."""
    top = Part(read_json(bytes(data), where), where, "")
    model = top.part("model")
    if model is None:
        top.fail("it has no 'model'")
    check_model(model)
    dummy_prefix = _reads_spaces(top)
    _check_decoder(top.part("decoder"), dummy_prefix)
    vocabulary = check_vocabulary(model)
    added = read_added_tokens(top, vocabulary)
    ids = vocabulary | {token.content: token.id for token in added}
    if sorted(ids.values()) != list(range(len(ids))):
        gap = next(i for i, token_id in enumerate(sorted(ids.values())) if i != token_id)
        model.fail(f"no token has the id {gap}, though greater ids are taken; renumber the vocabulary", "vocab")
    pieces = sorted(ids, key=ids.__getitem__)
    types = _types(model, pieces, added)
    try:
        piece_bytes, piece_ends = pack_pieces(piece.encode() for piece in pieces)
    except UnicodeEncodeError as error:
        model.fail(f"{error.object!r:.60} holds a surrogate, which no UTF-8 text can hold", "vocab")
    merges = read_merges(model, vocabulary)
    scores, say_it = _scores(merges, pieces, types)
    return CodePointModel(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=scores,
        merges=b"" if say_it else pack_merges(merges),
        types=bytes(types),
        trainer=specs.make(
            specs.TRAINER,
            {
                "model_type": "bpe",
                "vocab_size": len(pieces),
                "byte_fallback": PieceType.BYTE in types,
                **_meta(pieces, types),
            },
        ),
        normalizer=specs.make(
            specs.NORMALIZER,
            {"name": "identity", "add_dummy_prefix": dummy_prefix, "remove_extra_whitespaces": False},
        ),
        added_tokens=added,
        template=parts.template(top.part("post_processor")),
    )


def _reads_spaces(top: Part) -> bool:
    """Whether U+2581 is put before a text; spaces must become U+2581 and nothing else change."""
    steps = parts.normalizers(top.part("normalizer"))
    if steps not in ([_PREPEND, _ESCAPE], [_ESCAPE, _PREPEND], [_ESCAPE]):
        top.fail(
            "neither byte-level, for want of a ByteLevel pre-tokenizer, nor of the Llama kind, whose normalizers "
            "are Prepend and Replace: spaces must become U+2581, and nothing else may change",
            "normalizer",
        )
    splits = top.value.get("pre_tokenizer")
    by_space = {"type": "Split", "pattern": {"String": " "}}  # there is none by then
    if splits is not None and not (isinstance(splits, dict) and splits.items() >= by_space.items()):
        top.fail("not supported where spaces are U+2581; it must be null", "pre_tokenizer")
    return _PREPEND in steps


def _check_decoder(part: Part | None, dummy_prefix: bool) -> None:
    steps = (
        []
        if part is None
        else part.value.get("decoders")
        if part.value.get("type") == "Sequence"
        else [part.value]
    )
    needed = [_UNESCAPE, {"type": "ByteFallback"}, {"type": "Fuse"}, *([_STRIP] if dummy_prefix else [])]
    if steps and steps != needed and part is not None:
        part.fail("not the one that undoes U+2581 and byte fallback, which alone is supported")


def _types(model: Part, pieces: list[str], added: list[AddedToken]) -> list[PieceType]:
    special = {token.content for token in added if token.special}
    others = {token.content for token in added} - special
    unknown = model.get("unk_token", str, "")
    falls_back = model.get("byte_fallback", bool, False) and {*pieces} >= _BYTES
    if unknown and unknown not in pieces:
        model.fail(f"{unknown!r:.60} is no token", "unk_token")
    if not falls_back and not (unknown and model.get("fuse_unk", bool, False)):
        model.fail(
            "without byte_fallback, unk_token and fuse_unk must be given: unknown characters in a row are one"
        )

    def type_of(piece: str) -> PieceType:
        if piece == unknown:
            return PieceType.UNKNOWN
        if falls_back and piece in _BYTES:
            return PieceType.BYTE
        if piece in special:
            return PieceType.CONTROL
        return PieceType.USER_DEFINED if piece in others else PieceType.NORMAL

    return [type_of(piece) for piece in pieces]


def _meta(pieces: list[str], types: list[PieceType]) -> dict[str, Any]:
    """Where the pieces are that sentencepiece knows by their purpose; -1: there is none."""
    names = {"unk": "<unk>", "bos": "<s>", "eos": "</s>", "pad": "<pad>"}
    found: dict[str, Any] = {
        f"{key}_id": pieces.index(name) if name in pieces else -1 for key, name in names.items()
    }
    if PieceType.UNKNOWN in types:
        found["unk_id"] = types.index(PieceType.UNKNOWN)
        found["unk_piece"] = pieces[found["unk_id"]]
    return found


def _scores(merges: list[tuple[int, int, int]], pieces: list[str], types: list[PieceType]) -> tuple[bytes, bool]:
    """Minus a piece's place among those that are made, then all others; and whether that says what merges say."""
    rank: dict[int, int] = {}
    for _, _, merged in merges:
        rank.setdefault(merged, len(rank))
    ids = {piece: i for i, piece in enumerate(pieces) if types[i] in _MERGED}
    in_order = all(rank[one[2]] <= rank[other[2]] for one, other in pairwise(merges))
    says_it = in_order and {*merges} == {*splits(ids)}
    for i in ids.values():
        rank.setdefault(i, len(rank))
    return struct.pack(f"<{len(pieces)}f", *(-float(rank.get(i, 0)) for i in range(len(pieces)))), says_it


def splits(ids: Mapping[str, int]) -> Iterator[tuple[int, int, int]]:
    """(left id, right id, merged id) of each way to make a piece of two."""
    for piece, merged in ids.items():
        ways = (
            (ids[piece[:cut]], ids[piece[cut:]], merged)
            for cut in range(1, len(piece))
            if piece[:cut] in ids and piece[cut:] in ids
        )
        yield from sorted(ways)


# Writing


def dump(model: CodePointModel) -> bytes:
    """The file's bytes; FormatError for what it cannot hold."""
    _check_writable(model)
    pieces = [piece.decode() for piece in model.pieces]
    merges = _merges(model, pieces)
    unknown = model.types.find(PieceType.UNKNOWN)
    added = [*model.added_tokens] or [
        AddedToken(content=piece, id=i, special=True)
        for i, piece in enumerate(pieces)
        if model.types[i] in (PieceType.CONTROL, PieceType.UNKNOWN)
    ]
    prefix = model.normalizer["add_dummy_prefix"]
    steps = [_PREPEND, _ESCAPE] if prefix else [_ESCAPE]
    return write_document(
        added_tokens=added,
        normalizer={"type": "Sequence", "normalizers": steps},
        pre_tokenizer=None,
        post_processor=_template(model, pieces),
        decoder={
            "type": "Sequence",
            "decoders": [_UNESCAPE, {"type": "ByteFallback"}, {"type": "Fuse"}, *([_STRIP] if prefix else [])],
        },
        unk_token=pieces[unknown] if unknown >= 0 else None,
        fuse_unk=True,
        byte_fallback=bool(model.trainer["byte_fallback"]),
        vocab={piece: i for i, piece in enumerate(pieces)},
        merges=[f"{pieces[left]} {pieces[right]}" for left, right, _ in merges],
    )


def _merges(model: CodePointModel, pieces: list[str]) -> list[tuple[int, int, int]]:
    if model.merges:
        ids = memoryview(model.merges).cast("B").cast("I").tolist()
        return [(ids[i], ids[i + 1], ids[i + 2]) for i in range(0, len(model.merges) // BYTES_PER_MERGE * 3, 3)]
    scores = struct.unpack(f"<{len(pieces)}f", model.scores)
    ids_of = {piece: i for i, piece in enumerate(pieces) if model.types[i] in _MERGED}
    merges = sorted(splits(ids_of), key=lambda merge: (-scores[merge[2]], merge[:2]))
    last = scores[merges[-1][2]] if merges else 0.0
    for (_, _, one), (_, _, other) in pairwise(merges):
        # Of pieces with one score that further left is merged first, which a list cannot say.
        if one != other and scores[one] == scores[other] and not (scores[one] == last and _is_run(pieces[one])):
            _cannot(f"the pieces {pieces[one]!r} and {pieces[other]!r}, which have one score,")
    tied = [merge for merge in merges if scores[merge[2]] == last]
    tied.sort(key=lambda merge: -len(pieces[merge[0]]))  # what is further left has grown longer
    _check_runs(tied, pieces)
    return merges[: len(merges) - len(tied)] + tied


def _is_run(piece: str) -> bool:
    return piece == piece[0] * len(piece)


def _check_runs(merges: list[tuple[int, int, int]], pieces: list[str]) -> None:
    """Refuse runs of one character with one score if the list leads elsewhere than "further left first" does.

    They come last, so nothing but their number counts. Llama's runs of spaces are such.
    """
    if len({merged for _, _, merged in merges}) < 2:
        return
    if len({character for _, _, merged in merges for character in pieces[merged]}) > 1:
        _cannot("pieces that have one score")
    order = {(len(pieces[left]), len(pieces[right])): i for i, (left, right, _) in enumerate(merges)}
    longest = max(len(pieces[merged]) for _, _, merged in merges)
    for n in range(2, 4 * longest):
        if _merged(n, order) != _merged(n, dict.fromkeys(order, 0)):
            _cannot(f"runs of {pieces[merges[0][2]][0]!r} that have one score")


def _merged(n: int, order: Mapping[tuple[int, int], int]) -> list[int]:
    """The lengths that n characters are merged to."""
    runs = [1] * n
    while True:
        found = [(order[pair], i) for i, pair in enumerate(pairwise(runs)) if pair in order]
        if not found:
            return runs
        at = min(found)[1]
        runs[at : at + 2] = [runs[at] + runs[at + 1]]


def _template(model: CodePointModel, pieces: list[str]) -> Any:
    before, behind = model.template
    if not before and not behind:
        return None

    def tokens(ids: Any) -> list[Any]:
        return [{"SpecialToken": {"id": pieces[i], "type_id": 0}} for i in ids]

    single = [*tokens(before), {"Sequence": {"id": "A", "type_id": 0}}, *tokens(behind)]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            pieces[i]: {"id": pieces[i], "ids": [i], "tokens": [pieces[i]]} for i in (*before, *behind)
        },
    }


def _check_writable(model: CodePointModel) -> None:
    spec = model.normalizer
    if spec["precompiled_charsmap"]:
        _cannot(f"the rules of normalization {spec['name']!r}")
    if spec["remove_extra_whitespaces"]:
        _cannot("remove_extra_whitespaces")
    if not spec["escape_whitespaces"]:
        _cannot("spaces that do not become U+2581")
    if model.trainer["treat_whitespace_as_suffix"]:
        _cannot("treat_whitespace_as_suffix")
    if PieceType.UNUSED in model.types:
        _cannot("pieces of type UNUSED")
    if PieceType.USER_DEFINED in model.types and not model.added_tokens:
        _cannot("pieces of type USER_DEFINED")
    if b" " in model.piece_bytes and any(b" " in piece for piece in model.pieces):
        _cannot("pieces with spaces")


def _cannot(what: str) -> NoReturn:
    raise FormatError(f"a tokenizer.json cannot hold {what} as sentencepiece means it; export it as sentencepiece")
