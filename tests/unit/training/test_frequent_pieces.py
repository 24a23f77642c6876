"""Training of word and char models."""

import math
import pickle
import struct
from typing import Any

import pytest

from fastbpe._core.train.log_scores import log_scores
from fastbpe._utils.progress import Reporter
from fastbpe.corpus.corpora import ReadingOptions
from fastbpe.errors import SpecError
from fastbpe.model import CodePointModel
from fastbpe.training.codepoint_model import CodePointReport
from fastbpe.training.codepoint_options import CodePointOptions
from fastbpe.training.codepoints import learn_frequent
from fastbpe.training.sentences import SentenceSource

SENTENCES = ["b a b", "c b <s>d"]


def learned(model_type: str, **options: Any) -> tuple[CodePointModel, CodePointReport]:
    return learn_frequent(
        SentenceSource(texts=SENTENCES, are_sentences=True),
        CodePointOptions.of(
            {"model_type": model_type, "vocab_size": 20, "hard_vocab_limit": False, **options},
            model_types=("word", "char"),
        ),
        ReadingOptions(num_threads=1),
        Reporter(False),
    )


def pieces(model_type: str, **options: Any) -> list[str]:
    model, _ = learned(model_type, **options)
    return [piece.decode() for piece in model.pieces[3:]]


def test_frequent_words_come_first_and_equal_ones_by_text() -> None:
    assert pieces("word") == ["▁b", "▁a", "▁c"]
    assert pieces("word", vocab_size=4) == ["▁b"]


def test_frequent_characters_come_first_and_equal_ones_by_code_point() -> None:
    assert pieces("char") == ["▁", "b", "a", "c", "d"]
    assert pieces("char", vocab_size=5) == ["▁", "b"]


def test_score_is_the_logarithm_of_the_share() -> None:
    model, report = learned("word")
    scores = struct.unpack(f"<{model.n_pieces}f", model.scores)
    assert scores[:3] == (0, 0, 0)
    assert math.isclose(scores[3], math.log(3 / 6), rel_tol=1e-6)  # the word of the symbol counts in the total
    assert report.n_sentences == 2
    assert report.n_merges == 0


def test_characters_beyond_the_coverage_make_no_word() -> None:
    sentences = SentenceSource(texts=["a" * 98 + " ab"], are_sentences=True)
    options = {"model_type": "word", "vocab_size": 20, "hard_vocab_limit": False, "character_coverage": 0.98}
    checked = CodePointOptions.of(options, model_types=("word",))
    model, report = learn_frequent(sentences, checked, ReadingOptions(num_threads=1), Reporter(False))
    assert model.pieces[3:] == [("▁" + "a" * 98).encode()]
    assert report.left_out == {"b": 1}


def test_whole_vocabulary_ignores_coverage_and_vocab_size() -> None:
    assert pieces("char", use_all_vocab=True, vocab_size=4) == ["▁", "b", "a", "c", "d"]
    model, _ = learned("word", use_all_vocab=True, vocab_size=4, hard_vocab_limit=True)
    assert model.trainer["vocab_size"] == model.n_pieces == 6


def test_too_few_words_raise_spec_error() -> None:
    with pytest.raises(SpecError, match="vocab_size=20 is too large: the text gives only 6 pieces") as caught:
        learned("word", hard_vocab_limit=True)
    copied = pickle.loads(pickle.dumps(caught.value))  # as between processes
    assert (str(copied), vars(copied)) == (str(caught.value), vars(caught.value))
    with pytest.raises(SpecError, match="vocab_size=3 is too small: it must be at least 4, the number of pieces"):
        learned("word", vocab_size=3, control_symbols=["x"])


def test_input_of_only_symbols_raises_spec_error() -> None:
    with pytest.raises(SpecError, match="nothing but symbols"):
        learned("char", user_defined_symbols=["▁", "a", "b", "c", "d"])


def test_no_text_raises_spec_error() -> None:
    options = CodePointOptions.of({"model_type": "word", "vocab_size": 9}, model_types=("word",))
    with pytest.raises(SpecError, match="no sentence to learn from"):
        learn_frequent(
            SentenceSource(texts=[], are_sentences=True), options, ReadingOptions(num_threads=1), Reporter(False)
        )


def test_user_defined_symbol_of_a_word_model_is_a_word_too() -> None:
    model, _ = learned("word", user_defined_symbols=["x", "▁y"])
    assert [piece.decode() for piece in model.pieces[3:6]] == ["x", "▁x", "▁y"]
    with pytest.raises(SpecError, match="'▁x' is given twice"):
        learned("word", user_defined_symbols=["x", "▁x"])


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"pretokenization_delimiter": "x"}, "pretokenization_delimiter is for BPE and unigram models"),
        ({"auto_character_coverage": True}, "auto_character_coverage=True is not supported"),
        ({"model_type": "unigram"}, "this run trains only 'word', 'char'"),
    ],
)
def test_option_for_other_models_raises_spec_error(option: dict[str, Any], reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        learned(**{"model_type": "char", **option})


def test_log_scores_are_single_precision() -> None:
    assert log_scores([], 1) == []
    for count, score in zip((1, 7, 1 << 62), log_scores([1, 7, 1 << 62], 1 << 63), strict=True):
        assert math.isclose(score, math.log(count / (1 << 63)), rel_tol=1e-5)
        assert struct.unpack("f", struct.pack("f", score))[0] == score
