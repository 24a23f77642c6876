"""Removal of tokens from a Unigram tokenizer.json: the other tokens keep their scores."""

from pathlib import Path

import pytest

from fastbpe import VocabularyError, load
from helpers.segmented_models import tokenizer_json
from reference.unigram import ScoredPieces


def test_scores_follow_their_tokens_when_one_is_removed() -> None:
    pieces = [("<unk>", 0.0), ("xy", -1.0), ("a", -5.0), ("aa", -4.0), ("x", -9.0), ("y", -9.0)]
    old = load(tokenizer_json({"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False}))
    new = old.without_tokens(["xy"]).tokenizer
    left = ScoredPieces([piece for piece in pieces if piece[0] != "xy"], 0)
    for text in ("aa", "aaa", "xyaa"):
        assert new.encode(text) == [token for token, _, _ in left.encode(text)]


def test_token_with_a_character_that_is_not_a_token_stays() -> None:
    pieces = [("<unk>", 0.0), ("xy", -1.0), ("aa", -4.0), ("x", -9.0), ("y", -9.0)]
    old = load(tokenizer_json({"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False}))
    with pytest.raises(VocabularyError, match="token 2 cannot be removed: one of its characters is not a token"):
        old.without_tokens(["aa"])
    assert old.prune(corpus=["xy"]).tokenizer.encode("xyaa") == [1, 2]


def test_tokenizer_without_a_token_is_written_and_read_again(tmp_path: Path) -> None:
    pieces = [("<unk>", 0.0), ("xy", -1.0), ("a", -5.0), ("aa", -4.0), ("x", -9.0), ("y", -9.0)]
    old = load(tokenizer_json({"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False}))
    for new in (old.without_tokens(["xy"]).tokenizer, old.prune(keep=5).tokenizer):
        new.export(tmp_path / "new.json")
        new.save(tmp_path / "new.fbpe")
        for name in ("new.json", "new.fbpe"):
            assert load(tmp_path / name).encode("aaxyaa") == new.encode("aaxyaa")
