"""Tokenizer: tokenizers' class, whose texts and ids fastbpe encodes and decodes.

It keeps a `tokenizers.Tokenizer`, in which all settings stand. An `Engine` compares these at each call. Calls that
fastbpe does not answer go to the original: models other than BPE, components that fastbpe does not know, and
input that raises an error.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from fastbpe.tokenizers._original import original
from fastbpe.tokenizers.batches import Batch
from fastbpe.tokenizers.encoding import Encoding, of_row, unwrap, wrap
from fastbpe.transformers.decoding import decode_lists
from fastbpe.transformers.engine import Engine
from fastbpe.transformers.inputs import sort_inputs
from fastbpe.transformers.rows import HandOver

_Original: Any = original.Tokenizer

_Result = TypeVar("_Result")


def _setting(name: str, doc: str) -> Any:
    """Return a property that stands in the original."""

    def get(self: Tokenizer) -> Any:
        return getattr(self._original, name)

    def set(self: Tokenizer, value: Any) -> None:
        setattr(self._original, name, value)

    return property(get, set, None, doc)


class Tokenizer:
    """Tokenizer of one model and its components, which may be changed at any time.

    Args:
        model: a model of `fastbpe.tokenizers.models`. fastbpe answers for BPE; tokenizers itself for others.

    >>> import fastbpe.tokenizers as tokenizers
    >>> tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    >>> tokenizer.encode("abba").tokens
    ['ab', 'b', 'a']
    """

    def __init__(self, model: Any) -> None:
        self._original: Any = _Original(model)
        self._engine = Engine(self._original)

    # Loading and saving

    @staticmethod
    def from_file(path: str) -> Tokenizer:
        """Load a tokenizer.json."""
        return over(_Original.from_file(path))

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        """Load the text of a tokenizer.json."""
        return over(_Original.from_str(json))

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        """Load the bytes of a tokenizer.json."""
        return over(_Original.from_buffer(buffer))

    @staticmethod
    def from_pretrained(identifier: str, revision: str = "main", token: str | None = None) -> Tokenizer:
        """Load the tokenizer.json of a model that is on this machine; nothing is downloaded.

        Args:
            identifier: a folder, or ORG/NAME of a repository in Hugging Face's cache or in fastbpe's.
            revision: branch, tag or commit of the repository.
            token: not used.

        Raises:
            VocabularyNotFoundError: there is none. (It is a FileNotFoundError.)
        """
        from fastbpe.published.find import find_local  # here: most tokenizers come from files

        folder = identifier if os.path.isdir(identifier) else find_local(identifier, revision)
        return Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))

    def save(self, path: str, pretty: bool = True) -> None:
        """Write a tokenizer.json. pretty: with line breaks."""
        self._original.save(path, pretty)

    def to_str(self, pretty: bool = False) -> str:
        """Return the text of a tokenizer.json. pretty: with line breaks."""
        return self._original.to_str(pretty)  # type: ignore[no-any-return]

    # Encoding

    def encode(
        self,
        sequence: Any,
        pair: Any = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """Encode a text, or two.

        Args:
            sequence: a str; or a list of words, if is_pretokenized.
            pair: the second text.
            is_pretokenized: texts are split into words.
            add_special_tokens: add the ids of the post-processor's template.

        Raises:
            TypeError: an argument is of another type, or a str has a lone surrogate.
        """
        row = sequence if pair is None else (sequence, pair)
        try:
            batch = self._batch([row], is_pretokenized, add_special_tokens)
        except HandOver as reason:
            self._engine.calls["encode", str(reason)] += 1
            return wrap(self._original.encode(sequence, pair, is_pretokenized, add_special_tokens))
        return of_row(batch, 0)

    def encode_batch(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encode texts, or pairs of texts, on all cores.

        Args:
            input: list of texts; of pairs (text, text); or of words and pairs of words, if is_pretokenized.
            is_pretokenized, add_special_tokens: as in `encode`.

        Raises:
            TypeError: as in `encode`.
        """
        return self._encode_all("encode_batch", input, is_pretokenized, add_special_tokens)

    def encode_batch_fast(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encode as `encode_batch` does, without tokens, offsets and words."""
        return self._encode_all("encode_batch_fast", input, is_pretokenized, add_special_tokens)

    def _encode_all(self, method: str, input: Any, words: Any, adds_special: Any) -> list[Encoding]:
        try:
            batch = self._batch(input, words, adds_special, method)
        except HandOver as reason:
            self._engine.calls["encode", str(reason)] += 1
            return [*map(wrap, getattr(self._original, method)(input, words, adds_special))]
        return [of_row(batch, i) for i in range(len(batch.ids))]

    def _batch(self, input: Any, words: Any, adds_special: Any, method: str = "encode_batch") -> Batch:
        if type(words) is not bool or type(adds_special) is not bool:
            raise HandOver("an argument of another type")
        if type(input) not in (list, tuple) or (words and not all(type(row) in (list, tuple) for row in input)):
            raise HandOver("a batch that is not a list")
        inputs = sort_inputs(input, None, is_split_into_words=words)
        if inputs is None:
            raise HandOver("an empty batch, rows of several kinds, or texts that are not plain str")
        made = Batch(self._engine, inputs, words=words, add_special_tokens=adds_special, method=method)
        self._engine.calls["encode", ""] += 1
        return made

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Truncate, put into the template, and pad encodings of texts.

        Args:
            encoding: the encoding of a text.
            pair: the same for the second text.
            add_special_tokens: as in `encode`.
        """
        return wrap(self._original.post_process(unwrap(encoding), unwrap(pair), add_special_tokens))

    # Decoding

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Decode ids. Ids without a token are left out.

        Args:
            ids: list of int.
            skip_special_tokens: leave special tokens out.

        Raises:
            TypeError, OverflowError: an id is not an int, or beyond 32 bits.
        """
        if type(ids) in (list, tuple) and type(skip_special_tokens) is bool:
            found = self._decode_natively([ids], skip_special_tokens)
            if found is not None:
                return found[0]
        return self._original.decode(ids, skip_special_tokens)  # type: ignore[no-any-return]

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Decode lists of ids, each as `decode` does, on all cores."""
        is_known = type(sequences) is list and sequences and type(skip_special_tokens) is bool
        if is_known and all(type(ids) in (list, tuple) for ids in sequences):
            found = self._decode_natively(sequences, skip_special_tokens)
            if found is not None:
                return found
        return self._original.decode_batch(sequences, skip_special_tokens)  # type: ignore[no-any-return]

    def _decode_natively(self, batch: Sequence[Any], skips: bool) -> list[str] | None:
        calls = self._engine.calls
        try:
            texts = decode_lists(self._engine, [*batch], skips=skips)
        except HandOver as reason:
            calls["decode", str(reason)] += 1
            return None
        calls["decode", ""] += 1
        return texts

    # Vocabulary

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token as the vocabulary spells it; None if there is none."""
        return self._original.token_to_id(token)  # type: ignore[no-any-return]

    def id_to_token(self, id: int) -> str | None:
        """Return the token of an id as the vocabulary spells it; None if there is none."""
        return self._original.id_to_token(id)  # type: ignore[no-any-return]

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the id of each token."""
        return self._original.get_vocab(with_added_tokens)  # type: ignore[no-any-return]

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return the number of tokens."""
        return self._original.get_vocab_size(with_added_tokens)  # type: ignore[no-any-return]

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        """Return the `AddedToken` of each id that has one."""
        return self._original.get_added_tokens_decoder()  # type: ignore[no-any-return]

    def add_tokens(self, tokens: Sequence[Any]) -> int:
        """Add tokens, which are found in texts before anything else. Tokens that exist keep their ids.

        Args:
            tokens: list of str or `AddedToken`.

        Returns:
            The number of new tokens.
        """
        return self._original.add_tokens(tokens)  # type: ignore[no-any-return]

    def add_special_tokens(self, tokens: Sequence[Any]) -> int:
        """Add special tokens, which decoding can leave out. Takes the arguments of `add_tokens`."""
        return self._original.add_special_tokens(tokens)  # type: ignore[no-any-return]

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return the number of ids that the post-processor adds to a text, or to two."""
        return self._original.num_special_tokens_to_add(is_pair)  # type: ignore[no-any-return]

    # Settings

    model = _setting("model", "Model of the tokenizer, from `fastbpe.tokenizers.models`.")
    normalizer = _setting("normalizer", "Normalizer of texts, or None.")
    pre_tokenizer = _setting("pre_tokenizer", "Pre-tokenizer, which splits texts into pieces, or None.")
    post_processor = _setting("post_processor", "Post-processor, which adds ids of a template, or None.")
    decoder = _setting("decoder", "Decoder, which makes text of tokens, or None.")
    encode_special_tokens = _setting(
        "encode_special_tokens", "True: special tokens in texts are split like any text."
    )

    @property
    def truncation(self) -> dict[str, Any] | None:
        """Settings of truncation; None: texts are not truncated."""
        return self._original.truncation  # type: ignore[no-any-return]

    @property
    def padding(self) -> dict[str, Any] | None:
        """Settings of padding; None: encodings are not padded."""
        return self._original.padding  # type: ignore[no-any-return]

    def enable_truncation(
        self, max_length: int, *, stride: int = 0, strategy: str = "longest_first", direction: str = "right"
    ) -> None:
        """Truncate from now on.

        Args:
            max_length: most ids, the template's among them.
            stride: ids that a part in `Encoding.overflowing` shares with the one before.
            strategy: text of a pair that is cut: "longest_first", "only_first" or "only_second".
            direction: side at which ids are cut off: "right" or "left".
        """
        self._original.enable_truncation(max_length, stride=stride, strategy=strategy, direction=direction)

    def no_truncation(self) -> None:
        """Truncate no longer."""
        self._original.no_truncation()

    def enable_padding(
        self,
        *,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
    ) -> None:
        """Pad from now on.

        Args:
            direction: side: "right" or "left".
            pad_id, pad_type_id, pad_token: id, type id and token of padding.
            length: number of ids; None: as many as the longest encoding of the batch has.
            pad_to_multiple_of: round the length up to a multiple of it.
        """
        self._original.enable_padding(
            direction=direction,
            pad_id=pad_id,
            pad_type_id=pad_type_id,
            pad_token=pad_token,
            length=length,
            pad_to_multiple_of=pad_to_multiple_of,
        )

    def no_padding(self) -> None:
        """Pad no longer."""
        self._original.no_padding()

    # Training

    def train(self, files: Sequence[str], trainer: Any = None) -> None:
        """Learn a vocabulary from files of text, by tokenizers' own trainer.

        Args:
            files: paths.
            trainer: a trainer of `fastbpe.tokenizers.trainers`; None: one with the settings of the model.
        """
        self._original.train(files, trainer)

    def train_from_iterator(self, iterator: Iterable[Any], trainer: Any = None, length: int | None = None) -> None:
        """Learn a vocabulary from texts, by tokenizers' own trainer.

        Args:
            iterator: iterable of str, or of lists of str.
            trainer: as in `train`.
            length: number of texts, for the progress bar.
        """
        self._original.train_from_iterator(iterator, trainer, length)

    # In threads of their own

    async def async_encode(self, *args: Any, **options: Any) -> Encoding:
        """Encode as `encode` does, in a thread."""
        return await _in_thread(self.encode, *args, **options)

    async def async_encode_batch(self, *args: Any, **options: Any) -> list[Encoding]:
        """Encode as `encode_batch` does, in a thread."""
        return await _in_thread(self.encode_batch, *args, **options)

    async def async_encode_batch_fast(self, *args: Any, **options: Any) -> list[Encoding]:
        """Encode as `encode_batch_fast` does, in a thread."""
        return await _in_thread(self.encode_batch_fast, *args, **options)

    async def async_decode_batch(self, *args: Any, **options: Any) -> list[str]:
        """Decode as `decode_batch` does, in a thread."""
        return await _in_thread(self.decode_batch, *args, **options)

    def __repr__(self) -> str:
        return repr(self._original)

    def __str__(self) -> str:
        return str(self._original)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._original.__getstate__(),)

    def __copy__(self) -> Tokenizer:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        copied = copy.deepcopy(self._original, memo)
        made = Tokenizer.__new__(Tokenizer)
        made._original, made._engine = copied, self._engine.copy_for(copied)
        return made


async def _in_thread(function: Callable[..., _Result], *args: Any, **options: Any) -> _Result:
    import asyncio  # here: it takes a third of the time of importing the rest

    return await asyncio.to_thread(function, *args, **options)


def over(tokenizer: Any) -> Tokenizer:
    """Return a tokenizer over one of the original class, which it keeps."""
    made = Tokenizer.__new__(Tokenizer)
    made._original, made._engine = tokenizer, Engine(tokenizer)
    return made


def original_of(tokenizer: Any) -> Any:
    """Return the tokenizer of the original class below one of this module; any other object unchanged."""
    return tokenizer._original if type(tokenizer) is Tokenizer else tokenizer


def _restore(state: bytes) -> Tokenizer:
    return over(_Original.from_buffer(state))
