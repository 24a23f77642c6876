"""Damaged JSON beside files of ids: every wrong field ends in a FormatError that names file and field."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from fastbpe import FastbpeError, FormatError, Tokenizer, merge_shards, open_ids
from fastbpe.corpus import encoding_run as runs
from fastbpe.id_files.verifying import verify_ids
from helpers.sampling import SEED, n_rounds

ODD: list[Any] = [
    None, 1.5, True, "", [], {}, [None], [{}], {"a": 1}, 10**30, -1, 2**62, 2**63, 1e308, [1.5], [-1], [[]],
    "\0", "\ud800", "../x", "/etc/passwd", ".", "..", "a/b", "x" * 5000, "uint8", "uint32", "int64", "float",
]  # fmt: skip


def fields_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each field and item within parsed JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from fields_of(item, (*path, key))


def mutated(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    """Return a copy of parsed JSON with another value, or without it, at a path."""
    copy = json.loads(json.dumps(value))
    place = copy
    for key in path[:-1]:
        place = place[key]
    if odd is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = odd
    return copy


def calls_on(path: Path, out: Path) -> tuple[Callable[[], object], ...]:
    return (
        lambda: [document.tolist() for document in open_ids(path)],
        lambda: merge_shards(path, out, overwrite=True, progress=False),
        lambda: verify_ids(path),
    )


def check(call: Callable[[], object], file: Path, folder: Path, said: str) -> None:
    """Run a call, which may succeed or name a file in an error that callers expect."""
    try:
        call()
    except Exception as error:
        expected = isinstance(error, (FormatError, FileNotFoundError, FileExistsError))
        if not expected or str(folder) not in str(error):
            pytest.fail(f"{said} in {file.name}: {type(error).__name__}: {error}")


@pytest.fixture
def shard(code_tokenizer: Tokenizer, tmp_path: Path) -> Path:
    (tmp_path / "a.jsonl").write_text('{"text": "one two"}\n{"text": "three"}\n')
    (tmp_path / "ids").mkdir()
    out = tmp_path / "ids" / "out.bin"
    code_tokenizer.encode_files(tmp_path / "a.jsonl", out, shard=(0, 1), document_end="<|sep|>", progress=False)
    return tmp_path / "ids" / "out-00000-of-00001.bin"


@pytest.mark.parametrize("ending", [".json", ".manifest.json"])
def test_no_field_of_a_sidecar_or_manifest_gives_a_raw_error(shard: Path, tmp_path: Path, ending: str) -> None:
    file = Path(f"{shard}{ending}")
    good = json.loads(file.read_bytes())
    cases = [(path, odd) for path in fields_of(good) for odd in (*ODD, KeyError)]
    cases = random.Random(SEED).sample(cases, n_rounds(250, len(cases)))
    for path, odd in cases:
        file.write_text(json.dumps(mutated(good, path, odd)))
        for call in calls_on(shard, tmp_path / "all.bin"):
            check(call, file, tmp_path, f"{path} is {odd!r:.40}")


@pytest.mark.parametrize(
    ("ending", "path", "odd", "said"),
    [
        (".json", ("tokenizer", "fingerprint"), 1.5, "'tokenizer.fingerprint' is 1.5, not a string"),
        (".json", ("tokenizer",), "x", "'tokenizer' is 'x', not an object or null"),
        (".json", ("offsets",), "a\0b", "'offsets' is 'a\\x00b', not the name of a file in the same folder"),
        (".json", ("offsets",), "\ud800", "'offsets' is '\\ud800', not the name of a file"),
        (".json", ("offsets",), "", "'offsets' is '', not the name of a file"),
        (".json", ("offsets",), "../x", "'offsets' is '../x', not the name of a file"),
        (".json", ("offsets",), "/etc/passwd", "'offsets' is '/etc/passwd', not the name of a file"),
        (".json", ("count",), 1.5, "'count' is 1.5, not an integer of 0 or more"),
        (".json", ("before",), [None], "'before[0]' is missing or null, not an integer of 0 or more"),
        (".manifest.json", ("outputs", 0, "path"), "../x", "'outputs[0].path' is '../x', not the name of a file"),
        (".manifest.json", ("outputs", 1, "sha256"), 5, "'outputs[1].sha256' is 5, not a SHA-256"),
        (
            ".manifest.json",
            ("inputs", 0, "path"),
            "/etc/passwd",
            "'inputs[0].path' is '/etc/passwd', not a path below",
        ),
        (".manifest.json", ("text_bytes",), "9", "'text_bytes' is '9', not an integer of 0 or more"),
        (".manifest.json", ("first_skipped",), 7, "'first_skipped' is 7, not a list"),
    ],
)
def test_wrong_field_is_named_with_its_file(
    shard: Path, ending: str, path: tuple[Any, ...], odd: Any, said: str
) -> None:
    file = Path(f"{shard}{ending}")
    file.write_text(json.dumps(mutated(json.loads(file.read_bytes()), path, odd)))
    with pytest.raises(FormatError) as caught:
        open_ids(shard)
    assert str(caught.value).startswith(f"{file}: {said}")
    assert "again" in str(caught.value)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"null", b"{", b"[" * 100_000, b"\xff", b'{"a": 1' + b"0" * 9000 + b"}"]
)
def test_file_that_is_no_json_object_is_named(shard: Path, data: bytes) -> None:
    for ending in (".json", ".manifest.json"):
        file = Path(f"{shard}{ending}")
        good = file.read_bytes()
        file.write_bytes(data)
        with pytest.raises(FormatError) as caught:
            open_ids(shard)
        assert str(caught.value).startswith((f"{file}: not JSON", f"{file}: expected a JSON object"))
        file.write_bytes(good)


@pytest.fixture
def unfinished(code_tokenizer: Tokenizer, tmp_path: Path) -> Path:
    """Return the output of a run that stopped after two of three files."""
    for i in range(3):
        (tmp_path / f"{i}.jsonl").write_text('{"text": "one two"}\n' * 50)
    (tmp_path / "2.jsonl").write_text("{")
    with mock.patch.multiple(runs, PROGRESS_INTERVAL=0, BATCH_BYTES=1), pytest.raises(FormatError):
        code_tokenizer.encode_files(tmp_path / "*.jsonl", tmp_path / "out.bin", progress=False)
    (tmp_path / "2.jsonl").write_text('{"text": "three"}\n')
    return tmp_path / "out.bin"


@pytest.mark.parametrize("name", ["progress.json", "run.json"])
def test_no_field_of_an_unfinished_run_gives_a_raw_error_and_overwriting_begins_again(
    code_tokenizer: Tokenizer, unfinished: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "out.bin.partial"
    shutil.copytree(folder, tmp_path / "kept")
    good = json.loads((folder / name).read_bytes())
    cases = [(path, odd) for path in fields_of(good) for odd in (*ODD, KeyError)]
    cases += [((more,), odd) for more in ("earlier", "finishing", "run") for odd in (*ODD, good)]
    cases = random.Random(SEED).sample(cases, n_rounds(60, len(cases)))

    def encode(**options: Any) -> None:
        code_tokenizer.encode_files(tmp_path / "*.jsonl", unfinished, progress=False, **options)

    encode(overwrite=True)
    whole = unfinished.read_bytes()
    for path, odd in cases:
        for file in (*tmp_path.glob("out.bin*"), *folder.glob("*")):
            if file.is_file():
                file.unlink()
        shutil.copytree(tmp_path / "kept", folder, dirs_exist_ok=True)
        (folder / name).write_text(json.dumps(mutated(good, path, odd)))
        check(encode, folder / name, tmp_path, f"{path} is {odd!r:.40}")
        encode(overwrite=True)
        assert unfinished.read_bytes() == whole, (path, odd)


@pytest.mark.parametrize("name", ["file", "offset", "n_bytes", "in_document", "skipped", "finishing", "earlier"])
def test_null_in_the_note_of_an_unfinished_run_is_as_good_as_missing(
    code_tokenizer: Tokenizer, unfinished: Path, tmp_path: Path, name: str
) -> None:
    noted = tmp_path / "out.bin.partial" / "progress.json"
    known = json.loads(noted.read_bytes())
    known["earlier"] = dict(known)
    for fields in (known, known["earlier"]):
        fields[name] = None
    noted.write_text(json.dumps(known))
    code_tokenizer.encode_files(tmp_path / "*.jsonl", unfinished, progress=False)


def test_run_without_inputs_is_another_run(code_tokenizer: Tokenizer, unfinished: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.bin.partial" / "run.json"
    known = json.loads(file.read_bytes())
    for changed in ({**known, "inputs": None}, {name: known[name] for name in known if name != "inputs"}):
        file.write_text(json.dumps(changed))
        with pytest.raises(FileExistsError, match="3 inputs, not 0"):
            code_tokenizer.encode_files(tmp_path / "*.jsonl", unfinished, progress=False)


def test_noted_ids_that_are_not_there_are_no_zeros_of_the_output(
    code_tokenizer: Tokenizer, unfinished: Path, tmp_path: Path
) -> None:
    place = tmp_path / "out.bin.partial" / "progress.json"
    noted = json.loads(place.read_bytes())
    place.write_text(json.dumps({**noted, "n_ids": noted["n_ids"] + 5}))
    with pytest.raises(
        FormatError, match=r"out\.bin\.partial/ids: the file has \d+ bytes, fewer than the \d+ in .*overwrite=True"
    ):
        code_tokenizer.encode_files(tmp_path / "*.jsonl", unfinished, progress=False)
    summary = code_tokenizer.encode_files(tmp_path / "*.jsonl", unfinished, overwrite=True, progress=False)
    assert summary.n_documents == 101


def test_damaged_metadata_of_a_table_are_named(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "a.txt").write_text("one two")
    out = tmp_path / "out.parquet"
    code_tokenizer.encode_files(tmp_path / "a.txt", out, progress=False)
    table = parquet.read_table(out)
    good = json.loads(table.schema.metadata[b"fastbpe"])
    cases = [(path, odd) for path in fields_of(good) for odd in (*ODD, KeyError)]
    for path, odd in random.Random(SEED).sample(cases, n_rounds(50, len(cases))):
        bad = {b"fastbpe": json.dumps(mutated(good, path, odd)).encode()}
        parquet.write_table(table.replace_schema_metadata(bad), out, store_schema=False)
        for call in calls_on(out, tmp_path / "all.bin")[1:]:
            check(call, out, tmp_path, f"{path} is {odd!r:.40}")
    parquet.write_table(table.replace_schema_metadata(None), out)
    with pytest.raises(FastbpeError, match="its metadata have no 'fastbpe': not a file of ids"):
        merge_shards(out, tmp_path / "all.bin", progress=False)
    out.write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(FormatError, match=r"out\.parquet: not a valid parquet file"):
        merge_shards(out, tmp_path / "all.bin", progress=False)
