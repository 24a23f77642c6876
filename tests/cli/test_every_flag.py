"""Every flag of every command changes the outcome or is refused; none is silently ignored.

`TABLE` has a row for each command, with a base line, and the words that each argument adds. With them the
outcome must differ from the base line's. An argument without a row fails the test.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import pytest

import fastbpe
from fastbpe.cli import command_line
from helpers.shared_data import BYTES

TRAIN = "train a.txt -o out.fbpe --vocab-size 258 --quiet"
NAMED = "train --source x=a.txt -o out.fbpe --vocab-size 258 --quiet"
POINTS = "train a.txt -o out.fbpe --vocab-size characters --mode codepoint --quiet"
IDS = "train ids -o out.fbpe --mode ids --base-size 257 --vocab-size 258"
SUPER = "train a.txt -o out.fbpe --vocab-size 261 --superwords 257 --quiet"
PIECES = "count-pieces a.txt -o out.pieces --quiet"
RUNS = f"{PIECES} --base w.fbpe --superwords auto"
WORDS = f"{PIECES} --mode codepoint"
ENCODE = "encode -m m.fbpe a.jsonl -o out.bin"
TIKTOKEN = "-m m.tiktoken --pattern gpt2"
MODEL = {"model": "-m m.fbpe | -m n.fbpe", "pattern": "--pattern none", "special": "--special <y>=5"}
TABLE: dict[str, tuple[str, dict[str, str | None]]] = {
    "demo": (
        "demo --text a.txt --vocab-size 257 --output out.fbpe",
        {
            "text": "{demo} --text b.txt",
            "vocab_size": "{demo} --vocab-size 258",
            "output": "{demo} --output other.fbpe",
            "force": "demo --text a.txt --vocab-size 257 --output there.bin | ... --force",
            "json": "--json",
        },
    ),
    "train": (
        TRAIN,
        {
            "files": "b.txt",
            "output": "train a.txt --vocab-size 258 --quiet | train a.txt --vocab-size 258 --quiet -o other.fbpe",
            "vocab_size": "train a.txt -o out.fbpe --vocab-size 257 | train a.txt -o out.fbpe --vocab-size 258",
            "mode": "--mode codepoint",
            "option": f"{POINTS} | {POINTS} --option add_dummy_prefix=false",
            "pattern": "--pattern none",
            "special": "--special <x>",
            "roles": f"{TRAIN} --special <x> | ... --roles bos=<x>",
            "ties": "--ties first",
            "min_count": "--min-count 9",
            "max_token_bytes": "--max-token-bytes 1",
            "superwords": "--superwords auto",
            "superwords_pattern": f"{SUPER} | ... --superwords-pattern .",
            "superwords_max_words": f"{SUPER} | ... --superwords-max-words 1",
            "superwords_forbid": f"{SUPER} | ... --superwords-forbid b",
            "superwords_documents": f"{SUPER} | ... --superwords-documents whole",
            "base_size": f"{IDS} | ... --base-size 258",
            "max_token_length": f"{IDS} | ... --max-token-length 1",
            "base": "--base m.fbpe",
            "base_special": "train b.txt -o out.fbpe --vocab-size 261 --base m.fbpe | ... --base-special end",
            "num_threads": "--num-threads 0",
            "max_memory_bytes": "--max-memory-bytes 0",
            "lines": f"{TRAIN} --pattern none | ... --lines",
            "separator": f"{TRAIN} --pattern none | ... --separator ab",
            "text_field": "train a.jsonl -o out.fbpe --vocab-size 258 | ... --text-field body",
            "format": "train a.jsonl -o out.fbpe --vocab-size 258 | ... --format text",
            "on_error": "train holes.jsonl -o out.fbpe --vocab-size 258 | ... --on-error skip",
            "errors": "train latin.txt -o out.fbpe --vocab-size 258 | ... --errors replace",
            "quiet": "train a.txt -o out.fbpe --vocab-size 258 | ... --quiet",
            "force": "train a.txt -o there.fbpe --vocab-size 258 | ... --force",
            "json": "--json",
            "source": f"{NAMED} --weights x=1 | ... --source y=b.txt",
            "weights": f"{NAMED} --source y=b.txt --weights x=1 | {NAMED} --source y=b.txt --weights y=99",
            "parity": f"{NAMED} --weights x=1 | {NAMED} --parity",
            "dev": f"{NAMED} --source y=b.txt --parity --dev x=a.txt --dev y=b.txt | "
            f"{NAMED} --source y=b.txt --parity --dev y=a.txt --dev x=b.txt",
            "ratio": f"{NAMED} --source y=b.txt --parity --ratio x=1 --ratio y=99 | "
            f"{NAMED} --source y=b.txt --parity --ratio x=99 --ratio y=1",
            "window": f"{NAMED} --parity | ... --window 0",
            "alpha": f"{NAMED} --parity --window 2 | ... --alpha 0",
            "global_merges": f"{NAMED} --parity | ... --global-merges -1",
        },
    ),
    "encode": (
        "encode -m m.fbpe a.txt",
        {
            **MODEL,
            "files": "b.txt",
            "lines": "--lines",
            "separator": "--separator ab",
            "text_field": "encode -m m.fbpe a.jsonl | ... --text-field body",
            "format": "encode -m m.fbpe a.jsonl | ... --format text",
            "allow_special": "--allow-special all",
            "forbid_special": "--forbid-special",
            "output": "-o out.bin",
            "document_start": f"{ENCODE} | ... --document-start <x>",
            "document_end": f"{ENCODE} | ... --document-end <x>",
            "dtype": f"{ENCODE} | ... --dtype uint32",
            "num_threads": f"{ENCODE} | ... --num-threads 0",
            "header": f"{ENCODE} | ... --header llm.c",
            "force": "encode -m m.fbpe a.txt -o there.bin | ... --force",
            "json": "--json",
            "shard": f"{ENCODE} | ... --shard 0/2",
            "on_error": "encode -m m.fbpe holes.jsonl -o out.bin | ... --on-error skip",
            "errors": "encode -m m.fbpe latin.txt -o out.bin | ... --errors replace",
            "quiet": f"{ENCODE} | ... --quiet",
        },
    ),
    "merge": (
        "merge raw.npy -o out.bin",
        {
            "runs": "merge raw.npy -o out.bin | merge other.npy -o out.bin",
            "output": "merge raw.npy -o out.bin | merge raw.npy -o out.npy",
            "header": "... --header llm.c",
            "force": "merge raw.npy -o there.bin | ... --force",
            "json": "--json",
            "quiet": "--quiet",
        },
    ),
    "decode": (
        "decode -m m.fbpe ids",
        {
            **MODEL,
            "file": "decode -m m.fbpe ids | decode -m m.fbpe a.txt",
            "lines": "--lines",
            "dtype": "decode -m m.fbpe raw.bin --dtype uint8 | decode -m m.fbpe raw.bin --dtype uint16",
        },
    ),
    "count": (
        "count -m m.fbpe a.txt",
        {
            **MODEL,
            "files": "b.txt",
            "lines": "--lines",
            "separator": "--separator ab",
            "text_field": "count -m m.fbpe a.jsonl | ... --text-field body",
            "messages": "--messages",
            "template": "--template default",
            "format": "count -m m.fbpe a.jsonl | ... --format text",
            "json": "--json",
        },
    ),
    "count-pieces": (
        PIECES,
        {
            "files": "b.txt",
            "output": "count-pieces a.txt --quiet | count-pieces a.txt --quiet -o other.pieces",
            "mode": "--mode codepoint",
            "option": f"{WORDS} | {WORDS} --option add_dummy_prefix=false",
            "pattern": "--pattern none",
            "special": "--special <x>",
            "min_count": "--min-count 2",
            "num_threads": "--num-threads 0",
            "max_memory_bytes": "--max-memory-bytes 0",
            "lines": f"{PIECES} --pattern none | ... --lines",
            "separator": f"{PIECES} --pattern none | ... --separator ab",
            "text_field": "count-pieces a.jsonl -o out.pieces | ... --text-field body",
            "format": "count-pieces a.jsonl -o out.pieces | ... --format text",
            "on_error": "count-pieces holes.jsonl -o out.pieces | ... --on-error skip",
            "errors": "count-pieces latin.txt -o out.pieces | ... --errors replace",
            "superwords": f"{PIECES} | ... --superwords w.fbpe",
            "base": f"{PIECES} | ... --base w.fbpe --superwords auto",
            "neighbours": f"{RUNS} | ... --neighbours count",
            "quiet": "count-pieces a.txt -o out.pieces | ... --quiet",
            "force": "count-pieces a.txt -o there.pieces | ... --force",
            "json": "--json",
        },
    ),
    "show": (
        "show -m m.fbpe a.txt",
        {
            **MODEL,
            "files": "b.txt",
            "text": "show -m m.fbpe --text ab | show -m m.fbpe --text ba",
            "lines": "--lines",
            "separator": "--separator ab",
            "text_field": "show -m m.fbpe a.jsonl | ... --text-field body",
            "format": "show -m m.fbpe a.jsonl | ... --format text",
            "ids": "--ids",
            "bytes": "--bytes",
            "offsets": "--offsets",
            "json": "--json",
            "html": "--html out.html",
            "force": "show -m m.fbpe a.txt --html there.bin | ... --force",
            "quiet": "show -m m.fbpe a.txt --html out.html | ... --quiet",
            "color": "--color always",
            "allow_special": "--allow-special all",
        },
    ),
    "compare": (
        "compare -m m.fbpe a.txt",
        {
            **MODEL,
            "files": "b.txt",
            "lines": "compare -m m.fbpe a.txt --json | ... --lines",
            "separator": "compare -m m.fbpe a.txt --json | ... --separator ab",
            "text_field": "compare -m m.fbpe a.jsonl | ... --text-field body",
            "format": "compare -m m.fbpe a.jsonl | ... --format text",
            "by": "--by ending",
            "parity": "compare -m m.fbpe -m m.fbpe a.txt | ... --parity",
            "judge": "--judge",
            "parallel": "compare -m m.fbpe a.txt a.txt | ... --parallel",
            "json": "--json",
            "csv": "--csv",
            "plot": "--plot out.svg",
            "force": "compare -m m.fbpe a.txt --plot there.svg | ... --force",
        },
    ),
    # A server, which runs until it is told to end: see test_web.py.
    "web": ("web", dict.fromkeys(("port", "no_browser", "model", "pattern", "special"))),
    "vocab": (
        "vocab -m m.fbpe",
        {
            **MODEL,
            "files": "a.txt",
            "lines": "vocab -m m.fbpe a.txt --id 10 | ... --lines",
            "separator": "vocab -m m.fbpe a.txt --id 98 | ... --separator b",
            "text_field": "vocab -m m.fbpe a.jsonl --id 120 | ... --text-field body",
            "format": "vocab -m m.fbpe a.jsonl --id 120 | ... --format text",
            "text": "--text a",
            "regex": "--regex ^a",
            "id": "--id 97-98",
            "length": "--length 2",
            "script": "--script digits",
            "longest": "--longest",
            "rarest": "vocab -m m.fbpe a.txt --id 97-256 | ... --rarest",
            "limit": "--limit 3",
            "report": "--report",
            "tree": "--tree ab",
            "json": "--json",
            "plot": "--plot out.svg",
            "force": "vocab -m m.fbpe --plot there.svg | ... --force",
            "color": "vocab -m m.fbpe --tree ab | ... --color always",
        },
    ),
    "info": ("info m.fbpe", {**MODEL, "model": "info m.fbpe | info n.fbpe", "json": "--json"}),
    "convert": (
        "convert m.fbpe out.tiktoken",
        {
            **MODEL,
            "model": "convert m.fbpe out.tiktoken | convert n.fbpe out.tiktoken",
            "out": "convert m.fbpe out.tiktoken | convert m.fbpe out.json",
            "to": "--to native",
            "verify": None,  # no visible effect if all ids are equal; see test_convert.py
            "verify_text": "--verify-text a.txt",
            "drop": "--drop normalizer",
            "roles": "convert m.fbpe out.json | ... --roles bos=<x>",
            "force": "convert m.fbpe there.fbpe | ... --force",
            "json": "--json",
            "quiet": "--quiet",
        },
    ),
    "verify": (
        "verify m.fbpe",
        {
            "paths": "verify m.fbpe | verify n.fbpe",
            "model": "-m n.fbpe",
            "dtype": "verify raw.bin --dtype uint8 | verify raw.bin --dtype uint16",
            "inputs": "verify raw.bin --dtype uint8 | ... --inputs .",
            "text": "verify m.fbpe -m m.fbpe | ... --text a.txt",
            "json": "--json",
            "pattern": "verify m.tiktoken --pattern gpt2 | verify m.tiktoken",
            "special": "verify m.tiktoken --pattern gpt2 | ... --special <y>=300",
        },
    ),
    "completion": ("completion bash", {"shell": "completion bash | completion zsh"}),
    # --json changes the lines about downloaded files: tests/unit/published/test_fetch.py tests it.
    "fetch": ("fetch nonsense", {"names": "nonsense2", "list": "fetch --list | fetch nonsense", "json": None}),
}
ARGUMENTS = {
    command: [action.dest for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    for action in command_line.make_parser()._actions
    if isinstance(action, argparse._SubParsersAction)
    for command, parser in action.choices.items()
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("ab ab<x>\nba ba b ab\n")
    (tmp_path / "b.txt").write_text("xy xyz")
    (tmp_path / "ids").write_text("256 98\n97\n")
    (tmp_path / "a.jsonl").write_text('{"text": "ab ab", "body": "xyz"}\n')
    (tmp_path / "holes.jsonl").write_text('{"text": "ab ab"}\n{"no": 1}\n')
    (tmp_path / "latin.txt").write_bytes(b"ab \xe9")
    for ending in ("bin", "fbpe", "pieces", "svg"):
        (tmp_path / f"there.{ending}").write_bytes(b"")
    (tmp_path / "raw.bin").write_bytes(b"a\0")
    for name, n in (("raw.npy", 1), ("other.npy", 2)):
        header = f"{{'descr': '<u2', 'fortran_order': False, 'shape': ({n},), }}".encode().ljust(117) + b"\n"
        (tmp_path / name).write_bytes(b"\x93NUMPY\1\0\x76\0" + header + bytes(2 * n))
    tokenizer = fastbpe.Tokenizer.from_ranks(
        BYTES | {b"ab": 256, b" ab": 257}, pattern="gpt2", special_tokens={"<x>": 258}
    )
    tokenizer.save("m.fbpe")
    tokenizer.export("m.tiktoken", format="tiktoken")
    fastbpe.Tokenizer.from_ranks(BYTES | {b"ba": 256}, pattern=None).save("n.fbpe")
    fastbpe.train(["ab ab ba"], vocab_size=258, superwords="words", progress=False).save("w.fbpe")
    return tmp_path


def lines(command: str, argument: str) -> tuple[str, str]:
    """Return the base line and the line with the argument; a row holds the end of the second, or both."""
    base, said = TABLE[command][0], TABLE[command][1][argument]
    assert said is not None
    if argument in ("pattern", "special") and said == MODEL[argument]:
        base = base.replace("m.fbpe", "m.tiktoken") + (" --pattern gpt2" if argument == "special" else "")
    if said == MODEL["model"]:
        return base, base.replace("m.fbpe", "n.fbpe")
    if said.startswith("{demo}"):
        flag = said.split()[1]
        words = base.split()
        at = words.index(flag)
        return base, " ".join([*words[:at], *said.split()[1:], *words[at + 2 :]])
    if " | " not in said:
        return base, f"{base} {said}"
    base, changed = said.split(" | ")
    return base, changed.replace("...", base)


def test_every_command_and_argument_has_a_row() -> None:
    assert TABLE.keys() == ARGUMENTS.keys()
    for command, (_, row) in TABLE.items():
        assert sorted(row) == sorted(ARGUMENTS[command]), command


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("command", "argument"),
    [(name, argument) for name, row in TABLE.items() for argument, said in row[1].items() if said is not None],
)
def test_every_argument_changes_the_outcome_or_is_refused(command: str, argument: str, here: Path, run) -> None:
    before = {path: path.read_bytes() for path in here.iterdir()}
    outcomes = []
    for line in lines(command, argument):
        done = run(*shlex.split(line))
        made = {path.name: path.read_bytes() for path in here.iterdir() if before.get(path) != path.read_bytes()}
        outcomes.append((done, made))
        for path in set(here.iterdir()) - before.keys():
            path.unlink()
    assert outcomes[0] != outcomes[1]
    assert outcomes[0][0].status == 0 or argument in (
        "pattern",
        "on_error",
        "errors",
        "force",
        "output",
        "names",
    )
