"""Downloads of vocabularies.

Only `fastbpe fetch NAME` and `fastbpe.tiktoken` (on a cache miss) download.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fastbpe._utils import file_locks
from fastbpe._utils.arguments import decimal
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.own_places import own_file
from fastbpe.errors import DownloadError, FormatError
from fastbpe.formats import detect
from fastbpe.known_vocabularies import VOCABULARIES
from fastbpe.published import find

if TYPE_CHECKING:
    from urllib.request import OpenerDirector

_TIMEOUT_SECONDS = 60  # seconds without a byte
_MAX_BYTES = 1 << 28  # bytes of a download
_TOKENIZER = "tokenizer.json"  # file that is fetched from a repository
_ENDPOINT = "https://huggingface.co"  # unless HF_ENDPOINT names another host
_CACHE_VARIABLE = {"darwin": "HOME", "win32": "LOCALAPPDATA"}.get(sys.platform, "XDG_CACHE_HOME")
_OTHER_CACHE = f"set {_CACHE_VARIABLE} to the absolute path of a folder of yours"  # advice in errors


class Fetched(NamedTuple):
    """File in the user's cache.

    path: str – the file.
    sha256: str – its hash, in hexadecimal.
    is_new: bool – whether this call downloaded it; False: it was already there.
    is_checked: bool – whether the hash equals the published one; False: no hash is published.
    """

    path: str
    sha256: str
    is_new: bool
    is_checked: bool


def fetch(name: str) -> Fetched:
    """Download a vocabulary by name into the user's cache, where `load` finds it.

    Args:
        name: str – a published vocabulary, a model of OpenAI, or ORG/NAME, a repository on huggingface.co, whose
            tokenizer.json is fetched. The environment variable HF_ENDPOINT replaces https://huggingface.co. If
            HF_TOKEN is set, only huggingface.co, or the host of HF_ENDPOINT, receives it.

    Raises:
        DownloadError: the name is not known, fastbpe knows no address of its file, the download failed, or
            FASTBPE_OFFLINE=1 forbids downloads.
        FormatError: the SHA-256 of the file is not the published one, or fastbpe cannot read it.
        OSError: the cache cannot be written, or belongs to another user.
        TypeError: name is not a str.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be str, not {type(name).__name__}")
    name = find.known_spelling(name)
    vocabulary = find.vocabulary_of(name)
    if vocabulary is None:
        return _fetch_repository(name)
    file = vocabulary.file
    path = os.path.join(find.user_cache(), file.name)
    with contextlib.suppress(OSError):
        if file.is_in(Path(path).read_bytes()):
            return Fetched(path, file.sha256, is_new=False, is_checked=True)
    if file.url is None:
        raise DownloadError(
            f"{name}: fastbpe cannot download {file.name} (SHA-256 {file.sha256}), which was converted from the "
            f"vocabulary of {file.repository}; put your copy into a folder that FASTBPE_VOCAB_DIR names, or run "
            f"fastbpe fetch {file.repository} and load {file.repository}"
        )
    content = download(file.url)
    check_hash(content, file.url, file.sha256)
    _keep(path, content)
    return Fetched(path, file.sha256, is_new=True, is_checked=True)


def _fetch_repository(name: str) -> Fetched:
    """Download the tokenizer.json of a repository on huggingface.co."""
    if not find.is_name(name) or "/" not in name:
        near = find.suggestion(name)
        raise DownloadError(
            f"{name}: no vocabulary of this name is published; {near}{' ' if near else ''}fastbpe knows "
            f"{', '.join(VOCABULARIES)}, the names of OpenAI's models, and ORG/NAME, a repository on "
            "huggingface.co"
        )
    endpoint = (os.environ.get("HF_ENDPOINT") or _ENDPOINT).rstrip("/")
    url = f"{endpoint}/{name}/resolve/main/{_TOKENIZER}"
    try:
        content = download(url, token=os.environ.get("HF_TOKEN"))
    except DownloadError as error:
        code = getattr(error.__cause__, "code", None)
        if code in (401, 403):
            raise DownloadError(
                f"{error}; if the repository exists, accept its terms at {endpoint}/{name} and set HF_TOKEN"
            ) from error
        if code == 404:
            near = find.suggestion(name)
            see = f"{near} Or see" if near else "see"
            raise DownloadError(f"{error}; {see} which files there are: {endpoint}/{name}/tree/main") from error
        raise
    detect.read(content)  # a FormatError now rather than when it is loaded
    path = os.path.join(find.user_cache(), *name.split("/"), _TOKENIZER)
    _keep(path, content)
    import hashlib  # here and below: only a download needs it

    return Fetched(path, hashlib.sha256(content).hexdigest(), is_new=True, is_checked=False)


def check_hash(content: bytes, source: str, sha256: str) -> None:
    """Raise FormatError unless a download has the expected hash. source: its address, for the error."""
    import hashlib

    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise FormatError(
            f"Hash mismatch for data downloaded from {source} (expected {sha256}, found {found}): it was damaged "
            "in transit, or it has changed; the download is discarded"
        )


def check_allowed(url: str) -> None:
    """Raise DownloadError if the environment variable FASTBPE_OFFLINE forbids downloads."""
    if os.environ.get("FASTBPE_OFFLINE", "0") not in ("", "0"):
        raise DownloadError(
            f"{url} is not downloaded: FASTBPE_OFFLINE={os.environ['FASTBPE_OFFLINE']} forbids downloads"
        )


def download(url: str, *, token: str | None = None) -> bytes:
    """Download a file from an http or https address.

    token: bearer token; it is sent only to the host of url, not to hosts of redirects.

    Raises:
        DownloadError: the download failed or is larger than 268 MB, or FASTBPE_OFFLINE forbids downloads.
    """
    check_allowed(url)
    import urllib.request  # here: files in a cache are read without it
    from http.client import HTTPException
    from urllib.error import HTTPError

    request = urllib.request.Request(url)
    if token:
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        with _opener().open(request, timeout=_TIMEOUT_SECONDS) as response:
            content: bytes = response.read(_MAX_BYTES + 1)
            expected = response.headers.get("Content-Length")
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, HTTPError):
            error.close()  # an HTTPError is an open response
        raise DownloadError(f"{url} cannot be downloaded: {error}") from error
    if len(content) > _MAX_BYTES:
        raise DownloadError(f"{url} cannot be downloaded: it has more than {_MAX_BYTES} bytes")
    # `read` with a size does not raise an error if the connection ends early.
    if expected is not None and expected.isdecimal() and len(content) < decimal(expected):
        raise DownloadError(
            f"{url} cannot be downloaded: the response ended after {len(content)} of {expected:.20} bytes; "
            "try again"
        )
    return content


def _opener() -> OpenerDirector:
    """Create a URL opener that follows only safe redirects."""
    from urllib.parse import urlsplit
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Redirects(HTTPRedirectHandler):
        """Redirect handler that sends the token only to the same host, and refuses to leave https."""

        def redirect_request(
            self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
        ) -> Request | None:
            redirected = super().redirect_request(req, fp, code, msg, headers, newurl)
            old, new = urlsplit(req.full_url), urlsplit(newurl)
            if old.scheme == "https" and new.scheme != "https":
                raise DownloadError(f"redirected to {newurl}, which is not https")
            if redirected is not None and (old.scheme, old.netloc) == (new.scheme, new.netloc):
                redirected.unredirected_hdrs.update(req.unredirected_hdrs)
            return redirected

    return build_opener(Redirects)


def _keep(path: str, content: bytes) -> None:
    """Write a file into the user's cache atomically; only this user can read it."""
    root = find.user_cache()
    if not os.path.isabs(root):
        raise DownloadError(f"{path}: this user has no home folder for the cache; {_OTHER_CACHE}")
    folder = os.path.dirname(path)
    os.makedirs(os.path.dirname(root), exist_ok=True)
    made = root
    _make_private_folder(made)
    for part in Path(folder).relative_to(root).parts:
        made = os.path.join(made, part)
        _make_private_folder(made)
    with own_file(path, 0o600) as beside:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        file_locks.replace(beside, path)  # replaces a symbolic link, and does not follow it


def _make_private_folder(folder: str) -> None:
    """Create a folder that only this user can enter; an existing folder gets these permissions.

    On Windows, only creates the folder; an existing path is not checked.

    Raises:
        PermissionError: the folder belongs to another user.
        NotADirectoryError: the path is not a folder.
    """
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    if os.name != "posix":
        return
    link, target = os.lstat(folder), os.stat(folder)  # equal, unless the folder is a symbolic link
    for found in (link, target):
        if found.st_uid != os.geteuid():
            raise PermissionError(
                f"{folder}: this folder belongs to another user (uid {found.st_uid}), who could change "
                "vocabularies in it; "
                f"remove it, or {_OTHER_CACHE}"
            )
    if not stat.S_ISDIR(target.st_mode):
        raise NotADirectoryError(f"{folder}: not a folder; remove it, or {_OTHER_CACHE}")
    if target.st_mode & 0o077:
        os.chmod(folder, 0o700)
