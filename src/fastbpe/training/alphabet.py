"""Choice of the alphabet in code-point training: the characters that become pieces."""

from __future__ import annotations

from collections.abc import Mapping

from fastbpe._core.train.sentence_store import characters
from fastbpe.errors import SpecError
from fastbpe.model import Spec
from fastbpe.training.codepoint_counting import BOUNDARY, CountedWords
from fastbpe.training.codepoint_options import float32


def character_counts(counted: CountedWords) -> dict[int, int]:
    """Count the occurrences of each code point.

    Raises:
        SpecError: there is no sentence with a character other than spaces.
    """
    if not counted.n_sentences:
        raise SpecError(
            "there is no sentence to learn from: "
            + (
                f"{counted.n_too_long:,} are longer than max_sentence_length=, {counted.n_reserved:,} contain "
                f"U+2585, {counted.n_empty:,} are empty"
                if counted.n_too_long or counted.n_reserved
                else "the source contains no lines, or only empty ones"
            ),
            "[!sentences_.empty()] ",
        )
    counts = characters(counted.words)
    for code_point, number in counted.pruned_characters.items():
        counts[code_point] = counts.get(code_point, 0) + number
    if not counts:
        raise SpecError(
            "there is no text to learn from: after normalization, the sentences contain only spaces or nothing",
            "[(all_chars_count) > (0)] ",
        )
    return counts


def alphabet_of(counts: Mapping[int, int], trainer: Spec) -> tuple[list[str], dict[str, int]]:
    """Choose the characters that become pieces: required and then frequent ones, until they cover enough text.

    Args:
        counts: code point → count.
        trainer: options of the trainer: character_coverage, required_chars, and use_all_vocab (take all
            characters).

    Returns:
        The characters, most frequent first; and the left-out characters with their counts.
    """
    required = {ord(character) for character in trainer["required_chars"]} - {0}
    order = sorted({*counts, *required}, key=lambda c: (c not in required, -counts.get(c, 0), c))
    total, covered, n = sum(counts.values()), 0, 0
    # Compare as 32-bit floats, as sentencepiece does: 0.9995 is a little less as a float.
    coverage = float("inf") if trainer["use_all_vocab"] else float32(trainer["character_coverage"])
    while n < len(order) and float32(covered / total) < coverage:
        covered += counts.get(order[n], 0)
        n += 1
    taken = sorted(order[:n], key=lambda c: (-counts.get(c, 0), c))
    left_out = {chr(c): counts[c] for c in order[n:] if c != BOUNDARY and c in counts}
    return [chr(c) for c in taken if c != BOUNDARY], left_out
