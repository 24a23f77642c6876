"""fastbpe info: describe a tokenizer file."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

from fastbpe._core.split.scanner import paths
from fastbpe.cli import streams
from fastbpe.cli.shared_flags import add_model, load_any
from fastbpe.display.shown_tokens import is_superword
from fastbpe.patterns import resolve_pattern
from fastbpe.tokenizer.sequences.sequence_tokenizer import SequenceTokenizer
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.codepoint_model import training_options

SUMMARY = "describe a tokenizer"
DETAILS = """

Prints the mode, the numbers of tokens and merges, the split pattern, fingerprint, special
tokens, roles and longest tokens, the instruction set that fastbpe uses, and how the
tokenizer was trained, if the file records it."""
EXAMPLE = r"""
examples:
  $ printf 'low lower lowest\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 260 --quiet
  $ fastbpe info words.fbpe
  ...
  $ fastbpe info words.fbpe --json
  ...
"""
_N_LONGEST = 5  # longest tokens that are shown
_N_SPECIAL = 12  # special tokens that are shown; --json has all
_MAX_SYMBOLS = 4096  # symbols: of a longer token of integers only the length is shown
_MAX_SHOWN = 60  # characters that are shown of a token or an option
# Keys of the training report that the list leaves out; word_counts has a number for each word, which --json shows.
_SHOWN_ELSEWHERE = ("pattern", "special_tokens", "n_merges", "word_counts")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser, as_flag=False)
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def run(args: argparse.Namespace) -> None:
    """Load a file and describe it."""
    tokenizer = load_any(args)
    if isinstance(tokenizer, SequenceTokenizer):
        facts = _facts_of_sequences(args.model, tokenizer)
    else:
        facts = _facts(args.model, tokenizer)
    facts["instruction_set"] = os.environ.get("FASTBPE_SIMD") or paths()[0]  # the best of this machine
    if args.json:
        streams.say_json(facts)
        return
    rows = list(_rows(facts))
    width = max(len(label) for label, _ in rows)
    for label, value in rows:
        streams.tell(f"{label:{width}}  {value}".rstrip())


def _facts(path: str, tokenizer: Tokenizer) -> dict[str, Any]:
    special = {*tokenizer.special_tokens.values()}
    longest = sorted(enumerate(tokenizer.vocab), key=lambda item: -len(item[1]))
    return {
        "file": path,
        "name": tokenizer.name,
        "mode": tokenizer.mode,
        "model_type": tokenizer.model_type,
        "vocab_size": tokenizer.vocab_size,
        "n_vocab": tokenizer.n_vocab,
        "special_tokens": tokenizer.special_tokens,
        "roles": tokenizer.roles,
        "pattern_name": resolve_pattern(tokenizer.pattern)[0],
        "pattern": tokenizer.pattern,
        "n_merges": len(tokenizer.merges),
        "n_superwords": sum(
            token_id not in special and is_superword(token) for token_id, token in enumerate(tokenizer.vocab)
        ),
        "fingerprint": tokenizer.fingerprint,
        "longest_tokens": [
            {"id": token_id, "n_bytes": len(token), "text": token.decode(errors="backslashreplace")}
            for token_id, token in longest
            if len(token) > 1 and token_id not in special
        ][:_N_LONGEST],
        "training": tokenizer.training_report,
        "training_options": training_options(tokenizer),
    }


def _facts_of_sequences(path: str, tokenizer: SequenceTokenizer) -> dict[str, Any]:
    # Computed from the merges, not from the tokens: the length of a token may double with each merge.
    lengths = [1] * tokenizer.base_size
    merges = tokenizer.merges
    for left, right in merges:  # the ids of symbols and of earlier merges
        lengths.append(lengths[left] + lengths[right])
    longest = sorted(range(tokenizer.base_size, len(lengths)), key=lambda token_id: -lengths[token_id])
    return {
        "file": path,
        "name": "",
        "mode": tokenizer.mode,
        "model_type": "BPE",
        "base_size": tokenizer.base_size,
        "vocab_size": tokenizer.vocab_size,
        "n_vocab": tokenizer.n_vocab,
        "special_tokens": tokenizer.special_tokens,
        "n_merges": len(merges),
        "fingerprint": tokenizer.fingerprint,
        "longest_tokens": [
            {
                "id": token_id,
                "n_symbols": lengths[token_id],
                "symbols": [*tokenizer.id_to_token(token_id)] if lengths[token_id] <= _MAX_SYMBOLS else None,
            }
            for token_id in longest[:_N_LONGEST]
        ],
        "training": tokenizer.training_report,
        "training_options": {},
        "roles": {},
    }


def _rows(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "file", facts["file"]
    if facts["name"]:
        yield "name", facts["name"]
    yield "mode", facts["mode"]
    yield "vocabulary", f"{facts['vocab_size']:,} tokens, ids 0 to {facts['n_vocab'] - 1}"
    if facts["mode"] == "ids":
        yield "symbols", f"{facts['base_size']:,}"
    if facts["model_type"] == "BPE":
        yield "merges", f"{facts['n_merges']:,}"
    else:
        yield "model", facts["model_type"]
    if facts.get("n_superwords"):
        yield "superwords", f"{facts['n_superwords']:,} tokens that span several words"
    if facts["mode"] == "byte":
        yield "pattern", facts["pattern_name"] or _one_line(facts["pattern"])
    yield "fingerprint", facts["fingerprint"]
    yield "instruction set", facts["instruction_set"]
    special = [f"{token_id} {token!r}" for token, token_id in facts["special_tokens"].items()]
    if len(special) > _N_SPECIAL:
        special[_N_SPECIAL:] = [f"… {len(special) - _N_SPECIAL:,} more"]
    yield from _labelled("special tokens", special or ["none"])
    yield from _labelled("roles", [f"{role} {token!r}" for role, token in facts["roles"].items()])
    yield from _labelled("longest tokens", [_one_token(token) for token in facts["longest_tokens"]])
    report = {key: value for key, value in facts["training"].items() if key not in _SHOWN_ELSEWHERE}
    yield from _labelled("training", [f"{key}: {value}" for key, value in report.items() if value is not None])
    options = [_shortened(f"{name}={value!r}") for name, value in facts["training_options"].items()]
    yield from _labelled("training options", options)


def _one_line(pattern: str | tuple[str, ...]) -> str:
    parts = [pattern] if isinstance(pattern, str) else pattern
    return ", then ".join(parts).replace("\n", r"\n")


def _labelled(label: str, values: list[str]) -> Iterator[tuple[str, str]]:
    for value in values:
        yield label, value
        label = ""


def _one_token(token: dict[str, Any]) -> str:
    shown = repr(token["text"]) if "text" in token else " ".join(map(str, token["symbols"] or "…"))
    size = f"{token['n_bytes']} bytes" if "text" in token else f"{token['n_symbols']} symbols"
    return f"{token['id']} {_shortened(shown)} ({size})"


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"
