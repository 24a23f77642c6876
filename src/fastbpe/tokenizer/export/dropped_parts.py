"""Tokenizers without a part that a format cannot store, if the caller asks for it: `export(drop=["normalizer"])`.

Dropping a part changes the ids of some texts. The comparison checks that text which the normalizer does not change
keeps its ids. The result lists the first MAX_SHOWN texts whose ids differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from fastbpe.errors import FormatError, VocabularyError
from fastbpe.model import CodePointModel, Model
from fastbpe.normalization.huggingface import make_change
from fastbpe.tokenizer.export.exportable import Exportable
from fastbpe.tokenizer.export.verify_export import MAX_SHOWN, Difference, Verification, describe, probe
from fastbpe.tokenizer.families.codepoint_tables import make_normalizer

#: Parts that can be dropped.
PARTS = ("normalizer",)

Normalize = Callable[[str], str]

_MAX_TEXTS = 1 << 16  # texts of the probe to compare
# Examples of text that normalizers change: decomposed letters, compatibility characters, capitals, white space.
_TEXTS = ("e\u0301", "\u212b", "\u1100\u1161", "\ufb01", "\uff21", "\u00c9", "  a  b ", "\u2460")


def checked(drop: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the parts to drop. Raises TypeError or ValueError if one cannot be dropped."""
    if isinstance(drop, str) or not isinstance(drop, Iterable):
        raise TypeError(f"drop must be a list of parts, such as {[*PARTS]!r}, not {drop!r:.60}")
    parts = tuple(dict.fromkeys(drop))
    for part in parts:
        if part not in PARTS:
            raise ValueError(f"drop={part!r:.60}: choose one of {', '.join(map(repr, PARTS))}")
    return parts


def without_normalizer(tokenizer: Exportable) -> tuple[Exportable, Normalize]:
    """Return the tokenizer without its normalizer, and the normalizer. Raises FormatError without one."""
    source = tokenizer._family.model
    if isinstance(source, CodePointModel):
        return _of_code_points(tokenizer, source)
    change = make_change(source.normalizers)
    if change is None:
        raise FormatError('drop="normalizer": this tokenizer has no normalizer; leave drop= out')
    kept = {name: value for name, value in source.huggingface.items() if name != "normalizer"}
    plain: Model = source._replace(normalizers=(), huggingface=kept, fingerprint="")
    return tokenizer._remake(plain), change


def _of_code_points(tokenizer: Exportable, source: CodePointModel) -> tuple[Exportable, Normalize]:
    spec = source.normalizer
    if not (spec["precompiled_charsmap"] or spec["remove_extra_whitespaces"]):
        raise FormatError('drop="normalizer": this tokenizer has no normalization rules; leave drop= out')
    # Spaces stay spaces, so that `compare` sees which texts the rules change.
    normalizer = make_normalizer(source, marks_to_spaces=True, add_dummy_prefix=False)
    dropped = ("name", "precompiled_charsmap", "normalization_rule_tsv")
    values = {name: value for name, value in spec.values.items() if name not in dropped}
    values |= {"name": "identity", "remove_extra_whitespaces": False}
    plain = source._replace(normalizer=spec.with_values(values), serialized=b"")
    return tokenizer._remake(plain), lambda text: normalizer.normalize(text.encode()).decode(errors="replace")


def compare(
    one: Exportable, plain: Exportable, normalize: Normalize, lines: Iterable[str]
) -> Iterator[Difference]:
    """Yield the texts that get other ids in `plain`, which lacks the normalizer.

    It compares _TEXTS, then the lines, then the probe (see `verify_export`). A text with a character for which a
    model lacks a token has no ids there.

    Raises FormatError if a text that the normalizer does not change gets other ids.
    """
    # The normalizer gets each part of a text between added tokens, and may strip the ends of each.
    added = [token.content for token in one._family.model.added_tokens]
    cuts = {*added, *map(normalize, added)}
    for text in chain(_TEXTS, lines, islice(probe(one), _MAX_TEXTS)):
        difference = Difference(text, _ids(one, text), _ids(plain, text))
        if difference.expected == difference.found:
            continue
        if normalize(text) == text and not any(cut in text for cut in cuts):
            raise FormatError(
                f"{describe(one, difference, 'without the normalizer')}, although the normalizer leaves "
                "this text as it is; nothing is written: export this tokenizer as native"
            )
        yield difference


def _ids(tokenizer: Exportable, text: str) -> list[int]:
    try:
        return tokenizer.encode_ordinary(text)
    except VocabularyError:  # the model has no unknown token
        return []


def report(
    done: Verification, one: Exportable, plain: Exportable, normalize: Normalize, text: str | None
) -> Verification:
    """Add to a result: the dropped parts, the number of texts whose ids differ, and the first MAX_SHOWN of them.

    text: additional text to compare, line by line; None: no such text.
    """
    lines = () if text is None else text.splitlines(keepends=True)
    differences = compare(one._remake(), plain, normalize, lines)
    changed = [*islice(differences, MAX_SHOWN)]
    n_changed = len(changed) + sum(1 for _ in differences)
    shown = (*done.changed, *changed)[:MAX_SHOWN]
    return done._replace(dropped=PARTS, n_changed=done.n_changed + n_changed, changed=shown)
