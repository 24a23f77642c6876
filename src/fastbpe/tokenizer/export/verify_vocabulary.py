"""Verification of a vocabulary file, and of a conversion against its original."""

from __future__ import annotations

import os
from collections.abc import Iterable

from fastbpe._utils.warn import warn
from fastbpe.errors import FormatError, FormatWarning
from fastbpe.formats.atomic_files import map_file
from fastbpe.known_vocabularies import VOCABULARIES, recognise
from fastbpe.tokenizer.export import unigram_sums, verify_export
from fastbpe.tokenizer.export.exportable import Exportable


def verify_vocabulary(tokenizer: Exportable, path: str | os.PathLike[str]) -> str:
    """Verify a loaded vocabulary: a saved copy has the same ids, and a published file is the published one.

    Returns the name of the published vocabulary; "" if the path is not a published file. path: the file, name or
    folder that was passed to `load`.

    Raises FormatError if the file has the name of a published one but other bytes, or a copy of the vocabulary has
    other ids for some text; the message contains the text.
    """
    verify_export.verify(tokenizer, tokenizer._family.dump(tokenizer, "native"), "native")
    if not os.path.isfile(path):
        return ""
    known, name = recognise(map_file(path)), os.path.basename(path)
    for vocabulary in VOCABULARIES.values():
        if vocabulary.file.name == name and (known is None or known.file != vocabulary.file):
            raise FormatError(
                f"{os.fspath(path)}: not {name} as published, whose SHA-256 is {vocabulary.file.sha256}; "
                "download the file again (fastbpe fetch), or rename it"
            )
    return "" if known is None else known.name


def verify_conversion(original: Exportable, converted: Exportable, where: str, lines: Iterable[str] = ()) -> int:
    """Compare the ids of two tokenizers: for tokens, texts made of tokens, special tokens, and lines of a text.

    Returns the number of texts compared. where: the converted file, for the message.

    Raises FormatError if a text has other ids, a token another id, or a special token is no longer one. If a
    conversion of a unigram model between sentencepiece and tokenizers explains all differences (`unigram_sums`),
    warns with FormatWarning instead.
    """
    one, other = original._remake(), converted._remake()
    excused = verify_export.Excused(unigram_sums.between(one, other))
    try:
        n_texts = verify_export.compare_all(one, other, "in this file", lines, excused=excused)
    except FormatError as error:
        raise FormatError(f"{where}: differs from the original: {error}") from None
    if excused.n:
        why = unigram_sums.described(excused.first)
        warn(f"{where}: {excused.n} of {n_texts} texts get other ids: {why}", FormatWarning)
    return n_texts
