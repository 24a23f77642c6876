"""Files of odd members, ids and normalizers: taken or refused, and run, as tokenizers 0.23 does it."""

from __future__ import annotations

import copy
import json
import random
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import fastbpe
import fastbpe.tokenizers as tokenizers_face
from helpers.random_pipelines import is_panic
from helpers.sampling import SEED, n_rounds

tokenizers = pytest.importorskip("tokenizers")

FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
MODEL = {
    "type": "BPE",
    "dropout": None,
    "unk_token": "a",
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
    "vocab": {"a": 0, "b": 1, "ab": 2, "<s>": 3},
    "merges": [["a", "b"]],
}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
REPLACE = {"type": "Replace", "pattern": {"String": "b"}, "content": "a"}
AROUND = {"sep": ["<s>", 3], "cls": ["<s>", 3]}
ITEMS = [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"]
STEPS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "normalizer": (
        "normalizers",
        [
            {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "strip_accents": None,
                "lowercase": True,
            },
            {"type": "Strip", "strip_left": True, "strip_right": True},
            {"type": "Prepend", "prepend": "a"},
            REPLACE,
            {"type": "Precompiled", "precompiled_charsmap": ""},
        ],
    ),
    "pre_tokenizer": (
        "pretokenizers",
        [
            BYTE_LEVEL,
            METASPACE,
            {"type": "Split", "pattern": {"Regex": "b"}, "behavior": "Isolated", "invert": False},
            {"type": "Digits", "individual_digits": True},
            {"type": "Punctuation", "behavior": "Isolated"},
            {"type": "CharDelimiterSplit", "delimiter": "b"},
            {"type": "FixedLength", "length": 2},
        ],
    ),
    "post_processor": (
        "processors",
        [
            BYTE_LEVEL,
            {"type": "TemplateProcessing", "single": ITEMS[:1], "pair": ITEMS, "special_tokens": {}},
            {"type": "RobertaProcessing", **AROUND, "trim_offsets": True, "add_prefix_space": True},
            {"type": "BertProcessing", **AROUND},
        ],
    ),
    "decoder": (
        "decoders",
        [
            BYTE_LEVEL,
            METASPACE,
            REPLACE,
            {"type": "WordPiece", "prefix": "##", "cleanup": True},
            {"type": "BPEDecoder", "suffix": "</w>"},
            {"type": "CTC", "pad_token": "a", "word_delimiter_token": "|", "cleanup": True},
            {"type": "Strip", "content": "a", "start": 1, "stop": 1},
        ],
    ),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0},
    "padding": {
        "strategy": {"Fixed": 4},
        "direction": "Left",
        "pad_to_multiple_of": None,
        "pad_id": 3,
        "pad_type_id": 0,
        "pad_token": "<s>",
    },
}
SPECIAL = {"SpecialToken": {"id": "<s>", "type_id": 0}}
TEMPLATE = {
    "single": [SPECIAL, *ITEMS[:1]],
    "pair": [*ITEMS, SPECIAL],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}},
}
VALUES = (None, 1, -1, True, "x", [], {}, 1.5, "", 2**70)
#: What fastbpe does not run: (member, repr of its value).
REFUSED = {("single", "[]")}


def whole(**parts: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("truncation", "padding", *STEPS))
    added = {"id": 3, "content": "<s>", "special": True, **FLAGS}
    return {"version": "1.0", **empty, "added_tokens": [added], "model": MODEL, **parts}


def variants(part: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield a part with one member left out or of another value, with the name of the member and the value."""
    for key in part:
        yield key, "missing", {name: value for name, value in part.items() if name != key}
        yield from ((key, repr(value), {**part, key: value}) for value in VALUES)


def files() -> Iterator[tuple[str, str, dict[str, Any]]]:
    yield from ((key, value, whole(model=model)) for key, value, model in variants(MODEL))
    for key, value, added in variants(whole()["added_tokens"][0]):
        yield key, value, whole(added_tokens=[added])
    for part, (inner, steps) in STEPS.items():
        for step in steps:
            for key, value, changed in variants(step):
                yield key, value, whole(**{part: changed})
                yield key, value, whole(**{part: {"type": "Sequence", inner: [changed]}})
    for key, value, made in variants(whole()):
        yield key, value, made
    for name, settings in SETTINGS.items():
        for key, value, changed in variants(settings):
            yield key, value, whole(**{name: changed})
    for part in nested():
        yield "post_processor", repr(part), whole(post_processor=part)
    for member in ("type", "id", ""):
        yield member, "unknown", {member: 1, **whole()}
        yield member, "unknown", {**whole(), member: 1}


def nested() -> Iterator[Any]:
    """Yield templates with one inner member left out or of another value, and lists in the place of objects."""
    for path in (("single", 0), ("single", 0, "SpecialToken"), ("pair", 1, "Sequence"), ("special_tokens", "<s>")):
        *outer, last = path
        inner: Any = TEMPLATE
        for key in path:
            inner = inner[key]
        changes = [changed for _, _, changed in variants(inner) if changed.get("id") not in ("x", "")]
        for changed in [*changes, {**inner, "type": 1}, {**inner, "other": None}, [*inner.values()], None, 1]:
            made = copy.deepcopy(TEMPLATE)
            whose: Any = made
            for key in outer:
                whose = whose[key]
            whose[last] = changed
            yield made
    for members in (TEMPLATE, AROUND, {**AROUND, "trim_offsets": True, "add_prefix_space": False}, BYTE_LEVEL):
        yield [*members.values()]
        for kind in ("TemplateProcessing", "RobertaProcessing", "BertProcessing", "ByteLevel", "Sequence", "x", 1):
            yield {**members, "type": kind}


def original(made: dict[str, Any]) -> Any:
    """Return the tokenizer of tokenizers, or None if it refuses the file."""
    try:
        return tokenizers.Tokenizer.from_str(json.dumps(made))
    except BaseException as error:
        if isinstance(error, Exception) or is_panic(error):
            return None
        raise


def loaded(made: dict[str, Any]) -> Any:
    try:
        return fastbpe.load(json.dumps(made).encode())
    except fastbpe.FormatError:
        return None


def taken_by_face(made: dict[str, Any]) -> bool:
    """Return False if fastbpe.tokenizers refuses the file."""
    try:
        tokenizers_face.Tokenizer.from_str(json.dumps(made))
    except fastbpe.FormatError:
        return False
    return True


@pytest.mark.filterwarnings("ignore::fastbpe.FormatWarning")
def test_member_is_refused_where_tokenizers_refuses_it() -> None:
    drawn = [one for one in files() if one[:2] not in REFUSED]
    always = [one for one in drawn if one[:2] == ("content", "None")]  # the face once took it
    for key, value, made in always + random.Random(SEED).sample(drawn, n_rounds(400, len(drawn))):
        theirs = original(made) is not None
        assert (loaded(made) is not None) == theirs, (key, value, made)
        assert taken_by_face(made) == theirs, (key, value, made)


@pytest.mark.parametrize(
    ("part", "changed", "place"),
    [
        ("other", 1, "tokenizers refuses a file with the member 'other'"),
        ("truncation", {"max_length": True}, "truncation.max_length: must be an integer"),
        ("padding", {}, "padding: it has no 'strategy'"),
        ("padding", {"strategy": {"Fixed": -1}}, "padding.strategy: must be "),
        ("post_processor", {"type": "BertProcessing", "sep": ["a"], "cls": 1}, "post_processor.sep: in BertProc"),
        (
            "post_processor",
            {
                "type": "Sequence",
                "processors": [BYTE_LEVEL, {"type": "TemplateProcessing", **TEMPLATE, "pair": [1]}],
            },
            r"post_processor.processors\[1\].pair\[0\]: must be an object with one member",
        ),
        (
            "post_processor",
            {"type": "TemplateProcessing", **TEMPLATE, "special_tokens": {"<s>": {"id": "<s>", "ids": [-1]}}},
            "post_processor.special_tokens.<s>.tokens: must be a list",
        ),
    ],
)
def test_errors_name_the_step_and_the_place(part: str, changed: Any, place: str) -> None:
    made = whole(**{part: {**SETTINGS[part], **changed} if changed and part in SETTINGS else changed})
    for load in (fastbpe.load, tokenizers_face.Tokenizer.from_buffer):
        with pytest.raises(fastbpe.FormatError, match=place):
            load(json.dumps(made).encode())


def test_two_tokens_of_one_id_raise_format_error_in_both_interfaces() -> None:
    """tokenizers decodes to either of them, at random."""
    made = json.dumps(whole(model={**MODEL, "vocab": {**MODEL["vocab"], "c": 1}}))
    with pytest.raises(fastbpe.FormatError, match=r"'[bc]' and '[bc]' have the same id 1"):
        fastbpe.load(made.encode())
    ours = tokenizers_face.Tokenizer.from_str(made)
    assert ours.get_vocab() == tokenizers.Tokenizer.from_str(made).get_vocab()
    assert ours.decode([1]) in ("b", "c")
    with pytest.raises(fastbpe.FormatError, match=r"'[bc]' and '[bc]' have the same id 1"):
        ours.encode("b")


def test_template_that_cannot_be_filled_raises_vocabulary_error() -> None:
    """tokenizers panics."""
    for template in ({**TEMPLATE, "special_tokens": {}}, {**TEMPLATE, "single": ITEMS[1:]}):
        with pytest.raises(
            fastbpe.VocabularyError, match=r"special_tokens do not contain|contains \$B, which is the second text"
        ):
            tokenizers_face.Tokenizer.from_str(json.dumps(whole(post_processor=template))).encode("a")


@pytest.mark.parametrize(
    ("first", "last"),
    [(([3], ["<s>", "b"]), ([1], ["b"])), (([3, 1], ["<s>"]), ([], [])), (([0], ["a", "b"]), ([0, 1], ["b"]))],
)
def test_special_token_of_a_template_with_more_or_fewer_tokens_than_ids(first: Any, last: Any) -> None:
    listed = ("X", *first), ("Y", *last)
    special = {name: {"id": name, "ids": ids, "tokens": tokens} for name, ids, tokens in listed}
    x, y = ({"SpecialToken": {"id": name, "type_id": 0}} for name in "XY")
    template = {"single": [x, ITEMS[0], y], "pair": [x, *ITEMS, y], "special_tokens": special}
    data = json.dumps(whole(post_processor={"type": "TemplateProcessing", **template}))
    columns = "ids", "tokens", "offsets", "type_ids", "attention_mask", "special_tokens_mask", "word_ids"
    found = []
    for module in (tokenizers, tokenizers_face):
        loaded = module.Tokenizer.from_str(data)
        one = [loaded.encode("ab"), loaded.encode("ab", "b"), *loaded.encode_batch(["ab", "a"])]
        loaded.enable_padding(length=8, direction="left")
        loaded.enable_truncation(5)
        one += [loaded.encode("abab"), loaded.encode("abab", "b"), *loaded.encode_batch(["ab", "ababab"])]
        found.append([[getattr(encoding, name) for name in columns] for encoding in one])
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore::fastbpe.FormatWarning")
@pytest.mark.parametrize("seed", range(n_rounds(60, 1000)))
def test_added_tokens_get_the_ids_of_tokenizers(seed: int) -> None:
    """In a vocabulary with gaps, an added token may get the id of another token."""
    rng = random.Random(SEED * 1000 + seed)
    vocab = dict(zip("abcdefgh", rng.sample(range(12), rng.randint(1, 8)), strict=False))
    contents = rng.sample([*vocab, "<0>", "<1>", "<2>", "<3>"], rng.randint(1, min(5, len(vocab) + 4)))
    added = [
        FLAGS
        | {
            "content": one,
            "id": rng.randint(0, 14),
            "special": rng.random() < 0.5,
            "normalized": rng.random() < 0.5,
        }
        for one in contents
    ]
    made = whole(model={"type": "BPE", "vocab": vocab, "merges": []}, added_tokens=added)
    stock, tokenizer, face = original(made), loaded(made), tokenizers_face.Tokenizer.from_str(json.dumps(made))
    for _ in range(5):
        text = "".join(rng.choices([*vocab, *contents], k=10))
        ids = stock.encode(text).ids
        assert tokenizer.encode(text, allowed_special="all") == face.encode(text).ids == ids
        for skips in (False, True):
            wanted = stock.decode(ids, skip_special_tokens=skips)
            assert tokenizer.decode(ids, skip_special_tokens=skips) == wanted
            assert face.decode(ids, skip_special_tokens=skips) == wanted


@pytest.mark.parametrize(
    "first",
    [{"type": "Prepend", "prepend": ""}, {"type": "Replace", "pattern": {"Regex": "^|x"}, "content": "bb"}],
)
@pytest.mark.parametrize("then", [[], [{"type": "Lowercase"}], [REPLACE | {"content": "ab"}]])
@pytest.mark.parametrize("split", [None, METASPACE])  # tokenizers doubles such text before a ByteLevel
def test_text_before_all_other_text_has_no_place(first: dict[str, Any], then: list[Any], split: Any) -> None:
    vocab = {character: number for number, character in enumerate("abxĠ▁ ")}
    made = whole(
        model=MODEL | {"vocab": vocab, "merges": []},
        added_tokens=[{"id": 2, "content": "x", "special": True, **FLAGS}],
        normalizer={"type": "Sequence", "normalizers": [first, *then]},
        pre_tokenizer=split,
    )
    stock, tokenizer, face = original(made), loaded(made), tokenizers_face.Tokenizer.from_str(json.dumps(made))
    for text in ("ab", "b", " a", "axb", "bxbb", "é", ""):
        try:
            wanted = stock.encode(text)
        except BaseException as error:  # tokenizers panics at some steps after such text
            if not is_panic(error):
                raise
            continue
        assert tokenizer.encode_with_offsets(text, allowed_special="all") == (wanted.ids, wanted.offsets)
        assert face.encode(text).offsets == wanted.offsets


@pytest.mark.filterwarnings("ignore::fastbpe.FormatWarning")
def test_tokens_listed_again_and_of_one_id_are_those_of_tokenizers() -> None:
    """Vocabularies with gaps, where an added token may get the id of another; contents listed twice."""
    for number in range(n_rounds(200, 20_000)):
        rng = random.Random(f"{SEED} {number}")
        ids = rng.sample(range(9), rng.randint(2, 5))
        vocab = dict(zip(rng.sample("abcdef", len(ids)), ids, strict=True))
        added = [
            {**FLAGS, "id": rng.randrange(10), "content": rng.choice("XYZabcdef"), "special": rng.random() < 0.5}
            for _ in range(rng.randint(1, 7))
        ]
        model = {**MODEL, "vocab": vocab, "merges": [], "unk_token": None}
        text = json.dumps({"version": "1.0", "added_tokens": added, "model": model})
        theirs, ours = tokenizers.Tokenizer.from_str(text), fastbpe.load(text.encode())
        found = ours.encode("XYZabcdef", allowed_special="all")
        assert found == theirs.encode("XYZabcdef").ids, f"seed {SEED} {number}"
        for skips in (False, True):
            for token_id in {*ids, *found}:
                decoded = ours.decode([token_id], skip_special_tokens=skips)
                expected = theirs.decode([token_id], skip_special_tokens=skips)
                assert decoded == expected, f"seed {SEED} {number}: {token_id}, {skips}"


@pytest.mark.parametrize("content", ["", "x", "a"])
@pytest.mark.parametrize("token_id", [-1, 1 << 32])
def test_id_of_more_than_32_bits_is_refused(content: str, token_id: int) -> None:
    added = [{**FLAGS, "id": token_id, "content": content, "special": False}]
    text = json.dumps({"version": "1.0", "added_tokens": added, "model": MODEL})
    with pytest.raises(Exception, match="expected u32"):
        tokenizers.Tokenizer.from_str(text)
    with pytest.raises(fastbpe.FormatError, match=r"added_tokens\[0\]"):
        fastbpe.load(text.encode())
    with pytest.raises(fastbpe.FormatError, match=r"added_tokens\[0\]"):
        tokenizers_face.Tokenizer.from_str(text)


@pytest.mark.parametrize("normalizer", [None, {"type": "Prepend", "prepend": "x"}])
def test_each_piece_with_the_text_of_a_special_token_is_skipped(normalizer: Any) -> None:
    """A Unigram may have a piece twice; tokenizers skips by the text, even if the special token has another."""
    scored = [["<s>", 0.0], ["a", -1.0], ["<s>", -2.0]]
    added = [{"id": 2, "content": "<s>", **FLAGS, "special": True, "normalized": True}]
    model = {"type": "Unigram", "unk_id": 1, "vocab": scored}
    made = whole(model=model, added_tokens=added, normalizer=normalizer)
    theirs = original(made)
    for ours in (loaded(made), tokenizers_face.Tokenizer.from_str(json.dumps(made))):
        for ids in ([0], [2], [0, 1, 2, 1]):
            for skips in (False, True):
                expected = theirs.decode(ids, skip_special_tokens=skips)
                assert ours.decode(ids, skip_special_tokens=skips) == expected


@pytest.mark.parametrize("contents", [["▁"], ["▁", "▁▁"], ["▁", "a"], ["▁a"], [" "]])
@pytest.mark.parametrize("flags", [{"special": False, "normalized": True}, {"special": True, "normalized": False}])
def test_mark_of_spaces_may_be_an_added_token(contents: list[str], flags: dict[str, bool]) -> None:
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    pieces = dict.fromkeys(["<unk>", "▁", "a", "b", "▁a", "a▁", "▁▁", *bytes_, *contents])
    vocab = {piece: i for i, piece in enumerate(pieces)}
    added = [{**FLAGS, **flags, "id": vocab[content], "content": content} for content in contents]
    merges = [["▁", "a"], ["a", "▁"], ["▁", "▁"]]
    options = {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True}
    unescape = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    made = whole(
        model={**MODEL, "vocab": vocab, "merges": merges, **options},
        added_tokens=added,
        normalizer={"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        decoder={"type": "Sequence", "decoders": [unescape, {"type": "ByteFallback"}, {"type": "Fuse"}]},
    )
    stock, ours = original(made), loaded(made)
    assert ours.mode == "codepoint"
    for text in ("▁", " ", "a", " a", "a b", "a  b", "▁ ▁a", "   ", "ba ▁b a"):
        wanted = stock.encode(text)
        assert ours.encode_with_offsets(text, allowed_special="all") == (wanted.ids, wanted.offsets), text


@pytest.mark.parametrize("pattern", [{"String": ""}, {"Regex": ""}])
@pytest.mark.parametrize("content", ["b", "", "ab"])
def test_replace_of_the_empty_text_puts_its_content_everywhere(pattern: dict[str, str], content: str) -> None:
    replace = {"type": "Replace", "pattern": pattern, "content": content}
    split = {"type": "Split", "pattern": {"String": "b"}, "behavior": "MergedWithPrevious", "invert": False}
    for part in ({"normalizer": replace}, {"normalizer": replace, "pre_tokenizer": split}, {"decoder": replace}):
        made = whole(**part)
        theirs = original(made)
        for ours in (loaded(made), tokenizers_face.Tokenizer.from_str(json.dumps(made))):
            for text in ("", "a", "aab", "ab a"):
                found = ours.encode(text)
                assert (found if isinstance(found, list) else found.ids) == theirs.encode(text).ids
                assert ours.decode([0, 2, 1]) == theirs.decode([0, 2, 1])
    strings = [module.NormalizedString("ab") for module in (tokenizers, tokenizers_face)]
    for one in strings:
        one.replace("", "x")
    assert [one.normalized for one in strings] == ["ab", "ab"]


BROKEN = ("(", "[a", "*a", "a\\", "[z-a]", r"\p{Foo}", "(?i", r"\k<x>", r"(a)\2")


@pytest.mark.parametrize("pattern", BROKEN)
@pytest.mark.parametrize("key", ["normalizer", "pre_tokenizer", "decoder"])
def test_broken_regex_is_refused_where_the_file_is_read(key: str, pattern: str) -> None:
    """Once, `load` refused such a decoder only when it decoded, and the drop-in such a step only when it ran."""
    step: dict[str, Any] = {"type": "Replace", "pattern": {"Regex": pattern}, "content": "x"}
    if key == "pre_tokenizer":
        step = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    text = json.dumps(whole(**{key: step}))
    with pytest.raises(Exception, match=r"Oniguruma|untagged"):
        tokenizers.Tokenizer.from_str(text)
    with pytest.raises(fastbpe.FormatError, match=f"the {key.replace('_', '-')} {step['type']}: "):
        fastbpe.load(text.encode())
    with pytest.raises(fastbpe.FormatError, match=f"{step['type']}: "):
        tokenizers_face.Tokenizer.from_str(text)


@pytest.mark.parametrize("pattern", BROKEN)
def test_broken_regex_of_the_drop_in_raises_pattern_error(pattern: str) -> None:
    with pytest.raises(Exception, match="Oniguruma"):
        tokenizers.Regex(pattern)
    with pytest.raises(fastbpe.PatternError):
        tokenizers_face.Regex(pattern)


def test_model_without_type_that_has_a_list_and_merges_is_unigram() -> None:
    model = {
        "vocab": [["<unk>", 0.0], ["a", -1.0], ["ab", -1.5], ["b", -2.0]],
        "merges": [["a", "b"]],
        "unk_id": 0,
    }
    made = whole(model=model, added_tokens=[])
    theirs = original(made)
    for ours in (fastbpe.load(json.dumps(made).encode()), tokenizers_face.Tokenizer.from_str(json.dumps(made))):
        for text in ("abab", "aabb", "", "abx"):
            ids = ours.encode(text)
            assert getattr(ids, "ids", ids) == theirs.encode(text).ids


NOT_BPE: dict[str, dict[str, Any]] = {
    "merges of numbers": {"merges": [[1, 2]]},
    "no list of merges": {"merges": None},
    "a merge into a text that is not a token": {"merges": ["b a"]},
    "a dropout above 1": {"merges": ["a b"], "dropout": 1.5},
    "an option of another type": {"merges": ["a b"], "ignore_merges": "yes"},
    "WordPiece": {"merges": ["a x"], "continuing_subword_prefix": "##", "max_input_chars_per_word": 9},
}


@pytest.mark.parametrize("case", NOT_BPE)
def test_model_without_type_whose_merges_are_not_bpe_has_the_next_type_that_fits(case: str) -> None:
    """The untyped files of smirk, whose merges are pairs of ids, were refused; tokenizers finds words in them."""
    model = {"vocab": {"?": 0, "a": 1, "ab": 2, "##b": 3, "<s>": 4}, "unk_token": "?", **NOT_BPE[case]}
    made = whole(model=model, pre_tokenizer={"type": "WhitespaceSplit"}, added_tokens=[])
    theirs = original(made)
    with pytest.warns(fastbpe.FormatWarning, match=f"has no 'type', as {type(theirs.model).__name__}, and so"):
        ours = loaded(made)
    face = tokenizers_face.Tokenizer.from_str(json.dumps(made))
    assert type(face.model).__name__ == type(theirs.model).__name__ == ours.model_type
    for text in ("ab a <s>", "abb", "a ax b", ""):
        assert ours.encode(text, allowed_special="all") == face.encode(text).ids == theirs.encode(text).ids
    for bad in ({**model, "type": "BPE"}, {**model, "unk_token": None}):
        assert original({**made, "model": bad}) is loaded({**made, "model": bad}) is None
        assert not taken_by_face({**made, "model": bad})


@pytest.mark.parametrize("dropout", [0.5, 1.5, "x"])
@pytest.mark.parametrize("kind", ["WordLevel", "Unigram"])
def test_dropout_of_a_model_that_does_not_merge_is_ignored(kind: str, dropout: object) -> None:
    vocab: Any = {"a": 0, "b": 1} if kind == "WordLevel" else [["a", -1.0], ["b", -1.0]]
    made = whole(model={"type": kind, "vocab": vocab, "unk_token": "a", "unk_id": 0, "dropout": dropout})
    assert original(made).encode("b").ids == [1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loaded({**made, "added_tokens": []}).encode("b") == [1]
