"""What a Model says of text before any merge, as the objects that do it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import astuple, replace
from typing import Any

from fastbpe._core.front import Front
from fastbpe._core.splitter import Splitter
from fastbpe.model import Model
from fastbpe.patterns import PATTERNS, Pattern, resolve_pattern
from fastbpe.splitting import make_splitter


def splitting(model: Model) -> tuple[Model, str | None, Pattern, Splitter]:
    """The model with the pattern itself in place of a name or of steps; its name, the pattern, what splits."""
    if not model.pre_tokenizers:
        name, pattern = resolve_pattern(model.pattern)
        return replace(model, pattern=pattern), name, pattern, make_splitter(pattern)
    from fastbpe.splitting.steps import as_pattern, make_sequence, step_of  # here: few tokenizers have them

    steps = [step_of(described) for described in model.pre_tokenizers]
    said, pattern = as_pattern(steps)
    if not said:
        return replace(model, pattern=None), None, None, make_sequence(steps)
    name = next((name for name, text in PATTERNS.items() if text == pattern), None)
    return replace(model, pattern=pattern, pre_tokenizers=()), name, pattern, make_splitter(pattern)


def front(model: Model) -> tuple[Front | None, Callable[[str], str] | None]:
    """What becomes of text before it is split, and the same for a token's text; None: nothing."""
    if not model.normalizers and not model.prefix_space:
        return None, None
    from fastbpe.normalizers import make_change, make_front  # here: few tokenizers have them

    return make_front(model.normalizers, prefix_space=model.prefix_space), make_change(model.normalizers)


def extras(model: Model) -> list[Any]:
    """What else decides ids, for the fingerprint; nothing for most tokenizers."""
    extras = [
        model.pre_tokenizers,
        model.normalizers,
        model.prefix_space,
        [astuple(token) for token in model.added_tokens],
    ]
    return [json.dumps(extras)] if any(extras) else []
