"""Model: the base class of all models."""

from __future__ import annotations

import os
from operator import index, itemgetter

from fastbpe._core.encode.offsets import traced_piece
from fastbpe._utils.arguments import is_text
from fastbpe.errors import FormatError, NoUnknownTokenError
from fastbpe.formats.huggingface.decoder_json import is_id
from fastbpe.huggingface.checked_arguments import MAX_ID, number, of_type, token_id
from fastbpe.tokenizer.tokenizer import Tokenizer as Native
from fastbpe.tokenizers.components import Component, field
from fastbpe.tokenizers.token import Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from fastbpe.formats.huggingface._vocab_json import Entries

    _Made = TypeVar("_Made", bound="Model")


class Model(Component):
    """Base of all models.

    Attributes:
        vocab: token → id.
        names: id → token.
        merges: merges of a BPE model; () for other models.
        entries: vocabulary and merges as the fast reader of tokenizer.json found them; None: it did not read them.
    """

    vocab: dict[str, int]
    names: dict[int, str]
    merges: Any = ()
    entries: Entries | None = None
    #: For `tokenize`: the `_state` for which it made a tokenizer, and that tokenizer; None: not yet. Each change
    #: of the model, even of its vocabulary, makes a new `_state`.
    _runner: tuple[dict[str, Any], Native] | None = None

    def options(self) -> dict[str, Any]:
        """Return the JSON of the model without vocabulary and merges."""
        return {**self._state}

    def take_entries(self, entries: Entries) -> None:
        """Take vocabulary and merges of a file from its fast reader. Requires: the model is empty."""
        self.vocab, self.names = entries.vocabulary()
        self.entries = entries

    def outline(self) -> dict[str, Any]:
        """Return the JSON of the model, without the merges that `entries` has.

        The caller must not change it: it may contain the model's own dicts and lists.
        """
        return self.state() if self.entries is None else {**self._state, "vocab": self.vocab}

    def no_unknown_token(self) -> str:
        """Return tokenizers' error message for a text that needs an unknown token which the model lacks."""
        return f"{self.kind} error: Missing [UNK] token from the vocabulary"

    def size(self) -> int:
        """Return the number of entries in the vocabulary."""
        return len(self.vocab)

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token; None if it is unknown."""
        return self.vocab.get(of_type(token, str))

    def id_to_token(self, id: int) -> str | None:
        """Return the token of an id; None if the id is unknown."""
        return self.names.get(token_id(id))

    def tokenize(self, sequence: str) -> list[Token]:
        """Split a piece into tokens, with offsets in bytes of UTF-8.

        Args:
            sequence: the piece; it is not normalized or pre-tokenized.

        Raises:
            TypeError: it is not a str.
            ValueError: it has a lone surrogate, or needs an unknown token that the vocabulary lacks.

        >>> from fastbpe.tokenizers import models
        >>> [token.as_tuple() for token in models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]).tokenize("aab")]
        [(0, 'a', (0, 1)), (2, 'ab', (1, 3))]
        """
        sequence = of_type(sequence, str)
        if self._runner is None or self._runner[0] is not self._state:
            self._runner = self._state, self._make_runner()
        names = self.names
        try:
            traced = traced_piece(self._runner[1]._pipeline, sequence)
        except NoUnknownTokenError as error:
            raise error.saying(self.no_unknown_token()) from None
        return [Token(i, names[i], (start, end)) for i, start, end in traced]

    def check(self) -> None:
        """Raise FormatError if two tokens have the same id. (tokenizers uses one of them at random.)

        `Unigram` also raises ImportError if its options ask for random segmentations.
        """
        if len(self.names) < len(self.vocab):
            token = next(token for token, i in self.vocab.items() if self.names[i] != token)
            i = self.vocab[token]
            raise FormatError(f"model.vocab: tokens {token!r:.60} and {self.names[i]!r:.60} have the same id {i}")

    def _make_runner(self) -> Native:
        """Return a tokenizer with only this model: no normalizer, pre-tokenizer or decoder."""
        from fastbpe.tokenizers.document import native_of  # here: few programs call `tokenize`

        self.check()
        return native_of({"version": "1.0", "added_tokens": [], "model": self._run_state()}, self.kind)

    def _run_state(self) -> dict[str, Any]:
        """Return the JSON of the model that `tokenize` runs."""
        return self.state()

    def get_trainer(self) -> Any:
        """Return a trainer of this model with default options."""
        raise NotImplementedError

    def __deepcopy__(self: _Made, memo: dict[int, Any]) -> _Made:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)  # a change replaces what it changes, `_state` included
        return made


class CachingModel(Model):
    """Base of the models that have a cache in tokenizers."""

    def _clear_cache(self) -> None:
        """Do nothing: fastbpe has its own caches."""

    def _resize_cache(self, capacity: int) -> None:
        """Check the number, and do nothing else: fastbpe has its own caches."""
        number(capacity)


def option(name: str, check: Callable[[Any], Any]) -> Any:
    """Return a property for an option of a model. check: function that checks and converts a new value."""
    return field(name, f"Option {name}.", check)


def taken(vocab: Any) -> dict[str, int]:
    """Check a vocabulary, and return it in the order of ids.

    Raises TypeError if it is not a dict from str without lone surrogates to ids from 0 to 2**32 - 1.
    """
    if {*map(type, of_type(vocab, dict))} - {str} or {*map(type, vocab.values())} - {int}:  # convert or refuse
        vocab = {of_type(token, str): index(its_id) for token, its_id in vocab.items()}
    if not is_text("".join(vocab)):
        raise TypeError("a token contains a lone surrogate, which UTF-8 cannot encode")
    ids = sorted(vocab.values())
    if ids and not 0 <= ids[0] <= ids[-1] <= MAX_ID:
        raise TypeError("an id must fit in 32 bits, and not be negative")
    return dict(sorted(vocab.items(), key=itemgetter(1)))


def vocab_of_file(vocab: Any) -> dict[str, int]:
    """Return the vocabulary of a file for `taken`, which takes true for 1. Raises TypeError if an id is a bool."""
    if bool in map(type, of_type(vocab, dict).values()):
        raise TypeError("an id must be an integer, not true or false")
    return vocab  # type: ignore[no-any-return]


def read_vocab(path: Any) -> dict[str, int]:
    """Read a vocab.json. Ignores tokens whose value is not a number. Raises as `WordLevel.read_file` does."""
    from fastbpe.formats.huggingface.read import read_json  # here: few programs need it

    with open(of_type(path, str), "rb") as file:
        read = read_json(file.read(), path)
    if not isinstance(read, dict):
        raise FormatError(f"{path}: must be a JSON object")
    for token, i in read.items():
        if type(i) is float or (type(i) is int and not is_id(i)):
            raise FormatError(f"{path}: {token!r:.60}: must be an id of 0 to 2**32 - 1, not {i!r:.60}")
    return {token: i for token, i in read.items() if type(i) is int}


def lines_of(path: Any) -> list[str]:
    """Return the lines of a file, with their line endings. Raises FormatError if they are not UTF-8."""
    with open(of_type(path, str), encoding="utf-8", newline="\n") as file:
        try:
            return file.readlines()
        except UnicodeDecodeError as error:
            raise FormatError(f"{path}: not UTF-8: {error.reason}") from None


def write_files(folder: str, prefix: str | None, name: str | None, files: Mapping[str, bytes]) -> list[str]:
    """Write the files of a model, each atomically, and return their paths.

    folder, prefix, name: as in `BPE.save`. files: name of a file without the prefix → bytes.
    """
    from fastbpe.formats import atomic_files  # here: many programs save no files

    if name is not None:
        import warnings

        message = "Deprecated in 0.10.0: Parameter `name` of Model.save has been renamed `prefix`"
        warnings.warn(message, DeprecationWarning, stacklevel=3)
    chosen = name if prefix is None else prefix
    before = os.path.join(folder, "" if chosen is None else f"{of_type(chosen, str)}-")
    for ending, data in files.items():
        atomic_files.write(before + ending, data)
    return [before + ending for ending in files]
