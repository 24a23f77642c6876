"""Files that no user may write, not even root."""

import errno
import os
from typing import Any

import pytest


def refuse_writing(monkeypatch: pytest.MonkeyPatch, name: str, number: int = errno.EACCES) -> None:
    """Make files of this name unwritable: opening one to write it raises the error of this number."""
    may, opened = os.access, os.open

    def access(path: Any, mode: int, **options: Any) -> bool:
        return may(path, mode, **options) and not (mode == os.W_OK and os.path.basename(path) == name)

    def open_file(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if flags == os.O_WRONLY and os.path.basename(path) == name:
            raise OSError(number, os.strerror(number), path)
        return opened(path, flags, *rest, **options)

    monkeypatch.setattr(os, "access", access)
    monkeypatch.setattr(os, "open", open_file)
