"""Unigram models in fastbpe.sentencepiece: sentencepiece runs and trains them; without it, the error."""

from __future__ import annotations

import copy
import io
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

import fastbpe
import fastbpe.sentencepiece as spm
from helpers.child_processes import run_python

LINES = ["the low lower lowest", "a new newer newest", "wide wider widest"] * 9
TEXTS = ["the lowest", "  two  spaces ", "", "unknown \u4e16"]


class Mine(spm.SentencePieceProcessor):
    """A user's class, with a method of its own and one of the face's."""

    def shout(self, text: str) -> Any:
        return self.encode(text.upper())

    def piece_size(self) -> int:
        return 7


@cache
def model(model_type: str) -> bytes:
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=file, model_type=model_type, vocab_size=22, minloglevel=2
    )
    return file.getvalue()


def both(**options: Any) -> tuple[Any, Any]:
    data = model("unigram")
    return (
        spm.SentencePieceProcessor(model_proto=data, **options),
        sentencepiece.SentencePieceProcessor(model_proto=data, **options),
    )


@pytest.mark.parametrize("options", [{}, {"out_type": str}, {"add_bos": True, "add_eos": True, "reverse": True}])
def test_results_equal_sentencepieces(options: dict[str, Any]) -> None:
    ours, theirs = both(**options)
    assert isinstance(ours, spm.SentencePieceProcessor)
    for text in TEXTS:
        ids = theirs.encode(text, out_type=int)
        for call in (
            lambda p, t=text: p.encode(t),
            lambda p, t=text: p.encode([t, t], out_type=str),
            lambda p, t=text: p.EncodeAsIds(t),
            lambda p, t=text: p.encode_as_pieces(t),
            lambda p, t=text: p.normalize(t),
            lambda p, t=text: p.nbest_encode(t, nbest_size=3),
            lambda p, t=text: p.NBestEncodeAsPieces(t, 3),
            lambda p, i=ids: p.decode(i),
            lambda p, i=ids: p.DecodeIds(i),
            lambda p, i=ids: p.id_to_piece(i),
            lambda p, t=text: p[t],
        ):
            assert call(ours) == call(theirs)
    for call in (len, lambda p: p.vocab_size(), lambda p: p.unk_id(), lambda p: p.serialized_model_proto()):
        assert call(ours) == call(theirs)
    assert ours.encode(TEXTS, thread_pool=spm.ThreadPool(2)) == theirs.encode(TEXTS)


def test_all_ways_to_load_hand_over(tmp_path: Path) -> None:
    (tmp_path / "a.model").write_bytes(model("unigram"))
    expected = both()[1].encode("the lowest")
    loaded = spm.SentencePieceProcessor()
    assert loaded.load(str(tmp_path / "a.model"))
    for processor in (
        loaded,
        spm.SentencePieceProcessor(str(tmp_path / "a.model")),
        spm.SentencePieceProcessor.from_file(tmp_path / "a.model"),
        spm.SentencePieceProcessor.from_proto(model("unigram")),
    ):
        assert processor.encode("the lowest") == expected


def test_other_model_takes_the_processor_back() -> None:
    processor = spm.SentencePieceProcessor(model_proto=model("unigram"), out_type=str)
    processor.load(model_proto=model("bpe"))
    assert type(processor) is spm.SentencePieceProcessor
    expected = sentencepiece.SentencePieceProcessor(model_proto=model("bpe"), out_type=str)
    assert processor.encode("the lowest") == expected.encode("the lowest")
    processor.load(model_proto=model("unigram"))
    assert processor.encode("the lowest") == both(out_type=str)[1].encode("the lowest")
    with pytest.raises(RuntimeError):
        processor.load(model_proto=b"xx")
    with pytest.raises(RuntimeError, match="not initialized"):
        processor.encode("a")


def test_pickles_copies_and_subclasses_hand_over() -> None:
    for kind in (spm.SentencePieceProcessor, Mine):
        processor = kind(model_proto=model("unigram"), add_bos=True, out_type=str)
        processor.note = "kept"  # type: ignore[attr-defined]
        for twin in (pickle.loads(pickle.dumps(processor)), copy.copy(processor), copy.deepcopy(processor)):
            assert isinstance(twin, kind)
            assert twin.note == "kept"
            assert twin.encode("the low") == both(add_bos=True, out_type=str)[1].encode("the low")
    mine = Mine(model_proto=model("unigram"))
    assert mine.piece_size() == 7
    assert mine.shout("a") == both()[1].encode("A")


def test_errors_of_the_original_are_errors_of_fastbpe() -> None:
    ours, theirs = both()
    for call in (lambda p: p.id_to_piece(10**6), lambda p: p.encode(3), lambda p: p.encode("a", out_type="x")):
        with pytest.raises(Exception) as expected:  # noqa: PT011
            call(theirs)
        with pytest.raises(type(expected.value)) as info:
            call(ours)
        assert isinstance(info.value, fastbpe.FastbpeError)
        assert str(info.value) == str(expected.value)


@pytest.mark.parametrize("options", [{"model_type": "unigram"}, {}, {"model_type": "UNIGRAM"}])
def test_training_gives_sentencepieces_file(options: dict[str, Any], tmp_path: Path) -> None:
    file = io.BytesIO()
    given = {"vocab_size": 22, "minloglevel": 2, **options}
    spm.SentencePieceTrainer.train(sentence_iterator=iter(LINES), model_writer=file, **given)
    expected = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(LINES), model_writer=expected, **given)
    assert file.getvalue() == expected.getvalue()
    (tmp_path / "a.txt").write_text("\n".join(LINES))
    flags = f"--input={tmp_path}/a.txt --model_prefix={tmp_path}/m --vocab_size=22 --minloglevel=2"
    spm.SentencePieceTrainer.train(flags + "".join(f" --model_type={kind}" for kind in options.values()))
    assert (tmp_path / "m.model").stat().st_size
    with pytest.raises(RuntimeError) as info:
        spm.SentencePieceTrainer.train(
            sentence_iterator=iter(LINES), model_writer=io.BytesIO(), **{**given, "vocab_size": 9999}
        )
    assert isinstance(info.value, fastbpe.FastbpeError)


def test_installed_face_hands_over_to_the_original(tmp_path: Path) -> None:
    (tmp_path / "a.model").write_bytes(model("unigram"))
    printed = run_python(
        f"""
import sys
import fastbpe
fastbpe.install("sentencepiece")
import sentencepiece
processor = sentencepiece.SentencePieceProcessor(model_file={str(tmp_path / "a.model")!r})
print(sentencepiece.ThreadPool is fastbpe.sentencepiece.ThreadPool, processor.encode("the low"))
fastbpe.uninstall()
import sentencepiece
print(sentencepiece.ThreadPool is fastbpe.sentencepiece.ThreadPool)
"""
    )
    assert printed == f"True {both()[1].encode('the low')}\nFalse\n"


@pytest.mark.parametrize("installs", [True, False])
def test_without_sentencepiece_the_error_names_the_default_and_the_cure(installs: bool, tmp_path: Path) -> None:
    (tmp_path / "a.model").write_bytes(model("unigram"))
    printed = run_python(
        f"""
import io, sys
sys.modules["sentencepiece"] = None
import fastbpe
import fastbpe.sentencepiece as spm
if {installs}:
    fastbpe.install("sentencepiece")
    import sentencepiece as spm
for call in (
    lambda: spm.SentencePieceProcessor(model_file={str(tmp_path / "a.model")!r}),
    lambda: spm.SentencePieceTrainer.train(sentence_iterator=iter(["a"]), model_writer=io.BytesIO(), vocab_size=8),
    lambda: spm.SentencePieceTrainer.train("--input=a.txt --model_prefix=m --model_type=unigram"),
):
    try:
        call()
    except RuntimeError as error:
        print(isinstance(error, fastbpe.FastbpeError), error)
"""
    )
    lines = printed.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert line.startswith("True INTERNAL: ")
        assert "unigram" in line
        assert "pip install sentencepiece" in line
        assert """say 'model_type="bpe"'""" in line or 'say model_type="bpe", since sentencepiece' in line
    assert "a.model: not a BPE model, but one of type unigram" in lines[0]
