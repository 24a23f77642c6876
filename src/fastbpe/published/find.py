"""Search for vocabularies by name in folders of this machine. Nothing is downloaded.

For the name of a published vocabulary, the search covers, in this order:

1. the published file in the folders of FASTBPE_VOCAB_DIR and in the user's cache, which `fastbpe fetch` fills;
2. the same file in the cache of tiktoken, and for GPT-2 also its two files there;
3. NAME.fbpe, or a folder NAME, in the folders of 1.

For any other name, it covers 3, then the cache of Hugging Face. A published file is accepted only with its
published SHA-256, CRLF line endings aside.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.suggestions import did_you_mean, nearest
from fastbpe.errors import FormatError, VocabularyNotFoundError
from fastbpe.formats import detect, tiktoken
from fastbpe.known_vocabularies import (
    GPT2_IDS,
    GPT2_MERGES,
    MODEL_TO_ENCODING,
    VOCABULARIES,
    KnownFile,
    KnownVocabulary,
    encoding_of_model,
)
from fastbpe.model import CodePointModel, Model
from fastbpe.patterns import PatternLike

_PART = r"[A-Za-z0-9][A-Za-z0-9._:-]*(?<!:)"  # with ":" inside, as in openai:gpt-4o; c:/x is a path
_NAME = re.compile(rf"{_PART}(?:/{_PART})?")
#: Suffixes of files; a text that ends with one is a path, not a name.
ENDINGS = (".fbpe", ".tiktoken", ".json", ".model", ".txt", ".bpe", ".bin", ".gguf", ".safetensors")
#: Names for suggestions and completion. OpenAI's other models, such as gpt-4o-mini, are recognised by a prefix.
KNOWN_NAMES = (*VOCABULARIES, *MODEL_TO_ENCODING, "gpt-oss-20b", "gpt-oss-120b")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DEFAULT_TIKTOKEN_FOLDER = "data-gym-cache"  # in the folder for temporary files, as in tiktoken/load.py


class Found(NamedTuple):
    """Vocabulary found by name.

    model: content of the file.
    path: str – the file.
    unchecked: the published vocabulary that the model must equal, which the caller must check; None: the SHA-256
        of the file has been checked, or no SHA-256 is published.
    """

    model: Model | CodePointModel
    path: str
    unchecked: KnownVocabulary | None = None


def is_name(text: str) -> bool:
    """Tell whether a text may be the name of a vocabulary, model or repository, and is not a file name.

    >>> is_name("gpt-4o"), is_name("Qwen/Qwen2-7B"), is_name("vocab.tiktoken"), is_name("c:/vocab")
    (True, True, False, False)
    """
    # huggingface.co allows no ".." in a name.
    return _NAME.fullmatch(text) is not None and ".." not in text and not text.endswith(ENDINGS)


def vocabulary_of(name: str) -> KnownVocabulary | None:
    """Return the published vocabulary for its name, or for the name of an OpenAI model; None for other names."""
    return VOCABULARIES.get(name) or VOCABULARIES.get(encoding_of_model(name) or "")


def known_spelling(name: str) -> str:
    """Return a name in its publisher's spelling if only the case differs; else the name unchanged.

    >>> known_spelling("GPT-4o"), known_spelling("Qwen/Qwen2-7B")
    ('gpt-4o', 'Qwen/Qwen2-7B')
    """
    lower = name.lower()
    return lower if vocabulary_of(name) is None and vocabulary_of(lower) is not None else name


def suggestion(name: str) -> str:
    """Return "did you mean ...?" with files or known names that are similar to a name, or "".

    For a path, ORG/NAME or PROVIDER:NAME, the last part must be similar to a known name, or to a file in the same
    folder.

    >>> suggestion("gpt4o"), suggestion("azure/gpt-4o"), suggestion("gpt-4o.json")
    ('did you mean gpt-4o?', 'did you mean gpt-4o?', '')
    """
    if (near_file := _file_like(name)) or name.endswith(ENDINGS):
        return near_file
    *before, last = re.split("[/:]", name)
    if not before:
        return did_you_mean(last, KNOWN_NAMES)
    spelled = known_spelling(last)
    near = [spelled] if vocabulary_of(spelled) else nearest(last, KNOWN_NAMES, exact=True)
    return f"did you mean {near[0]}?" if near else ""


def read(name: str, *, pattern: PatternLike, special_tokens: Mapping[str, int] | None) -> Found:
    """Read a vocabulary by name from the first folder that contains it.

    Args:
        name: a published vocabulary, a model of OpenAI, ORG/NAME on huggingface.co, or one of the user's.
        pattern, special_tokens: for files that do not contain them; None: as in the published vocabulary.

    Raises:
        VocabularyNotFoundError: no folder contains it; its `looked_at` lists the paths that were tried.
        FormatError: a file with this name is damaged, or contains another vocabulary.
    """
    vocabulary = vocabulary_of(name)
    if vocabulary is None:
        if (path := unpublished_path(name)) is not None:
            return Found(detect.read(path, pattern=pattern, special_tokens=special_tokens), path)
        if (spelled := known_spelling(name)) != name:
            return read(spelled, pattern=pattern, special_tokens=special_tokens)
        raise _unknown(name)
    wrong = []
    for path in _published_paths(vocabulary.file):
        data = content_of(path)
        if data is None:
            continue
        if vocabulary.file.is_in(data):
            model = tiktoken.parse(data, path, pattern=pattern, special_tokens=special_tokens, known=vocabulary)
            return Found(model, path)
        import hashlib  # here and below: most calls do not need it

        wrong.append(f"{path} has the SHA-256 {hashlib.sha256(data).hexdigest()}")
    if vocabulary.name == "gpt2" and (found := _read_gpt2(pattern, special_tokens)) is not None:
        return found
    for path in _own_paths(vocabulary.name):
        if os.path.exists(path):
            return Found(detect.read(path, pattern=pattern, special_tokens=special_tokens), path, vocabulary)
    file = vocabulary.file
    if wrong:
        raise FormatError(
            f"{name}: {'; '.join(wrong)}, but the published {file.name} has {file.sha256}: a file with another "
            f"hash is damaged or is not that file; {_way_out(vocabulary)}"
        )
    raise missing(
        name,
        f"no such file or folder, and its vocabulary {vocabulary.name} is not on this machine; "
        f"{_way_out(vocabulary)}, or put {file.name} (SHA-256 {file.sha256}) into a folder that FASTBPE_VOCAB_DIR "
        "names",
    )


def places(name: str) -> list[str]:
    """List the files and folders where `read` looks for a name, in its order."""
    vocabulary = vocabulary_of(name)
    if vocabulary is None:
        spelled = known_spelling(name)
        return [*_own_paths(name), _repository(name), *(places(spelled) if spelled != name else ())]
    gpt2_paths = _gpt2_paths() if vocabulary.name == "gpt2" else []
    return [*_published_paths(vocabulary.file), *gpt2_paths, *_own_paths(vocabulary.name)]


def missing(name: str, message: str) -> VocabularyNotFoundError:
    """Create the error for a name or path that was not found.

    If `name` may be the name of a vocabulary, the error counts the searched places, and says how to list them.
    """
    looked_at = tuple(places(name)) if is_name(name) else ()
    if looked_at:
        message += f" (`fastbpe fetch --list {name}` shows the {len(looked_at)} places searched)"
    error = VocabularyNotFoundError(errno.ENOENT, message, name)
    error.looked_at = looked_at
    return error


def _unknown(name: str) -> VocabularyNotFoundError:
    """Create the error for a name that is neither published nor on this machine."""
    near = suggestion(name)
    if "/" in name:
        way_out = f"download the tokenizer.json of this repository on huggingface.co: fastbpe fetch {name}"
        way_out = f"{near} Or {way_out}" if near else way_out
    else:
        way_out = near or (
            f"known names are {', '.join(VOCABULARIES)}, OpenAI's models, and ORG/NAME, a repository on "
            "huggingface.co"
        )
    message = f"no such file or folder, and no vocabulary of this name on this machine; {way_out}"
    return missing(name, message)


def _file_like(name: str) -> str:
    """Return "did you mean ...?" with the files whose paths are similar to a path, or ""."""
    folder, last = os.path.split(name)
    try:
        files = os.listdir(folder or ".")
    except OSError:
        return ""
    # Most .txt files are not vocabularies.
    tokenizers = [one for one in files if one.endswith(ENDINGS) and not one.endswith(".txt")]
    near = [os.path.join(folder, one) for one in nearest(last, tokenizers)]
    return f"did you mean {' or '.join(near)}?" if near else ""


def _gpt2_paths() -> list[str]:
    """List the paths of GPT-2's two files in tiktoken's cache, where get_encoding("gpt2") puts them."""
    cache, _ = tiktoken_cache()
    return [os.path.join(cache, tiktoken_name(str(file.url))) for file in (GPT2_IDS, GPT2_MERGES)] if cache else []


def _read_gpt2(pattern: PatternLike, special_tokens: Mapping[str, int] | None) -> Found | None:
    """Read GPT-2 from its two files in tiktoken's cache; None: they are not there, or have another SHA-256."""
    paths = _gpt2_paths()
    if not paths:
        return None
    ids, merges = map(content_of, paths)
    if ids is None or merges is None or not (GPT2_IDS.is_in(ids) and GPT2_MERGES.is_in(merges)):
        return None
    from fastbpe.formats import gpt2  # here: only this vocabulary needs it

    where = paths[0], paths[1]
    return Found(gpt2.parse(ids, merges, where, pattern=pattern, special_tokens=special_tokens), paths[0])


def published_copy(url: str, sha256: str | None) -> bytes | None:
    """Read a local copy of a published file; None: it is not published with this hash, or no folder has a copy.

    url, sha256: its published address, and the hash that the caller expects. A copy with CRLF line endings, which
    has another hash, does not count.
    """
    file = next((known.file for known in VOCABULARIES.values() if known.file.url == url), None)
    if file is None or file.sha256 != sha256:
        return None
    copies = (content_of(os.path.join(folder, file.name)) for folder in _folders())
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
    # The XDG Base Directory Specification says to ignore a relative path.
    return os.path.join(base if os.path.isabs(base) else os.path.expanduser(default), "fastbpe")


def tiktoken_cache() -> tuple[str, bool]:
    """Return the folder where tiktoken stores downloads, and whether an environment variable sets it.

    The folder is "" if the variable switches the cache off.
    """
    import tempfile  # here: most calls do not need it

    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return os.environ[variable], True
    return os.path.join(tempfile.gettempdir(), _DEFAULT_TIKTOKEN_FOLDER), False


def tiktoken_name(url: str) -> str:
    """Return the file name of an address in tiktoken's cache."""
    import hashlib

    return hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()


def _huggingface_cache() -> str:
    """Return the folder where huggingface_hub keeps downloads. As there, values may have `~` and `$NAME`."""
    folder = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    if not folder:
        caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        folder = os.path.join(os.environ.get("HF_HOME") or os.path.join(caches, "huggingface"), "hub")
    return os.path.expandvars(os.path.expanduser(folder))


def _folders() -> list[str]:
    """List the folders in which files have their own names, unlike in tiktoken's cache."""
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
    """List the paths where a name's native file or model folder may be."""
    parts = name.split("/")
    return [os.path.join(folder, *parts) + ending for folder in _folders() for ending in (".fbpe", "")]


def find_local(name: str, revision: str = "main") -> str:
    """Return the path of a vocabulary as `unpublished_path` does, or raise an error if it is not found.

    Raises:
        VocabularyNotFoundError: there is no such vocabulary; its `looked_at` lists the places.
    """
    path = unpublished_path(name, revision)
    if path is not None:
        return path
    repository = _repository(name)
    if "/" in name and is_name(name):
        at = "" if revision == "main" else f" at revision {revision!r}"
        said = (
            f"no such folder, and {repository} has no copy of this repository{at}; download the tokenizer.json of "
            f"this repository on huggingface.co: fastbpe fetch {name}"
        )
    else:
        said = "no such folder; pass a folder, or ORG/NAME, a repository on huggingface.co"
    error = VocabularyNotFoundError(errno.ENOENT, said, name)
    error.looked_at = (*(_own_paths(name) if revision == "main" else ()), repository)
    raise error


def unpublished_path(name: str, revision: str = "main") -> str | None:
    """Find the file or folder of the user's own vocabulary, or of a repository in Hugging Face's cache.

    Returns None if this machine has no copy.

    revision: branch, tag or commit of the repository. The user's own files are found only with "main".
    """
    own = _own_paths(name) if revision == "main" else []
    path = next(filter(os.path.exists, own), None)
    return _snapshot(_repository(name), revision) if path is None else path


def _repository(name: str) -> str:
    """Return the folder of a repository in Hugging Face's cache."""
    return os.path.join(_huggingface_cache(), "models--" + name.replace("/", "--"))


def _snapshot(folder: str, revision: str) -> str | None:
    """Find the folder of a repository's revision in Hugging Face's cache. "main" also finds the only revision."""
    if not all(map(_REVISION.fullmatch, revision.split("/"))):  # else ".." could lead out of the folder
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
    return f"use its publisher's tokenizer: fastbpe fetch {repository}, and load {repository}"


def content_of(path: str) -> bytes | None:
    """Read a file; None: it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError:  # it does not exist, or this user may not read it
        return None
