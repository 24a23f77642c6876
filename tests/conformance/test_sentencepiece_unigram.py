"""Unigram models in fastbpe.sentencepiece: loaded, run and trained as sentencepiece does, and without it."""

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
from helpers.random_training import peer_trained, trained

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


def test_all_ways_to_load_give_the_same_ids(tmp_path: Path) -> None:
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


def test_processor_takes_models_of_both_types() -> None:
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


def test_pickles_copies_and_subclasses_give_the_same() -> None:
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


def test_errors_are_those_of_the_original() -> None:
    ours, theirs = both()
    for call in (lambda p: p.id_to_piece(10**6), lambda p: p.encode(3), lambda p: p.encode("a", out_type="x")):
        with pytest.raises(Exception) as expected:  # noqa: PT011
            call(theirs)
        with pytest.raises(type(expected.value)) as info:
            call(ours)
        assert isinstance(info.value, fastbpe.FastbpeError)
        assert str(info.value) == str(expected.value)


@pytest.mark.daily
def test_time_of_n_best_encoding_is_bounded_in_milliseconds() -> None:
    text = "lowest" * 1_500
    try:
        for processor, module in zip(both(), (spm, sentencepiece), strict=True):
            module.set_nbest_timeout(30_000)  # of the process: other tests set it
            assert len(processor.nbest_encode(text, nbest_size=10)) == 10
            module.set_nbest_timeout(1)
            assert processor.nbest_encode(text, nbest_size=10) == [processor.encode(text)]
            module.SetNBestTimeout(0)
            assert len(processor.nbest_encode(text, nbest_size=10)) == 10
    finally:
        for module in (spm, sentencepiece):
            module.set_nbest_timeout(30_000)


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


@pytest.mark.parametrize("has_seeds", [False, True])
def test_text_without_a_character_of_the_alphabet_is_trained_on_as_by_sentencepiece(
    has_seeds: bool, tmp_path: Path
) -> None:
    """The alphabet is only required_chars, so training starts without pieces, or with those of a seed file."""
    (tmp_path / "seeds.tsv").write_text("ab\t5\naa\t3\na\t2\n")
    options = {
        "model_type": "unigram",
        "vocab_size": 20,
        "hard_vocab_limit": False,
        "add_dummy_prefix": False,
        "pretokenization_delimiter": "aa",
        "required_chars": "ab",
        **({"seed_sentencepieces_file": str(tmp_path / "seeds.tsv")} if has_seeds else {}),
    }
    for sentences in ([b"aa"], [b"\r \r\taa\t"], [b"aaaa", b"aa"]):
        expected, found = peer_trained(sentences, options), trained(sentences, options)
        assert found == expected if has_seeds else str(expected).endswith(str(found))
        assert isinstance(found, bytes) == has_seeds


@pytest.mark.daily
def test_installed_face_runs_the_model(tmp_path: Path) -> None:
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


@pytest.mark.daily
@pytest.mark.parametrize("installs", [True, False])
def test_sentencepiece_is_not_needed(installs: bool, tmp_path: Path) -> None:
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
processor = spm.SentencePieceProcessor(model_file={str(tmp_path / "a.model")!r})
print(processor.encode("the lowest"), processor.nbest_encode("the lowest", nbest_size=3, out_type=str))
print(processor.encode("the low", enable_sampling=True, alpha=0.1, nbest_size=-1) != [])
file = io.BytesIO()
spm.SentencePieceTrainer.train(
    sentence_iterator=iter({LINES}), model_writer=file, model_type="unigram", vocab_size=22
)
print(file.getvalue() == processor.serialized_model_proto())
for call in (
    lambda: spm.SentencePieceTrainer.train(sentence_iterator=iter(["a"]), model_writer=io.BytesIO(), vocab_size=8),
    lambda: spm.SentencePieceTrainer.train("--input=a.txt --model_prefix=m --model_type=unigram"),
):
    try:
        call()
    except (RuntimeError, OSError) as error:
        print(isinstance(error, fastbpe.FastbpeError), error)
"""
    )
    theirs = both()[1]
    best = theirs.nbest_encode("the lowest", nbest_size=3, out_type=str)
    assert printed.splitlines() == [
        f"{theirs.encode('the lowest')} {best}",
        "True",
        "True",
        "True INTERNAL: Vocabulary size too high (8). Please set it to a value <= 5.",
        'True NOT_FOUND: "a.txt": No such file or directory',
    ]
