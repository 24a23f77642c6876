"""Code-point training that extends a model (`base=`): its pieces, scores and ids stay, and new pieces follow.

Each counted word is first encoded by the base, so the base's merges come first. From there the learner continues
with sentencepiece's rules. New scores are below the lowest old score, so that old pieces are merged first. A score
of -2**24 or less marks a piece that comes after all others (Llama 2's runs of spaces have -1e9): new pieces come
before it.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping
from typing import Any

from fastbpe._core.encode.codepoint_pieces import TokenEncoder, marks_spaces
from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe._core.train.piece_table import PieceTable
from fastbpe._utils.short_reprs import short_repr
from fastbpe.errors import OptionError, TrainingError
from fastbpe.formats.sentencepiece import specs
from fastbpe.model import CodePointModel, PieceType, pack_merges, pack_pieces
from fastbpe.tokenizer.families.codepoint_tables import make_normalizer
from fastbpe.tokenizer.internals import code_point_model_of
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.base_vocabulary import check_mode
from fastbpe.training.codepoint_counts import BOUNDARY
from fastbpe.training.codepoint_options import CodePointOptions, checked_trainer

#: Options that may differ from the base's: they decide which new pieces the run learns, and from which text.
_FREE = {
    "character_coverage", "required_chars", "max_sentencepiece_length", "max_sentence_length", "split_digits",
    "split_by_unicode_script", "split_by_number", "split_by_whitespace", "allow_whitespace_only_pieces",
    "pretokenization_delimiter", "hard_vocab_limit", "input_format", "input_sentence_size",
    "shuffle_input_sentence",
}  # fmt: skip
_MAX_SCORE = 1 << 24  # from here on, neighbouring floats are more than 1 apart


class CodePointBase:
    """Model that a training run extends.

    Args:
        tokenizer: the tokenizer of the model.

    Raises:
        TrainingError: pieces cannot be learned for this model.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.model = code_point_model_of(tokenizer)
        if self.model.changes_texts:
            raise TrainingError(
                "base= changes texts before its normalization rules do (GPT-SW3), which training cannot do; train "
                "without base="
            )
        if not self.model.normalizer["escape_whitespaces"]:
            raise TrainingError(
                "base= keeps spaces as they are (escape_whitespaces=False), but pieces can only be learned where "
                "spaces become U+2581; train without base="
            )
        if not make_normalizer(self.model).gives_utf8:
            raise TrainingError(
                "the normalization of base= turns text into bytes that are not UTF-8 (because of its "
                "precompiled_charsmap or a user-defined symbol), but training needs characters; train without "
                "base="
            )
        self._tokenizer = tokenizer
        texts = [piece.decode("utf-8", "replace") for piece in self.model.pieces]
        # In a counted word, BOUNDARY stands for a symbol: a piece with this character would be found in its place.
        self._texts = {text: i for i, text in enumerate(texts) if chr(BOUNDARY) not in text}
        self.characters = {
            text for text, i in self._texts.items() if len(text) == 1 and self.model.types[i] == PieceType.NORMAL
        }
        self._longer = [text for text in self._texts if len(text) > 1]

    def options(self, vocab_size: int | str, keywords: Mapping[str, Any]) -> CodePointOptions:
        """Return the options of the run: the options of the base, and the caller's options for learning.

        Raises:
            TrainingError: vocab_size is not a number.
            OptionError: an option would change the base.
            SpecError: an option has an invalid value.
        """
        if not isinstance(vocab_size, int):
            raise TrainingError(
                f"vocab_size={short_repr(vocab_size)}: with base=, pass a number of ids, or '+' and the number of "
                "new ones"
            )
        bad = next((name for name in keywords if name not in _FREE), None)
        if bad is not None:
            raise OptionError(f"{bad}= cannot be changed with base=, whose ids must stay; leave {bad}= out")
        model = self.model
        values = {**model.trainer.values, **keywords, "vocab_size": vocab_size, "model_type": "bpe"}
        trainer = checked_trainer(values, model.trainer)
        names = {
            i: (piece.decode("utf-8", "replace"), kind)
            for i, (piece, kind) in enumerate(zip(model.pieces, model.types, strict=True))
            if kind not in (PieceType.NORMAL, PieceType.UNUSED)
        }
        names |= {token.id: (token.content, PieceType.USER_DEFINED) for token in model.added_tokens}
        normalizer = model.normalizer
        # a tokenizer.json states the space before texts as a convention, not as an option of the normalizer
        if model.conventions is not None and model.conventions.prefix:
            normalizer = specs.make(specs.NORMALIZER, {**normalizer.values, "add_dummy_prefix": True})
        return CodePointOptions(trainer=trainer, normalizer=normalizer, denormalizer=None, metas=names)

    def has(self, character: str) -> bool:
        """Tell whether a character is a piece of the base, of any type."""
        return character in self._texts

    def alphabet(self, new: list[str]) -> list[str]:
        """List the characters of the run in ascending order: the characters of the base's pieces, and new ones."""
        return sorted({*new}.union(*self._texts))

    def pieces(self, alphabet: list[str]) -> list[list[int]]:
        """List the base's pieces of several characters, as indices into the alphabet."""
        places = {character: i for i, character in enumerate(alphabet)}
        return [[places[character] for character in text] for text in self._longer]

    def cuts(self, words: PieceTable, new: list[str]) -> bytes:
        """Return the lengths of the pieces into which the base encodes words; see `cuts` of CodePointLearner."""
        # The words are normalized. This normalizer only makes U+2581 spaces, if the base's symbols have spaces.
        normalizer = Normalizer(
            b"",
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            escape_whitespaces=True,
            marks_to_spaces=marks_spaces(self._tokenizer),
        )
        encoder = TokenEncoder(self._tokenizer, normalizer)
        known, longer = self.characters | {*new}, {*self._longer}
        lengths = array("I")
        words.settle()
        for word, _ in words.items():
            text = word.decode()
            for start, end in encoder.encode(word, offsets=True).offsets(in_characters=True):
                part = text[start:end]
                if part in longer:
                    lengths.append(end - start)
                else:
                    lengths.extend([character in known for character in part])  # True is 1, False is 0
        return lengths.tobytes()

    def extended(
        self,
        learned: list[str],
        new_characters: list[str],
        merges: list[tuple[str, str]],
    ) -> CodePointModel:
        """Return the finished model.

        Args:
            learned: the learned pieces, best first.
            new_characters: characters that become pieces after them.
            merges: the two texts of each learned piece, for a model that lists its merges.

        Raises:
            TrainingError: floats cannot represent scores below the lowest one.
        """
        model = self.model
        new = [*learned, *new_characters]
        scores = struct.unpack(f"={model.n_pieces}f", model.scores)
        lowest = min((score for score in scores if score > -_MAX_SCORE), default=0.0)
        if lowest - len(new) <= -_MAX_SCORE:
            raise TrainingError(
                f"the lowest score of base= is {lowest:g}, and floats cannot represent {len(new)} lower scores "
                "that are 1 apart; lower vocab_size=, or train without base="
            )
        new_scores = [lowest - 1 - rank for rank in range(len(new))]
        piece_bytes, piece_ends = pack_pieces([*model.pieces, *(text.encode() for text in new)])
        listed = b""
        if model.merges:
            ids = {**self._texts, **{text: model.n_pieces + i for i, text in enumerate(new)}}
            triples = [(ids[left], ids[right], ids[left + right]) for left, right in merges]
            listed = bytes(model.merges) + pack_merges(triples)
        values = {**model.trainer.values, "vocab_size": model.n_pieces + len(new)}
        return model._replace(
            piece_bytes=piece_bytes,
            piece_ends=piece_ends,
            scores=model.scores + struct.pack(f"={len(new)}f", *new_scores),
            types=model.types + bytes([PieceType.NORMAL]) * len(new),
            trainer=specs.make(specs.TRAINER, values, model.trainer.unknown),
            merges=listed,
            serialized=b"",
        )


def code_point_base(base: Tokenizer) -> CodePointBase:
    """Return the base of a run.

    Raises TrainingError for a tokenizer of another mode or with rules that training lacks, TypeError for other
        objects.
    """
    check_mode(base, "codepoint")
    return CodePointBase(base)
