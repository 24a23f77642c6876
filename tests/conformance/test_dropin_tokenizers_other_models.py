"""fastbpe.tokenizers with models other than BPE, and with objects of tokenizers itself."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe.tokenizers as face
from fastbpe.errors import NoUnknownTokenError, TrainingError
from helpers.tokenizer_json import dumped, small
from helpers.tokenizers_twins import Twins

MODELS: dict[str, Callable[[Any], Any]] = {
    "WordLevel": lambda m: m.models.WordLevel({"ab": 0, "<unk>": 1}, unk_token="<unk>"),
    "Unigram": lambda m: m.models.Unigram([("<unk>", 0.0), ("a", -1.0), ("b", -2.0), ("\u2581", -3.0)], 0),
    "WordPiece": lambda m: m.models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"),
}
TEXTS = ["ab", "ba AB <s> ab", ""]


def twins_of(name: str) -> Twins:
    made = []
    for module in (face, stock):
        tokenizer = module.Tokenizer(MODELS[name](module))
        tokenizer.normalizer = module.normalizers.Sequence([module.normalizers.Lowercase()])
        tokenizer.pre_tokenizer = module.pre_tokenizers.Whitespace()
        tokenizer.decoder = module.decoders.WordPiece()
        tokenizer.add_special_tokens([module.AddedToken("<s>", lstrip=True)])
        template = module.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
        tokenizer.post_processor = template
        made.append(tokenizer)
    return Twins(*made)


@pytest.mark.parametrize("name", MODELS)
def test_other_models_answer_like_the_original(name: str, tmp_path: Path) -> None:
    twins = twins_of(name)
    assert type(twins.ours) is face.Tokenizer
    assert type(twins.ours.model) is getattr(face.models, name)
    assert isinstance(twins.ours.encode("ab"), face.Encoding)
    calls: list[Callable[[Any], Any]] = [
        lambda t: [t.encode_batch(TEXTS), t.encode("ab", "ba"), t.encode(["ab", "a"], is_pretokenized=True)],
        lambda t: [t.decode([0, 1]), t.decode_batch([[1], [0, 1]], skip_special_tokens=False)],
        lambda t: [t.token_to_id("ab"), t.id_to_token(1), t.get_vocab(), t.get_vocab_size(False)],
        lambda t: t.post_process(t.encode("ab", add_special_tokens=False), None, True),
        lambda t: [t.enable_truncation(2, stride=1), t.enable_padding(length=4), t.truncation, t.padding],
        lambda t: t.encode_batch(TEXTS),
        lambda t: [t.no_truncation(), t.no_padding(), t.num_special_tokens_to_add(False)],
        lambda t: [t.to_str(), repr(t), str(t), str(t.normalizer), str(t.model)],
        lambda t: t.save(str(tmp_path / "t.json")) or type(t).from_file(str(tmp_path / "t.json")).encode("ab"),
        lambda t: [copy.deepcopy(t).encode("ab"), copy.copy(t).to_str(), pickle.loads(pickle.dumps(t)).to_str()],
        lambda t: t.encode(5),
        lambda t: t.decode("a"),
        lambda t: setattr(t, "normalizer", None) or t.encode("AB"),
    ]
    for number, call in enumerate(calls):
        twins.check(call, number)


@pytest.mark.parametrize("name", ["WordLevel", "WordPiece", "Unigram"])
def test_trainers_of_other_models_learn_what_the_original_learns(name: str) -> None:
    made = []
    for module in (face, stock):
        tokenizer = module.Tokenizer(getattr(module.models, name)())
        tokenizer.pre_tokenizer = module.pre_tokenizers.Whitespace()
        special = [module.AddedToken("[UNK]", lstrip=True), "<s>"]
        kind = getattr(module.trainers, f"{name}Trainer")
        trainer = kind(vocab_size=12, special_tokens=special, show_progress=False)
        tokenizer.train_from_iterator(["a b c a", "a b"], trainer)
        made.append(tokenizer)
    Twins(*made).check(lambda t: [{*t.get_vocab()}, str(t.get_added_tokens_decoder()[0])])


def test_kinds_of_other_models_are_classes_of_the_face() -> None:
    for module in (face, stock):
        made = module.BertWordPieceTokenizer()
        assert type(made) is module.BertWordPieceTokenizer
        made.train_from_iterator(["hello"] * 4, show_progress=False)
        assert made.encode("Hello").tokens == ["hello"]
    word_piece = face.models.WordPiece()
    assert isinstance(word_piece, face.models.WordPiece)
    assert not isinstance(word_piece, face.models.Unigram)
    assert not isinstance(face.models.BPE(), face.models.Unigram)


def test_a_bpe_model_of_the_original_is_copied() -> None:
    made = face.Tokenizer(stock.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    assert type(made.model) is face.models.BPE
    assert made.encode("abb").tokens == ["ab", "b"]
    made.model = face.models.BPE({"a": 0, "b": 1}, [])
    assert made.encode("abb").tokens == ["a", "b", "b"]


def test_only_tokens_of_one_package_are_equal() -> None:
    trainer = face.trainers.WordLevelTrainer(special_tokens=["1"])
    assert trainer.special_tokens == [face.AddedToken("1", special=True)]
    assert trainer.special_tokens != [face.AddedToken("1", special=True, lstrip=True)]
    assert face.AddedToken("a") != stock.AddedToken("a")  # their hashes differ
    assert stock.AddedToken("a") != face.AddedToken("a")
    assert face.AddedToken("a") != "a"


def test_a_model_of_the_original_can_be_set() -> None:
    made = []
    for module in (face, stock):
        tokenizer = module.Tokenizer(module.models.BPE({"a": 0}, []))
        tokenizer.normalizer = module.normalizers.Lowercase()
        tokenizer.add_special_tokens(["<s>"])
        tokenizer.enable_padding(length=4)
        tokenizer.encode_special_tokens = True
        tokenizer.model = stock.models.WordLevel({"a": 0, "b": 1, "c": 2}, unk_token="a")
        made.append(tokenizer)
    twins = Twins(*made)
    twins.check(lambda t: [t.encode("B"), t.encode("<s>"), t.to_str(), t.encode_special_tokens])


def test_trainers_of_other_models_are_refused_by_name() -> None:
    bpe, words = (face.Tokenizer(model()) for model in (face.models.BPE, face.models.WordLevel))
    with pytest.raises(TrainingError, match="UnigramTrainer can only train a Unigram; this model is a BPE"):
        bpe.train_from_iterator(["a"], face.trainers.UnigramTrainer(show_progress=False))
    with pytest.raises(TrainingError, match="BpeTrainer can only train a BPE; this model is a WordLevel"):
        words.train_from_iterator(["a"], face.trainers.BpeTrainer(show_progress=False))


def test_streams_of_other_models_are_like_the_original() -> None:
    told = []
    for module in (face, stock):
        tokenizer = module.Tokenizer(module.models.Unigram([("<unk>", 0.0), ("\u2581This", -0.1)], 0))
        tokenizer.decoder = module.decoders.Metaspace()
        stream = module.decoders.DecodeStream(skip_special_tokens=False)
        told.append([stream.step(tokenizer, id) for id in (1, 1, 0)])
    assert told[0] == told[1]
    stream = face.decoders.DecodeStream()
    assert stream.step(stock.Tokenizer(stock.models.BPE({"a": 0}, [])), 0) == "a"


def test_components_and_tokens_of_the_original_are_taken() -> None:
    def run(module: Any) -> list[Any]:
        tokenizer = module.Tokenizer.from_str(dumped(small()).decode())
        tokenizer.normalizer = stock.normalizers.Sequence(
            [stock.normalizers.Prepend("a"), stock.normalizers.NFC()]
        )
        tokenizer.pre_tokenizer = stock.pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokenizer.decoder = stock.decoders.ByteLevel()
        told: list[Any] = [tokenizer.add_tokens([stock.AddedToken("<x>", rstrip=True)])]
        template = stock.processors.TemplateProcessing(single="$A <x>", special_tokens=[("<x>", 262)])
        tokenizer.post_processor = template
        encoding = tokenizer.encode("b <x>  ab")
        told += [encoding.tokens, encoding.offsets, tokenizer.decode(encoding.ids), tokenizer.to_str()]
        trainer = stock.trainers.BpeTrainer(vocab_size=6, special_tokens=["<t>"], show_progress=False)
        tokenizer.train_from_iterator(["ab ab b"], trainer)
        return [*told, tokenizer.get_vocab()]

    assert run(face) == run(stock)


def test_components_in_python_run_with_other_models() -> None:
    class Upper:
        def normalize(self, text: Any) -> None:
            text.uppercase()

    class Joined:
        def decode_chain(self, tokens: list[str]) -> list[str]:
            return ["-".join(tokens)]

    made = face.Tokenizer(face.models.WordLevel({"AB": 0, "<unk>": 1}, unk_token="<unk>"))
    made.normalizer = face.normalizers.Normalizer.custom(Upper())
    made.decoder = face.decoders.Decoder.custom(Joined())
    assert made.encode("ab").ids == [0]
    assert made.decode([0, 1]) == "AB-<unk>"


def test_transformers_takes_a_tokenizer_of_the_face() -> None:
    transformers = pytest.importorskip("transformers")
    made = [
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=module.Tokenizer.from_str(dumped(small()).decode()), pad_token="b", eos_token="<end>"
        )
        for module in (face, stock)
    ]
    assert type(made[0]._tokenizer) is face.Tokenizer
    texts = ["ab abc", "\u00e9<end>"]
    ours, theirs = (one(texts, padding=True, return_offsets_mapping=True) for one in made)
    assert {**ours} == {**theirs}
    assert ours.tokens(1) == theirs.tokens(1)
    assert made[0].batch_decode(ours["input_ids"]) == made[1].batch_decode(theirs["input_ids"])


@pytest.mark.parametrize(
    "make",
    [
        lambda m: m.models.Unigram([("a", -1.0)], None, False),
        lambda m: m.models.WordPiece({"a": 0}, unk_token="[U]"),
        lambda m: m.models.WordLevel({"a": 0}, unk_token="[U]"),
        lambda m: m.models.BPE({"a": 0}, [], unk_token="[U]"),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda model, tokenizer: tokenizer.encode("b"),
        lambda model, tokenizer: tokenizer.encode(["a", "b"], is_pretokenized=True),
        lambda model, tokenizer: tokenizer.encode_batch(["a", "b"]),
        lambda model, tokenizer: tokenizer.encode_batch_fast(["a", "b"]),
        lambda model, tokenizer: model.tokenize("b"),
    ],
)
def test_text_that_needs_the_missing_unknown_token(
    make: Callable[[Any], Any], call: Callable[[Any, Any], Any]
) -> None:
    """The message is that of tokenizers; a note says what is missing and how to add it."""
    said = []
    for module in (stock, face):
        model = make(module)
        with pytest.raises(Exception, match=r"(?i)unk") as caught:
            call(model, module.Tokenizer(model))
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert isinstance(caught.value, NoUnknownTokenError)
    note = caught.value.__notes__[0]
    assert note.startswith(("'b' has no token", "the character 'b' has no token"))
    assert "; add " in note
