"""Calls made by helper threads: order, errors and shutdown; and encoding files with helpers."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fastbpe import Tokenizer
from fastbpe._utils import threads
from fastbpe._utils.threads import CallPool
from helpers.child_processes import run_python
from helpers.shared_data import standard_library


def start_no_thread(work: Callable[[], None], n_threads: int) -> int:
    return 0


@pytest.fixture(params=["threads", "no threads available"])
def with_or_without_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "threads":
        monkeypatch.setattr(threads, "start_beside", start_no_thread)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.usefixtures("with_or_without_threads")
def test_promises_return_results_and_errors_in_order(n_threads: int) -> None:
    def made(number: int) -> int:
        time.sleep(0.001 * (number % 3))
        return 10 // (number - 5)

    with CallPool(n_threads) as pool:
        promises = [pool.submit(lambda number=number: made(number)) for number in range(9)]
        for number, promise in enumerate(promises):
            if number == 5:
                with pytest.raises(ZeroDivisionError):
                    promise.result()
            else:
                assert promise.result() == 10 // (number - 5)


def test_thread_of_a_failed_call_drops_its_variables_itself() -> None:
    """Without a GIL, another thread may not clear a frame: its own may be leaving it."""
    callers, droppers = [], []

    class Variable:
        def __del__(self) -> None:
            droppers.append(threading.get_ident())

    def failed() -> None:
        variable = Variable()
        callers.append(threading.get_ident())
        raise ValueError(variable.__class__)

    with CallPool(1) as pool:
        future = pool.submit(failed)
        with pytest.raises(ValueError, match="Variable"):
            future.result()
    assert callers == droppers != [threading.get_ident()]


@pytest.mark.parametrize("n_threads", [0, 1, 2])
def test_thread_waiting_for_a_promise_makes_other_calls(n_threads: int) -> None:
    def made(number: int) -> tuple[int, int]:
        time.sleep(0.02)
        return number, threading.get_ident()

    with CallPool(n_threads) as pool:
        promises = [pool.submit(lambda number=number: made(number)) for number in range(8)]
        results = [pool.result(promise) for promise in promises]
    assert [number for number, _ in results] == list(range(8))
    assert threading.get_ident() in {ident for _, ident in results}
    assert len({ident for _, ident in results}) <= n_threads + 1


def test_num_threads_one_uses_only_the_calling_thread(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "text.txt"
    text.write_text(standard_library(6_000_000), encoding="utf-8")
    monkeypatch.setattr(threads, "start_beside", None)
    code_tokenizer.encode_files(text, tmp_path / "out.bin", num_threads=1, progress=False)
    ids = code_tokenizer.encode_ordinary(text.read_text(encoding="utf-8"), num_threads=1)
    assert memoryview((tmp_path / "out.bin").read_bytes()).cast("H").tolist() == ids


def test_shutdown_waits_for_running_calls_and_starts_no_others() -> None:
    made = []

    def slowly(number: int) -> None:
        made.append(number)
        time.sleep(0.1)
        made.append(-number)

    with CallPool(1) as pool:
        promises = [pool.submit(lambda number=number: slowly(number)) for number in range(1, 4)]
        while not made:
            time.sleep(0.001)
    assert made == [1, -1]
    assert [promise.is_done() for promise in promises] == [True, False, False]


def test_refused_allocation_never_blocks_a_waiting_thread() -> None:
    """Refuse one allocation after the other, then all from some point on: the waiting thread always gets an
    outcome."""
    pytest.importorskip("_testcapi")
    code = """
import _testcapi, _thread
from fastbpe._utils.threads import CallPool

class Call:
    def __init__(self, first, last):
        self.first, self.last = first, last
    def __call__(self):
        _testcapi.set_nomemory(self.first, self.last)
        return self

def refused(call):
    with CallPool(1) as pool:
        try:
            value = pool.submit(call).result()
        except MemoryError as error:
            value = error
        finally:
            _testcapi.remove_mem_hooks()
    assert value is call or isinstance(value, MemoryError), value

for first in range(12):
    for last in (first + 1, first + 2, first + 3, 0):
        refused(Call(first, last))
print("done")
"""
    assert run_python(code) == "done\n"


@pytest.mark.usefixtures("with_or_without_threads")
def test_files_are_encoded_with_or_without_threads(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "out.bin"
    text.write_text(standard_library(3_000_000), encoding="utf-8")
    code_tokenizer.encode_files(text, out, dtype="uint32", num_threads=2, progress=False)
    ids = code_tokenizer.encode_ordinary(text.read_text(encoding="utf-8"))
    assert memoryview(out.read_bytes()).cast("I").tolist() == ids


@pytest.mark.daily
def test_ctrl_c_during_encode_files_leaves_a_resumable_run(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    """No lock stays locked, and the last run gives the result of an uninterrupted one."""
    code_tokenizer.save(tmp_path / "small.fbpe")
    (tmp_path / "text.txt").write_text(standard_library(2_000_000) + " ".join("abc") * 700_000, encoding="utf-8")
    code = """
import signal, sys
from pathlib import Path
import numpy
import fastbpe
folder = Path(sys.argv[1])
tokenizer = fastbpe.load(folder / "small.fbpe")

def encode(name):
    tokenizer.encode_files(folder / "text.txt", folder / name, num_threads=2, progress=False, overwrite=True)
    return (folder / name).read_bytes()

wanted = encode("before.bin")
n_interrupted = 0
for turn in range(60):
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0007 * (turn + 1), 5)  # again, if a finalizer swallows one
        while True:
            encode("after.bin")
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0)
        n_interrupted += 1
assert encode("after.bin") == wanted
print(n_interrupted)
"""
    assert run_python(code, str(tmp_path)) == "60\n"
