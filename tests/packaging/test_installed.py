"""Files that pip installs."""

from pathlib import Path

import pytest

import fastbpe

FOLDER = Path(fastbpe.__file__).parent
MAX_INSTALLED_MB = 14.5  # debug information alone would exceed it; 14.47 on 2026-11-28 (CPython 3.11, x86-64)


@pytest.mark.skipif("site-packages" not in FOLDER.parts, reason="fastbpe runs from its sources")
def test_installed_package_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < MAX_INSTALLED_MB * 1e6
