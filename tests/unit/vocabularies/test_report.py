"""vocabulary_report: verdicts by example, use of a corpus, forms, numbers, white space, scripts."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer, vocabulary_report
from fastbpe.model import AddedToken, Model, PieceType
from fastbpe.normalization.sentencepiece_rules import compile_rules
from helpers.codepoint_models import model_of
from helpers.sampling import SEED
from helpers.segmented_models import unigram_model
from helpers.shared_data import BYTES, data_file

NO_BYTES = {0xC0, 0xC1, *range(0xF5, 0x100)}


def ranks(*tokens: str | bytes, pattern: str | None = "gpt2", special: dict[str, int] | None = None) -> Tokenizer:
    listed = [token.encode() if isinstance(token, str) else token for token in tokens]
    return Tokenizer.from_ranks(
        BYTES | {token: 256 + i for i, token in enumerate(listed)}, pattern=pattern, special_tokens=special
    )


def points(*pieces: str, fallback: bool = True, **normalizer: object) -> Tokenizer:
    listed = [(b"<unk>", 0.0, PieceType.UNKNOWN)]
    if fallback:
        listed += [(b"<0x%02X>" % byte, 0.0, PieceType.BYTE) for byte in range(256)]
    listed += [(piece.encode(), -float(i), PieceType.NORMAL) for i, piece in enumerate(pieces)]
    return fastbpe.load(model_of(listed, {"byte_fallback": fallback}, normalizer))


@pytest.mark.daily
@pytest.mark.parametrize(
    ("tokenizer", "token_id", "reason"),
    [
        (ranks("abc"), 256, None),  # as a whole piece
        (
            Tokenizer(Model(tokens=[*BYTES, b"abc"], pattern=None, special_tokens={}, whole_piece_first=False)),
            256,
            "no merge makes it",
        ),
        (ranks("a1"), 256, "the split pattern cuts it"),
        (ranks("ab", " ab", b" \xc3"), 258, None),
        (ranks(b"\xc0a"), 256, "no text has its bytes"),
        (ranks(b"\xc3\xa9", b"\xc3a"), 257, "no text has its bytes"),
        (points("ab", "a", "b"), 257, None),
        (points("abc", "a", "b", "c"), 257, "no merge makes it"),
        (points("a", "b"), 0, "no character is unknown"),
        (points("a", "b"), 1 + ord("a"), "no character needs this byte"),
        (points("a", "b"), 1 + ord("c"), None),
        (points("a", "b"), 1 + ord(" "), "normalizing changes it"),
        (points("a", "b", escape_whitespaces=False), 1 + ord(" "), None),
        (points("a", "b", fallback=False), 0, None),
    ],
)
def test_token_without_a_text_has_its_reason(tokenizer: Tokenizer, token_id: int, reason: str | None) -> None:
    report = vocabulary_report(tokenizer)
    assert not report.undecided
    assert report.impossible.get(token_id) == reason
    if reason is None:
        assert token_id in tokenizer.encode_ordinary(report.witnesses[token_id])


def test_token_that_its_neighbours_always_take_is_impossible() -> None:
    # Each continuation makes a token with the lead byte, of a lower rank than any token that begins with it.
    pairs = [bytes((0xC3, low)) for low in range(0x80, 0xC0)]
    report = vocabulary_report(ranks(*pairs, pattern=None))
    assert report.impossible[0xC3] == "its neighbours always merge with it"
    assert vocabulary_report(ranks(*pairs[1:], pattern=None)).witnesses[0xC3]


def test_token_with_part_of_a_surrogate_is_impossible_by_its_bytes() -> None:
    report = vocabulary_report(ranks(b"\xed\xa9", b"\xed\x9f", b"\xed\xa9\x81"))
    assert report.impossible[256] == report.impossible[258] == "no text has its bytes"
    assert 257 in report.witnesses


def test_text_in_another_normal_form_is_impossible() -> None:
    ranks_ = ["e\u0301", "\u00e9"]
    model = Model(
        tokens=[*BYTES, *(token.encode() for token in ranks_)],
        pattern=None,
        special_tokens={},
        normalizers=({"type": "NFC"},),
    )
    report = vocabulary_report(Tokenizer(model))
    assert report.impossible[256] == "normalizing changes it"
    assert 257 in report.witnesses


@pytest.mark.parametrize("tokenizer", [ranks("lo", "low", "wx"), points("lo", "wx", "low", *"lowx")])
def test_token_that_holds_an_added_token_is_impossible(tokenizer: Tokenizer) -> None:
    report = vocabulary_report(tokenizer.with_tokens(["ow"]))
    assert report.impossible[tokenizer.token_to_id("low")] == "a name in it is found first"
    assert tokenizer.token_to_id("wx") in report.witnesses
    assert not report.undecided
    careful = fastbpe.AddedToken("ow", single_word=True)
    if tokenizer.mode == "byte":
        assert tokenizer.token_to_id("low") in vocabulary_report(tokenizer.with_tokens([careful])).witnesses


@pytest.mark.parametrize("rules", [{}, {"b": "a"}])
def test_piece_of_a_unigram_model_may_hold_a_user_defined_piece(rules: dict[str, str]) -> None:
    pieces = [(b"<unk>", 0.0, PieceType.UNKNOWN), (b"a", -1.0, PieceType.NORMAL)]
    pieces += [(b"b", 0.0, PieceType.USER_DEFINED), (b"ab", -1.0005, PieceType.NORMAL)]
    charsmap = compile_rules(rules) if rules else b""
    normalizer = {"add_dummy_prefix": False, "precompiled_charsmap": charsmap}
    tokenizer = Tokenizer(unigram_model(pieces, normalizer=normalizer))
    assert tokenizer.encode("ab") == [1, 2]
    assert tokenizer.encode("a" * 20_000 + "ab")[-1] == 3  # the sum of -20,000 is rounded to a multiple of 1/512
    assert 3 not in vocabulary_report(tokenizer).impossible


def test_special_and_added_tokens_are_judged_by_their_names() -> None:
    model = Model(
        tokens=[*BYTES, b"ab"],
        pattern=None,
        special_tokens={"<end>": 300},
        added_tokens=(AddedToken("ab cd", 290),),
    )
    report = vocabulary_report(Tokenizer(model))
    assert (report.names, report.mode) == ([290, 300], "byte")
    assert (report.witnesses[290], report.witnesses[300]) == ("ab cd", "<end>")
    assert len(report.witnesses) + len(report.impossible) == 259


@pytest.mark.daily
def test_counts_of_a_corpus_equal_its_ids(tmp_path: Path) -> None:
    texts = ["low lower naïve 東京", "a\ud800b", "lower 東 <end>"]
    tokenizer = fastbpe.train(texts[:1] * 9, vocab_size=264, special_tokens=["<end>"], progress=False)
    ids = Counter(i for text in texts for i in tokenizer.encode_ordinary(text))
    use = vocabulary_report(tokenizer, texts, progress=False).corpus
    assert use is not None
    assert {i: n for i, n in enumerate(use.counts) if n} == ids
    assert (use.n_ids, use.n_bytes) == (
        ids.total(),
        sum(len(tokenizer.decode(tokenizer.encode_ordinary(text)).encode()) for text in texts),
    )
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": texts[0]}))
    (tmp_path / "b.txt").write_text(texts[2])
    of_files = vocabulary_report(tokenizer, tmp_path, progress=False).corpus
    of_texts = vocabulary_report(tokenizer, [texts[0], texts[2]], progress=False).corpus
    assert of_files == of_texts


def test_unused_tokens_come_before_the_parts_of_used_ones() -> None:
    tokenizer = ranks("lo", "low", "xy", "xyz", "yz", pattern=None)
    use = vocabulary_report(tokenizer, ["low", "a"]).corpus
    assert use is not None
    assert use.unused == [258, 259, 260, 256]
    assert use.parts == {256}


@pytest.mark.daily
@pytest.mark.parametrize("mode", ["byte", "codepoint"])
def test_parts_are_the_tokens_in_the_trees_of_used_tokens(mode: str) -> None:
    rng = random.Random(f"{SEED}{mode}")
    n_parts = 0
    for _ in range(5):
        texts = ["".join(rng.choices("abc é", k=200)) for _ in range(3)]
        options: dict[str, Any] = {"vocab_size": 300} if mode == "byte" else {"mode": mode, "vocab_size": 40}
        tokenizer = fastbpe.train(texts, progress=False, **options)
        use = vocabulary_report(tokenizer, [texts[0][:30]]).corpus
        assert use is not None
        inside: set[int] = set()
        todo = [fastbpe.merge_tree(tokenizer, i) for i, n in enumerate(use.counts) if n]
        while todo:
            parts = todo.pop().parts
            todo += parts
            inside |= {part.id for part in parts if part.id is not None}
        assert use.parts == inside.intersection(use.unused)
        n_parts += len(use.parts)
    assert n_parts


def test_unused_tokens_of_a_corpus_exclude_what_no_text_gives() -> None:
    report = vocabulary_report(ranks("a1", "ab"), ["zz"])
    assert report.corpus is not None
    assert report.corpus.unused == [257]


def test_forms_are_grouped() -> None:
    report = vocabulary_report(ranks("ab", "AB", "Ab", " ab", "\ufb01", "fi", "xyz"))
    assert [256, 257, 258] in report.forms["case"]
    assert [256, 259] in report.forms["space"]
    assert [260, 261] in report.forms["normalization"]
    assert report.partial == [*range(0x80, 0x100)]


def test_numbers_and_white_space_are_described() -> None:
    listed = [*map(str, range(10, 100)), *map(str, range(100, 1000, 2)), "    ", "  ", "\n\n"]
    report = vocabulary_report(ranks(*listed, pattern="cl100k"))
    assert report.digits.n_tokens == {1: 10, 2: 90, 3: 450}
    assert report.digits.groups[2] == [2]
    assert report.digits.groups[3] is None  # even numbers are one token, odd ones two
    assert report.indentation.runs == {"spaces": [1, 2, 4], "tabs": [1], "line feeds": [1, 2], "line endings": []}
    assert report.indentation.cost[4] == len(ranks(*listed, pattern="cl100k").encode("a\n    a")) - 3


def test_scripts_count_tokens_and_bytes_of_the_corpus() -> None:
    tokenizer = ranks("ab", "東", "слово", b"\xe6\x9d", "<>", pattern=None, special={"<end>": 300})
    report = vocabulary_report(tokenizer, ["ab東京", "12 <>"])
    rows = {row.script: row for row in report.scripts}
    assert rows["Latin"].n_tokens == 53
    assert (rows["Han"].n_tokens, rows["Han"].n_ids, rows["Han"].n_bytes) == (1, 4, 6)
    assert rows["Han"].bytes_per_id == 1.5
    assert (rows["Cyrillic"].n_tokens, rows["Cyrillic"].bytes_per_id) == (1, None)
    assert rows["names"].n_tokens == 1
    assert rows["part of a character"].n_tokens == 129
    assert sum(row.n_bytes for row in report.scripts) == report.corpus.n_bytes  # type: ignore[union-attr]
    assert sum(row.n_tokens for row in report.scripts) == 262


def test_each_character_of_bytes_counts_for_its_script() -> None:
    rows = {row.script: row for row in vocabulary_report(ranks(pattern=None), ["漢слово字漢" * 9]).scripts}
    assert {name: row.n_bytes for name, row in rows.items() if row.n_ids} == {"Han": 81, "Cyrillic": 90}


def test_report_is_json_and_text() -> None:
    report = vocabulary_report(ranks("ab", "a1", special={"<end>": 300}), ["ab \n"])
    found = json.loads(json.dumps(report.to_dict()))
    assert (found["n_tokens"], found["n_names"], found["n_with_witness"]) == (259, 1, 259 - len(NO_BYTES) - 1)
    assert found["impossible"][-1] == {"id": 257, "text": "a1", "reason": "the split pattern cuts it"}
    assert found["corpus"]["counts"] == {"10": 1, "32": 1, "256": 1}
    lines = str(report).splitlines()
    assert lines[0].split(maxsplit=1) == ["tokens", "259 (1 special or added)"]
    assert any(line.startswith("  the split pattern cuts it") and line.endswith("1: 'a1' 257") for line in lines)
    assert not any(line != line.rstrip() for line in lines)
    assert str(vocabulary_report(points("a"))).splitlines()


def test_empty_corpus_counts_nothing() -> None:
    report = vocabulary_report(ranks("ab"), [])
    assert report.corpus is not None
    assert (report.corpus.n_ids, report.corpus.unused) == (0, [256])
    assert "bytes per id" in str(report)
    assert all(row.bytes_per_id is None for row in report.scripts)


@pytest.mark.parametrize(
    ("corpus", "error"),
    [("no-such-file.txt", FileNotFoundError), ([5], TypeError), (5, TypeError), ([b"a\xff"], ValueError)],
)
def test_bad_corpus_raises_as_training_does(corpus: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        vocabulary_report(ranks("ab"), corpus)  # type: ignore[arg-type]


def test_bad_file_raises_format_error(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{")
    with pytest.raises(FormatError, match=r"a\.jsonl"):
        vocabulary_report(ranks("ab"), tmp_path)


@pytest.mark.parametrize("other", [5, "gpt2", fastbpe.SequenceTokenizer.from_merges([(0, 1)], base_size=4)])
def test_other_objects_raise_type_error(other: object) -> None:
    with pytest.raises(TypeError, match=r"tokenizer must be a Tokenizer, not "):
        vocabulary_report(other)  # type: ignore[arg-type]


def test_progress_function_hears_of_counting() -> None:
    heard = []
    vocabulary_report(ranks("ab"), ["ab", "abc"], progress=lambda *said: heard.append(said))
    assert heard[-1] == ("counting", 5, None)


def test_table_ends_without_a_colon_if_every_token_is_used() -> None:
    tokenizer = fastbpe.Tokenizer.from_merges([(97, 98)], pattern=None)
    rows = vocabulary_report(tokenizer, ["ab"]).table().splitlines()
    assert [row.split()[-1] for row in rows if row.startswith("never used")] == ["0"]


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "n_impossible"),
    [("gpt2_encoder.json", 13), ("llama2_tokenizer.model", 111), ("falcon_tokenizer.json", 0)],
)
def test_every_token_of_a_published_vocabulary_is_decided(name: str, n_impossible: int) -> None:
    report = vocabulary_report(fastbpe.load(data_file("vocab", name)))
    assert not report.undecided
    assert len(report.impossible) == n_impossible
