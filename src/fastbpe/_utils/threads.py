"""Threads of the process, which all tokenizers share.

Threads are started when a call first needs them, and kept for the next call. A forked child forgets them, because
they do not exist there. `start_beside` runs work in them; `CallPool` runs single calls with results.
"""

# ruff: noqa: SIM105 - importing fastbpe runs this module, and must not import contextlib (tests/unit/test_imports.py)

from __future__ import annotations

import _thread
import os
import time
from collections import deque

from fastbpe._utils.arguments import decimal, integer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from queue import SimpleQueue
    from typing import Any

_MAX_THREADS = 256  # maximum threads that a call may choose or start: each may have its own memory
_POLL_INTERVAL = 1e-3  # seconds between two checks whether threads are still at work
_n_forks = 0  # forks between the process that imported this module and this process


def usable_threads(num_threads: int | None) -> int:
    """Return how many threads a call may use.

    Args:
        num_threads: int or None – number that the caller wants; None: FASTBPE_NUM_THREADS, or one per usable core.

    Returns:
        A number from 1 to 256.

    Raises:
        ValueError: num_threads is below 1, or FASTBPE_NUM_THREADS is not an integer of at least 1.
        TypeError: num_threads is not an integer.
    """
    if num_threads is None:
        chosen = os.environ.get("FASTBPE_NUM_THREADS", "")
        if not chosen:
            return min(usable_cores(), _MAX_THREADS)
        if not chosen.isdecimal() or not decimal(chosen):
            raise ValueError(f"FASTBPE_NUM_THREADS={chosen!r:.60}: must be an integer of at least 1")
        return min(decimal(chosen), _MAX_THREADS)
    num_threads = integer("num_threads", num_threads)
    if num_threads < 1:
        raise ValueError(f"num_threads={num_threads}: must be at least 1, or None")
    return min(num_threads, _MAX_THREADS)


class CallerNeeded(Exception):
    """Error of work that may need more stack than a thread of this module has: the caller's thread must do it.

    The work raises it only in a thread of this module (see `is_helper`); its caller runs it again.

    Threads of musl have 128 KiB, and only the program may choose another size for all threads to come.
    """


class _Local(_thread._local):
    is_helper = False  # the thread is one of this module


_local = _Local()


def is_helper() -> bool:
    """Tell whether the current thread is one that this module has started."""
    return _local.is_helper


class ForkSafeLock:
    """Reentrant lock that is free in a forked child, even if another thread of the parent holds it at the fork.

    That thread does not exist in the child and cannot release it. The guarded data must be consistent at every
    moment, since the fork may come in the middle of a change.
    """

    def __init__(self) -> None:
        self._locks = {_n_forks: _thread.RLock()}  # _n_forks of a process → its lock; parents' locks stay

    def __enter__(self) -> None:
        lock = self._locks.get(_n_forks)
        if lock is None:
            lock = self._locks.setdefault(_n_forks, _thread.RLock())  # one, even if several threads come at once
        lock.acquire()

    def __exit__(self, *_: object) -> None:
        lock = self._locks.get(_n_forks)
        try:
            if lock is not None:  # None: forked while locked, and the child has not used its own lock yet
                lock.release()
        except RuntimeError:  # forked while locked, and the child has used its own lock since
            pass


def usable_cores() -> int:
    """Return the number of cores that this process may run on; where the system cannot tell, of all cores.

    A limit on processor time, such as a container's, does not count.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker:
    """One thread of the process.

    Attributes:
        work: the function to run next; None: no work.
        is_dismissed: bool – the thread ends when it is woken.
        wake: lock that stays locked; releasing it wakes the idle thread, which locks it again.
    """

    __slots__ = ("is_dismissed", "wake", "work")

    def __init__(self, work: Callable[[], None]) -> None:
        self.work: Callable[[], None] | None = work
        self.is_dismissed = False
        self.wake = _thread.allocate_lock()
        self.wake.acquire()


class _KeptThreads:
    """Threads that wait for work.

    Callers hand out work without a lock, because an interrupt might leave it locked forever; append and pop of
    `idle` are atomic. A queue is not used either, because importing its module is slow.

    Attributes:
        idle: threads that wait, or are about to. If an interrupt loses a thread, it waits forever, and a new
            thread replaces it.
    """

    def __init__(self) -> None:
        self.idle: list[_Worker] = []

    def start(self, work: Callable[[], None]) -> None:
        """Run work in an idle thread or a new one.

        Raises:
            RuntimeError: no thread can be started.
        """
        try:
            worker = self.idle.pop()
        except IndexError:
            _thread.start_new_thread(self._serve, (_Worker(work),))
            return
        try:
            worker.work = work
        finally:  # even after an interrupt: a thread that is never woken would keep the objects of the work
            worker.wake.release()

    def dismiss(self) -> None:
        """End the threads that have no work."""
        for _ in range(len(self.idle)):
            try:
                worker = self.idle.pop()
            except IndexError:  # other callers have taken the rest in the meantime
                return
            try:
                worker.is_dismissed = True
            finally:
                worker.wake.release()

    def _serve(self, worker: _Worker) -> None:
        """Run work and wait for more, until dismissed; the body of each thread."""
        _local.is_helper = True
        while not worker.is_dismissed:
            if worker.work is not None:  # None: an interrupt in `start` came before the work was set
                try:
                    worker.work()
                except BaseException:  # work passes its errors on to its callers itself
                    pass
            worker.work = None  # releases its references: the next work may come much later
            try:
                self.idle.append(worker)
            except MemoryError:
                return  # the next call starts another thread
            worker.wake.acquire()


_kept_threads = _KeptThreads()


def end_idle_threads() -> None:
    """End the threads that wait for work; later calls start others."""
    _kept_threads.dismiss()


def start_beside(work: Callable[[], None], n_threads: int) -> int:
    """Run work in threads in addition to the calling one.

    Returns without waiting for them. Errors of the work are lost, so it must pass them on itself.

    Args:
        work: function without arguments, which each thread calls once. It must be correct in any number of
            threads, even none, and must return at once if it starts when there is nothing left to do.
        n_threads: int – number of threads to use at most, without the calling one; below 1: none.

    Returns:
        The number of threads that run it: at most 256, and fewer if the system refuses to start more.
    """
    n_started = 0
    try:
        while n_started < min(n_threads, _MAX_THREADS):
            _kept_threads.start(work)
            n_started += 1
    except (RuntimeError, MemoryError):  # the interpreter is shutting down, or may start no more threads
        pass
    return n_started


def wait_for(working: deque[None], interrupted: Callable[[], None] = lambda: None) -> None:
    """Wait until a deque is empty, even if signals interrupt the waiting.

    Args:
        working: a deque to which each thread appends an item before its work, and from which it pops an item
            after its work. A deque, not a list: popping from a list may allocate. A thread that appends after the
            deque was found empty must find nothing to do.
        interrupted: function to call at each interrupt; when the waiting ends, the last interrupt is raised.
    """
    interrupt: BaseException | None = None
    while working:
        try:
            time.sleep(_POLL_INTERVAL)
        except BaseException as error:
            interrupt = error
            interrupted()
    if interrupt is not None:
        raise interrupt


class Future:
    """Result of a call that some thread will run once.

    Storing the outcome allocates no memory (slots, and a lock created before), so that even a MemoryError can be
    stored.

    Args:
        call: function without arguments.
    """

    __slots__ = ("_call", "_done_lock", "_error", "_is_done", "_value")

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._value: Any = None
        self._error: BaseException | None = None
        self._is_done = False
        self._done_lock = _thread.allocate_lock()
        self._done_lock.acquire()

    def run(self) -> None:
        """Run the call. An exception that is not an Exception, such as KeyboardInterrupt, is also raised here."""
        try:
            self._value = self._call()
        except BaseException as error:
            self._error = error
            clear_frames(error)
            if not isinstance(error, Exception):
                raise
        finally:
            self._is_done = True
            self._done_lock.release()

    def fail(self, error: BaseException) -> None:
        """Store an error that prevented the call; do nothing if it has run."""
        if not self._is_done:
            self._error = error
            self._is_done = True
            self._done_lock.release()

    def is_done(self) -> bool:
        """Tell whether there is an outcome."""
        return self._is_done

    def result(self) -> Any:
        """Wait for the result and return it, or raise the error of the call.

        Call this only once: a second call would wait forever.
        """
        self._done_lock.acquire()
        value, error, self._value, self._error = self._value, self._error, None, None  # a result may be large
        if error is not None:
            try:
                raise error
            finally:
                del error  # this frame is in its traceback: they would be a cycle
        return value


def clear_frames(error: BaseException) -> None:
    """Drop the variables of all finished functions in the traceback of an error that another thread will raise.

    They may hold open files, and free-threaded Python frees the error only when the thread that had it runs again.
    Call this in the thread in which the error arose: without a GIL, a frame must not be cleared while its own
    thread leaves it. The errors along `__context__` are treated alike.
    """
    current: BaseException | None = error
    while current is not None:
        traceback = current.__traceback__
        while traceback is not None:
            try:
                traceback.tb_frame.clear()
            except RuntimeError:  # a function that still runs, or since Python 3.13 a suspended generator
                pass
            traceback = traceback.tb_next
        current = current.__context__


class CallPool:
    """Context manager for threads that start calls in the order of `submit`.

    At its end it waits for the running calls, and drops the calls that have not started. So `result` must not be
    called after the end. Only one thread may use the pool.

    Args:
        n_threads: int – number of threads in addition to the calling one. With 0, or if the system starts no
            thread, `submit` runs the call itself.
    """

    def __init__(self, n_threads: int) -> None:
        self._futures = _queue()  # of Future; None, which only __exit__ adds: there will be no more calls
        self._working: deque[None] = deque()
        self._n_wanted, self._n_started = n_threads, 0
        self._ended = False

    def submit(self, call: Callable[[], Any]) -> Future:
        """Queue a call, and start another thread if there are fewer than n_threads."""
        future = Future(call)
        if self._n_started < self._n_wanted:
            self._n_started += start_beside(self._work, 1)
        if self._n_started:
            self._futures.put(future)
        else:
            future.run()
        return future

    def result(self, future: Future) -> Any:
        """Wait for a result; meanwhile the calling thread also runs queued calls."""
        from queue import Empty

        while not future.is_done():
            try:
                other = self._futures.get_nowait()
            except Empty:
                break
            other.run()
        return future.result()

    def __enter__(self) -> CallPool:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._futures.put(None)
        wait_for(self._working)

    def _work(self) -> None:
        while (future := self._futures.get()) is not None:
            try:
                self._run(future)
            except BaseException as error:
                future.fail(error)
            del future  # releases its references: the next call may come much later
        self._futures.put(None)  # ends the next thread, too

    def _run(self, future: Future) -> None:
        self._working.append(None)
        try:
            if not self._ended:  # after append(): __exit__ sets _ended before it reads _working
                future.run()
        finally:
            self._working.pop()


def _queue() -> SimpleQueue[Any]:
    from queue import SimpleQueue  # imported here: most programs that import fastbpe start no thread

    return SimpleQueue()


def _forget_threads() -> None:
    """Forget the threads and the locks of the parent. Runs in a forked child."""
    global _kept_threads, _n_forks
    _kept_threads = _KeptThreads()
    _n_forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
