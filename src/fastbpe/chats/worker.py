"""Process that renders chat templates, with limits on processor time, memory and text."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.plurals import counted
from fastbpe.errors import ChatError

# Real seconds until a worker is killed: for each second of the limit on processor time, and for each run. A busy
# machine may give it little processor time, and some systems have no limit on that. The first sum counts once for
# all runs: each may use the processor up to its limit, but thousands that do would take hours.
PATIENCE = 5
PATIENCE_PER_RUN = 1
# Environment variables with which Python finds its libraries and packages. The worker gets no others, which may be
# secret.
_ENVIRONMENT = (
    *("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "PYTHONHOME", "PYTHONPATH"),
    *("PYTHONUSERBASE", "HOME", "APPDATA", "USERPROFILE"),  # for the packages of the user
)
_PROGRAM = Path(__file__).with_name("rendering.py")


class Limits(NamedTuple):
    """Limits of a worker.

    n_seconds: int – of processor time, for each run.
    max_memory_bytes: int – of the process.
    max_characters: int – of a rendered text.
    """

    n_seconds: int
    max_memory_bytes: int
    max_characters: int


class RenderingError(ChatError):
    """The worker could not start, or ended before it had rendered all texts."""


def rendered(template: str, runs: Sequence[Mapping[str, Any]], limits: Limits) -> list[str | ChatError]:
    """Render a template in a worker, once for each mapping of variables.

    Returns:
        For each run the text; or an error if the template is invalid or refuses the variables, or if the text or
        the memory exceeds its limit.

    Raises:
        RenderingError: a run takes too long, or the worker crashes, or the program has no Python for a worker.
    """
    if getattr(sys, "frozen", False):  # sys.executable is the program itself, such as PyInstaller's
        raise RenderingError(
            "chat template: a program without Python cannot start the process that renders it; run fastbpe with "
            "Python or, if you trust the template, call count_messages, which renders it in the program itself"
        )
    import subprocess  # here: `fastbpe count` starts this module, and only --messages needs it

    request = {
        "template": template,
        "runs": runs,
        "seconds": limits.n_seconds,
        "max_bytes": limits.max_memory_bytes,
        "max_characters": limits.max_characters,
    }
    too_long = f"chat template: it needs more than {counted(limits.n_seconds, 'second')}"
    try:
        done = subprocess.run(
            [sys.executable, str(_PROGRAM)],
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=PATIENCE * limits.n_seconds + PATIENCE_PER_RUN * len(runs),
            check=False,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        )
    except subprocess.TimeoutExpired:
        raise RenderingError(too_long) from None
    if done.returncode:
        if -done.returncode == getattr(signal, "SIGXCPU", None):
            raise RenderingError(too_long)
        ended = f"chat template: the process that renders it ended with the status {done.returncode}"
        if -done.returncode == getattr(signal, "SIGKILL", None):
            ended = (
                "chat template: the process that renders it was killed; perhaps this machine has too little memory"
            )
        raise RenderingError(ended)
    answers = map(json.loads, done.stdout.splitlines())
    return [
        ChatError(f"chat template: {answer['error']}") if "error" in answer else answer["text"]
        for answer in answers
    ]
