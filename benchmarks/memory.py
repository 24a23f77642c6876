"""Peak memory of a part of a process, by the kernel's record of resident memory. Linux only: elsewhere None.

VmHWM, set back at the start of the part and read at its end. (ru_maxrss cannot be set back: what loading took
would hide what comes after it.)
"""

from __future__ import annotations

from pathlib import Path


def reset_peak() -> int | None:
    """Bytes resident now, from which on the peak is recorded anew."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        return _status("VmRSS")
    except OSError:
        return None


def peak_above(resident: int | None) -> int | None:
    """Bytes that were resident at most since `reset_peak` above what it returned."""
    return None if resident is None else _status("VmHWM") - resident


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {key}")
