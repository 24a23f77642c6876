"""Unigram, WordPiece and WordLevel: the models without merges."""

from __future__ import annotations

from operator import itemgetter

from fastbpe._utils.arguments import is_text
from fastbpe.errors import FormatError, NoUnknownTokenError
from fastbpe.huggingface.checked_arguments import ignore, number, number_or_none, of_type, real, sequence
from fastbpe.tokenizers.base_model import (
    CachingModel,
    Model,
    lines_of,
    option,
    read_vocab,
    taken,
    vocab_of_file,
    write_files,
)
from fastbpe.tokenizers.component_texts import compact, json_text
from fastbpe.tokenizers.components import changed, needs_tokenizers
from fastbpe.tokenizers.token import Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


def _real(value: Any) -> float | None:
    return None if value is None else real(value)


def _refuse_flag(value: Any, name: str) -> None:
    """Raise TypeError for True and False, which Python accepts as integers and tokenizers does not."""
    if isinstance(value, bool):
        raise TypeError(f"{name!r} must be an integer, not {value}")


def _sampled(name: str, doc: str, check: Callable[[Any], Any]) -> Any:
    """Return a property for an option of random segmentation."""

    def set(self: Unigram, value: Any) -> None:
        self._sampling = {**self._sampling, name: check(value)}
        self._state = {**self._state}  # a new dict: see `Model._runner`
        changed()

    return property(lambda self: self._sampling[name], set, None, doc)


def _are_pairs(listed: Sequence[Any]) -> bool:
    """Tell whether all items are tuples of a text and a float. Checking them one by one is slower."""
    return (
        {*map(type, listed)} <= {tuple}
        and {*map(len, listed)} <= {2}
        and {*map(type, map(itemgetter(0), listed))} <= {str}
        and {*map(type, map(itemgetter(1), listed))} <= {float}
        and is_text("".join(map(itemgetter(0), listed)))
    )


class Unigram(CachingModel):
    """Unigram model: a piece becomes the tokens whose scores have the greatest sum.

    Args:
        vocab: list of (token, score); None: only `<unk>`.
        unk_id: id of the token for unknown characters; None: such characters are an error.
        byte_fallback: encode an unknown character as the tokens of its bytes.
        alpha, nbest_size: options for random segmentation, which fastbpe.tokenizers lacks: unless alpha is None
            or 0, encoding raises ImportError. nbest_size alone has no effect, as in tokenizers.

    Raises:
        ValueError: unk_id is given without vocab, or is not an id of vocab; or a tuple in vocab is not a pair.
        TypeError, OverflowError: an argument has the wrong type, or an integer is negative or too large.
    """

    kind = "Unigram"

    def __init__(
        self,
        vocab: Sequence[tuple[str, float]] | None = None,
        unk_id: int | None = None,
        byte_fallback: bool | None = None,
        alpha: float | None = None,
        nbest_size: int | None = None,
    ) -> None:
        if vocab is None:
            if unk_id is not None:
                raise ValueError("`vocab` and `unk_id` must be both specified")
            vocab, unk_id = [("<unk>", 0.0)], 0
        vocab = [of_type(item, tuple) for item in sequence(vocab)]
        self._sampling: dict[str, Any] = {"alpha": _real(alpha), "nbest_size": number_or_none(nbest_size)}
        self.take(vocab, unk_id, False if byte_fallback is None else byte_fallback)

    alpha = _sampled("alpha", "Smoothing of the scores for random segmentations, or None.", _real)
    nbest_size = _sampled(
        "nbest_size", "Number of best segmentations from which one is drawn, or None.", number_or_none
    )

    def take(self, vocab: Sequence[tuple[str, float]], unk_id: int | None, byte_fallback: bool) -> None:
        """Check and store a vocabulary."""
        listed = [*of_type(vocab, (list, tuple))]
        if not _are_pairs(listed):
            pairs = [tuple(of_type(item, (list, tuple))) for item in listed]
            listed = [(of_type(token, str), real(score)) for token, score in pairs]
        if unk_id is not None and (unk_id := number(unk_id)) >= len(listed):
            raise ValueError("Error while loading Unigram: The `unk_id` is larger than vocabulary size")
        self.scored = listed
        self.names = dict(enumerate(map(itemgetter(0), listed)))
        self.vocab = dict(zip(self.names.values(), self.names, strict=True))
        self._state = {"type": "Unigram", "unk_id": unk_id, "byte_fallback": of_type(byte_fallback, bool)}
        changed()

    def size(self) -> int:
        """Return the number of entries, including repeated tokens."""
        return len(self.scored)

    def no_unknown_token(self) -> str:
        return "Encountered an unknown token but `unk_id` is missing"

    def check(self) -> None:
        super().check()
        if self._sampling["alpha"]:
            needs_tokenizers("random segmentations of a Unigram model (set alpha to None)")

    def state(self) -> dict[str, Any]:
        unknown, falls_back = self._state["unk_id"], self._state["byte_fallback"]
        return {"type": "Unigram", "unk_id": unknown, "vocab": self.scored, "byte_fallback": falls_back}

    def options(self) -> dict[str, Any]:
        """Return the options and the scores: a tokenizer compares them with earlier ones to find changes."""
        return {**self._state, **self._sampling, "scores": self.scored}

    def tokenize(self, sequence: str) -> list[Token]:
        """Split a piece into tokens; see `Model.tokenize`. The `value` of an unknown token is the unknown text."""
        tokens, unknown, data = super().tokenize(sequence), self._state["unk_id"], sequence.encode()
        for i, token in enumerate(tokens):
            if token.id != unknown:
                continue
            text = data[slice(*token.offsets)]
            # With byte fallback, the unknown token may be a byte's, which keeps its name: "<0x61>" for an "a".
            if not (self._state["byte_fallback"] and all(f"<0x{byte:02X}>" in self.vocab for byte in text)):
                tokens[i] = Token(token.id, text.decode(), token.offsets)
        return tokens

    @classmethod
    def from_state(cls, described: Mapping[str, Any]) -> Unigram:
        made = cls.__new__(cls)
        made._sampling = {"alpha": None, "nbest_size": None}
        try:
            _refuse_flag(described.get("unk_id"), "unk_id")
            made.take(described["vocab"], described.get("unk_id"), described.get("byte_fallback", False))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise FormatError(f"Unigram: {error}") from None
        return made

    def get_trainer(self) -> Any:
        from fastbpe.tokenizers.trainers import UnigramTrainer

        return UnigramTrainer()

    def save(self, folder: str, prefix: str | None = None, name: str | None = None) -> list[str]:
        """Write unigram.json into a folder; see `BPE.save`."""
        text = json_text(self.state(), pretty=True)
        return write_files(folder, prefix, name, {"unigram.json": text.encode()})


class WordPiece(Model):
    """WordPiece model: takes the longest matching token at each place; tokens that continue a piece have a prefix.

    Args:
        vocab: token → id, or the path of a vocab.txt; None: no tokens.
        unk_token: token for a piece that cannot be split into tokens.
        max_input_chars_per_word: maximum characters of a piece; a longer one is unknown.
        continuing_subword_prefix: text before tokens that continue a piece.
        Other options have no effect, and cause a warning.

    Raises:
        TypeError, OverflowError: an argument has the wrong type, or the maximum is negative or too large.
        OSError, FormatError: vocab is a path; see `read_file`.
    """

    kind = "WordPiece"

    def __init__(
        self,
        vocab: Mapping[str, int] | str | None = None,
        *,
        unk_token: str = "[UNK]",
        max_input_chars_per_word: int = 100,
        continuing_subword_prefix: str = "##",
        **options: Any,
    ) -> None:
        ignore(options)
        if isinstance(vocab, str):
            vocab = WordPiece.read_file(vocab)
        self._state = {
            "type": "WordPiece",
            "unk_token": of_type(unk_token, str),
            "continuing_subword_prefix": of_type(continuing_subword_prefix, str),
            "max_input_chars_per_word": number(max_input_chars_per_word),
        }
        self.replace({} if vocab is None else vocab, self._state["continuing_subword_prefix"])

    unk_token = option("unk_token", lambda value: of_type(value, str))
    continuing_subword_prefix = option("continuing_subword_prefix", lambda value: of_type(value, str))
    max_input_chars_per_word = option("max_input_chars_per_word", number)

    def replace(self, vocab: Any, prefix: str) -> None:
        """Replace the vocabulary, and the prefix of tokens that continue a piece."""
        self.vocab, self.entries = taken(vocab), None
        self.names = {i: token for token, i in self.vocab.items()}
        self._state = {**self._state, "continuing_subword_prefix": prefix}
        changed()

    def state(self) -> dict[str, Any]:
        return {**self._state, "vocab": {token: i for i, token in self.names.items()}}

    @classmethod
    def from_state(cls, described: Mapping[str, Any]) -> WordPiece:
        names = ("vocab", "unk_token", "max_input_chars_per_word", "continuing_subword_prefix")
        try:
            _refuse_flag(described["max_input_chars_per_word"], "max_input_chars_per_word")
            return cls(**{name: described[name] for name in names[1:]}, vocab=vocab_of_file(described["vocab"]))
        except (KeyError, TypeError, OverflowError) as error:
            raise FormatError(f"WordPiece: {error}") from None

    def get_trainer(self) -> Any:
        from fastbpe.tokenizers.trainers import WordPieceTrainer

        return WordPieceTrainer()

    @staticmethod
    def read_file(vocab: str) -> dict[str, int]:
        """Read a vocab.txt, which has one token per line.

        Raises:
            OSError: it cannot be opened.
            FormatError: it is not UTF-8.
        """
        return {line.rstrip(): i for i, line in enumerate(lines_of(vocab))}

    @classmethod
    def from_file(cls, vocab: str, **options: Any) -> WordPiece:
        """Create a model from a vocab.txt; see `read_file`. Also accepts the options of the class."""
        return cls(cls.read_file(vocab), **options)

    def save(self, folder: str, prefix: str | None = None, name: str | None = None) -> list[str]:
        """Write vocab.txt into a folder; see `BPE.save`."""
        text = "".join(f"{token}\n" for _, token in sorted(self.names.items()))
        return write_files(folder, prefix, name, {"vocab.txt": text.encode()})


class WordLevel(Model):
    """WordLevel model: a whole piece is a token, or unknown.

    Args:
        vocab: token → id, or the path of a vocab.json; None: no tokens.
        unk_token: token for unknown pieces; None: `<unk>`.

    Raises:
        TypeError: an argument has the wrong type.
        OSError, FormatError: vocab is a path; see `read_file`.
    """

    kind = "WordLevel"

    def __init__(self, vocab: Mapping[str, int] | str | None = None, unk_token: str | None = None) -> None:
        if isinstance(vocab, str):
            vocab = WordLevel.read_file(vocab)
        self._state = {"type": "WordLevel", "unk_token": "<unk>" if unk_token is None else of_type(unk_token, str)}
        self.replace({} if vocab is None else vocab)

    unk_token = option("unk_token", lambda value: of_type(value, str))

    def replace(self, vocab: Any) -> None:
        """Replace the vocabulary."""
        self.vocab, self.entries = taken(vocab), None
        self.names = {i: token for token, i in self.vocab.items()}
        self._state = {**self._state}  # a new dict: see `Model._runner`
        changed()

    def state(self) -> dict[str, Any]:
        vocab = {token: i for i, token in self.names.items()}
        return {"type": "WordLevel", "vocab": vocab, "unk_token": self._state["unk_token"]}

    def tokenize(self, sequence: str) -> list[Token]:
        """Return the token of a piece; see `Model.tokenize`. The empty piece also gets one: "" or unk_token."""
        if of_type(sequence, str):
            return super().tokenize(sequence)
        token = next((one for one in ("", self._state["unk_token"]) if one in self.vocab), None)
        if token is None:
            raise NoUnknownTokenError("the empty piece has no token, and the model lacks an unknown token").saying(
                self.no_unknown_token()
            )
        return [Token(self.vocab[token], token, (0, 0))]

    @classmethod
    def from_state(cls, described: Mapping[str, Any]) -> WordLevel:
        try:
            return cls(vocab_of_file(described["vocab"]), of_type(described["unk_token"], str))
        except KeyError as error:
            raise FormatError(f"WordLevel: the model has no {error}") from None
        except (TypeError, OverflowError) as error:
            raise FormatError(f"WordLevel: {error}") from None

    def get_trainer(self) -> Any:
        from fastbpe.tokenizers.trainers import WordLevelTrainer

        return WordLevelTrainer()

    @staticmethod
    def read_file(vocab: str) -> dict[str, int]:
        """Read a vocab.json. Leaves out tokens whose values are not numbers, as tokenizers does.

        Raises:
            OSError: it cannot be opened.
            FormatError: it is not a JSON object, or a number is not an id.
        """
        return read_vocab(vocab)

    @classmethod
    def from_file(cls, vocab: str, unk_token: str | None = None) -> WordLevel:
        """Create a model from a vocab.json; see `read_file`. unk_token: as in the class."""
        return cls(cls.read_file(vocab), unk_token)

    def save(self, folder: str, prefix: str | None = None, name: str | None = None) -> list[str]:
        """Write vocab.json into a folder; see `BPE.save`."""
        return write_files(folder, prefix, name, {"vocab.json": compact(self.state()["vocab"])})
