"""fastbpe as a guest in a process: results can be garbage-collected, and the interpreter stays unchanged."""

from __future__ import annotations

import asyncio
import gc
import inspect
import itertools
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fastbpe
import fastbpe.minbpe
import fastbpe.rustbpe
import fastbpe.sentencepiece
import fastbpe.tiktoken
import fastbpe.tokenizers as tokenizers_face
from helpers.child_processes import run_python
from helpers.tokenizer_json import dumped, small

RANKS = {bytes([i]): i for i in range(256)} | {b"th": 256, b"the": 257, b" w": 258}
TEXT = "the words <e> of a text, thé others"
LONG = "the words " * 2000  # long enough to be encoded without the GIL
HUGE = "the words " * 40_000  # long enough to be encoded by several threads
IDS = [97, 98, 99]
#: Argument lists to try on every method; the test keeps those that the method accepts.
ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((TEXT,), {}),
    (("the words",), {}),
    ((LONG,), {}),
    ((HUGE,), {"num_threads": 1}),
    ((HUGE,), {"num_threads": 2}),
    ((TEXT, 4), {}),
    ((LONG, 4), {}),
    ((["the words", "", LONG],), {}),
    ((["the words", "", LONG], 4), {}),
    ((["the words", ""],), {"as_numpy": True}),
    ((["the words", ""],), {"num_threads": 1}),
    ((["the words"] * 60_000,), {"num_threads": 2}),
    (([(TEXT, True), (LONG, False)],), {}),
    ((TEXT,), {"allowed_special": "all"}),
    ((TEXT,), {"allowed_special": "all", "dropout": 0.5}),
    (([TEXT, LONG],), {"allowed_special": "all", "dropout": 0.5}),
    ((97,), {}),
    ((b"the",), {}),
    ((IDS,), {}),
    (([IDS, IDS],), {}),
    (([IDS * 30_000] * 3,), {"num_threads": 2}),
    ((LONG,), {"chunk_len": 1 << 20}),
    *(((LONG,), {"return_type": return_type, "chunk_len": 1 << 20}) for return_type in (int, str, "numpy")),
    *((("the words",), {"out_type": out_type}) for out_type in (int, str, bytes, "numpy", "offset_mapping")),
    *(
        ((["the words", LONG],), {"out_type": out_type})
        for out_type in (int, str, bytes, "numpy", "offset_mapping")
    ),
    (("the words", 2), {}),
    (("the ", "words"), {}),
    (("the words", 1, 0.1), {}),
    ((["▁the", "▁"],), {}),
    ((True,), {}),
    ((tokenizers_face.Encoding(),), {}),
    (([tokenizers_face.Encoding()],), {}),
]
#: Methods that write, read or build another tokenizer.
PASSED_OVER = {
    "encode_files",
    "export",
    "save",
    "save_vocab",
    "train",
    "train_from_iterator",
    "register_special_tokens",
    "with_special_tokens",
    "without_tokens",
    "prune",
    "id_map",
    "with_tokens",
    "write_shard",
} | {
    "from_file",
    "from_merges",
    "from_buffer",
    "from_pretrained",
    "from_proto",
    "from_str",
    "from_ranks",
    "Load",
    "LoadFromFile",
    "LoadFromSerializedProto",
    "load",
    "load_from_file",
    "load_from_serialized_proto",
}
#: Methods that no BPE model supports, or only with the protobuf package.
REFUSED = {"NBestEncode", "SampleEncode", "Proto", "nbest_encode", "sample_encode", "proto"}


def byte_tokenizer() -> fastbpe.Tokenizer:
    return fastbpe.Tokenizer.from_ranks(RANKS, pattern="cl100k", special_tokens={"<e>": 300})


def encoding() -> fastbpe.tiktoken.Encoding:
    pattern = fastbpe.PATTERNS["cl100k"]
    return fastbpe.tiktoken.Encoding("t", pat_str=pattern, mergeable_ranks=RANKS, special_tokens={"<e>": 300})


def basic_tokenizer() -> fastbpe.minbpe.BasicTokenizer:
    tokenizer = fastbpe.minbpe.BasicTokenizer()
    tokenizer.train(TEXT * 3, 260)
    return tokenizer


def regex_tokenizer() -> fastbpe.minbpe.RegexTokenizer:
    tokenizer = fastbpe.minbpe.RegexTokenizer()
    tokenizer.train(TEXT * 3, 260)
    tokenizer.register_special_tokens({"<e>": 300})
    return tokenizer


def rustbpe_tokenizer() -> fastbpe.rustbpe.Tokenizer:
    tokenizer = fastbpe.rustbpe.Tokenizer()
    tokenizer.train_from_iterator([TEXT * 3], 260)
    return tokenizer


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("guest") / "t.model"
    model = fastbpe.train([TEXT] * 20, mode="codepoint", vocab_size=300, byte_fallback=True, progress=False,
                          hard_vocab_limit=False)  # fmt: skip
    model.export(path, format="sentencepiece")
    return path


MAKERS: dict[str, Callable[[Path], Any]] = {
    "bytes": lambda _: byte_tokenizer(),
    "code points": fastbpe.load,
    "tiktoken": lambda _: encoding(),
    "minbpe.BasicTokenizer": lambda _: basic_tokenizer(),
    "minbpe.RegexTokenizer": lambda _: regex_tokenizer(),
    "rustbpe.Tokenizer": lambda _: rustbpe_tokenizer(),
    "tokenizers.Tokenizer": lambda _: tokenizers_face.Tokenizer.from_buffer(dumped(small())),
    "tokenizers.Encoding": lambda _: tokenizers_face.Tokenizer.from_buffer(dumped(small())).encode(TEXT),
    "SentencePieceProcessor": lambda path: fastbpe.sentencepiece.SentencePieceProcessor(model_file=str(path)),
    "sequences": lambda _: fastbpe.SequenceTokenizer.from_merges([(97, 98)], base_size=256),
    "SentencePieceNormalizer": lambda path: fastbpe.sentencepiece.SentencePieceNormalizer(model_file=str(path)),
}


class Holder:
    """Object that is put into a container and refers back to it."""

    held: object


def results_of(make: Callable[[], Any], name: str) -> Iterator[object]:
    """Yield the value of an attribute, or the results of a method for every argument list that it accepts."""
    try:
        value = getattr(make(), name)
    except Exception:  # for example a property that needs a package
        return
    if not callable(value):
        yield value
        return
    n_calls = 0
    for arguments, named in ARGUMENTS:
        try:
            answer = value(*arguments, **named)
            if inspect.iscoroutine(answer):
                answer = asyncio.run(answer)
            if isinstance(answer, Iterator):
                answer = list(itertools.islice(answer, 4))
        except Exception:
            continue
        n_calls += 1
        yield answer
    assert n_calls or any(part in name for part in REFUSED), f"{name}: no arguments fit; add some"


def containers(value: object, most: int = 50) -> Iterator[list[Any] | dict[Any, Any]]:
    """Yield the mutable containers within a value; of a long list only some."""
    if isinstance(value, (list, dict)):
        yield value
    if isinstance(value, (list, tuple)):
        for item in [*value[:most], *value[-2:]]:
            yield from containers(item)
    elif isinstance(value, dict):
        for item in list(value.values())[:most]:
            yield from containers(item)


def names_to_try(one: object) -> list[str]:
    return [name for name in dir(one) if not name.startswith("_") and name not in PASSED_OVER]


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", MAKERS)
def test_cycle_through_any_returned_container_is_collected(kind: str, model_file: Path) -> None:
    refs: dict[weakref.ref[Holder], str] = {}
    n_lists = 0

    def make() -> Any:
        return MAKERS[kind](model_file)

    for name in names_to_try(make()):
        for answer in results_of(make, name):
            seen: dict[int, list[Any] | dict[Any, Any]] = {id(found): found for found in containers(answer)}
            for found in seen.values():
                holder = Holder()
                holder.held = found
                refs[weakref.ref(holder)] = name
                if isinstance(found, dict):
                    found["holder"] = holder
                else:
                    n_lists += 1
                    assert gc.is_tracked(found), name
                    found.append(holder)
                assert gc.is_tracked(found), name
                del holder, found
            del answer, seen
    gc.collect()
    assert {name for ref, name in refs.items() if ref() is not None} == set()
    assert n_lists > 3 or kind == "SentencePieceNormalizer"


def test_lists_from_rare_paths_are_tracked_by_the_collector() -> None:
    """Cover ints created on demand, a text without a safe cut, and a batch that fails and is repeated."""
    tokenizer = fastbpe.Tokenizer.from_ranks({**RANKS, b"x": 2**20 + 7, b"\xe6\xbc\xa2": 2**20 + 9}, pattern=None)
    for text in ("x", "x" * 9000, "漢" * 300_000, "ab" * 200_000, ""):
        for n_threads in (1, 2):
            assert gc.is_tracked(tokenizer.encode(text, num_threads=n_threads))
            assert all(map(gc.is_tracked, tokenizer.encode_batch([text, text], num_threads=n_threads)))
    with pytest.raises(ValueError, match=r"texts\[1\]"):
        tokenizer.encode_batch(["x", b"\xff"])
    assert gc.is_tracked(tokenizer.pieces(""))


COLLECTED = """
import gc, sys
import fastbpe
t = fastbpe.Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern="cl100k")
text = "some words " * 10_000
# From Python 3.12 on, a collection waits until the call has returned, and may see the list that it returned.
whole = {len(t.pieces(text)), len(t.encode(text)), len(t.encode("some words"))}
whole = whole if sys.version_info >= (3, 12) else set()
n_times = n_seen = 0
def look(phase, info):
    global n_times, n_seen
    n_times += 1
    assert gc.isenabled()
    for one in gc.get_objects():
        if type(one) is list and one and type(one[0]) in (tuple, int):
            n_seen += one[0] in begins and len(one) not in whole
begins = ((0, 4), (0, 1))
gc.set_threshold(200)
gc.callbacks.append(look)
t.pieces(text)
t.encode_with_offsets(text)
begins = (115,)
t.encode_batch(["some words"] * 2000, num_threads=1)
t.encode(text)
gc.callbacks.remove(look)
assert n_seen == 0 and (n_times > 200 or sys.version_info >= (3, 12)), (n_seen, n_times)
print("done")
"""


@pytest.mark.daily
def test_collector_stays_enabled_and_never_sees_partial_lists() -> None:
    assert run_python(COLLECTED) == "done\n"


UNCHANGED = """
import ctypes, gc, locale, logging, os, signal, sys, threading, warnings
class Allocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free")]
def allocators():
    found = []
    arenas = Allocator()
    ctypes.pythonapi.PyObject_GetArenaAllocator(ctypes.byref(arenas))
    found.append([getattr(arenas, name) for name, _ in Allocator._fields_[:3]])
    for domain in range(3):
        now = Allocator()
        ctypes.pythonapi.PyMem_GetAllocator(domain, ctypes.byref(now))
        found.append([getattr(now, name) for name, _ in Allocator._fields_])
    return found
def state():
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    return [
        allocators(), gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.get_freeze_count(),
        list(gc.callbacks), locale.setlocale(locale.LC_ALL), dict(os.environ), os.getcwd(), handlers,
        sys.getswitchinterval(), sys.getrecursionlimit(), sys.excepthook, sys.unraisablehook, sys.gettrace(),
        sys.getprofile(), list(sys.path), sys.meta_path[:n_finders], threading.excepthook, threading.stack_size(),
        list(warnings.filters),
        logging.getLogger().handlers, os.umask(os.umask(0o22)), threading.active_count(),
    ]
import multiprocessing, unicodedata  # what they change is theirs
os.umask(0o22)
n_finders = len(sys.meta_path)
before = state()
import fastbpe
from fastbpe import minbpe, sentencepiece, tiktoken
t = fastbpe.train(["some words " * 200], vocab_size=258, pattern="cl100k", progress=False, num_threads=2)
c = fastbpe.train(["some words"] * 9, mode="codepoint", vocab_size=20, hard_vocab_limit=False, progress=False)
text = "some words " * 40_000
for one in (t, c):
    ids = one.encode(text, num_threads=2)
    one.encode_batch([text] * 4, num_threads=2)
    [one.encode(word) for word in text.split()]
    one.encode_with_offsets(text), one.decode(ids), one.decode_batch([ids] * 9, num_threads=2)
    one.count(text)
t.pieces(text)
fastbpe.release_memory()
after = state()
assert len(sys.meta_path) == n_finders + 1, sys.meta_path  # that of the compiled modules
assert after == before, [pair for pair in zip(before, after) if pair[0] != pair[1]]
print("done")
"""


@pytest.mark.daily
def test_import_and_use_leave_the_interpreter_unchanged() -> None:
    """Allocators, collector, locale, environment, signals, hooks and warnings stay as before the import.

    The one exception: the finder of the compiled modules, after all others.
    """
    assert run_python(UNCHANGED) == "done\n"


FRAMES = """
import gc, json, types
import fastbpe
tokenizer = fastbpe.train(["some words"], vocab_size=258, pattern="gpt2", progress=False)
tokenizer.export("tokenizer.json")
described = json.load(open("tokenizer.json"))
step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
for post in (step, {"type": "Sequence", "processors": [step]}):
    described["post_processor"] = post
    for load in (fastbpe.load, fastbpe.tokenizers.Tokenizer.from_buffer):
        gc.collect()
        gc.set_debug(gc.DEBUG_SAVEALL)
        load(json.dumps(described).encode())
        gc.collect()
        gc.set_debug(0)
        frames = [one for one in gc.garbage if isinstance(one, types.FrameType)]
        assert not frames, frames
        gc.garbage.clear()
print("done")
"""


@pytest.mark.daily
def test_loading_keeps_no_frames_of_its_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that a local variable keeps would keep the variables of all callers until the collector runs."""
    monkeypatch.chdir(tmp_path)
    assert run_python(FRAMES) == "done\n"


def test_docstring_of_encode_does_not_mention_the_collector() -> None:
    assert "collector" not in str(inspect.getdoc(fastbpe.Tokenizer.encode))


TRANSFORMERS = """
import gc, types, weakref
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast
import fastbpe, fastbpe.transformers as door
from fastbpe.transformers import engine, watching

def host():
    modules = decoders, models, normalizers, pre_tokenizers, processors
    classes = [tokenizers.Tokenizer, *PreTrainedTokenizerFast.__mro__[:-1]]
    classes += [cls for module in modules for cls in vars(module).values() if isinstance(cls, type)]
    own = ("_fastbpe_accelerated", "_abc_impl", "__doc__", "__annotations__")
    return {
        (cls.__name__, name): value for cls in classes for name, value in vars(cls).items() if name not in own
    } | {("decoders", "DecodeStream"): decoders.DecodeStream}

def make():
    backend = tokenizers.Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend)

def use(tokenizer):
    for _ in range(5):
        assert tokenizer("ab")["input_ids"] == tokenizer(["ab"])["input_ids"][0]
        tokenizer.decode([2]), tokenizer(["ab", "a"], return_offsets_mapping=True).tokens()
    tokenizer.add_tokens(["new"])
    assert tokenizer.tokenize("new") == ["new"]

stock = make()
use(stock)
before = host()
door.patch()
made = make()
use(made)
assert door.status(made)["native"] and host() != before
kept = weakref.ref(made.__dict__["_fastbpe_engine"])
fastbpe.release_memory()
use(made)
door.unpatch()
assert kept() is None, "the tables outlive unpatch()"
after = host()
assert after.keys() == before.keys() and all(after[name] is before[name] for name in before)
use(made)
assert not watching._changes and not len(engine._live)
alone = door.accelerate(make())
use(alone)
kept = weakref.ref(alone)
del alone
gc.collect()
assert kept() is None and not len(engine._live)
door.patch(), door.unpatch()
assert all(host()[name] is before[name] for name in before)
print("done")
"""


@pytest.mark.daily
def test_unpatched_transformers_has_its_own_methods_and_no_kept_memory() -> None:
    """Nothing of tokenizers and transformers stays replaced after unpatch(), also with tokenizers alive."""
    pytest.importorskip("transformers")
    assert run_python(TRANSFORMERS) == "done\n"
