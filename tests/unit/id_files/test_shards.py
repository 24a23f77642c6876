"""Shards: merged, they are the bytes of a single run; every kind of damage is named; runs can be repeated."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import random
import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer, merge_shards, open_ids
from fastbpe._utils import progress
from fastbpe.corpus import file_encoding as whole
from fastbpe.corpus.remote import as_path
from fastbpe.id_files import manifests, shards
from fastbpe.id_files.parts import shard_path
from fastbpe.id_files.shards import rename_shard
from helpers.child_processes import run_python
from helpers.killed_runs import RUN_KILLED
from helpers.shared_data import standard_library

WORDS = standard_library(20_000).split("\n\n")


@pytest.fixture(scope="module")
def codepoint_tokenizer() -> Tokenizer:
    options: dict[str, Any] = {"byte_fallback": True, "control_symbols": ["<|endoftext|>"], "progress": False}
    tokenizer = fastbpe.train(WORDS, mode="codepoint", vocab_size=400, character_coverage=1.0, **options)
    assert tokenizer.mode == "codepoint"
    return tokenizer


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder of files of several sizes and kinds, one of them empty."""
    folder = tmp_path / "corpus"
    (folder / "more").mkdir(parents=True)
    rng = random.Random(7)
    for i in range(7):
        texts = rng.sample(WORDS, rng.randrange(len(WORDS) // 2))
        (folder / f"{i}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (folder / "more" / "a.txt").write_text("one\ntwo 👍\n\nfour", encoding="utf-8")
    (folder / "more" / "z.txt").touch()
    return folder


def files_of(out: Path) -> dict[str, bytes]:
    """Return the bytes of an output and of its neighbours."""
    names = (out.name, f"{out.name}.json", f"{out.name}.offsets")
    return {name: out.with_name(name).read_bytes() for name in names if out.with_name(name).exists()}


@pytest.mark.daily
@pytest.mark.parametrize("n", [1, 2, 3, 5, 9, 40])
@pytest.mark.parametrize("kind", ["code_tokenizer", "codepoint_tokenizer"])
def test_merged_shards_are_the_bytes_of_a_single_run(
    kind: str, n: int, corpus: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    tokenizer: Tokenizer = request.getfixturevalue(kind)
    options: dict[str, Any] = {"document_end": "<|endoftext|>", "progress": False}
    for folder in ("single", "parts", "merged"):
        (tmp_path / folder).mkdir()
    for suffix in (".bin", ".npy"):
        single, merged = (tmp_path / folder / f"out{suffix}" for folder in ("single", "merged"))
        tokenizer.encode_files(corpus, single, **options)
        order = [*range(n)]
        random.Random(n).shuffle(order)
        for i in order:
            tokenizer.encode_files(corpus, tmp_path / "parts" / f"out{suffix}", shard=(i, n), **options)
        summary = merge_shards(tmp_path / "parts" / f"out{suffix}", merged)
        assert files_of(merged) == files_of(single)
        one, parts = open_ids(single), open_ids(tmp_path / "parts" / f"out{suffix}", tokenizer=tokenizer)
        assert [document.tolist() for document in parts] == [document.tolist() for document in one]
        assert (parts.n_ids, len(parts.paths), summary.n_documents) == (one.n_ids, n, len(one))
        assert parts.ids(3, one.n_ids - 3).tolist() == one.ids(3, one.n_ids - 3).tolist()
        windows = [[w.tolist() for w in stored.random_windows(20, 50, seed="s")] for stored in (one, parts)]
        assert windows[0] == windows[1]
    merge_shards(tmp_path / "parts" / "out.npy", tmp_path / "merged" / "other.bin")
    assert (tmp_path / "merged" / "other.bin").read_bytes() == (tmp_path / "single" / "out.bin").read_bytes()


def test_shard_files_are_a_contiguous_partition_of_about_equal_size(tmp_path: Path) -> None:
    rng = random.Random(3)
    for n in (1, 2, 3, 7, 30):
        paths = []
        for i in range(rng.randrange(1, 20)):
            paths.append(tmp_path / f"{i}.txt")
            paths[-1].write_bytes(bytes(rng.choice((0, 0, 1, 50, 100))))
        found = [shards.plan(paths, (i, n)) for i in range(n)]
        assert [share.path for mine, _ in found for share in mine] == paths
        assert len({digest for _, digest in found}) == 1
        total = sum(path.stat().st_size for path in paths)
        for mine, _ in found:
            assert sum(share.path.stat().st_size for share in mine) <= total / n + 100
    assert shards.plan(paths, (0, 2))[1] != shards.plan(paths[1:] or paths * 2, (0, 2))[1]


def test_plan_does_not_depend_on_the_place_of_the_corpus(
    corpus: Path, tmp_path: Path, code_tokenizer: Any
) -> None:
    shutil.copytree(corpus, tmp_path / "elsewhere")
    (tmp_path / "ids").mkdir()
    for i, folder in enumerate((corpus, tmp_path / "elsewhere")):
        code_tokenizer.encode_files(folder, tmp_path / "ids" / "out.bin", shard=(i, 2))
    code_tokenizer.encode_files(corpus, tmp_path / "out.bin")
    assert open_ids(tmp_path / "ids").ids().tolist() == open_ids(tmp_path / "out.bin").ids().tolist()


def test_manifest_says_what_the_shard_was_made_of(code_tokenizer: Tokenizer, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "ids").mkdir()
    summary = code_tokenizer.encode_files(corpus, tmp_path / "ids" / "out.bin", shard=(1, 3), dtype="uint32")
    assert summary.path == tmp_path / "ids" / "out-00001-of-00003.bin"
    names = {path.name for path in summary.path.parent.iterdir()}
    assert names == {f"{summary.path.name}{end}" for end in ("", ".json", ".offsets", ".manifest.json")}
    manifest = json.loads(Path(f"{summary.path}.manifest.json").read_bytes())
    assert manifest["tokenizer"] == {"fingerprint": code_tokenizer.fingerprint, "n_vocab": code_tokenizer.n_vocab}
    assert [manifest[name] for name in ("shard", "shards", "dtype")] == [1, 3, "uint32"]
    counts = (manifest["documents"], manifest["ids"], manifest["text_bytes"])
    assert counts == (summary.n_documents, summary.n_ids, summary.n_bytes)
    for name, folder in (("inputs", corpus), ("outputs", summary.path.parent)):
        assert manifest[name]
        for described in manifest[name]:
            data = (folder / described["path"]).read_bytes()
            part = described.pop("part", {"start": 0, "end": len(data), "unit": "bytes"})  # of a divided file
            hashed = hashlib.sha256(data[part["start"] : part["end"]]).hexdigest()
            assert described == {"path": described["path"], "size": len(data), "sha256": hashed}
            assert part["unit"] == "bytes"


def test_finished_shard_is_not_encoded_again(code_tokenizer: Tokenizer, corpus: Path, tmp_path: Path) -> None:
    first = code_tokenizer.encode_files(corpus, tmp_path / "out.bin", shard=(0, 2))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    with mock.patch.object(whole, "read", side_effect=AssertionError):
        again = code_tokenizer.encode_files(corpus, tmp_path / "out.bin", shard=(0, 2))
    assert [*vars(again).values()][:4] == [*vars(first).values()][:4]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    code_tokenizer.encode_files(corpus, tmp_path / "out.bin", shard=(0, 2), overwrite=True)
    assert (tmp_path / "out-00000-of-00002.bin").stat().st_mtime_ns > before[first.path]
    for changed, name in (
        ({"dtype": "uint32"}, "dtype"),
        ({"document_end": "<|endoftext|>"}, "document_end"),
        ({"separator": "\n"}, "separator"),
        ({"inputs": corpus / "0.jsonl"}, "inputs, in name or size"),
    ):
        arguments: dict[str, Any] = {"inputs": corpus, **changed}
        with pytest.raises(FileExistsError, match=rf"made with other settings \({name}\); to replace it"):
            code_tokenizer.encode_files(out=tmp_path / "out.bin", shard=(0, 2), **arguments)
    with pytest.raises(FileExistsError, match=r"other settings \(tokenizer\)"):
        Tokenizer.from_merges([], pattern=None).encode_files(corpus, tmp_path / "out.bin", shard=(0, 2))
    Path(f"{first.path}.offsets").unlink()
    with pytest.raises(FileExistsError, match=r"\.offsets: missing, or its size is not the \d+ bytes in"):
        code_tokenizer.encode_files(corpus, tmp_path / "out.bin", shard=(0, 2))


def test_input_that_changes_during_the_run_is_named(
    code_tokenizer: Tokenizer, corpus: Path, tmp_path: Path
) -> None:
    sha256_of = manifests.sha256_of
    with (
        mock.patch.object(whole, "read", side_effect=lambda path, **_: os.utime(path) or iter(())),
        pytest.raises(ValueError, match=r"0\.jsonl: changed while it was encoded; .*overwrite=True"),
    ):
        code_tokenizer.encode_files(corpus, tmp_path / "out.bin", shard=(0, 1))
    assert not (tmp_path / "out-00000-of-00001.bin.manifest.json").exists()
    summary = code_tokenizer.encode_files(corpus, tmp_path / "out.bin", shard=(0, 1), overwrite=True)
    code_tokenizer.encode_files(corpus, tmp_path / "single.bin")
    assert sha256_of(summary.path) == sha256_of(tmp_path / "single.bin")


@pytest.mark.parametrize("shard", [5, (1,), (0, 1, 2), "0/2", (0.0, 2), (True, 2), None])
def test_wrong_type_of_shard_raises_type_error(code_tokenizer: Tokenizer, tmp_path: Path, shard: Any) -> None:
    with pytest.raises(TypeError, match=r"must be \(number of the shard, number of shards\)"):
        fastbpe.write_shard(code_tokenizer, ["a"], tmp_path / "out.bin", shard)
    assert [*tmp_path.iterdir()] == []


def test_wrong_arguments_are_refused_before_anything_is_written(code_tokenizer: Tokenizer, corpus: Path) -> None:
    for shard in ((2, 2), (-1, 2), (0, 0)):
        with pytest.raises(ValueError, match=r"there is no such shard; (shards of|there must)"):
            code_tokenizer.encode_files(corpus, corpus / "out.bin", shard=shard)
    (corpus / "out-00001-of-00002.parquet").touch()
    with pytest.raises(ValueError, match="is both a shard of the output and an input"):
        code_tokenizer.encode_files(corpus, corpus / "out.parquet", shard=(0, 2))
    with pytest.raises(ValueError, match=r"out\.txt: ids are written to \.bin"):
        fastbpe.write_shard(code_tokenizer, ["a"], corpus / "out.txt", (0, 1))
    with pytest.raises(ValueError, match=r"out\.txt: ids are written to \.bin"):
        code_tokenizer.encode_files(corpus, corpus / "out.txt", shard=(0, 2))
    with pytest.raises(TypeError, match=r"document 1 \(counted from 0\) is NoneType, .* pass on_error="):
        fastbpe.write_shard(code_tokenizer, ["a", None], corpus / "out.bin", (0, 1))  # type: ignore[list-item]
    large = code_tokenizer.with_special_tokens({"<large>": 65536})
    with pytest.raises(ValueError, match="is too small for the id 65536"):
        fastbpe.write_shard(large, ["a"], corpus / "out.bin", (0, 1), dtype="uint16")
    assert not [*corpus.glob("*.bin*")]
    assert not [*corpus.glob(".*")]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.parquet"])
def test_progress_of_a_part_of_a_file_is_in_bytes_of_the_stored_file(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(progress, "_CALL_INTERVAL", 0)
    lines = "".join(json.dumps({"text": text}) + "\n" for text in WORDS).encode()
    path, n = tmp_path / name, 3
    if path.suffix == ".parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table({"text": WORDS}), path, row_group_size=10)
    else:
        path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)
    totals = 0
    for i in range(n):
        told: list[Any] = []
        code_tokenizer.encode_files(
            path, tmp_path / "out.bin", shard=(i, n), progress=lambda *said, told=told: told.append(said)
        )
        done = [n_done for _, n_done, _ in told]
        assert (done, {total for *_, total in told}) == (sorted(done), {done[-1]})
        totals += done[-1]
    assert 0 <= path.stat().st_size - totals <= n  # each part is rounded down


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".idx", ".npy"])
def test_shards_of_every_format_have_a_manifest_and_are_not_repeated(
    code_tokenizer: Tokenizer, corpus: Path, tmp_path: Path, suffix: str
) -> None:
    (tmp_path / "ids").mkdir()
    for n_times in range(2):
        with mock.patch.object(whole, "read", side_effect=AssertionError) if n_times else contextlib.nullcontext():
            for i in range(3):
                code_tokenizer.encode_files(corpus, tmp_path / "ids" / f"out{suffix}", shard=(i, 3))
    (place,) = (tmp_path / "ids").glob("out-00001*.manifest.json")
    outputs = {output["path"] for output in json.loads(place.read_bytes())["outputs"]}
    names = {path.name for path in place.parent.glob("out-00001*") if path != place}
    assert outputs == names
    if suffix in (".idx", ".npy"):  # single run and merged shards in the same format, and in another
        (tmp_path / "merged").mkdir()
        code_tokenizer.encode_files(corpus, tmp_path / f"out{suffix}")
        for ending in (suffix, ".arrow", ".parquet"):
            merge_shards(tmp_path / "ids", tmp_path / "merged" / f"out{ending}")
            code_tokenizer.encode_files(corpus, tmp_path / f"out{ending}", overwrite=True)
        for path in (tmp_path / "merged").iterdir():
            assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


# write_shard


@pytest.mark.parametrize("suffix", [".bin", ".npy", ".parquet", ".arrow", ".idx"])
def test_written_shards_equal_files(code_tokenizer: Tokenizer, tmp_path: Path, suffix: str) -> None:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in WORDS))
    options: dict[str, Any] = {"document_start": "<|sep|>", "dtype": "uint32", "num_threads": 2}
    for n in (1, 3):
        cuts = [len(WORDS) * i // n for i in range(n + 1)]
        for i in range(n):
            texts = (text.encode() if i else text for text in WORDS[cuts[i] : cuts[i + 1]])
            for _ in range(2):  # a task that runs twice
                summary = fastbpe.write_shard(code_tokenizer, texts, tmp_path / f"out{suffix}", (i, n), **options)
                texts = iter(WORDS[cuts[i] : cuts[i + 1]])
        assert summary.n_documents == cuts[n] - cuts[n - 1]
        if suffix in (".bin", ".idx"):
            code_tokenizer.encode_files(tmp_path / "a.jsonl", tmp_path / f"single{n}.bin", **options)
            merge_shards(tmp_path / "out.bin", tmp_path / "merged.bin", overwrite=True)
            assert (tmp_path / "merged.bin").read_bytes() == (tmp_path / f"single{n}.bin").read_bytes()
            for path in tmp_path.glob("out-*"):
                path.unlink()
    assert not [*tmp_path.glob(".*")]


def test_task_that_fails_leaves_the_shard_of_an_earlier_one(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    def texts() -> Any:
        yield "x" * 2_000_000
        raise RuntimeError("executor lost")

    with pytest.raises(RuntimeError, match="executor lost"):
        fastbpe.write_shard(code_tokenizer, texts(), tmp_path / "out.bin", (0, 1))
    assert [*tmp_path.iterdir()] == []
    fastbpe.write_shard(code_tokenizer, ["one"], tmp_path / "out.bin", (0, 1))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(RuntimeError, match="executor lost"):
        fastbpe.write_shard(code_tokenizer, texts(), tmp_path / "out.bin", (0, 1))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_task_killed_while_it_moves_files_leaves_the_same_shard_whole(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fastbpe.write_shard(code_tokenizer, ["one"], tmp_path / "out.bin", (0, 1))
    monkeypatch.setattr(shards, "file_locks", mock.Mock(replace=mock.Mock(side_effect=KeyboardInterrupt)))
    with pytest.raises(KeyboardInterrupt):
        fastbpe.write_shard(code_tokenizer, ["one"], tmp_path / "out.bin", (0, 1))
    assert open_ids(tmp_path / "out.bin").n_documents == 1


# Merging and opening


@pytest.fixture
def three(code_tokenizer: Tokenizer, tmp_path: Path) -> Path:
    """A folder of three shards."""
    folder = tmp_path / "ids"
    folder.mkdir()
    for i in range(3):
        fastbpe.write_shard(code_tokenizer, WORDS[i::3], folder / "out.bin", (i, 3))
    return folder


def test_missing_shards_are_listed(three: Path, tmp_path: Path) -> None:
    shutil.move(three / "out-00001-of-00003.bin", tmp_path)
    for call in (open_ids, lambda path: merge_shards(path, tmp_path / "all.bin")):
        for path in (three, three / "out.bin"):
            with pytest.raises(
                FileNotFoundError, match=r"this shard is missing: encode it: .*out-00001-of-00003\.bin"
            ):
                call(path)
    (three / "out-00002-of-00003.bin").unlink()
    with pytest.raises(FileNotFoundError, match=r"shards 1, 2 of 3 are missing: encode them"):
        open_ids(three)


def test_shard_without_manifest_is_not_finished(three: Path) -> None:
    (three / "out-00002-of-00003.bin.manifest.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"the shard is not finished: .*00002-of-00003\.bin\.manifest"):
        open_ids(three)


def test_mixed_tokenizers_dtypes_and_counts_in_one_folder_are_named(
    three: Path, code_tokenizer: Tokenizer
) -> None:
    other = Tokenizer.from_merges([], pattern=None)
    fastbpe.write_shard(other, WORDS[:3], three / "out.bin", (1, 3))
    with pytest.raises(FormatError, match=r"out-00001-of-00003\.bin: its tokenizer is .*, but .* in out-00000"):
        open_ids(three)
    fastbpe.write_shard(code_tokenizer, WORDS[:3], three / "out.bin", (1, 3), dtype="uint32")
    with pytest.raises(FormatError, match=r"00001-of-00003\.bin: its dtype is uint32, but uint16 in out-00000"):
        open_ids(three)
    fastbpe.write_shard(code_tokenizer, WORDS[:3], three / "out.bin", (1, 3), document_end="<|endoftext|>")
    with pytest.raises(FormatError, match=r"00001-of-00003\.bin: its list of ids after each document is"):
        merge_shards(three, three / "all.bin")
    fastbpe.write_shard(code_tokenizer, WORDS[:3], three / "out.bin", (0, 2))
    with pytest.raises(FormatError, match=r"its folder has sets of 2 and of 3 shards; keep one"):
        open_ids(three / "out.bin")
    with pytest.raises(FormatError, match=r"sets of files \(out\.bin in 2 shards, out\.bin in 3 shards\)"):
        open_ids(three)


@pytest.mark.parametrize("n", [1, 3])
def test_name_with_a_number_that_no_shard_has_is_an_error(
    code_tokenizer: Tokenizer, tmp_path: Path, n: int
) -> None:
    fastbpe.write_shard(code_tokenizer, WORDS[:3], tmp_path / "out.bin", (0, n))
    for path in [*tmp_path.iterdir()]:
        path.rename(path.with_name(path.name.replace("-00000-", "-00003-")))
    message = (
        rf"out-00003-of-0000{n}\.bin: its name says shard 3 of {n}, but the numbers go from 0 to {n - 1}; restore"
    )
    with pytest.raises(FormatError, match=message):
        open_ids(tmp_path)


def test_manifest_that_does_not_fit_its_files_is_named(three: Path, tmp_path: Path) -> None:
    place = three / "out-00001-of-00003.bin.manifest.json"
    good = place.read_bytes()
    manifest = json.loads(good)
    for change, message in (
        ({"ids": 3}, r"manifest\.json: 'ids' is 3, but 'count' is \d+ in out-00001-of-00003\.bin\.json"),
        ({"shard": 2}, r"manifest\.json: it describes shard 2/3, but its name says 1/3; rename"),
        ({"documents": "3"}, r"manifest\.json: 'documents' is '3', not an integer"),
        ({"outputs": [5]}, r"manifest\.json: 'outputs\[0\]' is 5, not an object"),
        ({"plan": "x"}, r"out-00001-of-00003\.bin: its hash of the names and sizes of all inputs|00001.*plan"),
    ):
        place.write_text(json.dumps({**manifest, **change}))
        with pytest.raises(FormatError, match=message):
            open_ids(three)
    manifest["outputs"][0]["size"] += 2
    place.write_text(json.dumps(manifest))
    with pytest.raises(
        FormatError, match=r"00001-of-00003\.bin: \d+ bytes, but \d+ in out-00001-of-00003\.bin\.man"
    ):
        open_ids(three)
    place.write_bytes(good)
    data = bytearray((three / "out-00001-of-00003.bin").read_bytes())
    data[100] ^= 1
    (three / "out-00001-of-00003.bin").write_bytes(data)
    with pytest.raises(
        FormatError, match=r"out-00001-of-00003\.bin: this file was changed or damaged: its SHA-256 is "
    ):
        merge_shards(three, tmp_path / "all.bin")
    assert not [*tmp_path.glob("all*")]


def test_merge_refuses_bad_outputs_and_writes_nothing(three: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    for out, error, message in (
        ("all.txt", ValueError, r"ids are written to \.bin"),
        ("no/all.bin", FileNotFoundError, "no such folder"),
        ("ids/out-00000-of-00003.bin", ValueError, "is both the output and an input"),
    ):
        with pytest.raises(error, match=message):
            merge_shards(three, tmp_path / out)
    assert sorted(tmp_path.rglob("*")) == before
    merge_shards(three, tmp_path / "all.bin")
    with pytest.raises(FileExistsError, match=r"all\.bin exists; to replace it"):
        merge_shards(three, tmp_path / "all.bin")
    told: list[Any] = []
    merge_shards(three, tmp_path / "all.bin", overwrite=True, progress=lambda *said: told.append(said))
    size = (tmp_path / "all.bin").stat().st_size
    assert (told[0], told[-1]) == (("merging", 0, size), ("merging", size, size))


# Kill a shard before its n-th file operation, and start again until it ends.
KILLED = f"""{RUN_KILLED}
import random
from fastbpe import load
from fastbpe.corpus import encoding_run, sources
model, out, seed, *inputs = sys.argv[1:]
tokenizer, generator, n_killed = load(model), random.Random(int(seed)), 0
encoding_run.PROGRESS_INTERVAL, encoding_run.BATCH_BYTES = 0, 2000
sources.BLOCK = 500
import fastbpe.id_files.shards, hashlib, json, queue, tqdm
def work():
    for i in range(2):
        tokenizer.encode_files(inputs, out, shard=(i, 2), num_threads=1, progress=False)
while run_killed(work, generator.randrange(1, 60)):
    n_killed += 1
print(n_killed)
"""


@pytest.mark.daily
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("seed", range(3))
def test_shards_killed_at_any_moment_end_with_the_same_bytes(
    code_tokenizer: Tokenizer, corpus: Path, tmp_path: Path, seed: int
) -> None:
    inputs = sorted(corpus.glob("*.jsonl"))
    code_tokenizer.save(tmp_path / "model.fbpe")
    for folder in ("once", "killed"):
        (tmp_path / folder).mkdir()
    for i in range(2):
        code_tokenizer.encode_files(inputs, tmp_path / "once" / "out.bin", shard=(i, 2))
    out = tmp_path / "killed" / "out.bin"
    n_killed = int(run_python(KILLED, str(tmp_path / "model.fbpe"), str(out), str(seed), *map(str, inputs)))
    once, killed = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("once", "killed")
    )
    assert killed == once
    assert n_killed > 0


@pytest.mark.parametrize("name", ["a.bin", "a.npy", "a.idx", "a.parquet"])
@pytest.mark.parametrize("place", ["here", "far"])
def test_renamed_shard_has_the_bytes_of_a_shard_written_there(
    code_tokenizer: Tokenizer, tmp_path: Path, name: str, place: str
) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    for folder in ("before", "after", "one"):
        (tmp_path / folder).mkdir()
    fastbpe.write_shard(code_tokenizer, ["one", "two"], tmp_path / "one" / name, (1, 3))
    expected = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    if place == "here":
        before, after = str(tmp_path / "before"), str(tmp_path / "after")
    else:
        fsspec = pytest.importorskip("fsspec")
        before, after = f"memory://{tmp_path.name}/before", f"memory://{tmp_path.name}/after"
    for _ in range(2):  # the second shard replaces the first
        fastbpe.write_shard(code_tokenizer, ["one", "two"], f"{before}/{name}", (1, 2))
        rename_shard(shard_path(as_path(f"{before}/{name}"), (1, 2)), f"{after}/{name}", (1, 3))
    if place == "here":
        found = {path.name: path.read_bytes() for path in (tmp_path / "after").iterdir()}
        assert not [*(tmp_path / "before").iterdir()]
    else:
        files = fsspec.filesystem("memory")
        found = {path.rpartition("/")[2]: files.cat_file(path) for path in files.find(f"/{tmp_path.name}/after")}
        assert not files.find(f"/{tmp_path.name}/before")
    assert found == expected
