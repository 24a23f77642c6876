"""CharacterTokenizer: a Tokenizer over a vocabulary of characters, as most files of tokenizers hold."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from fastbpe._core.decode.tokenizer_methods import check_errors
from fastbpe._core.encode.offsets import staged_pieces
from fastbpe._utils.caching import cached_property
from fastbpe._utils.choices import DecodeErrors, UnknownIds
from fastbpe.formats import native
from fastbpe.model import CodePointModel, Model, Spelling
from fastbpe.tokenizer.flat_ids import sequences
from fastbpe.tokenizer.step_decoding import StepDecoding
from fastbpe.tokenizer.tokenizer import CACHE_BYTES, Batch, Ids, Special, Text, Tokenizer

if TYPE_CHECKING:
    from fastbpe._core.decode.stream_decoder import StreamDecoder
    from fastbpe.tokenizer.completing import SpelledCompleter
    from fastbpe.tokenizer.exportable import Files
    from fastbpe.tokenizer.merged_tokens import MergedTokens
    from fastbpe.tokenizer.removing_bytes import ByteRemoval
    from fastbpe.tokenizer.stream_cuts import PairCuts
    from fastbpe.vocabularies.between import Speller
    from fastbpe.vocabularies.material import Material


class CharacterTokenizer(Tokenizer):
    """BPE tokenizer whose base symbols are characters, with the ids of tokenizers. Made by `load`.

    Every tokenizer.json of a BPE model that is neither byte-level nor of the kind of Llama 2 is one: with
    `end_of_word_suffix` (CLIP, GPT-1), over words between white space, with an unknown token, with any steps of
    the library before and after.

    This class documents the methods that differ from `Tokenizer`'s. Tokens are as the file spells them.
    """

    def __init__(self, model: Model, *, cache_bytes: int = CACHE_BYTES) -> None:
        """Make a tokenizer of a model. Use `load` instead."""
        if not isinstance(model, Model) or model.spelling is None:
            raise TypeError("model must be a Model with a spelling; fastbpe.load reads a file")
        super().__init__(model, cache_bytes=cache_bytes)

    @property
    def mode(self) -> str:
        """Kind of base symbols: "character"."""
        return "character"

    def pieces(self, text: Text) -> list[tuple[int, int]]:
        """Split a text. Returns the start and end of each piece, in characters of the text that it comes from.

        Normalizers are not applied. A step may remove text, or put some before a piece.
        """
        stages = self._pipeline.stages
        return super().pieces(text) if stages is None else staged_pieces(self._splitter, stages, text)

    # Decoding

    @cached_property
    def _decoding(self) -> StepDecoding:
        """Decoding by the steps of the file."""
        tokens = self._vocabulary.tokens()
        tokens += [b""] * (self.max_token_value + 1 - len(tokens))
        for token_id, token in self._special.decoded.items():
            tokens[token_id] = token
        empty = [i for i in (self._model.huggingface.get("empty_token"),) if i is not None]
        return StepDecoding(self._model.huggingface.get("decoder"), tokens, self._special.left_out, empty=empty)

    def decode(
        self,
        ids: Ids,
        *,
        errors: DecodeErrors = "replace",
        num_threads: int | None = None,
        unknown_ids: UnknownIds = "raise",
        skip_special_tokens: bool = False,
    ) -> str:
        """Decode ids to text by the decoder of the file, as tokenizers does; without one, with spaces between.

        Takes the arguments of `Tokenizer.decode`.
        """
        check_errors(errors)
        return self._decoding.decode(ids, errors, num_threads, unknown_ids, skip_special_tokens)

    def decode_batch(
        self,
        batch: Batch,
        *,
        errors: DecodeErrors = "replace",
        num_threads: int | None = None,
        unknown_ids: UnknownIds = "raise",
        skip_special_tokens: bool = False,
    ) -> list[str]:
        """Decode each sequence of ids, in order, as `decode` does. Takes the arguments of `Tokenizer`'s method."""
        check_errors(errors)
        return self._decoding.decode_batch(sequences(batch), errors, num_threads, unknown_ids, skip_special_tokens)

    def decode_bytes(self, ids: Ids) -> bytes:
        """Decode ids to bytes: the UTF-8 of `decode`, or the bytes that a decoder of bytes makes."""
        return self._decoding.decode_bytes(ids)

    def decode_single_token_bytes(self, token_id: int) -> bytes:
        """Give the bytes that an id adds within a text, or has alone if they depend on the ids beside it.

        Raises:
            InvalidTokenError: the id has no token (a KeyError).
        """
        return self._decoding.decode_single_token_bytes(token_id)

    def decode_tokens_bytes(self, ids: Ids) -> list[bytes]:
        """Give the bytes that each id adds to the text of all. Joined, they are what `decode_bytes` gives."""
        return self._decoding.decode_tokens_bytes(ids)

    def decode_with_offsets(self, ids: Ids) -> tuple[str, list[int]]:
        """Decode ids, and tell for each the position in the text of the first character that it adds to."""
        return self._decoding.decode_with_offsets(ids)

    def decoder(
        self,
        *,
        errors: DecodeErrors = "replace",
        unknown_ids: UnknownIds = "raise",
        skip_special_tokens: bool = False,
    ) -> StreamDecoder:
        """Make a stream that decodes ids as they come. Takes the arguments of `Tokenizer.decoder`.

        Text goes out as soon as no id can change it; steps that need the whole text wait for `finish`.
        """
        return self._decoding.stream(errors, unknown_ids, skip_special_tokens)

    # Being a value

    def __reduce__(self) -> tuple[Callable[[bytes], CharacterTokenizer], tuple[bytes]]:
        return _unpickle, (zlib.compress(native.dump(self._full_model(), look_ups=False), 1),)

    # Parts that Tokenizer has otherwise

    @property
    def _spelling(self) -> Spelling:
        assert self._model.spelling is not None
        return self._model.spelling

    def _cutter(self, special: Collection[str] = ()) -> Callable[[bytes], int] | None:
        return super()._cutter(special) if self._pipeline.stages is None else None

    @cached_property
    def _pair_cuts(self) -> PairCuts | None:
        return None  # a prefix or suffix makes other symbols of the characters beside a cut

    def _dump(self, format: str) -> Files:
        from fastbpe.tokenizer.export import dump_characters  # here: it imports all formats

        return dump_characters(self, format)

    def _remake(self, model: Model | CodePointModel | None = None) -> Tokenizer:
        if isinstance(model, CodePointModel):  # what is exported may be read as one of the other families
            from fastbpe.tokenizer.codepoint import CodePointTokenizer  # here: few files are

            return CodePointTokenizer(model, cache_bytes=0)
        if model is not None and model.spelling is None:
            return Tokenizer(model, cache_bytes=0)
        return CharacterTokenizer(self._full_model() if model is None else model, cache_bytes=0)

    def _speller(self) -> Speller:
        from fastbpe.tokenizer.entries import character_speller  # here: few programs need it

        return character_speller(self._vocabulary, self._spelling)

    def _removal_class(self) -> type[ByteRemoval]:
        from fastbpe.tokenizer.removing_characters import CharacterRemoval

        return CharacterRemoval

    @cached_property
    def _merged_tokens(self) -> MergedTokens:
        from fastbpe.tokenizer.merged_tokens import of_spelled  # here, as below: few programs ask how text merges

        named = {token.id for token in self._special.added} | {*self._special.ids.values()}
        return of_spelled(self._vocabulary, self._splitter, named, self._spelling, self._numbers_of_words)

    def _numbers_of_words(self, text: str, allowed_special: Special) -> Sequence[int]:
        """Give the number of the word of each id."""
        from fastbpe.tokenizer.words import find_words

        words = find_words(self, text, (), (), allowed_special=allowed_special)
        assert words is not None  # None is for code points
        return words.numbers

    @cached_property
    def _completer(self) -> SpelledCompleter:
        from fastbpe.tokenizer.completing import SpelledCompleter

        named = {token.id for token in self._special.added} | {*self._special.ids.values()}
        ids = [i for i, token in enumerate(self.vocab) if token and i not in named]
        return SpelledCompleter({i: self.decode_single_token_bytes(i) for i in ids})

    def _material(self) -> Material:
        from fastbpe.tokenizer.material import spelled_material

        special = self._special
        return spelled_material(self.vocab, self.special_tokens, special.added, self._model, self._vocabulary)

    def _spelled_out(self) -> dict[int, list[int]]:
        from fastbpe.tokenizer.untrusted_text import spelled_symbols  # here: only `encode_parts` needs it

        return spelled_symbols(self._model, self._vocabulary, {token.id for token in self._special.added})


def _unpickle(state: bytes) -> CharacterTokenizer:
    model = native.parse(zlib.decompress(state), "<pickle>")
    assert isinstance(model, Model)
    return CharacterTokenizer(model)
