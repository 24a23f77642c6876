"""CharacterFamily: a character-level vocabulary, as in most files of tokenizers.

Every tokenizer.json with a BPE model that is neither byte-level nor of Llama 2's kind has such a vocabulary. It
may have an `end_of_word_suffix` (CLIP, GPT-1), an unknown token, and any normalizers, pre-tokenizers and decoders
of the library. A tokenizer.json with a WordPiece, WordLevel or Unigram model has such a vocabulary, too.
Tokens are spelled as in the file.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.encode.offsets import staged_pieces
from fastbpe._utils.caching import cached_property
from fastbpe._utils.choices import DecodeErrors, UnknownIds
from fastbpe.model import Spelling
from fastbpe.tokenizer.families import step_objects
from fastbpe.tokenizer.families.byte_family import ByteFamily
from fastbpe.tokenizer.families.step_decoding import StepDecoding

if TYPE_CHECKING:
    from fastbpe._core.decode.stream_decoder import StreamDecoder
    from fastbpe.tokenizer.export.exportable import Exportable, Files
    from fastbpe.tokenizer.families.family import Decoding, SortedTokens, Surfaces
    from fastbpe.tokenizer.families.merged_tokens import MergedTokens
    from fastbpe.tokenizer.streams.stream_cuts import PairCuts
    from fastbpe.tokenizer.surgery.removing_bytes import ByteRemoval
    from fastbpe.vocabularies.between import Speller
    from fastbpe.vocabularies.material import Material


class CharacterFamily(ByteFamily):
    """Character-level vocabulary."""

    mode = "character"

    @property
    def spelling(self) -> Spelling:
        """Spelling of symbols in the file."""
        assert self._own.spelling is not None
        return self._own.spelling

    @property
    def model_type(self) -> str:  # type: ignore[override]  # constant in the other families
        return self.spelling.kind

    # Encoding

    def pieces(self, encoder: Encoder, text: str | bytes) -> list[tuple[int, int]]:
        if self._stages[0] is None:
            return super().pieces(encoder, text)
        return staged_pieces(self.splitter, self._stages[0], text)

    def cutter(self, encoder: Encoder, special: Collection[str] = ()) -> Callable[[bytes], int] | None:
        return super().cutter(encoder, special) if self._stages[0] is None else None

    def pair_cuts(self, encoder: Encoder) -> PairCuts | None:
        return None  # with a prefix or suffix, the characters next to a cut become other symbols

    def spelled_out(self) -> dict[int, list[int]]:
        from fastbpe.tokenizer.families.untrusted_text import spelled_symbols

        return spelled_symbols(
            self._own, self._vocabulary, self._merging, {token.id for token in self.special.added}
        )

    # Decoding

    @cached_property
    def _steps(self) -> StepDecoding:
        """Decoding by the steps of the file; without steps, tokens are joined by spaces."""
        tokens = self._vocabulary.tokens()
        tokens += [b""] * (self.n_ids - len(tokens))
        for token_id, token in self.special.decoded.items():
            tokens[token_id] = token
        empty = [i for i in (self._own.huggingface.get("empty_token"),) if i is not None]
        left_out = self.special.left_out
        if self.special.set and self.model_type == "Unigram":  # ids may share a special text
            texts = {name.encode() for name in self.special.set}
            left_out |= {i for i, token in enumerate(tokens) if token and token in texts}
        return StepDecoding(self._own.huggingface.get("decoder"), tokens, left_out, empty=empty)

    def decoding(self, *, skips: bool) -> Decoding:
        return self._steps.skipping() if skips else self._steps

    def stream(self, errors: DecodeErrors, unknown_ids: UnknownIds, *, skips: bool) -> StreamDecoder:
        return self._steps.stream(errors, unknown_ids, skips)

    @property
    def surfaces(self) -> Surfaces:
        return self._steps

    def text_within(self, token_id: int) -> str | None:
        return None if self._steps.depends_on_others(token_id) else super().text_within(token_id)

    # Tokens and ids

    def merged_tokens(self, encoder: Encoder) -> MergedTokens:
        from fastbpe.tokenizer.families.merged_tokens import of_spelled
        from fastbpe.tokenizer.families.words import words_of_pieces

        step_objects.check_merges_tokens(self._own)

        def numbers(text: str, allowed_special: str | Collection[str]) -> Sequence[int]:
            return words_of_pieces(encoder, self.special, text, allowed_special).numbers

        return of_spelled(self._vocabulary, self.splitter, self._named, self.spelling, numbers)

    def sorted_tokens(self) -> SortedTokens:
        named, token = self._named, self._steps.token
        return _SpelledTokens({i: token(i) for i, has in enumerate(self.vocab()) if has and i not in named})

    def material(self) -> Material:
        from fastbpe.tokenizer.families.collected_material import spelled_material

        step_objects.check_merges_tokens(self._own)
        special = self.special
        return spelled_material(self.vocab(), dict(special.ids), special.added, self._own, self._vocabulary)

    def speller(self) -> Speller:
        from fastbpe.tokenizer.surgery.entries import character_speller

        step_objects.check_merges_tokens(self._own)
        return character_speller(self._vocabulary, self.spelling)

    def _removal_class(self) -> type[ByteRemoval]:
        from fastbpe.tokenizer.surgery.removing_bytes import CharacterRemoval

        step_objects.check_merges_tokens(self._own)
        return CharacterRemoval

    # Writing

    def dump(self, tokenizer: Exportable, format: str) -> Files:
        from fastbpe.tokenizer.export.export import dump_characters

        return dump_characters(tokenizer, format)


class _SpelledTokens:
    """Ordinary tokens of a character-level tokenizer, in the order of their bytes.

    surfaces: id of each ordinary token → the bytes that it adds to a text.
    """

    def __init__(self, surfaces: Mapping[int, bytes]) -> None:
        self._ids = sorted(surfaces, key=lambda token_id: (surfaces[token_id], token_id))
        self._surfaces = [surfaces[token_id] for token_id in self._ids]

    def beginning_with(self, prefix: bytes) -> list[int]:
        """Return the ids of the tokens whose decoded bytes begin with a prefix."""
        first = bisect_left(self._surfaces, prefix)
        # From `first` on, the key is False for all tokens with the prefix, and then True.
        end = bisect_left(self._surfaces, True, first, key=lambda surface: not surface.startswith(prefix))
        return self._ids[first:end]
