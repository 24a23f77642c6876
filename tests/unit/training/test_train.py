"""train(): its options, sources, rules for ties, and limits."""

import gzip
import json
import random
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, SpecialTokenError, Tokenizer, TrainingError, TrainingWarning
from fastbpe._core.train.byte_learner import Learner
from helpers.child_processes import run_python
from helpers.shared_data import OVERLAPS, counted, learned, standard_library, tokens_of
from reference import train as reference_train

TIES = ("pair", "huggingface", "first")
WORDS = r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+"


def train(source: Any, *, n_merges: int | None = None, pattern: str | None = WORDS, **options: Any) -> Tokenizer:
    """Train without warnings; n_merges=None learns all merges there are."""
    n_special = len(options.get("special_tokens", ()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if n_merges is None else "error", TrainingWarning)
        return fastbpe.train(
            source,
            vocab_size=256 + n_special + (500 if n_merges is None else n_merges),
            pattern=pattern,
            progress=False,
            **options,
        )


def learned_text(*arguments: Any, **options: Any) -> list[str]:
    tokenizer = train(*arguments, **options)
    n_special = len(tokenizer.special_tokens)
    return [token.decode() for token in tokenizer.vocab[256 : tokenizer.vocab_size - n_special]]


# Learned merges.


def test_worked_examples_are_learned() -> None:
    assert learned_text(["aaabdaaabac"], n_merges=3, pattern=None) == ["aa", "ab", "aaab"]
    words = ["a", "refrain", "from", "rain", "in", "a", "train"]
    assert learned_text(words, n_merges=3, pattern=None, ties="first") == ["in", "ra", "rain"]


@pytest.mark.parametrize(("text", "tokens"), OVERLAPS)
def test_overlapping_pairs_are_learned_as_listed(text: str, tokens: list[str]) -> None:
    assert learned_text([text]) == tokens


def test_each_rule_for_ties_orders_pairs() -> None:
    assert learned_text(["zb ya"], ties="pair") == [" y", "zb", " ya"]
    assert learned_text(["zb ya"], ties="first") == ["zb", " y", " ya"]
    assert learned_text(["lo lo r r"], n_merges=2, ties="pair") == [" r", "lo"]
    assert learned_text(["lo lo r r"], n_merges=2, ties="huggingface") == ["lo", " r"]
    assert learned_text(["ab cd ef gh"], n_merges=4) == [" c", " e", " g", "ab"]
    assert learned_text(["ab cd ef gh"], n_merges=4, ties="huggingface") == ["ab", "cd", "ef", "gh"]


def test_first_ties_use_the_text_as_merged_so_far() -> None:
    pieces = ["abc", "ab", "ca", "bc", "ca", "ab"]
    assert learned_text(pieces, n_merges=3, pattern=None, ties="first") == ["ab", "ca", "abc"]


def test_min_count_stops_learning() -> None:
    assert learned_text(["ab ab cab"], min_count=2) == ["ab"]
    assert learned_text(["ab ab cab"], min_count=3) == ["ab"]
    assert learned_text(["ab ab cab"], min_count=4) == []


def test_max_token_bytes_limits_tokens() -> None:
    assert learned_text(["abcd"], max_token_bytes=1) == []
    assert learned_text(["abcd"], max_token_bytes=2) == ["ab", "cd"]
    assert learned_text(["abcd"], max_token_bytes=3) == ["ab", "cd"]
    assert learned_text(["abcd"], max_token_bytes=4) == ["ab", "cd", "abcd"]


def test_pair_that_is_too_long_does_not_hide_others() -> None:
    """If the most frequent pair is too long, the next one is taken."""
    for ties in TIES:
        assert tokens_of(learned({b"aaaa": 5, b"xy": 1}, 9, ties=ties, max_token_bytes=2)) == [b"aa", b"xy"]
        pieces = {b"aaaa": 5, b"xy": 1}
        expected = reference_train(pieces, n_merges=9, ties=ties, max_token_bytes=3)  # type: ignore[arg-type]
        assert learned(pieces, 9, ties=ties, max_token_bytes=3) == [(a, b) for a, b, _ in expected.merges]


def test_merges_never_cross_pieces() -> None:
    assert learned_text(["ab 12"], pattern=r"\p{L}+|\p{N}+|\s") == ["12", "ab"]
    assert learned_text(["ab", "ab"], n_merges=1, pattern=None) == ["ab"]


def test_unmatched_text_is_learned_from() -> None:
    assert learned_text(["xyaxy"], n_merges=1, pattern="a+") == ["xy"]


def test_saved_tokenizer_keeps_the_pattern_of_training(tmp_path: Path) -> None:
    tokenizer = train(["1234 1234 1234 99"], pattern=r"\p{N}{1,2}|\P{N}+")
    assert {b"12", b"34"} <= set(tokenizer.vocab)
    assert b"1234" not in tokenizer.vocab
    tokenizer.save(tmp_path / "digits.fbpe")
    again = fastbpe.load(tmp_path / "digits.fbpe")
    assert again.pattern == r"\p{N}{1,2}|\P{N}+"
    assert [again.id_to_token(i) for i in again.encode("1234")] == [b"12", b"34"]


def test_named_pattern_and_its_text_train_alike() -> None:
    text = [standard_library(20_000)]
    by_name = train(text, n_merges=100, pattern="gpt2")
    assert by_name == train(text, n_merges=100, pattern=fastbpe.PATTERNS["gpt2"])
    assert by_name != train(text, n_merges=100, pattern="cl100k")
    assert by_name.pattern == fastbpe.PATTERNS["gpt2"]


def test_defaults_are_cl100k_and_ties_by_pair() -> None:
    text = [standard_library(20_000)]
    default = fastbpe.train(text, vocab_size=400, progress=False)
    assert default == fastbpe.train(text, vocab_size=400, pattern="cl100k", ties="pair", progress=False)


def test_ids_are_bytes_then_merges_then_special_tokens() -> None:
    tokenizer = train(["ab ab"], n_merges=1, special_tokens=["<b>", "<a>"])
    assert tokenizer.vocab == [*(bytes([byte]) for byte in range(256)), b"ab", b"<b>", b"<a>"]
    assert tokenizer.special_tokens == {"<b>": 257, "<a>": 258}
    assert tokenizer.merges == [(97, 98)]


# Special tokens.


@pytest.mark.parametrize("pattern", [None, WORDS, "cl100k"])
def test_special_tokens_split_the_text(pattern: str | None) -> None:
    tokenizer = train(["ABCD<sep>EFGH"] * 50, pattern=pattern, special_tokens=["<sep>"])
    ordinary = tokenizer.vocab[256:-1]
    assert {b"ABCD", b"EFGH"} <= set(ordinary)
    assert not [token for token in ordinary if b"<" in token or b"sep" in token or b">" in token or b"DE" in token]
    ids = tokenizer.encode("ABCD<sep>EFGH", allowed_special="all")
    assert [tokenizer.id_to_token(i) for i in ids] == [b"ABCD", b"<sep>", b"EFGH"]


def test_leftmost_longest_special_token_splits_the_text() -> None:
    assert learned_text(["x<a>by"], pattern=None, special_tokens=["<a>", "<a>b"]) == []
    assert learned_text(["x<a>by"], pattern=None, special_tokens=["<a>"]) == ["by"]


def test_special_tokens_split_bytes_documents() -> None:
    assert learned_text([b"ab<s>ab"], pattern=None, special_tokens=["<s>"]) == ["ab"]


# Limits.


def test_early_stop_warns_with_the_size_reached() -> None:
    with pytest.warns(TrainingWarning) as caught:
        tokenizer = fastbpe.train(["abc"], vocab_size=1000, special_tokens=["<s>"], progress=False)
    assert tokenizer.vocab_size == 259
    (warning,) = caught
    assert str(warning.message) == (
        "no pair is left to merge: the vocabulary has 259 entries, not the 1000 asked for; "
        "train on more text, or ask for fewer"
    )
    assert warning.filename == __file__


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ([[0, 1]], {"mode": "ids", "base_size": 4, "vocab_size": 40}),
        (["ab", "c" * 200], {"mode": "codepoint", "vocab_size": "characters", "max_sentence_length": 100}),
    ],
    ids=["ids", "codepoint"],
)
def test_warnings_of_the_other_modes_name_the_line_of_the_caller(source: Any, options: dict[str, Any]) -> None:
    with pytest.warns(TrainingWarning) as warned:
        fastbpe.train(source, progress=False, **options)
    assert {warning.filename for warning in warned} == {__file__}


def test_no_warning_when_all_was_learned() -> None:
    assert train(["abc"], n_merges=2).vocab_size == 258
    assert train(["abc"], n_merges=0).vocab_size == 256
    assert train(["a"], n_merges=0, special_tokens=["<s>"]).vocab == [
        *(bytes([b]) for b in range(256)),
        b"<s>",
    ]


def test_one_byte_is_enough_text() -> None:
    assert learned_text(["a"]) == []
    assert learned_text(["", "a", ""]) == []


@pytest.mark.parametrize("source", [[], [""], ["", b""], iter([])])
def test_empty_source_raises_training_error(source: Any) -> None:
    with pytest.raises(TrainingError, match="no text to learn from"):
        train(source)


def test_source_of_special_tokens_only_raises_training_error() -> None:
    with pytest.raises(TrainingError, match="only special tokens"):
        train(["<s><s>", "<s>"], special_tokens=["<s>"])


def test_reason_why_there_is_no_text_names_pruning_or_the_base(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="all pieces of the source were left out as rare"):
        train(fastbpe.count_pieces(["low lower"], pattern=WORDS, progress=False).pruned(5))
    (tmp_path / "vocab.json").write_text('{"a": 0, "b": 1, "ab": 2}')
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n")
    base = fastbpe.load(tmp_path, pattern="gpt2")
    with pytest.raises(TrainingError, match="the base has no token for any byte of the source"):
        fastbpe.train(["\u732b"], base=base, vocab_size="+5", progress=False)
    counts = fastbpe.count_pieces(["aab", "b"], base=base, progress=False)
    with pytest.raises(TrainingError, match="all pieces of the source were left out as rare"):
        fastbpe.train(counts.pruned(2), base=base, vocab_size="+1", progress=False)
    pruned = fastbpe.PieceCounts({"aab": 3, "b": 1}, pattern="gpt2").pruned(2)
    assert fastbpe.train(pruned, base=base, vocab_size="+1", progress=False).training_report["n_pruned"] == 1


def test_counting_for_a_base_takes_its_special_tokens_once() -> None:
    base = train(["ab<s>"], n_merges=1, pattern="gpt2", special_tokens=["<s>"])
    counts = fastbpe.count_pieces(["ab<s><t>"], base=base, special_tokens=["<s>", "<t>"], progress=False)
    assert (dict(counts), counts.special_tokens) == ({b"ab": 1}, ("<s>", "<t>"))


def test_base_that_puts_a_space_before_texts_needs_no_special_tokens(tmp_path: Path) -> None:
    train(["ab"], n_merges=1, pattern="gpt2").export(tmp_path / "tokenizer.json")
    model = json.loads((tmp_path / "tokenizer.json").read_bytes())
    model["pre_tokenizer"]["add_prefix_space"] = True
    (tmp_path / "tokenizer.json").write_text(json.dumps(model))
    base = fastbpe.load(tmp_path / "tokenizer.json")
    assert fastbpe.train(["bb"], base=base, vocab_size="+1", progress=False).vocab[257:] == [b" b"]


def test_base_may_have_a_special_token_of_a_byte_that_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text('{"a": 0, "b": 1, "|": 2}')
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    base = fastbpe.load(tmp_path, pattern="gpt2", special_tokens={"|": 2})
    text = ["abab|b"]
    extended = fastbpe.train(text, base=base, vocab_size="+1", progress=False)
    assert (extended.vocab[3], extended.special_tokens) == (b"ab", {"|": 2})
    counts = fastbpe.count_pieces(text, base=base, progress=False)
    assert fastbpe.train(counts, base=base, vocab_size="+1", progress=False) == extended


# Counts.


def test_counts_beyond_32_bits_are_exact() -> None:
    """Ties by pair prefer `he` to `th`; ties by first occurrence prefer `th`."""
    pieces = {b" " * 80 + b"x\n": 30_000_000, b"aa": 3_000_000_000, b"the": 5_000_000_000}
    assert tokens_of(learned(pieces, 3)) == [b"he", b"the", b"aa"]
    assert tokens_of(learned(pieces, 3, ties="first")) == [b"th", b"the", b"aa"]
    assert tokens_of(learned({b" " * 80 + b"x\n": 30_000_000, b"ab": 2_000_000_000}, 1)) == [b"  "]
    for ties in TIES:
        expected = reference_train(pieces, n_merges=90, ties=ties)  # type: ignore[arg-type]
        assert learned(pieces, 90, ties=ties) == [(a, b) for a, b, _ in expected.merges]


def test_counts_of_equal_pieces_add_up() -> None:
    pieces = [(b"ab", 2**40), (b"cd", 2**41 - 1), (b"ab", 2**40)]
    assert tokens_of(learned(pieces, 2)) == [b"ab", b"cd"]
    assert counted(pieces).items() == [(b"ab", 2**41), (b"cd", 2**41 - 1)]


def test_counts_beyond_64_bits_raise_overflow_error() -> None:
    counter = counted({b"ab": 2**63 - 1})
    with pytest.raises(OverflowError):
        counter.add_piece(b"ab", 1)
    assert counter.items() == [(b"ab", 2**63 - 1)]
    with pytest.raises(ValueError, match="must not be negative"):
        counter.add_piece(b"ab", -1)
    with pytest.raises(OverflowError):
        learned({b"ab": 2**62, b"abc": 2**62, b"xyab": 2**62, b"cd": 5}, 2)


def test_pieces_with_count_zero_teach_nothing() -> None:
    assert learned({b"ab": 0}, 5) == []
    assert tokens_of(learned({b"ab": 0, b"cd": 1}, 5)) == [b"cd"]


def test_learned_merges_include_the_count_of_their_pair() -> None:
    learner = Learner(counted({b"aaab": 3, b"ab": 2}), max_ids=300)
    learner.learn()
    assert learner.merges() == [(97, 97, 6), (97, 98, 5), (256, 257, 3)]
    learner.learn()
    assert len(learner.merges()) == 3


def test_learner_reports_progress() -> None:
    seen: list[int] = []
    learner = Learner(counted({b"abcd": 1}), max_ids=300)
    learner.learn(seen.append)
    assert seen[-1] == 256 + len(learner.merges())


def test_progress_bars_are_shown_on_request_only(capsys: pytest.CaptureFixture[str]) -> None:
    fastbpe.train(["abc"], vocab_size=258, progress=False)
    assert capsys.readouterr() == ("", "")
    fastbpe.train(["abc"], vocab_size=258)
    assert capsys.readouterr() == ("", "")
    fastbpe.train(["abc"], vocab_size=258, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "counting" in err
    assert "learning" in err


def test_progress_function_is_called_for_both_phases() -> None:
    seen: list[tuple[str, int, int | None]] = []
    text = standard_library(100_000)
    fastbpe.train([text], vocab_size=300, progress=lambda *told: seen.append(told))
    phases = list(dict.fromkeys(phase for phase, _, _ in seen))
    assert phases == ["counting", "learning"]
    for phase, end in (("counting", len(text.encode())), ("learning", 44)):
        done = [n for name, n, _ in seen if name == phase]
        assert (done[0], done[-1]) == (0, end)
        assert done == sorted(done)
    assert {total for name, _, total in seen if name == "learning"} == {44}


@pytest.mark.parametrize("when", ["counting", "learning"])
def test_error_of_the_progress_function_ends_training(when: str) -> None:
    def tell(phase: str, done: int, total: int | None) -> None:
        if phase == when:
            raise LookupError(phase)

    with pytest.raises(LookupError, match=when):
        fastbpe.train(["abc"], vocab_size=258, progress=tell)


def test_invalid_progress_raises_type_error() -> None:
    with pytest.raises(TypeError, match="progress must be True, False, None or a function, not int"):
        fastbpe.train(["abc"], vocab_size=258, progress=1)  # type: ignore[arg-type]


def test_progress_bars_end_with_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    fastbpe.train(["abc abc"], vocab_size=258, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert any(re.fullmatch(r"counting: 7 bytes, 2 pieces, 2 distinct, \d+\.\d\d s", line) for line in lines)
    assert any(re.fullmatch(r"learning: 2 merges, \d+\.\d\d s", line) for line in lines)
    assert any(re.fullmatch(r"peak memory: [\d,]+ MB", line) for line in lines) or sys.platform == "win32"


def test_interrupted_learner_cannot_be_reused() -> None:
    learner = Learner(counted({b"abcd": 1}), max_ids=300)

    def interrupt(n_ids: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.learn(interrupt)
    with pytest.raises(RuntimeError, match="create another"):
        learner.learn()


# Determinism.


def test_training_twice_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("a.fbpe", "b.fbpe"):
        fastbpe.train([standard_library(20_000)], vocab_size=300, progress=name == "b.fbpe").save(tmp_path / name)
    assert (tmp_path / "a.fbpe").read_bytes() == (tmp_path / "b.fbpe").read_bytes()


@pytest.mark.parametrize("ties", ["pair", "huggingface"])
def test_order_of_documents_does_not_matter(ties: str) -> None:
    documents = standard_library(100_000).splitlines(keepends=True)
    expected = train(documents, n_merges=300, ties=ties)
    for seed in range(3):
        random.Random(seed).shuffle(documents)
        assert train(documents, n_merges=300, ties=ties) == expected
    for shuffled in (["ab cd ef gh"], ["gh ", "ef ", "ab ", "cd "]):
        assert learned_text(shuffled, n_merges=4, pattern=r"\p{L}+|\s", ties=ties) == ["ab", "cd", "ef", "gh"]


def test_first_ties_depend_on_the_order_of_documents() -> None:
    assert learned_text(["ab", "cd"], n_merges=1, ties="first") == ["ab"]
    assert learned_text(["cd", "ab"], n_merges=1, ties="first") == ["cd"]


@pytest.mark.daily
def test_hash_seeds_do_not_matter() -> None:
    program = """
from fastbpe import train
text = ["ab cd ef gh", "the cat sat on the mat", "<s>" * 3, "ab<t>cd"] * 3
for ties in ("pair", "huggingface", "first"):
    print(train(text, vocab_size=275, ties=ties, special_tokens=["<s>", "<t>"], progress=False).fingerprint)
"""
    assert len({run_python(program, PYTHONHASHSEED=str(seed)) for seed in range(10)}) == 1


# Sources.

LINES = ["first line\n", "zweite Zeile äöü\r\n", "第三行\n", "no line end"]
TEXT = "".join(LINES)


def trains_the_same(source: Any, documents: Any) -> bool:
    """Return True if a source trains the same tokenizer as these documents, with ties="first", where order
    counts."""
    one, other = train(source, ties="first"), train(documents, ties="first")
    return one == other and one.training_report["n_bytes"] == other.training_report["n_bytes"]


def test_text_file_is_one_document(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.encode())
    assert trains_the_same(path, [TEXT])
    assert trains_the_same(str(path), [TEXT])
    assert train(path).training_report["n_bytes"] == len(TEXT.encode())


def test_crlf_stays_in_the_text_and_a_byte_order_mark_does_not(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"\xef\xbb\xbfab\r\nab\r\n")
    assert trains_the_same(path, ["ab\r\nab\r\n"])


def test_list_of_files_is_read_in_order(tmp_path: Path) -> None:
    paths = []
    for number, line in enumerate(LINES):
        paths.append(tmp_path / f"{number}.txt")
        paths[-1].write_bytes(line.encode())
    assert trains_the_same(paths, LINES)
    assert trains_the_same([str(path) for path in paths], LINES)
    assert trains_the_same(tuple(map(str, paths)), LINES)
    assert trains_the_same(iter(paths), LINES)
    assert trains_the_same([paths[0], LINES[1], *paths[2:]], LINES)
    assert train(list(reversed(paths))) == train(paths)


def test_gzip_files_are_read(tmp_path: Path) -> None:
    for name in ("text.gz", "text.txt.gz", "TEXT.TXT.GZ"):
        (tmp_path / name).write_bytes(gzip.compress(TEXT.encode()))
        assert trains_the_same(tmp_path / name, [TEXT])


def test_each_json_line_is_a_document(tmp_path: Path) -> None:
    lines = [json.dumps({"id": n, "text": line}, ensure_ascii=n % 2 == 0) for n, line in enumerate(LINES)]
    data = ("\n".join([lines[0], "", lines[1], "  ", *lines[2:]])).encode()
    (tmp_path / "a.jsonl").write_bytes(data)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(data + b"\r\n"))
    assert trains_the_same(tmp_path / "a.jsonl", LINES)
    assert trains_the_same(str(tmp_path / "b.jsonl.gz"), LINES)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", r"a\.jsonl:3: not a line of JSON"),
        (b"abc", r"a\.jsonl:3: not a line of JSON"),
        (b'{"text": "\xff"}', r"a\.jsonl:3: not a line of JSON"),
        (b"[" * 100_000, r"a\.jsonl:3: not a line of JSON"),
        (b'{"txt": "a"}', r"a\.jsonl:3: no object with a field 'text'"),
        (b'["text"]', r"a\.jsonl:3: the line is not an object, so it has no field 'text'"),
        (b'"text"', r"a\.jsonl:3: the line is not an object, so it has no field 'text'"),
        (b"5", r"a\.jsonl:3: the line is not an object, so it has no field 'text'"),
        (b'{"text": null}', r"a\.jsonl:3: its field 'text' is null, not a string"),
        (b'{"text": ["a"]}', r"a\.jsonl:3: its field 'text' is list, not a string"),
    ],
)
def test_invalid_json_line_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "a"}\n\n' + line + b'\n{"text": "b"}\n')
    with pytest.raises(FormatError, match=message):
        train(tmp_path / "a.jsonl")


def test_invalid_utf8_file_is_named_with_the_offset(tmp_path: Path) -> None:
    path = tmp_path / "latin1.txt"
    path.write_bytes("äbc".encode() * 100 + "ä".encode("latin-1") + b"bc")
    with pytest.raises(
        FormatError, match=r"latin1\.txt:\d+: not UTF-8: invalid byte 0xe4 at offset 400; convert it"
    ):
        train([path])


def test_damaged_gzip_file_is_named(tmp_path: Path) -> None:
    whole = gzip.compress(TEXT.encode() * 100)
    altered = bytearray(whole)
    altered[len(whole) // 2] ^= 0xFF
    for data in (whole[:-9], whole[:20], bytes(altered), b"not compressed", whole + b"rubbish"):
        path = tmp_path / "damaged.txt.gz"
        path.write_bytes(data)
        with pytest.raises((FormatError, OSError), match=r"damaged\.txt\.gz"):
            train(path)


@pytest.mark.parametrize("name", ["a.xz", "a.txt.bz2", "a.zip"])
def test_unsupported_compression_is_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"whatever")
    with pytest.raises(FormatError, match=f"{name}: fastbpe reads no {Path(name).suffix} files; decompress it"):
        train(tmp_path / name)


def test_empty_file_raises_training_error(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    with pytest.raises(TrainingError, match="no text to learn from"):
        train(tmp_path / "empty.txt")
    assert learned_text([tmp_path / "empty.txt", "ab"]) == ["ab"]


def test_missing_path_raises_file_not_found_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"missing\.txt"):
        train(tmp_path / "missing.txt")
    with pytest.raises(FileNotFoundError, match=r"pass texts as a list, such as \[text\]\): 'just some text'"):
        train("just some text")
    with pytest.raises(FileNotFoundError, match=r"no file matches .*'just a \*'"):
        train("just a *")
    with pytest.raises(
        FileNotFoundError, match=r"no text \(\.txt\), JSON lines, \.parquet or \.arrow file in this folder"
    ):
        train(tmp_path)
    with pytest.raises(FileNotFoundError, match="no file matches"):
        train(tmp_path / "*.txt")
    there = tmp_path / "there.txt"
    there.write_text("abc")
    with pytest.warns(
        TrainingWarning, match=r"there\.txt' is the name of a file, but 'ty po' is not; pass paths as"
    ):
        fastbpe.train([str(there), "ty po"], vocab_size=257)


def test_documents_may_be_str_or_bytes_in_any_iterable() -> None:
    assert trains_the_same(LINES, (line.encode() for line in LINES))
    assert trains_the_same(LINES, tuple(LINES))
    assert trains_the_same(LINES, dict.fromkeys(LINES).keys())
    assert trains_the_same([LINES[0], "", LINES[1], b"", *LINES[2:]], LINES)
    assert trains_the_same(["a\ud83d\udc4d\ud83d"], ["a👍\ufffd"])


def test_generator_is_read_once() -> None:
    read: list[int] = []

    def documents() -> Iterator[str]:
        for number in range(3):
            read.append(number)
            yield "ab ab"

    assert learned_text(documents(), n_merges=1) == ["ab"]
    assert read == [0, 1, 2]


def test_error_of_the_generator_is_passed_on() -> None:
    def documents() -> Iterator[str]:
        yield "ab"
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        train(documents())


def test_interrupt_in_the_generator_ends_training() -> None:
    def documents() -> Iterator[str]:
        yield "ab"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(documents())


@pytest.mark.parametrize("item", [None, 5, ["a"], bytearray(b"a")])
def test_document_of_wrong_type_is_named(item: object) -> None:
    message = rf"document 1 of the source \(counted from 0\) is {type(item).__name__}, not str or bytes"
    with pytest.raises(TypeError, match=message):
        train(["a", item])


def test_invalid_utf8_document_is_named_with_the_offset() -> None:
    with pytest.raises(ValueError, match="invalid byte 0xff at offset 2"):
        train(["a", b"ab\xff"])


@pytest.mark.parametrize("source", [b"text", 5, None, 1.5])
def test_source_of_wrong_type_raises(source: Any) -> None:
    with pytest.raises(TypeError, match="source"):
        train(source)


# Options.


@pytest.mark.parametrize("names", ["<a>", {"<a>": 4}, 5, None])
def test_special_tokens_of_integers_must_be_a_list_of_names(names: Any) -> None:
    with pytest.raises(TypeError, match=f"special_tokens must be a list of names, not {type(names).__name__}"):
        fastbpe.train([[1, 2]], mode="ids", base_size=3, vocab_size=5, special_tokens=names)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"vocab_size": 255}, TrainingError, "vocab_size=255 is too small.*need 256"),
        ({"vocab_size": 0}, TrainingError, "vocab_size=0 is too small"),
        ({"vocab_size": -1}, TrainingError, "vocab_size=-1 is too small"),
        ({"vocab_size": 257, "special_tokens": ["<a>", "<b>"]}, TrainingError, "2 special tokens need 258 ids"),
        ({"vocab_size": 2**24 + 1}, TrainingError, "vocab_size=16777217 is too large.*limit is 16777216"),
        ({"vocab_size": 300.0}, TypeError, "vocab_size must be an integer, not float"),
        ({"vocab_size": "300"}, TypeError, r"vocab_size='300': must be an integer$"),
        (
            {"vocab_size": "300", "base": fastbpe.Tokenizer.from_merges([], pattern=None)},
            TypeError,
            r"vocab_size='300': must be an integer, or '\+N' for N more than base= has",
        ),
        ({"vocab_size": None}, TypeError, "vocab_size must be an integer, not NoneType"),
        ({"vocab_size": True}, TypeError, "vocab_size must be an integer, not bool"),
        ({"min_count": 0}, TrainingError, "min_count=0 is too small"),
        ({"min_count": 1.5}, TypeError, "min_count must be an integer, not float"),
        ({"max_token_bytes": 0}, TrainingError, "max_token_bytes=0: must be at least 1, or None"),
        ({"max_token_bytes": -3}, TrainingError, "max_token_bytes=-3"),
        ({"max_token_bytes": 2.5}, TypeError, "max_token_bytes must be an integer, not float"),
        ({"max_token_bytes": "3"}, TypeError, "max_token_bytes must be an integer, not str"),
        ({"max_token_bytes": True}, TypeError, "max_token_bytes must be an integer, not bool"),
        ({"ties": "last"}, TrainingError, "ties='last': choose one of 'pair', 'huggingface', 'first'"),
        ({"mode": "words"}, TrainingError, "mode='words'.*byte"),
        ({"special_tokens": "<s>"}, TrainingError, "special_tokens='<s>': pass a list"),
        ({"special_tokens": None}, TypeError, "special_tokens"),
        ({"special_tokens": ["<s>", "<s>"]}, SpecialTokenError, "special token '<s>' is given twice"),
        ({"special_tokens": [""]}, SpecialTokenError, "a special token is empty"),
        ({"special_tokens": [5]}, SpecialTokenError, "special token 5 is int, not str"),
        ({"special_tokens": ["\ud83d"]}, SpecialTokenError, "contains a surrogate"),
        ({"special_tokens": ["a"]}, SpecialTokenError, "special token 'a' is also the ordinary token 97"),
        ({"pattern": "("}, ValueError, "split pattern"),
        ({"pattern": "a*"}, ValueError, "can match the empty string"),
        ({"pattern": "cl10k"}, ValueError, "did you mean 'cl100k'"),
        ({"pattern": 5}, TypeError, "pattern"),
        (
            {"vocabsize": 300},
            TypeError,
            "vocabsize= is not an option of training in byte mode: did you mean vocab_s",
        ),
        ({"min_frequency": 2}, TrainingError, "min_frequency= is not an option.*did you mean min_count?"),
        ({"byte_fallback": True}, TypeError, "byte_fallback= is not an option.*only with mode='codepoint'"),
        ({"foo": True}, TypeError, "foo= is not an option.*the options are max_token_bytes, min_count, pattern"),
        ({"base_special": "keep"}, TrainingError, "base_special=.* pass base=, or leave base_special= out"),
    ],
)
def test_invalid_options_are_refused_before_reading(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    def documents() -> Iterator[str]:
        raise AssertionError("the source was read")
        yield ""

    with pytest.raises(error, match=message):
        fastbpe.train(documents(), **{"vocab_size": 300, "progress": False, **options})


@pytest.mark.parametrize("superwords", ["words", "boundless"])
def test_base_special_with_superwords_of_whole_words_is_refused(superwords: str) -> None:
    base = fastbpe.train(["ab ab abc"], vocab_size=258, progress=False)
    message = f"base_special='end' has no effect with superwords='{superwords}', where special tokens cannot move"
    with pytest.raises(TrainingError, match=message):
        fastbpe.train(["a b"], vocab_size=259, base=base, base_special="end", superwords=superwords)


def test_base_special_without_effect_is_refused() -> None:
    base = fastbpe.train(["ab ab abc"], vocab_size=8, mode="codepoint", progress=False)
    message = 'no effect with mode="codepoint", where special tokens cannot move; leave base_special= out'
    with pytest.raises(TrainingError, match=message):
        fastbpe.train(["abc abc"], vocab_size=9, base=base, base_special="end", progress=False)


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({}, ""),
        ({"min_count": 2}, ""),
        ({"min_count": 3}, "min_count=3 leaves"),
        ({"max_token_bytes": 1}, "max_token_bytes=1 leaves"),
        ({"max_token_bytes": 2}, "max_token_bytes=2 leaves"),
        ({"max_token_bytes": 100}, ""),
        ({"min_count": 3, "max_token_bytes": 1}, "min_count=3 and max_token_bytes=1 leave"),
    ],
)
@pytest.mark.parametrize("ties", TIES)
def test_warning_names_the_limit_that_stopped_learning(options: dict[str, int], cause: str, ties: str) -> None:
    with pytest.warns(TrainingWarning) as caught:
        fastbpe.train(["abc", "abc"], vocab_size=300, pattern=None, ties=ties, progress=False, **options)
    message = str(caught[0].message)
    said = f"{cause} no pair to merge" if cause else "no pair is left to merge"
    assert message.startswith(f"{said}: the vocabulary has ")
    change = f"change {'these limits' if ' and ' in cause else 'that limit'}, " if cause else ""
    assert message.endswith(f" asked for; {change}train on more text, or ask for fewer")


def test_warning_ignores_the_size_of_base_tokens() -> None:
    base = fastbpe.train(["ab"], vocab_size=257, pattern=None, progress=False)
    with pytest.warns(TrainingWarning, match="no pair is left to merge: "):
        fastbpe.train(["ab"], vocab_size=260, base=base, min_count=1, progress=False)


def test_special_tokens_may_be_any_iterable() -> None:
    for special in (["<a>", "<b>"], ("<a>", "<b>"), iter(["<a>", "<b>"])):
        tokenizer = fastbpe.train(["ab"], vocab_size=259, special_tokens=special, progress=False)
        assert tokenizer.special_tokens == {"<a>": 257, "<b>": 258}


def test_training_report_holds_options_and_counts() -> None:
    tokenizer = train(["ab ab", "cd"], n_merges=2, min_count=1, special_tokens=["<s>"])
    expected = {
        "vocab_size": 259, "pattern": WORDS, "ties": "pair", "min_count": 1, "max_token_bytes": None,
        "library": fastbpe.__version__, "n_bytes": 7, "n_pieces": 3, "n_distinct_pieces": 3,
    }  # fmt: skip
    assert {key: tokenizer.training_report[key] for key in expected} == expected
    assert list(tokenizer.training_report["special_tokens"]) == ["<s>"]


def test_huge_vocab_size_of_a_small_text_costs_little() -> None:
    assert learned({b"abc": 1}, (1 << 24) - 256) == [(97, 98), (256, 99)]
    with pytest.warns(TrainingWarning, match="the vocabulary has 258 entries, not the 10000000 asked for"):
        tokenizer = fastbpe.train(["abc"], vocab_size=10_000_000, progress=False)
    assert tokenizer.n_vocab == 258
