"""fastbpe verify: a line for each path, a line on stderr for each problem, and the exit status."""

from __future__ import annotations

import json

import pytest

import fastbpe
from helpers.shared_data import BYTES


def test_files_of_ids_and_vocabularies_are_told_apart(run, model, text, tmp_path):
    for i in range(2):
        assert run("encode", "-m", model, text, text, "-o", tmp_path / "a.bin", "--shard", f"{i}/2").status == 0
    run("merge", tmp_path, "-o", tmp_path / "all.npy")
    ids = tmp_path / "all.npy"
    n = fastbpe.open_ids(ids).n_ids
    done = run("verify", tmp_path / "a.bin", ids, "-m", model)
    said = f"{tmp_path / 'a.bin'}: 2 files, {n:,} ids of 2 documents\n{ids}: 1 file, {n:,} ids of 2 documents\n"
    assert (done.status, done.out.decode(), done.err) == (0, said, "")
    done = run("verify", model)
    assert (done.status, done.out.decode()) == (0, f"{model}: a vocabulary of 280 ids\n")


def test_problems_are_named_and_the_rest_is_verified(run, model, ranks, text, tmp_path):
    for name in ("a.bin", "b.bin"):
        run("encode", "-m", model, text, "-o", tmp_path / name)
    (tmp_path / "a.bin").write_bytes(b"\0\0")
    done = run("verify", tmp_path / "a.bin", tmp_path / "b.bin", tmp_path / "no.bin")
    assert done.status == 1
    assert done.out.decode().startswith(f"{tmp_path / 'b.bin'}: 1 file")
    first, second = done.err.splitlines()
    assert first.startswith(f"fastbpe: error: {tmp_path / 'a.bin'}.json: it says ")
    assert second == f"fastbpe: error: {tmp_path / 'no.bin'}: No such file or directory"
    done = run("verify", tmp_path / "b.bin", "-m", ranks, "--pattern", "none")
    assert done.failed_with(f"{tmp_path / 'b.bin'}: its ids were made by another tokenizer")


def test_advice_names_the_option_of_the_shell(run, model, text, tmp_path):
    run("encode", "-m", model, text, "-o", tmp_path / "a.bin")
    (tmp_path / "a.bin.json").write_text("{")
    done = run("verify", tmp_path / "a.bin")
    assert done.failed_with("a.bin.json: not JSON", "encode the documents again with --force")
    assert "overwrite=True" not in done.err


def test_conversion_is_compared_with_its_original(run, model, ranks, text, tmp_path):
    for name in ("a.json", "a.tiktoken", "gpt2/"):
        assert run("convert", model, f"{tmp_path}/{name}").status == 0
        done = run("verify", f"{tmp_path}/{name}", "-m", model, "--text", text)
        assert done.out.decode().endswith(f"texts have the ids of {model}\n"), done
        assert (done.status, done.err) == (0, "")
    fastbpe.Tokenizer.from_ranks(BYTES, pattern=None).save(tmp_path / "other.fbpe")
    done = run("verify", tmp_path / "other.fbpe", "-m", model)
    assert done.failed_with(f"{tmp_path / 'other.fbpe'}: differs from the original: ")
    (tmp_path / "bad.txt").write_bytes(b"a\n\xff")
    done = run("verify", model, "-m", model, "--text", tmp_path / "bad.txt")
    assert done.failed_with("bad.txt:2: not UTF-8: invalid byte 0xff at offset 2", "--text needs a file of UTF-8")
    done = run("verify", model, "--text", text)
    assert done.status == 2
    assert "--text needs -m MODEL" in done.err


@pytest.mark.parametrize(("flag", "value"), [("--inputs", "."), ("--dtype", "uint16")])
def test_flags_of_id_files_are_refused_for_vocabularies(run, model, text, tmp_path, flag, value):
    done = run("verify", model, flag, value)
    assert (done.status, done.out) == (2, b"")
    assert f"{flag} is only for files of ids" in done.err
    run("encode", "-m", model, text, "-o", tmp_path / "a.bin")
    assert run("verify", tmp_path / "a.bin", model, "--dtype", "uint16").status == 0  # one PATH has ids


def test_text_is_refused_for_files_of_ids(run, model, text, tmp_path):
    run("encode", "-m", model, text, "-o", tmp_path / "a.bin")
    done = run("verify", tmp_path / "a.bin", "-m", model, "--text", text)
    assert (done.status, done.out) == (2, b"")
    assert "--text is only for vocabularies" in done.err
    assert run("verify", tmp_path / "a.bin", model, "-m", model, "--text", text).status == 0  # one PATH is one


def test_json_has_facts_and_problems_of_every_path(run, model, text, tmp_path):
    run("encode", "-m", model, text, "-o", tmp_path / "a.bin")
    (tmp_path / "bad.fbpe").write_bytes(b"nothing")
    done = run("verify", tmp_path / "a.bin", model, tmp_path / "bad.fbpe", "--json")
    assert (done.status, done.err) == (1, "")
    ids, vocabulary, bad = json.loads(done.out)
    n_ids = fastbpe.open_ids(tmp_path / "a.bin").n_ids
    assert ids == {
        "path": str(tmp_path / "a.bin"),
        "problems": [],
        "n_files": 1,
        "n_documents": 1,
        "n_ids": n_ids,
    }
    assert vocabulary == {"path": str(model), "problems": [], "n_vocab": 280, "published_as": None}
    assert str(tmp_path / "bad.fbpe") in bad["problems"][0]
    done = run("verify", model, "-m", model, "--text", text, "--json")
    assert json.loads(done.out)[0]["n_texts"] > 200


@pytest.mark.parametrize(("command", "phase"), [("verify", "verifying"), ("decode", "decoding")])
def test_reading_all_ids_shows_its_progress(command, phase, run, model, text, tmp_path, monkeypatch):
    run("encode", "-m", model, text, "-o", tmp_path / "a.bin")
    monkeypatch.setattr("fastbpe._utils.progress.shows_bars", lambda progress: progress is not False)
    done = run(command, tmp_path / "a.bin", "-m", model)
    assert done.status == 0
    assert f"{phase}: 100%" in done.err


def test_ids_that_the_model_does_not_have_fail(run, model, tmp_path):
    (tmp_path / "a.bin").write_bytes((5).to_bytes(2, "little") + (60000).to_bytes(2, "little"))
    done = run("verify", tmp_path / "a.bin", "-m", model, "--dtype", "uint16")
    assert done.failed_with(
        f"{tmp_path / 'a.bin'}: the id at position 1 is 60000, but the vocabulary has 280 ids; these ids are of"
    )
    (tmp_path / "a.bin").write_bytes((5).to_bytes(2, "little") + (-7).to_bytes(2, "little", signed=True))
    done = run("verify", tmp_path / "a.bin", "-m", model, "--dtype", "int16")
    assert done.failed_with(f"{tmp_path / 'a.bin'}: the id at position 1 is -7, but ids are at least 0")
    done = run("decode", tmp_path / "a.bin", "-m", model, "--dtype", "int16")
    assert done.failed_with("document 0: ", "-7")


@pytest.mark.parametrize("suffix", [".idx", ".parquet", ".arrow", ".npy", ".bin"])
def test_every_output_is_verified_merged_and_decoded(run, model, text, tmp_path, suffix):
    out = tmp_path / f"a{suffix}"
    assert run("encode", "-m", model, text, "--lines", "-o", out).status == 0
    done = run("verify", out, "-m", model)
    assert (done.status, done.err) == (0, "")
    assert run("merge", out, "-o", tmp_path / "b.bin", "--header", "llm.c").status == 0
    assert run("verify", tmp_path / "b.bin", "-m", model).out.split(b":")[1:] == done.out.split(b":")[1:]
    assert run("decode", tmp_path / "b.bin", "-m", model, "--lines").out == text.read_bytes()
    if suffix in (".parquet", ".arrow"):
        done = run("decode", out, "-m", model)
        assert done.failed_with(
            f"{out}: this format cannot be mapped into memory; convert it to .bin: fastbpe merge {out.name} -o "
            "NEW.bin"
        )
