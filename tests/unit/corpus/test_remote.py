"""Remote inputs and outputs give what local ones give: in memory, as file:// and with an S3 server of the test."""

from __future__ import annotations

import errno
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

import fastbpe
from fastbpe import FormatError, Tokenizer
from fastbpe.corpus.document_files import opened
from fastbpe.corpus.listing import files_of as listed
from fastbpe.corpus.remote import RemotePath, as_path
from helpers.child_processes import run_python
from helpers.shared_data import standard_library

fsspec = pytest.importorskip("fsspec", reason="remote paths need fsspec")

TEXTS = ["one two", "", "пять 👍", *standard_library(6000).split("\n\n")]
pytestmark = [
    pytest.mark.daily,
    pytest.mark.filterwarnings("ignore:::(aiobotocore|botocore|s3fs|moto|aiohttp|werkzeug|urllib3)"),
]


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """Address of a bucket of an S3 server in this process."""
    pytest.importorskip("s3fs", reason="s3:// needs s3fs")
    server_module = pytest.importorskip("moto.server", reason="the S3 server of the test is moto's")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options = {"key": "testing", "secret": "testing", "endpoint_url": f"http://{host}:{port}"}
    with mock.patch.dict(fsspec.config.conf, {"s3": options}):
        fsspec.filesystem("s3").mkdir("corpora")
        yield "s3://corpora"
    server.stop()


@pytest.fixture(params=["memory", "file", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of a folder that is new for each test."""
    if request.param == "file":
        return f"file://{tmp_path}/far"
    if request.param == "s3":
        return f"{request.getfixturevalue('s3')}/{tmp_path.name}"
    return f"memory://{tmp_path.name}"


@pytest.fixture
def corpus(tmp_path: Path, place: str) -> Path:
    """A local folder of files of every kind, and the same files at `place`/corpus."""
    folder = tmp_path / "corpus"
    (folder / "more").mkdir(parents=True)
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS).encode()
    (folder / "a.jsonl").write_bytes(lines)
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(lines))
    (folder / "c.txt.zst").write_bytes(zstandard.compress("\n".join(TEXTS).encode()))
    pyarrow.parquet.write_table(pyarrow.table({"text": TEXTS}), folder / "more" / "d.parquet")
    (folder / "more" / "e.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    (folder / "unread.md").write_text("no text")
    for path in folder.rglob("*.*"):
        put(f"{place}/corpus/{path.relative_to(folder).as_posix()}", path.read_bytes())
    return folder


def put(url: str, data: bytes) -> None:
    files, name = fsspec.core.url_to_fs(url)
    files.makedirs(name.rpartition("/")[0], exist_ok=True)
    files.pipe_file(name, data)


def files_at(url: str) -> dict[str, bytes]:
    files, name = fsspec.core.url_to_fs(url, use_listings_cache=False)
    return {found.rpartition("/")[2]: files.cat_file(found) for found in files.find(name)}


def test_training_and_counting_read_remote_files(place: str, corpus: Path) -> None:
    options: dict[str, Any] = {"vocab_size": 300, "separator": "\n", "progress": False}
    local, remote = fastbpe.train(corpus, **options), fastbpe.train(f"{place}/corpus", **options)
    assert remote == local
    assert fastbpe.train([f"{place}/corpus/a.jsonl", f"{place}/corpus/more/*.txt"], **options) == fastbpe.train(
        [corpus / "a.jsonl", corpus / "more" / "e.txt"], **options
    )
    counts = [fastbpe.count_pieces(source, progress=False) for source in (corpus, f"{place}/corpus")]
    assert counts[0] == counts[1]
    model = [
        fastbpe.train(source, mode="codepoint", vocab_size=200, character_coverage=1.0, progress=False)
        for source in (str(corpus / "a.jsonl"), f"{place}/corpus/a.jsonl")
    ]
    assert model[0] == model[1]


@pytest.mark.parametrize("pattern", ["*", "**"])
def test_remote_pattern_leaves_out_folders(place: str, corpus: Path, pattern: str) -> None:
    sources = (f"{corpus}/{pattern}", f"{place}/corpus/{pattern}")
    local, remote = (fastbpe.count_pieces(source, progress=False) for source in sources)
    assert (remote, list(remote)) == (local, list(local))


@pytest.mark.parametrize(
    "pattern",
    [
        *("*", "**", "**/*", "**.txt", "***", ".*", ".[de].txt", "[.a]*", ".*/*"),
        *(".b/*", ".b/.c/*", ".b/**", "**/.*", "**/.c/*", "x/*/*.txt"),
    ],
)
def test_remote_pattern_lists_the_hidden_files_that_a_local_one_lists(
    place: str, tmp_path: Path, pattern: str
) -> None:
    top = ("a.txt", ".d.txt", ".b/e.txt", ".b/.f.txt", ".b/.c/g.txt")
    for name in (*top, "x/.c/h.txt", "x/y/.i.txt", "x/y/j.txt"):
        (tmp_path / "local" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "local" / name).touch()
        put(f"{place}/dots/{name}", b"x")
    local = [file.relative_to(tmp_path / "local").as_posix() for file in listed(f"{tmp_path}/local/{pattern}")]
    assert [str(file) for file in listed(f"{place}/dots/{pattern}")] == [
        str(as_path(f"{place}/dots/{name}")) for name in local
    ]


@pytest.mark.parametrize("end", ["", "/"])
def test_hidden_remote_folder_is_read_if_it_is_named(place: str, end: str) -> None:
    for name in ("a.txt", ".d.txt", ".git/b.txt", "c/e.txt"):
        put(f"{place}/.b/{name}", b"x")
    found = [str(as_path(f"{place}/.b/{name}")) for name in ("a.txt", "c/e.txt")]
    assert [str(file) for file in listed(f"{place}/.b{end}")] == found


@pytest.mark.parametrize("source", ["memory://.top", "memory:///.top", "memory:///.top/*"])
def test_hidden_folder_at_the_top_of_a_server_is_read_if_it_is_named(source: str) -> None:
    put("memory://.top/a.txt", b"x")
    assert [file.parts[-2:] for file in listed(source)] == [(".top", "a.txt")]


class HostedFiles(fsspec.get_filesystem_class("memory")):  # type: ignore[misc]
    """Files in memory whose addresses have a host, which paths on the server lack, as with sftp:// and ftp://."""

    protocol = "hosted"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        path = path.removeprefix("hosted://host")
        assert not path.startswith("hosted://"), "an address without its host"
        return ("/" + path.strip("/")).rstrip("/")


@pytest.mark.parametrize("source", ["hosted://host", "hosted://host/", "hosted://host/c", "hosted://host/*/*.txt"])
def test_listed_files_keep_the_host(source: str) -> None:
    fsspec.register_implementation("hosted", HostedFiles, clobber=True)
    put("hosted://host/c/a.txt", b"x")
    assert [str(file) for file in listed(source)] == ["hosted://host/c/a.txt"]


@pytest.mark.parametrize("suffix", [".bin", ".npy", ".parquet", ".idx"])
def test_files_are_encoded_from_and_to_remote_places(
    code_tokenizer: Tokenizer, place: str, corpus: Path, tmp_path: Path, suffix: str
) -> None:
    (tmp_path / "ids").mkdir()
    options: dict[str, Any] = {"separator": "\n", "progress": False}
    local = code_tokenizer.encode_files(corpus, tmp_path / "ids" / f"out{suffix}", **options)
    put(f"{place}/ids/other", b"")
    remote = code_tokenizer.encode_files(f"{place}/corpus/", f"{place}/ids/out{suffix}", **options)
    found = files_at(f"{place}/ids")
    del found["other"]
    assert found == {path.name: path.read_bytes() for path in (tmp_path / "ids").iterdir()}
    assert str(remote.path) == str(as_path(f"{place}/ids/out{suffix}"))
    assert (remote.n_ids, remote.n_documents, remote.n_bytes) == (local.n_ids, local.n_documents, local.n_bytes)
    with pytest.raises(FileExistsError, match=r"out\.\w+ exists; to replace it, pass overwrite=True"):
        code_tokenizer.encode_files(corpus, f"{place}/ids/out{suffix}", **options)
    code_tokenizer.encode_files(corpus / "a.jsonl", f"{place}/ids/out{suffix}", overwrite=True, progress=False)
    assert files_at(f"{place}/ids") != found


@pytest.mark.daily
def test_shards_of_remote_inputs_and_outputs_equal_local_ones(
    code_tokenizer: Tokenizer, place: str, corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "ids").mkdir()
    put(f"{place}/ids/other", b"")
    for i in range(3):
        code_tokenizer.encode_files(corpus, tmp_path / "ids" / "out.bin", shard=(i, 3))
        summary = code_tokenizer.encode_files(f"{place}/corpus", f"{place}/ids/out.bin", shard=(i, 3))
    local = {path.name: path.read_bytes() for path in (tmp_path / "ids").iterdir()}
    found = files_at(f"{place}/ids")
    del found["other"]
    assert found == local  # the manifests, too: names of inputs are relative
    with mock.patch("fastbpe.corpus.file_encoding.read", side_effect=AssertionError):
        again = code_tokenizer.encode_files(f"{place}/corpus", f"{place}/ids/out.bin", shard=(2, 3))
    assert [*vars(again).values()][:4] == [*vars(summary).values()][:4]
    with pytest.raises(FileExistsError, match=r"made with other settings \(dtype\)"):
        code_tokenizer.encode_files(f"{place}/corpus", f"{place}/ids/out.bin", shard=(2, 3), dtype="uint32")
    for _ in range(2):
        fastbpe.write_shard(code_tokenizer, TEXTS, f"{place}/ids/texts.bin", (0, 1))
    fastbpe.write_shard(code_tokenizer, TEXTS, tmp_path / "ids" / "texts.bin", (0, 1))
    for path in (tmp_path / "ids").glob("texts*"):
        assert files_at(f"{place}/ids")[path.name] == path.read_bytes()


@pytest.mark.daily
def test_run_that_fails_uploads_nothing(code_tokenizer: Tokenizer, place: str, corpus: Path) -> None:
    put(f"{place}/corpus/z.jsonl", b'{"no": 1}\n')
    put(f"{place}/ids/other", b"")
    for shard in (None, (1, 2)):
        with pytest.raises(FormatError, match=r"z\.jsonl:1: no object with a field 'text'"):
            code_tokenizer.encode_files(f"{place}/corpus", f"{place}/ids/out.bin", shard=shard)
    with pytest.raises(TypeError, match=r"document 1 \(counted from 0\) is int"):
        fastbpe.write_shard(code_tokenizer, ["a", 5], RemotePath("memory://no/out.bin"), (0, 1))  # type: ignore[list-item]
    files, name = fsspec.core.url_to_fs(f"{place}/ids", use_listings_cache=False)
    left = [path for path in files.find(name) if ".partial/" not in path]  # left by a local run, which may resume
    assert [path.rpartition("/")[2] for path in left] == ["other"]


def test_missing_remote_file_is_named_with_the_reason(place: str) -> None:
    path = RemotePath(f"{place}/no.txt")
    for call in (path.open, path.stat, lambda: fastbpe.train(path, vocab_size=300)):
        with pytest.raises(FileNotFoundError) as caught:
            call()
        assert (caught.value.filename, caught.value.strerror) == (f"{place}/no.txt", "No such file or directory")


def test_missing_remote_files_are_named(code_tokenizer: Tokenizer, place: str, tmp_path: Path) -> None:
    put(f"{place}/empty/readme", b"")
    for name, message in (
        ("no.jsonl", r"no\.jsonl"),
        ("no/*.txt", r"no/\*\.txt: no file matches this pattern|no file matches \("),
        ("empty", r"no text \(\.txt\), JSON lines, \.parquet or \.arrow file in this folder"),
    ):
        for call in (
            lambda path: code_tokenizer.encode_files(path, tmp_path / "out.bin"),
            lambda path: fastbpe.train(path, vocab_size=300),
        ):
            with pytest.raises(FileNotFoundError, match=message):
                call(f"{place}/{name}")


class ClosedServer(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """File system whose client raises errors of its own, as botocore does without credentials."""

    protocol = "closed"

    class NoCredentialsError(Exception):
        """Error that is no OSError."""

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        raise self.NoCredentialsError("Unable to locate credentials")

    info = exists = isdir = isfile = find = glob = _open = ls


def test_errors_of_a_servers_client_name_the_address(code_tokenizer: Tokenizer) -> None:
    fsspec.register_implementation("closed", ClosedServer, clobber=True)
    told = r"closed://bucket/(a\.txt|out\.bin): NoCredentialsError: Unable to locate credentials"
    for call in (
        lambda: fastbpe.train("closed://bucket/a.txt", vocab_size=300, progress=False),
        lambda: code_tokenizer.encode_files("closed://bucket/a.txt", "closed://bucket/out.bin", progress=False),
    ):
        with pytest.raises(OSError, match=told) as error:
            call()
        assert isinstance(error.value.__cause__, ClosedServer.NoCredentialsError)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (PermissionError("Access Denied"), "closed://bucket/a.txt: Access Denied"),
        (OSError(errno.EBUSY, "Slow down"), f"[Errno {errno.EBUSY}] Slow down: 'closed://bucket/a.txt'"),
    ],
)
def test_os_errors_of_a_server_get_the_address(error: OSError, told: str) -> None:
    """s3fs raises such errors for the codes AccessDenied and SlowDown."""
    fsspec.register_implementation("closed", ClosedServer, clobber=True)
    with mock.patch.object(ClosedServer, "info", side_effect=error), pytest.raises(type(error)) as caught:
        RemotePath("closed://bucket/a.txt").stat()
    assert (str(caught.value), caught.value.errno) == (told, error.errno)


def test_error_while_a_file_is_read_whole_gets_the_address() -> None:
    fsspec.register_implementation("closed", ClosedServer, clobber=True)
    file = mock.MagicMock()
    file.__enter__.return_value.read.side_effect = PermissionError("Access Denied")
    with (
        mock.patch.object(ClosedServer, "_open", return_value=file),
        pytest.raises(PermissionError, match=r"closed://bucket/a\.txt: Access Denied"),
    ):
        RemotePath("closed://bucket/a.txt").read_bytes()


def test_error_while_a_stream_is_read_gets_the_address() -> None:
    fsspec.register_implementation("closed", ClosedServer, clobber=True)
    file = mock.MagicMock()
    file.seekable.return_value = False
    file.__enter__.return_value = file
    file.read.side_effect = PermissionError("Access Denied")
    with (
        mock.patch.object(ClosedServer, "_open", return_value=file),
        pytest.raises(PermissionError, match=r"^closed://bucket/a\.txt: Access Denied$"),
        opened(RemotePath("closed://bucket/a.txt"), "text", "text"),
    ):
        pass


def test_files_of_ids_are_not_read_from_afar(code_tokenizer: Tokenizer) -> None:
    for call in (fastbpe.open_ids, lambda path: fastbpe.merge_shards(path, "out.bin")):
        with pytest.raises(FormatError, match=r"s3://b/a\.bin: files of ids are mapped into memory; copy them"):
            call("s3://b/a.bin")
    with pytest.raises(FormatError, match=r"memory://b/a\.bin: the merged file must be on this machine"):
        fastbpe.merge_shards("no.bin", "memory://b/a.bin")


def test_missing_packages_and_unknown_schemes_are_named(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    with (
        mock.patch.dict(sys.modules, {"fsspec": None}),
        pytest.raises(ImportError, match=r"s3://b/a\.jsonl: remote paths need fsspec: pip install fsspec"),
    ):
        code_tokenizer.encode_files("s3://b/a.jsonl", tmp_path / "out.bin")
    with pytest.raises(ValueError, match=r"nonsense://b/a\.jsonl: Protocol not known"):
        code_tokenizer.encode_files("nonsense://b/a.jsonl", tmp_path / "out.bin")


def test_command_line_takes_remote_paths(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    code_tokenizer.save(tmp_path / "m.fbpe")
    said = run_python(
        """
import sys, fsspec
from fastbpe.cli import main
fsspec.filesystem("memory").pipe_file("/c/a.txt", b"one two\\nthree\\n")
folder = sys.argv[1]
assert main(["encode", "-m", f"{folder}/m.fbpe", "memory://c/a.txt", "-o", "memory://c/a.bin", "--lines"]) == 0
assert main(["count", "-m", f"{folder}/m.fbpe", "memory://c/"]) == 0
assert main(["train", "memory://c/a.txt", "-o", f"{folder}/n.fbpe", "--vocab-size", "257", "--quiet"]) == 0
print(sorted(fsspec.filesystem("memory").ls("/c", detail=False)))
""",
        str(tmp_path),
    )
    lines = said.splitlines()
    assert lines[0].endswith("memory://c/a.txt") or lines[0].endswith("memory:///c/a.txt")
    assert lines[-1] == "['/c/a.bin', '/c/a.bin.json', '/c/a.bin.offsets', '/c/a.txt']"


def test_fsspec_is_imported_for_remote_paths_only(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    said = run_python(
        """
import sys, fastbpe, pathlib
pathlib.Path(sys.argv[1], "a.txt").write_text("ab ab")
fastbpe.train(pathlib.Path(sys.argv[1]), vocab_size=257, progress=False)
print("fsspec" in sys.modules)
""",
        str(tmp_path),
    )
    assert said.strip() == "False"
