"""Convert a tokenizer.json with a Unigram model to a sentencepiece model.

Two kinds of files are supported: files that `write_unigram` wrote, and files of the converters for T5, XLM-R and
others (Precompiled, trimmed white space, Metaspace), if their rules turn all white space into spaces.
"""

from __future__ import annotations

import base64
import struct
from array import array
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NoReturn

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.errors import FormatError
from fastbpe.formats.charsmap import Charsmap
from fastbpe.formats.huggingface import decoder_json, llama_spaces, write_llama, write_unigram
from fastbpe.formats.huggingface.llama_spaces import Spaces
from fastbpe.formats.huggingface.step_json import metaspace, replace
from fastbpe.formats.huggingface.write import all_added_tokens
from fastbpe.formats.sentencepiece import model_file, specs
from fastbpe.model import METASPACE, AddedToken, CodePointModel, Conventions, Model, PieceType, pack_pieces

_STRIP = {"type": "Strip", "strip_left": False, "strip_right": True}
_METASPACE = metaspace("always")
_WORDS = {"type": "WhitespaceSplit"}
# Steps of converters, after Precompiled, that trim white space and put a U+2581 before each word.
_CONVERTERS: Sequence[tuple[list[dict[str, Any]], list[dict[str, Any]]]] = (
    ([_STRIP, replace("Regex", " {2,}", METASPACE)], [_METASPACE]),
    ([_STRIP, replace("Regex", " {2,}", " ")], [_METASPACE]),
    ([replace("Regex", " {2,}", " ")], [_WORDS, _METASPACE]),
    ([], [_WORDS, _METASPACE]),
)
# White space that tokenizers trims, and U+2581 itself: the rules "nmt_nfkc" turn them into spaces.
_BLANK = "\t\n\f\r\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\u2581"
_NAMES = {"bos": "<s>", "eos": "</s>", "pad": "<pad>"}


class _Text(NamedTuple):
    """The steps of a file, as options of sentencepiece.

    cuts_words: text is cut before each U+2581, so no token crosses it.
    """

    charsmap: bytes
    spaces: Spaces
    cuts_words: bool


def convert(model: Model, tokens: Sequence[bytes]) -> CodePointModel:
    """Return the sentencepiece model of a tokenizer.json.

    Raises:
        FormatError: sentencepiece has no equivalent for some part; the message says for which.
    """
    spelling = model.spelling
    assert spelling is not None
    pieces, types = _pieces(model, tokens)
    scores = array("d", bytes(model.scores))
    _check_scores(scores, types, pieces)
    text = _text(model)
    if text.cuts_words:
        for i, piece in enumerate(pieces):
            if types[i] == PieceType.NORMAL and METASPACE in piece[1:]:
                types[i] = PieceType.UNUSED
    _check_decoder(model.huggingface.get("decoder"), text.spaces, PieceType.BYTE in types)
    piece_bytes, piece_ends = pack_pieces(piece.encode() for piece in pieces)
    all_scores = [*scores, *[0.0] * (len(pieces) - len(scores))]  # added tokens have no score in the file
    made = CodePointModel(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=_packed(all_scores),
        types=bytes(types),
        trainer=specs.make(specs.TRAINER, _trainer(model, pieces, types, text.spaces)),
        normalizer=specs.make(
            specs.NORMALIZER,
            {
                "name": "user_defined" if text.charsmap else "identity",
                "precompiled_charsmap": text.charsmap,
                "add_dummy_prefix": text.spaces.dummy,
                "remove_extra_whitespaces": text.spaces.trims,
            },
        ),
        added_tokens=[token for token in all_added_tokens(model) if types[token.id] == PieceType.UNKNOWN],
    )
    if not text.cuts_words:
        _check_own_steps(model, made, pieces[: len(tokens)])
    try:
        checked = model_file.parse(model_file.dump(made), "as a .model file")
    except FormatError as error:
        raise FormatError(f"{error}; export this tokenizer as native or huggingface") from None
    return checked._replace(template=model.template, pair_template=model.pair_template)


def _lost(what: str) -> NoReturn:
    raise FormatError(f"sentencepiece has no equivalent of {what}; export this tokenizer as native or huggingface")


def _pieces(model: Model, tokens: Sequence[bytes]) -> tuple[list[str], bytearray]:
    """Return the text and the PieceType of each id."""
    spelling = model.spelling
    assert spelling is not None
    pieces = [token.decode() for token in tokens]
    types = bytearray([PieceType.NORMAL]) * len(pieces)
    for i, score in enumerate(array("d", bytes(model.scores))):
        # As `write_unigram` writes it. The bonus of one byte is 0, which a normal piece may have, too.
        if score > 0 and score == write_unigram.bonus(pieces[i]):
            types[i] = PieceType.USER_DEFINED
    for i in spelling.byte_ids:
        if i >= 0:
            types[i] = PieceType.BYTE
    if spelling.unknown >= 0:
        types[spelling.unknown] = PieceType.UNKNOWN
    for token in all_added_tokens(model):
        _check_added(token)
        if token.id == len(pieces):
            pieces.append(token.content)
            types.append(PieceType.CONTROL)
        elif token.id > len(pieces) or pieces[token.id] != token.content:
            _lost(f"the added token {token.content!r}, whose id {token.id} leaves a gap or is another token's")
        elif types[token.id] != PieceType.UNKNOWN:
            types[token.id] = PieceType.CONTROL
    return pieces, types


def _check_added(token: AddedToken) -> None:
    if not token.special or token.normalized or token.lstrip or token.rstrip or token.single_word:
        _lost(f"the added token {token.content!r}, which has flags or is not special")


def _check_scores(scores: array[float], types: bytearray, pieces: Sequence[str]) -> None:
    """Refuse a model in which a piece that is not normal determines the score of unknown characters."""
    normal = [score for score, kind in zip(scores, types, strict=False) if kind == PieceType.NORMAL]
    lowest = min(normal, default=0.0)
    for i, score in enumerate(scores):
        if score < lowest or not normal:
            _lost(f"the score {score} of {pieces[i]!r}, which is below the scores of all normal pieces")


def _packed(scores: Sequence[float]) -> bytes:
    try:
        return struct.pack(f"={len(scores)}f", *scores)
    except OverflowError:
        _lost("a score that is too large for single precision")


def _text(model: Model) -> _Text:
    normalizers, splits = [*model.normalizers], [*model.pre_tokenizers]
    charsmap = b""
    if normalizers and normalizers[0]["type"] == "Precompiled":
        charsmap = base64.b64decode(normalizers.pop(0)["precompiled_charsmap"])
    if (normalizers, splits) in _CONVERTERS:
        rules = Charsmap(charsmap) if charsmap else None
        for character in _BLANK:
            if rules is None or rules.find(character) != " ":
                _lost(f"trimmed white space if the normalization rules do not turn {character!r} into a space")
        return _Text(charsmap, Spaces(dummy=True, trims=True), True)
    # True comes first: the only step without any option, ESCAPE, also begins the steps of add_dummy_prefix with
    # treat_whitespace_as_suffix. `_check_own_steps` compares the steps that follow.
    for flags in product((True, False), repeat=3):
        spaces = Spaces(*flags)
        described = llama_spaces.describe(spaces)
        if (spaces.dummy or not spaces.suffix) and described == normalizers[: len(described)]:
            return _Text(charsmap, spaces, False)
    steps = [step["type"] for step in (*normalizers, *splits)]
    _lost(f"the steps {', '.join(steps) or 'none'} of this tokenizer.json together")


def _check_own_steps(model: Model, made: CodePointModel, listed: Sequence[str]) -> None:
    """Refuse steps that differ from the steps written for the converted model."""
    normalizers, pre_tokenizer = write_unigram.steps(made, listed)
    steps = [] if pre_tokenizer is None else pre_tokenizer.get("pretokenizers", [pre_tokenizer])
    if (normalizers, steps) != ([*model.normalizers], [*model.pre_tokenizers]):
        kinds = [step["type"] for step in (*model.normalizers, *model.pre_tokenizers)]
        _lost(f"the steps {', '.join(kinds)} of this tokenizer.json together")


def _check_decoder(decoder: Mapping[str, Any] | None, spaces: Spaces, has_bytes: bool) -> None:
    """Raise FormatError if sentencepiece decodes in another way. Ignores clean_up_tokenization_spaces.

    has_bytes: some pieces are of type BYTE.
    """
    if decoder is not None and decoder.get("decoders", ())[1:] == decoder_json.clean_up_steps():
        decoder = decoder["decoders"][0]
    if decoder is not None and decoder.get("type") == "Metaspace":
        drops = decoder.get("prepend_scheme", "always") != "never"
        if has_bytes:
            _lost("a decoder that writes byte pieces by their names")
    else:
        known = [write_llama.decoder(Conventions(strips=strips)) for strips in (False, True)]
        if decoder not in known:
            _lost(f"the decoder {None if decoder is None else decoder.get('type')!r}")
        drops = decoder == known[True]
    if drops != (spaces.dummy or spaces.trims):
        _lost(f"the rule that decoding {'drops' if drops else 'keeps'} a space at the start")


def _trainer(model: Model, pieces: Sequence[str], types: bytearray, spaces: Spaces) -> dict[str, Any]:
    """Return the options of the trainer, with the ids and texts of special pieces."""
    made: dict[str, Any] = {
        "model_type": "unigram",
        "vocab_size": len(pieces),
        "byte_fallback": PieceType.BYTE in types,
    }
    if spaces.suffix:
        made["treat_whitespace_as_suffix"] = True
    ids = {piece: i for i, piece in enumerate(pieces)}
    unknown = types.find(PieceType.UNKNOWN)
    made["unk_id"] = unknown
    if unknown >= 0:
        made["unk_piece"] = pieces[unknown]
    for role, usual in _NAMES.items():
        name = model.roles.get(role, usual)
        found = ids.get(name, -1)
        made[f"{role}_id"] = found if found >= 0 and types[found] == PieceType.CONTROL else -1
        made[f"{role}_piece"] = name
    return made
