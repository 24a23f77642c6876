"""Arguments for the slow twins of code-point models and of their training. Needs no other library."""

from dataclasses import fields
from functools import lru_cache
from typing import Any

from fastbpe.model import CodePointModel, PieceType, Spec
from fastbpe.splitting.scripts import COMMON, INHERITED, NONE, script_numbers
from reference.normalization import Normalizer, rules_of
from reference.sentencepiece import floats
from reference.sentencepiece_training import Trainer

_rules_of = lru_cache(rules_of)


def running_arguments(model: CodePointModel) -> tuple[Any, ...]:
    """List the arguments of `Processor` and `Unigram` for a model."""
    spec = model.normalizer
    normalizer = Normalizer(
        _rules_of(spec["precompiled_charsmap"]),
        spec["add_dummy_prefix"],
        spec["remove_extra_whitespaces"],
        spec["escape_whitespaces"],
        model.trainer["treat_whitespace_as_suffix"],
        [piece for piece, kind in zip(model.pieces, model.types, strict=True) if kind == PieceType.USER_DEFINED],
    )
    trainer = model.trainer
    fallback, surface = trainer["byte_fallback"], trainer["unk_surface"].encode()
    return model.pieces, floats(model.scores), list(model.types), normalizer, fallback, surface


def training_arguments(kind: type[Trainer], trainer: Spec, normalizer: Spec) -> dict[str, Any]:
    """Make the arguments of `Trainer` or `UnigramTrainer`, except symbols."""
    # The twin's numbers: 0 is Common and none, 1 is Inherited.
    table = script_numbers().translate(bytes.maketrans(bytes([NONE, COMMON, INHERITED]), bytes([0, 0, 1])))
    made = Normalizer(
        _rules_of(normalizer["precompiled_charsmap"]),
        normalizer["add_dummy_prefix"],
        normalizer["remove_extra_whitespaces"],
        treat_whitespace_as_suffix=trainer["treat_whitespace_as_suffix"],
    )
    options = {field.name: trainer[field.name] for field in fields(kind) if field.name in trainer.defaults}
    return {**options, "normalizer": made, "script": lambda character: table[ord(character)]}
