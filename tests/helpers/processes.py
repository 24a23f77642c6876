"""Processes that share a run of the suite, with pytest-xdist."""

from __future__ import annotations

from typing import Any

import pytest

#: Most processes that a run gets without `-n`. Each takes up to several GB, so more of them are for who asks.
MAX_PROCESSES = 2


def n_processes(config: pytest.Config, n_cores: int) -> int | None:
    """Choose the number of processes of a run; None: leave it to pytest-xdist's options, or to one process.

    A run of the whole suite is shared. A run that names files, folders or tests, or chooses tests by `-k` or `-m`,
    stays in one process: another one would take longer to start. So does a run that somebody watches (`-s`,
    `--pdb`), and one where pytest-xdist is missing or its options are given.
    """
    option = config.option
    if not hasattr(option, "numprocesses") or hasattr(config, "workerinput"):
        return None
    if option.numprocesses is not None or option.tx or option.dist != "no":
        return None
    if config.args_source is pytest.Config.ArgsSource.ARGS or option.keyword or option.markexpr:
        return None
    if option.usepdb or option.trace or option.collectonly or option.capture == "no":
        return None
    return min(MAX_PROCESSES, n_cores) if n_cores > 1 else None


def sendable(value: Any) -> Any:
    """Return a report with lone surrogates written as escapes: pytest-xdist sends UTF-8 between processes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {sendable(key): sendable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(sendable, value))
    return value
