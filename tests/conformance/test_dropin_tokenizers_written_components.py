"""Decoders and pre-tokenizers written in Python, in fastbpe.tokenizers by itself against tokenizers."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe.tokenizers as face
from helpers.tokenizer_json import added, dumped, llama_document, small
from helpers.tokenizers_twins import Twins, outcome


class Dotted:
    def decode_chain(self, tokens: list[str]) -> Any:
        return [f"{token}." for token in tokens]


class Pair:
    def decode_chain(self, tokens: list[str]) -> Any:
        return "a", "b"


class Array:
    def decode_chain(self, tokens: list[str]) -> Any:
        return np.array(["a", "b"])


class Number:
    def decode_chain(self, tokens: list[str]) -> Any:
        return 5


class Numbers:
    def decode_chain(self, tokens: list[str]) -> Any:
        return [5]


class Text:
    def decode_chain(self, tokens: list[str]) -> Any:
        return "ab"


class Failing:
    def decode_chain(self, tokens: list[str]) -> Any:
        raise KeyError("no")


WRITTEN = [Dotted, Pair, Array, Number, Numbers, Text, Failing, object]


@pytest.mark.parametrize("written", WRITTEN)
def test_decoders_written_in_python_decode_like_the_original(written: Any) -> None:
    twins = Twins(*[module.decoders.Decoder.custom(written()) for module in (face, stock)])
    for tokens in (["a", "b"], [], ["é"], "ab", [5], None):
        twins.check(lambda d, t=tokens: d.decode(t), tokens)


@pytest.mark.parametrize("text", [dumped(small([added(262, "<s>", special=True)])).decode(), None])
@pytest.mark.parametrize("written", WRITTEN)
def test_tokenizers_decode_by_them_like_the_original(written: Any, text: str | None) -> None:
    if text is None:
        text = dumped(llama_document({t: i for i, t in enumerate(["<unk>", "▁", "a", "▁a"])}, ["▁ a"])).decode()
    twins = Twins.of(text)
    for module, tokenizer in ((face, twins.ours), (stock, twins.theirs)):
        tokenizer.decoder = module.decoders.Decoder.custom(written())
    for ids in ([1, 2], [], [0, 3], [500], [262, 2]):
        twins.check(lambda t, i=ids: t.decode(i, False), ids)
        twins.check(lambda t, i=ids: t.decode_batch([i, [1]]), ids)
    twins.check(lambda t: t.encode("a"))

    def streamed(tokenizer: Any) -> Any:
        module: Any = face if isinstance(tokenizer, face.Tokenizer) else stock
        stream = module.decoders.DecodeStream()
        return [stream.step(tokenizer, i) for i in (1, 2, 3)]

    twins.check(streamed)
    for tokenizer in (twins.ours, twins.theirs):
        tokenizer.decoder = None
    twins.check(lambda t: (t.decode([1, 2]), t.to_str()))


def test_they_are_neither_saved_nor_pickled_nor_copied(tmp_path: Path) -> None:
    calls: list[Callable[[Any, Any], Any]] = [
        lambda t, d: t.to_str(),
        lambda t, d: t.save(str(tmp_path / "tokenizer.json")),
        lambda t, d: pickle.dumps(t),
        lambda t, d: copy.deepcopy(t),
        lambda t, d: repr(t),
        lambda t, d: str(t),
        lambda t, d: pickle.dumps(d),
        lambda t, d: copy.copy(d),
        lambda t, d: copy.deepcopy(d),
        lambda t, d: d.__getstate__(),
        lambda t, d: repr(d),
        lambda t, d: str(d),
    ]
    twins = Twins.of(dumped(small()).decode())
    for module, tokenizer in ((face, twins.ours), (stock, twins.theirs)):
        tokenizer.decoder = module.decoders.Decoder.custom(Dotted())
    for call in calls:
        twins.check(lambda t, c=call: c(t, t.decoder))
        assert issubclass(outcome(lambda c=call: c(twins.ours, twins.ours.decoder)), TypeError)
    with pytest.raises(ValueError, match="step of a Sequence"):
        face.decoders.Sequence([face.decoders.Fuse(), twins.ours.decoder])


class Split:
    def pre_tokenize(self, text: Any) -> Any:
        text.split(lambda i, piece: piece.split("b", "isolated"))


class Changed:
    def pre_tokenize(self, text: Any) -> Any:
        text.split(lambda i, piece: piece.split("a", "removed"))
        text.normalize(lambda piece: piece.prepend("é"))
        text.normalize(lambda piece: piece.strip())
        return 5


class Emptied:
    def pre_tokenize(self, text: Any) -> Any:
        text.split(lambda i, piece: [])


class Broken:
    def pre_tokenize(self, text: Any) -> Any:
        raise KeyError("no")


class Counting:
    """Split by the number of the piece, and make tokens of its face."""

    def pre_tokenize(self, text: Any) -> Any:
        text.split(lambda i, piece: piece.split("b", "isolated") if i % 2 else [piece])
        module: Any = face if isinstance(text, face.PreTokenizedString) else stock
        if len(text.get_splits()) == 3:
            text.tokenize(lambda piece: [module.Token(1, "own", (0, 1))])


SPLITTING = [Counting, Split, Changed, Emptied, Broken, object]
TEXTS = ["", "ab ba é", "a<s>b ab", "<s>", "é<s> ab<s>b", "ba<s>b", "é漢bab", " b ", "aa"]


def splitting(module: Any, written: Any, number: int) -> Any:
    """Return a pre-tokenizer that is written in Python, or that has one as a step."""
    steps, custom = module.pre_tokenizers, module.pre_tokenizers.PreTokenizer.custom(written())
    return [
        lambda: custom,
        lambda: steps.Sequence([steps.WhitespaceSplit(), custom]),
        lambda: steps.Sequence([custom, steps.Split("é", "isolated")]),
        lambda: steps.Sequence([custom, steps.ByteLevel(add_prefix_space=False)]),
    ][number]()


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("written", SPLITTING)
def test_pre_tokenizers_written_in_python_split_like_the_original(written: Any, number: int) -> None:
    twins = Twins(*[splitting(module, written, number) for module in (face, stock)])
    for text in TEXTS:
        twins.check(lambda p, s=text: p.pre_tokenize_str(s), text)

        def pieces(step: Any, text: str = text) -> Any:
            module: Any = face if isinstance(step, face.pre_tokenizers.PreTokenizer) else stock
            made = module.PreTokenizedString(text)
            step.pre_tokenize(made)
            splits = made.get_splits("original", "byte") + made.get_splits("normalized", "char")
            return [(*one, tokens and [token.as_tuple() for token in tokens]) for *one, tokens in splits]

        twins.check(pieces, text)


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("written", SPLITTING)
def test_tokenizers_encode_and_train_by_them_like_the_original(written: Any, number: int, tmp_path: Path) -> None:
    def made(module: Any) -> Any:
        vocab = {token: i for i, token in enumerate(["<unk>", "a", "b", "é", "ab", "ba", " ", "Ã", "©"])}
        tokenizer = module.Tokenizer(module.models.BPE(vocab, [("a", "b"), ("b", "a")], unk_token="<unk>"))
        tokenizer.normalizer = module.normalizers.Lowercase()
        tokenizer.add_tokens(["<s>"])
        tokenizer.pre_tokenizer = splitting(module, written, number)
        return tokenizer

    twins = Twins(made(face), made(stock))
    for text in TEXTS:
        twins.check(lambda t, s=text: t.encode(s), text)
        twins.check(lambda t, s=text: t.encode_batch([s, (s, "AB")]), text)
    calls: list[Callable[[Any], Any]] = [
        lambda t: t.to_str(),
        lambda t: t.save(str(tmp_path / "tokenizer.json")),
        lambda t: pickle.dumps(t),
        lambda t: copy.deepcopy(t),
        lambda t: repr(t),
        lambda t: pickle.dumps(t.pre_tokenizer),
        lambda t: copy.deepcopy(t.pre_tokenizer),
        lambda t: t.pre_tokenizer.__getstate__(),
        lambda t: repr(t.pre_tokenizer),
    ]
    for call in calls:
        twins.check(call)
        assert issubclass(outcome(lambda call=call: call(twins.ours)), TypeError)
    twins = Twins(made(face), made(stock))
    for module, tokenizer in ((face, twins.ours), (stock, twins.theirs)):
        trainer = module.trainers.BpeTrainer(show_progress=False, vocab_size=12)
        found = outcome(lambda t=tokenizer, r=trainer: t.train_from_iterator(["abab éb ab", "ba"], r))
        assert found is None or written in (Broken, object)
    twins.check(lambda t: [t.get_vocab(), t.encode("abab b")])
    for tokenizer in (twins.ours, twins.theirs):
        tokenizer.pre_tokenizer = None
    twins.check(lambda t: [t.encode("ab ab"), t.to_str()])


class Replaced:
    def normalize(self, text: Any) -> Any:
        text.replace("b", "éé")
        text.prepend("a")


class Filtered:
    def normalize(self, text: Any) -> Any:
        text.filter(lambda character: character != "a")
        text.lowercase()
        return 5


class Failed:
    def normalize(self, text: Any) -> Any:
        raise KeyError("no")


NORMALIZING = [Replaced, Filtered, Failed, object]


def normalizing(module: Any, written: Any, number: int) -> Any:
    """Return a normalizer that is written in Python, or that has one as a step."""
    steps, custom = module.normalizers, module.normalizers.Normalizer.custom(written())
    return [
        lambda: custom,
        lambda: steps.Sequence([steps.NFD(), custom]),
        lambda: steps.Sequence([custom, steps.Replace("é", "b"), steps.Strip()]),
    ][number]()


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("written", NORMALIZING)
def test_normalizers_written_in_python_normalize_like_the_original(written: Any, number: int) -> None:
    twins = Twins(*[normalizing(module, written, number) for module in (face, stock)])
    for text in [*TEXTS, None, 5]:
        twins.check(lambda n, s=text: n.normalize_str(s), text)

        def changed(step: Any, text: Any = text) -> Any:
            module: Any = face if isinstance(step, face.normalizers.Normalizer) else stock
            made = module.NormalizedString(text)
            step.normalize(made)
            return repr(made), [str(made.slice((i, i + 1)).original) for i in range(len(made.normalized))]

        twins.check(changed, text)


def test_added_token_that_normalizes_to_nothing_is_found_nowhere() -> None:
    class Removing:
        def normalize(self, text: Any) -> None:
            text.replace("x", "")

    def made(module: Any) -> Any:
        tokenizer = module.Tokenizer(module.models.BPE({"a": 0}, []))
        tokenizer.normalizer = module.normalizers.Normalizer.custom(Removing())
        tokenizer.add_tokens([module.AddedToken(token, normalized=True) for token in ("x", "yy", "zz")])
        return tokenizer

    twins = Twins(made(face), made(stock))
    for text in ("", "x", "axyya", "zzxx"):
        twins.check(lambda t, s=text: t.encode(s), text)


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("written", [Replaced, Filtered])
@pytest.mark.parametrize("split", [None, Split])
def test_tokenizers_normalize_by_them_like_the_original(written: Any, number: int, split: Any) -> None:
    def made(module: Any) -> Any:
        vocab = {token: i for i, token in enumerate(["<unk>", "a", "b", "é", "ab", "ba", " ", "éé"])}
        merges = [("a", "b"), ("b", "a"), ("é", "é")]
        tokenizer = module.Tokenizer(module.models.BPE(vocab, merges, unk_token="<unk>"))
        tokenizer.normalizer = normalizing(module, written, number)
        raw = module.AddedToken("<s>", normalized=False, lstrip=True)
        tokenizer.add_tokens(
            [raw, module.AddedToken("ab", normalized=True), module.AddedToken("Z", normalized=True)]
        )
        tokenizer.add_special_tokens(["c"])
        if split is not None:
            tokenizer.pre_tokenizer = module.pre_tokenizers.PreTokenizer.custom(split())
        return tokenizer

    twins = Twins(made(face), made(stock))
    for text in [*TEXTS, "aab <s>c AZab", "Z", "abcabz"]:
        twins.check(lambda t, s=text: t.encode(s), text)
        twins.check(lambda t, s=text: t.encode_batch([s, (s, "AB")]), text)
    twins.check(lambda t: [t.id_to_token(i) for i in range(12)])
    calls: list[Callable[[Any], Any]] = [
        lambda t: t.to_str(),
        lambda t: pickle.dumps(t),
        lambda t: copy.deepcopy(t),
        lambda t: pickle.dumps(t.normalizer),
        lambda t: copy.deepcopy(t.normalizer),
        lambda t: repr(t.normalizer),
    ]
    for call in calls:
        twins.check(call)
    twins = Twins(made(face), made(stock))
    for module, tokenizer in ((face, twins.ours), (stock, twins.theirs)):
        trainer = module.trainers.BpeTrainer(show_progress=False, vocab_size=12)
        found = outcome(
            lambda t=tokenizer, r=trainer: t.train_from_iterator(["abab éb ab", "ba", "Z <s> zab", ""], r)
        )
        assert found is None
    twins.check(lambda t: [t.get_vocab(), t.encode("abab b")])


@pytest.mark.parametrize("module", [face, stock])
def test_errors_have_the_text_of_the_original(module: Any) -> None:
    with pytest.raises(Exception, match=r"^KeyError: 'no'$"):
        module.normalizers.Normalizer.custom(Failed()).normalize_str("a")
    with pytest.raises(Exception, match=r"^KeyError: 'no'$"):
        module.pre_tokenizers.PreTokenizer.custom(Broken()).pre_tokenize_str("a")
    with pytest.raises(Exception, match=r"^AttributeError: 'object' object has no attribute 'normalize'$"):
        module.normalizers.Normalizer.custom(object()).normalize_str("a")
    with pytest.raises(Exception, match=r"^AttributeError: 'object' object has no attribute 'pre_tokenize'$"):
        module.pre_tokenizers.PreTokenizer.custom(object()).pre_tokenize_str("a")


def test_a_text_that_is_lent_cannot_be_used_later() -> None:
    class Keeping:
        def normalize(self, text: Any) -> Any:
            self.text = text

    for module in (face, stock):
        keeping = Keeping()
        assert module.normalizers.Normalizer.custom(keeping).normalize_str("a") == "a"
        for use in (lambda t: t.replace("a", "b"), lambda t: t.normalized, lambda t: t.slice(0)):
            with pytest.raises(Exception, match="Cannot use a NormalizedStringRefMut outside `normalize`"):
                use(keeping.text)
