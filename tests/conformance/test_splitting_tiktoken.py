"""Pieces equal tiktoken's.

tiktoken returns ids, not pieces. So these tests give it vocabularies whose tokens are the pieces: a piece that is
a token becomes that one id for any ranks. FASTBPE_FULL=1 runs tests that take minutes: every code point in every
context, and all strings of up to six characters. Without it, the ends of each run of one general category stand
for all code points (an error in a table shows there), and strings have up to four characters.
"""

import itertools
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fastbpe import Tokenizer
from fastbpe._core.encode.encoder import Encoder
from fastbpe.patterns import PATTERNS
from fastbpe.splitting import make_splitter, unicode_tables
from fastbpe.splitting.charset import ANY, CharSet, _alike
from fastbpe.splitting.to_regex import compile_regex
from fastbpe.splitting.unicode_tables import SCRIPT_NAMES
from helpers.sampling import FULL, n_rounds, some
from helpers.split_oracles import find_pieces

tiktoken = pytest.importorskip("tiktoken")

NAMES = [name for name, pattern in PATTERNS.items() if isinstance(pattern, str)]
CONTEXTS = ["a", "A", "1", " ", "\n", "'", ".", "é", "漢", "\u0301"]
CODE_POINTS_AT_ONCE = 50_000

CATEGORIES = re.findall("..", "LuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCoCn")
NASTY = (
    "'’stmdlvreSTMDLVREſK\u212aaAéǅʰ漢\u0301\u0903"
    " \t\n\r\x0b\x0c\x85\xa0\u1680\u2028\u3000\x1c\x1f1٣½Ⅷ./-_€😀\u200d\u0378"
)


def vocabulary(tokens):
    """Return ranks for the single bytes and each token."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    for token in tokens:
        encoded = token.encode()
        if encoded not in ranks:
            ranks[encoded] = len(ranks)
    return ranks


def encoding(pattern, ranks):
    return tiktoken.Encoding("test", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def assert_same_pieces(pattern, texts):
    """Compare the pieces of each text, of any length.

    The vocabulary has all of our pieces and all pairs of neighbours. If a piece of tiktoken were two of ours, it
    would become the one id of the pair; if it were three or more, merging would make at least one pair.
    """
    compiled = compile_regex(pattern)
    pieces = [find_pieces(compiled, text) for text in texts]
    tokens = {piece for found in pieces for piece in found}
    tokens |= {one + two for found in pieces for one, two in itertools.pairwise(found)}
    ranks = vocabulary(sorted(tokens))
    peer = encoding(pattern, ranks)
    for text, found in zip(texts, pieces, strict=True):
        assert peer.encode_ordinary(text) == [ranks[piece.encode()] for piece in found], repr(text[:80])


def assert_same_pieces_of_short_texts(pattern, texts, tokens):
    """Compare the pieces of many short texts; `tokens` must hold each piece of every possible split."""
    compiled = compile_regex(pattern)
    ranks = vocabulary(tokens)
    peer = encoding(pattern, ranks)
    rank_of = {token: ranks[token.encode()] for token in tokens}
    for text in texts:
        ours = [rank_of[piece] for piece in find_pieces(compiled, text)]
        assert peer.encode_ordinary(text) == ours, repr(text)


def code_points():
    """Return every character, or the first and last of each run of one general category."""
    if FULL:
        return "".join(ANY)
    ends = {end for name in CATEGORIES for ends in CharSet.category(name).ranges for end in ends}
    return "".join(map(chr, sorted(ends)))


@pytest.mark.parametrize("name", NAMES)
def test_single_code_points_are_split_as_by_tiktoken(name):
    characters = code_points()
    assert_same_pieces_of_short_texts(PATTERNS[name], characters, characters)


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", NAMES)
def test_code_points_in_context_are_split_as_by_tiktoken(name):
    characters = code_points()
    for start in range(0, len(characters), CODE_POINTS_AT_ONCE):
        chunk = characters[start : start + CODE_POINTS_AT_ONCE]
        assert_same_pieces(PATTERNS[name], [f"{context}{context.join(chunk)}{context}" for context in CONTEXTS])


@pytest.mark.parametrize("name", NAMES)
def test_all_short_strings_are_split_as_by_tiktoken(name):
    alphabet = " \n\ta's1é\u0301/"
    lengths = range(7 if FULL else 5)
    texts = ["".join(text) for length in lengths for text in itertools.product(alphabet, repeat=length)]
    assert_same_pieces_of_short_texts(PATTERNS[name], texts, texts[1:])


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=n_rounds(25, 500), suppress_health_check=[HealthCheck.too_slow])
@given(
    texts=st.lists(
        st.text(st.sampled_from(NASTY)) | st.text(st.characters(exclude_categories=["Cs"])),
        min_size=1,
        max_size=20,
    )
)
def test_unusual_texts_are_split_as_by_tiktoken(name, texts):
    assert_same_pieces(PATTERNS[name], texts)


def every_part(text):
    return {text[start:end] for start in range(len(text)) for end in range(start + 1, len(text) + 1)}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a{,2}b", "aaab b"),
        (r"a{1, 2}|a{x}|{", "a{1, 2} a{x} {"),
        ("a{1,2}+a", "aaa aa"),
        (r"a{2}+|\p{Lu}{1,2}+", "aaaaa ABC"),
        ("a+?b?|a??c", "aaab aac"),
        (r"(?>a|ab)c|\R", "abc ac\r\n\n\r\x85"),
        (r"a\Z", "aa\n\n"),
        (r"a$", "a\na\n"),
        (r"(?m)^a|a$", "a\ra\na\r\na\n"),
        (r"\<a|b\>", "<ab ab ba"),
        (r"\ba|é\b", "a éa é \u200ca\u0301"),
        (r"\Ba|\b{start}c|d\b{end}", "ba a cd"),
        (r"(?<=^|x)a|(?<!b)c", "a xa bc c"),
        (r"(a)\1|(?<n>b)\k<n>|(?P<m>c)(?P=m)", "aabbcc"),
        (r"(?:(a)|b)\1", "aab b"),
        ("(?i)[a-z--[k]]", "kK\u212ajJ"),
        ("(?i)[^ſ]|[[:upper:]]", "sSſaA"),
        (r"(?i:\P{Lu})|\p{Lu}", "aA1Ω"),
        (r"(?i:\u03c3|ß|ǆ|ᲀ|ΐ|ﬅ|İ)", "σςΣßẞǆǅǄᲀвВΐΐﬅﬆiIİı"),
        ("a(?i)b|c", "aBCc"),
        ("(?:a(?i)b)c", "aBcaBC"),
        ("((?:(?i)a))b|(?=(?i:c))C|d", "AbaBcCD"),
        ("(?i-i)a|(?s-s:.)", "A\na"),
        ("(?x) a [ ] b | c # d\n | e\\ f", "a bce f"),
        ("a(?#x)b", "ab"),
        ("[]a]|[^]]b|[-x]", "]abc-x"),
        ("[a-b-d]|[%--]", "a-bcd%"),
        ("[a&&&b]|[a~~~b]", "a&~b"),
        ("[a-cx--bx&&ab]|[^a-c&&b]", "abcxd"),
        ("[a&&b--c~~d]|[a-c--b~~b-e]", "abcde"),
        (r"[[:^alpha:]\d]|[[:punct:]--.]", "a1. \u0660é-"),
        (r"[\a\b\e\f\v\h]|[\x41-\x{43}\u0044\U{45}]", "\a\b\x1b\f\v0gABCDEF"),
        (r"\p{^L}|\P{^Lu}|\pN|\p{ L }|\p{gc!=L}", "aA1-"),
        (r"\p{Greek}+|\p{sc=Han}|\p{isLatin}", "αβ漢ab1"),
        (r"[^\s\S]|(?=[^\s\S])a|b", "ab"),
        (r"\é|\-|\ |\~", "é- ~"),
        (r".|\N|\O", "\n\r\x85\u2028"),
    ],
)
def test_pattern_syntax_means_the_same_in_tiktoken(pattern, text):
    assert_same_pieces_of_short_texts(pattern, [text], sorted(every_part(text)))


def matched(pattern, text):
    """The parts of a text that tiktoken's pattern matches; the rest is dropped there."""
    ranks = vocabulary("")
    return bytes(encoding(pattern, ranks).encode_ordinary(text)).decode()


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "escape", [r"\s", r"\d", r"\w", r"\S", r"\p{Alphabetic}", r"\p{Lowercase}", r"\p{Uppercase}"]
)
def test_character_class_has_the_members_of_tiktoken(escape):
    text = "".join(ANY)
    assert matched(escape, text) == "".join(find_pieces(compile_regex(escape), text))


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", [name for name in unicode_tables.BINARY_PROPERTIES.split() if name[-1] == ":"])
def test_binary_property_has_the_members_of_tiktoken_and_tokenizers(name):
    tokenizers = pytest.importorskip("tokenizers")
    text = "".join(ANY)
    for spelled in name[:-1].split("."):
        found = "".join(CharSet.property(spelled))
        assert matched(rf"\p{{{spelled}}}", text) == found
        peer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(rf"\p{{{spelled}}}"), "removed", invert=True)
        assert "".join(piece for piece, _ in peer.pre_tokenize_str(text)) == found


@pytest.mark.daily
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CATEGORIES)
def test_category_has_the_members_of_tiktoken(name):
    assert matched(rf"\p{{{name}}}", "".join(ANY)) == "".join(CharSet.category(name))


@pytest.mark.daily
def test_scripts_have_the_members_of_tiktoken():
    text = "".join(ANY)
    for pair in SCRIPT_NAMES.split():
        for name in pair.split(":"):
            assert matched(rf"\p{{Script={name}}}", text) == "".join(CharSet.property(f"sc={name}")), name


def as_class(characters):
    return "[" + "".join(f"\\U{low:08X}-\\U{high:08X}" for low, high in characters.ranges) + "]"


@pytest.mark.daily
def test_case_folding_equals_tiktoken():
    """Each cased character has the same partners, and no other block has a character with partners."""
    everything = "".join(ANY)
    cased = "".join(map(chr, _alike()[0]))
    assert matched(f"(?i:{as_class(CharSet.of(cased))})", everything) == cased
    for character in some(cased, 16):
        partners = CharSet.of(character).case_closure()
        assert matched(f"(?i:{character})", cased) == "".join(partners)
    for start in some(range(0, 0x110000, 0x1000), 4):
        block = CharSet.from_ranges([(start, start + 0xFFF)])
        if block:
            assert matched(f"(?i:{as_class(block)})", everything) == "".join(block.case_closure())


@pytest.mark.skipif(not FULL, reason="takes half a minute; set FASTBPE_FULL=1")
def test_case_folding_within_each_block_equals_tiktoken():
    """Two characters of a block differ in some bit k: the set of all with that bit tells them apart."""
    for start in range(0, 0x110000, 0x1000):
        block = CharSet.from_ranges([(start, start + 0xFFF)])
        for bit in range(12):
            half = CharSet.of("".join(c for c in block if ord(c) >> bit & 1))
            if half:
                found = matched(f"(?i:{as_class(half)})", "".join(block))
                assert found == "".join(half.case_closure() & block)


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("pattern", ["a+", r"\p{L}+", "é|[0-9]{2}", r" ?\p{L}+|\p{N}", "(?<=a)b"])
@settings(max_examples=100)
@given(text=st.text(st.sampled_from("aab é漢12 \n")))
def test_unmatched_text_is_dropped_as_by_tiktoken(pattern, text):
    data = text.encode()
    pieces = [data[start:end] for start, end in make_splitter(pattern, drop_unmatched=True).pieces(text)]
    ranks = vocabulary({*every_part(text)})
    assert encoding(pattern, ranks).encode_ordinary(text) == [ranks[piece] for piece in pieces]


def test_dropped_text_has_no_ids():
    ranks = {**vocabulary(["aa"]), b"aab": 300}
    text = "aabaa"
    assert encoding("a+", ranks).encode_ordinary(text) == [256, 256]
    tables = Tokenizer.from_ranks(ranks, pattern=None)._family.vocabulary
    assert Encoder(tables, make_splitter("a+", drop_unmatched=True)).encode(text) == [256, 256]
    assert Tokenizer.from_ranks(ranks, pattern="a+").encode(text) == [256, ord("b"), 256]
