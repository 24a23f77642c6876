"""Every public method works on every kind of tokenizer, or raises an error of fastbpe that names the way out.

The table in docs/reference/compatibility.md says which; the test reads it.
"""

from __future__ import annotations

import json
import pickle
import re
import string
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import Tokenizer

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "compatibility.md"
TEXTS = ["low lower lowest newest widest", "a wide river", "the lowest row"] * 5
TEXT = "low wide"
LETTERS = [*string.ascii_lowercase]
WAYS_OUT = (
    "leave it out, and find the new ids in the IdMap",
    "with_tokens",
    "leave dropout= out",
    "export it as",
    "export this tokenizer as",
    "choose one of",
    "train anew",
    "explain()",
    "drop=",
)


def _file(model: dict[str, Any], decoder: dict[str, Any] | None = None) -> Tokenizer:
    whole = {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "decoder": decoder}
    return fastbpe.load(json.dumps(whole | {"model": model}).encode())


def _bpe(tokens: list[str], merges: list[str], **options: str) -> dict[str, Any]:
    vocab = {token: i for i, token in enumerate(["[UNK]", *tokens])}
    return {"type": "BPE", "unk_token": "[UNK]", "vocab": vocab, "merges": merges, **options}


@cache
def kinds() -> dict[str, list[Tokenizer]]:
    """Make tokenizers of each kind, under the heads of the table's columns."""
    prefixed = [f"##{letter}" for letter in LETTERS]
    ended = [f"{letter}</w>" for letter in LETTERS]
    points: dict[str, Any] = {"mode": "codepoint", "hard_vocab_limit": False, "progress": False}
    vocab = {token: i for i, token in enumerate(["[UNK]", *LETTERS, *prefixed, "low", "##er"])}
    pieces = {"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab}
    pieces |= {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    words = {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "low": 1, "wide": 2, "a": 3}}
    of_pieces = {"type": "WordPiece", "prefix": "##", "cleanup": True}
    return {
        "bytes": [
            fastbpe.train(TEXTS, vocab_size=280, special_tokens=["<|end|>"], progress=False),
            fastbpe.train(TEXTS, vocab_size=280, pattern=None, progress=False),
        ],
        "code points": [
            fastbpe.train(TEXTS, vocab_size=40, byte_fallback=False, **points),
            fastbpe.train(TEXTS, vocab_size=300, byte_fallback=True, **points),
        ],
        "unigram": [fastbpe.train(TEXTS, vocab_size=30, **points | {"mode": "unigram"})],
        "characters": [
            _file(_bpe([*LETTERS, "lo", "low"], ["l o", "lo w"])),
            _file(
                _bpe([*LETTERS, *ended, "lo", "low</w>"], ["l o", "lo w</w>"], end_of_word_suffix="</w>"),
                {"type": "BPEDecoder", "suffix": "</w>"},
            ),
        ],
        "characters, `##`": [
            _file(
                _bpe([*LETTERS, *prefixed, "lo", "low"], ["l ##o", "lo ##w"], continuing_subword_prefix="##"),
                of_pieces,
            )
        ],
        "WordPiece": [_file(pieces, of_pieces)],
        "WordLevel": [_file(words)],
    }


def _push_and_finish(stream: Any, given: Any) -> None:
    stream.push(given)
    stream.finish()


def _conversation(tokenizer: Tokenizer, text: str) -> None:
    conversation = tokenizer.conversation()
    conversation.append(text)
    conversation.truncate_to(1)


def _a_token(tokenizer: Tokenizer) -> int:
    """Return the id of the longest token of letters."""
    tokens = [(len(token), i) for i, token in enumerate(tokenizer.vocab) if re.fullmatch(rb"[a-z]+", token)]
    return max(tokens)[1]


Call = Callable[[Tokenizer, Path], object]
#: Names of the table's rows and of further calls.
CALLS: dict[str, Call] = {
    "encode": lambda t, _: t.encode(TEXT),
    "encode(dropout=)": lambda t, _: t.encode(TEXT, dropout=0.1, seed=1),
    "encode_ordinary": lambda t, _: t.encode_ordinary(TEXT),
    "encode_batch": lambda t, _: t.encode_batch(TEXTS),
    "encode_ordinary_batch": lambda t, _: t.encode_ordinary_batch(TEXTS),
    "encode_to_numpy": lambda t, _: t.encode_to_numpy(TEXT),
    "encode_batch_to_numpy": lambda t, _: t.encode_batch_to_numpy(TEXTS),
    "encode_with_offsets": lambda t, _: [t.encode_with_offsets(TEXT, unit=u) for u in ("char", "byte", "utf16")],
    "encode_batch_with_offsets": lambda t, _: t.encode_batch_with_offsets(TEXTS),
    "encode_parts": lambda t, _: t.encode_parts([(TEXT, True), (TEXT, False)]),
    "encode_with_template": lambda t, _: t.encode_with_template(TEXT),
    "encode_files": lambda t, folder: t.encode_files(folder / "a.txt", folder / "a.bin", overwrite=True),
    "pieces": lambda t, _: t.pieces(TEXT),
    "count": lambda t, _: (t.count(TEXT), t.count_batch(TEXTS), t.fits(TEXT, 3)),
    "count_messages": lambda t, _: t.count_messages(
        [{"role": "user", "content": "low"}], template="{{ messages }}"
    ),
    "truncate": lambda t, _: (t.truncate(TEXT, 1), t.truncate(TEXT, 1, side="left"), t.truncate_batch(TEXTS, 1)),
    "chunk": lambda t, _: [*t.chunk(TEXT, 3, overlap=1)],
    "decode": lambda t, _: (t.decode(t.encode(TEXT)), t.decode_bytes(t.encode(TEXT))),
    "decode_batch": lambda t, _: t.decode_batch(t.encode_batch(TEXTS)),
    "decode_tokens_bytes": lambda t, _: t.decode_tokens_bytes(t.encode(TEXT)),
    "decoder": lambda t, _: _push_and_finish(t.decoder(), t.encode(TEXT)),
    "encoder": lambda t, _: _push_and_finish(t.encoder(), TEXT),
    "conversation": lambda t, _: _conversation(t, TEXT),
    "interval_counter": lambda t, _: t.interval_counter(TEXT)(0, 3),
    "completions": lambda t, _: t.completions("lo"),
    "is_lossless": lambda t, _: t.is_lossless(TEXT),
    "explain": lambda t, _: str(t.explain(TEXT)),
    "id_to_token": lambda t, _: t.token_to_id(t.id_to_token(_a_token(t))),
    "with_tokens": lambda t, _: t.with_tokens(["<new>"]).id_map(t),
    "with_special_tokens": lambda t, _: t.with_special_tokens(["<new>"]),
    "without_tokens": lambda t, _: t.without_tokens([_a_token(t)]),
    "without_tokens(keep_ids=)": lambda t, _: t.without_tokens([_a_token(t)], keep_ids=True),
    "prune": lambda t, _: (t.prune(keep=len(t.vocab) - 1), t.prune(corpus=TEXTS, min_count=1)),
    "to_arrow": lambda t, _: t.to_arrow(TEXTS),
    "save": lambda t, folder: t.save(folder / "a.fbpe"),
    "show": lambda t, _: fastbpe.show(t, TEXT),
    "align": lambda t, _: fastbpe.align(TEXT, t, t),
    "joins": lambda t, _: fastbpe.joins(t, "low", " wide"),
    "steps": lambda t, _: fastbpe.steps(t),
    "training_options": lambda t, _: fastbpe.training_options(t),
    "changed_texts": lambda t, _: fastbpe.changed_texts(t, t.with_tokens(["<new>"]), TEXTS),
    "vocabulary_report": lambda t, _: str(fastbpe.vocabulary_report(t)),
    "merge_tree": lambda t, _: str(fastbpe.merge_tree(t, _a_token(t))),
    "merge_vocabularies": lambda t, _: fastbpe.merge_vocabularies(t, t.with_tokens(["<new>"])),
    "train(base=)": lambda t, _: fastbpe.train(
        ["new words in newer rows"] * 9, base=t, vocab_size="+2", progress=False
    ),
    "pickle": lambda t, _: pickle.loads(pickle.dumps(t)),
}
#: Methods that make tokenizers, or are tried above under another name.
ELSEWHERE = {
    "count_batch",
    "decode_bytes",
    "export",
    "fits",
    "from_merges",
    "from_ranks",
    "id_map",
    "token_to_id",
    "truncate_batch",
}
for attribute in dir(Tokenizer):
    if not attribute.startswith("_") and not callable(getattr(Tokenizer, attribute)):
        CALLS[attribute] = lambda t, _, name=attribute: getattr(t, name)


def table() -> dict[str, dict[str, bool]]:
    """Read the table: row → column → whether it works. A row that it lacks works everywhere."""
    text = PAGE.read_text(encoding="utf-8").partition("## Methods and kinds of tokenizers")[2]
    lines = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("|")]
    heads, _, *rows = [[cell.strip() for cell in line] for line in lines]
    return {
        row[0].strip("`"): {head: cell == "yes" for head, cell in zip(heads[1:], row[1:], strict=True)}
        for row in rows
    }


def test_table_names_calls_and_kinds_that_are_tried() -> None:
    assert table().keys() <= CALLS.keys()
    for row in table().values():
        assert row.keys() == kinds().keys()
        assert False in row.values()


def test_every_public_method_is_tried() -> None:
    names = {name for name in dir(Tokenizer) if not name.startswith("_")}
    assert names <= CALLS.keys() | ELSEWHERE


@pytest.mark.parametrize("name", CALLS)
def test_method_works_as_the_table_says_or_names_the_way_out(name: str, tmp_path: Path) -> None:
    if name == "to_arrow":
        pytest.importorskip("pyarrow")
    if name == "count_messages":
        pytest.importorskip("jinja2")
    (tmp_path / "a.txt").write_text("low lower\nwide river\n")
    row = table().get(name, {})
    for kind, tokenizers in kinds().items():
        for tokenizer in tokenizers:
            if row.get(kind, True):
                CALLS[name](tokenizer, tmp_path)
            else:
                with pytest.raises(fastbpe.FastbpeError) as raised:
                    CALLS[name](tokenizer, tmp_path)
                assert any(way in str(raised.value) for way in WAYS_OUT), (kind, raised.value)


FORMATS = ("native", "huggingface", "tiktoken", "gpt2", "minbpe", "sentencepiece", "gguf", "tekken")


@pytest.mark.filterwarnings("ignore::fastbpe.FormatWarning")
@pytest.mark.parametrize("format", FORMATS)
def test_export_writes_a_file_or_names_the_way_out(format: str, tmp_path: Path) -> None:
    for kind, tokenizers in kinds().items():
        for number, tokenizer in enumerate(tokenizers):
            out = tmp_path / f"{re.sub('[^a-z]', '', kind)}{number}"
            said = _refusal(tokenizer, f"{out}.json" if format == "huggingface" else str(out), format)
            assert not said or format != "native"
            assert not said or any(way in said for way in WAYS_OUT), (kind, said)


def _refusal(tokenizer: Tokenizer, out: str, format: str) -> str:
    """Export a tokenizer; return the error of a format that cannot store it, or ""."""
    try:
        tokenizer.export(out, format=format)
    except fastbpe.FormatError as error:
        return str(error)
    return ""
