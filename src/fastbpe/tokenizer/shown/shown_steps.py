"""steps: the changes and splits of a text before merging."""

from __future__ import annotations

from typing import Any

from fastbpe.tokenizer.internals import check_tokenizers
from fastbpe.tokenizer.tokenizer import Tokenizer


def steps(tokenizer: Tokenizer) -> dict[str, list[dict[str, Any]]]:
    """List the steps that change and split a text before merging, in the form of a tokenizer.json.

    A sentencepiece model has some of these normalizers: Precompiled contains its rules; Strip and Replace remove
    extra white space; Prepend puts a space before a text; Replace replaces spaces by U+2581. If the model puts a
    space after a text, the list leaves this out: a tokenizer.json has no step for it.

    Args:
        tokenizer: Tokenizer.

    Returns:
        {"normalizers": steps that change text before it is split, "pre_tokenizers": steps that split it}. The
        second list is empty if `tokenizer.pattern` expresses the splitting.

    Raises:
        TypeError: tokenizer is not a Tokenizer.

    >>> import fastbpe
    >>> fastbpe.steps(fastbpe.Tokenizer.from_merges([], pattern="gpt2"))
    {'normalizers': [], 'pre_tokenizers': []}
    >>> tokenizer = fastbpe.train(["ab ab abc"], mode="codepoint", vocab_size=10)
    >>> [step["type"] for step in fastbpe.steps(tokenizer)["normalizers"]]
    ['Precompiled', 'Strip', 'Replace', 'Prepend', 'Replace']
    """
    check_tokenizers(tokenizer=tokenizer)
    family = tokenizer._family
    return {"normalizers": family.normalizers(), "pre_tokenizers": family.pre_tokenizers()}
