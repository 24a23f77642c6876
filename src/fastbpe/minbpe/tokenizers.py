"""minbpe's tokenizers: their attributes, training and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.merge.merge_piece import merge_alone, recover_merges
from fastbpe._core.merge.table_builder import build_tables
from fastbpe._core.merge.vocabulary import MAX_IDS, Vocabulary
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.byte_learner import Learner
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._utils.arguments import integer
from fastbpe.errors import CheckError, TrainingError, VocabularyError
from fastbpe.formats import atomic_files
from fastbpe.formats.minbpe import model_text, parse, vocab_text
from fastbpe.minbpe._minbpe_methods import Methods
from fastbpe.model import N_BYTES
from fastbpe.patterns import GPT4_SPLIT_PATTERN
from fastbpe.splitting import make_splitter
from fastbpe.tokenizer.special_token_rules import SpecialTokens

GPT2_SPLIT_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GPT4_SPECIAL_TOKENS = {
    "<|endoftext|>": 100257,
    "<|fim_prefix|>": 100258,
    "<|fim_middle|>": 100259,
    "<|fim_suffix|>": 100260,
    "<|endofprompt|>": 100276,
}

Pair = tuple[int, int]
Path_ = str | os.PathLike[str]


class Tokenizer(Methods):
    """Base of the three tokenizers.

    Attributes:
        merges: pair of ids → the id that it is merged to, in the order of learning.
        vocab: id → bytes.
        pattern: split pattern; "": no splitting.
        special_tokens: special token → id.

    Each attribute can be set to a new value. Encoding and decoding then use it, except `vocab`: they compute their
    own table from merges and special_tokens. `save` writes the attribute `vocab` into the `.vocab` file.
    """

    merges: dict[Pair, int]
    vocab: dict[int, bytes]
    pattern: str
    special_tokens: dict[str, int]

    def __init__(self) -> None:
        self.merges = {}
        self.pattern = ""
        self.special_tokens = {}
        self.vocab = _vocab({}, {})

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        self._forget()  # the next call makes encoder and decoder from the new attributes

    def __reduce__(self) -> tuple[Callable[..., Tokenizer], tuple[type[Tokenizer], dict[str, Any]]]:
        return _with_attributes, (type(self), self.__dict__)

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:
        """Learn vocab_size - 256 merges from a text.

        Args:
            text: str – text to learn from.
            vocab_size: int – 256 or more.
            verbose: bool – print a line for each merge.

        Raises:
            AssertionError: vocab_size is below 256.
            ValueError: no pair is left before all merges are learned.
        """
        raise NotImplementedError("this is a base class: use BasicTokenizer or RegexTokenizer")

    def encode(self, text: str) -> list[int]:
        """Encode a text (str) to ids."""
        raise NotImplementedError("this is a base class: use BasicTokenizer or RegexTokenizer")

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids to text; bytes that are not UTF-8 become U+FFFD."""
        raise NotImplementedError("this is a base class: use BasicTokenizer or RegexTokenizer")

    def save(self, file_prefix: Path_) -> None:
        """Write PREFIX.model, for `load`, and PREFIX.vocab, for people. No failure leaves part of a file.

        Args:
            file_prefix: path without these extensions.
        """
        prefix = os.fspath(file_prefix)
        atomic_files.write(prefix + ".model", model_text(self.pattern, self.special_tokens, self.merges).encode())
        atomic_files.write(prefix + ".vocab", vocab_text(self.vocab, self.merges).encode())

    def load(self, model_file: Path_) -> None:
        """Load merges, pattern and special tokens from a `.model` file.

        Args:
            model_file: path that ends with .model.

        Raises:
            AssertionError: the name does not end with .model.
            OSError: the file cannot be read.
            ValueError: the file is damaged; the message says where.
        """
        path = os.fspath(model_file)
        if not path.endswith(".model"):
            raise CheckError(f"{path}: load needs a file with the extension .model")
        model = parse(atomic_files.map_file(path), path)
        self.merges = {(left, right): merged for left, right, merged in model.merge_list() or ()}
        self.pattern = model.pattern if isinstance(model.pattern, str) else ""
        self.special_tokens = dict(model.special_tokens)
        self.vocab = _vocab(self.merges, self.special_tokens)

    def _build_vocab(self) -> dict[int, bytes]:
        """Return id → bytes for the merges and special tokens."""
        return _vocab(self.merges, self.special_tokens)

    def _encode_chunk(self, text_bytes: bytes) -> list[int]:
        """Encode bytes that are one piece; they need not be UTF-8."""
        return merge_alone(self._vocabulary, text_bytes)

    def _learn(self, text: str, vocab_size: int, verbose: bool) -> None:
        if vocab_size < N_BYTES:
            raise CheckError(
                f"vocab_size={vocab_size}: must be at least {N_BYTES}, because the first ids are the single bytes"
            )
        vocab_size = integer("vocab_size", vocab_size)  # afterwards, as in minbpe: 100.0 is an AssertionError
        counter = PieceCounter(_splitter(self._splitting()))
        counter.add_text(text)
        learner = Learner(counter, max_ids=vocab_size, ties_first=True)
        learner.learn()
        learned = learner.merges()
        merges = {(left, right): N_BYTES + i for i, (left, right, _) in enumerate(learned)}
        vocab = _vocab(merges, {})
        n_merges = vocab_size - N_BYTES
        if verbose:
            for i, (left, right, count) in enumerate(learned):
                merge = f"{(left, right)} -> {N_BYTES + i} ({vocab[N_BYTES + i]!r})"
                print(f"merge {i + 1}/{n_merges}: {merge} had {count} occurrences")
        if len(learned) < n_merges:
            raise TrainingError(
                f"no pair is left after {len(learned)} of {n_merges} merges: train on more text, or lower "
                "vocab_size"
            )
        self.merges = merges
        self.vocab = vocab

    def _make(
        self,
    ) -> tuple[Vocabulary, Encoder, Decoder, str | Collection[str], Callable[[Collection[str]], Collection[str]]]:
        triples = [(left, right, merged) for (left, right), merged in self.merges.items()]
        triples.sort(key=itemgetter(2))  # the lowest id merges first; the order of the dict does not matter
        tables = build_tables(self._tokens(), triples)
        vocabulary = Vocabulary(**tables, whole_piece_first=False, drops_bytes=False)
        # A shared id decodes to its last name in minbpe, and to its first one in `SpecialTokens`.
        last_first = dict(reversed(self.special_tokens.items()))
        special = SpecialTokens(last_first, vocabulary, may_share=True)
        decoder = Decoder(vocabulary, special.not_ordinary, takes_bools=True)
        encoder = Encoder(vocabulary, _splitter(self._splitting()), special=special)
        found = _not_hidden(self.special_tokens)  # nearly always all of them
        if len(found) == len(self.special_tokens):
            return vocabulary, encoder, decoder, "all", frozenset
        return vocabulary, encoder, decoder, found, self._found_among

    def _found_among(self, allowed: Collection[str]) -> Collection[str]:
        """Return the special tokens that are found in text if only the ones in `allowed` are allowed."""
        return _not_hidden(name for name in self.special_tokens if name in allowed)

    def _tokens(self) -> list[bytes]:
        """Return the bytes of each ordinary id."""
        vocab = _vocab(self.merges, {})
        last = max(vocab)
        if last >= MAX_IDS:  # before a list of so many entries is made
            raise VocabularyError(f"merges has the id {last}: ids must be below {MAX_IDS}")
        return [vocab.get(token_id, b"") for token_id in range(last + 1)]

    def _splitting(self) -> str:
        """Return the pattern that splits text; "" if text is not split, even if a loaded file has a pattern."""
        return ""


class BasicTokenizer(Tokenizer):
    """Tokenizer without a split pattern and special tokens: a text is one piece."""

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:
        self._learn(text, vocab_size, verbose)

    train.__doc__ = Tokenizer.train.__doc__

    encode = Methods._encode_ordinary
    decode = Methods._decode


class RegexTokenizer(Tokenizer):
    """Tokenizer with a split pattern and special tokens. Text that the pattern does not match is left out.

    Args:
        pattern: a regex; None: GPT-4's pattern.

    >>> tokenizer = RegexTokenizer()
    >>> tokenizer.train("hello hello hello", 258)
    >>> tokenizer.register_special_tokens({"<|end|>": 258})
    >>> tokenizer.encode("hello<|end|>", allowed_special="all")
    [257, 108, 111, 258]
    """

    inverse_special_tokens: dict[int, str]

    def __init__(self, pattern: str | None = None) -> None:
        super().__init__()
        self.pattern = GPT4_SPLIT_PATTERN if pattern is None else pattern
        self.inverse_special_tokens = {}
        _splitter(self.pattern)  # raises PatternError now rather than at the first call

    @property
    def compiled_pattern(self) -> Any:
        """Split pattern, compiled by the package regex; setting it also sets `pattern`."""
        import regex  # here: encoding does not need it

        return regex.compile(self.pattern)

    @compiled_pattern.setter
    def compiled_pattern(self, compiled: Any) -> None:
        self.pattern = compiled.pattern

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:
        self._learn(text, vocab_size, verbose)

    train.__doc__ = Tokenizer.train.__doc__

    def load(self, model_file: Path_) -> None:
        super().load(model_file)
        self.inverse_special_tokens = {token_id: name for name, token_id in self.special_tokens.items()}

    load.__doc__ = Tokenizer.load.__doc__

    def register_special_tokens(self, special_tokens: dict[str, int]) -> None:
        """Replace the special tokens.

        Args:
            special_tokens: name → id.

        If an id already belongs to a byte or a merge, or a name is empty, the next call that encodes or decodes
        raises SpecialTokenError (a ValueError). As in minbpe, a name may be the text of a token, and several names
        may have the same id, which decodes to the last of them.
        """
        self.special_tokens = special_tokens
        self.inverse_special_tokens = {token_id: name for name, token_id in special_tokens.items()}

    encode = Methods._encode
    encode_ordinary = Methods._encode_ordinary
    decode = Methods._decode

    def _splitting(self) -> str:
        return self.pattern


class GPT4Tokenizer(RegexTokenizer):
    """cl100k_base with merges recovered from its ranks. `fastbpe.tiktoken` says where its file is looked for.

    Its single bytes also have the ids 0 to 255, but in a different order from minbpe's other tokenizers.

    Attributes:
        byte_shuffle: byte → the id of its token.
        inverse_byte_shuffle: id → byte, for the ids of single bytes.
        vocab: id → the bytes of its token, each replaced by its byte_shuffle, as in minbpe.
    """

    byte_shuffle: dict[int, int]
    inverse_byte_shuffle: dict[int, int]

    def __init__(self) -> None:
        super().__init__(pattern=GPT4_SPLIT_PATTERN)
        from fastbpe.tiktoken import get_encoding  # here: the other tokenizers do not need it

        encoding = get_encoding("cl100k_base")
        self._by_rank = encoding._vocabulary.tokens()
        self.merges = {pair: rank for rank, pair in recover_merges(encoding._vocabulary).items()}
        self.vocab = _vocab(self.merges, {})
        self.byte_shuffle = {byte: encoding.encode_single_token(bytes([byte])) for byte in range(N_BYTES)}
        self.inverse_byte_shuffle = {token: byte for byte, token in self.byte_shuffle.items()}
        self.register_special_tokens(dict(GPT4_SPECIAL_TOKENS))

    def _tokens(self) -> list[bytes]:
        return self._by_rank

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:
        """Raise NotImplementedError: the merges are fixed."""
        raise NotImplementedError("GPT4Tokenizer is already trained; train a RegexTokenizer")

    def save(self, file_prefix: Path_) -> None:
        """Raise NotImplementedError: a `.model` file cannot store the ids of the bytes."""
        raise NotImplementedError(
            "GPT4Tokenizer cannot be saved: in a .model file, ids 0 to 255 are the bytes in order; save_vocab "
            "writes a list of its tokens"
        )

    def load(self, model_file: Path_) -> None:
        """Raise NotImplementedError, as `save` does."""
        raise NotImplementedError(
            "GPT4Tokenizer cannot be loaded from a file; load the file into a RegexTokenizer"
        )

    def save_vocab(self, vocab_file: Path_) -> None:
        """Write a human-readable `.vocab` file."""
        vocab = {token: bytes([self.inverse_byte_shuffle[token]]) for token in range(N_BYTES)}
        vocab |= {token: self._by_rank[token] for token in self.merges.values()}
        atomic_files.write(vocab_file, vocab_text(vocab, self.merges).encode())


def _with_attributes(cls: type[Tokenizer], attributes: dict[str, Any]) -> Tokenizer:
    """Restore a tokenizer from a pickle."""
    tokenizer = cls.__new__(cls)
    tokenizer.__dict__.update(attributes)
    return tokenizer


@lru_cache(maxsize=16)
def _splitter(pattern: str) -> Splitter:
    """Return the splitter of a pattern; "": text is one piece."""
    return make_splitter(pattern or None, drop_unmatched=True)


def _vocab(merges: Mapping[Pair, int], special_tokens: Mapping[str, int]) -> dict[int, bytes]:
    """Return id → bytes, of the single bytes, the merges and the special tokens."""
    vocab = {byte: bytes([byte]) for byte in range(N_BYTES)}
    for (left, right), merged in merges.items():
        vocab[merged] = vocab[left] + vocab[right]
    return vocab | {token_id: name.encode() for name, token_id in special_tokens.items()}


def _not_hidden(names: Iterable[str]) -> frozenset[str]:
    """Return the names that minbpe can find in a text.

    At each position it takes the first name, in their order, that matches. So a name is never found if it begins
    with an earlier one.
    """
    kept: set[str] = set()
    for name in names:
        if not any(name[:n] in kept for n in range(1, len(name))):
            kept.add(name)
    return frozenset(kept)
