"""Each public call holds its contract in docs/reference/contract.md: threads, forks and the GIL."""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from helpers.child_processes import HAS_TSAN, run_python
from helpers.every_call import CALLS, World, public_names
from helpers.sampling import SEED
from helpers.tool_modules import tool

TESTS = Path(__file__).resolve().parents[1]
OPTIONAL = {"Tokenizer.to_arrow", "PieceCounts.to_parquet", "Tokenizer.count_messages"}  # need other packages


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"), 20_000)


def test_every_public_name_has_one_row_and_one_call() -> None:
    rows = Counter(tool("draw_contract").names())
    assert {name: n for name, n in rows.items() if n > 1} == {}
    assert set(rows) == public_names() == set(CALLS)


def test_page_is_that_of_the_table() -> None:
    drawn = tool("draw_contract")
    assert drawn.PAGE.read_text(encoding="utf-8") == drawn.page()


def test_lists_that_are_built_anew_are_not_said_to_be_kept(world: World) -> None:
    drawn = tool("draw_contract")
    said = {name: row.memory for row in drawn.ROWS["Tokenizer"] for name in row.names.split()}
    for name in ("vocab", "merges", "added_tokens", "special_tokens"):
        first, second = (getattr(world.tokenizer, name) for _ in range(2))
        assert first == second
        assert first is not second
        assert said[name] == drawn.RESULT


@pytest.mark.sample(30)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_call_gives_the_same_result_beside_itself_in_other_threads(world: World, name: str) -> None:
    if name in OPTIONAL:
        for package in ("pyarrow", "jinja2"):
            pytest.importorskip(package)
    expected = CALLS[name](world)
    with ThreadPoolExecutor(3) as pool:
        assert [*pool.map(lambda _: CALLS[name](world), range(6))] == [expected] * 6


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore")
def test_calls_give_the_same_results_beside_all_other_calls_in_other_threads(tmp_path: Path) -> None:
    names = [name for name in CALLS if name not in OPTIONAL]
    world = World(tmp_path, 5_000)
    expected = {name: CALLS[name](world) for name in names}
    shared = World(tmp_path / "shared", 5_000)  # the threads' calls are the first ones of its objects

    def differing(seed: int) -> list[str]:
        shuffled = random.Random(seed).sample(names, len(names))
        return [name for name in shuffled if CALLS[name](shared) != expected[name]]

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(differing, range(SEED, SEED + 4))] == [[]] * 4


BEGIN = f"""
import os, signal, sys, tempfile, threading, time, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {str(TESTS)!r})
from helpers.every_call import CALLS, World
names = sys.argv[2:]
HAS_TSAN = {HAS_TSAN}
"""

#: In a child, glibc gives a new thread the stack of a thread of the parent, and so its address. ThreadSanitizer
#: remembers the parent's threads until they are joined, so from CPython 3.13 on it ends the child ("dup thread
#: with used id", status 66), also without fastbpe. A stack of another size is a new one.
FORKED = """
with tempfile.TemporaryDirectory() as folder:
    world = World(folder, 20_000)
    expected = {name: CALLS[name](world) for name in names}
    done = threading.Event()
    def work():
        while not done.is_set():
            CALLS["Tokenizer.encode_batch"](world)
            CALLS["Tokenizer.decode"](world)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for name in names:
        child = os.fork()
        if not child:
            signal.alarm(120)
            if HAS_TSAN:
                threading.stack_size(64 << 20)
            os._exit(0 if CALLS[name](world) == expected[name] else 1)
        status = os.waitpid(child, 0)[1]
        if status:
            print(name, status)
    done.set()
    for thread in threads:
        thread.join()
"""


@pytest.mark.daily
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_calls_give_the_same_result_in_a_child_forked_beside_threads() -> None:
    chosen = [name for name in CALLS if name not in OPTIONAL]
    assert run_python(BEGIN + FORKED, "", *chosen) == ""


#: No thread is made to give up the GIL, so another one runs only when the call itself releases it.
RELEASED = """
with tempfile.TemporaryDirectory() as folder:
    world, n, done = World(folder, 400_000), 0, False
    for name in names:
        CALLS[name](world)
    def tick():
        global n
        while not done:
            time.sleep(1e-4)
            n += 1
    thread = threading.Thread(target=tick)
    thread.start()
    sys.setswitchinterval(1000)
    for name in names:
        for attempt in range(50):  # the other thread may sleep while the GIL is free
            before = n
            CALLS[name](world)
            if n > before:
                break
        else:
            print(name)
    sys.setswitchinterval(0.005)
    done = True
    thread.join()
"""


@pytest.mark.daily
@pytest.mark.skipif(sys.implementation.name != "cpython", reason="needs a switch interval")
def test_calls_that_say_so_release_the_gil() -> None:
    drawn = tool("draw_contract")
    assert run_python(BEGIN + RELEASED, "", *[n for n in drawn.names(drawn.RELEASES) if n not in OPTIONAL]) == ""


@pytest.mark.skipif(sys.version_info < (3, 13), reason="needs interpreters with a GIL of their own")
@pytest.mark.parametrize("kind", ["isolated", "legacy"])
def test_subinterpreter_gets_an_import_error_and_the_main_one_goes_on(kind: str) -> None:
    code = f"""
import _interpreters, fastbpe
code = '''
try:
    import fastbpe
except ImportError as error:
    print("interpreter" in str(error))
'''
other = _interpreters.create({kind!r})
assert _interpreters.exec(other, code) is None
_interpreters.destroy(other)
print(fastbpe.Tokenizer.from_merges([(97, 98)], pattern="gpt2").encode("ab"))
"""
    assert run_python(code, PYTHONWARNINGS="ignore").splitlines() == ["True", "[256]"]
