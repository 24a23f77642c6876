"""write_shard: encode texts into one shard of an output."""

from __future__ import annotations

from collections.abc import Iterable

from fastbpe._utils.choices import IdType, OnError, ReadErrors
from fastbpe.corpus.file_encoding import FilesSummary
from fastbpe.corpus.listing import Path_
from fastbpe.id_files import shards
from fastbpe.tokenizer.files.file_jobs import job_of
from fastbpe.tokenizer.tokenizer import Tokenizer


def write_shard(
    tokenizer: Tokenizer,
    texts: Iterable[str | bytes | None],
    out: Path_,
    shard: tuple[int, int],
    *,
    document_start: str | None = None,
    document_end: str | None = None,
    dtype: IdType | None = None,
    num_threads: int | None = None,
    on_error: OnError = "raise",
    errors: ReadErrors = "strict",
) -> FilesSummary:
    """Encode texts into one shard of an output, in a task of Spark, Ray or another engine.

    The shard consists of the same files as with `Tokenizer.encode_files(shard=)`, but its manifest lists no
    inputs. The files are first written under other names, and replace the files of an earlier try: a task may run
    twice, even concurrently. Special tokens in the texts are encoded as ordinary text.

    Args:
        tokenizer: Tokenizer.
        texts: all documents of this shard, in order. None means a null value.
        out: as for `Tokenizer.encode_files`: "ids/train.bin" for ids/train-00000-of-00004.bin and so on.
        shard: (number of the shard, from 0; number of shards).
        document_start, document_end, dtype, num_threads: as for `Tokenizer.encode_files`.
        on_error: "skip": leave out documents that are None or bytes that are not UTF-8; the summary counts and
            names them. "raise": they are an error.
        errors: "replace": bytes that are not UTF-8 become U+FFFD. "strict": on_error decides.

    Raises:
        TypeError: a document is not str or bytes, or is None and on_error is "raise". The message contains the
            document's number, and nothing is written.
        FormatError: a document is not UTF-8. The message contains its number, and nothing is written.
        SpecialTokenError, ValueError, OSError: as for `Tokenizer.encode_files`.

    >>> import fastbpe, tempfile
    >>> tokenizer = fastbpe.Tokenizer.from_merges([], pattern=None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in range(2):
    ...         summary = fastbpe.write_shard(tokenizer, ["one", "two"], f"{folder}/a.bin", (i, 2))
    ...     summary.path.name, [tokenizer.decode(document) for document in fastbpe.open_ids(folder)]
    ('a-00001-of-00002.bin', ['one', 'two', 'one', 'two'])
    """
    job = job_of(
        tokenizer.fingerprint,
        tokenizer.n_vocab,
        tokenizer.special_tokens,
        dtype=dtype,
        document_start=document_start,
        document_end=document_end,
        on_error=on_error,
        errors=errors,
    )
    return shards.write_shard(texts, out, shard, job, tokenizer, num_threads=num_threads)
