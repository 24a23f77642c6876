"""Counting in tasks of an engine: count a part of the texts, add up the counts, create `PieceCounts`.

Tasks exchange records: pieces with their counts, and the position of each piece's first occurrence among all
texts.
Adding up records in any order and grouping leads to the same table. A task that runs twice returns the same
records, and an engine uses the records of one run.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.piece_records import add_records, write_by_position, write_parts
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.cluster.arrow_columns import texts_of
from fastbpe.corpus.skipping import check_choices
from fastbpe.errors import FastbpeError
from fastbpe.training.piece_counting import count_pieces
from fastbpe.training.piece_counts import PieceCounts, counts_of_table, facts_of, table_of

# In place of a part's number in a row (part, data):
NUMBERS = -1  # data is the JSON of a task's sums
ERROR = -2  # data is a task's pickled error
#: Errors that a second try would raise again, so a task returns them. The engine handles other errors.
LASTING = (FastbpeError, TypeError, ValueError, OverflowError)
PLACE_BITS = 32  # low bits of a place: number of the piece within its task; the bits above are the task's number


class Counting(NamedTuple):
    """Settings of the tasks that count a column; they travel to the workers.

    column: name of the column of texts.
    options: keyword arguments of `count_pieces`.
    skips: bool – leave out rows without text, and return their number.
    bits: records are divided into 2**bits parts by hash, so that parts can be added up separately.
    seed: seed of the hash.
    """

    column: str
    options: Mapping[str, Any]
    skips: bool
    bits: int
    seed: int


def check_options(options: dict[str, Any], on_error: str) -> PieceCounts:
    """Check the options of counting before any task starts. Returns empty counts with these options."""
    check_choices(on_error, "strict")
    if isinstance(names := options.get("special_tokens"), Iterator):
        options["special_tokens"] = [*names]  # each task reads them, too
    return count_pieces(iter(()), progress=False, **options)


def count_texts(tables: Iterable[Any], how: Counting, number: int, where: str) -> Iterator[tuple[int, bytes]]:
    """Count the texts of one task.

    tables: Arrow tables or record batches.
    number: the task's number; tasks with greater numbers have later texts.
    where: name of the task's texts, such as a partition, for errors.

    Yields (part, records) for the parts by hash (see `Counting.bits`), and at the end (NUMBERS, JSON of the sums
    over the texts, such as their bytes); or only (ERROR, the pickled error).
    """
    n_skipped = 0

    def skip() -> None:
        nonlocal n_skipped
        n_skipped += 1

    texts = texts_of(tables, how.column, where, skip if how.skips else None)
    rows: list[tuple[int, bytes]] = []
    try:
        counts = count_pieces(texts, progress=False, **how.options)
        table, place = table_of(counts), number << PLACE_BITS
        write_parts(table, how.bits, how.seed, lambda part, records: rows.append((part, records)), place=place)
    except LASTING as error:
        yield ERROR, pickle.dumps(error)
        return
    yield from rows
    facts = facts_of(counts)
    numbers = {} if facts is None else dict(facts.numbers)
    last_word = "" if facts is None or facts.last_word is None else facts.last_word.decode()
    # The task's number decides which task has the last word of all texts; see `WordFacts.last_word`.
    summary = {"n_bytes": counts.n_bytes, "n_skipped": n_skipped, "last": [number, last_word]}
    yield NUMBERS, json.dumps({**numbers, **summary}).encode()


def add_up(records: Iterable[tuple[int, Any]]) -> bytes:
    """Add up records of one part by hash; return records.

    records: (number, records) – the number of the task, to be added to the positions; 0: they already contain it.
    """
    table = PieceCounter(Splitter())
    for number, some in records:
        add_records(table, memoryview(some).cast("B"), place=number << PLACE_BITS)
    found: list[bytes] = []
    write_by_position(table, width=1, n_parts=1, write=lambda part, records: found.append(records))
    return b"".join(found)


def reduce_rows(part: int, data: Iterable[tuple[int, Any]]) -> Iterator[bytes]:
    """Add up the rows of one part from several tasks; yield each row of numbers or of an error by itself.

    data: as for `add_up`.
    """
    if part == NUMBERS:
        yield from (_numbered(bytes(some), number) for number, some in data)
    elif part == ERROR:
        yield from (bytes(some) for _, some in data)
    elif records := add_up(data):
        yield records


def _numbered(numbers: bytes, number: int) -> bytes:
    """Add the number of a task to its row of numbers, as `add_up` does with positions."""
    of_task = json.loads(numbers)
    of_task["last"][0] += number
    return json.dumps(of_task).encode()


def counts_of_rows(rows: Iterable[tuple[int, Any]], empty: PieceCounts) -> PieceCounts:
    """Create `PieceCounts` from all (part, records) that tasks returned, in any order; or raise a task's error.

    empty: empty counts with the same options.
    """
    table = PieceCounter(Splitter())
    numbers: dict[str, int] = {"n_bytes": 0, "n_skipped": 0}
    errors: list[Exception] = []
    last_words: list[tuple[int, str]] = []  # (number of the task, the word that ends its last sentence)
    for part, data in rows:
        if part == ERROR:
            errors.append(pickle.loads(bytes(data)))
        elif part == NUMBERS:
            of_task = json.loads(bytes(data))
            last_words.append(tuple(of_task.pop("last")))
            for name, number in of_task.items():
                numbers[name] = numbers.get(name, 0) + number
        else:
            add_records(table, memoryview(data).cast("B"))
    if errors:
        raise min(errors, key=str)  # so that each run raises the same error
    table.finish()
    facts = facts_of(empty)
    if facts is not None:
        facts = replace(facts, numbers={name: numbers.get(name, 0) for name in facts.numbers})
    if facts is not None and facts.last_word is not None:
        _, last_word = max(((number, word) for number, word in last_words if word), default=(0, ""))
        facts = replace(facts, last_word=last_word.encode())
    n_bytes, n_skipped, special = numbers["n_bytes"], numbers["n_skipped"], empty.special_tokens
    return counts_of_table(
        table, empty.pattern, special, n_bytes=n_bytes, n_skipped=n_skipped, words=facts, runs_of=empty.runs_of
    )
