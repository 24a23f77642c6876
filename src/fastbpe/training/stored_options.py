"""training_options: the options of a training run, as stored in a sentencepiece model."""

from __future__ import annotations

from typing import Any

from fastbpe.formats.sentencepiece import specs
from fastbpe.model import CodePointModel
from fastbpe.tokenizer.internals import check_tokenizers, family_of
from fastbpe.tokenizer.tokenizer import Tokenizer

# Options that readers of a tokenizer.json or a GGUF file set, too: a model with only these stores no training.
_SAID_ELSEWHERE = {
    *("model_type", "vocab_size", "byte_fallback", "treat_whitespace_as_suffix"),
    *(f"{role}_{what}" for role in ("unk", "bos", "eos", "pad") for what in ("id", "piece")),
}


def training_options(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the options with which sentencepiece, or `train` in code-point or unigram mode, trained a tokenizer.

    Only a sentencepiece model stores them. Options that do not affect the model are left out, such as the paths of
    its input.

    Args:
        tokenizer: Tokenizer.

    Returns:
        Keyword arguments for `train`; {} if the tokenizer's file stores no options.

    Raises TypeError if tokenizer is not a Tokenizer.

    >>> import fastbpe
    >>> tokenizer = fastbpe.train(["ab ab abc"], mode="codepoint", vocab_size=10)
    >>> fastbpe.train(["ab ab abc"], **fastbpe.training_options(tokenizer)) == tokenizer
    True
    """
    check_tokenizers(tokenizer=tokenizer)
    model = family_of(tokenizer).own
    if not isinstance(model, CodePointModel):
        return {}
    given = model.trainer.values
    if not model.training and {"byte_fallback", "unk_id"} <= given.keys() <= _SAID_ELSEWHERE:
        return {}
    options = {name: value for name, value in given.items() if name not in (*specs.WITHOUT_EFFECT, "num_threads")}
    rules = model.normalizer
    options |= {name: rules[name] for name in rules.values if name not in ("name", "precompiled_charsmap")}
    no_rules = "user_defined" if rules["precompiled_charsmap"] else "identity"
    is_unigram = model.trainer["model_type"] == "unigram"
    for name in ("model_type",) if is_unigram else specs.OF_UNIGRAM:
        options.pop(name, None)
    return {
        "mode": "unigram" if is_unigram else "codepoint",
        "vocab_size": model.trainer["vocab_size"],
        "normalization_rule_name": rules["name"] or no_rules,
        **options,
    }
