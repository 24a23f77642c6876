"""fastbpe encode: turn text into ids."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial

from fastbpe._core.text.utf8_text import utf8_size
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.progress import Reporter
from fastbpe.cli import documents, encode_files, id_sequences, streams
from fastbpe.cli.shared_flags import Named, add_model, add_special, allowed_special, load_any
from fastbpe.errors import SpecialTokenError
from fastbpe.tokenizer.sequences.sequence_tokenizer import SequenceTokenizer
from fastbpe.tokenizer.tokenizer import Tokenizer

SUMMARY = "turn text into ids"
DETAILS = f"""

Prints the ids of each document on one line, separated by spaces, or as a JSON list
with --json. A text file is one document, including its line endings: with a byte-level
tokenizer that has no normalizer and puts no space before texts, `fastbpe decode` restores
it byte for byte, except for a byte-order mark. Special tokens in the text are treated as
plain text unless --allow-special or --forbid-special is given.

With -o, the ids of all documents go into one file. If the command is interrupted, run
it again: it continues where it stopped. Files are streamed. A text file that is one
document is streamed only if the tokenizer is byte-level, has no normalizer, and has the
split pattern gpt2, cl100k, o200k, llama3 or another one for which repr(tokenizer) in Python
shows "split by scanner" (not "scanner of lines"); otherwise it is kept whole in memory.
With --shard I/N, N commands on one or several machines write one part each; a finished
part is not written again.

With a tokenizer from `train --mode ids`, each FILE is a file, folder or pattern with
sequences of integers: one per line of text, per row of a .npy array, per document of a .bin
or .idx file of ids, per line of .jsonl, or per row of .parquet or .arrow (--text-field: the
field or column, default input_ids). With such a tokenizer, --shard, --lines, --separator,
--format, --allow-special, --forbid-special, --on-error and --errors are not allowed. If the
command is interrupted, run it again: it starts from the beginning.{documents.DETAILS}"""
EXAMPLE = r"""
examples:
  $ printf 'low lower lowest<|end|>\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 261 --special '<|end|>' --quiet
  $ fastbpe encode -m words.fbpe words.txt
  257 259 114 259 115 116 60 124 101 110 100 124 62 10
  $ fastbpe encode -m words.fbpe --allow-special all < words.txt
  257 259 114 259 115 116 260 10
  $ printf 'low\nlower\n' | fastbpe encode -m words.fbpe --lines
  257
  257 101 114
  $ echo '{"text": "low"}' > words.jsonl
  $ fastbpe encode -m words.fbpe words.jsonl words.txt
  257
  257 259 114 259 115 116 60 124 101 110 100 124 62 10
  $ fastbpe encode -m words.fbpe words.txt -o words.bin --lines --document-end '<|end|>'
  words.bin: 14 ids of 1 document
  $ printf 'low\nlower\n' | fastbpe encode -m words.fbpe --lines --json
  [257]
  [257, 101, 114]
"""
_IDS_A_WRITE = 1 << 16  # ids written at a time: the digits of all ids of a text take ten times its memory
Encode = Callable[[str | bytes], list[int]]


class _Form(NamedTuple):
    """Form of a document's line: the text before its ids, between two of them, and after them."""

    start: bytes
    between: str
    end: bytes


_PLAIN, _JSON = _Form(b"", " ", b"\n"), _Form(b"[", ", ", b"]\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="FILE", nargs="*", help="text to encode (default: standard input; -o needs a FILE)"
    )
    add_model(parser)
    special = parser.add_argument_group("special tokens in the text")
    add_special(special)
    special.add_argument(
        "--forbid-special",
        action="store_true",
        help="fail if the text contains a special token that is not allowed",
    )
    documents.add_arguments(parser)
    encode_files.add_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Encode and print, or write files."""
    documents.check_separator_flags(args)
    if wrong := encode_files.misused(args):
        args.wrong(wrong)
    tokenizer = load_any(args)
    if isinstance(tokenizer, SequenceTokenizer):
        (id_sequences.encode if args.output is None else id_sequences.encode_files)(args, tokenizer)
        return
    separator = documents.separator_of(args)  # not before: sequences have no --format, which its errors advise
    if args.output is not None:
        encode_files.run(args, tokenizer, separator)
        return
    encode = _choose(tokenizer, args.allow_special, args.forbid_special)
    form = _JSON if args.json else _PLAIN
    special = tokenizer.special_tokens if args.allow_special or args.forbid_special else ()
    names = [name for argument in args.files or [streams.STDIN] for name in documents.files_of(argument, args)]
    is_seen = sys.stdout is not None and sys.stdout.isatty()  # a bar between the ids would be in the way
    with Reporter(False if is_seen else None).phase("encoding", None, unit="B", unit_scale=True) as phase:
        for name in names:
            number, is_start, has_ids = 1, True, False  # has_ids: some ids of the document are written
            for texts, ends in documents.read(name, args, tokenizer, special):
                for i, text in enumerate(texts, 1):
                    ids = _encode(encode, text, f"{streams.name_of(name)}:{number}")
                    if is_start:
                        streams.write(form.start)
                    _write(ids, form, follows=has_ids)
                    has_ids = has_ids or bool(ids)
                    is_start = i < len(texts) or ends  # only the last text may go on in the next batch
                    if is_start:
                        streams.write(form.end)
                        number, has_ids = number + 1, False
                phase.update(utf8_size(texts))


def _choose(tokenizer: Tokenizer, allowed: list[str], forbid: bool) -> Encode:
    if not allowed and not forbid:
        return tokenizer.encode_ordinary
    return partial(
        tokenizer.encode,
        allowed_special=allowed_special(allowed, [Named("", tokenizer)]),
        disallowed_special="all" if forbid else (),
    )


def _encode(encode: Encode, text: str | bytes, where: str) -> list[int]:
    try:
        return encode(text)
    except SpecialTokenError as error:
        found = str(error).partition("\n")[0]  # the first line: the others advise on Python arguments
        raise SpecialTokenError(
            f"{where}: {found} Encode it as its id with --allow-special, or as text without --forbid-special."
        ) from None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _write(ids: list[int], form: _Form, *, follows: bool) -> None:
    """Write ids on the line of their document. follows: other ids of the document are before them."""
    for start in range(0, len(ids), _IDS_A_WRITE):
        before = form.between if start or follows else ""
        streams.write((before + form.between.join(map(str, ids[start : start + _IDS_A_WRITE]))).encode())
