"""Files of seeds that sentencepiece reads otherwise: size 0, no lines, and frequencies that only Python reads."""

from pathlib import Path

import pytest

from fastbpe.errors import SpecError
from helpers.segmented_models import kept_sentences, learned_model, learned_pieces, twin_trainer


def test_seed_size_of_zero_takes_no_piece_of_a_seed_file(tmp_path: Path) -> None:
    path = tmp_path / "seeds.tsv"
    path.write_text("▁1\t5\n1a\t3\na1\t2\n", encoding="utf-8")
    sentences = [b"1a 1a1a"] * 5
    options = {
        "vocab_size": 20,
        "hard_vocab_limit": False,
        "num_threads": 1,
        "normalization_rule_name": "identity",
        "seed_sentencepiece_size": 0,
    }
    twin = twin_trainer(options, seed_lines=[("▁1", 5), ("1a", 3), ("a1", 2)])
    expected = twin.learn(kept_sentences(sentences))
    model = learned_model(sentences, {**options, "seed_sentencepieces_file": str(path)})
    assert learned_pieces(model) == expected


def test_empty_seed_file_leaves_the_characters(tmp_path: Path) -> None:
    path = tmp_path / "seeds.tsv"
    path.write_bytes(b"")
    sentences = [b"1a 1a1a"] * 5
    options = {
        "vocab_size": 20,
        "hard_vocab_limit": False,
        "num_threads": 1,
        "normalization_rule_name": "identity",
    }
    expected = twin_trainer({**options, "seed_sentencepiece_size": 0}, seed_lines=[("▁1", 5)])
    model = learned_model(sentences, {**options, "seed_sentencepieces_file": str(path)})
    assert learned_pieces(model) == expected.learn(kept_sentences(sentences))


@pytest.mark.parametrize(
    ("name", "status"), [("", "FAILED_PRECONDITION"), ("none", "NOT_FOUND"), ("n" * 300, "INVALID_ARGUMENT")]
)
def test_seed_file_that_cannot_be_read_has_the_status_of_its_error(name: str, status: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="seed_sentencepieces_file=") as caught:
        learned_model([b"1a 1a1a"] * 5, {"vocab_size": 20, "seed_sentencepieces_file": str(tmp_path / name)})
    assert caught.value.code == status


def test_last_line_of_a_seed_file_needs_no_line_feed(tmp_path: Path) -> None:
    path = tmp_path / "seeds.tsv"
    options = {"vocab_size": 20, "hard_vocab_limit": False, "seed_sentencepieces_file": str(path)}
    learned = []
    for data in (b"low\t5", b"low\t5\n", b""):
        path.write_bytes(data)
        learned.append(learned_pieces(learned_model([b"low low lower"] * 5, options)))
    assert learned[0] == learned[1] != learned[2]


@pytest.mark.parametrize("line", ["1a\t3_0", "1a\t３", "1a\t٣", "1a\t" + "1" * 5000, "1a\t", "1a"])
def test_frequency_of_a_seed_is_ascii_digits(line: str, tmp_path: Path) -> None:
    path = tmp_path / "seeds.tsv"
    path.write_text(f"{line}\n", encoding="utf-8")
    options = {"vocab_size": 20, "hard_vocab_limit": False, "seed_sentencepieces_file": str(path)}
    with pytest.raises(SpecError, match="frequency"):
        learned_model([b"1a 1a1a"] * 5, options)
