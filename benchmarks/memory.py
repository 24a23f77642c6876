"""Peak memory of a part of a process, from the kernel's record of resident memory; None outside Linux.

VmHWM is reset at the start of the part and read at its end. (ru_maxrss cannot be reset: the memory of loading
would hide the peak of later parts.)
"""

from __future__ import annotations

from pathlib import Path


def reset_peak() -> int | None:
    """Restart the record of the peak, and return the resident bytes now."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        return _status("VmRSS")
    except OSError:
        return None


def peak_above(resident: int | None) -> int | None:
    """Return the peak of resident bytes since `reset_peak`, above the value that it returned."""
    return None if resident is None else _status("VmHWM") - resident


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {key}")
