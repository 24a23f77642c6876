"""Normalization rules of sentencepiece: the standard rules, rule files, the compiled form."""

import doctest
import random
import struct
import unicodedata

import pytest

from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe.errors import FormatError
from fastbpe.normalization import sentencepiece_rules
from reference.normalization import Normalizer as Twin
from reference.normalization import rules_of

PLAIN = {"add_dummy_prefix": False, "remove_extra_whitespaces": False, "escape_whitespaces": False}


def test_doctests_of_sentencepiece_rules_pass() -> None:
    results = doctest.testmod(sentencepiece_rules)
    assert results.attempted
    assert not results.failed


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", sentencepiece_rules.RULE_NAMES[1:])
def test_standard_rules_are_decompiled_as_by_the_slow_twin(name: str) -> None:
    rules = sentencepiece_rules.decompile_rules(sentencepiece_rules.charsmap(name))
    assert rules_of(sentencepiece_rules.charsmap(name)) == {k.encode(): v.encode() for k, v in rules.items()}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("nfkc", "㍿ ﾊﾞ e\u0301 \u1112\u1161\u11ab ～\t", "株式会社 バ é 한 ~\t"),
        ("nmt_nfkc", "\x01a\u200bb～\ufffd\t", "a b～  "),
        ("nfkc_cf", "ＡSTRAßE İ", "astraße İ"),
        ("nmt_nfkc_cf", "Ａ～\r", "a～ "),
        ("identity", "Ａ～\r", "Ａ～\r"),
    ],
)
def test_standard_rules_normalize_as_in_the_examples(name: str, text: str, expected: str) -> None:
    assert Normalizer(sentencepiece_rules.charsmap(name), **PLAIN).normalize(text.encode()).decode() == expected


def test_unknown_rule_name_raises_value_error() -> None:
    with pytest.raises(ValueError, match=r"'nfc': did you mean 'nfkc'[?] choose one of 'identity', 'nfkc'"):
        sentencepiece_rules.charsmap("nfc")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"61\t62\n", {"a": "b"}),
        (b"61\t62", {"a": "b"}),
        (b"61\t62\n61\t63\n", {"a": "c"}),
        (b"61\n62\t", {"a": "", "b": ""}),
        (b"U+61  0x62 \t U+63\tcomment\r\n", {"ab": "c"}),
        (b"1f600\t20 E9\n", {"😀": " é"}),
        (b"0000004163 00000000000062\t", {"\u4163b": ""}),
        (b"U++61\t+0x62\v\f\r\n", {"a": "b"}),
    ],
)
def test_rule_files_are_parsed(data: bytes, expected: dict[str, str]) -> None:
    assert sentencepiece_rules.parse_rules(data, "rules.tsv") == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no line contains a rule"),
        (b"61\t62\n\n", ":2: the rule has no left side"),
        (b"\t62\n", ":1: the rule has no left side"),
        (b"# c\n", ":1: '#' is not a character"),
        (b"61\t62 # c\n", "'#' is not a character"),
        (b"g\n", "'g'"),
        (b"0\t61\n", "'0'"),
        (b"61\t110000\n", "'110000'"),
        (b"D800\t61\n", "surrogates"),
        (b"61\tDFFF\n", "surrogates"),
        (b"-1\n", "'-1'"),
        (b"F" * 5000, "not a character"),
        (b"\xff\n", "not a character"),
        (b"61\xc2\xa062\t63\n", "'61.xa062'"),
        (b"61\t\r\n", "is not a character"),
    ],
)
def test_damaged_rule_file_raises_format_error(data: bytes, reason: str) -> None:
    with pytest.raises(FormatError, match=f"^rules.tsv.*{reason}"):
        sentencepiece_rules.parse_rules(data, "rules.tsv")


@pytest.mark.parametrize(
    "rules", [{}, {"": "a"}, {"a\0": "b"}, {"a": "a"}, {"a" * n: "b" for n in range(1, 33)}, {"a" * 5000: ""}]
)
def test_invalid_rules_raise_value_error(rules: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="rule"):
        sentencepiece_rules.compile_rules(rules)


def is_word_lost(source: str, target: str) -> bool:
    return unicodedata.category(source[-1])[0] in "LN" and (
        not target or target[-1].isspace() or target[-1] == "\u2581"
    )


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"])
def test_standard_rules_keep_letters_and_numbers(name: str) -> None:
    rules = sentencepiece_rules.decompile_rules(sentencepiece_rules.charsmap(name))
    assert not any(" " in source or is_word_lost(source, target) for source, target in rules.items())
    assert Normalizer(sentencepiece_rules.charsmap(name), **PLAIN).words_stay()


@pytest.mark.parametrize(
    ("rules", "stay"),
    [
        ({"é": "e", ".": " ", "ab": " x"}, True),
        ({"\xa0": " "}, True),
        ({"é.": ""}, True),
        ({".é": ""}, False),
        ({"1": " "}, False),
        ({"é1": ""}, False),
        ({"½": "1\u2581"}, False),
        ({"½": "1/2"}, True),
        ({"a": ""}, False),
        ({"é": "e "}, False),
        ({"é": "\u3000"}, False),
        ({"xé": "x\u2581"}, False),
        ({"é ": "e"}, False),
        ({" b": "b"}, False),
        ({"a.": "", "b.": "", "b": "c", "ba": ""}, False),
    ],
)
def test_words_stay_unless_a_rule_turns_their_end_into_white_space(rules: dict[str, str], stay: bool) -> None:
    assert Normalizer(sentencepiece_rules.compile_rules(rules), **PLAIN).words_stay() is stay


@pytest.mark.daily
def test_random_rules_normalize_as_the_slow_twin() -> None:
    rng = random.Random(1)
    for _ in range(200):
        letters = rng.choice(["ab", "ab é日", "aé日😀 \t"])
        words = ["".join(rng.choices(letters, k=rng.randint(1, 5))) for _ in range(rng.randint(1, 40))]
        rules = {word: "".join(rng.choices(letters, k=rng.randrange(4))) for word in words}
        rules = {source: target for source, target in rules.items() if source != target} or {"a": "b"}
        charsmap = sentencepiece_rules.compile_rules(rules)
        encoded = {source.encode(): target.encode() for source, target in rules.items()}
        assert rules_of(charsmap) == encoded
        stay = not any(" " in source or is_word_lost(source, target) for source, target in rules.items())
        assert Normalizer(charsmap, **PLAIN).words_stay() is stay, rules
        flags = {name: rng.random() < 0.5 for name in PLAIN}
        ours, twin = Normalizer(charsmap, **flags), Twin(encoded, **flags)
        for _ in range(20):
            text = "".join(rng.choices(letters + "x▁ ", k=rng.randrange(30))).encode()
            text = text[: rng.randrange(len(text) + 1)]
            assert ours.normalize_with_offsets(text) == twin.normalize(text)


def test_charsmap_with_exponentially_many_sources_is_refused() -> None:
    """Each of 40 levels has the edges a and b, and both lead to the same next level."""
    units = [0] * 256 * 43
    units[0] = 256 << 10
    for level in range(1, 41):
        for label in b"ab":
            at = 256 * level ^ label
            units[at] = (at ^ 256 * (level + 1)) << 10 | label | (0x100 if level == 40 else 0)
    units[256 * 41] = 1 << 31
    charsmap = struct.pack(f"<{1 + len(units)}I", 4 * len(units), *units) + b"x\0"
    with pytest.raises(FormatError, match=r"too many rules: more than 1,048,576 nodes"):
        sentencepiece_rules.decompile_rules(charsmap)
