"""Search for vocabularies by name in folders of this machine. Nothing is downloaded.

The search looks into, in this order:

1. the folders of FASTBPE_VOCAB_DIR and the user's cache, which `fastbpe fetch` fills, under readable file names;
2. the cache of tiktoken;
3. the cache of Hugging Face.

A published file is accepted only with its published SHA-256.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from fastbpe.errors import FormatError, VocabularyNotFoundError
from fastbpe.formats import detect, gpt2, tiktoken
from fastbpe.known_vocabularies import (
    GPT2_IDS,
    GPT2_MERGES,
    VOCABULARIES,
    KnownFile,
    KnownVocabulary,
    encoding_of_model,
)
from fastbpe.model import CodePointModel, Model
from fastbpe.patterns import PatternLike

_PART = r"[A-Za-z0-9][A-Za-z0-9._:-]*"
_NAME = re.compile(rf"{_PART}(?:/{_PART})?")
#: Suffixes of files; a text that ends with one is a path and no name.
_ENDINGS = (".fbpe", ".tiktoken", ".json", ".model", ".txt", ".bpe", ".bin", ".gguf", ".safetensors")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DEFAULT_TIKTOKEN_FOLDER = "data-gym-cache"


class Found(NamedTuple):
    """Vocabulary that was found by its name.

    model: content of the file.
    path: str – the file.
    unchecked: the published vocabulary that the model must equal, which the caller must check; None: the SHA-256
        of the file was right, or none is published.
    """

    model: Model | CodePointModel
    path: str
    unchecked: KnownVocabulary | None = None


def is_name(text: str) -> bool:
    """Tell whether a text may be the name of a vocabulary, model or repository, and is not a file name.

    >>> is_name("gpt-4o"), is_name("Qwen/Qwen2-7B"), is_name("vocab.tiktoken")
    (True, True, False)
    """
    return _NAME.fullmatch(text) is not None and ".." not in text and not text.endswith(_ENDINGS)


def vocabulary_of(name: str) -> KnownVocabulary | None:
    """Return the published vocabulary of a name, or of a model of OpenAI; None for other names."""
    return VOCABULARIES.get(name) or VOCABULARIES.get(encoding_of_model(name) or "")


def read(name: str, *, pattern: PatternLike, special_tokens: Mapping[str, int] | None) -> Found:
    """Read the vocabulary of a name from the first folder that has it.

    Args:
        name: str – a published vocabulary, a model of OpenAI, ORG/NAME on huggingface.co, or one of the user's.
        pattern: the split pattern, for files that hold none.
        special_tokens: name → id, for files that hold none; None: the vocabulary's.

    Raises:
        VocabularyNotFoundError: no folder has it; the message lists the paths that were tried.
        FormatError: a file of this name holds another vocabulary.
    """
    vocabulary = vocabulary_of(name)
    if vocabulary is None:
        return _read_unpublished(name, pattern, special_tokens)
    wrong = []
    looked_at = _published_paths(vocabulary.file)
    for path in looked_at:
        data = _bytes_of(path)
        if data is None:
            continue
        if vocabulary.file.is_in(data):
            model = tiktoken.parse(data, path, pattern=pattern, special_tokens=special_tokens, known=vocabulary)
            return Found(model, path)
        wrong.append(f"{path} has the SHA-256 {hashlib.sha256(data).hexdigest()}")
    if vocabulary.name == "gpt2" and (found := _read_gpt2(looked_at, pattern, special_tokens)) is not None:
        return found
    for path in _own_paths(vocabulary.name):
        looked_at.append(path)
        if os.path.exists(path):
            return Found(detect.read(path, pattern=pattern, special_tokens=special_tokens), path, vocabulary)
    file = vocabulary.file
    if wrong:
        raise FormatError(
            f"{name}: {'; '.join(wrong)}, but {file.name} as published has {file.sha256}: it is damaged or "
            f"another file; {_way_out(vocabulary)}"
        )
    raise VocabularyNotFoundError(
        errno.ENOENT,
        f"no such file or folder, and its vocabulary, {file.name} with the SHA-256 {file.sha256}, is not on this "
        f"machine; looked for {', '.join(looked_at)}; put it there, or into a folder that FASTBPE_VOCAB_DIR "
        f"names, or {_way_out(vocabulary)}",
        name,
    )


def _read_gpt2(
    looked_at: list[str], pattern: PatternLike, special_tokens: Mapping[str, int] | None
) -> Found | None:
    """Read GPT-2 from its two files in tiktoken's cache, where get_encoding("gpt2") puts them.

    Args:
        looked_at: list – the function appends the paths that it looks for.
        pattern, special_tokens: as for `read`.

    Returns:
        The vocabulary; None: the files are not there, or have another SHA-256.
    """
    cache, _ = tiktoken_cache()
    if not cache:
        return None
    paths = [os.path.join(cache, tiktoken_name(str(file.url))) for file in (GPT2_IDS, GPT2_MERGES)]
    looked_at += paths
    ids, merges = map(_bytes_of, paths)
    if ids is None or merges is None or not (GPT2_IDS.is_in(ids) and GPT2_MERGES.is_in(merges)):
        return None
    where = paths[0], paths[1]
    return Found(gpt2.parse(ids, merges, where, pattern=pattern, special_tokens=special_tokens), paths[0])


def published_copy(url: str, sha256: str | None) -> bytes | None:
    """Read a local copy of a published file.

    Args:
        url: str – its published address.
        sha256: str or None – the hash that the caller expects.

    Returns:
        Its bytes; None: it is not a published file, or no folder has a copy with this hash.
    """
    file = next((known.file for known in VOCABULARIES.values() if known.file.url == url), None)
    if file is None or file.sha256 != sha256:
        return None
    copies = (_bytes_of(os.path.join(folder, file.name)) for folder in _folders())
    return next(
        (data for data in copies if data is not None and len(data) == file.n_bytes and file.is_in(data)), None
    )


def user_cache() -> str:
    """Return the folder that `fastbpe fetch` fills, in the cache folder of the user."""
    if sys.platform == "win32":
        chosen, default = "LOCALAPPDATA", "~/AppData/Local"
    elif sys.platform == "darwin":
        chosen, default = "", "~/Library/Caches"
    else:
        chosen, default = "XDG_CACHE_HOME", "~/.cache"
    base = os.environ.get(chosen, "") if chosen else ""
    return os.path.join(base if os.path.isabs(base) else os.path.expanduser(default), "fastbpe")


def tiktoken_cache() -> tuple[str, bool]:
    """Return the folder where tiktoken keeps downloads, and whether an environment variable names it.

    The folder is "" if the variable switches the cache off.
    """
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return os.environ[variable], True
    return os.path.join(tempfile.gettempdir(), _DEFAULT_TIKTOKEN_FOLDER), False


def tiktoken_name(url: str) -> str:
    """Return the file name of an address in tiktoken's cache."""
    return hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()


def _huggingface_cache() -> str:
    """Return the folder where huggingface_hub keeps downloads."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(variable):
            return os.path.expanduser(os.environ[variable])
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    home = os.environ.get("HF_HOME") or os.path.join(caches, "huggingface")
    return os.path.join(os.path.expanduser(home), "hub")


def _folders() -> list[str]:
    """List the folders with readable file names."""
    named = os.environ.get("FASTBPE_VOCAB_DIR", "").split(os.pathsep)
    return [*filter(None, named), user_cache()]


def _published_paths(file: KnownFile) -> list[str]:
    """List the paths where a published file may be."""
    paths = [os.path.join(folder, file.name) for folder in _folders()]
    cache, _ = tiktoken_cache()
    if cache and file.url:
        paths.append(os.path.join(cache, tiktoken_name(file.url)))
    return paths


def _own_paths(name: str) -> list[str]:
    """List the paths of a native file or a model's folder of a name."""
    parts = name.split("/")
    return [os.path.join(folder, *parts) + ending for folder in _folders() for ending in (".fbpe", "")]


def _read_unpublished(name: str, pattern: PatternLike, special_tokens: Mapping[str, int] | None) -> Found:
    """Read a vocabulary of the user's own, or of a repository in Hugging Face's cache."""
    path = find_local(name)
    return Found(detect.read(path, pattern=pattern, special_tokens=special_tokens), path)


def find_local(name: str, revision: str = "main") -> str:
    """Find what `unpublished_path` finds.

    Raises:
        VocabularyNotFoundError: there is no such vocabulary; the message names the places and the way out.
    """
    path = unpublished_path(name, revision)
    if path is not None:
        return path
    looked_at = [*(_own_paths(name) if revision == "main" else ()), _repository(name)]
    if "/" in name:
        way_out = f"download the tokenizer.json of this repository on huggingface.co: fastbpe fetch {name}"
    else:
        way_out = (
            f"known names are {', '.join(VOCABULARIES)}, OpenAI's models, and ORG/NAME, a repository on "
            "huggingface.co"
        )
    raise VocabularyNotFoundError(
        errno.ENOENT,
        "no such file or folder, and no vocabulary of this name on this machine; looked for "
        f"{', '.join(looked_at)}; {way_out}",
        name,
    )


def unpublished_path(name: str, revision: str = "main") -> str | None:
    """Find the file or folder of a vocabulary of the user's own, or of a repository in Hugging Face's cache.

    Args:
        name: ORG/NAME of a repository, or a name of the user's own.
        revision: branch, tag or commit of the repository. Only "main" finds files of the user's own.

    Returns:
        The path; None if this machine has no copy.
    """
    own = _own_paths(name) if revision == "main" else []
    path = next(filter(os.path.exists, own), None)
    return _snapshot(_repository(name), revision) if path is None else path


def _repository(name: str) -> str:
    """Return the folder that a repository has in Hugging Face's cache."""
    return os.path.join(_huggingface_cache(), "models--" + name.replace("/", "--"))


def _snapshot(folder: str, revision: str) -> str | None:
    """Find the folder of a revision of a repository in Hugging Face's cache; "main" may also be its only one."""
    if not all(map(_REVISION.fullmatch, revision.split("/"))):
        return None
    snapshots = Path(folder, "snapshots")
    commit = revision
    if revision == "main" or not (snapshots / revision).is_dir():
        try:
            commit = Path(folder, "refs", revision).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            commits: Sequence[str] = os.listdir(snapshots) if revision == "main" and snapshots.is_dir() else ()
            commit = commits[0] if len(commits) == 1 else ""
    if not _REVISION.fullmatch(commit) or not (snapshots / commit).is_dir():
        return None
    return str(snapshots / commit)


def _way_out(vocabulary: KnownVocabulary) -> str:
    """Say how to get a published vocabulary, for errors."""
    if vocabulary.file.url:
        return f"download it: fastbpe fetch {vocabulary.name}"
    repository = vocabulary.file.repository
    return f"take the tokenizer that its publisher has: fastbpe fetch {repository}, and load that name"


def _bytes_of(path: str) -> bytes | None:
    """Read a file; None: it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError:  # it is not there, or not readable for this user
        return None
