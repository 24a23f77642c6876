"""fastbpe fetch: downloads from a local server into the user's cache."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer
from fastbpe.cli import main
from fastbpe.errors import DownloadError
from fastbpe.formats.tiktoken import dump
from fastbpe.known_vocabularies import VOCABULARIES, KnownFile, KnownVocabulary
from fastbpe.published import downloads as fetch_module
from fastbpe.published.downloads import fetch
from fastbpe.tiktoken.load import read_file_cached
from helpers.http_server import Server, running
from helpers.shared_data import BYTES

DATA = dump([*BYTES, b"ab"])
SHA256 = hashlib.sha256(DATA).hexdigest()
Ask = Callable[[], list[tuple[str, str | None]]]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that publishes `small` and plays huggingface.co, with a cache in an empty folder."""
    for variable in ("FASTBPE_OFFLINE", "FASTBPE_VOCAB_DIR", "DATA_GYM_CACHE_DIR", "HF_TOKEN", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "tiktoken"))
    monkeypatch.setattr("fastbpe.published.find.user_cache", lambda: str(tmp_path / "caches" / "fastbpe"))
    with running(Server()) as server:
        file = KnownFile(
            name="small.tiktoken",
            sha256=SHA256,
            n_bytes=len(DATA),
            n_lines=257,
            url=f"{server.url}/small",
        )
        small = KnownVocabulary(name="small", file=file, pattern="gpt2", special_tokens=dict)
        monkeypatch.setitem(VOCABULARIES, "small", small)  # type: ignore[arg-type]
        monkeypatch.setenv("HF_ENDPOINT", server.url + "/")
        server.files["/small"] = DATA
        yield server


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize(("name", "its"), [(5, "int"), (None, "NoneType"), (b"gpt2", "bytes"), (["gpt2"], "list")])
def test_name_of_another_type_raises_type_error(name: Any, its: str) -> None:
    with pytest.raises(TypeError, match=f"^name must be str, not {its}$"):
        fetch(name)


def test_fetched_vocabulary_is_checked_and_cached(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "caches" / "fastbpe" / "small.tiktoken"
    assert fetch("small") == (str(path), SHA256, True, True)
    assert path.read_bytes() == DATA
    assert fetch("small") == (str(path), SHA256, False, True)
    assert [asked for asked, _ in server.asked] == ["/small"]
    assert fastbpe.load("small").encode("ab") == [256]
    assert len(server.asked) == 1
    if os.name == "posix":
        assert (mode(path), mode(path.parent)) == (0o600, 0o700)


def test_tiktoken_drop_in_reads_the_cache(server: Server) -> None:
    fetch("small")
    server.files.clear()
    assert read_file_cached(f"{server.url}/small", SHA256) == DATA
    assert len(server.asked) == 1


def test_damaged_cached_copy_is_downloaded_again(server: Server, tmp_path: Path) -> None:
    path = Path(fetch("small").path)
    path.write_bytes(DATA[:-5])
    assert fetch("small").is_new
    assert path.read_bytes() == DATA
    assert files_below(tmp_path) == [path]


def test_wrong_or_truncated_download_raises_and_is_not_cached(server: Server, tmp_path: Path) -> None:
    server.files["/small"] = b"<html>"
    with pytest.raises(FormatError, match=f"Hash mismatch .*expected {SHA256}, found .*the download is discarded"):
        fetch("small")
    server.files["/small"] = DATA
    server.halved.add("/small")
    with pytest.raises(DownloadError, match=r"/small cannot be downloaded: "):
        fetch("small")
    assert not files_below(tmp_path)


def test_offline_mode_forbids_downloads(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTBPE_OFFLINE", "1")
    for name in ("small", "org/model"):
        with pytest.raises(DownloadError, match="is not downloaded: FASTBPE_OFFLINE=1 forbids downloads"):
            fetch(name)
    assert not server.asked
    monkeypatch.setenv("FASTBPE_OFFLINE", "0")
    fetch("small")
    monkeypatch.setenv("FASTBPE_OFFLINE", "1")
    assert not fetch("small").is_new


def test_fetch_of_unpublished_conversion_explains_the_way_out(server: Server) -> None:
    message = (
        r"qwen2: fastbpe cannot download qwen2\.tiktoken \(SHA-256 b2b1.*FASTBPE_VOCAB_DIR names, or run fast"
    )
    with pytest.raises(DownloadError, match=message):
        fetch("qwen2")


@pytest.mark.parametrize("name", ["nope", "../x", "a/b/c", "/etc/passwd", "http://example.org/a", ""])
def test_unknown_vocabulary_name_raises_download_error(name: str, server: Server) -> None:
    with pytest.raises(
        DownloadError, match=r"no vocabulary of this name is published; fastbpe knows gpt2, .*, and ORG/NAME"
    ):
        fetch(name)
    assert not server.asked


# The cache.


@pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")
def test_symbolic_link_in_the_cache_is_replaced_not_followed(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "caches" / "fastbpe"
    folder.mkdir(parents=True, mode=0o755)
    (tmp_path / "other").write_bytes(b"other")
    (folder / "small.tiktoken").symlink_to(tmp_path / "other")
    fetch("small")
    assert (tmp_path / "other").read_bytes() == b"other"
    assert not (folder / "small.tiktoken").is_symlink()
    assert mode(folder) == 0o700


@pytest.mark.skipif(os.name != "posix", reason="owners of POSIX")
def test_cache_folder_of_another_user_is_refused(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "caches" / "fastbpe").mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(
        PermissionError,
        match=r"fastbpe: this folder belongs to another user \(uid .*; remove it, or set XDG_CACHE_HOME",
    ):
        fetch("small")
    assert not files_below(tmp_path)


def test_file_in_place_of_the_cache_folder_is_named(server: Server, tmp_path: Path) -> None:
    (tmp_path / "caches").mkdir()
    (tmp_path / "caches" / "fastbpe").write_bytes(b"")
    with pytest.raises(OSError, match="fastbpe"):
        fetch("small")


@pytest.mark.skipif(os.name != "posix", reason="the folders of Linux and macOS")
def test_cache_folder_follows_the_rules_of_the_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastbpe.published.find import user_cache

    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert user_cache() == str(tmp_path / "xdg" / "fastbpe")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the XDG specification says to ignore relative paths
    assert user_cache() == str(tmp_path / ".cache" / "fastbpe")
    monkeypatch.setattr("sys.platform", "darwin")
    assert user_cache() == str(tmp_path / "Library" / "Caches" / "fastbpe")
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "Local"))
    assert user_cache() == str(tmp_path / "Local" / "fastbpe")


# Repositories.


def tokenizer_json(tmp_path: Path) -> bytes:
    path = tmp_path / "tokenizer.json"
    Tokenizer.from_ranks({**BYTES, b"ab": 256}, pattern="gpt2").export(path, format="huggingface")
    data = path.read_bytes()
    path.unlink()
    return data


def test_fetch_of_a_repository_downloads_its_tokenizer_json(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tokenizer_json(tmp_path)
    server.files["/org/Some-1.5B/resolve/main/tokenizer.json"] = data
    found = fetch("org/Some-1.5B")
    path = tmp_path / "caches" / "fastbpe" / "org" / "Some-1.5B" / "tokenizer.json"
    assert found == (str(path), hashlib.sha256(data).hexdigest(), True, False)
    assert server.asked == [("/org/Some-1.5B/resolve/main/tokenizer.json", None)]
    assert fastbpe.load("org/Some-1.5B").encode("ab") == [256]
    if os.name == "posix":
        assert (mode(path), mode(path.parent), mode(path.parent.parent)) == (0o600, 0o700, 0o700)


def test_access_token_is_not_sent_to_other_hosts(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    with running(Server()) as elsewhere:
        server.moved["/org/old/resolve/main/tokenizer.json"] = "/org/new"
        server.moved["/org/new"] = f"{elsewhere.url}/store"
        elsewhere.files["/store"] = tokenizer_json(tmp_path)
        fetch("org/old")
        assert [token for _, token in server.asked] == ["Bearer secret", "Bearer secret"]
        assert elsewhere.asked == [("/store", None)]


def test_download_without_a_tokenizer_is_not_cached(server: Server, tmp_path: Path) -> None:
    server.files["/org/a/resolve/main/tokenizer.json"] = b"<!DOCTYPE html><html></html>"
    with pytest.raises(FormatError, match="an HTML page, not a vocabulary"):
        fetch("org/a")
    assert not files_below(tmp_path)


def test_error_for_gated_or_empty_repository_names_the_way_out(server: Server) -> None:
    server.gated.add("/org/gated/resolve/main/tokenizer.json")
    with pytest.raises(
        DownloadError, match=r"401.*; if the repository exists, accept its terms at .*gated and set HF_T"
    ):
        fetch("org/gated")
    with pytest.raises(DownloadError, match=r"404.*; see which files there are: http.*/org/none/tree/main"):
        fetch("org/none")


def test_redirect_from_https_to_http_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from urllib.request import HTTPRedirectHandler, Request

    handler: Any = next(h for h in fetch_module._opener().handlers if isinstance(h, HTTPRedirectHandler))  # type: ignore[attr-defined]
    with pytest.raises(DownloadError, match=r"redirected to http://example\.org/b, which is not https"):
        handler.redirect_request(Request("https://example.org/a"), None, 302, "", {}, "http://example.org/b")


# The command.


def test_fetch_command_reports_failures_and_fetches_the_rest(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fetch", "small", "nope", "small"]) == 1
    captured = capsys.readouterr()
    path = tmp_path / "caches" / "fastbpe" / "small.tiktoken"
    assert captured.out.splitlines() == [
        f"small: {path} (SHA-256 {SHA256}, as published)",
        f"small: {path} (already there, SHA-256 {SHA256}, as published)",
    ]
    assert captured.err.startswith("fastbpe: error: nope: no vocabulary of this name is published; fastbpe knows ")
    assert main(["fetch", "small", "nope", "--json"]) == 1
    row = {"name": "small", "path": str(path), "sha256": SHA256, "is_checked": True, "is_new": False}
    assert json.loads(capsys.readouterr().out) == [row]
    (tmp_path / "a.txt").write_text("abab")
    assert main(["count", "-m", "small", str(tmp_path / "a.txt")]) == 0
    assert capsys.readouterr().out.split()[0] == "2"


def test_fetch_command_says_when_a_hash_is_unpublished(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tokenizer_json(tmp_path)
    server.files["/org/a/resolve/main/tokenizer.json"] = data
    assert main(["fetch", "org/a"]) == 0
    said = f"(SHA-256 {hashlib.sha256(data).hexdigest()}, no published SHA-256 to compare with)\n"
    assert capsys.readouterr().out.endswith(said)
    assert main(["info", "org/a", "--json"]) == 0
