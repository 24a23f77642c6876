"""Pre-tokenizers of Hugging Face tokenizers, also the ones that change text: a splitter, then stages.

ByteLevel replaces bytes by GPT-2's characters, and may put a space before each piece that does not begin with one.
Metaspace replaces spaces by a mark such as U+2581, and may put one before each piece that does not begin
with it, or only before the text.
Later steps see the changed pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastbpe._core.split.by_character import ByText
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.split.stages import Stage
from fastbpe.patterns import PATTERNS
from fastbpe.splitting.make import chain, make_splitter
from fastbpe.splitting.steps import make_sequence, step_of


def make_stages(
    described: Sequence[Mapping[str, Any]], *, mark: str = ""
) -> tuple[Splitter, Stage | None, Stage | None]:
    """Create the splitter of a text, and the stages after it.

    Args:
        described: the steps as described in a tokenizer.json, with all members.
        mark: a character that begins words: no merge makes a token with it after a different character.

    Returns:
        The splitter; the stages, or None if no step changes text; the same stages with an additional cut before
        each run of the mark, or None without a mark.

    Raises:
        PatternError: a pattern cannot be used.

    >>> splitter, stages, _ = make_stages([{"type": "WhitespaceSplit"}])
    >>> splitter.pieces("a bc"), stages
    ([(0, 1), (2, 4)], None)
    """
    groups: list[tuple[dict[str, Any], list[Splitter]]] = [({}, [])]  # change of text, and the splitters after it
    for step in described:
        if step["type"] == "ByteLevel":
            if step["add_prefix_space"]:
                groups.append(({"prefix": b" "}, []))
            if step["use_regex"]:
                groups[-1][1].append(make_splitter(PATTERNS["gpt2"]))
            groups.append(({"to_bytes": True}, []))
        elif step["type"] == "Metaspace":
            space, scheme = step["replacement"].encode(), step["prepend_scheme"]
            prefix = {} if scheme == "never" else {"prefix": space, "only_first": scheme == "first"}
            groups.append(({"space": space, **prefix}, []))
            if step["split"]:
                groups[-1][1].append(ByText(space, "begins"))
        else:
            groups[-1][1].append(make_sequence([step_of(step)]))
    cut = Stage(splitter=ByText(mark.encode(), "runs")) if mark else None
    return chain(groups[0][1]), _chained(groups[1:], None), _chained(groups[1:], cut) if mark else None


def _chained(groups: Sequence[tuple[dict[str, Any], list[Splitter]]], last: Stage | None) -> Stage | None:
    for change, splitters in reversed(groups):
        last = Stage(**change, splitter=chain(splitters) if splitters else None, then=last)
    return last
