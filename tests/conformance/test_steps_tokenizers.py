"""Pieces equal the pieces of tokenizers' pre-tokenizers: each step, each behavior, sequences, every code point.

FASTBPE_FULL=1 takes more random texts, and every code point for every step; without it, the ends of each run of
one general category stand for all code points, unless the step has classes of its own.
"""

import itertools
import random
import re
from collections.abc import Iterable, Iterator, Sequence

import pytest

import fastbpe
from fastbpe import PatternError
from fastbpe.patterns import PATTERNS
from fastbpe.splitting import make_splitter
from fastbpe.splitting.charset import ANY, CharSet, _alike
from fastbpe.splitting.oniguruma import from_oniguruma
from fastbpe.splitting.steps import (
    Behavior,
    BertPreTokenizer,
    ByteLevel,
    Digits,
    FixedLength,
    Punctuation,
    Split,
    Step,
    UnicodeScripts,
    Whitespace,
    WhitespaceSplit,
    make_sequence,
)
from fastbpe.splitting.unicode_tables import SCRIPT_NAMES
from helpers.sampling import FULL, SEED, n_rounds, some
from helpers.shared_data import DATA, corpus, data_file
from helpers.split_oracles import ALPHABETS, random_texts

tokenizers = pytest.importorskip("tokenizers")
peers = tokenizers.pre_tokenizers

N_TEXTS = n_rounds(200, 20_000)

CATEGORIES = re.findall("..", "LuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCoCn")
BEHAVIORS: tuple[Behavior, ...] = (
    "isolated",
    "removed",
    "merged_with_previous",
    "merged_with_next",
    "contiguous",
)
PATTERNS_TO_SPLIT_BY = [r"\s", r"\p{L}+", "a+", r"(?i:'s|'t|'re)|\d", r"\p{N}{1,3}", r"\w+|[^\w\s]+", r"^.|.$"]
SPLITS = [
    Split(pattern=pattern, behavior=behavior, invert=invert)
    for pattern in PATTERNS_TO_SPLIT_BY
    for behavior in BEHAVIORS
    for invert in (False, True)
]
SPLITS += [
    Split(pattern=text, behavior=behavior, literal=True) for text in (" ", "a.", "'s") for behavior in BEHAVIORS
]
SPLITS += [Split(pattern=str(PATTERNS[name])) for name in ("o200k", "llama3", "qwen2", "tekken")]
STEPS: list[Step] = [
    Digits(),
    Digits(individual_digits=True),
    *(Punctuation(behavior=behavior) for behavior in BEHAVIORS),
    ByteLevel(),
    ByteLevel(use_regex=False),
    Whitespace(),
    WhitespaceSplit(),
    BertPreTokenizer(),
    UnicodeScripts(),
    *(FixedLength(length=length) for length in (1, 2, 5)),
]
#: Sequences of published tokenizers.
FALCON: list[Step] = [
    Punctuation(behavior="contiguous"),
    ByteLevel(),
    Digits(),
    Split(pattern="[0-9][0-9][0-9]"),
]
DEEPSEEK = [Split(pattern=pattern) for pattern in PATTERNS["deepseek_v3"] or ()]


def peer(step: Step):
    if isinstance(step, Split):
        pattern = step.pattern if step.literal else tokenizers.Regex(step.pattern)
        return peers.Split(pattern, step.behavior, step.invert)
    if isinstance(step, Digits):
        return peers.Digits(step.individual_digits)
    if isinstance(step, Punctuation):
        return peers.Punctuation(step.behavior)
    if isinstance(step, ByteLevel):
        return peers.ByteLevel(add_prefix_space=False, use_regex=step.use_regex)
    if isinstance(step, FixedLength):
        return peers.FixedLength(step.length)
    return getattr(peers, type(step).__name__)()


def stand_ins() -> dict[str, int]:
    """Map each character of GPT-2's files, as ByteLevel writes them, to its byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


BYTE_OF = stand_ins()


def to_bytes(shown: str) -> bytes:
    """Return the bytes that GPT-2's characters stand for."""
    return bytes(BYTE_OF[character] for character in shown)


def assert_same(steps: Sequence[Step], texts: Iterable[str]) -> None:
    """Compare the pieces of each text with tokenizers' pieces: their offsets, or their content after ByteLevel.

    tokenizers counts characters, and after ByteLevel a piece may begin within one.
    """
    splitter = make_sequence(steps)
    theirs = peers.Sequence([peer(step) for step in steps])
    has_byte_level = any(isinstance(step, ByteLevel) for step in steps)
    for text in texts:
        found: list[object] = [*splitter.pieces(text)]
        expected: list[object]
        if has_byte_level:
            data = text.encode()
            found = [data[start:end] for start, end in splitter.pieces(text)]
            expected = [to_bytes(piece) for piece, _ in theirs.pre_tokenize_str(text)]
        else:
            at = [0, *itertools.accumulate(len(character.encode()) for character in text)]
            expected = [(at[start], at[end]) for _, (start, end) in theirs.pre_tokenize_str(text)]
        if found != expected:
            pairs = itertools.zip_longest(found, expected)
            first = next(i for i, (ours, wanted) in enumerate(pairs) if ours != wanted)
            raise AssertionError(
                f"seed {SEED}, {steps}: piece {first} is {found[first : first + 1]}, with tokenizers "
                f"{expected[first : first + 1]}; the text is {text[:300]!r}"
            )


def hard_texts() -> Iterator[str]:
    return itertools.islice(random_texts(SEED), N_TEXTS)


def code_points(all_of_them: bool) -> str:
    if all_of_them or FULL:
        return "".join(ANY)
    ends = {end for name in CATEGORIES for ends in CharSet.category(name).ranges for end in ends}
    return "".join(map(chr, sorted(ends)))


@pytest.mark.parametrize("step", [*SPLITS, *STEPS], ids=repr)
def test_steps_split_hard_texts_as_tokenizers(step: Step) -> None:
    assert_same([step], itertools.islice(hard_texts(), N_TEXTS // 3))


@pytest.mark.parametrize("step", [*SPLITS, *STEPS], ids=repr)
def test_steps_split_all_short_texts_as_tokenizers(step: Step) -> None:
    texts = ("".join(text) for n in range(6 if FULL else 4) for text in itertools.product("a's1 \n.", repeat=n))
    assert_same([step], texts)


@pytest.mark.sample(1)
@pytest.mark.parametrize("step", STEPS, ids=repr)
def test_steps_split_every_code_point_as_tokenizers(step: Step) -> None:
    characters = code_points(isinstance(step, (Digits, Punctuation, BertPreTokenizer, UnicodeScripts)))
    for context in ("a", "1", " ", ".", "漢", "\u0301") if FULL else ("a", "."):
        assert_same([step], [context + context.join(characters[at : at + 50_000]) + context
                             for at in range(0, len(characters), 50_000)])  # fmt: skip


@pytest.mark.sample(20)
@pytest.mark.parametrize("block", range(0, 0x110000, 0x1000))
def test_scripts_of_neighbours_join_and_part_as_in_tokenizers(block: int) -> None:
    points = [c for c in range(block, block + 0x1000) if c in ANY]
    chooser = random.Random(f"{SEED} {block}")
    others = "a.漢か\u30fc\u0301 1ا가\u0378"
    texts = ("".join(chr(c) + chooser.choice(others) for c in points) for _ in range(3))
    assert_same([UnicodeScripts()], [*texts, "".join(map(chr, points))])


def test_sequences_of_steps_split_as_tokenizers() -> None:
    chooser = random.Random(SEED)
    for _ in range(N_TEXTS):
        steps = chooser.choices([*SPLITS, *STEPS], k=chooser.randint(2, 4))
        if sum(isinstance(step, ByteLevel) for step in steps) > 1:
            continue  # bytes of bytes: tokenizers accepts it, and no tokenizer uses it
        texts = random_texts(chooser.randrange(1 << 30))
        assert_same(steps, list(itertools.islice(texts, 3)))


@pytest.mark.parametrize("steps", [DEEPSEEK, FALCON], ids=["deepseek_v3", "falcon"])
def test_published_sequences_split_hard_texts_as_tokenizers(steps: Sequence[Step]) -> None:
    assert_same(steps, hard_texts())


@pytest.mark.parametrize("context", ["a", "A", "1", " ", "\n", "'", ".", "é", "漢", "\u0301"])
def test_deepseek_splits_every_code_point_as_tokenizers(context: str) -> None:
    characters = code_points(False)
    assert_same(DEEPSEEK, [context + context.join(characters) + context])


@pytest.mark.daily
def test_deepseek_splits_corpora_as_tokenizers() -> None:
    if not DATA.is_dir():
        pytest.skip("needs the test data: set FASTBPE_DATA to the folder that holds it")
    for path in sorted((DATA / "corpus").glob("*.txt")):
        assert_same(DEEPSEEK, [corpus(path.name, n_rounds(150_000, 10_000_000))])


def test_deepseek_by_name_splits_like_the_sequence() -> None:
    splitter, steps = make_splitter(PATTERNS["deepseek_v3"]), make_sequence(DEEPSEEK)
    for text in hard_texts():
        assert splitter.pieces(text) == steps.pieces(text), f"seed {SEED}: {text!r}"


# Ids.


@pytest.mark.daily
def test_deepseek_ids_equal_tokenizers() -> None:
    """tokenizers gets the ranks as merges that make each token from earlier tokens."""
    special = {"<｜begin▁of▁sentence｜>": 0, "<｜end▁of▁sentence｜>": 1, "<｜▁pad▁｜>": 2}
    path = data_file("vocab", "deepseek_v3.tiktoken")
    ours = fastbpe.load(path, pattern="deepseek_v3", special_tokens={})
    assert [ours.token_to_id(name) for name in special] == [0, 1, 2]
    theirs = peer_of_ranks(ours, PATTERNS["deepseek_v3"] or ())
    texts = [*itertools.islice(random_texts(SEED), N_TEXTS)]
    texts += [corpus(name, 60_000) for name in ("english.txt", "multilingual.txt", "wagahaiwa_nekodearu.txt")]
    for text in texts:
        assert ours.encode_ordinary(text) == theirs.encode(text).ids, f"seed {SEED}: {text[:200]!r}"


def peer_of_ranks(ours: fastbpe.Tokenizer, patterns: Sequence[str]):
    """Return a byte-level BPE of tokenizers with the merges of one of our tokenizers."""
    shown = {byte: character for character, byte in BYTE_OF.items()}
    names = ["".join(shown[byte] for byte in token) for token in ours.vocab]
    model = tokenizers.models.BPE(
        vocab={name: i for i, name in enumerate(names) if name},
        merges=[(names[left], names[right]) for left, right in ours.merges],
    )
    made = tokenizers.Tokenizer(model)
    splits = [peers.Split(tokenizers.Regex(pattern), "isolated") for pattern in patterns]
    made.pre_tokenizer = peers.Sequence([*splits, peers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return made


# Patterns as tokenizers reads them.

_ATOMS = r"""
\p{L} \P{L} \p{^Lu} \p{Han} \p{Greek} \p{Letter} \s \S \w \W \d \D \h \H \n \r \v \f \- \< \> \/ \x41 \u00e9
\x{1F600} ^ $ \A \z \Z \b \B . a s t ' é 😀 { } ] - (?=a) (?!\s) (?<=a) (?<!\s) (?>a+) (?:a|b) (a|\s) (?<x>a)
[a-z] [^a-z] [\w'] [^\s\w] [\W\d] [\w] [^\w] [\W] [[\w]a] [a-z&&[^aeiou]] [^a[b]] [\p{Lu}\p{M}] [\d-z] [-a] [a-]
(?i:s) (?i:'s) (?i:é) (?i:[’é]) (?i:[^É]) (?i:[sk]) (?i:[^s]) (?i:k) (?i:[a-z]+) (?i:[\s\d])
(?i:(s)) (?i:s+s) (?i:s(?:t)) (?i:s(t)) (?i:st*) (?i:s{1}t) (?i:s{2}s) (?i:s$t) (?i:s)t(?i:s) (?:st) (?x:s{1})
\R \N \O \e \cJ \Q [\pL] []a] [^]a] (?#a) (?x:a#) (?i) (?-i) (?m) (?im) (?>\R|a) (*FAIL) \k<1> \k<-1>
\k<x> (?<y>[as]) \k<y>
(?m:.) (?-i:a) (?:\s|$) (?:^|\s) [[:space:]] [^[:alpha:]] [[:punct:]_-] [[:^word:]a] [:alpha:] [[:alnum:]&&[a-f]]
"""
POSIX_CLASSES = (
    *("alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space"),
    *("upper", "word", "xdigit"),
)
ATOMS = [*_ATOMS.split(), " ", "\n", *(r"(a|\s)", r"([as])", r"\1", r"\2") * 2]
COUNTS = [
    "",
    "",
    "",
    "",
    "+",
    "*",
    "?",
    "++",
    "*+",
    "?+",
    "+?",
    "*?",
    "??",
    "{2}",
    "{1,3}",
    "{2,}",
    "{,2}",
    "{,}",
    "{1}",
    "{1}?",
    "{1,1}?",
    "{1,1}+",
    "{1,2}?",
    "{1,2}+",
    "{2}+",
    "{2}?",
]


@pytest.mark.daily
def test_random_patterns_match_as_in_tokenizers() -> None:
    chooser = random.Random(SEED)
    characters = [*itertools.chain(*ALPHABETS), *"²¼\u200c\u200d\n\n\n  aabbsst<<>'ßﬆ{,}"]
    n_compared = 0
    while n_compared < N_TEXTS:
        pattern = "|".join(
            "".join(chooser.choice(ATOMS) + chooser.choice(COUNTS) for _ in range(chooser.randint(1, 3)))
            for _ in range(chooser.randint(1, 3))
        )
        try:
            ours = make_splitter(from_oniguruma(pattern), drop_unmatched=True)
        except PatternError:
            continue
        try:
            theirs = peers.Split(tokenizers.Regex(pattern), "removed", True)
        except Exception as error:
            if "repeat operator" in str(error):  # the repetition of an anchor, which we accept
                continue
            raise
        n_compared += 1
        for _ in range(5):
            text = "".join(chooser.choices(characters, k=chooser.randrange(30)))
            data = text.encode()
            found = [data[start:end].decode() for start, end in ours.pieces(text)]
            try:
                expected = [piece for piece, _ in theirs.pre_tokenize_str(text)]
            except BaseException as error:  # a panic of tokenizers, which gives up
                if "retry-limit-in-match" not in str(error):
                    raise
                continue
            assert found == expected, f"seed {SEED}: {pattern!r} on {text!r}"


@pytest.mark.daily
@pytest.mark.parametrize("form", ["[[:{}:]]", "[^[:{}:]]", "[[:^{}:]]"])
def test_posix_classes_have_the_members_of_tokenizers(form: str) -> None:
    text = "".join(map(chr, itertools.chain(range(0xD800), range(0xE000, 0x110000))))
    for name in some(POSIX_CLASSES, 3):
        pattern = form.format(name)
        ours = make_splitter(from_oniguruma(pattern) + "+", drop_unmatched=True)
        data = text.encode()
        theirs = peers.Split(tokenizers.Regex(pattern + "+"), "removed", True).pre_tokenize_str(text)
        assert [data[a:b].decode() for a, b in ours.pieces(data)] == [piece for piece, _ in theirs], name


@pytest.mark.daily
@pytest.mark.parametrize("form", ["(?i:{})", "(?i:[{}])", "(?i:[^{}])", "(?i:s{}t)", "(?i:[a{}]+)"])
def test_characters_whose_case_is_ignored_match_as_in_tokenizers(form: str) -> None:
    """All cases of each character outside ASCII match, or fastbpe refuses the pattern."""
    cased = [chr(code_point) for code_point in _alike()[0] if code_point >= 0x80]
    pool = "".join(cased) + "abcfhijklnstwyABCFHIJKLNSTWY'’漢\u02bc\u0301\u0307\u0308\u030c"
    n_refused = 0
    for character in some([*cased, "’", "漢"], 120):
        pattern = form.format(character)
        try:
            translated = from_oniguruma(pattern)
        except PatternError:
            n_refused += 1
            continue
        text = pool + "".join(f"s{one}Ts{one}s" for one in CharSet.of(character).case_closure())
        theirs = peers.Split(tokenizers.Regex(pattern), "removed", True).pre_tokenize_str(text)
        data = text.encode()
        ours = [data[a:b].decode() for a, b in make_splitter(translated, drop_unmatched=True).pieces(text)]
        assert ours == [piece for piece, _ in theirs], pattern
    assert n_refused < 40


@pytest.mark.daily
def test_every_property_has_the_characters_of_tokenizers() -> None:
    """Compare both ends of each range, inside and outside."""
    scripts = [name.split(":")[1] for name in SCRIPT_NAMES.split() if ":" in name]
    names = (
        "L Lu Ll Lt Lm Lo LC M Mn Mc Me N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs C Cc Cf Co Cn"
    )
    all_names = [*names.split(), "Alphabetic", "Any", "Uppercase", "Lowercase", "Letter", "Punct", *scripts]
    for name in some(all_names, 40):
        members = CharSet.property(name)
        if not members:
            continue
        edges = {point + d for ends in members.ranges for point in ends for d in (-1, 0, 1)}
        text = "".join(
            character for character in map(chr, sorted(edges & set(range(0x110000)))) if character in ANY
        )
        theirs = peers.Split(tokenizers.Regex(rf"\p{{{name}}}"), "removed", True).pre_tokenize_str(text)
        assert [piece for piece, _ in theirs] == [character for character in text if character in members], name
