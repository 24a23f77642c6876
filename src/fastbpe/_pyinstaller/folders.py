"""Folders in which PyInstaller finds the hook."""

from __future__ import annotations

from pathlib import Path


def hook_folders() -> list[str]:
    return [str(Path(__file__).parent)]
