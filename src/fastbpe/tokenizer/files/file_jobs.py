"""Check of the arguments of the methods that write files of ids."""

from __future__ import annotations

from collections.abc import Mapping

from fastbpe._utils.choices import DocumentFormat, IdType, OnError, ReadErrors
from fastbpe.corpus.document_formats import check_format, check_text_field
from fastbpe.corpus.encoding_run import Job
from fastbpe.corpus.sinks import choose_dtype
from fastbpe.corpus.skipping import check_choices
from fastbpe.corpus.sources import check_separator
from fastbpe.tokenizer.special_token_rules import id_of_marker


def job_of(
    fingerprint: str,
    n_vocab: int,
    special_tokens: Mapping[str, int],
    *,
    dtype: IdType | None,
    document_start: str | None,
    document_end: str | None,
    separator: str | None = None,
    text_field: str = "text",
    format: DocumentFormat | None = None,
    on_error: OnError = "raise",
    errors: ReadErrors = "strict",
    header: str | None = None,
) -> Job:
    """Check the arguments of `Tokenizer.encode_files` that decide the bytes of its output.

    fingerprint, n_vocab, special_tokens: attributes of the tokenizer.

    Raises TypeError, ValueError or SpecialTokenError if an argument has the wrong type or an invalid value.
    """
    check_separator(separator)
    check_text_field(text_field)
    check_format(format)
    check_choices(on_error, errors)
    return Job(
        identity={"fingerprint": fingerprint, "n_vocab": n_vocab},
        dtype=choose_dtype(dtype, n_vocab),
        before=id_of_marker(special_tokens, "document_start", document_start),
        after=id_of_marker(special_tokens, "document_end", document_end),
        separator=separator,
        text_field=text_field,
        format=format,
        on_error=on_error,
        errors=errors,
        header=header,
    )
