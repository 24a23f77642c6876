"""steps: what happens to a text before merging."""

from __future__ import annotations

from typing import Any

from fastbpe.tokenizer.tokenizer import Tokenizer


def steps(tokenizer: Tokenizer) -> dict[str, list[dict[str, Any]]]:
    """List the steps that change and split a text before merging, as a tokenizer.json describes them.

    A model of sentencepiece has these normalizers: Precompiled holds its rules; Strip and Replace remove extra
    white space; Prepend puts a space before a text; Replace puts U+2581 in place of spaces. A space put after a
    text has no such term.

    Args:
        tokenizer: Tokenizer.

    Returns:
        {"normalizers": steps that change text before it is split, "pre_tokenizers": steps that split it}. The
        second list is empty if `tokenizer.pattern` expresses the splitting.

    >>> import fastbpe
    >>> fastbpe.steps(fastbpe.Tokenizer.from_merges([], pattern="gpt2"))
    {'normalizers': [], 'pre_tokenizers': []}
    >>> tokenizer = fastbpe.train(["ab ab abc"], mode="codepoint", vocab_size=10)
    >>> [step["type"] for step in fastbpe.steps(tokenizer)["normalizers"]]
    ['Precompiled', 'Strip', 'Replace', 'Prepend', 'Replace']
    """
    family = tokenizer._family
    return {"normalizers": family.normalizers(), "pre_tokenizers": family.pre_tokenizers()}
