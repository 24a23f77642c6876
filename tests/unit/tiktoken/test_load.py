"""Files and names of fastbpe.tiktoken: the cache, downloads from a local server, and plug-ins."""

import errno
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import fastbpe
from fastbpe.errors import DownloadError
from fastbpe.formats import atomic_files
from fastbpe.tiktoken import load
from fastbpe.tiktoken.load import read_file, read_file_cached
from helpers.http_server import Server, running

SOURCES = Path(fastbpe.__file__).parents[1]
CONTENT = b"".join(b"line %d\n" % i for i in range(20_000))
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server() -> Iterator[Server]:
    """A server with CONTENT at its url, which ends with /good, and half of it at /half."""
    with running(Server("/good", pause=0.05)) as server:
        server.files = {"/good": CONTENT, "/half": CONTENT}
        server.halved.add("/half")
        yield server


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.delenv("FASTBPE_OFFLINE", raising=False)
    return tmp_path / "cache"


def cached_file(cache: Path, url: str) -> Path:
    return cache / hashlib.sha1(url.encode()).hexdigest()


def test_download_is_cached_and_not_repeated(server: Server, cache: Path) -> None:
    assert read_file_cached(server.url, SHA256) == CONTENT
    assert [path.name for path in cache.iterdir()] == [hashlib.sha1(server.url.encode()).hexdigest()]
    assert cached_file(cache, server.url).read_bytes() == CONTENT
    assert read_file_cached(server.url, SHA256) == CONTENT
    assert read_file_cached(server.url) == CONTENT
    assert len(server.asked) == 1


def test_cached_file_is_read_offline(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_file_cached(server.url, SHA256)
    monkeypatch.setenv("FASTBPE_OFFLINE", "1")
    assert read_file_cached(server.url, SHA256) == CONTENT
    assert len(server.asked) == 1


def test_offline_error_names_file_folder_and_hash(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FASTBPE_OFFLINE", "1")
    with pytest.raises(OSError, match="FASTBPE_OFFLINE=1") as raised:
        read_file_cached(server.url, SHA256)
    for part in (server.url, str(cached_file(cache, server.url)), SHA256, "TIKTOKEN_CACHE_DIR"):
        assert part in str(raised.value)
    with pytest.raises(DownloadError):
        read_file(server.url)
    with pytest.raises(DownloadError):
        read_file("gs://bucket/file")
    assert not server.asked
    assert not cache.exists()


@pytest.mark.parametrize("value", ["0", ""])
def test_offline_variable_of_zero_or_empty_allows_downloads(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("FASTBPE_OFFLINE", value)
    assert read_file(server.url) == CONTENT


def test_wrong_hash_raises_value_error(server: Server, cache: Path) -> None:
    with pytest.raises(ValueError, match="Hash mismatch") as raised:
        read_file_cached(server.url, "0" * 64)
    assert "0" * 64 in str(raised.value)
    assert SHA256 in str(raised.value)
    assert not cache.exists()


def test_damaged_cached_copy_is_downloaded_again(server: Server, cache: Path) -> None:
    cache.mkdir()
    cached_file(cache, server.url).write_bytes(CONTENT[:-1])
    assert read_file_cached(server.url, SHA256) == CONTENT
    assert cached_file(cache, server.url).read_bytes() == CONTENT


def test_damaged_cached_copy_offline_raises_download_error(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir()
    cached_file(cache, server.url).write_bytes(b"")
    monkeypatch.setenv("FASTBPE_OFFLINE", "1")
    with pytest.raises(DownloadError, match="has another SHA-256"):
        read_file_cached(server.url, SHA256)


@pytest.mark.parametrize("path", ["/half", "/absent"])
def test_failed_download_raises_and_is_not_cached(server: Server, cache: Path, path: str) -> None:
    url = server.url.replace("/good", path)
    with pytest.raises(OSError, match=url):
        read_file_cached(url, SHA256)
    assert not cache.exists()


def test_unreachable_server_raises_os_error(server: Server, cache: Path) -> None:
    url = server.url
    server.shutdown()
    server.server_close()
    with pytest.raises(OSError, match="cannot be downloaded"):
        read_file_cached(url)


def test_empty_cache_variable_disables_the_cache(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert read_file_cached(server.url, SHA256) == CONTENT
    with pytest.raises(ValueError, match="Hash mismatch"):
        read_file_cached(server.url, "0" * 64)
    assert not cache.exists()


def test_cache_folder_follows_the_environment_variables(
    server: Server, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tmp_path / "other"))
    read_file_cached(server.url)
    assert cached_file(cache, server.url).exists()
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    read_file_cached(server.url)
    assert cached_file(tmp_path / "other", server.url).exists()
    monkeypatch.delenv("DATA_GYM_CACHE_DIR")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    read_file_cached(server.url)
    assert cached_file(tmp_path / "data-gym-cache", server.url).exists()


def test_unwritable_cache_warns_and_returns_the_data(server: Server, cache: Path) -> None:
    cache.write_text("a file, where a folder should be")
    with pytest.warns(UserWarning, match="cannot keep"):
        assert read_file_cached(server.url, SHA256) == CONTENT


def test_full_disk_warns_and_leaves_no_partial_file(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(file: object) -> None:
        file.write(CONTENT[:1000])  # type: ignore[attr-defined]
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(atomic_files, "write", lambda path, data: atomic_files.write_with(path, fill))
    with pytest.warns(UserWarning, match="no space left"):
        assert read_file_cached(server.url, SHA256) == CONTENT
    assert list(cache.iterdir()) == [], "no half file, and no file beside"


def test_unwritable_default_cache_does_not_warn(
    server: Server, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    (tmp_path / "data-gym-cache").write_text("")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert read_file_cached(server.url, SHA256) == CONTENT


@pytest.mark.daily
def test_concurrent_downloads_never_show_a_partial_file(server: Server, cache: Path) -> None:
    code = (
        "import sys; from fastbpe.tiktoken.load import read_file_cached\n"
        f"data = read_file_cached({server.url!r}, {SHA256!r}); assert len(data) == {len(CONTENT)}"
    )
    started = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    path = cached_file(cache, server.url)
    while any(process.poll() is None for process in started):
        if path.exists():
            assert path.read_bytes() == CONTENT, "a half file was seen"
        time.sleep(0.002)
    assert [process.wait() for process in started] == [0, 0, 0]
    assert list(cache.iterdir()) == [path]


def test_local_files_are_read_without_the_cache(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(CONTENT)
    assert read_file_cached(str(path), SHA256) == CONTENT == read_file(str(path))
    path.write_bytes(b"changed")
    assert read_file_cached(str(path)) == b"changed"
    with pytest.raises(ValueError, match="Hash mismatch"):
        read_file_cached(str(path), SHA256)
    with pytest.raises(FileNotFoundError):
        read_file_cached(str(tmp_path / "absent"))
    assert not cache.exists()


def test_urls_of_other_schemes_need_blobfile(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "blobfile", None)
    with pytest.raises(ImportError, match="pip install blobfile"):
        read_file_cached("az://bucket/file")
    with pytest.raises(ImportError, match="pip install blobfile"):
        load.dump_tiktoken_bpe({b"a": 0}, "az://bucket/file")


@pytest.mark.parametrize("content", [b"YQ==\n", b"YQ== x\n", b"YQ== 0\nYQ== 1\n", b"YQ== 0 1\n", b"", b"!! 0\n"])
def test_damaged_vocabulary_raises_value_error_with_its_path(cache: Path, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=str(path)):
        load.load_tiktoken_bpe(str(path))


def test_vocabulary_may_have_blank_lines_and_unused_ids(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(b"YQ== 5\r\n\r\nYg== 2\n\n")
    assert load.load_tiktoken_bpe(str(path)) == {b"a": 5, b"b": 2}


# Plug-ins.

PLUGIN = """
from tiktoken.load import load_tiktoken_bpe

def _arguments(name="mine"):
    from tiktoken.load import read_file
    ranks = load_tiktoken_bpe({path!r})
    return {{"name": name, "pat_str": r"\\w+|\\W+", "mergeable_ranks": ranks, "special_tokens": {{"<x>": 256}}}}

ENCODING_CONSTRUCTORS = {{{name!r}: _arguments}}
"""
USE = """
import json, sys
hidden = sys.argv[2:] == ["without"]
if hidden:  # as on a machine where tiktoken is not installed
    sys.path[:] = [path for path in sys.path if not path.endswith("-packages")]
sys.path.insert(0, sys.argv[1])
import fastbpe.tiktoken as tiktoken
try:
    encoding = tiktoken.get_encoding("mine")
    import pickle
    assert pickle.loads(pickle.dumps(encoding)) is encoding
    out = [encoding.encode("hi<x>", allowed_special="all"), tiktoken.list_encoding_names()]
except ValueError as error:
    out = str(error)
assert not hidden or "tiktoken" not in sys.modules
print(json.dumps(out))
"""


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """A folder for sys.path with a package that registers the encoding "mine" for tiktoken."""
    ranks = tmp_path / "ranks.tiktoken"
    load.dump_tiktoken_bpe({bytes([i]): i for i in range(256)}, str(ranks))
    (tmp_path / "path" / "tiktoken_ext").mkdir(parents=True)
    text = PLUGIN.format(path=str(ranks), name="mine")
    (tmp_path / "path" / "tiktoken_ext" / "plug.py").write_text(text, encoding="utf-8")
    return tmp_path / "path"


def use(plugins: Path, *arguments: str) -> object:
    command = [sys.executable, "-c", USE, str(plugins), *arguments]
    # A folder with nothing but fastbpe, since the folder it is installed in may hold tiktoken too.
    alone = plugins.with_name("alone")
    alone.mkdir(exist_ok=True)
    if not (alone / "fastbpe").exists():
        (alone / "fastbpe").symlink_to(SOURCES / "fastbpe", target_is_directory=True)
    environment = {**os.environ, "PYTHONPATH": str(alone), "TIKTOKEN_CACHE_DIR": "", "FASTBPE_OFFLINE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("mode", ["with", "without"])
def test_plugin_made_for_tiktoken_works(plugins: Path, mode: str) -> None:
    ids, names = use(plugins, mode)  # type: ignore[misc]
    assert ids == [104, 105, 256]
    assert names[-1] == "mine"
    assert names[:2] == ["gpt2", "r50k_base"]


def test_invalid_or_duplicate_plugin_raises(plugins: Path) -> None:
    folder = plugins / "tiktoken_ext"
    (folder / "empty.py").write_text("")
    assert "tiktoken_ext.empty does not define ENCODING_CONSTRUCTORS" in str(use(plugins, "with"))
    text = (folder / "plug.py").read_text().replace("'mine'", "'cl100k_base'")
    (folder / "empty.py").write_text(text)
    assert "Duplicate encoding name cl100k_base" in str(use(plugins, "with"))


def test_error_inside_a_plugin_is_not_mistaken_for_a_missing_name(plugins: Path) -> None:
    (plugins / "tiktoken_ext" / "plug.py").write_text("import json\njson.no_such_name")
    with pytest.raises(AssertionError, match="no_such_name"):
        use(plugins, "with")


def test_unknown_encoding_error_lists_the_plugins(plugins: Path) -> None:
    (plugins / "tiktoken_ext" / "plug.py").write_text("ENCODING_CONSTRUCTORS = {}")
    message = str(use(plugins, "without"))
    assert message.startswith("Unknown encoding mine")
    assert "tiktoken_ext.plug" in message
