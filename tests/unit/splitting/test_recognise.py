"""Known patterns are recognised by their meaning; a pattern that means anything else is not."""

from __future__ import annotations

import pytest

from fastbpe.patterns import PATTERNS
from fastbpe.splitting import make_splitter
from fastbpe.splitting.named import NAMED
from fastbpe.splitting.recognise import ScannerSpec, recognise

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = CONTRACTIONS + (
    r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = PATTERNS["cl100k"]
O200K = PATTERNS["o200k"]
DEEPSEEK = PATTERNS["deepseek_v3"]
assert isinstance(CL100K, str)
assert isinstance(O200K, str)
assert isinstance(DEEPSEEK, tuple)


@pytest.mark.parametrize("name", [*NAMED, "nemotron", "olmo3", "bailingmoe", "ufakzeka"])
def test_named_pattern_has_a_scanner(name: str) -> None:
    assert repr(make_splitter(PATTERNS[name])).startswith("scanner, ")


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        (GPT2, "gpt2"),
        (GPT2.replace("+|", "++|"), "gpt2"),
        (GPT2.replace("'s|'t|'re|'ve|'m|'ll|'d", "'(?:[sdmt]|ll|ve|re)"), "gpt2"),
        (GPT2.replace("'s|'t|'re|'ve|'m|'ll|'d", "(?:'re|'s|'d|'m|'t|'ve|'ll)"), "gpt2"),
        (f"(?:{GPT2})", "gpt2"),
        (f"({GPT2})", "gpt2"),
        (GPT2.replace("'s|'t|'re|'ve|'m|'ll|'d", "'(s|t|re|ve|m|ll|d)"), "gpt2"),
        (GPT2.replace(r" ?\p{L}+", r"( ?)(\p{L}+)"), "gpt2"),
        (GPT2.replace(r"\s+(?!\S)", r"\s++$|\s+(?!\S)"), "gpt2"),
        (GPT2.replace(r"\s+(?!\S)|\s+", r"\s+(?!\S)|\s"), "gpt2"),
        (LLAMA3.replace("]?", "]?+").replace("{1,3}", "{1,3}+").replace("[\\r\\n]*", "[\\r\\n]*+"), "llama3"),
        (LLAMA3.replace(CONTRACTIONS, "'(?i:[sdmt]|ll|ve|re)"), "llama3"),
        (LLAMA3.replace(CONTRACTIONS, "'(?:[sSdDmMtTſ]|[lL][lL]|[vV][eE]|[rR][eE])"), "llama3"),
        (LLAMA3.replace(r"\s*[\r\n]+", r"\s*[\r\n]"), "llama3"),
        (LLAMA3.replace(r"\p{L}", r"\p{Letter}").replace(r"\s", r"\p{White_Space}"), "llama3"),
        (LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}"), "qwen2"),
        (LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}{1}"), "qwen2"),
        (CL100K.replace("++", "+").replace("?+", "?").replace("3}+", "3}").replace("*+", "*"), "cl100k"),
        (O200K.replace(CONTRACTIONS, "(?:'(?i:[sdmt]|ll|ve|re))"), "o200k"),
    ],
)
def test_equivalent_spellings_are_recognised(spelling: str, name: str) -> None:
    assert recognise(spelling) == recognise(PATTERNS[name] or "")


@pytest.mark.parametrize(
    "pattern",
    [
        GPT2.replace("'s|", ""),
        GPT2.replace("'s|", "'s|'z|"),
        GPT2.replace("'ll", "'lll"),
        GPT2.replace(r" ?\p{L}+", r"\p{L}+"),
        GPT2.replace(r" ?\p{L}+", r" ?[\p{L}\p{M}]+"),
        GPT2.replace(r"(?!\S)", r"(?=\S)"),
        GPT2.replace(r"|\s+(?!\S)", ""),
        GPT2.replace(r"\s+(?!\S)|\s+", r"\s+|\s+(?!\S)"),
        LLAMA3.replace("(?i:", "(?:"),
        LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}{2,3}"),
        LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}{1,3}?"),
        LLAMA3.replace(r"\p{N}{1,3}", r"\d{1,3}"),
        LLAMA3.replace(r"\s*[\r\n]+", r"\s*+[\r\n]+"),
        LLAMA3.replace(r"\s*[\r\n]+", r"\s*\n+"),
        LLAMA3.replace(r"[^\r\n\p{L}\p{N}]?", r"[^\n\p{L}\p{N}]?"),
        LLAMA3.replace(r"[^\r\n\p{L}\p{N}]?\p{L}+", r"[^\r\n\p{L}\p{N}]??\p{L}+"),
        LLAMA3.replace(r"\s+(?!\S)|\s+", r"\s+$|\s+(?!\S)|\s+"),
        O200K.replace(r"[\r\n/]*", r"[\r\n]*"),
        O200K.replace(r"\p{Lt}", ""),
        O200K.replace("*[", "*+["),
        r"\p{L}+",
        GPT2.replace(r" ?\p{L}+", r" ?\p{L}+(?:a+|b+)"),
        GPT2.replace(r" ?\p{L}+", r" ?\p{L}++(?:ab)+"),
        GPT2.replace(r" ?\p{L}+", r" ?\p{L}++[0-9]"),
        GPT2.replace(r" ?\p{L}+", r" ?(?:ab)++\p{L}"),
        GPT2.replace(r" ?\p{L}+", r" ?\p{L}++(?!a)"),
    ],
)
def test_patterns_of_other_meaning_are_not_recognised(pattern: str) -> None:
    assert pattern not in PATTERNS.values()
    assert recognise(pattern) is None


@pytest.mark.parametrize("n_digits", range(1, 10))
def test_any_maximal_number_of_digits_is_recognised(n_digits: int) -> None:
    pattern = LLAMA3.replace("{1,3}", f"{{1,{n_digits}}}")
    assert recognise(pattern) == ScannerSpec("cl100k", n_digits)


def test_deepseek_patterns_are_recognised_only_together() -> None:
    assert recognise(DEEPSEEK) == ScannerSpec("deepseek", 3, contractions=False)
    assert recognise((DEEPSEEK[0], r"[一-龥\u3040-\u30ff]+", DEEPSEEK[2])) == recognise(DEEPSEEK)
    assert recognise(DEEPSEEK[:2]) is None
    assert recognise((DEEPSEEK[1], DEEPSEEK[0], DEEPSEEK[2])) is None
    assert recognise((DEEPSEEK[0], "[一-龥]+", DEEPSEEK[2])) is None


def test_drop_unmatched_uses_a_scanner_only_if_it_matches_all_text() -> None:
    assert recognise(GPT2, drop_unmatched=True) == recognise(GPT2)
    assert recognise(DEEPSEEK, drop_unmatched=True) is None  # it leaves control characters unmatched


def test_invalid_pattern_is_not_recognised() -> None:
    assert recognise("(") is None
    assert recognise((DEEPSEEK[0], DEEPSEEK[1], "(")) is None


@pytest.mark.parametrize("pattern", ["a(?:)*+b", "(?:)++a|b", "a*+(?:)b", "a*+(?:){2}b"])
def test_pattern_that_repeats_nothing_is_not_recognised(pattern: str) -> None:
    assert recognise(pattern) is None
    assert make_splitter(pattern).ends("aab")[-1] == 3
