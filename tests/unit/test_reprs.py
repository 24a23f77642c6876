"""The repr of every public object fits a screen, however large the vocabulary, the text or the corpus is."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import Tokenizer
from fastbpe._utils.short_reprs import html_table, short_repr
from fastbpe.id_files.verifying import verify_ids
from fastbpe.model import AddedToken
from fastbpe.tokenizer.export.verify_export import Difference, Verification
from fastbpe.training.merge_counts import MergeSummary
from fastbpe.vocabularies.search import search_tokens
from helpers.shared_data import BYTES

MAX_REPR = 2_000  # characters: 25 lines of 80
MAX_STR = 10_000  # of a report, which `print` shows as tables
TEXT = "".join(f"low{i} lower{i * 7919 % 1000} \n" for i in range(1_000))


@cache
def tokenizer() -> Tokenizer:
    """A byte-level tokenizer of 3,000 tokens, half of them impossible."""
    tokens = [*BYTES, *(f"{i:05} x".encode() for i in range(1_000))]
    words = [f"{a}{b}".encode() for a in "abcdefghijklmnop" for b in "abcdefghijklmnop"]
    ranks = {token: i for i, token in enumerate(dict.fromkeys([*tokens, *words, *(word * 2 for word in words)]))}
    special = {f"<|{i}|>": len(ranks) + i for i in range(500)}
    return Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens=special)


@cache
def points() -> Tokenizer:
    return fastbpe.train([TEXT], vocab_size=400, mode="codepoint", byte_fallback=True, progress=False)


@cache
def codes() -> Any:
    return fastbpe.train([[*range(500)] * 2], mode="ids", base_size=500, vocab_size=700, progress=False)


@cache
def report() -> Any:
    return fastbpe.vocabulary_report(tokenizer())


@cache
def report_with_corpus() -> Any:
    return fastbpe.vocabulary_report(tokenizer(), [TEXT])


def conversation() -> Any:
    made = tokenizer().conversation()
    made.append(TEXT)
    return made


def decoder() -> Any:
    made = tokenizer().decoder()
    made.push(0xE2)
    return made


def encoder() -> Any:
    made = tokenizer().encoder()
    made.push("x" * 100_000)
    made.push(b"\xe2\x82")
    return made


def stored_ids(folder: Path) -> Any:
    (folder / "a.txt").write_text(TEXT)
    tokenizer().encode_files(folder / "a.txt", folder / "ids.bin", progress=False)
    return fastbpe.open_ids(folder / "ids.bin")


def summary(folder: Path) -> Any:
    lines = "".join(f'{{"txt": "{"x" * 500}"}}\n' for _ in range(50))
    (folder / "a.jsonl").write_text(lines + '{"text": "a"}\n')
    return tokenizer().encode_files(folder / "a.jsonl", folder / "ids.bin", on_error="skip", progress=False)


def verified(folder: Path) -> Any:
    (folder / "ids.bin").write_bytes(b"\xff\xff" * 9)
    return verify_ids(folder / "ids.bin", tokenizer=tokenizer(), dtype="uint16")


#: Name of a case → function that makes the object; those that need a folder take it.
OBJECTS: dict[str, Callable[..., Any]] = {
    "tokenizer": tokenizer,
    "code points": points,
    "sequences": codes,
    "piece counts": lambda: fastbpe.count_pieces([TEXT]),
    "word counts": lambda: fastbpe.count_pieces([TEXT], mode="codepoint"),
    "parity": lambda: fastbpe.Parity(dev={"en": [TEXT]}, window=100, global_merges=10),
    "superwords": lambda: fastbpe.Superwords(0.8, ["gpt2", r"\d"], forbid=["a", "b"]),
    "report": report,
    "report of code points": lambda: fastbpe.vocabulary_report(points()),
    "report with a corpus": report_with_corpus,
    "use in a corpus": lambda: report_with_corpus().corpus,
    "digits": lambda: report().digits,
    "indentation": lambda: report().indentation,
    "row of a script": lambda: report().scripts[0],
    "pruned": lambda: tokenizer().prune(keep=1_000),
    "removed": lambda: tokenizer().without_tokens(["ab"]),
    "removal report": lambda: tokenizer().prune(keep=1_000).report,
    "merged": lambda: fastbpe.merge_vocabularies(tokenizer(), Tokenizer.from_ranks(more(), pattern="gpt2")),
    "merge report": lambda: (
        fastbpe.merge_vocabularies(tokenizer(), Tokenizer.from_ranks(more(), pattern="gpt2")).report
    ),
    "id map": lambda: tokenizer().prune(keep=1_000)[1],
    "changes": lambda: fastbpe.changed_texts(tokenizer(), points(), TEXT.splitlines()),
    "part that changed": lambda: fastbpe.changed_texts(tokenizer(), points(), [TEXT[:999]]).parts[0],
    "decoder": decoder,
    "encoder": encoder,
    "conversation": conversation,
    "interval counter": lambda: tokenizer().interval_counter(TEXT),
    "explanation": lambda: tokenizer().explain(TEXT),
    "explanation of one piece": lambda: Tokenizer.from_merges([(97, 98)], pattern=None).explain(TEXT),
    "explained piece": lambda: Tokenizer.from_merges([(97, 98)], pattern=None).explain("ab" * 9_999).pieces[0],
    "merge tree": lambda: fastbpe.merge_tree(tokenizer(), "abab"),
    "merge tree of a whole piece": lambda: fastbpe.merge_tree(tokenizer(), "00001 x"),
    "chunk": lambda: next(iter(tokenizer().chunk(TEXT, 5_000, with_spans=True))),
    "aligned part": lambda: fastbpe.align("a" * 9_999, Tokenizer.from_merges([], pattern=None), tokenizer())[0],
    "added token": lambda: AddedToken("<|x|>"),
    "verification": lambda: Verification(9, None),
    "difference": lambda: Difference(TEXT, [*range(9_999)], [*range(9_999)]),
    "found token": lambda: search_tokens(tokenizer(), text="abab")[0],
    "shown text": lambda: fastbpe.show(tokenizer(), TEXT),
    "stored ids": stored_ids,
    "summary": summary,
    "verified ids": verified,
    "summary of merged counts": lambda: MergeSummary("a.pieces", *range(7), "piece"),
    "model": lambda: tokenizer()._family.model,
    "model of code points": lambda: points()._family.own,  # type: ignore[attr-defined]
    "templates": lambda: points().template,
}
#: Objects whose str is the whole text, by purpose.
WHOLE = ("shown text",)


def more() -> dict[bytes, int]:
    return {token: i for i, token in enumerate([*BYTES, *(f"{i:04} y".encode() for i in range(1_000))])}


MADE: dict[str, Any] = {}


def make(name: str, folder: Path) -> Any:
    if name not in MADE:
        function = OBJECTS[name]
        MADE[name] = function(folder) if inspect.signature(function).parameters else function()
    return MADE[name]


@pytest.mark.daily
@pytest.mark.parametrize("name", OBJECTS)
def test_repr_fits_a_screen(name: str, tmp_path: Path) -> None:
    made = make(name, tmp_path)
    assert len(repr(made)) <= MAX_REPR
    assert " object at 0x" not in repr(made)
    if name not in WHOLE:
        assert len(str(made)) <= MAX_STR


@pytest.mark.parametrize(
    "name", ["report", "report with a corpus", "changes", "explanation", "merge tree", "shown text"]
)
def test_report_is_a_table_in_a_notebook(name: str, tmp_path: Path) -> None:
    html = make(name, tmp_path)._repr_html_()
    assert re.search(r"<(table|pre|div)\b", html)
    assert len(html) < 20 * MAX_STR or name in WHOLE


@pytest.mark.daily
def test_text_of_a_report_is_escaped_in_a_notebook() -> None:
    tokens = Tokenizer.from_ranks({token: i for i, token in enumerate([*BYTES, b"x <b>"])}, pattern="gpt2")
    assert "<b>" not in fastbpe.vocabulary_report(tokens)._repr_html_()  # type: ignore[attr-defined]
    assert "&lt;b&gt;" in tokens.explain("<b>")._repr_html_()  # type: ignore[attr-defined]
    assert html_table([("<b>",)], ["<i>"]).count("&lt;") == 2


@pytest.mark.daily
def test_repr_tells_what_an_object_holds() -> None:
    stream = Tokenizer.from_merges([(97, 98)], pattern="gpt2").decoder()
    assert repr(stream) == "<fastbpe.StreamDecoder that holds no bytes>"
    stream.push([0xE2, 0x82])
    assert repr(stream) == r"<fastbpe.StreamDecoder that holds b'\xe2\x82' of a character that is not complete>"
    plain = Tokenizer.from_merges([(97, 98)], pattern="gpt2")
    text = plain.encoder()
    text.push("ab a")
    text.push(b"b\xe2")
    assert repr(text) == r"<fastbpe.StreamEncoder that holds ' ab' and b'\xe2' of a character>"
    talk = plain.conversation()
    assert repr(talk) == "<fastbpe.Conversation of 0 ids, 0 characters ''>"
    talk.append("ab ab" * 1000)
    assert repr(talk).startswith("<fastbpe.Conversation of 3,000 ids, 5,000 characters that end with 'ab")
    assert repr(plain.interval_counter("ab")) == "<fastbpe.IntervalCounter of 2 characters, 'ab'>"
    assert repr(fastbpe.merge_tree(plain, "ab")) == "<fastbpe.MergeTree 'ab' 256 of 'a' + 'b'>"
    assert repr(fastbpe.vocabulary_report(plain)) == (
        "<fastbpe.VocabularyReport of a vocabulary, byte mode, 257 tokens: some text produces 244, no text 13, "
        "undecided 0>"
    )


def test_short_records_show_all_their_fields() -> None:
    assert repr(Difference("a", [1], (2,))) == "Difference(text='a', expected=[1], found=(2,))"
    assert (
        repr(pickle.loads(pickle.dumps(Difference("a", [1], []))))
        == "Difference(text='a', expected=[1], found=[])"
    )
    assert short_repr({"a": [[[1]]], "b": set()}) == "{'a': [[[... 1 in all]]], 'b': set()}"
    assert short_repr(range(3)) == "range(0, 3)"
    assert short_repr(b"x" * 90) == f"b'{'x' * 60}'... 90 bytes"


# Nothing public is left out of OBJECTS.


def classes_named(text: str) -> Iterator[type]:
    """Yield the classes of fastbpe that an annotation names."""
    import sys

    for word in set(re.findall(r"\b[A-Z]\w+", text)):
        for module in [*sys.modules.values()]:
            found = vars(module).get(word) if getattr(module, "__name__", "").startswith("fastbpe") else None
            if isinstance(found, type) and found.__module__.startswith("fastbpe"):
                yield found
                break


def public_classes() -> set[type]:
    """Return the classes that fastbpe exports, and those that their public methods and functions return."""
    found: set[type] = set()
    todo: list[Any] = [getattr(fastbpe, name) for name in fastbpe.__all__]
    while todo:
        one = todo.pop()
        if not isinstance(one, type):
            if callable(one):
                todo += classes_named(str(inspect.signature(one).return_annotation))
            continue
        if one in found or issubclass(one, BaseException):
            continue
        found.add(one)
        for name, member in inspect.getmembers(one):
            if not name.startswith("_"):
                target = member.fget if isinstance(member, property) else member
                if inspect.isfunction(target):
                    todo += classes_named(str(inspect.signature(target).return_annotation))
    return found


@pytest.mark.daily
def test_every_public_class_is_tested(tmp_path_factory: pytest.TempPathFactory) -> None:
    made = [make(name, tmp_path_factory.mktemp("made")) for name in OBJECTS]
    tested = {one.__name__ for thing in made for one in type(thing).__mro__}
    assert {one.__name__ for one in public_classes()} <= tested
