"""BoundlessBPE: options, sources, reports, errors, and what a tokenizer of it can do."""

import copy
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import Superwords, Tokenizer, TrainingError, TrainingWarning, train
from fastbpe.cli.command_line import main
from fastbpe.tokenizer.shown.merging_shown import merged_pieces
from fastbpe.training import runs

RARE = " ".join(f"{a}{b}{c}{a}q" for a in "xyz" for b in "uvw" for c in "rst")
TEXTS = [f"in the end of the day the end of the week, the end. {RARE}\n"] * 3 + [
    "of the end of the end\nof the end"
]


def learned(source: Any = TEXTS, vocab_size: int = 300, **options: Any) -> Tokenizer:
    return train(source, vocab_size=vocab_size, superwords="boundless", **options)


def superwords_of(tokenizer: Tokenizer) -> list[bytes]:
    model = tokenizer._family.own
    assert model.supermerges is not None
    return [tokenizer.vocab[merged] for _, _, merged in model.supermerges.merge_list()]


def test_superwords_are_whole_words_that_occur_more_often_than_the_words_left_out() -> None:
    tokenizer = learned()
    assert superwords_of(tokenizer)[:2] == [b" the end", b" the end of"]
    assert tokenizer.vocab_size == 300
    report = tokenizer.training_report
    assert report["n_superword_merges"] == len(superwords_of(tokenizer))
    assert report["n_merges"] == len(tokenizer.merges) == 44
    assert (report["superwords"], report["ties"]) == ("boundless", "bytes")
    assert report["least_count"] <= TEXTS[0].count(" the end") * 3


def test_all_kinds_of_sources_give_the_same(tmp_path: Path) -> None:
    expected = learned()
    (tmp_path / "a.txt").write_text(TEXTS[0])
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS[1:]))

    class Again:
        def __iter__(self) -> Iterator[str]:
            return iter(TEXTS)

    for source in (iter(TEXTS), (text.encode() for text in TEXTS), Again(), tuple(TEXTS[::-1]), tmp_path):
        assert learned(source) == expected


def test_long_documents_are_divided_where_no_run_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(TEXTS * 3) + "of the\r\nend 1990\nof"
    expected = learned([text])
    monkeypatch.setattr(runs, "_BLOCK_UNITS", 7)
    for document in (text, text.encode()):
        parts = [*runs._cut_before_line_ends([document])]
        assert len(parts) > 10
        assert document[:0].join(parts) == document  # type: ignore[arg-type]
        assert learned([document]) == expected
    assert [*runs._cut_before_line_ends(["", "\n\n"])] == ["", "\n\n"]
    assert runs._before_last_line_end(b"of the\nend.\n") == 6
    assert runs._before_last_line_end(b"of. \n the") == 0
    (tmp_path / "a.txt").write_bytes(text.encode())
    assert learned(tmp_path / "a.txt") == expected


def test_runs_across_line_ends_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_BLOCK_UNITS", 7)
    text = "a\nb " * 50 + "".join(f"{c}{d} " for c in "xyz" for d in "uvw")
    tokenizer = learned([text], 262, pattern=r"\s?[a-z]+|[^a-z]")
    assert tokenizer.vocab[-1] == b"\nb a" * 8


def test_special_tokens_end_runs_and_come_last() -> None:
    texts = [text.replace("the end", "the<|x|> end") for text in TEXTS]
    tokenizer = learned(texts, special_tokens=["<|x|>"])
    assert tokenizer.special_tokens == {"<|x|>": 299}
    assert superwords_of(tokenizer)
    assert not any(b"the end" in token for token in tokenizer.vocab)
    ids = tokenizer.encode(texts[0], allowed_special="all")
    assert 299 in ids
    assert tokenizer.decode(ids) == texts[0]


def test_fewer_tokens_than_asked_for_are_a_warning() -> None:
    with pytest.warns(TrainingWarning, match="min_count=3 leaves no pair to merge: ") as warned:
        tokenizer = train(["ab ab ab"], vocab_size=300, superwords="boundless", min_count=3)
    assert [one.filename for one in warned] == [__file__]
    assert tokenizer.vocab[256:] == [b"ab"]
    with pytest.warns(
        TrainingWarning, match="^no pair is left to merge: the vocabulary has 258 entries, not the 3"
    ):
        train(["ab ab ab"], vocab_size=300, superwords="boundless")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ties": "pair"}, "has its own order"),
        ({"base": train(["a b"], vocab_size=257)}, "cannot extend base=; leave base= out"),
        ({"source": {"a": 3}}, "do not say which pieces are neighbours"),
        ({"source": fastbpe.count_pieces(["a b"])}, "do not say which pieces are neighbours"),
        ({"source": []}, "no text to learn from"),
    ],
)
def test_options_without_meaning_are_named(options: dict[str, Any], message: str) -> None:
    source = options.pop("source", TEXTS)
    with pytest.raises(TrainingError, match=message):
        learned(source, **options)


def test_error_of_the_source_is_not_an_error_of_the_temporary_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        learned(iter([tmp_path / "missing.txt"]))
    assert caught.value.filename is not None
    assert "TMPDIR" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": train(["a b"], vocab_size=257)}, 'superwords="words" learns its own words'),
        ({"ties": "pair"}, 'superwords="words" has its own order'),
        ({"source": {"a": 3}}, 'superwords="words" needs the texts or PieceCounts'),
    ],
)
def test_errors_about_words_name_words(options: dict[str, Any], message: str) -> None:
    source = options.pop("source", TEXTS)
    with pytest.raises(TrainingError, match=message):
        train(source, vocab_size=300, superwords="words", **options)


def test_unknown_name_in_place_of_superwords_raises_type_error() -> None:
    with pytest.raises(TypeError, match="must be a Superwords, 'boundless' or 'words', not 'endless'"):
        train(TEXTS, vocab_size=300, superwords="endless")  # type: ignore[call-overload]


def test_the_tokenizer_is_copied_saved_and_loaded(tmp_path: Path) -> None:
    tokenizer = learned()
    tokenizer.save(tmp_path / "t.fbpe")
    tokenizer.export(tmp_path / "t.model", verify=True)
    for other in (
        pickle.loads(pickle.dumps(tokenizer)),
        copy.deepcopy(tokenizer),
        fastbpe.load(tmp_path / "t.fbpe"),
        fastbpe.load((tmp_path / "t.fbpe").read_bytes()),
    ):
        assert other == tokenizer
        assert other.encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])
    assert fastbpe.load(tmp_path / "t.model").encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])
    words = tokenizer._family.own._replace(supermerges=None)
    assert Tokenizer(words._replace(tokens=tokenizer.vocab)).fingerprint != tokenizer.fingerprint


@pytest.mark.parametrize("format", ["tiktoken", "huggingface", "gpt2", "minbpe", "tekken", "gguf"])
def test_other_formats_refuse_with_a_reason(format: Any, tmp_path: Path) -> None:
    with pytest.raises(fastbpe.FormatError, match="cannot store merges across words"):
        learned().export(tmp_path / "x", format=format)


def test_dropout_removal_and_bases_raise_named_errors() -> None:
    tokenizer = learned()
    with pytest.raises(fastbpe.VocabularyError, match="leave dropout= out"):
        tokenizer.encode(TEXTS[0], dropout=0.1)
    with pytest.raises(fastbpe.VocabularyError, match="no token can be removed"):
        tokenizer.without_tokens([260])
    with pytest.raises(fastbpe.VocabularyError, match="cannot be merged with another vocabulary"):
        fastbpe.merge_vocabularies(tokenizer, tokenizer)
    with pytest.raises(TrainingError, match="no merges can be learned after them"):
        train(TEXTS, vocab_size="+1", base=tokenizer)
    with pytest.raises(TrainingError, match="no merges can be learned after them"):
        train(TEXTS, vocab_size="+1", base=tokenizer, superwords=Superwords())


def test_explain_merges_words_and_then_superwords() -> None:
    tokenizer = learned()
    piece = next(piece for piece in tokenizer.explain(TEXTS[0]).pieces if piece.text == " the end")
    assert piece.ids == (tokenizer.token_to_id(" the end"),)
    assert piece.merges[-1][:2] == (b" the", b" end")
    assert max(merge.priority for merge in piece.merges) == piece.merges[-1].priority
    assert tokenizer.merges[piece.merges[-1].priority] == (
        tokenizer.token_to_id(" the"),
        tokenizer.token_to_id(" end"),
    )


def test_merges_that_are_shown_end_with_the_ids() -> None:
    tokenizer = learned()
    for text in (TEXTS[0], "the end of the end", "", "of xuq"):
        tokens = []
        for piece in merged_pieces(tokenizer, text):
            symbols = [*piece.symbols]
            for merge in piece.merges:
                symbols[merge.at : merge.at + 2] = [merge.token]
                assert b"".join(symbols[merge.at : merge.at + 1]) == tokenizer.id_to_token(merge.id or 0)
                left, right = tokenizer.merges[merge.priority]
                assert tokenizer.vocab[left] + tokenizer.vocab[right] == merge.token
            tokens += symbols
        assert tokens == tokenizer.decode_tokens_bytes(tokenizer.encode(text))


@pytest.mark.daily
def test_the_report_judges_superwords_by_texts() -> None:
    tokenizer = learned()
    report = fastbpe.vocabulary_report(tokenizer)
    names = {tokenizer.token_to_id(token) for token in superwords_of(tokenizer)}
    assert names
    assert names <= {*report.witnesses}


@pytest.mark.daily
def test_the_command_trains_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("".join(TEXTS))
    command = ["train", str(tmp_path / "a.txt"), "--vocab-size", "300", "--superwords", "boundless", "--quiet"]
    for name in ("t.fbpe", "t.model"):
        assert main([*command, "-o", str(tmp_path / name)]) == 0
        loaded = fastbpe.load(tmp_path / name)
        assert loaded.encode(TEXTS[0]) == learned(["".join(TEXTS)]).encode(TEXTS[0])
    assert main(["convert", str(tmp_path / "t.model"), str(tmp_path / "u.model"), "--verify"]) == 0
    assert (tmp_path / "u.model").read_bytes() == (tmp_path / "t.model").read_bytes()
    assert main([*command, "-o", str(tmp_path / "x.fbpe"), "--superwords-max-words", "3"]) == 1
    assert "of --superwords boundless; leave --superwords-max-words out" in capsys.readouterr().err
