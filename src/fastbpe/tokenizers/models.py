"""Models: BPE, Unigram, WordPiece and WordLevel, as in the module `models` of tokenizers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from fastbpe._utils import late_json as json
from fastbpe._utils.arguments import is_text
from fastbpe.errors import FormatError
from fastbpe.formats.huggingface.step_parts import Part, dropout_of
from fastbpe.huggingface.checked_arguments import ignore, number, of_type, real, sequence
from fastbpe.tokenizers.base_model import (
    CachingModel,
    Model,
    lines_of,
    read_vocab,
    taken,
    vocab_of_file,
    write_files,
)
from fastbpe.tokenizers.component_texts import compact, shortest, single
from fastbpe.tokenizers.components import changed, field, finder, is_theirs
from fastbpe.tokenizers.segmenting_models import Unigram, WordLevel, WordPiece
from fastbpe.tokenizers.token import Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from fastbpe.formats.huggingface._vocab_json import Entries

__all__ = ["BPE", "Model", "Unigram", "WordLevel", "WordPiece"]

#: Options of BPE: type and default of each, in the order of a tokenizer.json. All but the bools may be None.
_OPTIONS: dict[str, tuple[type, Any]] = {
    "dropout": (float, None),
    "unk_token": (str, None),
    "continuing_subword_prefix": (str, None),
    "end_of_word_suffix": (str, None),
    "fuse_unk": (bool, False),
    "byte_fallback": (bool, False),
    "ignore_merges": (bool, False),
}


class BPE(CachingModel):
    """Model of byte-pair encoding.

    Args:
        vocab: token → id, or the path of a vocab.json.
        merges: list of pairs of tokens in the order of merging, or the path of a merges.txt.
        dropout: probability of skipping a merge; None: 0. Encoding is slower with it.
        unk_token: token for unknown characters.
        continuing_subword_prefix: text before each character of a word except the first.
        end_of_word_suffix: text after the last character of a word.
        fuse_unk: use one unknown token for several unknown characters in a row.
        byte_fallback: encode an unknown character as the tokens of its bytes.
        ignore_merges: if a whole piece is in the vocabulary, use that token and skip the merges.
        cache_capacity: has no effect: fastbpe has its own caches.
        Other options have no effect, and cause a warning.

    Raises:
        ValueError: only one of vocab and merges is given, or only one is a path; the vocabulary lacks a token of a
            merge, or the merged token; dropout is not from 0 to 1.
        TypeError: an argument has the wrong type.
        OverflowError: cache_capacity is negative or too large.
        OSError, FormatError: as for `read_file`, if vocab and merges are paths.
    """

    kind = "BPE"
    #: For `_ranked`: merges, and pair of ids → (rank, id of the merged token).
    _ranks: tuple[Any, dict[tuple[int, int], tuple[int, int]]] | None = None
    #: The merges; None: they are still in `entries`, because no caller has needed them.
    _merges: list[list[str]] | None

    def __init__(
        self,
        vocab: Mapping[str, int] | str | None = None,
        merges: Sequence[tuple[str, str]] | str | None = None,
        *,
        cache_capacity: int = 0,
        **options: Any,
    ) -> None:
        if (vocab is None) != (merges is None):
            raise ValueError("`vocab` and `merges` must be both specified")
        number(cache_capacity)
        ignore(name for name in options if name not in _OPTIONS)
        if isinstance(vocab, str) and isinstance(merges, str):
            vocab, merges = BPE.read_file(vocab, merges)
        elif isinstance(vocab, str) != isinstance(merges, str):
            of_type(vocab, (str, dict)), of_type(merges, (str, list, tuple))  # an error about a type comes first
            raise ValueError("`vocab` and `merges` must be both be from memory or both filenames")
        self._set_options({name: default for name, (_, default) in _OPTIONS.items()} | options)
        dropout = self._state["dropout"]  # the property takes any number, as in tokenizers
        if dropout is not None and not 0 <= dropout <= 1:
            raise ValueError("Error while initializing BPE: Dropout should be between 0 and 1, inclusive")
        pairs = sequence([] if merges is None else merges)
        self._take({} if vocab is None else vocab, [[*of_type(merge, tuple)] for merge in pairs])

    def _set_options(self, options: Mapping[str, Any]) -> None:
        state: dict[str, Any] = {"type": "BPE"}
        for name, (kind, _) in _OPTIONS.items():
            value = options[name]
            if value is None and kind is not bool:
                state[name] = None
            elif kind is float:  # the dropout, which tokenizers stores in 32 bits
                state[name] = shortest(real(value))
            else:
                state[name] = of_type(value, kind)
        self._state = state

    def _take(self, vocab: Any, merges: list[Any]) -> None:
        """Check and store vocabulary and merges."""
        self.vocab = taken(vocab)
        self.names = dict(zip(self.vocab.values(), self.vocab, strict=True))
        self._n_prefix = len((self._state["continuing_subword_prefix"] or "").encode())
        self._merges, self.entries = self._checked(merges), None

    @property
    def merges(self) -> list[list[str]]:
        """Merges in order, each a list of two tokens."""
        if self._merges is None:
            assert self.entries is not None
            self._merges = self.entries.listed_merges(self.names)
        return self._merges

    def joined(self, left: str, right: str) -> str:
        """Join two tokens, without the prefix (continuing_subword_prefix) of the second one.

        Raises:
            ValueError: the second token has fewer bytes than the prefix, or would begin within a character.
        """
        if not self._n_prefix:
            return left + right
        data = right.encode()
        if len(data) < self._n_prefix:
            raise ValueError(f"the token {right!r:.60} of a merge is shorter than continuing_subword_prefix")
        return left + data[self._n_prefix :].decode()

    def _checked(self, merges: list[Any]) -> list[list[str]]:
        """Return the merges without repetitions.

        Raises TypeError if an item is not two tokens, and FormatError if the vocabulary lacks one of them or the
        merged token.
        """
        # The usual case, checked as a whole, which is faster: no prefix, no id or merge twice, all tokens known,
        # none empty. `read_merges` checks other merges one by one.
        if (
            not self._n_prefix
            and {*map(type, merges)} <= {list}
            and {*map(len, merges)} <= {2}
            and len(self.names) == len(self.vocab)
        ):
            pairs = {*map(tuple, merges)}
            used = {*chain.from_iterable(merges)}
            if len(pairs) == len(merges) and {*map(type, used)} <= {str} and "" not in used:
                made = {f"{left}{right}" for left, right in pairs}
                if self.vocab.keys() >= used and self.vocab.keys() >= made:
                    return merges
        for merge in merges:
            if len(merge) != 2 or not all(map(is_text, merge)):
                raise TypeError(f"a merge must be a tuple of two tokens, not {merge!r:.60}")
        if self._n_prefix:
            return self._checked_with_prefix(merges)
        from fastbpe.formats.huggingface.byte_vocabulary import read_merges  # here: it imports half of the format

        listed = read_merges(Part({"merges": merges}, "BPE", "model"), self.vocab)
        return [[self.names[left], self.names[right]] for left, right, _ in listed]

    def _checked_with_prefix(self, merges: list[Any]) -> list[list[str]]:
        """Do the work of `_checked` for a model with a prefix. A repeated merge stays only at its last place."""
        found: dict[tuple[str, str], None] = {}
        for n, (left, right) in enumerate(merges):
            known = left in self.vocab and right in self.vocab
            try:
                made = self.joined(left, right)
            except ValueError as error:
                raise FormatError(f"BPE: model.merges[{n}]: {error}") from None
            if not known or made not in self.vocab:
                named = f"{left!r:.60} and {right!r:.60}"
                raise FormatError(
                    f"BPE: model.merges[{n}]: {named}: one of them, or the token that they merge into, is not "
                    "in the vocabulary"
                )
            found.pop((left, right), None)
            found[left, right] = None
        return [[*pair] for pair in found]

    def replace(self, vocab: dict[str, int], merges: list[Any], prefix: str | None, suffix: str | None) -> None:
        """Replace vocabulary, merges, prefix and suffix (after training), and keep the other options."""
        self._state = {**self._state, "continuing_subword_prefix": prefix, "end_of_word_suffix": suffix}
        self._take(vocab, merges)
        changed()

    def state(self) -> dict[str, Any]:
        return {**self.outline(), "merges": self.merges}

    def outline(self) -> dict[str, Any]:
        is_unique = len(self.names) == len(self.vocab)
        vocab = self.vocab if is_unique else {token: i for i, token in self.names.items()}
        return {**self._state, "vocab": vocab, "merges": [] if self.entries is not None else self.merges}

    @classmethod
    def from_state(cls, described: Mapping[str, Any]) -> BPE:
        part = Part(dict(described), "BPE", "model")
        made = cls.__new__(cls)
        listed = part.get("merges", list)
        split = _split(listed)
        try:
            dropout_of(part)  # raises FormatError for a value that a file must not have
            made._set_options(
                {name: _given(described.get(name), default) for name, (_, default) in _OPTIONS.items()}
            )
            made._take(vocab_of_file(part.get("vocab", dict)), split)
        except (TypeError, OverflowError) as error:
            raise FormatError(f"BPE: {error}") from None
        return made

    def take_entries(self, entries: Entries) -> None:
        super().take_entries(entries)
        self._merges = None

    def no_unknown_token(self) -> str:
        return f"Unk token `{self._state['unk_token']}` not found in the vocabulary"

    def tokenize(self, sequence: str) -> list[Token]:
        """Merge a piece, and return its tokens; see `Model.tokenize`. With dropout, some merges are skipped."""
        tokens = super().tokenize(sequence)
        dropout = self._state["dropout"]
        if not dropout:
            return tokens
        from fastbpe.tokenizers.dropout import merge  # here: few programs drop merges

        return merge(tokens, self._ranked(), self.names, dropout)

    def _ranked(self) -> dict[tuple[int, int], tuple[int, int]]:
        if self._ranks is None or self._ranks[0] is not self.merges:
            vocab, joined = self.vocab, self.joined
            found = {
                (vocab[left], vocab[right]): (rank, vocab[joined(left, right)])
                for rank, (left, right) in enumerate(self.merges)
            }
            self._ranks = self.merges, found
        return self._ranks[1]

    def _run_state(self) -> dict[str, Any]:
        """Return the JSON for `Model.tokenize`: without dropout, and, if dropout was set, without merges."""
        described = {**self.state(), "dropout": None}
        return described | {"merges": [], "ignore_merges": False} if self._state["dropout"] else described

    def get_trainer(self) -> Any:
        from fastbpe.tokenizers.trainers import BpeTrainer  # here: few programs train

        return BpeTrainer()

    @staticmethod
    def read_file(vocab: str, merges: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
        """Read the two files of GPT-2.

        Args:
            vocab: path of a vocab.json.
            merges: path of a merges.txt.

        Returns:
            Vocabulary and merges.

        Raises:
            OSError: a file cannot be opened.
            FormatError: a file is not UTF-8, a line is not a merge, or as for `WordLevel.read_file`.
        """
        ids, pairs = read_vocab(vocab), []
        for n, line in enumerate(lines_of(merges), 1):
            if _is_version(line):
                continue
            pair = line.rstrip("\r\n").split(" ")
            if len(pair) != 2:
                raise FormatError(f"{merges}: line {n}: must be two tokens, not {line!r:.60}")
            pairs.append((pair[0], pair[1]))
        return ids, pairs

    @classmethod
    def from_file(cls, vocab: str, merges: str, **options: Any) -> BPE:
        """Create a model from GPT-2's two files; see `read_file`. Also accepts the options of the class."""
        return cls(*cls.read_file(vocab, merges), **options)

    def save(self, folder: str, prefix: str | None = None, name: str | None = None) -> list[str]:
        """Write the two files of GPT-2 into a folder.

        Args:
            folder: path of the folder.
            prefix: put before the names of the files, with a hyphen.
            name: older name of prefix, deprecated.

        Returns:
            The paths.
        """
        merges = "".join(["#version: 0.2\n", *(f"{left} {right}\n" for left, right in self.merges)])
        files = {"vocab.json": compact(self.state()["vocab"]), "merges.txt": merges.encode()}
        return write_files(folder, prefix, name, files)


def _split(listed: list[Any]) -> list[list[str]]:
    """Return the merges of a file as lists of two tokens. Raises FormatError if there are other items."""
    kind = str if listed and isinstance(listed[0], str) else list  # tokenizers refuses a list with both
    merges: list[list[str]] = []
    for n, one in enumerate(listed):
        if kind is str and _is_version(one):
            continue
        pair = one.split(" ") if kind is str and isinstance(one, str) else one
        if type(pair) is not list or len(pair) != 2 or not isinstance(one, kind):
            raise FormatError(f"BPE: model.merges[{n}]: must be two tokens, not {one!r:.60}")
        merges.append(pair)
    return merges


def _is_version(line: Any) -> bool:
    return isinstance(line, str) and line.startswith("#version")


def _given(value: Any, default: Any) -> Any:
    """Return the value of an option in a file: the default for null, and if the file lacks the option."""
    return default if value is None else value


def _option(name: str) -> Any:
    """Return the property for an option of BPE. Setting it checks all options again."""
    get = field(name, "").fget

    def widened(self: BPE) -> float | None:
        """Return a float as tokenizers does: its 32 bits widened to 64, so 0.1 becomes 0.10000000149011612."""
        return None if get(self) is None else single(get(self))

    def set(self: BPE, value: Any) -> None:
        BPE._set_options(self, {**self._state, name: value})
        changed()

    return property(widened if _OPTIONS[name][0] is float else get, set, None, f"Option {name}.")


for _name in _OPTIONS:
    setattr(BPE, _name, _option(_name))


def checked(value: Any) -> Any:
    """Return a model of fastbpe, made from a model of the package `tokenizers` if necessary.

    Raises TypeError for any other object.
    """
    if not is_theirs(value):
        return of_type(value, Model)
    made = find(json.loads(value.__getstate__()))
    for name in ("alpha", "nbest_size"):  # options of a Unigram that its state lacks
        if getattr(value, name, None) is not None:
            setattr(made, name, getattr(value, name))
    return made


_find = finder("model", BPE, Unigram, WordPiece, WordLevel)


def find(described: Any) -> Any:
    """Create the model that a tokenizer.json describes. Old files lack "type": the first type that fits counts."""
    if not isinstance(described, Mapping) or "type" in described:
        return _find(described)
    from fastbpe.formats.huggingface.read_segmented import type_of  # here: few files leave it out

    model = Part(dict(described), "tokenizer.json", "model")
    try:
        return _find({"type": type_of(model), **described})
    except FormatError:
        try:
            return _find({"type": type_of(model, may_merge=False), **described})
        except FormatError:
            pass
        raise  # the error of the first type
