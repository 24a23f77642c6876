"""Ready-made tokenizers: each class builds a tokenizer from fixed components, and has its own training options.

The classes differ in their components. `ByteLevelBPETokenizer` is GPT-2's, `SentencePieceBPETokenizer` marks
spaces with U+2581, `CharBPETokenizer` is the first GPT's, with a suffix at the end of each word. Two classes
are for other models: `BertWordPieceTokenizer` for WordPiece, `SentencePieceUnigramTokenizer` for Unigram.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastbpe.tokenizers import decoders, normalizers, pre_tokenizers, processors
from fastbpe.tokenizers.base_tokenizer import BaseTokenizer, TrainedTokenizer
from fastbpe.tokenizers.models import BPE
from fastbpe.tokenizers.pipeline_tokenizer import Tokenizer
from fastbpe.tokenizers.segmenting_implementations import BertWordPieceTokenizer, SentencePieceUnigramTokenizer

__all__ = [
    "BaseTokenizer",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
]

_Vocab = Mapping[str, int] | str | None
_Merges = Sequence[tuple[str, str]] | str | None
_UNKNOWN: list[Any] = ["<unk>"]  # defaults of special_tokens; trainers copy them
_NO_TOKENS: list[Any] = []


def _normalizer(steps: Sequence[Any]) -> Any:
    """Return one normalizer for a list of them; None for an empty list."""
    return None if not steps else steps[0] if len(steps) == 1 else normalizers.Sequence([*steps])


def _forms(unicode_normalizer: str | None) -> list[Any]:
    return [normalizers.unicode_normalizer_from_str(unicode_normalizer)] if unicode_normalizer else []


class ByteLevelBPETokenizer(TrainedTokenizer):
    """Byte-level BPE, as in GPT-2.

    Args:
        vocab, merges: vocabulary and merges, or the paths of their files; None: to be trained.
        add_prefix_space: put a space before texts that do not begin with one.
        lowercase: make texts lower case.
        dropout: probability of skipping a merge; has no effect without vocab and merges.
        unicode_normalizer: "nfc", "nfd", "nfkc", "nfkd" or None.
        continuing_subword_prefix, end_of_word_suffix: as in `models.BPE`; they do not affect training.
        trim_offsets: exclude white space at the ends of tokens from their offsets.

    Raises:
        ValueError: there is no such unicode_normalizer.
    """

    _options = ("vocab_size", "min_frequency", "show_progress", "special_tokens", "initial_alphabet")

    def __init__(
        self,
        vocab: _Vocab = None,
        merges: _Merges = None,
        add_prefix_space: bool = False,
        lowercase: bool = False,
        dropout: float | None = None,
        unicode_normalizer: str | None = None,
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        trim_offsets: bool = False,
    ) -> None:
        model = BPE()
        if vocab is not None and merges is not None:
            # "", not None: so the model's JSON equals the one in tokenizers.
            prefix, suffix = continuing_subword_prefix or "", end_of_word_suffix or ""
            options: dict[str, Any] = {"continuing_subword_prefix": prefix, "end_of_word_suffix": suffix}
            model = BPE(vocab, merges, dropout=dropout, **options)
        tokenizer = Tokenizer(model)
        steps = _forms(unicode_normalizer)
        tokenizer.normalizer = _normalizer([*steps, normalizers.Lowercase()] if lowercase else steps)
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
        parameters = {
            "model": "ByteLevelBPE",
            "add_prefix_space": add_prefix_space,
            "lowercase": lowercase,
            "dropout": dropout,
            "unicode_normalizer": unicode_normalizer,
            "continuing_subword_prefix": continuing_subword_prefix,
            "end_of_word_suffix": end_of_word_suffix,
            "trim_offsets": trim_offsets,
        }
        super().__init__(tokenizer, parameters)

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **kwargs: Any) -> ByteLevelBPETokenizer:
        """Create a tokenizer from a vocab.json and a merges.txt. Also accepts the other arguments of the class."""
        return ByteLevelBPETokenizer(*BPE.read_file(vocab_filename, merges_filename), **kwargs)

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        show_progress: bool = True,
        special_tokens: list[Any] = _NO_TOKENS,
    ) -> None:
        """Train on a file, or on several files. The options are as in `trainers.BpeTrainer`."""
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        self._train(files, vocab_size, min_frequency, show_progress, special_tokens, alphabet)

    def train_from_iterator(
        self,
        iterator: Iterable[Any],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        show_progress: bool = True,
        special_tokens: list[Any] = _NO_TOKENS,
        length: int | None = None,
    ) -> None:
        """Train on an iterator of texts. `length` has no effect; the other arguments are as in `train`."""
        first = vocab_size, min_frequency, show_progress, special_tokens
        self._train_from_iterator(iterator, length, *first, pre_tokenizers.ByteLevel.alphabet())


class _OfCharacters(TrainedTokenizer):
    """Base of the classes whose base symbols are characters."""

    _options = (
        "vocab_size",
        "min_frequency",
        "special_tokens",
        "limit_alphabet",
        "initial_alphabet",
        "show_progress",
        "end_of_word_suffix",
    )

    @staticmethod
    def _make(vocab: _Vocab, merges: _Merges, unk_token: Any, options: Mapping[str, Any]) -> Tokenizer:
        """Create the tokenizer, empty unless both vocabulary and merges are given.

        The unknown token becomes a special token if the vocabulary contains it.
        """
        if vocab is None or merges is None:
            vocab = merges = None
        tokenizer = Tokenizer(BPE(vocab, merges, unk_token=str(unk_token), **options))
        if tokenizer.token_to_id(str(unk_token)) is not None:
            tokenizer.add_special_tokens([str(unk_token)])
        return tokenizer


class SentencePieceBPETokenizer(_OfCharacters):
    """Character-level BPE in which U+2581 represents a space, as in sentencepiece.

    Args:
        vocab, merges: vocabulary and merges, or the paths of their files; None: to be trained.
        unk_token: token for unknown characters.
        replacement: the character that represents a space.
        add_prefix_space: put a space before texts that do not begin with one.
        dropout: probability of skipping a merge.
        fuse_unk: use one unknown token for several unknown characters in a row.
    """

    def __init__(
        self,
        vocab: _Vocab = None,
        merges: _Merges = None,
        unk_token: Any = "<unk>",
        replacement: str = "\u2581",
        add_prefix_space: bool = True,
        dropout: float | None = None,
        fuse_unk: bool | None = False,
    ) -> None:
        if not isinstance(unk_token, str):
            raise TypeError(f"{type(unk_token).__name__!r} object is not an instance of 'str'")
        tokenizer = self._make(vocab, merges, unk_token, {"dropout": dropout, "fuse_unk": fuse_unk})
        scheme = "always" if add_prefix_space else "never"
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=replacement, prepend_scheme=scheme)
        tokenizer.decoder = decoders.Metaspace(replacement=replacement, prepend_scheme=scheme)
        parameters = {
            "model": "SentencePieceBPE",
            "unk_token": unk_token,
            "replacement": replacement,
            "add_prefix_space": add_prefix_space,
            "dropout": dropout,
        }
        super().__init__(tokenizer, parameters)

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **kwargs: Any) -> SentencePieceBPETokenizer:
        """Create a tokenizer from a vocab.json and a merges.txt. Also accepts the other arguments of the class."""
        return SentencePieceBPETokenizer(*BPE.read_file(vocab_filename, merges_filename), **kwargs)

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: list[Any] = _UNKNOWN,
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        show_progress: bool = True,
    ) -> None:
        """Train on a file, or on several files. The options are as in `trainers.BpeTrainer`."""
        first = vocab_size, min_frequency, special_tokens, limit_alphabet, initial_alphabet, show_progress
        self._train(files, *first, None)

    def train_from_iterator(
        self,
        iterator: Iterable[Any],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: list[Any] = _UNKNOWN,
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        show_progress: bool = True,
        length: int | None = None,
    ) -> None:
        """Train on an iterator of texts. `length` has no effect; the other arguments are as in `train`."""
        first = vocab_size, min_frequency, special_tokens, limit_alphabet, initial_alphabet, show_progress
        self._train_from_iterator(iterator, length, *first, None)


class CharBPETokenizer(_OfCharacters):
    """Character-level BPE with a suffix at the end of each word, as in the first GPT.

    Args:
        vocab, merges: vocabulary and merges, or the paths of their files; None: to be trained.
        unk_token: token for unknown characters.
        suffix: text put at the end of each word.
        dropout: probability of skipping a merge.
        lowercase: make texts lower case.
        unicode_normalizer: "nfc", "nfd", "nfkc", "nfkd" or None.
        bert_normalizer: clean texts, and put spaces around Chinese characters.
        split_on_whitespace_only: split at white space, and not at punctuation.

    Raises:
        ValueError: there is no such unicode_normalizer.
    """

    def __init__(
        self,
        vocab: _Vocab = None,
        merges: _Merges = None,
        unk_token: Any = "<unk>",
        suffix: str = "</w>",
        dropout: float | None = None,
        lowercase: bool = False,
        unicode_normalizer: str | None = None,
        bert_normalizer: bool = True,
        split_on_whitespace_only: bool = False,
    ) -> None:
        options = {"dropout": dropout, "end_of_word_suffix": suffix}
        tokenizer = self._make(vocab, merges, unk_token, options)
        steps = _forms(unicode_normalizer)
        if bert_normalizer:
            steps.append(normalizers.BertNormalizer(lowercase=False))
        if lowercase:
            steps.append(normalizers.Lowercase())
        tokenizer.normalizer = _normalizer(steps)
        splits = pre_tokenizers.WhitespaceSplit if split_on_whitespace_only else pre_tokenizers.BertPreTokenizer
        tokenizer.pre_tokenizer = splits()
        tokenizer.decoder = decoders.BPEDecoder(suffix=suffix)
        parameters = {
            "model": "BPE",
            "unk_token": unk_token,
            "suffix": suffix,
            "dropout": dropout,
            "lowercase": lowercase,
            "unicode_normalizer": unicode_normalizer,
            "bert_normalizer": bert_normalizer,
            "split_on_whitespace_only": split_on_whitespace_only,
        }
        super().__init__(tokenizer, parameters)

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **kwargs: Any) -> CharBPETokenizer:
        """Create a tokenizer from a vocab.json and a merges.txt. Also accepts the other arguments of the class."""
        return CharBPETokenizer(*BPE.read_file(vocab_filename, merges_filename), **kwargs)

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: list[Any] = _UNKNOWN,
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        suffix: str | None = "</w>",
        show_progress: bool = True,
    ) -> None:
        """Train on a file, or on several files. The options are as in `trainers.BpeTrainer`.

        suffix: the trainer's end_of_word_suffix.
        """
        first = vocab_size, min_frequency, special_tokens, limit_alphabet, initial_alphabet, show_progress
        self._train(files, *first, suffix)

    def train_from_iterator(
        self,
        iterator: Iterable[Any],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: list[Any] = _UNKNOWN,
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        suffix: str | None = "</w>",
        show_progress: bool = True,
        length: int | None = None,
    ) -> None:
        """Train on an iterator of texts. `length` has no effect; the other arguments are as in `train`."""
        first = vocab_size, min_frequency, special_tokens, limit_alphabet, initial_alphabet, show_progress
        self._train_from_iterator(iterator, length, *first, suffix)
