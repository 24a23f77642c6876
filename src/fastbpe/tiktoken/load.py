"""Vocabulary files from a path or a URL, through the cache that tiktoken uses too."""

from __future__ import annotations

import binascii
import os
import warnings
from typing import Any

from fastbpe._core.text.bytes_to_unicode import bytes_to_unicode
from fastbpe.errors import CheckError, DownloadError, FormatError
from fastbpe.formats import atomic_files, rank_lines, tiktoken
from fastbpe.formats.byte_level import bytes_of
from fastbpe.model import N_BYTES
from fastbpe.tiktoken._encoding_methods import ranks_of_tables


def read_file(blobpath: str) -> bytes:
    """Read a file: a path, an http(s) URL, or a URL for the package `blobfile`.

    Raises:
        OSError: the file cannot be read or downloaded, or FASTBPE_OFFLINE=1 forbids the download.
        ImportError: `blobfile` is needed and not installed.
    """
    if "://" not in blobpath:
        with open(blobpath, "rb") as file:
            return file.read()
    from fastbpe.published import downloads  # here, as below: local files do not need it

    if blobpath.startswith(("http://", "https://")):
        return downloads.download(blobpath)
    downloads.check_allowed(blobpath)
    content: bytes = _blobfile(blobpath).read_bytes(blobpath)
    return content


def check_hash(data: bytes, expected_hash: str) -> bool:
    """Tell whether data has this SHA-256 (hexadecimal)."""
    import hashlib  # here: encodings without files do not need it

    return hashlib.sha256(data).hexdigest() == expected_hash


def read_file_cached(blobpath: str, expected_hash: str | None = None) -> bytes:
    """Read a file through tiktoken's cache.

    The cache is the folder in TIKTOKEN_CACHE_DIR, or else in DATA_GYM_CACHE_DIR ("": no cache). If neither is set,
    it is data-gym-cache in the folder for temporary files. A file's name there is the SHA-1 of its URL. A file is
    written whole or not at all, even if several processes write. If one of the variables is set and the folder
    cannot be written, a warning says so. A published file is also looked for where `fastbpe.load` finds it by
    name: in FASTBPE_VOCAB_DIR and in the cache that `fastbpe fetch` fills.

    Args:
        blobpath: path or URL. A path is read without the cache.
        expected_hash: SHA-256 (hexadecimal) of the file; a cached copy with another hash is not used.

    Raises:
        ValueError: the file does not have this SHA-256; the cache does not keep it.
        OSError: the file cannot be read. If a download to the cache failed, the message says which file to put
            where.
    """
    from fastbpe.published import find

    folder, is_chosen = find.tiktoken_cache()  # is_chosen: a variable of the environment names the folder
    if not folder or "://" not in blobpath:
        content = read_file(blobpath)
        _check(content, blobpath, expected_hash)
        return content
    path = os.path.join(folder, find.tiktoken_name(blobpath))
    kept = find.content_of(path)
    if kept is not None and (expected_hash is None or check_hash(kept, expected_hash)):
        return kept
    if (copy := find.published_copy(blobpath, expected_hash)) is not None:
        return copy
    try:
        content = read_file(blobpath)
    except DownloadError as error:
        state = "does not exist" if kept is None else "has another SHA-256"
        wanted = f" Its SHA-256 must be {expected_hash}." if expected_hash else ""
        raise DownloadError(
            f"{error}. In the cache, {path} {state}. Download {blobpath} on another machine and save it as this "
            f"file, or set TIKTOKEN_CACHE_DIR to a folder that contains a file of this name.{wanted}"
        ) from error
    _check(content, blobpath, expected_hash)
    try:
        os.makedirs(folder, exist_ok=True)
        atomic_files.write(path, content)
    except OSError as error:
        if is_chosen:
            warnings.warn(f"cannot keep {blobpath} in the cache: {error}", stacklevel=2)
    return content


def _check(content: bytes, source: str, expected_hash: str | None) -> None:
    if expected_hash is not None:
        from fastbpe.published import downloads

        downloads.check_hash(content, source, expected_hash)


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Return token → rank from a .tiktoken file.

    Args:
        tiktoken_bpe_file: path or URL, read by `read_file_cached`.
        expected_hash: SHA-256 (hexadecimal) of the file.

    Raises:
        ValueError: a line is not a token and rank, or the SHA-256 differs.
        OSError: the file cannot be read.
    """
    content = read_file_cached(tiktoken_bpe_file, expected_hash)
    tables = rank_lines.parse(content)
    if tables is None:  # unusual or damaged
        return tiktoken.parse_ranks(content, tiktoken_bpe_file)
    return ranks_of_tables(*tables)


def dump_tiktoken_bpe(bpe_ranks: dict[bytes, int], tiktoken_bpe_file: str) -> None:
    """Write a .tiktoken file, sorted by rank. A local file is written whole or not at all."""
    ordered = sorted(bpe_ranks.items(), key=lambda item: item[1])
    data = b"".join(b"%s %d\n" % (binascii.b2a_base64(token, newline=False), rank) for token, rank in ordered)
    if "://" not in tiktoken_bpe_file:
        atomic_files.write(tiktoken_bpe_file, data)
        return
    with _blobfile(tiktoken_bpe_file).BlobFile(tiktoken_bpe_file, "wb") as file:
        file.write(data)


def data_gym_to_mergeable_bpe_ranks(
    vocab_bpe_file: str,
    encoder_json_file: str,
    vocab_bpe_hash: str | None = None,
    encoder_json_hash: str | None = None,
    clobber_one_byte_tokens: bool = False,
) -> dict[bytes, int]:
    """Return token → rank from GPT-2's two files, merges and ids. The files must agree.

    Args:
        vocab_bpe_file, encoder_json_file: paths or URLs, read by `read_file_cached`.
        vocab_bpe_hash, encoder_json_hash: SHA-256 (hexadecimal) of the files.
        clobber_one_byte_tokens: take the ids of single bytes from the second file; else number them in the order
            of the characters that represent them in the files.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file is damaged, or its SHA-256 differs.
        AssertionError: the files contradict each other.
    """
    # Without the line of the version at the start, and the empty text after the last line end.
    lines = read_file_cached(vocab_bpe_file, vocab_bpe_hash).decode().split("\n")[1:-1]
    import json  # here: few programs read such files

    ids: dict[str, int] = json.loads(read_file_cached(encoder_json_file, encoder_json_hash))
    expected = {
        _token_bytes(text): i for text, i in ids.items() if text not in ("<|endoftext|>", "<|startoftext|>")
    }
    ranks = {bytes([byte]): i for i, byte in enumerate(bytes_to_unicode())}
    for number, line in enumerate(lines, 2):
        parts = line.split()
        if len(parts) != 2:
            raise FormatError(f"{vocab_bpe_file}:{number}: expected the two halves of a merge, found {line!r}")
        ranks[b"".join(map(_token_bytes, parts))] = N_BYTES + number - 2
    if clobber_one_byte_tokens:
        ranks |= {token: i for token, i in expected.items() if len(token) == 1}
    if ranks != expected:
        token, rank = min(ranks.items() ^ expected.items(), key=lambda item: item[1])
        raise CheckError(
            f"{vocab_bpe_file} and {encoder_json_file} differ; the first difference is at token {token!r}, id "
            f"{rank}"
        )
    return ranks


def _token_bytes(text: str) -> bytes:
    token = bytes_of(text)
    if not token:
        raise FormatError(
            f"the token {text!r} of GPT-2's files is empty, or has a character that represents no byte"
        )
    return token


def _blobfile(url: str) -> Any:
    try:
        import blobfile
    except ImportError:
        raise ImportError(f"{url} needs the package blobfile: pip install blobfile") from None
    return blobfile
