"""Objects for the steps around merging: normalizer and splitter of a Model, and the trimmer of offsets."""

from __future__ import annotations

import re
from array import array
from itertools import chain
from math import inf

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.normalize.text_steps import Front
from fastbpe._core.split.splitter import Splitter
from fastbpe.errors import FormatError, PatternError, VocabularyError
from fastbpe.model import Buffer, Model, Spelling
from fastbpe.patterns import PATTERNS, Pattern, first_name, resolve_pattern
from fastbpe.splitting import make_splitter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from fastbpe._core.encode.trim_spans import SpanTrimmer
    from fastbpe._core.merge.vocabulary import SpelledSymbols
    from fastbpe._core.segment.segmenter import Segmenter
    from fastbpe._core.split.stages import Stage

_UNKNOWN_PENALTY = 10.0  # Unigram: an unknown character scores this much below the worst token
_MARKS = ("\u2581", " ")  # characters that may begin words


def check_regexes(model: Model) -> None:
    """Raise PatternError, with the step, for a regex in a model's steps or decoder that cannot be read."""
    from fastbpe.formats.huggingface.decoder_json import flattened  # here, as below: few models have a regex

    steps = {
        "normalizer": model.normalizers,
        "pre-tokenizer": model.pre_tokenizers,
        "decoder": flattened(model.huggingface.get("decoder")),
    }
    for kind, described in steps.items():
        for step in described or ():
            if "Regex" in step.get("pattern", ()):
                from fastbpe.splitting.oniguruma import check_regex

                try:
                    check_regex(step["pattern"]["Regex"])
                except PatternError as error:
                    raise PatternError(f"the {kind} {step['type']}: {error}") from None


def spelled(spelling: Spelling | None) -> SpelledSymbols | None:
    """Return the core's options for a character-level vocabulary; None for any other vocabulary."""
    if spelling is None:
        return None
    from fastbpe._core.merge.vocabulary import SpelledSymbols  # here: few tokenizers have them

    return SpelledSymbols(
        prefix=spelling.prefix.encode(),
        suffix=spelling.suffix.encode(),
        # Only a BPE model without an unknown token leaves characters out; others raise an error.
        unknown_id=None if spelling.unknown_token is None and spelling.kind == "BPE" else spelling.unknown,
        fuses=spelling.fuses,
        byte_ids=[*spelling.byte_ids] if spelling.byte_ids else None,
    )


def merging(model: Model, vocabulary: Vocabulary) -> Vocabulary:
    """Create the vocabulary of the symbols that a model merges; if they are tokens, return `vocabulary`.

    Raises VocabularyError if a symbol becomes an id that is not a token.
    """
    symbols, spelling = model.symbols, model.spelling
    if symbols is None:
        return vocabulary
    from fastbpe._core.merge.table_builder import build_tables  # here, as below: few tokenizers have symbols
    from fastbpe._core.merge.vocabulary import SpelledSymbols

    assert spelling is not None
    texts = [*(text.encode() for text in symbols.texts), b"\0"]  # the last: for characters without a symbol
    ids = [*symbols.ids, spelling.unknown]
    if not all(map(vocabulary.has, ids)):
        raise VocabularyError("a symbol becomes an id that is not a token")
    listed = model.merge_list() or ()
    tables: dict[str, Any] = build_tables(texts, model.merges, affixed=True)
    made_at = {merged: priority for priority, (_, _, merged) in enumerate(listed)}  # 0: the best merge
    return Vocabulary(
        **tables,
        whole_piece_first=False,
        spelled=SpelledSymbols(
            suffix=spelling.suffix.encode(),
            unknown_id=len(texts) - 1,
            tokens=array("I", ids).tobytes(),
            in_rounds=any(  # a merge needs a symbol that only a worse merge makes
                made_at.get(part, -1) > priority for priority, pair in enumerate(listed) for part in pair[:2]
            ),
        ),
    )


def segmenter(model: Model, token_bytes: Buffer, token_ends: Buffer) -> Segmenter | None:
    """Create the object that cuts pieces into tokens without merging; None if the model merges."""
    spelling = model.spelling
    if spelling is None or spelling.kind == "BPE":
        return None
    from fastbpe._core.segment.segmenter import Segmenter

    scores = array("d", bytes(model.scores))
    return Segmenter(
        spelling.kind,
        token_bytes,
        token_ends,
        scores=scores if spelling.kind == "Unigram" else None,
        unknown_score=min(chain((inf,), scores)) - _UNKNOWN_PENALTY,  # min() ignores NaN after a number
        prefix=spelling.prefix.encode(),
        longest=spelling.longest,
    )


def splitting(
    model: Model, vocabulary: Vocabulary
) -> tuple[Model, str | None, Pattern, Splitter, tuple[Stage | None, Stage | None]]:
    """Create the splitter of a model, and the stages that change its pieces.

    Returns the model, in which a regex replaces the name of a pattern, and also steps that a regex expresses; the
    name of the pattern, or None; the pattern, or None; the splitter; two stages from `make_stages`, for a
    character-level model only.
    """
    if model.spelling is not None:
        from fastbpe.splitting.changing_steps import make_stages  # here: few tokenizers have them

        splitter, *stages = make_stages(model.pre_tokenizers, mark=_mark_of_words(model, vocabulary))
        return model, None, None, splitter, (stages[0], stages[1])
    no_stages = None, None
    if not model.pre_tokenizers:
        name, pattern = resolve_pattern(model.pattern)
        return model._replace(pattern=pattern), name, pattern, make_splitter(pattern), no_stages
    from fastbpe.splitting.steps import as_pattern, make_sequence, step_of  # here: few tokenizers have them
    from fastbpe.splitting.to_regex import EmptyMatchError
    from fastbpe.tokenizer.export import published_spelling

    steps = [step_of(described) for described in model.pre_tokenizers]
    is_regex, pattern = as_pattern(steps)
    if not is_regex and published_spelling.is_cl100k(steps, vocabulary):
        # Split as the file does, because words are numbered by pieces; cl100k's own pattern gives the same ids.
        pattern = PATTERNS["cl100k"]
        model = model._replace(pattern=pattern, pre_tokenizers=())
        return model, "cl100k", pattern, make_splitter(published_spelling.CL100K), no_stages
    if not is_regex:
        return model._replace(pattern=None), None, None, make_sequence(steps), no_stages
    pattern = published_spelling.as_named(pattern)
    name = first_name(pattern)
    try:
        splitter = make_splitter(pattern)
    except EmptyMatchError:  # the pattern matches "", at which fastbpe would make no progress
        return model._replace(pattern=None), None, None, make_sequence(steps), no_stages
    return model._replace(pattern=pattern, pre_tokenizers=()), name, pattern, splitter, no_stages


def _mark_of_words(model: Model, vocabulary: Vocabulary) -> str:
    """Find a character of _MARKS that is a token, and is in tokens only at their start, once or repeated; else "".

    No merge crosses the place before it. Neither does a run of unknown characters, since the character is a token.
    So pieces may be cut there, unless whole pieces are looked up, the ends of pieces are spelled differently, or
    the unknown token, which merges as its text does, ends with this character.
    """
    spelling = model.spelling
    assert spelling is not None
    # Characters that are left out shift the places of all tokens after them in their piece, as in tokenizers.
    drops = spelling.unknown_token is None and not (spelling.byte_ids and min(spelling.byte_ids) >= 0)
    if vocabulary.whole_piece_first or spelling.prefix or spelling.suffix or drops or spelling.kind != "BPE":
        return ""
    tables = vocabulary.sections()
    data, starts = bytes(tables["token_bytes"]), {0, *tables["token_ends"].cast("I")}
    for mark in _MARKS:
        utf8 = re.escape(mark.encode())
        if (spelling.unknown_token or "").endswith(mark):
            continue
        if vocabulary.find(mark) is not None and all(
            found.start() in starts for found in re.finditer(b"(?<!%s)%s" % (utf8, utf8), data)
        ):
            return mark
    return ""


def check_merges_tokens(model: Model) -> None:
    """Raise VocabularyError if a model merges symbols that are not tokens."""
    if model.symbols is not None:
        raise VocabularyError(
            "this tokenizer merges symbols that are not tokens, and some become the unknown token, so no token is "
            "made of two others: explain, merge_tree, id_map, vocabulary_report, prune, without_tokens and "
            "merge_vocabularies do not work with it"
        )


def normalizers(model: Model) -> list[dict[str, Any]]:
    """List the steps that change texts before they are split."""
    lowers = model.symbols is not None and model.symbols.lowers
    return [*map(dict, model.normalizers), *([{"type": "PythonLowercase"}] if lowers else [])]


def front(model: Model) -> tuple[Front | None, Callable[[str], str] | None]:
    """Return the object that prepares texts (normalizer and prefix space), and a function for texts of tokens.

    The function normalizes. Each is None if it would change nothing.
    """
    steps = normalizers(model)
    if not steps and not model.prefix_space:
        return None, None
    from fastbpe.normalization.huggingface import make_change, make_front  # here: few tokenizers have them

    return make_front(steps, prefix_space=model.prefix_space), make_change(steps)


def trimmer(model: Model, tokens: Callable[[], Sequence[bytes]]) -> SpanTrimmer | None:
    """Create the trimmer of offsets that a tokenizer.json defines; None if it defines none."""
    described = model.huggingface.get("post_processor")
    if described is None:
        return None
    from fastbpe.tokenizer.families.trim_offsets import make_trimmer  # here: few tokenizers have one

    return make_trimmer(described, tokens, shown=model.spelling is not None)


def extras(model: Model) -> list[Any]:
    """List the facts besides tokens, merges and pattern that decide ids, for the fingerprint; [] for most."""
    found = [
        model.pre_tokenizers,
        model.normalizers,
        model.prefix_space,
        [*model.added_tokens],
        *(part for part in (model.spelling, model.symbols) if part is not None),
    ]
    if not any(found):
        return []
    import json  # here: most tokenizers do not need it

    return [json.dumps(found)]


def described_splitting(model: Model, vocabulary: Vocabulary) -> list[Mapping[str, Any]]:
    """Describe the splitting as in a tokenizer.json, with named patterns in their published form.

    Raises FormatError if a tokenizer.json cannot express it.
    """
    from fastbpe.splitting.to_oniguruma import to_oniguruma
    from fastbpe.tokenizer.export import published_spelling

    if model.pre_tokenizers:
        return [*model.pre_tokenizers]
    regexes = list((model.pattern,) if isinstance(model.pattern, str) else model.pattern or ())
    if regexes == [PATTERNS["cl100k"]] and published_spelling.cl100k_keeps_ids(vocabulary):
        return [
            _split(published_spelling.CL100K, "Removed", invert=True),
            {"type": "ByteLevel", "use_regex": False},
        ]
    use_regex = regexes[-1:] == [PATTERNS["gpt2"]]
    if use_regex:
        del regexes[-1]
    _, pattern = resolve_pattern(model.pattern)
    published = published_spelling.PUBLISHED.get(pattern)
    try:
        steps = [_split(regex) for regex in published or map(to_oniguruma, regexes)]
    except PatternError as error:
        raise FormatError(
            f"a tokenizer.json cannot store how this tokenizer splits text: {error}; export this "
            "tokenizer as native"
        ) from None
    # After a Split, ByteLevel would put a space before every piece. No file has such a model with a space before
    # texts, and verifying its export fails.
    if model.prefix_space and not steps:
        return [{"type": "ByteLevel", "add_prefix_space": True, "use_regex": use_regex}]
    return [*steps, {"type": "ByteLevel", "use_regex": use_regex}]


def _split(regex: str, behavior: str = "Isolated", *, invert: bool = False) -> Mapping[str, Any]:
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}


def check_plain(model: Model, what: str) -> None:
    """Raise FormatError if a model has parts that decide ids but that a simple format, `what`, cannot store."""
    lost = {
        "normalizers": model.normalizers,
        "pre-tokenizers": model.pre_tokenizers,
        "space before a text": model.prefix_space,
        "added tokens": model.added_tokens,
    }
    named = next((name for name, value in lost.items() if value), None)
    if named is not None:
        way_out = "; or drop the normalizers with drop=['normalizer'], which changes the ids of some texts"
        raise FormatError(
            f"{what} cannot store the {named} of this tokenizer; export this tokenizer as native or huggingface"
            + (way_out if model.normalizers else "")
        )
