"""Random options and texts for models that sentencepiece trains and fastbpe exports as tokenizer.json."""

import random
from collections.abc import Sequence
from typing import Any

SYMBOLS = ("<u>", "abc", "ab", "bcd", "▁d", "d▁a", "é", "[INST]", "[INST]▁▁", "b|c", "x.y", "<s><", "X", "a")
NAMES = ("<s>", "</s>", "<unk>", "<0x41>", "<0x00>")
LETTERS = ("a", "b", "ab", "c", " ", "<s>x", "d", "é", "1", "</", "<", "s>", "0x41")
SWITCHES = (
    "byte_fallback",
    "add_dummy_prefix",
    "remove_extra_whitespaces",
    "treat_whitespace_as_suffix",
    "split_digits",
    "allow_whitespace_only_pieces",
    "split_by_unicode_script",
    "split_by_whitespace",
    "split_by_number",
)


def sentences_of(rng: random.Random) -> list[str]:
    """Make 60 sentences, also with what looks like a control token."""
    return ["".join(rng.choices(LETTERS, k=rng.randint(1, 14))) for _ in range(60)]


def options_of(rng: random.Random, controls: Sequence[str]) -> dict[str, Any]:
    """Choose options of training; `controls` are the possible control symbols."""
    made: dict[str, Any] = {name: rng.random() < 0.5 for name in SWITCHES}
    made["user_defined_symbols"] = rng.sample(SYMBOLS, rng.choice([0, 0, 1, 2, 4]))
    made["control_symbols"] = rng.sample(controls, rng.choice([0, 0, 1, 2]))
    made["vocab_size"] = 256 * made["byte_fallback"] + rng.randint(34, 80)
    return made | rng.choice([{}, {}, {"bos_id": -1}, {"pad_id": 3}])


def texts_of(rng: random.Random, options: dict[str, Any], bits: Sequence[str]) -> list[str]:
    """Make texts of `bits` and of the symbols of a model."""
    symbols, controls = options["user_defined_symbols"], options["control_symbols"]
    bits = [*bits, *symbols, *controls]
    texts = ["", *bits, *("".join(rng.choices(bits, k=rng.randint(1, 10))) for _ in range(40))]
    return texts + [symbol + name for symbol in symbols for name in (*NAMES, *controls)]
