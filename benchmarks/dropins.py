"""Methods of the drop-ins compared with fastbpe's own methods and with the original packages."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import fastbpe
from fastbpe import Tokenizer, minbpe, tiktoken
from fastbpe import sentencepiece as spm
from texts import cut
from vocabularies import Vocabulary
from workloads import DOCUMENT_BYTES, SHORT_BYTES

BAR = 1.1  # maximum seconds of the drop-in / seconds of fastbpe's own method
ORIGINAL_BAR = 1.0  # maximum seconds of the drop-in / seconds of the original package
LONG_CALLS = 10  # calls in a row: in the first, the cache still holds the tables of the other side
SHORT_CALLS = 2000
ORIGINAL_CALLS = 200  # fewer, because the original is slow
N_MERGES = 2000  # merges to learn for minbpe's tokenizers
N_PIECES = 8000  # pieces to learn for sentencepiece's models

Method = Callable[[Any], Any]


class Row(NamedTuple):
    """One method: the call of the drop-in, fastbpe's own method (None: it has no such method), and the inputs of
    the calls."""

    call: Callable[[Any, Any], Any]
    own: Method | None
    inputs: Sequence[Any]


def compare_dropins(vocabulary: Vocabulary, text: str, rounds: int) -> list[dict[str, Any]]:
    """Time every method on the same inputs, print tables, and return the rows.

    Args:
        vocabulary: vocabulary of the tiktoken methods.
        text: text to encode.
        rounds: half the number of timed passes over the inputs.
    """
    rows = _compare("fastbpe.tiktoken", *_tiktoken(vocabulary, text), rounds)
    rows += _compare("fastbpe.sentencepiece", *_sentencepiece(text), rounds)
    return rows + _compare("fastbpe.minbpe", *_minbpe(text), rounds)


def _original(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


def _tiktoken(vocabulary: Vocabulary, text: str) -> tuple[Any, Any, dict[str, Row]]:
    own = vocabulary.load()
    special = {*own.special_tokens.values()}
    ranks = {token: i for i, token in enumerate(own.vocab) if token and i not in special}
    assert isinstance(own.pattern, str)
    options: dict[str, Any] = {
        "pat_str": own.pattern,
        "mergeable_ranks": ranks,
        "special_tokens": dict(own.special_tokens),
    }
    ours = tiktoken.Encoding("bench", **options)
    original = _original("tiktoken")
    theirs = None if original is None else original.Encoding("bench", **options)
    short, documents = cut(text, SHORT_BYTES)[:SHORT_CALLS], cut(text, DOCUMENT_BYTES)
    ids = own.encode_ordinary_batch(short)
    flat = [token for some in ids for token in some][:SHORT_CALLS]
    tokens = list(ranks)[: len(short)]
    long, long_ids = [text] * LONG_CALLS, [own.encode_ordinary(text)] * LONG_CALLS
    batches = [documents] * LONG_CALLS
    plain: dict[str, Any] = {"disallowed_special": ()}
    nothing = [None] * 100
    return (
        ours,
        theirs,
        {
            "encode_ordinary, long": Row(lambda t, x: t.encode_ordinary(x), own.encode_ordinary, long),
            "encode_ordinary": Row(lambda t, x: t.encode_ordinary(x), own.encode_ordinary, short),
            "encode": Row(lambda t, x: t.encode(x, **plain), lambda x: own.encode(x, **plain), short),
            "encode, all allowed": Row(
                lambda t, x: t.encode(x, allowed_special="all"),
                lambda x: own.encode(x, allowed_special="all"),
                short,
            ),
            "encode_to_numpy": Row(
                lambda t, x: t.encode_to_numpy(x, **plain), lambda x: own.encode_to_numpy(x, **plain), short
            ),
            "encode_ordinary_batch": Row(
                lambda t, x: t.encode_ordinary_batch(x), own.encode_ordinary_batch, batches
            ),
            "encode_batch": Row(
                lambda t, x: t.encode_batch(x, **plain), lambda x: own.encode_batch(x, **plain), batches
            ),
            "encode_single_token": Row(lambda t, x: t.encode_single_token(x), own.token_to_id, tokens),
            # It lists all completions, in milliseconds.
            "encode_with_unstable": Row(lambda t, x: t.encode_with_unstable(x, **plain), None, short[:50]),
            "_encode_bytes": Row(lambda t, x: t._encode_bytes(x), None, [x.encode() for x in short]),
            "_encode_single_piece": Row(lambda t, x: t._encode_single_piece(x), None, tokens),
            "_encode_only_native_bpe": Row(lambda t, x: t._encode_only_native_bpe(x), None, short),
            "decode, long": Row(lambda t, x: t.decode(x), own.decode, long_ids),
            "decode": Row(lambda t, x: t.decode(x), own.decode, ids),
            "decode_bytes": Row(lambda t, x: t.decode_bytes(x), own.decode_bytes, ids),
            "decode_single_token_bytes": Row(lambda t, x: t.decode_single_token_bytes(x), own.id_to_token, flat),
            "decode_tokens_bytes": Row(lambda t, x: t.decode_tokens_bytes(x), own.decode_tokens_bytes, ids),
            "decode_with_offsets": Row(lambda t, x: t.decode_with_offsets(x), None, ids),
            "decode_batch": Row(lambda t, x: t.decode_batch(x), own.decode_batch, [ids] * LONG_CALLS),
            "decode_bytes_batch": Row(lambda t, x: t.decode_bytes_batch(x), None, [ids] * LONG_CALLS),
            "is_special_token": Row(lambda t, x: t.is_special_token(x), None, flat),
            "token_byte_values": Row(lambda t, x: t.token_byte_values(), None, [None]),
            "special_tokens_set": Row(lambda t, x: t.special_tokens_set, None, nothing),
            "eot_token": Row(
                lambda t, x: t.eot_token, None, nothing if "<|endoftext|>" in own.special_tokens else []
            ),
            "n_vocab": Row(lambda t, x: t.n_vocab, None, nothing),
        },
    )


def _sentencepiece(text: str) -> tuple[Any, Any, dict[str, Row]]:
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(text[: 1 << 20].splitlines()),
        model_writer=model,
        model_type="bpe",
        vocab_size=min(N_PIECES, 300 + len(text) // 100),
        byte_fallback=True,
        hard_vocab_limit=False,
    )
    ours = spm.SentencePieceProcessor(model_proto=model.getvalue())
    own = fastbpe.load(model.getvalue())
    original = _original("sentencepiece")
    theirs = None if original is None else original.SentencePieceProcessor(model_proto=model.getvalue())
    short = [x.replace("\n", " ") for x in cut(text, SHORT_BYTES)[:SHORT_CALLS]]
    ids = [ours.encode(x) for x in short]
    pieces = [ours.encode(x, out_type=str) for x in short]
    flat = [token for some in ids for token in some][:SHORT_CALLS]
    names = [piece for some in pieces for piece in some][:SHORT_CALLS]
    rows = {
        "encode": Row(lambda p, x: p.encode(x), own.encode_ordinary, short),
        "encode, bytes": Row(lambda p, x: p.encode(x), own.encode_ordinary, [x.encode() for x in short]),
        "encode, add_bos": Row(lambda p, x: p.encode(x, add_bos=True), None, short),
        "encode, long": Row(lambda p, x: p.encode(x), own.encode_ordinary, [text] * LONG_CALLS),
        "encode, a list": Row(lambda p, x: p.encode(x), own.encode_ordinary_batch, [short] * LONG_CALLS),
        "encode, a list to pieces": Row(lambda p, x: p.encode(x, out_type=str), None, [short] * LONG_CALLS),
        "encode to bytes": Row(lambda p, x: p.encode(x, out_type=bytes), None, short),
        "encode to serialized_proto": Row(lambda p, x: p.encode(x, out_type="serialized_proto"), None, short),
        "encode_as_ids": Row(lambda p, x: p.encode_as_ids(x), own.encode_ordinary, short),
        "encode_as_pieces": Row(lambda p, x: p.encode_as_pieces(x), None, short),
        "encode_as_numpy": Row(
            lambda p, x: p.encode_as_numpy(x), lambda x: own.encode_to_numpy(x, disallowed_special=()), short
        ),
        "encode_as_offset_mapping": Row(
            lambda p, x: p.encode_as_offset_mapping(x),
            lambda x: own.encode_with_offsets(x, disallowed_special=()),
            short,
        ),
        "parallel_encode": Row(lambda p, x: p.parallel_encode(x, chunk_len=1000), None, short),
        "decode": Row(lambda p, x: p.decode(x), own.decode, ids),
        "decode, a list": Row(lambda p, x: p.decode(x), own.decode_batch, [ids] * LONG_CALLS),
        "decode, one id": Row(lambda p, x: p.decode(x), None, flat),
        "decode, pieces": Row(lambda p, x: p.decode(x), None, pieces),
        "decode to bytes": Row(lambda p, x: p.decode(x, out_type=bytes), None, ids),
        "decode to offset_mapping": Row(lambda p, x: p.decode(x, out_type="offset_mapping"), None, ids),
        "decode to serialized_proto": Row(lambda p, x: p.decode(x, out_type="serialized_proto"), None, ids),
        "decode_ids": Row(lambda p, x: p.decode_ids(x), own.decode, ids),
        "decode_pieces": Row(lambda p, x: p.decode_pieces(x), None, pieces),
        "piece_to_id": Row(lambda p, x: p.piece_to_id(x), own.token_to_id, names),
        "piece_to_id, a list": Row(lambda p, x: p.piece_to_id(x), None, pieces),
        "[]": Row(lambda p, x: p[x], own.token_to_id, names),
        "normalize": Row(lambda p, x: p.normalize(x), None, short),
        "normalize, with_offsets": Row(lambda p, x: p.normalize(x, with_offsets=True), None, short),
        "serialized_model_proto": Row(lambda p, x: p.serialized_model_proto(), None, [None] * 10),
    }
    for name in ("id_to_piece", "get_score", "is_unknown", "is_control", "is_unused", "is_byte"):
        rows[name] = Row(lambda p, x, n=name: getattr(p, n)(x), None, flat)  # type: ignore[misc]
        rows[f"{name}, a list"] = Row(lambda p, x, n=name: getattr(p, n)(x), None, ids)  # type: ignore[misc]
    for name in ("vocab_size", "get_piece_size", "piece_size", "unk_id", "bos_id", "eos_id", "pad_id", "__len__"):
        rows[name] = Row(lambda p, x, n=name: getattr(p, n)(), None, [None] * 1000)  # type: ignore[misc]
    # Random, and different in both: compare their time, but not their results.
    for name in ("ids", "pieces", "numpy"):
        rows[f"sample_encode_as_{name} (random)"] = Row(
            lambda p, x, n=name: getattr(p, f"sample_encode_as_{n}")(x, -1, 0.1),  # type: ignore[misc]
            None,
            short,
        )
    return ours, theirs, rows


def _minbpe(text: str) -> tuple[Any, Any, dict[str, Row]]:
    ours = minbpe.RegexTokenizer()
    ours.train(text[: 1 << 20], 256 + _n_merges(text))
    own = Tokenizer.from_merges(ours.merges, pattern=ours.pattern)
    basic = minbpe.BasicTokenizer()
    basic.merges = ours.merges
    own_basic = Tokenizer.from_merges(ours.merges, pattern=None)
    short = cut(text, SHORT_BYTES)[:SHORT_CALLS]
    ids = own.encode_ordinary_batch(short)
    rows = {
        "encode_ordinary, long": Row(lambda t, x: t.encode_ordinary(x), own.encode_ordinary, [text] * LONG_CALLS),
        "encode_ordinary": Row(lambda t, x: t.encode_ordinary(x), own.encode_ordinary, short),
        "encode": Row(lambda t, x: t.encode(x), own.encode, short),
        "encode, all allowed": Row(
            lambda t, x: t.encode(x, allowed_special="all"), lambda x: own.encode(x, allowed_special="all"), short
        ),
        "decode, long": Row(lambda t, x: t.decode(x), own.decode, [own.encode_ordinary(text)] * LONG_CALLS),
        "decode": Row(lambda t, x: t.decode(x), own.decode, ids),
        "BasicTokenizer.encode": Row(lambda t, x: basic.encode(x), own_basic.encode_ordinary, short),
        "BasicTokenizer.decode": Row(lambda t, x: basic.decode(x), own_basic.decode, ids),
    }
    return ours, None, rows  # minbpe is in no package index


def _n_merges(text: str) -> int:
    return min(N_MERGES, len(text) // 100)  # a short text has no more pairs


def _compare(title: str, ours: Any, theirs: Any, methods: dict[str, Row], rounds: int) -> list[dict[str, Any]]:
    print(f"\n{title}, ns per call\n")
    print("| method | fastbpe | drop-in | original | drop-in : fastbpe | drop-in : original |")
    print("|---|---:|---:|---:|---:|---:|")
    rows = []
    for name, row in methods.items():
        if not row.inputs:
            continue
        few = row.inputs if len(row.inputs) < ORIGINAL_CALLS else row.inputs[:ORIGINAL_CALLS]
        if len(row.inputs) == LONG_CALLS:
            few = row.inputs[:1]
        calls: list[tuple[Method, Sequence[Any]]] = [(lambda x, r=row: r.call(ours, x), row.inputs)]  # type: ignore[misc]
        own = row.own
        if own is not None:
            # Through a Python function, like the drop-in, so that the cost of such a call is on both sides.
            calls.append((lambda x, o=own: o(x), row.inputs))  # type: ignore[misc]
        if theirs is not None:
            calls.append((lambda x, r=row: r.call(theirs, x), few))  # type: ignore[misc]
        _check(title, name, row, own, theirs, ours)
        seconds = _measure(calls, rounds)
        best = [min(some) for some in seconds]
        found: dict[str, Any] = {"row": f"{title}: {name}", "drop-in": best[0], "seconds": seconds}
        if own is not None:
            found |= {"bar": BAR, "ratio": best[0] / best[1], "own": best[1]}
        if theirs is not None:
            found |= {"original_bar": ORIGINAL_BAR, "original_ratio": best[0] / best[-1], "original": best[-1]}
        shown = [found.get(key) for key in ("own", "drop-in", "original")]
        cells = ["" if some is None else f"{some * 1e9:,.0f}" for some in shown]
        cells += [f"{found[key]:.2f}" if key in found else "" for key in ("ratio", "original_ratio")]
        print(f"| {name} | {' | '.join(cells)} |")
        rows.append(found)
    for key, bar, of in (
        ("ratio", BAR, "fastbpe's own"),
        ("original_ratio", ORIGINAL_BAR, "the original's"),
    ):
        missed = [row["row"] for row in rows if row.get(key, 0) > bar]
        said = f"missed by {'; '.join(missed)}" if missed else "met"
        print(f"bar {bar:g} of {of}, by the best calls: {said}")
    return rows


def _check(title: str, name: str, row: Row, own: Method | None, theirs: Any, ours: Any) -> None:
    for item in row.inputs[:SHORT_CALLS] if "(random)" not in name else ():
        found = _listed(row.call(ours, item))
        # fastbpe's own method returns offsets as a pair, the drop-in returns a dict.
        if own is not None and not isinstance(found, dict) and _listed(own(item)) != found:
            raise SystemExit(f"{title}: {name} gives something else than fastbpe's own method")
    for item in row.inputs[:20] if theirs is not None and "(random)" not in name else ():
        if _sorted(_listed(row.call(theirs, item))) != _sorted(_listed(row.call(ours, item))):
            raise SystemExit(f"{title}: {name} gives something else than the original")


def _sorted(output: Any) -> Any:
    """Sort the completions of encode_with_unstable, which come in any order."""
    if isinstance(output, tuple) and output and isinstance(output[-1], list):
        return (*output[:-1], sorted(map(str, output[-1])))
    return output


def _measure(calls: list[tuple[Method, Sequence[Any]]], rounds: int) -> list[list[float]]:
    """Return the seconds of each call, in alternating order, because the second call finds a warmer cache."""
    seconds: list[list[float]] = [[] for _ in calls]
    for number in range(2 * rounds):
        order = range(len(calls)) if number % 2 else reversed(range(len(calls)))
        for which in order:
            method, inputs = calls[which]
            seconds[which].append((_seconds(method, inputs)) / len(inputs))
    return seconds


def _seconds(method: Method, inputs: Sequence[Any]) -> float:
    started = time.process_time()  # processor time: the drop-in adds work, not waiting
    for item in inputs:
        method(item)
    return time.process_time() - started


def _listed(output: Any) -> Any:
    return output.tolist() if hasattr(output, "tolist") else output
