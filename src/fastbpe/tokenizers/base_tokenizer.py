"""BaseTokenizer: a wrapper around a tokenizer, as in the module `implementations` of tokenizers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from fastbpe.huggingface.encoding import Encoding
from fastbpe.tokenizers.pipeline_tokenizer import Tokenizer
from fastbpe.tokenizers.trainer import Trainer
from fastbpe.tokenizers.trainers import BpeTrainer


def _component(name: str) -> Any:
    """Return a property for a component of the wrapped tokenizer."""

    def get(self: BaseTokenizer) -> Any:
        return getattr(self._tokenizer, name)

    def set(self: BaseTokenizer, value: Any) -> None:
        setattr(self._tokenizer, name, value)

    return property(get, set, None, f"`{name}` of the wrapped `Tokenizer`.")


def _given(value: Any, message: str) -> Any:
    """Return a value. Raises ValueError with the message if the value is None."""
    if value is None:
        raise ValueError(message)
    return value


class BaseTokenizer:
    """Wrapper around a `Tokenizer`, with methods of the same names.

    Args:
        tokenizer: the `Tokenizer`.
        parameters: dict of the parameters that `repr` shows.
    """

    def __init__(self, tokenizer: Tokenizer, parameters: dict[str, Any] | None = None) -> None:
        self._tokenizer = tokenizer
        self._parameters = {} if parameters is None else parameters

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in self._parameters.items())
        return f"Tokenizer(vocabulary_size={self._tokenizer.get_vocab_size()}, {shown})"

    model = _component("model")
    normalizer = _component("normalizer")
    pre_tokenizer = _component("pre_tokenizer")
    post_processor = _component("post_processor")
    decoder = _component("decoder")

    # Encoding and decoding

    def normalize(self, sequence: str) -> str:
        """Normalize a text. Raises AttributeError if there is no normalizer."""
        return str(self._tokenizer.normalizer.normalize_str(sequence))

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Encoding:
        """Encode a text, or two, as `Tokenizer.encode` does. Raises ValueError if sequence is None."""
        _given(sequence, "encode: `sequence` can't be `None`")
        return self._tokenizer.encode(sequence, pair, is_pretokenized, add_special_tokens)

    def encode_batch(
        self, inputs: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encode texts, or pairs, as `Tokenizer.encode_batch` does. Raises ValueError if inputs is None."""
        _given(inputs, "encode_batch: `inputs` can't be `None`")
        return self._tokenizer.encode_batch(inputs, is_pretokenized, add_special_tokens)

    async def async_encode_batch(
        self, inputs: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encode as `encode_batch` does, in a thread."""
        _given(inputs, "async_encode_batch: `inputs` can't be `None`")
        return await self._tokenizer.async_encode_batch(inputs, is_pretokenized, add_special_tokens)

    async def async_encode_batch_fast(
        self, inputs: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encode as `Tokenizer.encode_batch_fast` does, in a thread."""
        _given(inputs, "async_encode_batch_fast: `inputs` can't be `None`")
        return await self._tokenizer.async_encode_batch_fast(inputs, is_pretokenized, add_special_tokens)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Decode ids as `Tokenizer.decode` does. Raises ValueError if ids is None."""
        _given(ids, "None input is not valid. Should be a list of integers.")
        return self._tokenizer.decode(ids, skip_special_tokens)

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Decode lists of ids. Raises ValueError if sequences is None."""
        _given(sequences, "None input is not valid. Should be list of list of integers.")
        return self._tokenizer.decode_batch(sequences, skip_special_tokens)

    async def async_decode_batch(
        self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        """Decode as `decode_batch` does, in a thread."""
        _given(sequences, "async_decode_batch: `sequences` can't be `None`")
        return await self._tokenizer.async_decode_batch(sequences, skip_special_tokens)

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Truncate an encoding, or a pair of them, apply the post-processor, and pad the result."""
        return self._tokenizer.post_process(encoding, pair, add_special_tokens)

    # Vocabulary

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token, or None."""
        return self._tokenizer.token_to_id(token)

    def id_to_token(self, id: int) -> str | None:
        """Return the token of an id, or None."""
        return self._tokenizer.id_to_token(id)

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the id of each token."""
        return self._tokenizer.get_vocab(with_added_tokens)

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return the number of tokens."""
        return self._tokenizer.get_vocab_size(with_added_tokens)

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        """Return a dict from id to `AddedToken`."""
        return self._tokenizer.get_added_tokens_decoder()

    def add_tokens(self, tokens: list[Any]) -> int:
        """Add tokens, and return how many were added or changed."""
        return self._tokenizer.add_tokens(tokens)

    def add_special_tokens(self, special_tokens: list[Any]) -> int:
        """Add special tokens, and return how many were added or changed."""
        return self._tokenizer.add_special_tokens(special_tokens)

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return the number of ids that the post-processor adds to a text, or to two."""
        return self._tokenizer.num_special_tokens_to_add(is_pair)

    # Settings

    @property
    def padding(self) -> dict[str, Any] | None:
        """Settings of padding, or None."""
        return self._tokenizer.padding

    @property
    def truncation(self) -> dict[str, Any] | None:
        """Settings of truncation, or None."""
        return self._tokenizer.truncation

    def enable_padding(
        self,
        direction: str = "right",
        pad_to_multiple_of: int | None = None,
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: int | None = None,
    ) -> None:
        """Turn on padding. Accepts the arguments of `Tokenizer.enable_padding`."""
        self._tokenizer.enable_padding(
            direction=direction,
            pad_to_multiple_of=pad_to_multiple_of,
            pad_id=pad_id,
            pad_type_id=pad_type_id,
            pad_token=pad_token,
            length=length,
        )

    def no_padding(self) -> None:
        """Turn padding off."""
        self._tokenizer.no_padding()

    def enable_truncation(self, max_length: int, stride: int = 0, strategy: str = "longest_first") -> None:
        """Turn on truncation at the end of texts. The arguments are as in `Tokenizer.enable_truncation`."""
        self._tokenizer.enable_truncation(max_length, stride=stride, strategy=strategy)

    def no_truncation(self) -> None:
        """Turn truncation off."""
        self._tokenizer.no_truncation()

    # Saving

    def save(self, path: str, pretty: bool = True) -> None:
        """Write a tokenizer.json."""
        self._tokenizer.save(path, pretty)

    def to_str(self, pretty: bool = False) -> str:
        """Return the text of a tokenizer.json."""
        return self._tokenizer.to_str(pretty)

    def save_model(self, directory: str, prefix: str | None = None) -> list[str]:
        """Write the files of the model into a folder, and return their paths."""
        return self._tokenizer.model.save(directory, prefix=prefix)  # type: ignore[no-any-return]


class TrainedTokenizer(BaseTokenizer):
    """Base of the classes whose training takes the options of a trainer."""

    _trainer: ClassVar[type[Trainer]] = BpeTrainer
    _options: ClassVar[tuple[str, ...]] = ()  # options of the trainer, in the order of `values` below

    def _train(self, files: str | Sequence[str], *values: Any) -> None:
        paths = [files] if isinstance(files, str) else files
        self._tokenizer.train(paths, self._made_trainer(values))

    def _train_from_iterator(self, iterator: Iterable[Any], length: int | None, *values: Any) -> None:
        self._tokenizer.train_from_iterator(iterator, self._made_trainer(values), length)

    def _made_trainer(self, values: Sequence[Any]) -> Trainer:
        return self._trainer(**dict(zip(self._options, values, strict=True)))
