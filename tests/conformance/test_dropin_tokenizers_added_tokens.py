"""fastbpe.tokenizers compared with tokenizers: added tokens, lone surrogates, copies, files."""

from __future__ import annotations

import asyncio
import inspect
import operator
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe
import fastbpe.tokenizers as face
from fastbpe.tokenizers.implementations import BaseTokenizer
from helpers.tokenizers_twins import Twins, outcome
from helpers.unwritable_files import refuse_writing

LONE = "\ud800"
MODULES = Twins(face, stock)


def bpe(m: Any, **options: Any) -> Any:
    return m.models.BPE({"a": 0, "b": 1}, [], **options)


def tokenizer(m: Any) -> Any:
    return m.Tokenizer(bpe(m))


SURROGATES: list[Callable[[Any], Any]] = [
    lambda m: m.AddedToken(LONE),
    lambda m: setattr(m.AddedToken("a"), "content", LONE),
    lambda m: tokenizer(m).add_tokens([LONE]),
    lambda m: tokenizer(m).add_special_tokens(["a", LONE]),
    lambda m: tokenizer(m).token_to_id(LONE),
    lambda m: tokenizer(m).enable_padding(pad_token=LONE),
    lambda m: m.Tokenizer.from_str(LONE),
    lambda m: m.models.BPE({LONE: 0}, []),
    lambda m: m.models.BPE({"a": 0}, [(LONE, "a")]),
    lambda m: bpe(m, unk_token=LONE),
    lambda m: setattr(bpe(m), "unk_token", LONE),
    lambda m: bpe(m).token_to_id(LONE),
    lambda m: m.models.Unigram([(LONE, 0.0)], 0, False),
    lambda m: m.models.WordPiece({LONE: 0}),
    lambda m: m.models.WordLevel({LONE: 0}),
    lambda m: m.models.WordLevel({"a": 0}, unk_token=LONE),
    lambda m: m.normalizers.Prepend(LONE),
    lambda m: m.normalizers.Replace(LONE, "a"),
    lambda m: m.normalizers.Replace("a", LONE),
    lambda m: m.NormalizedString("a").append(LONE),
    lambda m: m.NormalizedString("a").split(LONE, "removed"),
    lambda m: m.pre_tokenizers.Metaspace(LONE),
    lambda m: m.decoders.CTC("a", LONE),
    lambda m: m.decoders.Fuse().decode([LONE]),
    lambda m: m.processors.BertProcessing((LONE, 0), ("a", 1)),
    lambda m: m.processors.TemplateProcessing(f"{LONE} $A", None, [("a", 1)]),
    lambda m: m.processors.TemplateProcessing("$A", "$A $B", [(LONE, 1)]),
    lambda m: m.trainers.BpeTrainer(special_tokens=[LONE]),
    lambda m: m.trainers.BpeTrainer(initial_alphabet=[LONE]),
    lambda m: m.trainers.UnigramTrainer(unk_token=LONE),
    lambda m: m.Token(1, LONE, (0, 1)),
]


@pytest.mark.parametrize("call", SURROGATES)
def test_lone_surrogates_are_refused_like_the_original(call: Callable[[Any], Any]) -> None:
    assert isinstance(outcome(lambda: call(face)), type)
    MODULES.check(call)


@pytest.mark.parametrize("value", [fastbpe.AddedToken("a"), fastbpe.AddedToken("a", 5), 1, None, ("a",)])
def test_other_objects_are_no_added_tokens(value: Any) -> None:
    for call in (
        lambda m: tokenizer(m).add_tokens([value]),
        lambda m: tokenizer(m).add_special_tokens([value]),
        lambda m: m.trainers.WordLevelTrainer(special_tokens=[value]),
        lambda m: m.trainers.ParityBpeTrainer(special_tokens=[value]),
    ):
        assert outcome(lambda call=call: call(face)) is TypeError
        MODULES.check(call)


def test_tokens_of_subclasses_and_of_the_original_are_added() -> None:
    class Marked(face.AddedToken):
        pass

    made = tokenizer(face)
    assert made.add_special_tokens([Marked("x"), stock.AddedToken("y", lstrip=True)]) == 2
    assert made.get_added_tokens_decoder() == {
        2: face.AddedToken("x", special=True),
        3: face.AddedToken("y", lstrip=True, special=True),
    }
    assert Marked("x") == face.AddedToken("x")


def test_equal_tokens_have_equal_hashes() -> None:
    token = face.AddedToken("a")
    for other in (face.AddedToken("a"), fastbpe.AddedToken("a", -1), stock.AddedToken("a"), "a"):
        assert (token != other and other != token) or hash(token) == hash(other)
    assert {token: 1}[face.AddedToken("a")] == 1


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
@pytest.mark.parametrize("other", [lambda m: m.AddedToken("a"), lambda m: m.AddedToken("b"), lambda m: "a"])
def test_added_tokens_have_no_order_like_the_originals(
    compare: Callable[[Any, Any], bool], other: Callable[[Any], Any]
) -> None:
    MODULES.check(lambda m: compare(m.AddedToken("a"), other(m)))
    MODULES.check(lambda m: compare(other(m), m.AddedToken("a")))


def test_normalized_of_a_pickle_no_longer_follows_special() -> None:
    def run(m: Any) -> Any:
        token = m.AddedToken("a")
        copy = pickle.loads(pickle.dumps(token))
        token.special = copy.special = True
        return token.normalized, copy.normalized

    MODULES.check(run)


def test_old_form_of_a_token_that_was_added_again_ends_with_a_new_normalizer() -> None:
    def forms(m: Any, first: bool, new: Callable[[Any], Any]) -> Any:
        made = tokenizer(m)
        made.normalizer = m.normalizers.Lowercase()
        made.add_tokens([m.AddedToken("AB", normalized=first)])
        made.add_tokens([m.AddedToken("AB", normalized=False, lstrip=True)])
        found = [(made.id_to_token(2), made.decode([2]))]
        made.normalizer = new(m)
        return [*found, (made.id_to_token(2), made.decode([2]), made.encode("abAB").tokens)]

    for new in (lambda m: None, lambda m: m.normalizers.NFC(), lambda m: m.normalizers.Lowercase()):
        for first in (True, False):
            MODULES.check(lambda m, first=first, new=new: forms(m, first, new))


@pytest.mark.parametrize("name", ["Bpe", "Unigram", "WordPiece", "WordLevel", "ParityBpe"])
def test_options_of_trainers_are_copies_like_the_originals(name: str) -> None:
    def run(m: Any) -> Any:
        trainer = getattr(m.trainers, f"{name}Trainer")(special_tokens=["a", "b"])
        tokens = trainer.special_tokens
        tokens[0].content = "changed"
        tokens.append("c")
        if name != "WordLevel":
            trainer.initial_alphabet = ["d"]
            trainer.initial_alphabet.append("e")
        return repr(trainer.special_tokens), getattr(trainer, "initial_alphabet", None)

    MODULES.check(run)


def test_coroutines_of_implementations_are_like_the_originals() -> None:
    def run(m: Any) -> Any:
        made = m.implementations.BaseTokenizer(tokenizer(m))
        names = [name for name in dir(made) if name.startswith("async_")]
        kinds = [inspect.iscoroutinefunction(getattr(made, name)) for name in names]
        never = made.async_decode_batch(None)  # raises an error only when it is awaited
        with pytest.raises(ValueError, match="can't be `None`") as caught:
            asyncio.run(never)
        return names, kinds, str(caught.value), asyncio.run(made.async_decode_batch([[0, 1]]))

    MODULES.check(run)


# Saving


def broken_models() -> list[Any]:
    """Return models with a token that was changed, past all checks, into one that no file can hold."""
    made = [
        bpe(face),
        face.models.Unigram([("a", 0.0)], 0, False),
        face.models.WordPiece({"a": 0}, unk_token="a"),
        face.models.WordLevel({"a": 0}, unk_token="a"),
    ]
    for model in made:
        model.names = {0: LONE}
    made[1].scored = [(LONE, 0.0)]
    return made


@pytest.mark.parametrize("number", range(4))
def test_failed_save_keeps_the_old_files(number: int, tmp_path: Path) -> None:
    model = broken_models()[number]
    files = [
        tmp_path / name for name in ("vocab.json", "merges.txt", "vocab.txt", "unigram.json", "tokenizer.json")
    ]
    for file in files:
        file.write_text("old")
    made = face.Tokenizer(model)
    for save in (lambda: model.save(str(tmp_path)), lambda: made.save(str(files[-1]))):
        with pytest.raises(ValueError, match="surrogate"):
            save()
    assert {file.read_text() for file in files} == {"old"}
    assert len([*tmp_path.iterdir()]) == len(files)


def test_read_only_files_are_kept_as_in_tokenizers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked as another user, tokenizers raises Exception: Permission denied (os error 13)."""
    for name in ("vocab.json", "tokenizer.json"):
        (tmp_path / name).write_text("old")
        refuse_writing(monkeypatch, name)
    made = tokenizer(face)
    for save in (lambda: made.model.save(str(tmp_path)), lambda: made.save(str(tmp_path / "tokenizer.json"))):
        with pytest.raises(PermissionError):
            save()
    assert {path.read_text() for path in tmp_path.iterdir()} == {"old"}


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="this system does not name open files")
@pytest.mark.parametrize("make", [lambda: tokenizer(face), lambda: fastbpe.train(["a b"], vocab_size=257)])
def test_pipe_is_written_to(make: Callable[[], Any]) -> None:
    source, target = os.pipe()
    with os.fdopen(source, "rb") as reader:
        with os.fdopen(target, "wb"):
            make().save(f"/dev/fd/{target}")
        assert len(reader.read()) > 100


def test_wrapper_refuses_none_like_the_original() -> None:
    for call in (
        lambda m: m.implementations.BaseTokenizer(tokenizer(m)).enable_padding(pad_token=None),
        lambda m: m.implementations.BaseTokenizer(tokenizer(m)).enable_truncation(3, stride=None),
        lambda m: m.implementations.BaseTokenizer(tokenizer(m)).decode([0], None),
    ):
        MODULES.check(call)
    annotated = [
        one.annotation
        for name in ("decode", "decode_batch", "enable_padding", "enable_truncation")
        for one in inspect.signature(getattr(BaseTokenizer, name)).parameters.values()
        if one.default is not None and one.default is not inspect.Parameter.empty
    ]
    assert {*annotated} == {"bool", "int", "str"}
