"""Write docs/reference/contract.md, which says what each public call does beside threads, forks and long texts.

`--check` compares only. The table is below; `tests/unit/test_contract.py` compares its names with the public ones,
and tries what it says of threads, forks and the GIL.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "contract.md"

RELEASES, FILES, TURNS, SHORT = "yes", "for files", "in turns", "short"
LINEAR, TABLES, ONE, AHEAD = "the text's length", "the vocabulary", "one look-up", "the text that the call reads"
RESULT, KEPT, CORPUS = "the result", "the result; tables are kept", "a bounded part of the files"


class Row(NamedTuple):
    """Calls with one contract.

    names: the calls, without their class or module, between spaces.
    threads: "" or what is not shared.
    gil: RELEASES, FILES, TURNS or SHORT.
    time: what the time grows with, at most in proportion and by a logarithm.
    memory: what the memory of a call grows with.
    """

    names: str
    gil: str
    time: str
    memory: str
    threads: str = ""


STREAM = ", but only one thread at a time may use the returned object"
ROWS: dict[str, list[Row]] = {
    "Tokenizer": [
        Row("encode encode_ordinary encode_to_numpy count is_lossless pieces", RELEASES, LINEAR, RESULT),
        Row(
            "encode_batch encode_ordinary_batch encode_batch_to_numpy count_batch to_arrow",
            RELEASES,
            LINEAR,
            RESULT,
        ),
        Row("decode decode_batch decode_bytes", RELEASES, "the number of ids", RESULT),
        Row("encode_with_offsets encode_batch_with_offsets", RELEASES, LINEAR, RESULT),
        Row("encode_parts encode_with_template", TURNS, LINEAR, RESULT),
        Row("decode_tokens_bytes", TURNS, "the number of ids", RESULT),
        Row("fits truncate truncate_batch", TURNS, AHEAD, "the text that the call reads"),
        Row("chunk", TURNS, LINEAR, "one chunk at a time"),
        Row("encoder decoder conversation", SHORT, "the pushed text or ids", "an unfinished piece", STREAM),
        Row("interval_counter", TURNS, LINEAR, RESULT),
        Row(
            "count_messages",
            TURNS,
            "the prompt's length; what the template does",
            "the prompt; what the template makes",
        ),
        Row("explain", TURNS, LINEAR, RESULT),
        Row("completions", TURNS, TABLES, KEPT),
        Row("token_to_id id_to_token", SHORT, ONE, KEPT),
        Row(
            "added_tokens bos_token_id eos_token_id pad_token_id unk_token_id mode model_type n_vocab name "
            "pattern roles special_tokens template training_report vocab_size",
            *(SHORT, "one look-up; special tokens", RESULT),
        ),
        Row("vocab merges", TURNS, TABLES, RESULT),
        Row("fingerprint", TURNS, TABLES, KEPT),
        Row(
            "from_merges from_ranks id_map with_tokens with_special_tokens without_tokens",
            TURNS,
            TABLES,
            RESULT,
        ),
        Row("prune", TURNS, "the vocabulary; the corpus", RESULT),
        Row("save", FILES, TABLES, "a copy of the vocabulary"),
        Row("export", RELEASES, "the vocabulary; the text for verification", "a copy of the vocabulary"),
        Row("encode_files", RELEASES, "the files", CORPUS),
    ],
    "SequenceTokenizer": [
        Row(
            "encode encode_batch encode_batch_to_numpy encode_to_numpy count",
            TURNS,
            "the sequence's length",
            RESULT,
        ),
        Row("decode decode_batch decode_to_numpy", TURNS, "the number of ids", RESULT),
        Row("token_to_id id_to_token is_special_token", SHORT, ONE, KEPT),
        Row(
            "base_size fingerprint mode n_vocab special_tokens training_report vocab_size",
            *(SHORT, TABLES, RESULT),
        ),
        Row("merges", TURNS, TABLES, RESULT),
        Row("from_merges id_map with_special_tokens", TURNS, TABLES, RESULT),
        Row("load save", FILES, TABLES, "a copy of the vocabulary"),
        Row("export", RELEASES, TABLES, "a copy of the vocabulary"),
        Row("encode_files", RELEASES, "the files", CORPUS),
    ],
    "PieceCounts": [
        Row(
            "get mode n_bytes n_pruned n_skipped options pattern runs_of special_tokens",
            SHORT,
            ONE,
            RESULT,
        ),
        Row("items keys values n_pieces pruned check_made_by", TURNS, "the number of pieces", RESULT),
        Row("load", FILES, "the number of pieces", "pages of the file"),
        Row("save to_parquet", RELEASES, "the number of pieces", "a copy of the counts"),
        Row("merge", RELEASES, "the files", "max_memory_bytes"),
    ],
    "fastbpe": [
        Row(
            "train count_pieces",
            RELEASES,
            "the source and the merges",
            "distinct pieces; counts up to max_memory_bytes",
        ),
        Row("aencode aencode_batch", RELEASES, LINEAR, RESULT),
        Row("align show", TURNS, LINEAR, RESULT),
        Row("joins merge_tree steps training_options", TURNS, "the texts, the token or the model", RESULT),
        Row("load", FILES, "the file", "pages of the file; the vocabulary"),
        Row("merge_vocabularies", TURNS, "both vocabularies", RESULT),
        Row("changed_texts", TURNS, "the source", "the texts that change"),
        Row("vocabulary_report", RELEASES, "the vocabulary; the source", RESULT),
        Row("write_shard merge_shards", RELEASES, "the texts or the files", CORPUS),
        Row("open_ids", FILES, "the number of files", "pages of the files", ", for the returned object, too"),
        Row("release_memory", TURNS, "the kept memory", "nothing"),
        Row("install uninstall", SHORT, "the number of modules", "nothing"),
    ],
}

HEAD = """\
# The contract of each call

<!-- Written by tools/draw_contract.py. -->

Any number of threads may make any call on this page at the same time, on shared tokenizers, sequence tokenizers
and counts. A child process that was forked at any moment may make any call, too, whatever the parent's threads
were doing. If a call allows less, its row says so.

| column | meaning |
|---|---|
| GIL: yes | a long call releases the GIL, so other threads run at the same time |
| GIL: in turns | the call holds the GIL, but releases it every few milliseconds, as Python code does. \
It keeps the GIL while it makes one long list, such as the counts of all pieces |
| GIL: for files | the call holds the GIL, but releases it while the system reads or writes |
| GIL: short | the call holds the GIL for microseconds; the first call may hold it until a table is built |
| time grows with | time is at most O(n log n) in this quantity: no text, file or pattern makes it quadratic |
| memory grows with | plus [buffers kept between calls](../threads-and-servers.md#memory-kept-between-calls) |

A call raises `MemoryError` if memory cannot be allocated, and `OSError` if a disk operation fails. The object
stays usable. A file appears only when it is complete. `tests/unit/test_contract.py` tests the columns on threads,
forks and the GIL; `tools/every_fault.py` tests what happens if memory or disk space runs out, or a writer is
killed; `tools/faults.py` tests how time grows.
"""

TAIL = """\

## Free threading and subinterpreters

On a free-threaded CPython (3.13t and later), importing and using fastbpe leaves the GIL off, and this page still
holds: threads may share tokenizers and counts, and change a list that a call in another thread reads. A fork or a
garbage collection in another thread does not wait for the calls marked "yes" in the column GIL.
`tests/unit/test_free_threading.py` tests simultaneous first calls from several threads, lists that change, and
memory that is freed. On a free-threaded CPython, lists of ids do not share the int objects of ids above 256, so
they take longer to make.

Do not change the settings of a `fastbpe.sentencepiece` processor while another thread uses it. A call during
`Load` uses the old or the new model, or raises an error saying that no model is loaded.

Only one interpreter per process can use fastbpe. In a second interpreter, with or without its own GIL, the import
raises an `ImportError`.
"""


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for owner, rows in ROWS.items():
        parts.append(f"## {owner if owner != 'fastbpe' else 'Functions'}\n")
        parts.append(
            "| calls | threads, forks | GIL | time grows with | memory grows with |\n|---|---|---|---|---|"
        )
        for row in rows:
            names = ", ".join(f"`{name}`" for name in row.names.split())
            parts.append(f"| {names} | yes{row.threads} | {row.gil} | {row.time} | {row.memory} |")
        parts.append("")
    return "\n".join(parts).rstrip() + "\n" + TAIL


def names(*kinds: str) -> list[str]:
    """List the calls, with their class or module; only those of these kinds of GIL, if any is given."""
    return [
        f"{owner}.{name}"
        for owner, rows in ROWS.items()
        for row in rows
        if not kinds or row.gil in kinds
        for name in row.names.split()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare the page with what would be written")
    if parser.parse_args().check:
        return 0 if PAGE.read_text(encoding="utf-8") == page() else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
