"""Every SIMD path of every scanner splits like the `regex` splitter, which other tests compare with tiktoken."""

from __future__ import annotations

import itertools

import pytest

from fastbpe._core.split.scanner import Scanner, paths
from fastbpe.patterns import PATTERNS
from helpers import split_oracles
from helpers.sampling import FULL, n_rounds, some

CONTEXTS = ["a", "A", "1", " ", "\n", "'", ".", "é", "漢", "\u0301"]
FEATURES = [
    "'s", "'RE", "'ſ", "''s", " 's", "a's's", "123456", "1٣2", "  \n  x", "\n\n  ", "\r\n\t", "\u3000x", " \xa0 x",
    "aB", "AbC", "ABc", "漢Ab", "漢A", "a\u0301B", "!\u0301a", "!/\n/x", "//\n\n//", "…a", " “a”",
    "😀a", "é", "ǅ", "   ", "(aé", " (a", ".é", "漢1か", "  漢", "\x01a", "\x01\x02", " \x01",
]  # fmt: skip
FILLERS = ["a", "A", " ", "1", ".", "\n", "é", "漢", "\u0301", "😀", "ab ", "Ab.", "/\n"]


@pytest.fixture(params=split_oracles.NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def check(name: str, texts: list[str]) -> None:
    pattern = PATTERNS[name] or ""
    slow, fast = split_oracles.oracle(pattern), split_oracles.scanners(pattern)
    for text in texts:
        wanted = slow.ends(text)
        for scanner in fast:
            assert (found := split_oracles.difference(name, wanted, scanner, text)) is None, found


def test_scalar_path_is_always_available() -> None:
    assert paths()[-1] == "scalar"


@pytest.mark.sample(2)
def test_every_short_string_is_split_like_regex(name: str) -> None:
    letters = " \n\ta's1é\u0301/"
    texts = ("".join(s) for n in range(7 if FULL else 4) for s in itertools.product(letters, repeat=n))
    check(name, list(texts))


@pytest.mark.sample(2)
def test_random_texts_are_split_like_regex(name: str) -> None:
    seed = split_oracles.NAMES.index(name)
    print("seed", seed)
    check(name, list(itertools.islice(split_oracles.random_texts(seed), n_rounds(4_000, 150_000))))


@pytest.mark.daily
@pytest.mark.sample(1)
def test_every_code_point_is_split_like_regex(name: str) -> None:
    characters = [chr(c) for c in some(range(0x110000), 300_000) if not 0xD800 <= c < 0xE000]
    contexts = CONTEXTS if FULL else CONTEXTS[split_oracles.NAMES.index(name) :: len(split_oracles.NAMES)]
    check(name, ["".join(characters), *(context.join(characters) for context in contexts)])


@pytest.mark.daily
@pytest.mark.sample(2)
def test_features_across_block_borders_are_split_like_regex(name: str) -> None:
    texts = []
    for filler, feature in itertools.product(FILLERS, FEATURES):
        for n_before in range(52, 68):
            before = (filler * 68).encode()[:n_before].decode(errors="ignore")
            texts.append(before + feature + "ab c")
    check(name, texts)


def test_pieces_longer_than_blocks_are_split_like_regex(name: str) -> None:
    runs = [character * n for character in " a\n.1é漢\u0301\u3000'/A" for n in (63, 64, 65, 128, 1000)]
    check(name, [a + b + "x" for a in ["", "a", " ", "."] for b in runs] + runs)


def test_every_prefix_and_suffix_of_a_mixed_text_is_split_like_regex(name: str) -> None:
    text = (
        "It's   a\r\n\r\n test,\n\n\t12345 of “every” thing: don't\u3000stop! 漢字Kanji 😀 x²  \n y/z//\n  end's  "
    )
    check(name, [text[:n] for n in range(len(text) + 1)] + [text[n:] for n in range(len(text))])


@pytest.mark.sample(1)
@pytest.mark.parametrize("n_digits", [0, 1, 2, 4, 9])
def test_any_maximal_number_of_digits_is_split_like_regex(n_digits: int) -> None:
    numbers = rf"\p{{N}}{{1,{n_digits}}}" if n_digits else r"\p{N}+"
    pattern = split_oracles.pattern_text("llama3").replace(r"\p{N}{1,3}", numbers)
    slow = split_oracles.oracle(pattern)
    for text in ["1" * n + "a" + "23" * n for n in range(80)]:
        for scanner in split_oracles.scanners(pattern):
            assert scanner.ends(text) == slow.ends(text)


def test_unavailable_simd_path_raises_value_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTBPE_SIMD", "abacus")
    with pytest.raises(ValueError, match=r"FASTBPE_SIMD='abacus': choose an instruction set .*scalar"):
        Scanner("gpt2", n_digits=0)


def test_environment_variable_forces_a_simd_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTBPE_SIMD", "scalar")
    assert Scanner("gpt2", n_digits=0).path == "scalar"


def test_no_scanner_passes_the_end_of_bytes_that_are_not_utf8() -> None:
    """No door lets such bytes through; should one, the ends still rise and end where the bytes do."""
    splitters = split_oracles.all_splitters()
    for data in itertools.islice(split_oracles.random_bytes(n_rounds(1, 3)), n_rounds(300, 30_000)):
        for splitter in splitters:
            assert (found := split_oracles.fault(splitter, data)) is None, found
    for lead in range(0x80, 0x100):
        for before in (b"", b"a", b" ", b"\xe3", b"a" * 62, b"\xe3\x81\x82" * 21):
            for splitter in splitters:
                assert (found := split_oracles.fault(splitter, before + bytes([lead]))) is None, found
