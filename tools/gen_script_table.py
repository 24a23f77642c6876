"""Write the table of scripts for code-point training, or check that it is up to date.

    python tools/gen_script_table.py            write the file
    python tools/gen_script_table.py --check    exit with 1 if it would change

sentencepiece 0.2.3 is asked about every code point: only two characters of one script become a piece. So the
table tells which characters belong together, not the name of the script; the scripts come from Unicode 9.0.0,
with Hiragana and Katakana counted as Han. The scripts of the `regex` package are only a first guess. Characters
that the trainer reserves (NUL, U+001F, space, U+2581, U+2585) get no script.
"""

from __future__ import annotations

import argparse
import io
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import regex
import sentencepiece

from gen_unicode_tables import SCRIPTS, base36

PATH = Path(__file__).resolve().parents[1] / "src" / "fastbpe" / "training" / "script_table.py"
VERSION = "0.2.3"
RESERVED = {0, 0x1F, 0x20, 0x2581, 0x2585}
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and c not in RESERVED]
COMMON, INHERITED = 0, 1
BATCH = 200_000  # pairs to ask in one training


def joined(pairs: Iterable[str]) -> set[str]:
    """Return the texts of two characters that become a piece."""
    found: set[str] = set()
    listed = sorted(set(pairs))
    for start in range(0, len(listed), BATCH):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(listed[start : start + BATCH]),
            model_writer=model,
            model_type="bpe",
            vocab_size=4 * BATCH,
            hard_vocab_limit=False,
            character_coverage=1.0,
            normalization_rule_name="identity",
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
        )
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        found.update(piece for i in range(len(processor)) if len(piece := processor.id_to_piece(i)) == 2)
    return found


def guesses() -> dict[int, str]:
    """Return the script of each code point according to `regex`."""
    text = "".join(map(chr, CODE_POINTS))
    codes = [pair.split(":")[0] for pair in SCRIPTS.split()]
    return {ord(c): code for code in codes for c in regex.findall(rf"\p{{Script={code}}}", text)}


def classes() -> dict[int, int]:
    """Return the script of each code point that has one, as a number unique to the script."""
    guessed = guesses()
    samples: dict[str, str] = {}  # one character of each guessed script; the lowest code point is an old one
    for code_point in CODE_POINTS:
        if guessed.get(code_point, "zyyy") not in ("zyyy", "zinh"):
            samples.setdefault(guessed[code_point], chr(code_point))
    questions = {
        c: [chr(c) + ".", chr(c) + "a", chr(c) + samples.get(guessed.get(c, ""), ".")] for c in CODE_POINTS
    }
    answers = joined(question for asked in questions.values() for question in asked)
    found = {}
    open_ones = []
    for c, asked in questions.items():
        yes = [question in answers for question in asked]
        if yes[0]:
            found[c] = INHERITED if yes[1] else COMMON
        elif not yes[1] and not yes[2]:
            open_ones.append(c)
    named = {
        c: "a" if chr(c) + "a" in answers else asked[2][1] for c, asked in questions.items() if c not in found
    }
    by_sample = defaultdict(list)
    for c in open_ones:  # a script other than `regex`'s: ask about all
        by_sample[c] = [chr(c) + sample for sample in samples.values()]
    answers = joined(question for asked in by_sample.values() for question in asked)
    for c, asked in by_sample.items():
        named[c] = next((question[1] for question in asked if question in answers), chr(c))
    return found | numbered(named, set(samples.values()))


def numbered(named: dict[int, str], samples: set[str]) -> dict[int, int]:
    """Number the scripts that are represented by characters; representatives that join are one script."""
    used = sorted({*named.values()} | samples)
    answers = joined(left + right for left in used for right in used)
    first = {c: next(other for other in used if other == c or c + other in answers) for c in used}
    numbers = {c: i for i, c in enumerate(sorted(set(first.values())), 2)}
    return {c: numbers[first[sample]] for c, sample in named.items()}


def generate() -> str:
    scripts = classes()
    runs = [
        (script, sum(1 for _ in run))
        for script, run in groupby(scripts.get(c, COMMON) for c in range(max(scripts) + 1))
    ]
    if runs[-1][0] == COMMON:
        runs.pop()
    words = " ".join(f"{base36(script)}.{base36(length)}" for script, length in runs)
    lines = [f'    "{line} "' for line in textwrap.wrap(words, 105)]
    return "\n".join(
        [
            '"""Scripts of characters for code-point training. Generated by tools/gen_script_table.py: edit that.',
            "",
            f"Asked of sentencepiece {VERSION}, code point by code point.",
            '"""',
            "",
            "# Runs of code points of one script, from U+0000 on: script.length, in base 36.",
            "# Script 0 is Common, also of all code points after the last run; 1 is Inherited.",
            "SCRIPT_RUNS = (",
            *lines,
            ")",
            "",
        ]
    )


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if the file would change"
    )
    check = arguments.parse_args().check
    if sentencepiece.__version__ != VERSION:
        print(f"this needs sentencepiece {VERSION}, not {sentencepiece.__version__}", file=sys.stderr)
        return 2
    sentencepiece.set_min_log_level(2)
    text = generate()
    if check:
        if PATH.exists() and PATH.read_text(encoding="utf-8") == text:
            return 0
        print(f"{PATH} is not up to date: run {Path(__file__).name}", file=sys.stderr)
        return 1
    PATH.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
