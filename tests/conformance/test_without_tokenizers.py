"""fastbpe.tokenizers where tokenizers is not installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.child_processes import run_python
from helpers.tokenizer_json import added, dumped, small

BLOCKED = "import sys; sys.modules['tokenizers'] = None\nimport fastbpe.tokenizers as tokenizers\n"
PROGRAM = """
import json
from fastbpe.tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
tokenizer = Tokenizer.from_file(sys.argv[1])
tokenizer.add_special_tokens([AddedToken("<end>")])
tokenizer.post_processor = processors.TemplateProcessing(single="$A <end>", special_tokens=[("<end>", 263)])
tokenizer.enable_truncation(4, stride=1)
tokenizer.enable_padding(length=5)
first, second = tokenizer.encode_batch(["ab abc <s> c", "a"])
stream = decoders.DecodeStream()
told = [
    first.tokens, first.offsets, first.word_ids, first.overflowing[0].ids, second.ids, second.attention_mask,
    tokenizer.decode(first.ids), [stream.step(tokenizer, id) for id in first.ids],
    json.loads(tokenizer.to_str())["added_tokens"][-1]["content"], repr(tokenizer.post_processor)[:18],
]
made = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
made.normalizer = normalizers.Lowercase()
made.decoder = decoders.ByteLevel()
told += [made.encode("ABBA").tokens, made.decode([2, 0])]
print(json.dumps(told))
"""


@pytest.mark.daily
def test_a_program_runs_without_tokenizers(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(dumped(small([added(262, "<s>", special=True)])))
    told = json.loads(run_python(BLOCKED + PROGRAM, str(path)))
    assert told == [
        ["ab", "Ġ", "abc", "<end>", "[PAD]"],
        [[0, 2], [2, 3], [3, 6], [0, 0], [0, 0]],
        [0, 1, 1, None, None],
        [257, 32, 262, 263, 0],
        [97, 263, 0, 0, 0],
        [1, 1, 0, 0, 0],
        "ab abc\x00",
        ["ab", " ", "abc", "<end>", "\x00"],
        "<end>",
        "TemplateProcessing",
        ["ab", "b", "a"],
        "aba",
    ]


@pytest.mark.daily
def test_kinds_of_tokenizers_train_and_encode_without_tokenizers() -> None:
    code = """
from fastbpe.tokenizers import ByteLevelBPETokenizer, CharBPETokenizer, SentencePieceBPETokenizer
told = []
for kind in (ByteLevelBPETokenizer, CharBPETokenizer, SentencePieceBPETokenizer):
    made = kind()
    made.train_from_iterator(["The cat sat", "on the mat"] * 20, vocab_size=290, show_progress=False)
    found = made.encode("The mat\u00e9")
    told.append([found.tokens, found.offsets, made.decode(found.ids)])
import json
print(json.dumps(told))
"""
    told = json.loads(run_python(BLOCKED + code))
    assert told == [
        [["The", "\u0120mat", "\u00c3", "\u00a9"], [[0, 3], [3, 7], [7, 8], [7, 8]], "The mat\u00e9"],
        [["The</w>", "m", "a", "t", "<unk>"], [[0, 3], [4, 5], [5, 6], [6, 7], [7, 8]], "The mat"],
        [["\u2581The", "\u2581mat", "<unk>"], [[0, 3], [3, 7], [7, 8]], "The mat"],
    ]


@pytest.mark.daily
def test_other_models_run_and_train_without_tokenizers(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    vocab = {"[UNK]": 0, "ab": 1, "##c": 2, "[SEP]": 3, "[CLS]": 4}
    model = {"type": "WordPiece", "vocab": vocab, "unk_token": "[UNK]"}
    model |= {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    path.write_bytes(dumped({**small(), "model": model, "pre_tokenizer": {"type": "Whitespace"}}))
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in vocab))
    code = """
import json
m = tokenizers
told = [m.Tokenizer.from_file(f"{sys.argv[1]}/tokenizer.json").encode("abc x").tokens]
told.append(m.BertWordPieceTokenizer.from_file(f"{sys.argv[1]}/vocab.txt").encode("ABc").tokens)
texts = ["the cat sat on the mat", "the hat of the cat"] * 9
for kind in ("Unigram", "WordLevel", "WordPiece"):
    made = m.Tokenizer(getattr(m.models, kind)())
    made.pre_tokenizer = m.pre_tokenizers.Whitespace()
    trainer = getattr(m.trainers, f"{kind}Trainer")(vocab_size=30, special_tokens=["[UNK]"], show_progress=False)
    made.train_from_iterator(texts, trainer)
    told.append(m.Tokenizer.from_str(made.to_str()).encode("the mat").tokens)
made = m.SentencePieceUnigramTokenizer()
made.train_from_iterator(texts, vocab_size=30, unk_token="<unk>", show_progress=False)
told.append(made.encode("the mat").tokens)
print(json.dumps(told))
"""
    told = json.loads(run_python(BLOCKED + code, str(tmp_path)))
    assert told[:2] == [["ab", "##c", "[UNK]"], ["[CLS]", "ab", "##c", "[SEP]"]]
    assert ["".join(tokens).replace("##", "").replace("\u2581", "") for tokens in told[2:]] == ["themat"] * 4


@pytest.mark.daily
def test_parity_trainer_trains() -> None:
    code = """
made = tokenizers.Tokenizer(m.BPE())
made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
trainer = tokenizers.trainers.ParityBpeTrainer(num_merges=2, show_progress=False)
trainer.train_from_iterator(made, [["the the"], ["die"]], [["the"], ["die die"]])
print(made.encode("die the").tokens)
"""
    told = run_python(BLOCKED + "m = tokenizers.models\n" + code)
    assert told == "['die', 't', 'h', 'e']\n"


def test_the_face_stands_for_the_module_that_is_missing() -> None:
    code = "import fastbpe; fastbpe.install('tokenizers')\nimport tokenizers\n"
    code += "from tokenizers.decoders import DecodeStream\n"
    code += "print(tokenizers.Tokenizer is fastbpe.tokenizers.Tokenizer, DecodeStream.__module__)"
    told = run_python("import sys; sys.modules['tokenizers'] = None\n" + code)
    assert told.split() == ["True", "fastbpe.tokenizers.decoders"]


def test_the_import_loads_neither_numpy_nor_transformers() -> None:
    code = "print([name for name in sys.modules if name.split('.')[0] in ('numpy', 'asyncio', 'transformers')])"
    assert run_python(BLOCKED + code).strip() == "[]"
