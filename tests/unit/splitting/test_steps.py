"""Steps, sequences of splitters, and removed text, tested without a peer."""

from itertools import pairwise

import pytest

import fastbpe
from fastbpe import FormatError, PatternError, Tokenizer
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.encode.offsets import pieces as pieces_in_characters
from fastbpe._core.split.by_character import ByScript
from fastbpe._core.split.by_character import FixedLength as FixedLengthSplitter
from fastbpe._core.split.composite import Regrouped, Sequence, StandIns
from fastbpe._core.split.splitter import RegexSplitter, Splitter
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe.formats import native
from fastbpe.patterns import PATTERNS, resolve_pattern
from fastbpe.splitting import MAX_STEPS, make_splitter
from fastbpe.splitting.oniguruma import from_oniguruma
from fastbpe.splitting.steps import (
    BertPreTokenizer,
    ByteLevel,
    Digits,
    FixedLength,
    Punctuation,
    Split,
    UnicodeScripts,
    Whitespace,
    WhitespaceSplit,
    as_pattern,
    make_sequence,
)
from fastbpe.splitting.to_oniguruma import to_oniguruma
from fastbpe.splitting.to_regex import compile_regex
from helpers.bounds import within
from helpers.shared_data import BYTES

RANKS = {**BYTES, b"ab": 256, b"12": 257, b"abc": 258, b"aab": 259}


def pieces(splitter: Splitter, text: str) -> list[str]:
    data = text.encode()
    return [data[start:end].decode() for start, end in splitter.pieces(text)]


# One after another.


@pytest.mark.parametrize(
    ("patterns", "text", "expected"),
    [
        (["b", "a+"], "aabaa", ["aa", "b", "aa"]),
        ([r"\d{1,3}", r"\s"], "12345 a", ["123", "45", " ", "a"]),
        # Look-ahead, look-behind and anchors see only their own piece.
        (["b", r"a(?!b)"], "aab", ["a", "a", "b"]),
        (["b", r"(?<=b)a"], "bac", ["b", "ac"]),
        (["b", r"a$"], "aab", ["a", "a", "b"]),
        (["b", r"\Aa"], "baa", ["b", "a", "a"]),
        (["日", "é", "a"], "é日aé", ["é", "日", "a", "é"]),
        (["gpt2", "e"], "he is", ["h", "e", " is"]),
    ],
)
def test_each_pattern_splits_the_pieces_of_the_previous(
    patterns: list[str], text: str, expected: list[str]
) -> None:
    assert pieces(make_splitter(resolve_pattern(patterns)[1]), text) == expected


def test_pieces_of_several_steps_cover_a_long_text() -> None:
    text = "ab1 " * 20_000  # more pieces than a scanner returns at once
    for patterns in (["cl100k", "b"], ["b", "cl100k"], ["cl100k", "o200k", "gpt2"]):
        splitter = make_splitter(resolve_pattern(patterns)[1])
        spans = splitter.pieces(text)
        assert (spans[0][0], spans[-1][1]) == (0, len(text))
        assert all(one[1] == two[0] for one, two in pairwise(spans))
        assert splitter.ends(text) == [end for _, end in spans]


def test_nested_sequences_are_associative() -> None:
    one, two, three = (make_splitter(pattern) for pattern in ("a", r"\s", "b+"))
    text = "abba a bb  "
    assert (
        pieces(Sequence(Sequence(one, two), three), text)
        == pieces(Sequence(one, Sequence(two, three)), text)
        == ["a", "bb", "a", " ", "a", " ", "bb", " ", " "]
    )
    assert pieces(make_sequence([]), text) == [text]
    assert make_sequence([Digits()]).ends("") == []


def test_repr_describes_a_sequence_and_its_length_is_limited() -> None:
    one = repr(make_splitter("a"))
    assert repr(make_splitter(("a", "b"))) == f"{one}, then {one}"
    assert repr(make_sequence([Split(pattern="a", behavior="merged_with_next", invert=True)])) == (
        f"{one} inverted and merged with next"
    )
    with pytest.raises(PatternError, match=f"65 splits one after another; the limit is {MAX_STEPS}"):
        make_splitter(("a",) * 65)
    assert pieces(make_splitter(("a",) * MAX_STEPS), "aab") == ["a", "a", "b"]


# Removed text.


@pytest.mark.parametrize(
    ("behavior", "plain", "inverted"),
    [
        ("isolated", "a a bc a a", "a a bc a a"),
        ("removed", "bc", "a a a a"),
        ("merged_with_previous", "a a bca a", "a abc a a"),
        ("merged_with_next", "a abc a a", "a a bca a"),
        ("contiguous", "aa bc aa", "aa bc aa"),
    ],
)
def test_split_behaviors_join_keep_or_remove_matches(behavior: str, plain: str, inverted: str) -> None:
    for invert, expected in ((False, plain), (True, inverted)):
        step = Split(pattern="a", behavior=behavior, invert=invert)  # type: ignore[arg-type]
        assert pieces(make_sequence([step]), "aabcaa") == expected.split()


def test_behaviors_join_pieces_of_long_texts() -> None:
    text = "ab1 " * 20_000  # more pieces than a scanner returns at once
    for behavior, count in (("contiguous", 1), ("merged_with_next", 40_001)):
        step = Split(pattern=str(PATTERNS["qwen2"]), behavior=behavior)  # type: ignore[arg-type]
        spans = make_sequence([step]).pieces(text)
        assert (len(spans), spans[-1][1]) == (count, len(text))
    assert make_sequence([Split(pattern=str(PATTERNS["qwen2"]), behavior="removed")]).pieces(text) == []


def test_scripts_begin_pieces_and_fixed_lengths_end_them() -> None:
    texts = {"  ab c漢字か.": "ab c|漢字か|.", "\u0378a ": "a ", " ": "", "ー漢": "ー漢", "1a\u0301": "1|a|\u0301"}
    for text, expected in texts.items():
        assert "|".join(pieces(make_sequence([UnicodeScripts()]), text)) == expected
    assert pieces(make_sequence([FixedLength(length=2)]), "aé漢字1") == ["aé", "漢字", "1"]
    assert pieces(make_sequence([FixedLength(length=2**64 - 1)]), "aé漢") == ["aé漢"]
    assert pieces(make_sequence([BertPreTokenizer()]), "a.b!? é\u3000c$") == [*"a.b!?", "é", "c", "$"]
    assert repr(make_sequence([UnicodeScripts(), FixedLength()])) == "by script, then every 5 characters"
    with pytest.raises(ValueError, match="the length must be at least 1"):
        make_sequence([FixedLength(length=0)])


def test_quiet_bytes_of_scripts_make_one_piece() -> None:
    splitter = make_sequence([UnicodeScripts()])
    quiet = splitter.quiet_bytes()
    assert quiet is not None
    every = bytes(byte for byte in range(256) if quiet[byte]).decode()
    assert len(every) == 52
    assert all(len(splitter.pieces(one + other)) == 1 for one in every for other in every)


def test_uninitialized_splitters_raise_type_error() -> None:
    for kind in (Sequence, Regrouped, StandIns, ByScript, FixedLengthSplitter):
        with pytest.raises(TypeError):
            kind.__new__(kind)
    with pytest.raises(TypeError):
        Sequence(None, Splitter())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "splitter",
    [
        make_splitter(r"\d+"),
        make_splitter(r"[0-9]\w|é"),
        make_splitter(("[0-9]", "é+", "x.")),
        StandIns(make_splitter("[\u0100-\u0120²]")),
        Sequence(make_splitter("[-+]"), StandIns(make_splitter("[0-9][0-9]"))),
        Splitter(),
    ],
)
def test_text_of_quiet_bytes_is_one_piece(splitter: Splitter) -> None:
    quiet = splitter.quiet_bytes()
    assert quiet is not None
    assert len(quiet) == 256
    text = "".join(chr(c) for c in range(0x3000) if all(quiet[byte] for byte in chr(c).encode()))
    assert len(text) > 60
    assert pieces(splitter, text) == [text]


def test_quiet_bytes_are_none_for_splitters_that_remove_text() -> None:
    gaps = make_splitter("[a-z]+", drop_unmatched=True)
    assert gaps.quiet_bytes() is None
    for first, second in ((gaps, Splitter()), (Splitter(), gaps)):
        assert Sequence(first, second).quiet_bytes() is None
    for splitter in (StandIns(gaps), Regrouped(gaps, "contiguous"), make_splitter(PATTERNS["gpt2"])):
        assert splitter.quiet_bytes() is None


def test_later_steps_do_not_see_removed_text() -> None:
    steps = [Split(pattern="-", behavior="removed"), Split(pattern=".-?.", behavior="removed", invert=True)]
    assert pieces(make_sequence(steps), "ab-cd-e") == ["ab", "cd"]


def test_unmatched_text_has_ends_but_is_not_a_piece() -> None:
    splitter = make_splitter("a+", drop_unmatched=True)
    assert (splitter.ends("aabaa"), splitter.pieces("aabaa")) == ([2, 3, 5], [(0, 2), (3, 5)])
    assert pieces(make_splitter(("[ab]+", "a+"), drop_unmatched=True), "aabcaaxb") == ["aa", "aa"]
    assert make_splitter(None, drop_unmatched=True).pieces("ab") == [(0, 2)]
    assert make_splitter("cl100k", drop_unmatched=True).pieces("") == []


def test_unmatched_text_has_no_ids_and_is_not_counted() -> None:
    vocabulary = Tokenizer.from_ranks(RANKS, pattern=None)._family.vocabulary
    splitter = make_splitter("[a-z]+", drop_unmatched=True)
    encoder = Encoder(vocabulary, splitter)
    assert encoder.encode("12abc 12ab") == [258, 256]
    assert encoder.count("12") == 0
    long = "ab, " * 5000  # long enough to be encoded without the GIL
    assert encoder.encode(long) == [256] * 5000
    counter = PieceCounter(splitter)
    counter.add_text("12abc 12ab abc")
    assert counter.items() == [(b"abc", 2), (b"ab", 1)]


def test_unknown_behavior_is_refused() -> None:
    with pytest.raises(KeyError):
        Regrouped(Splitter(), "isolated")  # type: ignore[arg-type]
    regex = RegexSplitter(compile_regex("a"), keep_gaps=False)
    assert Regrouped(regex, "contiguous").behavior == "contiguous"


# Steps.


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        (Digits(), "a12b½", ["a", "12", "b", "½"]),
        (Digits(individual_digits=True), "a12", ["a", "1", "2"]),
        (Punctuation(), "a,!b", ["a", ",", "!", "b"]),
        (Punctuation(behavior="contiguous"), "a,!b", ["a", ",!", "b"]),
        (Punctuation(behavior="removed"), "a,!$«b", ["a", "b"]),
        (ByteLevel(), "it's 12", ["it", "'s", " 12"]),
        (ByteLevel(use_regex=False), "it's 12", ["it's 12"]),
        (Whitespace(), " it's  on", ["it", "'", "s", "on"]),
        (WhitespaceSplit(), " it's\u3000on\n", ["it's", "on"]),
        (Split(pattern="a.c", literal=True), "abca.c", ["abc", "a.c"]),
        (Split(pattern="-\n\\", literal=True), "a-\n\\b", ["a", "-\n\\", "b"]),
        (Split(pattern="^a", behavior="removed"), "a\na", ["\n"]),
        (Split(pattern=r"(?i:s\ds)"), "as1S", ["a", "s1S"]),
    ],
    ids=repr,
)
def test_step_splits_the_example(step: Digits, text: str, expected: list[str]) -> None:
    assert pieces(make_sequence([step]), text) == expected


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"\1(a)", r"\\1 is unknown"),
        (r"(a\1)", r"\\1 is unknown"),
        (r"(a)\10", r"\\1 is unknown"),
        (r"(a)[\1]", r"\\1 is unknown"),
        (r"((?<n>a))\1", r"\\1 is unknown"),
        (r"(?=(a))\1", r"\\1 is unknown"),
        (r"(?i)(a)\1", r"\\1 is unknown"),
        (r"\p{Nonsense}", "'Nonsense' is not a property"),
        (r"\p{sc=Greek}", "expected"),
        (r"\xe9", "is unknown"),
        ("a\\", "is unknown"),
        ("[[:letter:]]", "does not begin a class that fastbpe knows; it knows alnum"),
        ("[[:alpha:]-z]", "cannot begin a range"),
        ("(?i:[[:upper:]])", "case is ignored"),
        ("[a--b]", "operator"),
        (r"[\b]", "is unknown"),
        ("(?s:.)", "kind of group is unknown"),
        ("(?P<x>a)", "kind of group is unknown"),
        ("(?~a)", "kind of group is unknown"),
        (r"(?<n>a)\g<n>", r"\\g is unknown"),
        (r"a\Kb", r"\\K is unknown"),
        (r"\X", r"\\X is unknown"),
        (r"(?<n>a)(?<n>b)", "a second group named 'n'"),
        (r"(?<n>a)(b)\k<2>", r"\\k is unknown"),
        (r"(?<=a(?=b))b", r"refuses '\(\?=' within a look-behind"),
        (r"(?<!(a))b", r"refuses '\(' within a look-behind"),
        (r"(?<=(?<!a)b)c", r"refuses '\(\?<!' within a look-behind"),
        (r"\p{IsHan}", "knows no property 'IsHan'"),
        ("(?i:ss)", "also matches a single character"),
        ("(?i:s(?:T))", "also matches a single character"),
        ("(?i:s{1}s)", "also matches a single character"),
        ("(?i:s{1,1}?s)", "also matches a single character"),
        ("(?i:s(?#)s)", "also matches a single character"),
        ("(?i:ss{1})", "also matches a single character"),
        ("(?i:s(?:t){x})", "also matches a single character"),
        ("(?i:(?:ss|x)*)", "also matches a single character"),
        ("(?:ab){1}?", r"a quantifier after \{1\} to the last letter alone; leave \{1\} out"),
        ("(?x:(?:ab) {1,1} +)", r"a quantifier after \{1,1\} to the last letter alone"),
        ("(?i:ß)", "several characters"),
        ("(?i:[ß])", "case is ignored"),
        ("(?i:\u02bcn)", "several characters"),
        ("(?i:[à-é])", "case is ignored"),
        (r"(?i:\p{Lu})", "case is ignored"),
        (r"(?i:\w)", "case is ignored"),
        (r"(?i:\x41)", "case is ignored"),
        ("(a", "not closed"),
        ("a)", "position 1"),
        ("[a", "position"),
    ],
)
def test_pattern_of_other_meaning_in_tokenizers_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(PatternError, match=message):
        make_sequence([Split(pattern=pattern)])


def test_deeply_nested_pattern_is_refused_within_a_second() -> None:
    for opening in ("(", "(?=a", "(?i:(?:s|"):
        with within(1), pytest.raises(PatternError, match="nested deeper than 63 levels"):
            from_oniguruma(opening * 20_000)
    assert from_oniguruma("(" * 63 + ")" * 63)


def test_pattern_of_equal_meaning_is_unchanged() -> None:
    for name in ("o200k", "llama3", "qwen2", "tekken"):
        pattern = PATTERNS[name]
        assert isinstance(pattern, str)
        assert from_oniguruma(pattern) == pattern
    for pattern in PATTERNS["deepseek_v3"] or ():
        assert from_oniguruma(pattern) == pattern
    assert repr(make_sequence([Split(pattern=str(PATTERNS["llama3"]))])).startswith("scanner")
    for pattern in ("(?i:(?-i:ss)|(?:s|t))", "(?i:s)x(?i:s)", "(?i:s+s|st*)", "(?i:s(s)|s{2}s)", "(?:ab){1,1}?"):
        assert from_oniguruma(pattern) == pattern
    for pattern in ("(?i:ss{2}|s{0}s)", "(?i:s(?:t)*|s(?i:t){1,2})", "(?i:(?:x|s)s|s(?:s|x))"):
        assert from_oniguruma(pattern) == pattern
    assert from_oniguruma("(?i:s$t)") == r"(?i:s(?:(?=\n)|\z)t)"


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"\R", "a\r\n\nb", ["a", "\r\n", "\n", "b"]),
        (r"\N+", "ab\ncd", ["ab", "\n", "cd"]),
        (r"a{1,2}+", "aaaab", ["aaaa", "b"]),
        (r"(?:ab){2}?", "ababab", ["abab", "a", "b"]),
        (r"a(?i)b|c", "aBaCab", ["aB", "aC", "ab"]),
        ("(?x: a  b # c\n)", "abab", ["ab", "ab"]),
        (r"x(?#a comment)+", "xxa", ["xx", "a"]),
        (r"(?<n>[ab])(c)\k<n>", "acabcabcb", ["aca", "bca", "bcb"]),
        (r"([ab])\k<-1>", "aabb", ["aa", "bb"]),
        (r"(?i:(a))\1", "aaAaAA", ["aa", "Aa", "AA"]),
        (rf"(?<{'n' * 90}>a)\k<{'n' * 90}>", "aab", ["aa", "b"]),
        (r"(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\1(?#)0", "abcdefghija0j0", ["abcdefghija0", "j0"]),
        ("a{,}b", "aaba{,}b", ["aab", "a{,}b"]),
        ("(?x)a{ 1}", "aaa{1}", ["aa", "a{1}"]),
        ("a|(?#){b", "ca{b", ["c", "a", "{b"]),
        (r"[]a]+", "]a]b", ["]a]", "b"]),
        (r"\Qa\pL", "QapLb", ["QapL", "b"]),
        (r"\cJ", "a\nb", ["a", "\n", "b"]),
        (r"(*FAIL)|a", "aba", ["a", "b", "a"]),
    ],
)
def test_rare_syntax_of_tokenizers_is_translated(pattern: str, text: str, expected: list[str]) -> None:
    assert pieces(make_sequence([Split(pattern=pattern)]), text) == expected


def test_back_reference_may_name_a_group_before_it() -> None:
    assert from_oniguruma(r"(?:x|(a)(?>b))\1") == r"(?:x|(a)(?>b))(?:\1)"
    assert from_oniguruma(r"(a)(b)\2\1+") == r"(a)(b)(?:\2)(?:\1)+"
    splitter = make_sequence([Split(pattern=r"[()]|([!#])\1*")])
    assert pieces(splitter, "a!!#((#!") == ["a", "!!", "#", "(", "(", "#", "!"]


def test_escaped_angle_brackets_are_the_characters() -> None:
    assert from_oniguruma(r"\<(?=s)|\>") == "<(?=s)|>"
    assert from_oniguruma(r"[\<]") == "[<]"


@pytest.mark.parametrize("head", ["(?=", "(?!", "(?<=", "(?<!", "(?:", "(?>"])
@pytest.mark.parametrize("sign", ["=", "!"])
def test_sign_after_the_head_of_a_group_is_repeated_alone(head: str, sign: str) -> None:
    assert to_oniguruma(f"{head}{sign}{{1,3}}+)a") == f"{head}(?>{sign}{{1,3}}))a"


def test_possessive_count_repeats_a_whole_group_and_disappears_in_known_patterns() -> None:
    assert to_oniguruma(r"(?:a+b){1,2}+|\s") == r"(?>(?:a+b){1,2})|\s"
    assert "(?>" not in to_oniguruma(str(PATTERNS["cl100k"]))


def test_steps_after_byte_level_see_gpt2_characters() -> None:
    text = "ab ²ಲ\n1"
    steps = [ByteLevel(use_regex=False), Digits(individual_digits=True)]
    spans = make_sequence(steps).pieces(text)
    cut = [text.encode()[start:end] for start, end in spans]
    assert cut == [b"ab \xc2", b"\xb2", b"\xe0", b"\xb2", b"\xb2", b"\n", b"1"]
    space = Split(pattern="Ġ", behavior="merged_with_next", literal=True)
    assert pieces(make_sequence([ByteLevel(use_regex=False), space]), "a b  c") == ["a", " b", " ", " c"]
    dropped = Split(pattern="ĊĊ", behavior="removed", literal=True)
    splitter = make_sequence([ByteLevel(use_regex=False), space, dropped])
    assert pieces(splitter, "a\n\n é\n\n\n") == ["a", " é", "\n"]
    one, two = make_splitter("Ġ"), make_splitter("ĊĊ")
    assert repr(splitter) == f"none, then {one} merged with next, then {two} removed over stand-ins of bytes"
    with pytest.raises(PatternError, match="two ByteLevel steps"):
        make_sequence([ByteLevel(), Digits(), ByteLevel()])
    assert as_pattern([ByteLevel(), ByteLevel(use_regex=False)]) == (False, None)
    assert make_sequence([ByteLevel(), Digits()]).ends("") == []


@pytest.mark.parametrize("mark", ["", "é", "日", "👍"])
def test_character_offsets_of_pieces_are_right_in_long_texts(mark: str) -> None:
    """Pieces that begin or end inside characters, and removed text, across the parts in which lists are built."""
    steps = [ByteLevel(use_regex=False), Digits(individual_digits=True)]
    lines = Split(pattern="Ċ", behavior="removed", literal=True)
    for splitter in (make_sequence(steps), make_sequence([*steps, lines]), make_splitter(PATTERNS["cl100k"])):
        for text in ("1" * k + f"ab1{mark} ²ಲ\n1" * 400 for k in range(9)):
            data = text.encode()
            characters = [k for k, c in enumerate(text) for _ in c.encode()]
            expected = [(characters[a], characters[b - 1] + 1) for a, b in splitter.pieces(text)]
            assert len(expected) > 1000
            assert pieces_in_characters(splitter, text) == expected
            assert pieces_in_characters(splitter, data) == expected


# Several patterns as the pattern of a tokenizer.

SEVERAL = [r"\d{1,2}", "b"]


def several() -> Tokenizer:
    return Tokenizer.from_ranks(RANKS, pattern=SEVERAL, special_tokens={"<s>": 300}, name="several")


def test_several_patterns_resolve_to_a_tuple() -> None:
    assert resolve_pattern(SEVERAL) == (None, tuple(SEVERAL))
    assert resolve_pattern(["a"]) == (None, "a")
    assert resolve_pattern(["gpt2"]) == ("gpt2", PATTERNS["gpt2"])
    assert resolve_pattern(["deepseek_v3"]) == resolve_pattern("deepseek_v3")
    assert resolve_pattern(list(PATTERNS["deepseek_v3"] or ()))[0] == "deepseek_v3"
    assert resolve_pattern(["a", "none"]) == (None, "a")
    for nothing in ([], ["none"]):
        with pytest.raises(PatternError, match="must not be empty"):
            resolve_pattern(nothing)
    with pytest.raises(TypeError, match="list of them, or None, and not a list with int"):
        resolve_pattern(["a", 1])  # type: ignore[list-item]
    with pytest.raises(PatternError, match="did you mean 'cl100k'"):
        resolve_pattern(["a", "cl100"])


def test_tokenizer_with_several_patterns_splits_by_each() -> None:
    tokenizer = several()
    assert tokenizer.pattern == tuple(SEVERAL)
    assert tokenizer.encode("ab123abc") == [97, 98, 257, 51, 97, 98, 99]
    assert r"pattern ['\\d{1,2}', 'b'] (split by " in repr(tokenizer)
    assert tokenizer.fingerprint != Tokenizer.from_ranks(RANKS, pattern="b").fingerprint


def test_tokenizer_with_several_patterns_survives_save_and_load(tmp_path) -> None:
    tokenizer = several()
    tokenizer.save(tmp_path / "several.fbpe")
    again = fastbpe.load(tmp_path / "several.fbpe")
    assert (again.pattern, again) == (tokenizer.pattern, tokenizer)
    assert Tokenizer(again._family.model._replace(fingerprint="")).fingerprint == tokenizer.fingerprint
    assert again.with_special_tokens({"<t>": 301}).pattern == tokenizer.pattern
    assert tokenizer.__reduce__()[0](*tokenizer.__reduce__()[1]) == tokenizer


@pytest.mark.parametrize("bad", [[1], ["a", None], [["a"]], {"a": 1}, 3])
def test_native_file_with_invalid_pattern_raises_format_error(bad: object) -> None:
    model = several()._family.model
    data = native.dump(model._replace(pattern=bad))  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="no valid 'pattern'"):
        fastbpe.load(data)


def test_training_with_several_patterns_splits_by_each(tmp_path) -> None:
    text = ["abab 1212 abab 1212 b1b1"] * 3
    tokenizer = fastbpe.train(text, vocab_size=258, pattern=[r"\d", "[ab]+"], progress=False)
    assert tokenizer.pattern == (r"\d", "[ab]+")
    assert b"abab" in tokenizer.vocab
    assert not any(b"12" in token or b"a " in token for token in tokenizer.vocab)
    tokenizer.save(tmp_path / "t.fbpe")
    assert fastbpe.load(tmp_path / "t.fbpe") == tokenizer
