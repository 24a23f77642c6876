"""One call of each public method and function, with a result that can be compared.

Tests use the calls for what must hold of all of them: the right answer beside other threads, in a forked child,
and when memory is refused or a disk is full. `tests/unit/test_contract.py` checks that no public name is missing.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import fastbpe
from fastbpe import PieceCounts, SequenceTokenizer, Tokenizer

WORDS = "the other thréé 漢字 threads' 12345 of a <|end|> text,\n\n and  more "
LONG = 300_000  # characters that calls share among threads


class World:
    """Tokenizers, counts, texts and files that the calls work on.

    Args:
        folder: a folder of their own, in an existing one.
        size: number of characters of the long text.
    """

    def __init__(self, folder: str | os.PathLike[str], size: int = LONG) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        self._numbers = itertools.count()
        learned = fastbpe.train([WORDS * 3], vocab_size=290, special_tokens=["<|end|>"], progress=False)
        self.tokenizer: Tokenizer = learned
        self.ranks: dict[bytes, int] = {token: i for i, token in enumerate(learned.vocab) if i != 289}
        self.sequences: SequenceTokenizer = SequenceTokenizer.from_merges(
            [(1, 2), (100, 3), (4, 4)], base_size=100
        )
        self.long = "".join(f"{WORDS}{i * 7919 % 10007} " for i in range(size // len(WORDS) + 1))[:size]
        self.texts = [self.long, "", WORDS, self.long[: size // 2], *[f"text {i}" for i in range(50)]]
        self.ids = learned.encode(self.long, disallowed_special=())
        self.numbers = [i * i % 100 for i in range(max(size // 100, 100))]
        self.batch = [self.numbers, [], [1, 2, 3]]
        self.counts: PieceCounts = fastbpe.count_pieces([self.long], progress=False, num_threads=1)
        self.options: Mapping[str, Any] = {"disallowed_special": (), "num_threads": 2}
        self.input = self.folder / "input.txt"
        self.input.write_text(self.long[:20_000])
        self.saved, self.saved_counts = self.folder / "saved.fbpe", self.folder / "saved.pieces"
        self.saved_numbers, self.shards = self.folder / "numbers.fbpe", self.folder / "shards"
        learned.save(self.saved)
        self.counts.save(self.saved_counts)
        self.sequences.save(self.saved_numbers)
        self.shards.mkdir()
        for shard in ((0, 2), (1, 2)):
            fastbpe.write_shard(learned, ["a text"] * 9, self.shards / "a.bin", shard)

    def fresh(self) -> Tokenizer:
        """Return a tokenizer that has made none of its tables yet."""
        return Tokenizer.from_ranks(self.ranks, pattern="cl100k", special_tokens={"<|end|>": 289})

    def path(self, name: str) -> Path:
        """Return a path that no other call has; its folder exists."""
        place = self.folder / f"{os.getpid()}-{next(self._numbers)}"
        place.mkdir()
        return place / name

    def written(self, name: str, write: Callable[[Path], object]) -> bytes:
        """Return the bytes of all files that a call writes."""
        path = self.path(name)
        write(path)
        files = [file for file in sorted(path.parent.rglob("*")) if file.is_file()]
        return b"\n".join(file.read_bytes() for file in files)


Call = Callable[[World], Any]


def _attributes(kind: type, name: str, of: Callable[[World], Any], names: Iterable[str]) -> dict[str, Call]:
    """Return a call for each attribute that takes no arguments."""

    def read(attribute: str) -> Call:
        def call(world: World) -> Any:
            value = getattr(of(world), attribute)
            return plain(value() if callable(value) else value)

        return call

    return {f"{name}.{attribute}": read(attribute) for attribute in names}


def plain(value: Any) -> Any:
    """Return a value whose equality is that of its contents."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, Tokenizer | SequenceTokenizer):
        return value.fingerprint
    if isinstance(value, Mapping):
        return dict(value)
    return value


def _streamed(world: World) -> list[int]:
    stream = world.tokenizer.encoder(disallowed_special=())
    return [i for at in range(0, 9000, 700) for i in stream.push(world.long[at : at + 700])] + stream.finish()


def _shown(world: World) -> str:
    decoder = world.tokenizer.decoder()
    return "".join(map(decoder.push, world.ids[:3000])) + decoder.finish()


def _conversation(world: World) -> int:
    conversation = world.tokenizer.conversation(disallowed_special=())
    for part in (WORDS, "and", world.long[:5000]):
        conversation.append(part)
    return conversation.n_tokens


def _intervals(world: World) -> list[int]:
    counter = world.tokenizer.interval_counter(world.long[:5000])
    return [counter(start, start + 900) for start in range(0, 4000, 500)]


def _counted(world: World) -> list[Any]:
    return [*fastbpe.count_pieces([world.long, WORDS], progress=False, num_threads=2).items()]


def _trained(world: World) -> list[bytes]:
    return fastbpe.train([world.long[:50_000]], vocab_size=300, progress=False, num_threads=2).vocab


def _installed(world: World) -> None:
    fastbpe.install("minbpe")
    fastbpe.uninstall("minbpe")


_T = "Tokenizer"
TOKENIZER: dict[str, Call] = _attributes(
    Tokenizer, _T, lambda w: w.fresh(),
    ("added_tokens", "bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "fingerprint", "merges",
     "mode", "model_type", "n_vocab", "name", "pattern", "roles", "special_tokens", "template",
     "training_report", "vocab", "vocab_size"),
) | {
    f"{_T}.{name}": call
    for name, call in {
        "chunk": lambda w: [*w.tokenizer.chunk(w.long[:9000], 100, overlap=10)],
        "completions": lambda w: w.tokenizer.completions("t"),
        "conversation": _conversation,
        "count": lambda w: w.tokenizer.count(w.long, **w.options),
        "count_batch": lambda w: plain(w.tokenizer.count_batch(w.texts, **w.options)),
        "count_messages": lambda w: w.tokenizer.count_messages(
            [{"role": "user", "content": WORDS}], template="{% for m in messages %}{{ m.content }}{% endfor %}"
        ),
        "decode": lambda w: w.tokenizer.decode(w.ids, num_threads=2),
        "decode_batch": lambda w: w.tokenizer.decode_batch([w.ids, [], w.ids[:9]], num_threads=2),
        "decode_bytes": lambda w: w.tokenizer.decode_bytes(w.ids),
        "decode_tokens_bytes": lambda w: w.tokenizer.decode_tokens_bytes(w.ids),
        "decoder": _shown,
        "encode": lambda w: w.tokenizer.encode(w.long, **w.options),
        "encode_batch": lambda w: w.tokenizer.encode_batch(w.texts, **w.options),
        "encode_batch_to_numpy": lambda w: plain(w.tokenizer.encode_batch_to_numpy(w.texts, **w.options)),
        "encode_batch_with_offsets": lambda w: w.tokenizer.encode_batch_with_offsets(
            w.texts, disallowed_special=()
        ),
        "encode_files": lambda w: w.written(
            "out.bin", lambda path: w.tokenizer.encode_files(w.input, path, num_threads=2, progress=False)
        ),
        "encode_ordinary": lambda w: w.tokenizer.encode_ordinary(w.long, num_threads=2),
        "encode_ordinary_batch": lambda w: w.tokenizer.encode_ordinary_batch(w.texts, num_threads=2),
        "encode_parts": lambda w: w.tokenizer.encode_parts([("<|end|>", True), (WORDS, False)] * 9),
        "encode_to_numpy": lambda w: plain(w.tokenizer.encode_to_numpy(w.long, **w.options)),
        "encode_with_offsets": lambda w: w.tokenizer.encode_with_offsets(w.long, disallowed_special=()),
        "encode_with_template": lambda w: w.tokenizer.encode_with_template("ab", "c"),
        "encoder": _streamed,
        "explain": lambda w: str(w.tokenizer.explain(WORDS)),
        "export": lambda w: w.written("out.tiktoken", lambda path: w.tokenizer.export(path, format="tiktoken")),
        "fits": lambda w: w.tokenizer.fits(w.long, 1000),
        "from_merges": lambda w: Tokenizer.from_merges([(97, 98)], pattern="gpt2").encode("abab"),
        "from_ranks": lambda w: w.fresh().encode(WORDS, disallowed_special=()),
        "id_map": lambda w: w.tokenizer.id_map(w.tokenizer).n_old,
        "id_to_token": lambda w: [w.tokenizer.id_to_token(i) for i in range(0, 289, 7)],
        "interval_counter": _intervals,
        "is_lossless": lambda w: w.tokenizer.is_lossless(w.long),
        "pieces": lambda w: w.tokenizer.pieces(w.long),
        "prune": lambda w: w.tokenizer.prune(keep=280)[0].vocab_size,
        "save": lambda w: w.written("out.fbpe", w.tokenizer.save),
        "to_arrow": lambda w: w.tokenizer.to_arrow(w.texts, **w.options).to_pylist(),
        "token_to_id": lambda w: [w.tokenizer.token_to_id(token) for token in ("the", b"o", "none")],
        "truncate": lambda w: w.tokenizer.truncate(w.long, 1000),
        "truncate_batch": lambda w: w.tokenizer.truncate_batch(w.texts, 100),
        "with_special_tokens": lambda w: w.tokenizer.with_special_tokens(["<new>"]).encode(
            "a<new>", allowed_special="all"
        ),
        "with_tokens": lambda w: w.tokenizer.with_tokens(["wholly"]).encode("wholly"),
        "without_tokens": lambda w: w.tokenizer.without_tokens(["the"])[0].vocab_size,
    }.items()
}  # fmt: skip

_S = "SequenceTokenizer"
SEQUENCES: dict[str, Call] = _attributes(
    SequenceTokenizer, _S, lambda w: w.sequences,
    ("base_size", "fingerprint", "merges", "mode", "n_vocab", "special_tokens",
     "training_report", "vocab_size"),
) | {
    f"{_S}.{name}": call
    for name, call in {
        "count": lambda w: w.sequences.count(w.numbers),
        "decode": lambda w: w.sequences.decode([100, 101, 5]),
        "decode_batch": lambda w: w.sequences.decode_batch([[100, 101], []]),
        "decode_to_numpy": lambda w: plain(w.sequences.decode_to_numpy([100, 101, 5])),
        "encode": lambda w: w.sequences.encode(w.numbers),
        "encode_batch": lambda w: w.sequences.encode_batch(w.batch, num_threads=2),
        "encode_batch_to_numpy": lambda w: plain(w.sequences.encode_batch_to_numpy(w.batch, num_threads=2)),
        "encode_files": lambda w: w.written(
            "out.bin", lambda path: w.sequences.encode_files(_numbers(w), path, progress=False)
        ),
        "encode_to_numpy": lambda w: plain(w.sequences.encode_to_numpy(w.numbers)),
        "export": lambda w: w.written("a.fbpe", lambda path: w.sequences.export(path, format="native")),
        "from_merges": lambda w: SequenceTokenizer.from_merges([(1, 2)], base_size=10).encode([1, 2]),
        "id_map": lambda w: w.sequences.id_map(w.sequences).n_old,
        "id_to_token": lambda w: w.sequences.id_to_token(101),
        "is_special_token": lambda w: w.sequences.is_special_token(3),
        "load": lambda w: plain(SequenceTokenizer.load(w.saved_numbers)),
        "save": lambda w: w.written("a.fbpe", w.sequences.save),
        "token_to_id": lambda w: w.sequences.token_to_id((1, 2)),
        "with_special_tokens": lambda w: w.sequences.with_special_tokens(["<end>"]).n_vocab,
    }.items()
}  # fmt: skip


def _numbers(world: World) -> Path:
    path = world.path("numbers.jsonl")
    path.write_text('{"input_ids": [1, 2, 3]}\n' * 9)
    return path


_P = "PieceCounts"
COUNTS: dict[str, Call] = _attributes(
    PieceCounts, _P, lambda w: w.counts,
    ("mode", "n_bytes", "n_pieces", "n_pruned", "n_skipped", "options", "pattern", "runs_of", "special_tokens"),
) | {
    f"{_P}.{name}": call
    for name, call in {
        "check_made_by": lambda w: w.counts.check_made_by(w.counts.pattern, ()),
        "get": lambda w: w.counts.get(b"the"),
        "items": lambda w: [*w.counts.items()],
        "keys": lambda w: [*w.counts.keys()],
        "load": lambda w: [*PieceCounts.load(w.saved_counts).items()],
        "merge": lambda w: w.written(
            "all.pieces", lambda path: PieceCounts.merge([w.saved_counts] * 2, path, progress=False)
        ),
        "pruned": lambda w: [*w.counts.pruned(3).items()],
        "save": lambda w: w.written("out.pieces", w.counts.save),
        "to_parquet": lambda w: len(w.written("out.parquet", w.counts.to_parquet)) > 0,
        "values": lambda w: [*w.counts.values()],
    }.items()
}  # fmt: skip

FUNCTIONS: dict[str, Call] = {
    f"fastbpe.{name}": call
    for name, call in {
        "aencode": lambda w: asyncio.run(fastbpe.aencode(w.tokenizer, w.long, **w.options)),
        "aencode_batch": lambda w: asyncio.run(fastbpe.aencode_batch(w.tokenizer, w.texts, **w.options)),
        "align": lambda w: plain(fastbpe.align(WORDS, w.tokenizer, w.fresh())),
        "changed_texts": lambda w: str(fastbpe.changed_texts(w.tokenizer, w.fresh(), [WORDS])),
        "count_pieces": _counted,
        "install": _installed,
        "joins": lambda w: fastbpe.joins(w.tokenizer, "th", "e"),
        "load": lambda w: plain(fastbpe.load(w.saved)),
        "merge_shards": lambda w: w.written(
            "all.bin", lambda path: fastbpe.merge_shards(w.shards / "a.bin", path, progress=False)
        ),
        "merge_tree": lambda w: str(fastbpe.merge_tree(w.tokenizer, "the")),
        "merge_vocabularies": lambda w: fastbpe.merge_vocabularies(w.tokenizer, w.fresh())[0].vocab_size,
        "open_ids": lambda w: [plain([*one]) for one in fastbpe.open_ids(w.shards / "a.bin")],
        "release_memory": lambda w: fastbpe.release_memory() >= 0,
        "show": lambda w: str(fastbpe.show(w.tokenizer, WORDS)),
        "steps": lambda w: fastbpe.steps(w.tokenizer),
        "train": _trained,
        "training_options": lambda w: fastbpe.training_options(w.tokenizer),
        "uninstall": _installed,
        "vocabulary_report": lambda w: str(fastbpe.vocabulary_report(w.tokenizer)),
        "write_shard": lambda w: w.written(
            "a.bin", lambda path: fastbpe.write_shard(w.tokenizer, [WORDS] * 9, path, (0, 1))
        ),
    }.items()
}

CALLS: dict[str, Call] = {**TOKENIZER, **SEQUENCES, **COUNTS, **FUNCTIONS}


def public_names() -> set[str]:
    """Return the names of all public methods, properties and functions that CALLS must have."""
    classes = (Tokenizer, SequenceTokenizer, PieceCounts)
    names = {f"{one.__name__}.{name}" for one in classes for name in dir(one) if not name.startswith("_")}
    functions = {name for name in fastbpe.__all__ if callable(getattr(fastbpe, name))}
    return names | {f"fastbpe.{name}" for name in functions if not isinstance(getattr(fastbpe, name), type)}
