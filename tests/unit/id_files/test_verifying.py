"""verify_ids names every file that does not fit; verify_conversion finds every changed id."""

from __future__ import annotations

import re
import sys
from array import array
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer
from fastbpe._utils import progress
from fastbpe.id_files.verifying import verify_ids
from fastbpe.known_vocabularies import VOCABULARIES
from fastbpe.tokenizer.export.verify_vocabulary import verify_conversion, verify_vocabulary
from helpers.shared_data import BYTES, standard_library

WORDS = standard_library(5000).split("\n\n")


@pytest.fixture
def shards(code_tokenizer: Tokenizer, tmp_path: Path) -> Path:
    folder = tmp_path / "ids"
    folder.mkdir()
    for i in range(4):
        fastbpe.write_shard(code_tokenizer, WORDS[i::4], folder / "out.bin", (i, 4))
    return folder


def shard(folder: Path, i: int, ending: str = "") -> Path:
    return folder / f"out-0000{i}-of-00004.bin{ending}"


def test_whole_files_have_no_problem(code_tokenizer: Tokenizer, shards: Path, tmp_path: Path) -> None:
    n_ids = sum(len(code_tokenizer.encode_ordinary(text)) for text in WORDS)
    for path in (shards, shards / "out.bin"):
        assert verify_ids(path, tokenizer=code_tokenizer) == ((), 4, len(WORDS), n_ids)
    for suffix in (".bin", ".npy"):
        fastbpe.merge_shards(shards, tmp_path / f"all{suffix}")
        assert verify_ids(tmp_path / f"all{suffix}") == ((), 1, len(WORDS), n_ids)
    with mock.patch("importlib.util.find_spec", return_value=None):
        assert verify_ids(shards) == ((), 4, len(WORDS), n_ids)
    (tmp_path / "raw.bin").write_bytes(b"ab")
    assert verify_ids(tmp_path / "raw.bin", dtype="uint8") == ((), 1, 1, 2)


@pytest.mark.parametrize("suffix", [".bin", ".npy", ".parquet", ".arrow", ".idx"])
def test_progress_ends_at_the_size_of_all_files(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(progress, "_CALL_INTERVAL", 0)
    for i in range(2):
        fastbpe.write_shard(code_tokenizer, WORDS, tmp_path / f"out{suffix}", (i, 2))
    told: list[Any] = []
    assert not verify_ids(tmp_path / f"out{suffix}", progress=lambda *said: told.append(said)).problems
    size = sum(path.stat().st_size for path in tmp_path.glob(f"*{'.bin' if suffix == '.idx' else suffix}"))
    done = [n_done for _, n_done, _ in told]
    assert (done, done[-1], {total for *_, total in told}) == (sorted(done), size, {size})


def test_every_problem_of_a_folder_is_named(code_tokenizer: Tokenizer, shards: Path) -> None:
    shard(shards, 0, ".manifest.json").unlink()
    for path in shards.glob("out-00001*"):
        path.unlink()
    data = bytearray(shard(shards, 2).read_bytes())
    data[0] ^= 1
    shard(shards, 2).write_bytes(data)
    fastbpe.write_shard(Tokenizer.from_merges([], pattern=None), ["a"], shards / "out.bin", (3, 4))
    problems = verify_ids(shards, tokenizer=code_tokenizer).problems
    assert len(problems) == 4
    for i, (path, said) in enumerate(
        (
            (shard(shards, 1), "missing: encode shard 1 of 4"),
            (shard(shards, 0, ".manifest.json"), "the shard is not finished"),
            (shard(shards, 2), "this file was changed or damaged: its SHA-256 is"),
            (shard(shards, 3), "its ids were made by another tokenizer"),
        )
    ):
        assert problems[i].startswith(f"{path}: {said}"), problems[i]
    for ending in (".bin.partial", ".idx.partial"):
        shard(shards, 1).with_suffix(ending).mkdir()
        assert verify_ids(shards).problems[0].endswith("unfinished: encode shard 1 of 4")
        shard(shards, 1).with_suffix(ending).rmdir()


def test_shard_whose_dtype_no_file_states_is_a_problem_among_others(shards: Path) -> None:
    shard(shards, 1, ".json").unlink()
    shard(shards, 2).write_bytes(b"")
    problems = verify_ids(shards).problems
    assert [problem.split(": ")[0] for problem in problems] == [
        str(shard(shards, 1)),
        str(shard(shards, 2, ".json")),
    ]
    assert "which states the dtype of the ids" in problems[0]
    shard(shards, 1, ".manifest.json").unlink()
    assert verify_ids(shards).problems == problems
    with pytest.raises(ValueError, match="choose one of"):
        verify_ids(shards, dtype="uint3")  # type: ignore[arg-type]


def test_mixed_tokenizers_are_a_problem_without_a_tokenizer_too(shards: Path) -> None:
    fastbpe.write_shard(Tokenizer.from_merges([], pattern=None), ["a"], shards / "out.bin", (3, 4))
    (problem,) = verify_ids(shards).problems
    assert problem.startswith(f"{shard(shards, 3)}: its tokenizer is ")


@pytest.mark.parametrize("with_numpy", [True, False])
@pytest.mark.parametrize("suffix", [".bin", ".npy"])
def test_id_beyond_the_vocabulary_and_falling_offsets_are_named(
    code_tokenizer: Tokenizer, tmp_path: Path, with_numpy: bool, suffix: str
) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree four")
    out = tmp_path / f"out{suffix}"
    n_ids = code_tokenizer.encode_files(tmp_path / "a.txt", out, separator="\n").n_ids
    data, offsets = bytearray(out.read_bytes()), array("q", Path(f"{out}.offsets").read_bytes())
    at = len(data) - 2 * (n_ids - 1)
    data[at : at + 2] = (60000).to_bytes(2, "little")
    out.write_bytes(data)
    find = mock.patch("importlib.util.find_spec", return_value=sys if with_numpy else None)
    with find:
        (problem,) = verify_ids(out).problems
    assert (
        problem == f"{out}: the id at position 1 is 60000, but the vocabulary has {code_tokenizer.n_vocab} ids; "
        "encode the documents again with overwrite=True"
    )
    offsets[1], offsets[2] = offsets[2], offsets[1]
    Path(f"{out}.offsets").write_bytes(offsets)
    (problem,) = verify_ids(out).problems
    assert problem.startswith(f"{out}.offsets: ")
    assert f"{offsets[2]} comes after {offsets[1]}" in problem


@pytest.mark.daily
@pytest.mark.parametrize("with_numpy", [True, False])
def test_ids_that_the_given_model_does_not_have_are_named_without_a_sidecar(
    tmp_path: Path, with_numpy: bool
) -> None:
    numpy = pytest.importorskip("numpy")
    tokenizer = Tokenizer.from_ranks(BYTES, pattern=None, special_tokens={"<a>": 300, "<b>": 40_000})
    find = mock.patch("importlib.util.find_spec", return_value=sys if with_numpy else None)
    for ids, dtype, place, said in (
        ([5, 60000], "uint16", 1, "60000, but the vocabulary has 40001 ids"),
        ([5, -7], "int64", 1, "-7, but ids are at least 0"),
        ([5, 300, 255, 256], "uint32", 3, "256, which has no token in the vocabulary"),
        ([-128, 5], "int8", 0, "-128, but ids are at least 0"),
        ([1] * 3_000_000 + [39_999], "uint16", 3_000_000, "39999, which has no token in the vocabulary"),
        ([2**63], "uint64", 0, f"{2**63}, but the vocabulary has 40001 ids"),
    ):
        array = numpy.array(ids, dtype=dtype)
        numpy.save(tmp_path / "a.npy", array)
        (tmp_path / "a.bin").write_bytes(array.tobytes())
        for name in ("a.npy", "a.bin"):
            with find:
                (problem,) = verify_ids(tmp_path / name, tokenizer=tokenizer, dtype=dtype).problems
            assert problem.startswith(
                f"{tmp_path / name}: the id at position {place} is {said}; these ids are of another vocab"
            )
    numpy.save(tmp_path / "a.npy", numpy.array([5, 300, 40_000]))
    with find:
        assert verify_ids(tmp_path / "a.npy", tokenizer=tokenizer) == ((), 1, 1, 3)
        numpy.save(tmp_path / "a.npy", numpy.array([5, -100]))
        (problem,) = verify_ids(tmp_path / "a.npy").problems  # no vocabulary has it
    assert "the id at position 1 is -100, but ids are at least 0" in problem


@pytest.mark.parametrize("with_numpy", [True, False])
def test_id_without_token_is_named_in_each_shard(tmp_path: Path, with_numpy: bool) -> None:
    tokenizer = Tokenizer.from_ranks(BYTES, pattern=None, special_tokens={"<a>": 300})
    for i in range(3):
        (tmp_path / f"a-0000{i}-of-00003.bin").write_bytes(array("H", [300, 280] if i else [300]).tobytes())
    with mock.patch("importlib.util.find_spec", return_value=sys if with_numpy else None):
        result = verify_ids(tmp_path, tokenizer=tokenizer, dtype="uint16")
    for i, problem in enumerate(result.problems, 1):
        assert problem.startswith(
            f"{tmp_path / f'a-0000{i}-of-00003.bin'}: the id at position 1 is 280, which has no"
        )
    assert (len(result.problems), result.n_files) == (2, 1)


def test_only_the_ids_of_a_file_are_looked_up(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_ranks(BYTES, pattern=None, special_tokens={"<a>": (1 << 24) - 1})
    (tmp_path / "a.bin").write_bytes(array("I", [5, 7, 5] * 100_000 + [(1 << 24) - 1, 7]).tobytes())
    found: list[int] = []

    class Counted:
        n_vocab, vocab_size, fingerprint = tokenizer.n_vocab, tokenizer.vocab_size, tokenizer.fingerprint

        def id_to_token(self, token_id: int, /) -> bytes | str:
            found.append(token_id)
            return tokenizer.id_to_token(token_id)

    assert verify_ids(tmp_path / "a.bin", tokenizer=Counted(), dtype="uint32") == ((), 1, 1, 300_002)
    assert sorted(found) == [5, 7, (1 << 24) - 1]


def test_ids_beyond_the_vocabulary_are_not_merged(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two")
    code_tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "a.bin", progress=False)
    data = bytearray((tmp_path / "a.bin").read_bytes())
    data[-2:] = b"\xff\xff"
    (tmp_path / "a.bin").write_bytes(data)
    with pytest.raises(
        FormatError,
        match=rf"a\.bin: the id at position \d is 65535, but the vocabulary has {code_tokenizer.n_vocab}",
    ):
        fastbpe.merge_shards(tmp_path / "a.bin", tmp_path / "b.npy", progress=False)
    assert not [*tmp_path.glob("b.npy*")]


@pytest.mark.parametrize("suffix", [".idx", ".parquet", ".arrow"])
def test_every_format_of_an_output_is_verified(code_tokenizer: Tokenizer, tmp_path: Path, suffix: str) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n\nthree four")
    out = tmp_path / f"out{suffix}"
    n_ids = code_tokenizer.encode_files(tmp_path / "a.txt", out, separator="\n", progress=False).n_ids
    assert verify_ids(out, tokenizer=code_tokenizer) == ((), 1, 4, n_ids)
    (problem,) = verify_ids(out, tokenizer=Tokenizer.from_merges([], pattern=None)).problems
    assert "its ids were made by another tokenizer" in problem
    for i in range(2):
        code_tokenizer.encode_files(tmp_path / "a.txt", out, separator="\n", shard=(i, 2), progress=False)
    out.unlink()
    for path in tmp_path.glob("out.bin*"):
        path.unlink()
    assert verify_ids(out, tokenizer=code_tokenizer) == ((), 2, 4, n_ids)


def test_table_beside_a_file_of_ids_is_not_another_set(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": ["one", ""]}), tmp_path / "texts.parquet")
    code_tokenizer.encode_files(tmp_path / "texts.parquet", tmp_path / "ids.bin", progress=False)
    assert verify_ids(tmp_path, tokenizer=code_tokenizer).problems == ()
    assert verify_ids(tmp_path, tokenizer=code_tokenizer).n_files == 1


def test_table_of_empty_documents_is_verified(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    code_tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "out.parquet", progress=False)
    assert verify_ids(tmp_path / "out.parquet", tokenizer=code_tokenizer) == ((), 1, 1, 0)


def test_inputs_that_are_not_those_encoded_are_named(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    corpus, ids = tmp_path / "corpus", tmp_path / "ids"
    (corpus / "more").mkdir(parents=True)
    ids.mkdir()
    files = [corpus / "a.txt", corpus / "b.txt", corpus / "more" / "c.txt"]
    for file in files:
        file.write_text(f"the text of {file.name}")
    for i in range(2):
        code_tokenizer.encode_files(corpus, ids / "out.bin", shard=(i, 2), progress=False)
    corpus = corpus.rename(tmp_path / "moved")
    assert verify_ids(ids, inputs=corpus).problems == ()
    good = (corpus / "a.txt").read_bytes()
    for wrong, said in (
        (
            b"x" + good[1:],
            r"a.txt: its SHA-256 is [0-9a-f]{16}…, but [0-9a-f]{16}… in out-00000-of-00002\.bin\.man",
        ),
        (
            good[1:],
            rf"a.txt: {len(good) - 1} bytes, but {len(good)} in out-00000-of-00002\.bin\.manifest\.json: it was",
        ),
        (None, r"a.txt: no such file, but out-00000-of-00002\.bin\.manifest\.json names it"),
    ):
        (corpus / "a.txt").unlink()
        if wrong is not None:
            (corpus / "a.txt").write_bytes(wrong)
        assert verify_ids(ids).problems == ()
        (problem,) = verify_ids(ids, inputs=corpus).problems
        assert re.match(re.escape(f"{corpus}/") + said, problem), problem
    (corpus / "a.txt").write_bytes(good)
    (corpus / "more" / "c.txt").write_text("another")
    (problem,) = verify_ids(ids, inputs=corpus).problems
    assert problem.startswith(f"{corpus / 'more' / 'c.txt'}: 7 bytes")


def test_inputs_of_shards_without_files_are_a_problem(shards: Path, tmp_path: Path) -> None:
    problems = verify_ids(shards, inputs=tmp_path).problems
    assert len(problems) == 4
    assert problems[0].startswith(f"{shard(shards, 0)}: no manifest next to it names input files")


def test_path_without_ids_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        verify_ids(tmp_path / "no.bin")
    with pytest.raises(FormatError, match="not a file of ids"):
        verify_ids(tmp_path / "a.txt")


# Vocabularies


RANKS = {**BYTES, b"ab": 256, b"abc": 257, b"bc": 258, b"a1": 259}


@pytest.mark.daily
def test_conversion_with_equal_ids_is_verified(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    for name, arguments in (("a.json", {}), ("a.fbpe", {}), ("a.tiktoken", {"pattern": code_tokenizer.pattern})):
        code_tokenizer.export(tmp_path / name)
        if arguments:
            arguments["special_tokens"] = code_tokenizer.special_tokens
        again = fastbpe.load(tmp_path / name, **arguments)
        assert verify_conversion(code_tokenizer, again, name, ["one line\n"]) > 1000
        assert verify_vocabulary(again, tmp_path / name) == ""


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            Tokenizer.from_ranks({**RANKS, b"bc": 256, b"ab": 258}, pattern=None),
            "x: differs from the original: the token 256 is b'ab', but b'bc' in this file",
        ),
        (Tokenizer.from_ranks(RANKS, pattern="gpt2"), "x: differs from the original: the text '[^']*' is "),
        (
            Tokenizer.from_ranks({**RANKS, b"zz": 260}, pattern=None),
            "x: differs from the original: there are 260 ids, but 261 in this file; convert the original again",
        ),
        (
            Tokenizer.from_ranks(RANKS, pattern=None, special_tokens={"<s>": 260}),
            r"x: differs .*: '<s>' \(260\) is not a special token, but is one in this file",
        ),
    ],
)
def test_conversion_with_another_id_names_text_or_token(other: Tokenizer, message: str) -> None:
    one = Tokenizer.from_ranks({**RANKS}, pattern=None)
    with pytest.raises(FormatError, match=message):
        verify_conversion(one, other, "x")


def test_verify_conversion_compares_each_line_of_a_text() -> None:
    one, other = (
        Tokenizer.from_ranks(RANKS, pattern=pattern) for pattern in (r"[\s\S]+", r"a(?=b{9})|[\s\S]+?(?=ab{9}|$)")
    )
    assert verify_conversion(one, other, "x", ["abc ab"]) > 100
    with pytest.raises(FormatError, match="x: differs from the original: the text ' abbbbbbbbb' is"):
        verify_conversion(one, other, "x", ["abc ab", " abbbbbbbbb"])


def test_published_name_with_other_bytes_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cl100k_base.tiktoken"
    Tokenizer.from_ranks(RANKS, pattern="cl100k").export(path)
    tokenizer = fastbpe.load(path, pattern="cl100k")
    with pytest.raises(FormatError, match=r"cl100k_base\.tiktoken: not cl100k_base\.tiktoken as published"):
        verify_vocabulary(tokenizer, path)


def test_published_file_with_the_name_of_another_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_r50k = VOCABULARIES["r50k_base"]
    monkeypatch.setattr("fastbpe.tokenizer.export.verify_vocabulary.recognise", lambda data: of_r50k)
    tokenizer = Tokenizer.from_ranks(RANKS, pattern="cl100k")
    for name in ("cl100k_base.tiktoken", "r50k_base.tiktoken", "mine.tiktoken"):
        tokenizer.export(tmp_path / name)
    with pytest.raises(FormatError, match=r"cl100k_base\.tiktoken: not cl100k_base\.tiktoken as published"):
        verify_vocabulary(tokenizer, tmp_path / "cl100k_base.tiktoken")
    assert verify_vocabulary(tokenizer, tmp_path / "r50k_base.tiktoken") == "r50k_base"
    assert verify_vocabulary(tokenizer, tmp_path / "mine.tiktoken") == "r50k_base"
