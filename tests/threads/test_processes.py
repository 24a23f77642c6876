"""Forks, worker processes of every start method, and Ctrl-C, each in a separate process with an alarm."""

import multiprocessing
from pathlib import Path

import pytest

from helpers.child_processes import run_python

pytestmark = pytest.mark.daily

#: A long text and its ids by one thread, short texts, and `in_child(work)`, which fails if work fails in a fork.
BEGIN = """
import numpy  # now, because an interrupt during its import would be an ImportError
import multiprocessing, os, signal, sys, threading, time
import fastbpe
tokenizer = fastbpe.Tokenizer.from_ranks(
    {**{bytes([i]): i for i in range(256)}, b" t": 256, b"th": 257, b"the": 258, b"er": 259}, pattern="cl100k"
)
long = "the other three threads " * 20_000
short = ["the other three threads %d" % i for i in range(30_000)]
expected = tokenizer.encode(long, num_threads=1)
def check(t=tokenizer, n=2):
    assert t.encode(long, num_threads=n) == expected
    assert t.encode_batch([long, "", long], num_threads=n) == [expected, [], expected]
    assert t.count_batch([long, long], num_threads=n).tolist() == [len(expected)] * 2
def in_child(work):
    child = os.fork()
    if not child:
        try:
            signal.alarm(60)
            work()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""

forking = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork on this system"
)


def test_race_in_a_process_that_nobody_waits_for_fails_the_test() -> None:
    code = "import sys; print('WARNING: ThreadSanitizer: data race', file=sys.stderr)"
    with pytest.raises(AssertionError, match="data race"):
        run_python(code)


@forking
def test_child_forked_after_a_batch_can_encode() -> None:
    code = """
check()
for _ in range(5):
    in_child(check)
in_child(lambda: in_child(check))
in_child(lambda: None)  # exits without using the tokenizer
check()
print("done")
"""
    assert run_python(BEGIN + code) == "done\n"


@forking
def test_child_forked_during_a_call_of_transformers_can_call() -> None:
    """Another thread of the parent holds all locks that calls take; it does not exist in the child."""
    pytest.importorskip("transformers")
    code = """
import tokenizers
from transformers import PreTrainedTokenizerFast
from fastbpe.transformers import accelerate, classes, handled_call, patch, patching, unpatch, watching
from fastbpe.transformers.engine import engine_of
made = tokenizers.Tokenizer(tokenizers.models.BPE({c: i for i, c in enumerate("ab")} | {"ab": 2}, [("a", "b")]))
made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
hf = accelerate(PreTrainedTokenizerFast(tokenizer_object=made))
expected = hf(["abab"])[0].ids
held = threading.Event()
def hold():
    with classes._lock, engine_of(hf)._lock, handled_call._lock, patching._lock, watching._lock:
        held.set()
        time.sleep(300)
threading.Thread(target=hold, daemon=True).start()
assert held.wait(60)
def call():
    hf.backend_tokenizer.add_tokens(["<new>"])  # the next call makes the tables again
    assert hf(["abab"])[0].ids == expected
    assert classes.accelerated_class(PreTrainedTokenizerFast) is type(hf)
    patch()
    assert PreTrainedTokenizerFast(tokenizer_object=made)("abab").input_ids == expected
    unpatch()
in_child(call)
print("done")
"""
    assert run_python(BEGIN + code) == "done\n"


@forking
def test_child_forked_during_a_cached_computation_can_encode() -> None:
    """The child has no such thread that could release the lock or finish its work."""
    code = """
from fastbpe._utils.caching import cached_property
from fastbpe.tokenizer.tokenizer import Tokenizer
model = fastbpe.train(["ab"], mode="codepoint", vocab_size=50, hard_vocab_limit=False, progress=False)
expected = model.encode("ab a")
model = Tokenizer(model._family.own)
class Slow:
    @cached_property
    def value(self):
        begun.set()
        may_end.wait()
        return 5
begun, may_end = threading.Event(), threading.Event()
def work():
    with model._family._lock:
        Slow().value
def ask():
    global may_end
    may_end = threading.Event()
    may_end.set()
    assert model.encode("ab a") == expected
    assert Slow().value == 5
    with model._family._lock:
        in_child(lambda: model.encode("b"))
thread = threading.Thread(target=work)
thread.start()
begun.wait()
in_child(ask)
may_end.set()
thread.join()
ask()
print("done")
"""
    assert run_python(BEGIN + code) == "done\n"


@forking
def test_child_has_the_garbage_collector_of_its_parent() -> None:
    code = """
import gc
texts = ["the other three threads " * 500] * 2000
done = threading.Event()
def work():
    while not done.is_set():
        tokenizer.encode_batch(texts, num_threads=2)
        tokenizer.encode_batch(texts, num_threads=1)
worker = threading.Thread(target=work)
worker.start()
def ask():
    assert gc.isenabled()
try:
    for turn in range(20):
        time.sleep(0.003)
        assert gc.isenabled()
        in_child(ask)
finally:
    done.set()
worker.join()
print("done")
"""
    assert run_python(BEGIN + code) == "done\n"


@forking
def test_child_forked_during_a_batch_can_encode() -> None:
    code = """
check()  # otherwise the fork may happen during an import, whose lock the child would wait for for ever
done = threading.Event()
def work():
    while not done.is_set():
        check(n=3)
workers = [threading.Thread(target=work) for _ in range(2)]
for worker in workers:
    worker.start()
time.sleep(0.1)
try:
    for turn in range(12):
        in_child(check)
        time.sleep(0.003 * turn)
finally:
    done.set()
for worker in workers:
    worker.join()
check()
print("done")
"""
    assert run_python(BEGIN + code) == "done\n"


#: Runs a file as `python FILE` would.
AS_SCRIPT = """
import sys
sys.argv = sys.argv[1:]
main = sys.modules["__main__"]
main.__file__ = sys.argv[0]
exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"), main.__dict__)
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_workers_of_every_start_method_can_encode(method: str, tmp_path: Path) -> None:
    code = """
def in_worker(tokenizer):
    check(tokenizer)
    return tokenizer.encode_batch(["the other", long])[0]
if __name__ == "__main__":
    check()  # uses threads before the processes start
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        assert pool.map(in_worker, [tokenizer] * 4) == [tokenizer.encode("the other")] * 4
    check()
    print("done")
"""
    script = tmp_path / "workers.py"  # spawned workers read the file again
    script.write_text(BEGIN + code)
    assert run_python(AS_SCRIPT, str(script), method) == "done\n"


@pytest.mark.parametrize("n", [1, 3])
def test_ctrl_c_interrupts_a_long_call(n: int) -> None:
    """The call ends early, no thread continues, and the tokenizer stays usable. tools/faults.py
    times it."""
    code = """
signal.alarm(100)
n = int(sys.argv[1])
unsplit = fastbpe.Tokenizer.from_ranks({token: i for i, token in enumerate(tokenizer.vocab)}, pattern=None)
huge, uncut, piece = long * 400, "x1." * 10_000_000, "the" * 20_000_000
for call in (
    lambda: tokenizer.encode(huge, num_threads=n),
    lambda: tokenizer.encode(uncut * 4, num_threads=n),
    lambda: unsplit.encode(piece, num_threads=n),
    lambda: tokenizer.encode_batch(short * 100, num_threads=n),
    lambda: tokenizer.encode_batch([uncut] * 4, num_threads=n),
    lambda: tokenizer.encode_batch_to_numpy(short * 100, num_threads=n),
    lambda: tokenizer.count_batch(short * 200, num_threads=n),
    lambda: tokenizer.encode_parts([("the other", True)] * 20_000_000),
):
    for attempt in range(3):
        ended = False
        try:
            threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            call()
            ended = True
            time.sleep(20)  # on a busy machine the signal may come after the call: another attempt
        except KeyboardInterrupt:
            before = time.process_time()
            time.sleep(0.1)
            assert time.process_time() - before < 0.05, "somebody is still at work"
            if not ended:
                print("interrupted")
                break
check()
"""
    assert run_python(BEGIN + code, str(n)) == "interrupted\n" * 8


def test_ctrl_c_interrupts_training_in_every_phase() -> None:
    """The phases are laying out pieces, and merging. tools/faults.py measures the time."""
    code = """
import random
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.byte_learner import Learner
from fastbpe._core.split.splitter import Splitter
signal.alarm(100)
counter = PieceCounter(Splitter())
words = random.Random(0).randbytes(20_000_000)
for at in range(0, len(words), 10):
    counter.add_piece(words[at : at + 10], 1)
run = "ab" * 10_000_000
for call in (
    lambda: Learner(counter, max_ids=1_000_000),
    lambda: Learner(counter, max_ids=1_000_000).learn(),
    lambda: fastbpe.train([run] * 20, vocab_size=300, pattern=None, progress=False),
):
    try:
        threading.Timer(0.01, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        while True:
            call()
    except KeyboardInterrupt:
        print("interrupted")
"""
    assert run_python(BEGIN + code) == "interrupted\n" * 3


def test_ctrl_c_at_any_moment_leaves_the_tokenizer_usable() -> None:
    """A hundred interrupts: in the thread pool, in jobs, while waiting, and while ids are copied."""
    code = """
signal.alarm(100)
texts = [long] * 4 + short[:3000]
wanted = tokenizer.encode_batch_to_numpy(texts, num_threads=1)[0].tobytes()
lists = tokenizer.encode_batch(texts, num_threads=1)

# A separate function: the exception table of CPython 3.14 omits some jumps in a try statement.
def encode_for_ever(turn):
    signal.setitimer(signal.ITIMER_REAL, 0.0004 * (turn % 50 + 1))
    while True:
        if turn % 2:
            assert tokenizer.encode_batch_to_numpy(texts, num_threads=3)[0].tobytes() == wanted
        else:
            assert tokenizer.encode_batch(texts, num_threads=3) == lists

n_interrupted = turn = 0
while turn < 100:
    turn += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        encode_for_ever(turn)
    except KeyboardInterrupt:
        n_interrupted += 1
check(n=3)
print(n_interrupted)
"""
    assert run_python(BEGIN + code) == "100\n"
