"""Every option of every public function changes the result or is refused; none is silently ignored.

`CALLS` has a row for each function, with a value for each of its parameters. With that value the outcome must
differ from the base call's. A parameter without a row fails the test.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import shutil
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import fastbpe
from fastbpe import IdMap, OptionError, PieceCounts, SequenceTokenizer, StoredIds, Tokenizer
from fastbpe.display.shown_text import ShownText
from fastbpe.formats.sentencepiece.specs import NORMALIZER, OF_UNIGRAM, TRAINER, WITHOUT_EFFECT
from fastbpe.id_files.parts import Part, read_part
from fastbpe.tokenizer.streams.conversation import Conversation
from fastbpe.tokenizer.streams.stream_encoder import StreamEncoder
from fastbpe.training.codepoint_options import NAMES
from fastbpe.training.options import ByteOptions, ReadingKeywords

TEXT = "ab ab<x>é 👍 ab"
CHAT = [{"role": "user", "content": TEXT}]
CHAT_TEMPLATE = "{{{{ messages[0].content }}}}{{{{ tools }}}}{{{{ add_generation_prompt }}}}"  # see `fill_in_path`

numpy = pytest.importorskip("numpy")


class Row(NamedTuple):
    """Arguments of a base call, and for each parameter the value that must change the outcome.

    A value that matters only together with other arguments is a `WithArguments` with all of them.
    """

    base: dict[str, Any]
    values: dict[str, Any]


class WithArguments(dict[str, Any]):
    """Arguments added to both calls; the key "value" holds the value of the parameter in the second call."""


def tokenizer() -> Tokenizer:
    made = fastbpe.train(["ab ab"], vocab_size=259, special_tokens=["<x>"], pattern="gpt2", progress=False)
    return Tokenizer(made._family.model._replace(template=((258,), ())))  # type: ignore[union-attr]


def sequence_tokenizer() -> SequenceTokenizer:
    return SequenceTokenizer.from_merges([(0, 1)], base_size=4, special_tokens=["<x>"])


FOLDER = tempfile.TemporaryDirectory()  # of the file that the rows of StoredIds read


def part(name: str = "one") -> Part:
    path = Path(FOLDER.name, f"{name}.bin")
    path.write_bytes(f"{name} other".encode())
    return read_part(path, "uint8")


def outcome(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call a function and return a comparable result; for an error its type and text."""
    told: list[Any] = []
    out = arguments.get("out", arguments.get("path"))
    if arguments.get("progress") == "tell":
        arguments = {**arguments, "progress": lambda *said: told.append(said[0])}
    try:
        result = call(**arguments)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
    except Exception as error:
        return type(error), str(error)
    if isinstance(result, SequenceTokenizer):
        result = result.merges, result.base_size, result.special_tokens
    elif isinstance(result, Tokenizer):
        report = result.training_report
        result = result.fingerprint, result.name, report.get("n_skipped"), report.get("n_bytes")
    elif isinstance(result, PieceCounts):
        result = dict(result), result.pattern, result.special_tokens, result.n_skipped
    elif isinstance(result, fastbpe.FilesSummary):
        out = Path(result.path) if result.seconds else out
        seconds = result.seconds if call is fastbpe.FilesSummary else 0
        result = [*{**vars(result), "seconds": seconds}.values()]
    elif isinstance(result, StoredIds):
        result = result.paths, [(type(document), document.tolist()) for document in result]
    elif isinstance(result, Conversation):
        result = _appended(result)
    elif isinstance(result, StreamEncoder):
        result = _encoded(result)
    elif isinstance(result, ShownText):
        result = str(result), result.ids
    elif hasattr(result, "push"):
        result = _pushed(result)
    elif isinstance(result, Iterator):
        result = list(result)
    elif isinstance(result, tuple):
        result = [getattr(part, "tolist", lambda part=part: part)() for part in result]
    files = Path(out) if isinstance(out, (str, Path)) else None
    written = files.read_bytes() if files is not None and files.is_file() else files and files.is_dir()
    return getattr(result, "tolist", lambda: result)(), told, written


def _encoded(encoder: StreamEncoder) -> Any:
    try:
        return encoder.push(TEXT) + encoder.finish()
    except ValueError as error:
        return str(error)


def _appended(conversation: Conversation) -> Any:
    try:
        return conversation.append(TEXT)
    except ValueError as error:
        return str(error)


def _pushed(decoder: Any) -> list[str]:
    texts = [decoder.push([0xFF, 0x61, 258])]
    try:
        texts.append(decoder.push(10**6))
    except KeyError as error:
        texts.append(str(error))
    return texts


COUNTED = {"allowed_special": {"<x>"}, "disallowed_special": "all"}
TEMPLATE = WithArguments(disallowed_special=(), value=True)
WITH = {"tokenizer": tokenizer()}
OTHER = {"tokenizer": fastbpe.Tokenizer.from_ranks({bytes([255 - i]): i for i in range(256)}, pattern=None)}
THREADS = {"num_threads": 0}  # an invalid number, which must be refused
SPECIAL = {
    "allowed_special": {"<x>"},
    "disallowed_special": (),
}
OUTPUT = {
    "dtype": WithArguments(disallowed_special=(), value="uint8"),
    "out": WithArguments(disallowed_special=(), value=numpy.zeros(1, "uint32")),
}
SPANS = {
    "unit": WithArguments(disallowed_special=(), value="byte"),
    "as_numpy": WithArguments(disallowed_special=(), value=True),
}
WORDS = fastbpe.train(["ab ab ba"], vocab_size=258, superwords="words", progress=False)
RUNS: dict[str, Any] = {"base": WORDS, "superwords": fastbpe.Superwords()}
READING = {
    "text_field": WithArguments(source="{jsonl}", value="body"),
    "format": WithArguments(source="{jsonl}", value="text"),
    "separator": WithArguments(source="{txt}", pattern=None, value="\n"),
    "on_error": WithArguments(source="{holes}", value="skip"),
    "errors": WithArguments(source="{latin}", value="replace"),
    "max_memory_bytes": 0,
    "progress": "tell",
    **THREADS,
}
UNKNOWN = {
    "unknown_ids": WithArguments(ids=[10**6], value="skip"),
    "skip_special_tokens": WithArguments(ids=[258], value=True),
}
CALLS: dict[str, Row] = {
    "train": Row(
        {"source": ["ab ab"], "vocab_size": 257, "progress": False},
        {
            "source": ["xy xy"],
            "vocab_size": 258,
            "mode": WithArguments(vocab_size=6, value="codepoint"),
            "base": WithArguments(vocab_size=260, value=tokenizer()),
            "base_special": WithArguments(source=["xy xy"], vocab_size=260, base=tokenizer(), value="end"),
            "roles": {"bos": "<no>"},
            "parity": WithArguments(source={"a": ["abc"]}, weights={}, value=fastbpe.Parity()),
            "weights": WithArguments(source={"a": ["ab ab"], "b": ["xy"]}, parity=None, value={"b": 3}),
            "options": None,  # tested in test_every_option_of_byte_training_changes_the_tokenizer
            **READING,
        },
    ),
    "count_pieces": Row(
        {"source": ["ab ab<x>"]},
        {
            "source": ["xy"],
            "mode": "codepoint",
            "pattern": None,
            "special_tokens": ["<x>"],
            "base": tokenizer(),
            "superwords": WORDS,
            "neighbours": WithArguments(source=["ab ab ba"], **RUNS, value="count"),
            "options": None,  # tested in tests/property/test_codepoint_counts.py
            **READING,
        },
    ),
    "Parity": Row(
        {"window": 5},
        {"dev": {"en": ["a"]}, "ratio": {"en": 2.0}, "window": 6, "alpha": 1.0, "global_merges": 1},
    ),
    "Superwords": Row(
        {"start": 300},
        {"start": 301, "pattern": None, "max_words": 1, "forbid": ["x"], "documents": "whole"},
    ),
    "release_memory": Row({}, {}),
    "vocabulary_report": Row(
        {"tokenizer": tokenizer()},
        {
            "tokenizer": Tokenizer.from_merges([], pattern=None),
            "corpus": ["ab"],
            "separator": WithArguments(corpus="{txt}", value="\n"),
            "text_field": WithArguments(corpus="{jsonl}", value="body"),
            "format": WithArguments(corpus="{jsonl}", value="text"),
            "progress": WithArguments(corpus=["ab"], value="tell"),
        },
    ),
    "changed_texts": Row(
        {"old": tokenizer(), "new": tokenizer().with_tokens(["ab<"]), "corpus": [TEXT]},
        {
            "old": tokenizer().with_tokens(["ab<"]),
            "new": tokenizer(),
            "corpus": ["ab"],
            "align_first": 0,
            "separator": WithArguments(corpus="{txt}", value="\n"),
            "text_field": WithArguments(corpus="{jsonl}", value="body"),
            "format": WithArguments(corpus="{jsonl}", value="text"),
            "num_threads": 0,
            "progress": "tell",
        },
    ),
    "install": Row({}, {"names": None}),  # *names: tests/conformance/test_install.py
    "uninstall": Row({}, {"names": None}),
    "align": Row(
        {"text": TEXT, "a": tokenizer(), "b": tokenizer()},
        {
            "text": "b",
            "a": Tokenizer.from_merges([], pattern=None),
            "b": Tokenizer.from_merges([], pattern=None),
        },
    ),
    "open_ids": Row(
        {"path": "{ids16}"},
        {
            "path": "{txt}.bin",
            "tokenizer": Tokenizer.from_merges([], pattern=None),
            "dtype": "uint32",
            "as_numpy": True,
        },
    ),
    "merge_shards": Row(
        {"path": "{ids16}", "out": "{bin}", "overwrite": True},
        {
            "path": "no",
            "out": "{out}.npy",
            "progress": "tell",
            "overwrite": WithArguments(out="{txt}.bin", value=False),
            "header": "llm.c",
        },
    ),
    "StoredIds": Row({"parts": [part()]}, {"parts": [part("two")], "as_numpy": True}),
    "StoredIds.count": Row({"value": array("B", b"one other")}, {"value": array("B", b"one")}),
    "StoredIds.index": Row(
        {"value": array("B", b"one other")}, {"value": array("B", b"one"), "start": 1, "stop": 0}
    ),
    "StoredIds.ids": Row({}, {"start": 1, "end": 3}),
    "StoredIds.span": Row({"index": 0}, {"index": 1}),
    "StoredIds.random_windows": Row({"n": 5, "length": 3, "seed": 0}, {"n": 6, "length": 4, "seed": 1}),
    "load": Row(
        {"path_or_bytes": "{tiktoken}", "pattern": "gpt2"},
        {"path_or_bytes": "no", "pattern": "cl100k", "special_tokens": {"<y>": 300}, "cache_bytes": -1},
    ),
    "PieceCounts": Row({"counts": {"ab": 2}}, {"counts": {"ab": 3}, "pattern": "gpt2", "special_tokens": ["<x>"]}),
    "PieceCounts.load": Row({"path": "{counts}"}, {"path": "no"}),
    "PieceCounts.save": Row({"path": "{out}"}, {"path": "{folder}"}),
    "PieceCounts.to_parquet": Row({"path": "{out}"}, {"path": "{folder}"}),
    "PieceCounts.pruned": Row({"min_count": 1}, {"min_count": 2}),
    "PieceCounts.get": Row({"key": b"no"}, {"key": b"ab", "default": 5}),
    "PieceCounts.check_made_by": Row(
        {"pattern": None, "special_tokens": []}, {"pattern": "gpt2", "special_tokens": ["<x>"]}
    ),
    "PieceCounts.merge": Row(
        {"paths": ["{counts}"], "out": "{out}", "progress": False},
        {"paths": [], "out": "{folder}", "min_count": 2, "max_memory_bytes": 0, "progress": "tell"},
    ),
    "PieceCounts.items": Row({}, {}),
    "PieceCounts.keys": Row({}, {}),
    "PieceCounts.values": Row({}, {}),
    "IdMap": Row(
        {"n_old": 3, "new_to_old": [0, -1]}, {"n_old": 4, "new_to_old": [1, -1], "init_from": {1: [0, 2]}}
    ),
    "IdMap.inverse": Row({}, {}),
    "IdMap.load": Row({"path": "{ids}"}, {"path": "no"}),
    "IdMap.resize": Row(
        {"matrix": numpy.arange(2)},
        {"matrix": numpy.ones(2), "padded": WithArguments(matrix=numpy.arange(3), value=True)},
    ),
    "IdMap.save": Row({"path": "{out}"}, {"path": "{folder}"}),
    "IdMap.then": Row({"other": IdMap(2, [0])}, {"other": IdMap(2, [1])}),
    "FilesSummary": Row(
        {"path": "a", "n_documents": 1, "n_ids": 1, "n_bytes": 1, "seconds": 1.0},
        {
            "path": None,
            "n_documents": None,
            "n_ids": 2,
            "n_bytes": 2,
            "seconds": None,
            "n_skipped": 1,
            "skipped": ("a.jsonl:1: not a line of JSON",),
            "n_left_out": 1,
            "left_out": ("a.md",),
        },  # a plain record: its fields have no effect
    ),
    "Tokenizer": Row({"model": 5}, {"model": 5.0, "cache_bytes": -1}),
    "Tokenizer.from_ranks": Row(
        {"ranks": {bytes([i]): i for i in range(256)}, "pattern": None},
        {
            "ranks": {b"a": 0},
            "pattern": "gpt2",
            "special_tokens": {"<x>": 300},
            "name": "a",
            "cache_bytes": -1,
        },
    ),
    "Tokenizer.from_merges": Row(
        {"merges": [(97, 98)], "pattern": None},
        {
            "merges": [(97, 99)],
            "pattern": "gpt2",
            "special_tokens": {"<x>": 300},
            "name": "a",
            "cache_bytes": -1,
        },
    ),
    "Tokenizer.encode": Row(
        {"text": TEXT},
        {
            "text": "b",
            **SPECIAL,
            "num_threads": WithArguments(text="a", value=0),
            "dropout": WithArguments(text="ab ab", value=1),
            "seed": WithArguments(text="ab " * 99, dropout=0.5, value=1),
            "with_template": TEMPLATE,
        },
    ),
    "Tokenizer.encode_ordinary": Row({"text": TEXT}, {"text": "b", **THREADS}),
    "Tokenizer.encode_to_numpy": Row(
        {"text": TEXT},
        {
            "text": "b",
            **SPECIAL,
            "dropout": WithArguments(text="ab ab", value=1),
            "seed": WithArguments(text="ab " * 99, dropout=0.5, value=1),
            "with_template": TEMPLATE,
            **OUTPUT,
            "num_threads": WithArguments(text="a", value=0),
        },
    ),
    "Tokenizer.encode_batch": Row(
        {"texts": [TEXT]},
        {
            "texts": ["b"],
            **SPECIAL,
            "num_threads": WithArguments(texts=["a"], value=0),
            "dropout": WithArguments(texts=["ab ab"], value=1),
            "seed": WithArguments(texts=["ab " * 99], dropout=0.5, value=1),
            "with_template": TEMPLATE,
        },
    ),
    "Tokenizer.encode_ordinary_batch": Row({"texts": [TEXT]}, {"texts": ["b"], **THREADS}),
    "Tokenizer.encode_batch_to_numpy": Row(
        {"texts": [TEXT]},
        {
            "texts": ["b"],
            **SPECIAL,
            "dropout": WithArguments(texts=["ab ab"], value=1),
            "seed": WithArguments(texts=["ab " * 99], dropout=0.5, value=1),
            "with_template": TEMPLATE,
            **OUTPUT,
            "num_threads": WithArguments(texts=["a"], value=0),
        },
    ),
    "Tokenizer.to_arrow": Row(
        {"texts": [TEXT]},
        {
            "texts": ["b"],
            **SPECIAL,
            "dtype": WithArguments(disallowed_special=(), value="uint8"),
            "num_threads": WithArguments(texts=["a"], value=0),
        },
    ),
    "Tokenizer.encode_with_offsets": Row({"text": TEXT}, {"text": "b", **SPECIAL, **SPANS}),
    "Tokenizer.encode_batch_with_offsets": Row({"texts": [TEXT]}, {"texts": ["b"], **SPECIAL, **SPANS}),
    "show": Row(
        {**WITH, "text": TEXT},
        {**OTHER, "text": "b", "allowed_special": {"<x>"}, "ids": True, "bytes": True, "offsets": True},
    ),
    "Tokenizer.encode_with_template": Row({"text": "a"}, {"text": "b", "pair": "c"}),
    "Tokenizer.encode_parts": Row({"parts": [(TEXT, True)]}, {"parts": [(TEXT, False)]}),
    "Tokenizer.encode_files": Row(
        {"inputs": "{txt}", "out": "{bin}", "overwrite": True},
        {
            "inputs": "{jsonl}",
            "out": "{out}",
            "separator": WithArguments(document_end="<x>", value="\n"),
            "text_field": WithArguments(inputs="{jsonl}", value="body"),
            "format": WithArguments(inputs="{jsonl}", value="text"),
            "document_start": "<x>",
            "document_end": "<x>",
            "dtype": "uint32",
            "progress": "tell",
            "overwrite": WithArguments(out="{txt}.bin", value=False),
            "shard": (0, 2),
            "on_error": WithArguments(inputs="{holes}", value="skip"),
            "errors": WithArguments(inputs="{latin}", value="replace"),
            "header": "llm.c",
            **THREADS,
        },
    ),
    "write_shard": Row(
        {**WITH, "texts": ["a"], "out": "{bin}", "shard": (0, 1)},
        {
            **OTHER,
            "texts": ["ab"],
            "on_error": WithArguments(texts=["a", None], value="skip"),
            "errors": WithArguments(texts=[b"\xff"], value="replace"),
            "out": "{folder}/out.bin",
            "shard": (0, 2),
            "document_start": "<x>",
            "document_end": "<x>",
            "dtype": "uint32",
            **THREADS,
        },
    ),
    "Tokenizer.count": Row({"text": TEXT}, {"text": "b", "max_tokens": 1, **COUNTED, **THREADS}),
    "Tokenizer.count_batch": Row({"texts": [TEXT]}, {"texts": ["b"], **COUNTED, **THREADS}),
    "Tokenizer.count_messages": Row(
        {"messages": CHAT, "template": CHAT_TEMPLATE},
        {
            "messages": [{"role": "user", "content": "b"}],
            "tools": [{"name": "f"}],
            "template": "{{{{ 1 }}}}",
            "add_generation_prompt": False,
        },
    ),
    "Tokenizer.fits": Row(
        {"text": TEXT, "max_tokens": len(tokenizer().encode(TEXT, allowed_special="all"))},
        {"text": "b", "max_tokens": 50, **COUNTED},
    ),
    "Tokenizer.truncate": Row(
        {"text": TEXT, "max_tokens": 3},
        {"text": "b", "max_tokens": 4, "side": "left", "boundary": "word", "with_total": True, **COUNTED},
    ),
    "Tokenizer.truncate_batch": Row(
        {"texts": [TEXT], "max_tokens": 3},
        {"texts": ["b"], "max_tokens": 4, "side": "left", "boundary": "word", **COUNTED},
    ),
    "Tokenizer.chunk": Row(
        {"text": TEXT, "max_tokens": 6},
        {"text": "b", "max_tokens": 7, "overlap": 1, "boundary": "word", "with_spans": True, **COUNTED},
    ),
    "Tokenizer.encoder": Row({}, SPECIAL),
    "Tokenizer.conversation": Row({}, SPECIAL),
    "Tokenizer.completions": Row({"prefix": b"a"}, {"prefix": b"b"}),
    "aencode": Row(
        {**WITH, "text": TEXT},
        {**OTHER, "text": "b", **SPECIAL, "num_threads": WithArguments(text="a", value=0)},
    ),
    "aencode_batch": Row(
        {**WITH, "texts": [TEXT]},
        {**OTHER, "texts": ["b"], **SPECIAL, "num_threads": WithArguments(texts=["a"], value=0)},
    ),
    "Tokenizer.explain": Row({"text": TEXT}, {"text": "b", **COUNTED}),
    "Tokenizer.is_lossless": Row(
        {"text": TEXT}, {"text": "\ud800", "allowed_special": "x", "disallowed_special": "all"}
    ),
    "joins": Row(
        {**WITH, "a": "a", "b": "b"},
        {**OTHER, "a": "b", "b": "c", "allowed_special": WithArguments(a="<", b="x>", value={"<x>"})},
    ),
    "Tokenizer.interval_counter": Row({"text": TEXT}, {"text": b"b", **COUNTED}),
    "Tokenizer.pieces": Row({"text": TEXT}, {"text": "b"}),
    "Tokenizer.decode": Row({"ids": [0xFF, 0x61]}, {"ids": [0x61], "errors": "ignore", **UNKNOWN, **THREADS}),
    "Tokenizer.decode_batch": Row(
        {"batch_of_ids": [[0xFF]]},
        {
            "batch_of_ids": [[0x61]],
            "errors": "ignore",
            "unknown_ids": WithArguments(batch_of_ids=[[10**6]], value="skip"),
            "skip_special_tokens": WithArguments(batch_of_ids=[[258]], value=True),
            **THREADS,
        },
    ),
    "Tokenizer.decode_bytes": Row({"ids": [0x61]}, {"ids": [0x62]}),
    "Tokenizer.decode_tokens_bytes": Row({"ids": [1]}, {"ids": [2]}),
    "Tokenizer.decoder": Row({}, {"errors": "ignore", "unknown_ids": "skip", "skip_special_tokens": True}),
    "Tokenizer.id_map": Row({"old": tokenizer()}, {"old": fastbpe.train(["xy"], vocab_size=257, progress=False)}),
    "merge_tree": Row({**WITH, "token": "ab"}, {**OTHER, "token": "a"}),
    "steps": Row(WITH, {"tokenizer": fastbpe.train(["ab"], mode="codepoint", vocab_size="characters")}),
    "training_options": Row(WITH, {"tokenizer": fastbpe.train(["ab"], mode="codepoint", vocab_size="characters")}),
    "Tokenizer.without_tokens": Row({"tokens": [256]}, {"tokens": [], "keep_ids": True}),
    "Tokenizer.prune": Row(
        {"keep": 258},
        {
            "keep": 257,
            "corpus": WithArguments(keep=None, value=["ab"]),
            "min_count": WithArguments(keep=None, corpus=["abc ab ab"], value=5),
            "keep_ids": True,
            "separator": WithArguments(keep=None, corpus="{txt}", value="b"),
            "text_field": WithArguments(keep=None, corpus="{jsonl}", value="body"),
            "format": WithArguments(keep=None, corpus="{jsonl}", text_field="body", value="text"),
        },
    ),
    "merge_vocabularies": Row(
        {"a": tokenizer(), "b": tokenizer()},
        {name: fastbpe.train(["xy xy"], vocab_size=257, progress=False) for name in ("a", "b")},
    ),
    "Tokenizer.id_to_token": Row({"token_id": 1}, {"token_id": 2}),
    "Tokenizer.token_to_id": Row({"token": "a"}, {"token": "b"}),
    "Tokenizer.export": Row(
        {"path": "{out}", "format": "native"},
        {
            "path": "{folder}",
            "format": "tiktoken",
            "verify": False,
            "verify_text": "ab",
            "drop": ["normalizer"],
            "roles": {"bos": "<no>"},
        },
    ),
    "Tokenizer.save": Row({"path": "{out}"}, {"path": "{folder}"}),
    "SequenceTokenizer": Row({"model": 5}, {"model": 5.0}),
    "SequenceTokenizer.from_merges": Row(
        {"merges": [(0, 1)], "base_size": 4}, {"merges": [(1, 0)], "base_size": 5, "special_tokens": ["<a>"]}
    ),
    "SequenceTokenizer.load": Row({"path_or_bytes": "{sequences}"}, {"path_or_bytes": "no"}),
    "SequenceTokenizer.save": Row({"path": "{out}"}, {"path": "{folder}"}),
    "SequenceTokenizer.encode": Row({"sequence": [0, 1]}, {"sequence": [1], **THREADS}),
    "SequenceTokenizer.encode_to_numpy": Row({"sequence": [0, 1]}, {"sequence": [1], **THREADS}),
    "SequenceTokenizer.encode_batch": Row({"batch": [[0, 1]]}, {"batch": [[1]], **THREADS}),
    "SequenceTokenizer.encode_batch_to_numpy": Row({"batch": [[0, 1]]}, {"batch": [[1]], **THREADS}),
    "SequenceTokenizer.count": Row({"sequence": [0, 1]}, {"sequence": [1, 0], **THREADS}),
    "SequenceTokenizer.decode": Row({"ids": [4, 5]}, {"ids": [1], "skip_special_tokens": True}),
    "SequenceTokenizer.decode_to_numpy": Row({"ids": [4, 5]}, {"ids": [1], "skip_special_tokens": True}),
    "SequenceTokenizer.decode_batch": Row({"batch": [[4, 5]]}, {"batch": [[1]], "skip_special_tokens": True}),
    "SequenceTokenizer.with_special_tokens": Row({"special_tokens": ["<a>"]}, {"special_tokens": {"<b>": 9}}),
    "SequenceTokenizer.is_special_token": Row({"token_id": 5}, {"token_id": 1}),
    "SequenceTokenizer.export": Row(
        {"path": "{out}.fbpe"}, {"path": "{folder}", "format": "tiktoken", "verify": None}
    ),
    "SequenceTokenizer.encode_files": Row(
        {"inputs": "{codes}", "out": "{bin}", "overwrite": True},
        {
            "inputs": "{ids16}",
            "out": "{out}",
            "field": WithArguments(inputs="{codes}", value="other"),
            "document_start": "<x>",
            "document_end": "<x>",
            "dtype": "uint32",
            "progress": "tell",
            "overwrite": WithArguments(out="{txt}.bin", value=False),
            "header": "llm.c",
            **THREADS,
        },
    ),
    "SequenceTokenizer.id_map": Row(
        {"old": sequence_tokenizer()}, {"old": SequenceTokenizer.from_merges([], base_size=4)}
    ),
    "SequenceTokenizer.id_to_token": Row({"token_id": 4}, {"token_id": 1}),
    "SequenceTokenizer.token_to_id": Row({"token": [0, 1]}, {"token": [1]}),
    "AddedToken": Row(
        {"content": "<x>"},
        {"content": "<y>", "id": 5, **dict.fromkeys(fastbpe.AddedToken._fields[2:], True)},
    ),
    "Tokenizer.with_special_tokens": Row(
        {"special_tokens": {"<y>": 300}},
        {
            "special_tokens": {"<z>": 300},
            "reserved": 1,
            "reserved_name": WithArguments(reserved=1, value="<r{}>"),
            "pad_to_multiple_of": 8,
            "roles": {"bos": "<no>"},
        },
    ),
    "Tokenizer.with_tokens": Row({"tokens": ["<y>"]}, {"tokens": ["<z>"]}),
}


def public_functions() -> dict[str, Callable[..., Any]]:
    """Return all public functions and methods by name; a class stands for its constructor."""
    found: dict[str, Callable[..., Any]] = {}
    counts = PieceCounts({"ab": 1, "c": 2})
    objects = {
        "Tokenizer": tokenizer(),
        "PieceCounts": counts,
        "SequenceTokenizer": sequence_tokenizer(),
        "IdMap": IdMap(2, [1, -1]),
        "StoredIds": StoredIds([part()]),
    }
    for name in fastbpe.__all__:
        one = getattr(fastbpe, name)
        if not callable(one) or (inspect.isclass(one) and issubclass(one, BaseException)):
            continue
        found[name] = one
        of_tuple = dir(tuple) if inspect.isclass(one) and issubclass(one, tuple) else ()
        for method in dir(one) if inspect.isclass(one) else ():
            if not method.startswith("_") and callable(getattr(one, method)) and method not in of_tuple:
                found[f"{name}.{method}"] = getattr(objects.get(name, one), method)
    return found


FUNCTIONS = public_functions()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of input files."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "a.jsonl").write_text(json.dumps({"text": "ab ab", "body": "xyxy"}))
    (folder / "holes.jsonl").write_text('{"text": "ab"}\n{"no": 1}\n')
    (folder / "codes.jsonl").write_text('{"input_ids": [0, 1], "other": [1]}\n')
    (folder / "a.txt").write_text("ab\nab\nab\n")
    (folder / "a.txt.bin").write_text("")
    (folder / "latin.txt").write_bytes(b"ab \xe9\xe9")
    tokenizer().export(folder / "a.tiktoken", format="tiktoken")
    PieceCounts({"ab": 1}).save(folder / "counts")
    sequence_tokenizer().save(folder / "sequences.fbpe")
    IdMap(2, [0]).save(folder / "ids")
    tokenizer().encode_files(folder / "a.txt", folder / "ids16.bin", progress=False)
    (folder / "folder").mkdir()
    return folder


@pytest.fixture
def places(made: Path, tmp_path: Path) -> dict[str, str]:
    """Paths of the test's own copies of the input files, and of outputs, by name."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    names = {"jsonl": "a.jsonl", "holes": "holes.jsonl", "txt": "a.txt", "latin": "latin.txt", "folder": "folder"}
    names |= {"tiktoken": "a.tiktoken", "counts": "counts", "ids": "ids", "out": "out", "bin": "out.bin"}
    names |= {"ids16": "ids16.bin", "codes": "codes.jsonl"}
    names["sequences"] = "sequences.fbpe"
    return {name: str(tmp_path / path) for name, path in names.items()}


def fill_in_path(value: Any, places: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [fill_in_path(item, places) for item in value]
    return value.format(**places) if isinstance(value, str) and value.startswith("{") else value


def test_every_public_function_and_parameter_has_a_row() -> None:
    assert sorted(CALLS) == sorted(FUNCTIONS)
    for name, function in FUNCTIONS.items():
        parameters = set(inspect.signature(function).parameters) - {"self"}
        if name in ("train", "count_pieces"):
            parameters |= set(ReadingKeywords.__annotations__)
        assert sorted(CALLS[name].values) == sorted(parameters), name


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        (name, parameter)
        for name, row in CALLS.items()
        for parameter in row.values
        if row.values[parameter] is not None
    ],
)
def test_every_parameter_changes_the_result_or_is_refused(
    name: str, parameter: str, places: dict[str, str]
) -> None:
    if name == "Tokenizer.to_arrow":
        pytest.importorskip("pyarrow")
    row, function = CALLS[name], FUNCTIONS[name]
    value = row.values[parameter]
    base = dict(row.base)
    if isinstance(value, WithArguments):
        base |= {key: other for key, other in value.items() if key != "value"}
        value = value["value"]
    base = {key: fill_in_path(other, places) for key, other in base.items()}
    outcomes = []
    for arguments in (base, base | {parameter: fill_in_path(value, places)}):
        outcomes.append(outcome(function, arguments))
        if name.endswith(".encode_files") and parameter != "overwrite":
            for path in Path(places["bin"]).parent.glob("out.bin*"):
                path.unlink()
    assert outcomes[0] != outcomes[1]


# Integers.


class Index:
    """An integer that is no int."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def replaced(value: Any, make: Callable[[int], Any]) -> Any:
    """Replace the integers of an argument, also in a tuple, a list or a dict."""
    if type(value) is int:
        return make(value)
    if type(value) in (tuple, list):
        return type(value)(replaced(part, make) for part in value)
    if type(value) is dict:
        return {key: replaced(part, make) for key, part in value.items()}
    return value


#: Parameters that are not integers, though a row has one; and fields of plain data, which are kept unchanged.
NO_INTEGERS = {
    *((f"Tokenizer.encode{name}", "dropout") for name in ("", "_to_numpy", "_batch", "_batch_to_numpy")),
    *(("FilesSummary", name) for name in CALLS["FilesSummary"].values),
    ("AddedToken", "id"),
    ("PieceCounts.get", "default"),
    ("StoredIds.index", "start"),  # of collections.abc
    ("StoredIds.index", "stop"),
}


def integers() -> list[tuple[str, str, Any]]:
    """List (function, parameter, value) for the parameters whose value in the rows is or holds an integer."""
    found = []
    for name, row in CALLS.items():
        for parameter, value in {**row.base, **row.values}.items():
            value = value["value"] if isinstance(value, WithArguments) else value
            if (
                parameter in row.values
                and (name, parameter) not in NO_INTEGERS
                and str(replaced(value, lambda i: "")) != str(value)
            ):
                found.append((name, parameter, value))
    return found


def outcomes_with(
    makes: Iterable[Callable[[int], Any]], name: str, parameter: str, value: Any, places: dict[str, str]
) -> list[Any]:
    """Call a function once with each form of the integers of an argument; return the outcomes."""
    if name == "Tokenizer.to_arrow":
        pytest.importorskip("pyarrow")
    row, function = CALLS[name], FUNCTIONS[name]
    base, added = dict(row.base), row.values[parameter]
    if isinstance(added, WithArguments):
        base |= {key: other for key, other in added.items() if key != "value"}
    outcomes = []
    for make in makes:
        arguments = {key: fill_in_path(other, places) for key, other in {**base, parameter: value}.items()}
        outcomes.append(outcome(function, arguments | {parameter: replaced(arguments[parameter], make)}))
        for path in Path(places["bin"]).parent.glob("out.bin*"):
            path.unlink()
    return outcomes


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
@pytest.mark.parametrize(("name", "parameter", "value"), integers(), ids=lambda x: x if type(x) is str else "")
def test_integer_arguments_take_whatever_has_an_index(
    name: str, parameter: str, value: Any, places: dict[str, str]
) -> None:
    outcomes = outcomes_with((int, numpy.int64, Index, bool), name, parameter, value, places)
    assert outcomes[1] == outcomes[0]
    assert outcomes[2] == outcomes[0]
    if type(value) is int:
        assert type(outcomes[3]) is tuple, outcomes[3]
        assert issubclass(outcomes[3][0], TypeError), outcomes[3]


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
@pytest.mark.parametrize(("name", "parameter", "value"), integers(), ids=lambda x: x if type(x) is str else "")
def test_errors_show_no_integer_of_thousands_of_digits(
    name: str, parameter: str, value: Any, places: dict[str, str]
) -> None:
    """Python refuses to print such an integer, with an error about a limit of its own."""
    for found in outcomes_with((lambda _: 10**5000, lambda _: -(10**5000)), name, parameter, value, places):
        if isinstance(found, tuple) and isinstance(found[0], type):
            assert "Exceeds the limit" not in found[1]
            assert len(found[1]) < 1000


# Options of training.


@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_every_option_of_byte_training_changes_the_tokenizer() -> None:
    values = {
        "vocab_size": 258,
        "pattern": None,
        "special_tokens": ["<x>"],
        "ties": "first",
        "min_count": 3,
        "max_token_bytes": 1,
    }
    assert values.keys() == {field.name for field in fields(ByteOptions)}
    base = {"vocab_size": 257, "progress": False}
    plain = fastbpe.train(["ba ba ab ab"], **base)
    for name, value in values.items():
        assert fastbpe.train(["ba ba ab ab"], **base | {name: value}) != plain, name


LINES = [
    "ab aB２ 12 абab  cd|ef\tgh ab",
    *(f"ab abc abcd x{'y' * (i % 7)}{i}" for i in range(120)),
    "a    b    c" * 9,
    "q" * 50,
]


def code_points(**options: Any) -> Any:
    """Train in code-point mode and return what the model does; for a TrainingError its text."""
    try:
        made = fastbpe.train(
            ["\n".join(LINES)], **{"mode": "codepoint", "vocab_size": 120, "progress": False, **options}
        )
    except fastbpe.TrainingError as error:
        return str(error)
    text = "ab  ab２ qx <s>ぬ"
    return made.fingerprint, made.encode_ordinary(text), made.decode(made.encode_ordinary(text)), made.vocab_size


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_every_option_of_code_point_training_changes_the_model_or_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rules.tsv").write_text("61\t7A\n")
    sample = {"input_sentence_size": 101}
    spaces = {"remove_extra_whitespaces": False}
    values: dict[str, Any] = {
        "model_type": "unigram",
        "input_format": "tsv",
        "character_coverage": 0.98,
        "input_sentence_size": 101,
        "shuffle_input_sentence": WithArguments(**sample, value=False),
        "max_sentence_length": 20,
        "max_sentencepiece_length": 2,
        "split_by_unicode_script": False,
        "split_by_whitespace": False,
        "split_by_number": False,
        "treat_whitespace_as_suffix": True,
        "split_digits": True,
        "allow_whitespace_only_pieces": WithArguments(**spaces, value=True),
        "control_symbols": ["<c>"],
        "user_defined_symbols": ["<u>"],
        "hard_vocab_limit": WithArguments(vocab_size=5000, value=False),
        "use_all_vocab": True,
        "byte_fallback": WithArguments(vocab_size=400, value=True),
        "required_chars": "ぬ",
        "unk_id": 3,
        "bos_id": -1,
        "eos_id": -1,
        "pad_id": 3,
        "unk_surface": "??",
        "unk_piece": "<U>",
        "bos_piece": "<B>",
        "eos_piece": "<E>",
        "pad_piece": WithArguments(pad_id=3, value="<P>"),
        "pretokenization_delimiter": "|",
        "auto_character_coverage": True,
        "name": "identity",
        "normalization_rule_name": "identity",
        "add_dummy_prefix": False,
        "remove_extra_whitespaces": False,
        "escape_whitespaces": False,
        "normalization_rule_tsv": str(tmp_path / "rules.tsv"),
        "denormalization_rule_tsv": str(tmp_path / "rules.tsv"),
    }
    assert values.keys() == NAMES
    check_each_changes(values)


def check_each_changes(values: dict[str, Any], **common: Any) -> None:
    """Check that each option, with its value, gives another model or another error."""
    for name, value in values.items():
        base = dict(value) if isinstance(value, WithArguments) else {"value": value}
        base = common | base
        value = base.pop("value")
        assert code_points(**base) != code_points(**base | {name: value}), name


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_every_option_of_unigram_training_changes_the_model_or_is_refused(tmp_path: Path) -> None:
    (tmp_path / "seeds.tsv").write_text("ab\t9\n")
    values: dict[str, Any] = {
        "seed_sentencepiece_size": 30,
        "shrinking_factor": 0.3,
        "num_sub_iterations": 5,
        "seed_sentencepieces_file": str(tmp_path / "seeds.tsv"),
    }
    assert values.keys() == {*OF_UNIGRAM}
    values |= {
        "character_coverage": 0.98,
        "max_sentencepiece_length": 2,
        "split_by_whitespace": False,
        "treat_whitespace_as_suffix": True,
        "allow_whitespace_only_pieces": WithArguments(remove_extra_whitespaces=False, value=True),
        "pretokenization_delimiter": "b",
        "use_all_vocab": True,
    }
    check_each_changes(values, mode="unigram", vocab_size=40)


@pytest.mark.parametrize("name", sorted(WITHOUT_EFFECT))
def test_sentencepiece_options_without_effect_are_refused_by_name(name: str) -> None:
    with pytest.raises(OptionError, match=f"fastbpe's train has no option '{name}': {WITHOUT_EFFECT[name][:20]}"):
        fastbpe.train(["ab"], mode="codepoint", vocab_size=9, **{name: (TRAINER | NORMALIZER)[name].default})
