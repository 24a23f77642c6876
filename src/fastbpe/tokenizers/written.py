"""Engine for tokenizers with dropout, or whose normalizer or pre-tokenizer contains an object written in Python.

As in tokenizers, the normalizer is called once per stretch of text between added tokens, and the pre-tokenizer
once per text, with all these stretches. Auxiliary tokenizers with one token per byte find the added tokens, and
the model splits the resulting pieces into tokens.
"""

from __future__ import annotations

from itertools import groupby

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.formats.byte_level import BYTE_OF_CHARACTER
from fastbpe.huggingface.encoding import Encoding
from fastbpe.tokenizer.internals import find_words
from fastbpe.tokenizers import document
from fastbpe.tokenizers.base_model import Model
from fastbpe.tokenizers.components import WRITTEN, flat
from fastbpe.tokenizers.normalized_string import NormalizedString
from fastbpe.tokenizers.pieces import Piece
from fastbpe.tokenizers.pre_tokenized_string import PreTokenizedString, of_sections
from fastbpe.tokenizers.token import Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from fastbpe._utils.choices import Special
    from fastbpe.tokenizer.tokenizer import Tokenizer as Native

_CHARACTERS = sorted(BYTE_OF_CHARACTER)  # tokens of an auxiliary tokenizer, by id; the ids of added tokens follow
#: Pre-tokenizer and decoder of an auxiliary tokenizer: it spells bytes as characters, and splits nothing.
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}


def carrier_of_bytes(added_tokens: list[Any], normalizer: Any, pre_tokenizer: Any) -> Native:
    """Load a tokenizer with one token per byte and these parts of a tokenizer.json."""
    from fastbpe.tokenizer.loading import load  # here: it imports the readers of all formats

    described = {
        "version": "1.0",
        "added_tokens": added_tokens,
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": None,
        "decoder": _BYTE_LEVEL,
        "model": {"type": "BPE", "vocab": {token: i for i, token in enumerate(_CHARACTERS)}, "merges": []},
    }
    return load(document.to_bytes(described))


class _Section(NamedTuple):
    """Added token in a text, or a stretch of text without added tokens.

    start, end: its position, in characters.
    token: id and text of the added token; None: this is text between tokens.
    """

    start: int
    end: int
    token: tuple[int, str] | None


def _steps_of(described: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return [] if described[name] is None else flat(described[name])


def is_written(described: Mapping[str, Any]) -> bool:
    """Return True if a step of the normalizer or the pre-tokenizer is written in Python."""
    steps = [*_steps_of(described, "normalizer"), *_steps_of(described, "pre_tokenizer")]
    return any(step["type"] == WRITTEN for step in steps)


class WrittenEngine:
    """Encoder of single texts. described: JSON of normalizer, pre-tokenizer and added tokens."""

    def __init__(self, described: Mapping[str, Any], model: Model) -> None:
        self._normalizer_steps = _steps_of(described, "normalizer")
        self._pre_tokenizer_steps = _steps_of(described, "pre_tokenizer")
        self._model = model
        tokens = described["added_tokens"]
        self._in_original = _Finder((token, token["content"]) for token in tokens if not token["normalized"])
        self._in_normalized = _Finder(
            (token, self._normalized(token["content"])) for token in tokens if token["normalized"]
        )

    def _normalized(self, content: str) -> str:
        text = NormalizedString(content)
        text.normalize_by(self._normalizer_steps)
        return text.normalized

    def encode(self, text: str, allowed: Special) -> Encoding:
        """Return the encoding of a text before the post-processor runs."""
        made = self._cut(text, allowed)
        made.tokenize(self._model.tokenize)
        return made.to_encoding()

    def pieces(self, text: str, allowed: Special) -> list[str]:
        """Return the pieces of a text, including its added tokens."""
        return [piece for piece, _, _ in self._cut(text, allowed).get_splits()]

    def _cut(self, text: str, allowed: Special) -> PreTokenizedString:
        made = of_sections(text, self._sections(text, allowed))
        made.apply(self._pre_tokenizer_steps)
        return made

    def _sections(self, text: str, allowed: Special) -> Iterator[tuple[Piece, list[Token] | None]]:
        """Yield the added tokens of a text, and the normalized text between them."""
        whole = NormalizedString(text)
        for section in self._in_original.find(text, allowed):
            piece = whole._piece.part(section.start, section.end)
            if section.token is not None:
                yield piece, [_token(piece, section.token)]
                continue
            changed = whole.part(piece)
            changed.normalize_by(self._normalizer_steps)
            for part in self._in_normalized.find(changed.normalized, allowed):
                piece = changed._piece.part(part.start, part.end)
                yield piece, None if part.token is None else [_token(piece, part.token)]


def _token(piece: Piece, token: tuple[int, str]) -> Token:
    return Token(*token, (0, len(piece.text.encode())))


class _Finder:
    """Finder of added tokens. tokens: JSON of each token, and the text to search for."""

    def __init__(self, tokens: Iterable[tuple[Mapping[str, Any], str]]) -> None:
        texts: dict[str, Mapping[str, Any]] = {}
        for token, content in sorted(tokens, key=lambda found: not found[0]["special"]):
            if content:  # "": a normalizer has removed the text; the carrier would give the token no id
                # Of equal texts, tokenizers takes any token. As in the core, a special one comes first.
                texts.setdefault(content, token)
        following = len(_CHARACTERS)
        self._ids: dict[int, int] = {}
        carried = []
        for content, token in texts.items():
            is_byte = content in BYTE_OF_CHARACTER  # then it is a token of the carrier's model, and keeps its id
            i = _CHARACTERS.index(content) if is_byte else following
            following += not is_byte
            carried.append({**token, "id": i, "content": content, "normalized": False})
            self._ids[i] = token["id"]
        self._carrier = carrier_of_bytes(carried, None, _BYTE_LEVEL)

    def find(self, text: str, allowed: Special) -> Iterator[_Section]:
        """Yield the added tokens of a text, and the stretches between them."""
        ids, spans = self._carrier.encode_with_offsets(text, allowed_special=allowed, disallowed_special=())
        words = find_words(self._carrier, text, ids, {}, allowed)
        assert words is not None  # the carrier is byte-level
        at = 0
        for _, group in groupby(words.numbers):  # an added token is a separate word
            end = at + sum(1 for _ in group)
            token = (self._ids[ids[at]], words.found[at]) if at in words.found else None
            yield _Section(spans[at][0], spans[end - 1][1], token)
            at = end
