"""Threads may share everything, with the GIL and without: first calls, lists that change, memory given back."""

from __future__ import annotations

import contextlib
import gc
import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import Tokenizer
from fastbpe.minbpe import RegexTokenizer
from fastbpe.sentencepiece import SentencePieceProcessor
from fastbpe.tiktoken import Encoding
from helpers.child_processes import run_python
from helpers.every_call import plain

N_THREADS = 4
TEXT = "the other thréé 漢字 threads' 12345 of a <|end|> text,\n\n and  more "
TEXTS = [TEXT * n for n in (1, 2, 40, 0, 3)]
CORPUS = [f"{TEXT}{i * 7919 % 10007} " for i in range(60)]

IMPORTS_ALL = """
import importlib, sys, warnings
warnings.simplefilter("error")
import fastbpe
from fastbpe._compiled import MODULES
for name in MODULES:
    importlib.import_module(name)
tokenizer = fastbpe.train(["some text"] * 9, vocab_size=260, progress=False)
assert tokenizer.decode(tokenizer.encode("text")) == "text"
print(sys._is_gil_enabled())
"""


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="needs a free-threaded Python")
def test_import_and_use_leave_the_gil_off() -> None:
    assert run_python(IMPORTS_ALL, PYTHON_GIL="") == "False\n"


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="needs a free-threaded Python")
def test_gil_is_off_while_these_tests_run() -> None:
    """With the GIL they would prove less: importing an extension without free threading switches it on."""
    assert not sys._is_gil_enabled()  # type: ignore[attr-defined]


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    """Start calls at the same moment, each in a thread, and return their results or the texts of their errors."""
    barrier = threading.Barrier(len(calls))
    results: list[Any] = [None] * len(calls)

    def run(i: int) -> None:
        barrier.wait()
        try:
            results[i] = calls[i]()
        except Exception as error:
            results[i] = repr(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a saved tokenizer of each mode."""
    folder = tmp_path_factory.mktemp("tokenizers")
    made = {}
    sizes: dict[Any, int] = {"byte": 290, "codepoint": 60, "unigram": 50}
    for mode, size in sizes.items():
        made[mode] = folder / f"{mode}.fbpe"
        fastbpe.train(CORPUS, vocab_size=size, mode=mode, progress=False).save(made[mode])
    fastbpe.load(made["codepoint"]).export(folder / "m.model", format="sentencepiece")
    made["sentencepiece"] = folder / "m.model"
    return made


def use(tokenizer: Tokenizer) -> list[Any]:
    """Return the results of calls that make tables when they are first needed."""
    plainly: dict[str, Any] = {} if tokenizer.mode != "byte" else {"disallowed_special": ()}
    ids = tokenizer.encode(TEXT, **plainly)
    return [
        ids,
        tokenizer.encode_batch(TEXTS, num_threads=2, **plainly),
        plain(tokenizer.encode_to_numpy(TEXTS[2], **plainly)),
        plain(tokenizer.encode_with_offsets(TEXT, **plainly)),
        tokenizer.encode_parts([(TEXT, False), ("a", True)]),
        tokenizer.count(TEXT),
        tokenizer.decode(ids),
        tokenizer.decode_batch([ids, ids[:9]]),
        tokenizer.decode_tokens_bytes(ids),
        "".join(map(tokenizer.decoder().push, ids)),
        [tokenizer.id_to_token(i) for i in range(0, 50, 7)],
        tokenizer.truncate(TEXT, 5),
        tokenizer.vocab,
    ]


@pytest.mark.parametrize("mode", ["byte", "codepoint", "unigram"])
def test_first_calls_of_threads_give_what_one_thread_gives(files: dict[str, Path], mode: str) -> None:
    expected = use(fastbpe.load(files[mode]))
    for _ in range(5):
        tokenizer = fastbpe.load(files[mode])
        assert at_once([lambda: use(tokenizer)] * N_THREADS) == [expected] * N_THREADS  # noqa: B023


def test_first_completions_and_dropout_of_threads_give_what_one_thread_gives(files: dict[str, Path]) -> None:
    def call(tokenizer: Tokenizer) -> Any:
        return tokenizer.completions("t"), tokenizer.encode(TEXTS[1], dropout=0.5, seed=7, disallowed_special=())

    expected = call(fastbpe.load(files["byte"]))
    for _ in range(5):
        tokenizer = fastbpe.load(files["byte"])
        assert at_once([lambda: call(tokenizer)] * N_THREADS) == [expected] * N_THREADS  # noqa: B023


def test_drop_ins_give_threads_what_they_give_one(files: dict[str, Path]) -> None:
    model = str(files["sentencepiece"])
    ranks = {bytes([i]): i for i in range(256)} | {b"th": 256, b"the": 257}

    def sentencepiece(processor: SentencePieceProcessor) -> Any:
        ids = processor.encode(TEXT)
        pieces = processor.encode(TEXT, out_type=str)
        names = processor.id_to_piece([1, 2, 3]), processor.piece_to_id(pieces[:5]), processor.get_score([4, 5])
        return ids, pieces, names, processor.decode(ids), processor.decode(pieces), processor.bos_id()

    def tiktoken(encoding: Encoding) -> Any:
        ids = encoding.encode(TEXT)
        return ids, encoding.encode_batch(TEXTS), encoding.decode(ids), encoding.decode_with_offsets(ids)

    def minbpe(tokenizer: RegexTokenizer) -> Any:
        ids = tokenizer.encode(TEXT)
        return ids, tokenizer.encode(TEXT, allowed_special="all"), tokenizer.decode(ids)

    def trained() -> RegexTokenizer:
        tokenizer = RegexTokenizer()
        tokenizer.train(TEXT, 260)
        return tokenizer

    def made() -> Encoding:
        return Encoding("t", pat_str=r"\w+|\W+", mergeable_ranks=ranks, special_tokens={})

    kinds: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
        (lambda: SentencePieceProcessor(model), sentencepiece),
        (made, tiktoken),
        (trained, minbpe),
    ]
    for make, call in kinds:
        expected = call(make())
        for _ in range(5):
            one = make()
            assert at_once([lambda: call(one)] * N_THREADS) == [expected] * N_THREADS  # noqa: B023


def test_call_beside_load_gives_a_result_or_says_that_no_model_is_loaded(files: dict[str, Path]) -> None:
    model = str(files["sentencepiece"])
    processor = SentencePieceProcessor(model)
    expected = processor.encode("the text"), processor.decode([5, 6, 7])

    def load() -> None:
        for _ in range(20):
            processor.Load(model)

    def encode() -> bool:
        for _ in range(300):
            with contextlib.suppress(RuntimeError, LookupError):
                if (processor.encode("the text"), processor.decode([5, 6, 7])) != expected:
                    return False
        return True

    assert at_once([load, encode, encode]) == [None, True, True]


@pytest.mark.parametrize("n", [300, 200_000])
def test_lists_that_change_while_they_are_read_raise_or_give_a_text(files: dict[str, Path], n: int) -> None:
    tokenizer, processor = fastbpe.load(files["byte"]), SentencePieceProcessor(str(files["sentencepiece"]))
    done = threading.Event()
    big = 1 << 40  # an int of two digits, which takes the general path
    ids: list[Any] = list(range(60)) * (n // 60)

    def change() -> None:
        while not done.is_set():
            del ids[n // 3 :]
            ids.extend([i + 1000 - 1000 for i in range(40)] * (n // 80))
            ids[:9] = [*range(200, 209), True]
            ids.append(big)
            ids.pop()

    def read() -> int:
        n_read = 0
        try:
            for call in (
                tokenizer.decode,
                lambda ids: tokenizer.decode_batch([ids, ids], num_threads=2),
                tokenizer.decode_tokens_bytes,
                processor.id_to_piece,
                processor.decode,
            ) * (30 if n < 1000 else 2):
                try:
                    call(ids)
                    n_read += 1
                except (ValueError, TypeError, LookupError):
                    pass
        finally:
            done.set()
        return n_read

    results = at_once([change, read, read])
    assert results[0] is None
    assert all(isinstance(result, int) for result in results[1:])


def test_memory_given_back_beside_calls_changes_no_result(files: dict[str, Path]) -> None:
    tokenizer = fastbpe.load(files["byte"])
    long = TEXT * 8000  # its array is kept when it is dropped

    def call() -> Any:
        ids = tokenizer.encode_to_numpy(long, disallowed_special=(), num_threads=2)
        spans = tokenizer.encode_with_offsets(TEXTS[2], disallowed_special=(), as_numpy=False)
        return int(ids.sum()), spans, tokenizer.encode_batch([TEXT] * 9, disallowed_special=())

    pytest.importorskip("numpy")
    expected = call()
    done = threading.Event()

    def give_back() -> None:
        while not done.is_set():
            fastbpe.release_memory()
            fastbpe.load(files["byte"]).encode("a")  # a pool is born and dies

    def encode() -> bool:
        try:
            return all(call() == expected for _ in range(5))
        finally:
            done.set()

    assert at_once([give_back, encode, encode]) == [None, True, True]


def test_stream_that_threads_share_does_not_crash(files: dict[str, Path]) -> None:
    tokenizer = fastbpe.load(files["byte"])
    stream, ids = tokenizer.decoder(), tokenizer.encode(TEXT * 20, disallowed_special=())

    def push() -> int:
        return sum(len(stream.push(i)) for i in ids)

    assert sum(at_once([push] * N_THREADS)) + len(stream.finish()) > 0


def test_decode_stream_of_tokenizers_that_threads_share_does_not_crash() -> None:
    from fastbpe.tokenizers import Tokenizer as Face
    from fastbpe.tokenizers import decoders, models

    letters = {chr(97 + i): i for i in range(26)}
    face = Face(models.WordLevel(letters, unk_token="a"))
    stream = decoders.DecodeStream()

    def step() -> int:
        return sum(len(stream.step(face, i % 26) or "") for i in range(2000))

    assert sum(at_once([step] * N_THREADS)) > 0


def test_minbpe_tokenizer_trained_while_a_call_makes_its_encoder_uses_the_new_merges() -> None:
    class Slow(RegexTokenizer):
        def _make(self) -> Any:
            made = super()._make()
            if (97, 98) in self.merges:
                thread = threading.Thread(target=self.train, args=("cd" * 9, 257))
                thread.start()
                thread.join()
            return made

    tokenizer = Slow(pattern=".+")
    tokenizer.train("ab" * 9, 257)
    tokenizer.encode("abcd")
    assert tokenizer.encode("abcd") == [97, 98, 256]


def test_derived_tokenizers_of_threads_share_no_count_of_memory_views(files: dict[str, Path]) -> None:
    """CPython changes the count of a managed buffer without a lock: two threads may change it at the same time."""
    vocabulary = fastbpe.load(files["byte"])._family.vocabulary

    def managed() -> list[int]:
        return [id(gc.get_referents(view)[0]) for view in views[-1].values()]

    views = [vocabulary.sections()]
    first = managed()
    views.append(vocabulary.sections())
    assert {*first}.isdisjoint(managed())
    assert [bytes(view) for view in views[0].values()] == [bytes(view) for view in views[1].values()]
    assert all(view.readonly for view in views[0].values())


def test_counting_and_training_on_threads_give_what_one_thread_gives() -> None:
    def train(num_threads: int) -> list[bytes]:
        return fastbpe.train(CORPUS, vocab_size=300, progress=False, num_threads=num_threads).vocab

    expected = train(1)
    assert at_once([lambda: train(3), lambda: train(2)]) == [expected] * 2


def test_threads_that_allow_more_sets_of_special_tokens_than_are_kept_get_their_ids() -> None:
    names = {f"<{i}>": 256 + i for i in range(48)}
    tokenizer = Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern=None, special_tokens=names)

    def encode() -> bool:
        return all(
            tokenizer.encode(name, allowed_special={name}, disallowed_special=()) == [token_id]
            for _ in range(20)
            for name, token_id in names.items()
        )

    assert at_once([encode] * N_THREADS) == [True] * N_THREADS
