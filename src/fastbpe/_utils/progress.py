"""Progress of long calls: bars on stderr and a summary at the end, or calls of the caller's function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

#: Function of (name of the phase, units done, total units; None: not known).
ProgressFunction = Callable[[str, int, "int | None"], object]
Progress = bool | None | ProgressFunction

_CALL_INTERVAL = 0.1  # seconds between two calls of a progress function


class Reporter:
    """Progress of the phases of one call.

    Args:
        progress: True: bars on stderr; None: bars if stderr is a terminal; False: nothing. A function is called as
            progress(phase, done, total) at the beginning and end of each phase, and up to ten times per second in
            between. Its exceptions end the call.

    Attributes:
        shown: bool – whether bars are shown.
        seconds: name → seconds of each phase that has ended; phases with the same name are added up.

    Raises:
        TypeError: progress is not one of these.
    """

    def __init__(self, progress: Progress) -> None:
        if progress is not None and not isinstance(progress, bool) and not callable(progress):
            raise TypeError(f"progress must be True, False, None or a function, not {type(progress).__name__}")
        self.function = progress if callable(progress) else None
        self.shown = self.function is None and shows_bars(progress)  # type: ignore[arg-type]
        self.seconds: dict[str, float] = {}

    def phase(self, name: str, total: int | None, **options: Any) -> Phase:
        """Return the context manager of a phase.

        Args:
            name: str – name of the phase.
            total: int or None – total units of work; None: not known.
            **options: arguments for tqdm, such as unit="B".
        """
        return Phase(self, name, total, options)

    def summarise(self, lines: dict[str, str]) -> None:
        """If bars are shown, print one line per phase with its seconds, and one with the peak memory.

        Args:
            lines: name of a phase → text to print for it.
        """
        if not self.shown:
            return
        for name, line in lines.items():
            print(f"{name}: {line}, {self.seconds[name]:.2f} s", file=sys.stderr)
        if peak := peak_memory():
            print(f"peak memory: {peak / 1e6:,.0f} MB", file=sys.stderr)


def shows_bars(progress: bool | None) -> bool:
    """Tell whether to show bars.

    None: show them if stderr is a terminal. Without an open stderr, never show them.
    """
    stream: Any = sys.stderr
    if stream is None or getattr(stream, "closed", False):
        return False
    return hasattr(stream, "isatty") and stream.isatty() if progress is None else progress


class Phase:
    """Context manager of one phase of a call; `update` reports progress.

    Attributes:
        n: int – number of units done.
    """

    def __init__(self, reporter: Reporter, name: str, total: int | None, options: dict[str, Any]) -> None:
        self.n = 0
        self._reporter, self._name, self._total, self._options = reporter, name, total, options
        self._bar: Any = None

    def __enter__(self) -> Self:
        if self._reporter.shown:
            from tqdm import tqdm  # imported here: the import takes as long as fastbpe's own

            self._bar = tqdm(desc=self._name, total=self._total, **self._options)
        self._started = self._called = time.perf_counter()
        self._call()
        return self

    def update(self, n: int) -> None:
        """Report that n more units are done."""
        self.n += n
        if self._bar is not None:
            self._bar.update(n)
        elif self._reporter.function is not None and time.perf_counter() - self._called >= _CALL_INTERVAL:
            self._called = time.perf_counter()
            self._call()

    def reach(self, n: int) -> None:
        """Report that n units are done in all."""
        self.update(n - self.n)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        before = self._reporter.seconds.get(self._name, 0.0)  # seconds of earlier phases of this name
        self._reporter.seconds[self._name] = before + time.perf_counter() - self._started
        if self._bar is not None:
            self._bar.close()
        if kind is None:
            self._call()

    def _call(self) -> None:
        if self._reporter.function is not None:
            self._reporter.function(self._name, self.n, self._total)


def peak_memory() -> int | None:
    """Return the peak resident size of this process in bytes; None if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024  # bytes of a unit of ru_maxrss
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
