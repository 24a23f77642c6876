"""BertWordPieceTokenizer and SentencePieceUnigramTokenizer of fastbpe.tokenizers against tokenizers."""

from __future__ import annotations

import copy
import io
import pickle
import random
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe.tokenizers as face
from fastbpe.errors import FormatError
from fastbpe.sentencepiece import SentencePieceTrainer, sentencepiece_model_pb2
from helpers.sampling import SEED, rounds
from helpers.tokenizer_json import random_text
from helpers.tokenizers_twins import Twins, outcome

VOCAB = {
    token: i for i, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "ab", "##b", "##c"])
}
SCORES = [("<unk>", 0.0), ("a", -1.5), ("b", -2.0), ("\u2581", -2.5), ("ab", -3.0), ("_", -1e-7)]
TEXTS = ["ab c", "", "ABC [MASK] ab", " a  b\n\u6f22\u00e9", "\ufb01 abcabc", "zz"]
LINES = ["the cat sat on the mat", "the hat of the cat \u00e9"] * 20
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "BertWordPieceTokenizer": {
        "unk_token": ["[UNK]", "a", "none"],
        "sep_token": ["[SEP]", "a", "none"],
        "cls_token": ["[CLS]", "none"],
        "pad_token": ["[PAD]", "none"],
        "mask_token": ["[MASK]", "ab"],
        "clean_text": [True, False],
        "handle_chinese_chars": [True, False],
        "strip_accents": [None, True, False, "x"],
        "lowercase": [True, False, None],
        "wordpieces_prefix": ["##", "", "_"],
    },
    "SentencePieceUnigramTokenizer": {
        "replacement": ["\u2581", "_", "ab", ""],
        "add_prefix_space": [True, False],
    },
}
VOCABS: dict[str, list[Any]] = {
    "BertWordPieceTokenizer": [None, VOCAB, {"a": 0}, {"a": 0, "[SEP]": 1}, "no such file", 5],
    "SentencePieceUnigramTokenizer": [None, SCORES, SCORES[1:], [], [("a", "b")], {"a": 1}],
}


def check_same(made: list[Any], told: Any) -> None:
    """Compare two tokenizers, or the types of two errors."""
    if isinstance(made[1], type):
        assert isinstance(made[0], type)
        assert made[1].__name__ == "PanicException" or issubclass(made[0], made[1]), (made, told)
        return
    twins = Twins(*made)
    twins.check(lambda t: [repr(t), t.to_str(), t._parameters, str(t.model), repr(t.model)], told)
    twins.check(lambda t: [repr(copy.deepcopy(t)), pickle.loads(pickle.dumps(t)).to_str()], told)
    twins.check(lambda t: t.encode_batch(TEXTS), told)
    for text in TEXTS:
        twins.check(lambda t, s=text: [t.encode(s), t.encode(s, "b")], (told, text))
        twins.check(lambda t, s=text: t.decode(t.encode(s).ids, skip_special_tokens=False), (told, text))


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("seed", rounds(20, 1000))
def test_random_arguments_make_the_same_tokenizer(name: str, seed: int) -> None:
    rng = random.Random(f"{SEED} {name} {seed}")
    names = rng.sample([*OPTIONS[name]], rng.randint(0, 2))
    options = {key: rng.choice(OPTIONS[name][key]) for key in names}
    vocab = rng.choice([VOCABS[name][1], rng.choice(VOCABS[name])])
    check_same([outcome(lambda m=m: getattr(m, name)(vocab, **options)) for m in (face, stock)], (options, vocab))


def test_a_vocabulary_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in VOCAB))
    path = str(tmp_path / "vocab.txt")
    check_same([module.BertWordPieceTokenizer.from_file(path, lowercase=False) for module in (face, stock)], path)
    check_same([module.BertWordPieceTokenizer(path) for module in (face, stock)], path)
    with pytest.raises(OSError, match="no such file"):
        face.BertWordPieceTokenizer.from_file("no such file")


@pytest.mark.parametrize("seed", rounds(5, 500))
def test_training_of_bert_learns_what_the_original_learns(seed: int, tmp_path: Path) -> None:
    """Special tokens set the order of the characters inside words, which is random in the original."""
    rng = random.Random(f"{SEED} training of BERT {seed}")
    texts = [random_text(rng).replace("\r", "") for _ in range(rng.randint(0, 12))]
    (tmp_path / "a.txt").write_text("\n".join(texts))
    options: dict[str, Any] = {"vocab_size": rng.choice([100, 200]), "min_frequency": rng.choice([0, 2])}
    options |= {"show_progress": False, "wordpieces_prefix": rng.choice(["##", "@"])}
    cleaned = stock.BertWordPieceTokenizer().normalize(" ".join(texts))
    spelled = sorted({options["wordpieces_prefix"] + one for one in cleaned})
    options["special_tokens"] = ["[UNK]", *spelled]
    for train in (
        lambda t: t.train(str(tmp_path / "a.txt"), **options),
        lambda t: t.train_from_iterator([texts, *texts], length=5, **options),
    ):
        made = []
        for module in (face, stock):
            made.append(module.BertWordPieceTokenizer())
            train(made[-1])
        check_same(made, (options, texts))


def test_default_special_tokens_of_bert_come_first() -> None:
    for module in (face, stock):
        made = module.BertWordPieceTokenizer()
        made.train_from_iterator(["a"], show_progress=False)
        assert [made.id_to_token(i) for i in range(5)] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def test_training_of_a_unigram_kind_takes_its_arguments(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(LINES))
    options: dict[str, Any] = {"vocab_size": 30, "show_progress": False, "special_tokens": ["<s>"]}
    options |= {"initial_alphabet": ["z", "qx"], "unk_token": "<unk>"}
    tokens: list[Any] = []
    for module in (face, stock):
        for source in (str(tmp_path / "a.txt"), [str(tmp_path / "a.txt")], None):
            made = module.SentencePieceUnigramTokenizer()
            if source is None:
                made.train_from_iterator(iter(LINES), length=3, **options)
            else:
                made.train(source, **options)
            assert [made.id_to_token(i) for i in range(2)] == ["<unk>", "<s>"]
            assert {"z", "q"} <= made.get_vocab().keys()
            assert made.decode(made.encode("the  cat sat").ids) == "the cat sat"
            tokens.append(sorted(made.get_vocab()) if module is face else 0)
    assert tokens[0] == tokens[1]


def model_of(**options: Any) -> bytes:
    file = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=file, minloglevel=3, hard_vocab_limit=False, **options
    )
    return file.getvalue()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the original leaves files open
@pytest.mark.parametrize(
    "options",
    [
        {"vocab_size": 35},
        {"vocab_size": 290, "byte_fallback": True, "normalization_rule_name": "identity"},
        {"vocab_size": 35, "unk_id": 3, "bos_id": 0, "eos_id": 1, "pad_id": 2, "add_dummy_prefix": False},
    ],
)
def test_models_of_sentencepiece_become_the_same(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece_model_pb2", sentencepiece_model_pb2)
    path = tmp_path / "a.model"
    path.write_bytes(model_of(model_type="unigram", **options))
    made = [module.SentencePieceUnigramTokenizer.from_spm(str(path)) for module in (face, stock)]
    assert type(made[0]) is face.SentencePieceUnigramTokenizer
    check_same(made, options)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bpe.model").write_bytes(model_of(model_type="bpe", vocab_size=35))
    (tmp_path / "damaged.model").write_bytes(b"damaged")
    for name, said in (
        ("bpe", "a model of type bpe, not unigram; load it with fastbpe.load"),
        ("damaged", "damaged"),
    ):
        with pytest.raises(FormatError, match=said):
            face.SentencePieceUnigramTokenizer.from_spm(str(tmp_path / f"{name}.model"))
    with pytest.raises(OSError, match="no such file"):
        face.SentencePieceUnigramTokenizer.from_spm("no such file")
