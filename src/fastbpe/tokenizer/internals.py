"""Access to parts of a `Tokenizer` for other folders of this package, which must not read private attributes."""

from __future__ import annotations

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._utils.arguments import not_a_tokenizer
from fastbpe.model import CodePointModel, Model
from fastbpe.tokenizer.families.family import Family
from fastbpe.tokenizer.tokenizer import Tokenizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fastbpe._core.merge.sequence_vocabulary import SequenceVocabulary
    from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
    from fastbpe._core.split.splitter import Splitter
    from fastbpe.corpus.source_kinds import Cut
    from fastbpe.model import AddedToken
    from fastbpe.tokenizer.families.family import Surfaces
    from fastbpe.tokenizer.families.words import Words
    from fastbpe.tokenizer.sequences.sequence_tokenizer import SequenceTokenizer
    from fastbpe.tokenizer.special_token_rules import SpecialTokens


def check_tokenizers(**arguments: object) -> None:
    """Raise TypeError for an argument that is not a Tokenizer. arguments: by name."""
    for name, value in arguments.items():
        if not isinstance(value, Tokenizer):
            raise not_a_tokenizer(name, value)


def family_of(tokenizer: Tokenizer) -> Family:
    return tokenizer._family


def model_of(tokenizer: Tokenizer) -> Model:
    """Return the model of a byte-level or character-level tokenizer, without its tokens (see `vocabulary_of`)."""
    model = tokenizer._family.own
    assert isinstance(model, Model)
    return model


def code_point_model_of(tokenizer: Tokenizer) -> CodePointModel:
    model = tokenizer._family.own
    assert isinstance(model, CodePointModel)
    return model


def denormalizer_of(tokenizer: Tokenizer) -> Normalizer | None:
    """Return a code-point tokenizer's rules for decoded text; None if it has no rules."""
    from fastbpe.tokenizer.families.codepoint_family import CodePointFamily  # here: byte level does not need it

    assert isinstance(tokenizer._family, CodePointFamily)
    return tokenizer._family.denormalizer


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """Return the tables of tokens and merges of a tokenizer, read-only."""
    return tokenizer._family.vocabulary


def vocabulary_of_sequences(tokenizer: SequenceTokenizer) -> SequenceVocabulary:
    """Return the merges of a sequence tokenizer, read-only."""
    return tokenizer._vocabulary


def surfaces_of(tokenizer: Tokenizer) -> Surfaces:
    return tokenizer._family.surfaces


def special_of(tokenizer: Tokenizer) -> SpecialTokens:
    return tokenizer._special


def splitter_of(tokenizer: Tokenizer) -> Splitter:
    return tokenizer._pipeline.splitter


def cutter_of(tokenizer: Tokenizer, special: Collection[str] = ()) -> Cut | None:
    """Return a function that finds safe cuts of documents with special tokens; None if there are no safe cuts."""
    return tokenizer._family.cutter(tokenizer, special)


def find_words(
    tokenizer: Tokenizer,
    text: str,
    ids: Sequence[int],
    names: Mapping[int, str],
    allowed_special: str | Collection[str],
) -> Words | None:
    """Find the words of a text; None as in `words.words_of_code_points`. See also `words.words_of_pieces`."""
    from fastbpe.tokenizer.families import words  # here: few programs need it

    model = tokenizer._family.own
    if isinstance(model, CodePointModel):
        return words.words_of_code_points(tokenizer, tokenizer._special, model, text, ids, names, allowed_special)
    return words.words_of_pieces(tokenizer, tokenizer._special, text, allowed_special)


def id_without_name(tokenizer: Tokenizer) -> int:
    """Return the id of Unigram's unknown token, which tokenizers shows as the text that it replaces; else -1."""
    model = tokenizer._family.own
    if isinstance(model, CodePointModel) or model.spelling is None or model.spelling.kind != "Unigram":
        return -1
    return model.spelling.unknown


def remade(tokenizer: Tokenizer, model: Model | CodePointModel) -> Tokenizer:
    """Create a tokenizer for another model, with the class and cache settings of this one."""
    return tokenizer._of(model)


def with_roles(tokenizer: Tokenizer, roles: Mapping[str, str]) -> Tokenizer:
    return tokenizer._with_roles(roles)


def extended(tokenizer: Tokenizer, tokens: Sequence[AddedToken]) -> Tokenizer:
    """Return a tokenizer with more special and added tokens, as `with_tokens` does."""
    return tokenizer.with_tokens(tokens) if tokens else tokenizer
