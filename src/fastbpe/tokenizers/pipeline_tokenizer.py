"""Tokenizer: the class of tokenizers 0.23, run by fastbpe's core.

The class has the methods; a `Definition` has the model, components and settings, and builds fastbpe's tokenizer
that runs them.
"""

from __future__ import annotations

import os

from fastbpe.errors import FastbpeError, NoUnknownTokenError
from fastbpe.huggingface import checked_arguments
from fastbpe.huggingface.checked_arguments import number_or_none, of_type, sequence, token_id
from fastbpe.huggingface.encoding import Encoding
from fastbpe.tokenizers import component_texts, document, encoded_rows, lazy_batch, models
from fastbpe.tokenizers.added_token import checked
from fastbpe.tokenizers.definition import Definition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeVar

    from fastbpe.tokenizer.tokenizer import Tokenizer as Native
    from fastbpe.tokenizers import trainers

    _Result = TypeVar("_Result")

_NOT_IDS = (FastbpeError, ValueError, KeyError, OverflowError, TypeError)  # for ids without a token, or no ids


def _component(name: str, doc: str) -> Any:
    """Return a property whose value is a component or None."""

    def get(self: Tokenizer) -> Any:
        return self._definition.components[name]

    def set(self: Tokenizer, value: Any) -> None:
        self._definition.set_component(name, value)

    return property(get, set, None, doc)


class Tokenizer:
    """Tokenizer with a model and other components; all of them may be changed or replaced at any time.

    Args:
        model: a model of the module `models`, or of the tokenizers package; the latter is copied.

    Raises:
        TypeError: model is not a model.

    >>> from fastbpe.tokenizers import Tokenizer, models
    >>> Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])).encode("abba").tokens
    ['ab', 'b', 'a']
    """

    def __init__(self, model: Any) -> None:
        self._definition = Definition(model)

    @staticmethod
    def _of(definition: Definition) -> Tokenizer:
        made = Tokenizer.__new__(Tokenizer)
        made._definition = definition
        return made

    # Loading and saving

    @staticmethod
    def from_file(path: str) -> Tokenizer:
        """Load a tokenizer.json.

        Raises:
            OSError: the file cannot be opened.
            FormatError: as for `from_buffer`.
        """
        with open(of_type(path, str), "rb") as file:
            return Tokenizer.from_buffer(file.read())

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        """Load the text of a tokenizer.json. Raises the errors of `from_buffer`."""
        return Tokenizer.from_buffer(of_type(json, str).encode())

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        """Load the bytes of a tokenizer.json.

        Raises:
            FormatError: they are not a tokenizer.json, or a component is invalid or unknown.
        """
        return Tokenizer._of(Definition.read(of_type(buffer, bytes)))

    @staticmethod
    def from_pretrained(identifier: str, revision: str = "main", token: str | None = None) -> Tokenizer:
        """Load the tokenizer.json of a model that is on this machine; nothing is downloaded.

        Args:
            identifier: a folder, or ORG/NAME of a repository in Hugging Face's cache or in fastbpe's.
            revision: branch, tag or commit of the repository.
            token: not used.

        Raises:
            VocabularyNotFoundError (a FileNotFoundError): the model is not on this machine.
            OSError, FormatError: as for `from_file`.
            TypeError: identifier or revision is not a str.
        """
        from fastbpe.published.find import find_local  # here: most tokenizers come from files

        name, revision = of_type(identifier, str), of_type(revision, str)
        folder = name if os.path.isdir(name) else find_local(name, revision)
        return Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))

    def save(self, path: str, pretty: bool = True) -> None:
        """Write a tokenizer.json atomically. pretty: with line breaks.

        Raises OSError if it cannot be written, TypeError and FormatError as `to_str` does.
        """
        from fastbpe.formats import atomic_files  # here: many programs save no files

        atomic_files.write(of_type(path, str), self.to_str(pretty).encode())

    def to_str(self, pretty: bool = False) -> str:
        """Return the text of a tokenizer.json. pretty: with line breaks.

        Raises:
            TypeError: a component is written in Python.
            FormatError: a string has a lone surrogate.
        """
        return document.dump(self._definition.described(), pretty=of_type(pretty, bool))

    # Encoding

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Encoding:
        """Encode a text, or two.

        Args:
            sequence: a str; or a list of words, if is_pretokenized.
            pair: the second text.
            is_pretokenized: the texts are lists of words.
            add_special_tokens: add the ids of the post-processor's template.

        Raises:
            TypeError: an argument has the wrong type, or a str has a lone surrogate.
            ImportError: fastbpe cannot run this tokenizer; use the original library instead.
            FormatError: two tokens of the model have the same id. (It is a ValueError.)
            ValueError: the texts cannot be truncated with these settings, or need an unknown token that the
                vocabulary lacks.
        """
        if pair is None and is_pretokenized is False:
            adds_special = of_type(add_special_tokens, bool)
            try:
                return lazy_batch.encode_text(
                    self._definition.ready(), encoded_rows.text(sequence), adds_special=adds_special
                )
            except NoUnknownTokenError as error:
                raise error.saying(self._definition.model.no_unknown_token()) from None
        check = encoded_rows.words if of_type(is_pretokenized, bool) else encoded_rows.text
        row = encoded_rows.Row(check(sequence), None if pair is None else check(pair))
        return self._encode([row], is_pretokenized, add_special_tokens, False)[0]

    def encode_batch(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encode texts, or pairs of texts, on all usable cores.

        Args:
            input: list of texts and pairs (text, text); if is_pretokenized, of word lists and pairs of word lists.
            is_pretokenized, add_special_tokens: as in `encode`.

        Raises:
            TypeError, ImportError, ValueError: as in `encode`.
        """
        return self._encode_batch(input, is_pretokenized, add_special_tokens, False)

    def encode_batch_fast(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encode as `encode_batch` does, but without tokens, offsets and words."""
        return self._encode_batch(input, is_pretokenized, add_special_tokens, True)

    def _encode_batch(self, input: Any, words: bool, adds_special: Any, fast: bool) -> list[Encoding]:
        read = encoded_rows.words_row if of_type(words, bool) else encoded_rows.text_row
        batch = [*map(read, sequence(encoded_rows.without_arrays(input)))]
        return self._encode(batch, words, adds_special, fast)

    def _encode(self, batch: list[encoded_rows.Row], words: bool, adds_special: Any, fast: bool) -> list[Encoding]:
        adds_special = of_type(adds_special, bool)
        try:
            return lazy_batch.encode(
                self._definition.ready(), batch, words=words, adds_special=adds_special, fast=fast
            )
        except NoUnknownTokenError as error:
            raise error.saying(self._definition.model.no_unknown_token()) from None

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Truncate an encoding, or a pair of them, apply the post-processor, and pad the result.

        Args:
            encoding, pair: the encodings of a text, and of the second text.
            add_special_tokens: as in `encode`.
        """
        setup = self._definition.ready()
        texts = [of_type(one, Encoding).copied() for one in (encoding, *([] if pair is None else [pair]))]
        made = encoded_rows.post_process(setup, texts, of_type(add_special_tokens, bool))
        if setup.padding is not None:
            encoded_rows.pad([made], setup.padding)
        return made

    # Decoding

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Decode ids. Ids without a token are left out.

        Args:
            ids: list of int.
            skip_special_tokens: leave special tokens out.

        Raises:
            TypeError, OverflowError: an id is not an int, or does not fit in 32 bits.
        """
        skips, found = of_type(skip_special_tokens, bool), self._definition.decoding()
        if found is not None and type(ids) is list:
            try:
                return found[0].decode(ids, skip_special_tokens=skips)
            except _NOT_IDS:
                pass
        return self._definition.decode_slowly([*map(token_id, sequence(ids))], skips=skips)

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Decode lists of ids, each as `decode` does, on all usable cores."""
        skips, found = of_type(skip_special_tokens, bool), self._definition.decoding()
        # Lists only: `found` would also decode sets, dicts and iterators, which tokenizers refuses.
        if found is not None and type(sequences) is list and {*map(type, sequences)} == {list}:
            try:
                return found[0].decode_batch(sequences, skip_special_tokens=skips)
            except _NOT_IDS:
                pass
        return [self.decode([*map(token_id, sequence(ids))], skips) for ids in sequence(sequences)]

    def _stream_texts(self, skips: bool) -> tuple[Native, dict[int, str | None]] | None:
        """Return fastbpe's tokenizer, and a table for a `DecodeStream`: id → text that it adds.

        Returns None if the stream must decode all its latest ids at each step. Each change of the tokenizer
        starts a new table. skips: special tokens are left out.
        """
        found = self._definition.decoding()
        return None if found is None else (found[0], found[1][skips])

    # Vocabulary

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token, spelled as in the vocabulary; None if there is no such token."""
        return self._definition.find(of_type(token, str))

    def id_to_token(self, id: int) -> str | None:
        """Return the token of an id, or None.

        A token is spelled as in the vocabulary; an added token with `normalized` is returned in its normalized
        form.
        """
        return self._definition.token(token_id(id))

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the id of each token. with_added_tokens: include the added tokens."""
        definition = self._definition
        return {**definition.model.vocab, **(definition.added.ids if of_type(with_added_tokens, bool) else {})}

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return the number of tokens. with_added_tokens: count the added tokens, too."""
        model = self._definition.model
        added = self._definition.added.ids if of_type(with_added_tokens, bool) else ()
        n_tokens: int = model.size()
        return n_tokens + sum(token not in model.vocab for token in added)  # a set of all tokens takes longer

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        """Return a dict from id to `AddedToken`."""
        return {i: token.copied() for i, token in sorted(self._definition.added.tokens.items())}

    def add_tokens(self, tokens: list[Any]) -> int:
        """Add tokens, which are searched for in texts before they are split. Tokens that exist keep their ids.

        Args:
            tokens: list of str or `AddedToken`.

        Returns:
            The number of tokens that were added or changed.

        Raises:
            TypeError: an item has the wrong type.
        """
        return self._definition.add(checked(tokens, special=False))

    def add_special_tokens(self, tokens: list[Any]) -> int:
        """Add special tokens, which decoding can leave out. Accepts the arguments of `add_tokens`."""
        return self._definition.add(checked(tokens, special=True))

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return the number of ids that the post-processor adds to a text, or to two."""
        of_type(is_pair, bool)
        return 0 if self.post_processor is None else int(self.post_processor.n_added(is_pair))

    # Settings

    @property
    def model(self) -> Any:
        """Model of the tokenizer."""
        return self._definition.model

    @model.setter
    def model(self, value: Any) -> None:
        self._definition.set("model", models.checked(value))

    normalizer = _component("normalizer", "Normalizer of texts, or None.")
    pre_tokenizer = _component("pre_tokenizer", "Pre-tokenizer, or None.")
    post_processor = _component("post_processor", "Post-processor, or None.")
    decoder = _component("decoder", "Decoder, which turns tokens into text, or None.")

    @property
    def encode_special_tokens(self) -> bool:
        """True if special tokens in texts are encoded like any other text."""
        return self._definition.splits_special

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._definition.set("splits_special", of_type(value, bool))

    @property
    def truncation(self) -> dict[str, Any] | None:
        """Settings of truncation; None: texts are not truncated."""
        settings = self._definition.truncation
        return None if settings is None else {**settings}

    @property
    def padding(self) -> dict[str, Any] | None:
        """Settings of padding; None: encodings are not padded."""
        settings = self._definition.padding
        return None if settings is None else {**settings}

    def enable_truncation(
        self,
        max_length: int,
        *,
        stride: int = 0,
        strategy: str = "longest_first",
        direction: str = "right",
        **options: Any,
    ) -> None:
        """Turn on truncation.

        Args:
            max_length: maximum number of ids, including the ids of the template.
            stride: number of ids that a part in `Encoding.overflowing` shares with the part before it.
            strategy: which text of a pair is truncated: "longest_first", "only_first" or "only_second".
            direction: side at which ids are cut off: "right" or "left".
            Other options have no effect, and cause a warning.

        Raises:
            TypeError, OverflowError: a number is not an integer, or is negative.
            ValueError: an unknown strategy or side, or a stride greater than max_length minus the number of the
                template's ids.
        """
        checked_arguments.ignore(options)
        n_added = self.num_special_tokens_to_add(False)
        settings = document.checked_truncation(max_length, stride, strategy, direction, n_added)
        self._definition.set("truncation", settings)

    def no_truncation(self) -> None:
        """Turn off truncation."""
        self._definition.set("truncation", None)

    def enable_padding(
        self,
        *,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
        **options: Any,
    ) -> None:
        """Turn on padding.

        Args:
            direction: side on which padding is added: "right" or "left".
            pad_id, pad_type_id, pad_token: id, type id and token of padding.
            length: number of ids; None: the length of the longest encoding in the batch. Old name: max_length.
            pad_to_multiple_of: round the length up to a multiple of this number.
            Other options have no effect, and cause a warning.

        Raises:
            TypeError, OverflowError: a number is not an integer, or is negative.
            ValueError: an unknown side.
        """
        length = document.length_of_padding(length, options)
        checked_arguments.ignore(options)
        settings = document.checked_padding(direction, pad_id, pad_type_id, pad_token, length, pad_to_multiple_of)
        self._definition.set("padding", settings)

    def no_padding(self) -> None:
        """Turn off padding."""
        self._definition.set("padding", None)

    # Training

    def train(self, files: Sequence[str], trainer: Any = None) -> None:
        """Learn a vocabulary from files of text; each line is a text.

        Args:
            files: paths.
            trainer: a trainer for this type of model; None: one with default options.

        Raises:
            OSError: a file cannot be read.
            FormatError: a file is not UTF-8.
            TypeError, TrainingError: trainer is not a trainer, or is for another type of model.
            TrainingError: the vocab_size of a `UnigramTrainer` is smaller than the number of characters.
            ImportError: fastbpe cannot run the normalizer or pre-tokenizer.
        """
        from fastbpe.tokenizers import training  # here: few programs train

        paths = [of_type(path, str) for path in sequence(files)]
        training.train(self._definition, training.lines_of(paths), trainer)

    def train_from_iterator(self, iterator: Iterable[Any], trainer: Any = None, length: int | None = None) -> None:
        """Learn a vocabulary from texts.

        Args:
            iterator: iterable of str, or of lists of str.
            trainer: as in `train`.
            length: number of texts, or None; has no effect.

        Raises:
            TypeError: an item is neither a str nor a list of str, or the length is not an int.
            OverflowError: the length is not from 0 to 2**64 - 1.
            TypeError, TrainingError, ImportError: as for `train`.
        """
        from fastbpe.tokenizers import training  # here: few programs train

        number_or_none(length)
        training.train(self._definition, training.texts_of(iterator), trainer)

    def _train_languages(self, trainer: trainers.ParityBpeTrainer, *texts: Any) -> None:
        """Learn a BPE model from several languages. trainer, texts: arguments of `parity_learning.learn`."""
        from fastbpe.tokenizers import parity_learning  # here: few programs train

        model = models.BPE()
        vocab, merges = parity_learning.learn(self, trainer, *texts)
        model.replace(vocab, merges, trainer.continuing_subword_prefix, trainer.end_of_word_suffix)
        self.model = model
        self._definition.add(trainer.special_tokens)

    # In separate threads

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
        return document.show(self._definition.described(), component_texts.REPR)

    def __str__(self) -> str:
        return document.show(self._definition.described(), component_texts.STR)

    def __getstate__(self) -> bytes:
        return self.to_str().encode()

    def __setstate__(self, state: bytes) -> None:
        self.__dict__.update(Tokenizer.from_buffer(state).__dict__)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer.from_buffer, (self.__getstate__(),)

    def __copy__(self) -> Tokenizer:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        return Tokenizer._of(self._definition.copied())


async def _in_thread(call: Callable[..., _Result], *args: Any, **options: Any) -> _Result:
    import asyncio  # here: it is slow to import, and few programs need it

    return await asyncio.to_thread(call, *args, **options)
