"""Keys and packed ids in memory: on this processor, and on a big-endian one if QEMU is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[3] / "tools" / "keys_check.c"


@pytest.mark.parametrize(
    ("compiler", "emulators"), [("cc", ()), ("s390x-linux-gnu-gcc", ("qemu-s390x", "qemu-s390x-static"))]
)
def test_keys_and_packed_ids_are_as_documented(compiler: str, emulators: tuple[str, ...], tmp_path: Path) -> None:
    emulator = next((name for name in emulators if shutil.which(name)), None)
    if shutil.which(compiler) is None or (emulators and emulator is None):
        pytest.skip(f"needs {' and '.join((compiler, *emulators[:1]))}")
    program = tmp_path / "keys_check"
    options = ["-std=gnu11", "-O1", *(["-static"] if emulator else [])]
    subprocess.run([compiler, *options, "-o", program, SOURCE], check=True)
    done = subprocess.run([*([emulator] if emulator else []), program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
