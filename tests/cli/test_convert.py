"""fastbpe convert: every format into every other, and its errors where information would be lost."""

from __future__ import annotations

import itertools
import json

import pytest

import fastbpe
from fastbpe import Tokenizer
from fastbpe.tokenizer.export.export import FORMATS
from helpers.shared_data import BYTES, data_file

NAMES = {
    "native": "x.fbpe",
    "tiktoken": "x.tiktoken",
    "gpt2": "x",
    "minbpe": "x.model",
    "huggingface": "tokenizer.json",
}
FLAGS = {
    "tiktoken": ["--pattern", "none", "--special", "<|end|>=279", "--special", "a=b=278"],
    "gpt2": ["--pattern", "none", "--special", "<|end|>=279", "--special", "a=b=278"],
}


def test_every_format_is_covered():
    # Some cannot hold the tokenizer below; for BoundlessBPE's see tests/formats/test_boundless_format.py.
    assert {*NAMES, "tekken", "gguf", "boundless"} == set(FORMATS)


def test_tekken_file_converts_to_a_native_one_and_back(run, tmp_path):
    ranks = {token: i + 2 for token, i in {**BYTES, b"lo": 256}.items()}
    tokenizer = Tokenizer.from_ranks(ranks, pattern="tekken", special_tokens={"<unk>": 0, "<s>": 1})
    tokenizer.save(tmp_path / "a.fbpe")
    done = run("convert", tmp_path / "a.fbpe", tmp_path / "tekken.json", "--to", "tekken")
    assert (done.status, done.out, done.err) == (0, b"", f"{tmp_path / 'tekken.json'}: 259 tokens as tekken\n")
    assert run("convert", tmp_path / "tekken.json", tmp_path / "b.fbpe").status == 0
    assert fastbpe.load(tmp_path / "b.fbpe") == tokenizer


@pytest.mark.parametrize(("source", "target"), [*itertools.product(NAMES, NAMES)])
def test_every_format_converts_into_every_other(source, target, run, tmp_path):
    ranks = {**BYTES, b"lo": 256, b"low": 257, b"er": 258}
    tokenizer = Tokenizer.from_ranks(ranks, pattern=None, special_tokens={"<|end|>": 279, "a=b": 278})
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    given, made = tmp_path / "in" / NAMES[source], tmp_path / "out" / NAMES[target]
    tokenizer.export(given, format=source)
    done = run("convert", given, made, "--to", target, *FLAGS.get(source, []))
    assert (done.status, done.out) == (0, b"")
    if target in FLAGS:
        said = f"{made}: 261 tokens as {target}; load it with --pattern none"
        assert done.err.startswith(said)
        again = fastbpe.load(made, pattern="none", special_tokens={"<|end|>": 279, "a=b": 278})
    else:
        assert done.err == f"{made}: 261 tokens as {target}\n"
        again = fastbpe.load(made)
    assert again == tokenizer


def test_gguf_file_converts_to_a_native_one_and_back(run, tmp_path):
    tokenizer = Tokenizer.from_ranks({**BYTES, b"lo": 256}, pattern="llama3", special_tokens={"<s>": 259})
    tokenizer.save(tmp_path / "a.fbpe")
    done = run("convert", tmp_path / "a.fbpe", tmp_path / "a.gguf")
    assert (done.status, done.out, done.err) == (0, b"", f"{tmp_path / 'a.gguf'}: 258 tokens as gguf\n")
    assert run("convert", tmp_path / "a.gguf", tmp_path / "b.fbpe").status == 0
    assert fastbpe.load(tmp_path / "b.fbpe") == tokenizer


def test_output_name_selects_the_format(run, model, tmp_path):
    for name, begin in (("a.fbpe", b"fastbpe "), ("a.tiktoken", b"AA== 0\n"), ("a.model", b"minbpe v1\n")):
        flags = ["--special", "<|end|>=279"] if name == "a.model" else []
        assert run("convert", model, tmp_path / name, *flags).status == 0
        assert (tmp_path / name).read_bytes().startswith(begin)


@pytest.mark.daily
def test_published_files_need_no_arguments(run, tmp_path):
    made = tmp_path / "x.tiktoken"
    done = run("convert", data_file("vocab", "gpt2_vocab.bpe"), made)
    assert (done.status, done.out, done.err) == (0, b"", f"{made}: 50,257 tokens as tiktoken\n")
    assert made.read_bytes() == data_file("vocab", "r50k_base.tiktoken").read_bytes()


def test_impossible_conversions_are_refused(run, model, text, tmp_path):
    assert run("convert", model, tmp_path / "out").failed_with(
        "its name has no extension that shows the format; pass --to with one of native"
    )
    assert run("convert", text, tmp_path / "out.fbpe").failed_with("text.txt: not a format that fastbpe reads")
    assert run("convert", tmp_path, tmp_path / "out.fbpe").failed_with("no tokenizer in this folder")
    assert run("convert", model, tmp_path / "out", "--to", "zip").status == 2
    Tokenizer.from_ranks({**BYTES, b"abc": 256}, pattern=None).save(tmp_path / "odd.fbpe")
    lost = "no merge produces 1 of this tokenizer's tokens, b'abc' (256)"
    assert run("convert", tmp_path / "odd.fbpe", tmp_path / "out", "--to", "gpt2").failed_with(lost)
    assert not (tmp_path / "out").exists()


def test_code_point_models_convert_both_ways(run, tmp_path):
    tokenizer = fastbpe.train(["low lower lowest"] * 9, mode="codepoint", vocab_size=20, progress=False)
    tokenizer.save(tmp_path / "a.fbpe")
    assert run("convert", tmp_path / "a.fbpe", tmp_path / "b.model").status == 0
    assert run("convert", tmp_path / "b.model", tmp_path / "c.fbpe").status == 0
    assert fastbpe.load(tmp_path / "b.model") == fastbpe.load(tmp_path / "c.fbpe") == tokenizer
    assert run("convert", tmp_path / "b.model", tmp_path / "d.tiktoken").failed_with(
        "no format of codepoint-mode tokenizers has the extension .tiktoken"
    )
    assert run("convert", tmp_path / "c.fbpe", tmp_path / "e.model", "--to", "sentencepiece").status == 0
    assert (tmp_path / "b.model").read_bytes() == (tmp_path / "e.model").read_bytes()


def test_warning_about_unigram_sums_names_the_file_and_its_own_reason(run, tmp_path):
    tokenizer = fastbpe.train(["low lower lowest"] * 9, mode="unigram", vocab_size=12, progress=False)
    tokenizer.save(tmp_path / "a.fbpe")
    done = run("convert", tmp_path / "a.fbpe", tmp_path / "b", "--to", "huggingface")
    assert f"warning: {tmp_path / 'b' / 'tokenizer.json'}: sentencepiece adds scores" in done.err
    done = run("convert", tmp_path / "a.fbpe", tmp_path / "c.json", "--drop", "normalizer")
    warning, result = done.err.splitlines()
    assert warning.endswith("may get other ids"), "texts that the normalizer would change are not examples of it"
    assert "texts get other ids, such as" in result


def test_verify_text_is_compared_and_reported(run, tmp_path):
    ranks = {**BYTES, b"bc": 256, b"abcd": 257, b"abc": 258}
    Tokenizer.from_ranks(ranks, pattern="gpt2").save(tmp_path / "a.fbpe")
    (tmp_path / "x.txt").write_text("abcdx\nabcd bc\n")
    done = run("convert", tmp_path / "a.fbpe", tmp_path / "tokenizer.json", "--verify-text", tmp_path / "x.txt")
    assert done.status == 0
    assert "texts have the same ids, in tokenizers too" in done.err
    assert fastbpe.load(tmp_path / "tokenizer.json").encode("abcdx") == [257, 120]
    (tmp_path / "x.txt").write_bytes(b"ab\xff")
    done = run("convert", tmp_path / "a.fbpe", tmp_path / "b.json", "--verify-text", tmp_path / "x.txt")
    assert done.failed_with(
        "x.txt:1: not UTF-8: invalid byte 0xff at offset 2; --verify-text needs a file of UTF-8 text"
    )
    assert not (tmp_path / "b.json").exists()


def test_conversion_is_verified_unless_disabled(run, tmp_path, monkeypatch):
    from fastbpe.tokenizer.export import verify_export

    calls = []
    real = verify_export.verify
    monkeypatch.setattr(verify_export, "verify", lambda *args: calls.append(args[2]) or real(*args))
    Tokenizer.from_ranks(BYTES, pattern="gpt2").export(tmp_path / "a.fbpe", format="native", verify=False)
    assert run("convert", tmp_path / "a.fbpe", tmp_path / "b.json", "--no-verify").status == 0
    assert calls == []
    for flags in ([], ["--verify"]):
        assert run("convert", tmp_path / "a.fbpe", tmp_path / "b.json", "--force", *flags).status == 0
    assert calls == ["huggingface", "huggingface"]


def test_convert_writes_a_folder_for_transformers(run, model, tmp_path):
    assert run("convert", str(model), f"{tmp_path}/made/", "--to", "huggingface").status == 0
    made = sorted(path.name for path in (tmp_path / "made").iterdir())
    assert made == ["tokenizer.json", "tokenizer_config.json"]
    assert fastbpe.load(tmp_path / "made").encode("low") == fastbpe.load(model).encode("low")


def test_drop_normalizer_tells_which_texts_get_other_ids(run, tmp_path):
    tokenizer = Tokenizer.from_ranks({**BYTES, b"\xc3\xa9": 256}, pattern="gpt2")
    tokenizer.export(tmp_path / "a.json")
    described = json.loads((tmp_path / "a.json").read_bytes()) | {"normalizer": {"type": "NFC"}}
    (tmp_path / "a.json").write_text(json.dumps(described))
    refused = run("convert", tmp_path / "a.json", tmp_path / "a.gguf")
    assert refused.failed_with("--drop normalizer")
    done = run("convert", tmp_path / "a.json", tmp_path / "a.gguf", "--drop", "normalizer")
    assert done.status == 0
    assert "a.gguf: 257 tokens as gguf without the normalizer; " in done.err
    assert "texts get other ids, such as 'e\u0301': [101, 204, 129] instead of [256]" in done.err
    assert fastbpe.load(tmp_path / "a.gguf").encode("\u00e9") == [256]
    unchecked = run(
        "convert", tmp_path / "a.json", tmp_path / "a.gguf", "--drop", "normalizer", "--no-verify", "--force"
    )
    assert "ids were not compared" in unchecked.err
