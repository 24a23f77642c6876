"""One small pool of threads for all tokenizers: made when first needed, forgotten by a forked child."""

from __future__ import annotations

import _thread
import contextlib
import os
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from weakref import WeakSet

from fastbpe._utils.arguments import integer

if TYPE_CHECKING:
    from queue import SimpleQueue

T = TypeVar("T")

_MAX_THREADS = 256
_WAIT = 1e-3  # seconds between two looks at whether threads have ended
_pool: _Pool | None = None


def usable_threads(num_threads: int | None) -> int:
    """How many threads a call may use: what it asks for, or FASTBPE_NUM_THREADS, or one for each usable core.

    What is asked for counts up to 256, for each may hold memory of its own.
    """
    if num_threads is None:
        chosen = os.environ.get("FASTBPE_NUM_THREADS", "")
        if not chosen:
            return usable_cores()
        if not chosen.isdecimal() or not int(chosen):
            raise ValueError(f"FASTBPE_NUM_THREADS={chosen!r}: give 1 or more")
        return min(int(chosen), _MAX_THREADS)
    if not isinstance(num_threads, int):
        num_threads = integer("num_threads", num_threads)
    if num_threads < 1:
        raise ValueError(f"num_threads={num_threads}: give 1 or more, or None")
    return min(num_threads, _MAX_THREADS)


class ForkSafeLock:
    """A lock to be used by `with`, again by the thread that has it, and free in a forked child whoever had it.

    That thread is not there to give it back. What it guards must be whole at any time, for a child may find it
    just before it is changed.
    """

    def __init__(self) -> None:
        self._lock = _thread.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(RuntimeError):  # it was had when it forked: this is a child
            self._lock.release()

    def renew(self) -> None:
        self._lock = _thread.RLock()


_locks: WeakSet[ForkSafeLock] = WeakSet()


def usable_cores() -> int:
    """How many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker:
    """A thread that is kept: what it does next, and the lock that it waits for when it has nothing to do."""

    __slots__ = ("is_dismissed", "wake", "work")

    def __init__(self, work: Callable[[], None]) -> None:
        self.work: Callable[[], None] | None = work
        self.is_dismissed = False
        self.wake = _thread.allocate_lock()
        self.wake.acquire()


class _Pool:
    """Threads that are kept. Who gives them work takes no lock, for an interrupt might leave it taken for ever.

    Nor is there a queue, whose module takes as long to import as half a megabyte to encode.

    idle: those that wait for work, or soon will. An interrupt can lose one: it then waits for good, and another
    takes its place.
    """

    def __init__(self) -> None:
        self.idle: list[_Worker] = []

    def start(self, work: Callable[[], None]) -> None:
        """Have a thread do it; RuntimeError where no thread can be started."""
        try:
            worker = self.idle.pop()
        except IndexError:
            _thread.start_new_thread(self._serve, (_Worker(work),))
            return
        try:
            worker.work = work
        finally:  # an interrupt in between shall not leave it waiting, with all that the work holds
            worker.wake.release()

    def dismiss(self) -> None:
        """Let the threads end that have no work."""
        for _ in range(len(self.idle)):
            try:
                worker = self.idle.pop()
            except IndexError:  # others were given work meanwhile
                return
            try:
                worker.is_dismissed = True
            finally:
                worker.wake.release()

    def _serve(self, worker: _Worker) -> None:
        while not worker.is_dismissed:
            if worker.work is not None:
                with contextlib.suppress(BaseException):  # what it raises, it has told those who wait for it
                    worker.work()
            worker.work = None  # and what it holds: the next may be long in coming
            try:
                self.idle.append(worker)
            except MemoryError:
                return  # where a thread is needed again, another is started
            worker.wake.acquire()


def end_idle_threads() -> None:
    """Let the threads end that wait for work; where work comes, others are started."""
    if _pool is not None:
        _pool.dismiss()


def start_beside(work: Callable[[], None], n_threads: int) -> int:
    """Run work in so many threads beside the calling one, or in fewer: it must be right with none at all.

    Returns how many were started. Work whose thread did not start may be run later: it must see then that there is
    nothing left to do.
    """
    global _pool
    if _pool is None and n_threads > 0:
        _pool = _Pool()
    n_started = 0
    try:
        while _pool is not None and n_started < min(n_threads, _MAX_THREADS):
            _pool.start(work)
            n_started += 1
    except (RuntimeError, MemoryError):  # the interpreter is shutting down, or may start no more threads
        pass
    return n_started


def wait_for(working: deque[None], interrupted: Callable[[], None] = lambda: None) -> None:
    """Wait until no thread has an item there any more, whatever signals come.

    working: a deque, for taking an item out of a list may ask for memory, to make the list smaller.
    interrupted: told of each; the last one is raised in the end.
    """
    interrupt: BaseException | None = None
    while working:
        try:
            time.sleep(_WAIT)
        except BaseException as error:
            interrupt = error
            interrupted()
    if interrupt is not None:
        raise interrupt


class Promise(Generic[T]):
    """What a call will have given, once some thread has made it.

    Telling the outcome takes no memory (slots, and a lock that is there already): where there is none, who waits
    is told of that.
    """

    __slots__ = ("_call", "_error", "_is_kept", "_told", "_value")

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._value: T | None = None
        self._error: BaseException | None = None
        self._is_kept = False
        self._told = _thread.allocate_lock()
        self._told.acquire()

    def keep(self) -> None:
        """Make the call. What is no mere error, such as an interrupt, is raised here, too."""
        try:
            self._value = self._call()
        except BaseException as error:
            self._error = error
            if not isinstance(error, Exception):
                raise
        finally:
            self._is_kept = True
            self._told.release()

    def fail(self, error: BaseException) -> None:
        """Give the error where the call could not be made; nothing if it has been."""
        if not self._is_kept:
            self._error = error
            self._is_kept = True
            self._told.release()

    def is_kept(self) -> bool:
        return self._is_kept

    def result(self) -> T:
        """Wait for it; raises what the call has raised. To be asked for once."""
        self._told.acquire()
        value, error, self._value, self._error = self._value, self._error, None, None  # it may be large
        if error is not None:
            raise error
        return cast("T", value)


class Helpers:
    """Threads beside the calling one, at most so many, that make calls in order; with none, it makes them itself.

    A context: at its end no more calls are begun, and those that are being made are waited for.
    """

    def __init__(self, n_threads: int) -> None:
        self._promises: SimpleQueue[Promise[Any] | None] = _queue()  # None: there will be no more
        self._working: deque[None] = deque()
        self._n_wanted, self._n_started = n_threads, 0
        self._ended = False

    def promise(self, call: Callable[[], T]) -> Promise[T]:
        """Have a call made."""
        promise = Promise(call)
        if self._n_started < self._n_wanted:
            self._n_started += start_beside(self._work, 1)
        if self._n_started:
            self._promises.put(promise)
        else:
            promise.keep()
        return promise

    def result(self, promise: Promise[T]) -> T:
        """What a promise gives; until it is kept, the calling thread makes calls, too."""
        from queue import Empty

        while not promise.is_kept():
            try:
                other = self._promises.get_nowait()
            except Empty:
                break
            if other is not None:
                other.keep()
        return promise.result()

    def __enter__(self) -> Helpers:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._promises.put(None)
        wait_for(self._working)

    def _work(self) -> None:
        while (promise := self._promises.get()) is not None:
            try:
                self._keep(promise)
            except BaseException as error:
                promise.fail(error)
            del promise  # and what it holds: the next may be long in coming
        self._promises.put(None)  # for the next thread

    def _keep(self, promise: Promise[Any]) -> None:
        self._working.append(None)
        try:
            if not self._ended:  # asked only now: __exit__ looks the other way round
                promise.keep()
        finally:
            self._working.pop()


def _queue() -> SimpleQueue[Any]:
    from queue import SimpleQueue  # here: most who import fastbpe start no thread

    return SimpleQueue()


def _forget() -> None:
    global _pool
    _pool = None
    for lock in _locks:
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
