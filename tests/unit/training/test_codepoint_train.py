"""Code-point training: learned pieces, the report about the text, and refused options."""

import dataclasses
import doctest
import random
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fastbpe
from fastbpe import TrainingError, TrainingWarning
from fastbpe._utils.progress import Reporter
from fastbpe.corpus.corpora import ReadingOptions
from fastbpe.errors import SpecError
from fastbpe.formats.sentencepiece import model_file as sentencepiece_format
from fastbpe.model import CodePointModel
from fastbpe.sentencepiece import _trainer
from fastbpe.training import codepoint_counting, codepoint_options, codepoints, counting_threads
from fastbpe.training.codepoint_model import CodePointReport, vocabulary_text
from fastbpe.training.codepoint_options import CodePointOptions
from fastbpe.training.codepoints import learn_source
from fastbpe.training.options import Run
from fastbpe.training.sentences import Pretokenizer, SentenceSource
from reference import sentencepiece_training


def learned(source: Any, vocab_size: int | str = 1000, **options: Any) -> tuple[CodePointModel, CodePointReport]:
    reporter = Reporter(options.pop("progress", False))
    names = {field.name for field in dataclasses.fields(ReadingOptions)}
    reading = ReadingOptions(**{name: value for name, value in options.items() if name in names})
    keywords = {name: value for name, value in options.items() if name not in names}
    defaults = {"normalization_rule_name": "identity", "hard_vocab_limit": False}
    return learn_source(source, None, Run(vocab_size, defaults | keywords, reading, reporter))


def pieces(source: Any, vocab_size: int | str = 1000, **options: Any) -> str:
    """Return the pieces after the three symbols."""
    return " ".join(piece.decode() for piece in learned(source, vocab_size, **options)[0].pieces[3:])


@pytest.mark.parametrize(
    "module", [codepoints, codepoint_options, codepoint_counting, sentencepiece_training, _trainer]
)
def test_doctests_of_code_point_training_pass(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


# Learning.


def test_pairs_without_occurrences_come_last() -> None:
    assert pieces(["ab ab abc\nabcd ab"]) == "ab ▁ab ▁abc ▁abcd bc cd ▁a abc a b ▁ c d"


def test_overlapping_occurrences_are_all_counted() -> None:
    assert pieces(["aaaa\naaa aa"]) == "aa ▁aa ▁aaa ▁aaaa ▁a aaa aaaa a ▁"


def test_pairs_removed_by_the_next_merge_are_candidates() -> None:
    assert pieces(["abab"], add_dummy_prefix=False) == "ab abab ba aba a b"


def test_ties_prefer_shorter_then_smaller_texts() -> None:
    assert pieces(["ba ab\ncab"]) == "ab ba ▁c ▁ab ▁ba ▁cab ca ▁a ▁b cab a b ▁ c"


def test_ties_compare_texts_longer_than_a_queue_key() -> None:
    """Texts with more characters than a queue entry holds, from an alphabet that needs many bits for each."""
    filler = "".join(map(chr, range(0x4E00, 0x4E00 + 3000)))
    words = ["漢" * 9 + "b", "漢" * 9 + "a", "漢" * 8 + "ba"]
    found = pieces(["\n".join([*words, filler])], 9000, split_by_unicode_script=False, add_dummy_prefix=False)
    merges = [piece for piece in found.split(" ") if len(piece) == 10 and piece.startswith("漢")]
    assert merges == sorted(merges)


def test_vocabulary_may_hold_only_characters() -> None:
    assert pieces(["ab ab abc\nabcd ab"], 8) == "a b ▁ c d"
    model, _ = learned(["ab ab abc\nabcd ab"], "characters")
    assert (model.n_pieces, model.trainer["vocab_size"]) == (8, 8)
    assert learned(["ab ab abc\nabcd ab"], "characters", hard_vocab_limit=True)[0].n_pieces == 8


def test_scores_begin_at_negative_zero() -> None:
    model, _ = learned(["ab ab abc\nabcd ab"], 9)
    assert (
        vocabulary_text(model) == "<unk>\t0\n<s>\t0\n</s>\t0\nab\t-0\na\t-1\nb\t-2\n▁\t-3\nc\t-4\nd\t-5\n".encode()
    )


def test_vocabulary_text_writes_large_scores() -> None:
    text = "\n".join(chr(0x4E00 + i) * 2 for i in range(2000))
    lines = vocabulary_text(learned([text], 9000, add_dummy_prefix=False)[0]).decode().splitlines()
    assert lines[-1].split("\t")[1] == f"-{len(lines) - 4}"


def test_options_place_symbols_at_their_ids() -> None:
    options: dict[str, Any] = {
        "user_defined_symbols": ["A", "B"],
        "control_symbols": "C",
        "bos_id": 4,
        "pad_id": 8,
    }
    model, _ = learned(["ab ab abc\nabcd ab"], **options)
    assert b" ".join(model.pieces[:10]).decode() == "<unk> C </s> A <s> B ab ▁ab <pad> ▁abc"
    assert list(model.types[:10]) == [2, 3, 3, 4, 3, 4, 1, 1, 3, 1]


def test_symbol_named_like_bos_and_eos_gets_the_id_that_one_of_them_has() -> None:
    options: dict[str, Any] = {"bos_piece": "</s>", "control_symbols": "</s>", "user_defined_symbols": "A"}
    model, _ = learned(["ab ab abc\nabcd ab"], **options, bos_id=-1)
    assert b" ".join(model.pieces[:3]).decode() == "<unk> A </s>"


def test_symbols_split_the_text_and_count_as_characters() -> None:
    assert pieces(["ab<s>ab"]) == "ab ▁ab ▁a a b ▁"
    _, report = learned(["ab<s>ab"])
    assert report.n_characters == 6


def test_training_matches_user_defined_symbols_in_normalized_text() -> None:
    found = pieces(["Foo BAR foo"], normalization_rule_name="nmt_nfkc_cf", user_defined_symbols=["BAR"])
    assert "bar" in found.split(" ")


def test_carriage_returns_are_text() -> None:
    assert "b\r" in pieces(["ab\r\nab\r\n"], split_by_unicode_script=False)
    assert "\r" not in pieces(["ab\r\nab\r\n"], normalization_rule_name="nmt_nfkc")


def test_words_are_split_only_between_scripts() -> None:
    assert "ab." not in pieces(["ab. ab."])
    assert "ab." in pieces(["ab. ab."], split_by_unicode_script=False)
    assert "あ漢" in pieces(["あ漢 あ漢"])
    assert "a\u0301" in pieces(["a\u0301 a\u0301"])
    assert pieces(["a1あ a1あ"], split_by_number=False).startswith("1あ ▁a ▁a1あ a1 a1あ")
    assert "12" not in pieces(["12 12"], split_digits=True)


# The report.


def test_report_counts_skipped_lines_and_characters() -> None:
    text = "ab ab\n" * 50 + "\n" + "x" * 50 + "\nab▅\n\nq"
    model, report = learned([text], max_sentence_length=45, character_coverage=0.98)
    assert (report.n_sentences, report.n_empty, report.n_too_long, report.n_reserved) == (51, 2, 1, 1)
    assert report.left_out == {"q": 1}
    assert "q" not in b" ".join(model.pieces).decode()
    assert report.n_bytes_left_out == 50 + 5
    assert report.n_bytes == len(text.encode()) - 51 - 6
    assert report.notes(model.trainer) == [
        "left out: 2 of 53 lines, 55 bytes: 1 longer than max_sentence_length=45 bytes (raise it) and 1 with "
        "U+2585, which stands for unknown characters",
        "left out of the vocabulary: 1 rare character with 1 occurrence (0.331%): 'q'; it becomes <unk>, unless "
        "character_coverage=0.98 is raised",
    ]


def test_skipped_lines_and_characters_are_warned_of(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ab abc\n" * 20 + "x" * 8000 + "\n")
    with pytest.warns(TrainingWarning, match="left out: 1 of 21 lines, 8,000 bytes: 1 longer than max_sent"):
        tokenizer = fastbpe.train(tmp_path / "a.txt", mode="codepoint", vocab_size=12, progress=False)
    assert tokenizer.training_report["n_bytes"] == 140
    for fallback, become in ((False, "<unk>"), (True, "bytes")):
        with pytest.warns(TrainingWarning, match=f"1 rare character .*'q'; it becomes {become}, unless char"):
            fastbpe.train(
                ["ab ab\n" * 500 + "q"], mode="codepoint", vocab_size="characters", byte_fallback=fallback
            )


def test_skipped_lines_of_a_sample_are_counted() -> None:
    lines = ["ab" * 100, *["ab ab"] * 200]
    _, report = learned(lines, max_sentence_length=50, input_sentence_size=101)
    assert (report.n_sentences, report.n_too_long, report.n_bytes_left_out, report.n_bytes) == (101, 1, 200, 505)


def test_skipped_documents_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "ab ab"}\n{"body": 1}\n')
    assert learned(tmp_path / "a.jsonl", on_error="skip")[1].n_skipped == 1


def test_progress_is_reported_for_both_phases() -> None:
    seen: list[tuple[str, int, int | None]] = []
    learned(["ab ab abc\nabcd ab"], progress=lambda *told: seen.append(told))
    assert [phase for phase, _, _ in seen] == ["counting", "counting", "learning", "learning"]
    assert seen[-1][1] == 8


# Sources.


def test_every_kind_of_source_trains_the_same_model(tmp_path: Path) -> None:
    text = "ab ab abc\nabcd ab\nña ñandú\n"
    path = tmp_path / "text.txt"
    path.write_text(text, encoding="utf-8", newline="")
    expected = learned([text])[0]
    for source in (path, str(path), [path], [text.encode()], iter(text.splitlines()), text.splitlines(True)):
        assert learned(source)[0] == expected


@pytest.fixture
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting_threads, "BATCH_UNITS", 30)
    monkeypatch.setattr(counting_threads, "LONG_TEXT_UNITS", 60)
    monkeypatch.setattr(counting_threads, "MIN_TABLE_BYTES", 1)


@pytest.mark.usefixtures("_small_batches")
@pytest.mark.parametrize("max_memory_bytes", [None, 1])
@pytest.mark.parametrize("num_threads", [1, 3])
def test_threads_and_memory_limits_train_the_same_model(num_threads: int, max_memory_bytes: int | None) -> None:
    rng = random.Random(7)
    words = ["".join(rng.choices("abcdeñ漢字", k=rng.randint(1, 9))) for _ in range(60)]
    lines = [" ".join(rng.choices(words, k=8)) for _ in range(300)]
    text = "\n".join(lines)
    expected = learned([text], num_threads=1)
    options: dict[str, Any] = {"num_threads": num_threads, "max_memory_bytes": max_memory_bytes}
    halves = ["\n".join(lines[:150]).encode(), "\n".join(lines[150:])]
    for source in ([text], lines, halves, [f"{line}\n" for line in lines]):
        model, report = learned(source, **options)
        assert (model, report.n_sentences) == (expected[0], 300)


def test_tsv_counts_are_added() -> None:
    model, report = learned(["ab\t3\ncd\t1\nxyz \t 5000000000 "], input_format="tsv")
    assert [piece.decode() for piece in model.pieces[3:5]] == ["xy", "xyz"]
    assert report.n_characters == 3 * 3 + 3 + 4 * 5_000_000_000


def test_more_than_64_bits_of_characters_raise_overflow_error() -> None:
    with pytest.raises(OverflowError):
        learned([f"ab\t{2**63 - 1}"], input_format="tsv")


@pytest.mark.parametrize("count", ["", "\t1\t2", "\t", "\tx", "\t0", "\t-1", "\t1.0", "\t" + "9" * 30])
def test_invalid_tsv_line_raises_spec_error(count: str) -> None:
    with pytest.raises(SpecError, match="tsv"):
        learned([f"a\t1\nab{count}\na\t1"], input_format="tsv")


def test_input_sentence_size_takes_the_first_or_a_sample() -> None:
    lines = [f"{'ab' * (i % 9 + 1)} {i}" for i in range(500)]
    first = learned(["\n".join(lines)], input_sentence_size=120, shuffle_input_sentence=False)[0]
    assert first.pieces == learned(lines[:120])[0].pieces
    sample = learned(lines, input_sentence_size=120)
    assert sample[0] == learned(lines, input_sentence_size=120)[0]
    assert sample[1].n_sentences == 120
    assert learned(lines, input_sentence_size=600)[0].pieces == learned(lines)[0].pieces


def test_invalid_utf8_is_refused_or_replaced() -> None:
    with pytest.raises(ValueError, match=r"document 1 of the source \(counted from 0\) is not UTF-8: .*0xff"):
        learned([b"ab", b"ab\xff"])
    assert "�" in pieces([b"ab\xff"], errors="replace")


def test_lone_surrogates_are_replaced() -> None:
    assert "�" in pieces(["ab\ud800"])


# Hostile texts.


@pytest.mark.daily
def test_one_long_line_is_learned() -> None:
    found = pieces(["a" * 3_000_000], 15, max_sentence_length=1 << 24, max_sentencepiece_length=512)
    assert [len(piece) for piece in found.split(" ")[:9]] == [2, 4, 8, 16, 32, 64, 128, 256, 512]


def test_error_of_the_source_is_passed_on() -> None:
    def source() -> Iterator[str]:
        yield "ab ab"
        raise KeyError("boom")

    with pytest.raises(KeyError, match="boom"):
        learned(source())


# Options.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 0}, "vocab_size=0"),
        ({"vocab_size": 5}, "vocab_size=5 is too small: 3 symbols and 5 characters need 8"),
        ({"vocab_size": 100, "hard_vocab_limit": True}, "100 is too large: the text gives only 16 pieces"),
        ({"vocab_size": 12.0}, "vocab_size=12.0: must be an integer"),
        ({"vocab_size": True}, "vocab_size=True: must be an integer"),
        ({"vocab_size": 1 << 31}, "must be an integer"),
        ({"character_coverage": 0.5}, "character_coverage=0.5: must be 0.98 to 1.0"),
        ({"character_coverage": "1_0"}, "must be a number"),
        ({"max_sentencepiece_length": 513}, "must be 1 to 512"),
        ({"split_digits": 2}, "must be True or False"),
        ({"user_defined_symbols": 3}, "must be a list of names"),
        ({"user_defined_symbols": ["a", 3]}, "must be a list of names"),
        ({"user_defined_symbols": ["a\0b"]}, r"the symbol 'a\\x00b' contains a NUL"),
        ({"control_symbols": ["a\0b"]}, "contains a NUL, which no model file stores"),
        ({"user_defined_symbols": ["x", "x"]}, "'x' is given twice"),
        ({"user_defined_symbols": ["x"], "control_symbols": ["x"]}, "'x' is given twice"),
        ({"user_defined_symbols": ["<unk>"]}, "'<unk>' is the unknown piece"),
        ({"user_defined_symbols": [""]}, "empty"),
        ({"user_defined_symbols": ["a"], "required_chars": "a"}, "'a' is two pieces"),
        ({"user_defined_symbols": ["a"], "required_chars": "a", "bos_id": 900}, "'a' is two pieces"),
        ({"required_chars": "a b"}, "required_chars= contains ' '"),
        ({"unk_id": -1}, "unk_id=-1"),
        ({"bos_id": 0}, "bos_id=0"),
        ({"bos_id": 900}, "'<s>' cannot have the id 900"),
        ({"normalization_rule_name": "nfd"}, "choose one of 'identity', 'nfkc'"),
        ({"normalization_rule_tsv": "/no/such/file"}, "/no/such/file: No such file"),
        ({"escape_whitespaces": False}, "escape_whitespaces=False"),
        ({"auto_character_coverage": True, "byte_fallback": True}, "not supported"),
        ({"input_sentence_size": 50}, "must be more than 100"),
        ({"input_format": "csv"}, "choose 'text' or 'tsv'"),
        ({"colour": 1}, "'colour' is not an option"),
        ({"use_all_vocab": True}, "only for word and char models"),
        ({"unk_piece": ""}, "unk_piece= must not be empty"),
    ],
)
def test_invalid_options_raise_training_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TrainingError, match=message) as caught:
        learned(["ab ab abc\nabcd ab"], **options)
    assert isinstance(caught.value, SpecError)
    assert isinstance(caught.value, ValueError)


def test_other_model_types_raise_spec_error() -> None:
    with pytest.raises(SpecError, match="this run trains only 'bpe'; pass mode="):
        CodePointOptions.of({"model_type": "unigram"})
    with pytest.raises(SpecError, match=r"only the types .*; in fastbpe\.train, mode= decides the type"):
        CodePointOptions.of({"model_type": "foo"})


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(
    ("mode", "model_type", "way_out"),
    [
        ("unigram", "bpe", 'pass mode="codepoint" to train'),
        ("unigram", "word", "fastbpe.sentencepiece trains word and char models"),
        ("unigram", "char", 'mode="codepoint" with vocab_size="characters" gives the same ids'),
        ("codepoint", "unigram", 'pass mode="unigram" to train'),
        ("codepoint", "word", "fastbpe.sentencepiece trains word and char models"),
    ],
)
def test_mode_and_model_type_that_disagree_are_refused(
    counted: bool, mode: Any, model_type: str, way_out: str
) -> None:
    texts: Any = ["ab ab abc abcd ab"]
    source = fastbpe.count_pieces(texts, mode=mode) if counted else texts
    with pytest.raises(SpecError, match="this run trains only") as caught:
        fastbpe.train(source, mode=mode, vocab_size=10, model_type=model_type)
    assert way_out in str(caught.value)
    own = {"unigram": "unigram", "codepoint": "bpe"}[mode]
    made = fastbpe.train(source, mode=mode, vocab_size=10, model_type=own)
    assert made == fastbpe.train(source, mode=mode, vocab_size=10)


@pytest.mark.parametrize("text", ["", "\n\n", "▅", "x" * 5000, "   "])
def test_empty_text_raises_spec_error(text: str) -> None:
    with pytest.raises(SpecError, match="to learn from"):
        learned([text])


def test_rule_file_is_applied_and_stored(tmp_path: Path) -> None:
    path = tmp_path / "rules.tsv"
    path.write_text("61\t62\nU+63 U+64\t65 66\n67\t\n", encoding="ascii")
    model, _ = learned(["acdgc ac"], "characters", normalization_rule_name="", normalization_rule_tsv=str(path))
    assert {p.decode() for p in model.pieces[3:]} == set("▁befc")
    assert model.normalizer["name"] == "user_defined"


def test_trained_model_survives_dump_and_parse() -> None:
    model, _ = learned(["ab ab abc\nabcd ab"], byte_fallback=True, unk_surface="?")
    again = sentencepiece_format.parse(sentencepiece_format.dump(model), "here")
    assert (again.pieces, again.scores, again.types) == (model.pieces, model.scores, model.types)
    assert again.trainer["unk_surface"] == "?"


@pytest.mark.parametrize("pretokenizer", [None, Pretokenizer(lambda text: [text[:1], text[1:]], True)])
def test_bytes_of_left_out_sentences_are_not_among_the_bytes_read(pretokenizer: Pretokenizer | None) -> None:
    kept, left_out = ["ab abc"] * 3, ["", "x" * 100, "a\u2585"]
    source = SentenceSource(texts=[*kept, *left_out], are_sentences=True, pretokenizer=pretokenizer)
    options = CodePointOptions.of({"vocab_size": 10, "hard_vocab_limit": False, "max_sentence_length": 50})
    _, report = codepoints.learn_model(source, options, ReadingOptions(num_threads=1), Reporter(False))
    assert report.n_bytes == len("".join(kept).encode())
    assert report.n_bytes_left_out == len("".join(left_out).encode())
