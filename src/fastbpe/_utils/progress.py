"""Telling how far a long call has come: bars on stderr and a summary at the end, or a function of the caller's."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

Tell = Callable[[str, int, "int | None"], object]  # phase, done, total (None: not known)
Progress = bool | None | Tell

_TELL_EVERY = 0.1  # seconds


class Reporter:
    """What the phases of one call tell their progress to.

    progress: True, bars on stderr; None, only where stderr is a terminal; False, nothing; a function is called
    as progress(phase, done, total) at the beginning and at the end of each phase and ten times a second between.
    An exception of that function ends the call.
    """

    def __init__(self, progress: Progress) -> None:
        if progress is not None and not isinstance(progress, bool) and not callable(progress):
            raise TypeError(f"progress must be True, False, None or a function, not {type(progress).__name__}")
        self.tell = progress if callable(progress) else None
        self.shown = self.tell is None and shows_bars(progress)  # type: ignore[arg-type]
        self.seconds: dict[str, float] = {}  # of each phase that is over

    def phase(self, name: str, total: int | None, **options: Any) -> Phase:
        """The phase that begins now; options are tqdm's."""
        return Phase(self, name, total, options)

    def summarise(self, lines: dict[str, str]) -> None:
        """Write, where bars are shown, a line for each phase, with its seconds, and one for the peak of memory."""
        if not self.shown:
            return
        for name, line in lines.items():
            print(f"{name}: {line}, {self.seconds[name]:.2f} s", file=sys.stderr)
        if peak := peak_memory():
            print(f"peak memory: {peak / 1e6:,.0f} MB", file=sys.stderr)


def shows_bars(progress: bool | None) -> bool:
    """Whether bars are shown on stderr: as asked, or, for None, where it is a terminal. It may not be there."""
    stream: Any = sys.stderr
    if stream is None or getattr(stream, "closed", False):
        return False
    return hasattr(stream, "isatty") and stream.isatty() if progress is None else progress


class Phase:
    """One phase of a call, as a context manager: `update(n)` says that n more are done."""

    def __init__(self, reporter: Reporter, name: str, total: int | None, options: dict[str, Any]) -> None:
        self.n = 0
        self._reporter, self._name, self._total, self._options = reporter, name, total, options
        self._bar: Any = None

    def __enter__(self) -> Self:
        if self._reporter.shown:
            from tqdm import tqdm  # as long to import as all of fastbpe

            self._bar = tqdm(desc=self._name, total=self._total, **self._options)
        self._started = self._told = time.perf_counter()
        self._say()
        return self

    def update(self, n: int) -> None:
        """n more are done."""
        self.n += n
        if self._bar is not None:
            self._bar.update(n)
        elif self._reporter.tell is not None and time.perf_counter() - self._told >= _TELL_EVERY:
            self._told = time.perf_counter()
            self._say()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reporter.seconds[self._name] = time.perf_counter() - self._started
        if self._bar is not None:
            self._bar.close()
        if kind is None:
            self._say()

    def _say(self) -> None:
        if self._reporter.tell is not None:
            self._reporter.tell(self._name, self.n, self._total)


def peak_memory() -> int | None:
    """The most bytes that this process ever had resident; None where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
