"""Choice of a model's family."""

from __future__ import annotations

from fastbpe.model import CodePointModel, Model
from fastbpe.tokenizer.families.family import Family


def family_of(model: Model | CodePointModel) -> Family:
    """Return the family for a model.

    Raises:
        TypeError: it is not a model.
        VocabularyError, SpecialTokenError, PatternError: it contradicts itself.
    """
    if isinstance(model, CodePointModel):
        from fastbpe.tokenizer.families.codepoint_family import (
            CodePointFamily,  # here: most programs need one family
        )

        return CodePointFamily(model)
    if not isinstance(model, Model):
        raise TypeError(f"model must be a Model, not {type(model).__name__}; fastbpe.load reads a file")
    if model.spelling is not None:
        from fastbpe.tokenizer.families.character_family import CharacterFamily

        return CharacterFamily(model)
    from fastbpe.tokenizer.families.byte_family import ByteFamily

    return ByteFamily(model)
