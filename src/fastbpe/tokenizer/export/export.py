"""Writing of a tokenizer in a file format: all of its files, or an error that names what would be lost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

from fastbpe._utils.choices import Format
from fastbpe._utils.suggestions import choose_one_of
from fastbpe._utils.warn import warn
from fastbpe.errors import FormatError, FormatWarning
from fastbpe.formats import atomic_files, gpt2, minbpe, native, tekken, tiktoken
from fastbpe.formats.endings import format_of, is_huggingface_folder
from fastbpe.formats.gguf import split_patterns
from fastbpe.formats.gguf import write_metadata as write_gguf
from fastbpe.formats.huggingface import tokenizer_config, write, write_llama, write_unigram
from fastbpe.formats.sentencepiece import model_file
from fastbpe.known_vocabularies import recognise
from fastbpe.model import CodePointModel, Model
from fastbpe.patterns import PATTERNS, Pattern, resolve_pattern
from fastbpe.tokenizer.export import unigram_sums, verify_export
from fastbpe.tokenizer.export.exportable import Exportable, Files, model_of
from fastbpe.tokenizer.export.verify_export import Verification, arguments, shown_ids, shown_text
from fastbpe.tokenizer.families import step_objects
from fastbpe.tokenizer.families.ranked_merges import made_by, merges_by_rank, unmade
from fastbpe.vocabularies.material import decoded

#: Formats that lack the split pattern: `save` writes them only if `load` finds it elsewhere. The others store the
#: whole tokenizer, or refuse it.
LOSSY = ("tiktoken", "gpt2")
#: Formats of one file that store the roles of special tokens.
HAVE_ROLES = ("native", "gguf", "sentencepiece")
#: Pre-tokenizers of SuperBPE's published models.
_SUPERBPE = (
    *(
        {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
        for regex in (r"\p{N}+", r"(?=(\d{3})+(?!\d))")
    ),
    {"type": "ByteLevel", "use_regex": False},
)
_OTHER_DIGITS = (
    "llama.cpp cuts numbers by threes only if they have the digits 0 to 9: a text with four or more other digits "
    "in a row, such as Arabic ones, may get other ids"
)
_LONGEST_WORD = 1 << 20  # characters: a limit on words above this affects no real text, so nothing warns of it


def export(
    path: str | os.PathLike[str],
    tokenizer: Exportable,
    format: str | None,
    *,
    verify: bool,
    verify_text: str | None,
    drop: Iterable[str] = (),
    has_roles: bool = False,
) -> Verification | None:
    """Write a tokenizer, and return the result of the comparison; None without one. See `Tokenizer.export`.

    has_roles: bool – whether the caller passed roles=, which the format must then be able to store.
    """
    from fastbpe.tokenizer.export import dropped_parts  # here: few calls drop a part

    if verify_text is not None and not isinstance(verify_text, str):
        raise TypeError(f"verify_text must be str or None, not {type(verify_text).__name__}")
    parts = dropped_parts.checked(drop)
    chosen = format_for(path, tokenizer) if format is None else format
    for_llama_cpp = _split_as_superbpe(tokenizer) if chosen == "gguf" else None
    tokenizer = for_llama_cpp or tokenizer  # compared with the file: which texts differ is known, see `warned`
    whole, normalize = tokenizer, None
    if parts:
        tokenizer, normalize = dropped_parts.without_normalizer(whole)
    is_folder = chosen == "huggingface" and is_huggingface_folder(path)
    if has_roles and not is_folder and chosen not in HAVE_ROLES:
        what = "a tokenizer.json alone" if chosen == "huggingface" else chosen
        raise FormatError(
            f"{os.fsdecode(path)}: {what} cannot store roles=; leave it out, or write a folder for "
            "transformers, a .fbpe or .gguf file, or (code-point and Unigram models) a .model of sentencepiece"
        )

    def write_to(file: str | os.PathLike[str]) -> Verification | None:
        files = tokenizer._family.dump(tokenizer, chosen)
        done = None
        first: unigram_sums.Examples = {}
        if verify or verify_text is not None:
            done, first = verify_export.verify(tokenizer, files, chosen, verify_text)
            if normalize is not None:
                done = dropped_parts.report(done, whole, tokenizer, normalize, verify_text)
        if isinstance(files, dict):
            atomic_files.write_folder(file, files)
        else:
            atomic_files.write(file, files)
        warned = _differs(tokenizer, chosen, first) if for_llama_cpp is None else _OTHER_DIGITS
        if warned:
            # The folder is complete before it gets its name: until then, `file` is in another one.
            place = os.path.join(path, os.path.basename(file)) if is_folder else file
            warn(f"{os.fsdecode(place)}: {warned}", FormatWarning)
        return done

    if is_folder:
        return tokenizer_config.write_folder(path, tokenizer._roles, write_to)
    return write_to(path)


def format_for(path: str | os.PathLike[str], tokenizer: Exportable) -> Format:
    """Return the format that a path selects. Raises FormatError as `format_of` does."""
    model = tokenizer._family.model
    of_whole_words = isinstance(model, Model) and model.supermerges is not None
    return format_of(path, tokenizer.mode, tokenizer.model_type, of_whole_words=of_whole_words)


def _split_as_superbpe(tokenizer: Exportable) -> Exportable | None:
    """Return the tokenizer with llama.cpp's pattern "superbpe" in place of _SUPERBPE; None without these steps."""
    model = tokenizer._family.model
    if not isinstance(model, Model) or tuple(model.pre_tokenizers) != _SUPERBPE:
        return None
    kept = {name: value for name, value in model.huggingface.items() if name != "pre_tokenizer"}
    return tokenizer._remake(
        model._replace(pattern=PATTERNS["superbpe"], pre_tokenizers=(), huggingface=kept, fingerprint="")
    )


def _differs(tokenizer: Exportable, format: str, first: unigram_sums.Examples) -> str:
    """Return a sentence about texts that get other ids in the library that owns the format; "" if none does."""
    model = tokenizer._family.model
    spelling = model.spelling if isinstance(model, Model) else None
    if format == "gguf" and spelling is not None and 0 < spelling.longest <= _LONGEST_WORD:
        return (
            f"words of more than {spelling.longest} characters are unknown in this tokenizer, and are cut into "
            "tokens in llama.cpp"
        )
    return unigram_sums.warning(tokenizer, format, first) or ""


def check_holds_all(path: str | os.PathLike[str], tokenizer: Exportable, format: str) -> None:
    """Raise FormatError if `load` would need more than the files of a LOSSY format.

    The files of a published vocabulary suffice, because `load` recognises them.
    """
    if not _is_known(tokenizer._family.dump(tokenizer, format), tokenizer):
        lost = left_out(format, tokenizer.pattern, tokenizer.special_tokens)
        raise FormatError(
            f"{os.fsdecode(path)}: {format} cannot store {lost}; save a .fbpe file, or export this "
            f"tokenizer with format={format!r} and pass these arguments to load"
        )


def _is_known(files: Files, tokenizer: Exportable) -> bool:
    """Tell whether `load` can find the rest of the tokenizer by the SHA-256 of these files."""
    if isinstance(files, dict):
        published = gpt2.published_pattern(files[gpt2.MERGES_FILE])
        # None: `load` does not know the merges, so it asks for the pattern, also of a tokenizer without one.
        return (
            published is not None and published == tokenizer.pattern and gpt2.are_known(tokenizer.special_tokens)
        )
    known = recognise(files)
    if known is None or resolve_pattern(known.pattern)[1] != tokenizer.pattern:
        return False
    return known.special_tokens() == tokenizer.special_tokens


def left_out(format: str, pattern: Pattern, special_tokens: Mapping[str, int]) -> str:
    """Return the arguments that `load` needs for the parts that a format lacks, as text; "" if it lacks nothing.

    >>> left_out("tiktoken", None, {"<s>": 256}), left_out("gpt2", None, {"<s>": 256})
    ("pattern='none', special_tokens={'<s>': 256}", "pattern='none'")
    """
    return ", ".join(f"{name}={value!r}" for name, value in arguments(format, pattern, special_tokens).items())


# Byte level


def dump_byte_level(tokenizer: Exportable, format: str) -> Files:
    """Return the files of a byte-level tokenizer. Raises FormatError if the format cannot store it."""
    if format == "sentencepiece":
        raise FormatError(
            "format='sentencepiece' cannot store a byte-level vocabulary; choose one of "
            f"{', '.join(map(repr, FORMATS))}, or train with mode='codepoint'"
        )
    if format not in _EXPORTERS:
        raise FormatError(choose_one_of("format", format, FORMATS))
    if model_of(tokenizer).supermerges is not None and format not in ("native", "boundless"):
        raise FormatError(
            f"format={format!r} cannot store merges across words (BoundlessBPE): libraries that read it merge "
            "only within pieces; export this tokenizer as native or boundless"
        )
    return _EXPORTERS[format](tokenizer)


def dump_characters(tokenizer: Exportable, format: str) -> Files:
    """Return the file of a character-level tokenizer. Raises FormatError if the format cannot store it."""
    if format == "native":
        return _native(tokenizer)
    model, vocabulary = model_of(tokenizer), tokenizer._family.vocabulary
    if model.symbols is not None and format in (*FORMATS, "sentencepiece"):
        raise FormatError(f"format={format!r} cannot store {_A_TABLE}; export this tokenizer as native")
    if format == "huggingface":
        from fastbpe.formats.huggingface import write_characters  # here: few tokenizers have characters

        pairs = [(left, right) for left, right, _ in model.merge_list() or ()]
        return write_characters.dump(model, vocabulary.tokens(), pairs)
    kind = "BPE" if model.spelling is None else model.spelling.kind
    if kind == "Unigram" and format in _MORE_FORMATS[kind]:
        from fastbpe.formats.sentencepiece import from_unigram  # here: few files have this format

        return dump_code_points(from_unigram.convert(model, vocabulary.tokens()), format)
    if kind == "WordPiece" and format == "gguf":
        return write_gguf.dump_words(model, vocabulary.tokens(), tokenizer._roles, tokenizer.n_vocab)
    choices = ("native", "huggingface", *_MORE_FORMATS.get(kind, ()))
    if format not in (*FORMATS, "sentencepiece"):
        raise FormatError(choose_one_of("format", format, choices))
    what = "a vocabulary of characters"
    if kind != "BPE":
        what = f"a {kind} model, which does not merge"
    raise FormatError(f"format={format!r} cannot store {what}; choose one of {', '.join(map(repr, choices))}")


def dump_code_points(model: CodePointModel, format: str) -> Files:
    """Return the files of a code-point model. Raises FormatError if the format cannot store it."""
    if format == "native":
        return native.dump_code_points(model)
    if model.runs_in_python and format in (*FORMATS, *_CODE_POINT_FORMATS):
        what = _A_TABLE
        if not model.has_table:
            assert model.conventions is not None
            name = model.conventions.decoder
            what = f"the rules of the class {name if name.endswith('Backend') else f'{name}Tokenizer'}"
        raise FormatError(f"format={format!r} cannot store {what}; export this tokenizer as native")
    if format == "sentencepiece":
        return model_file.dump(model)
    is_unigram = model.trainer["model_type"] == "unigram"
    if format == "huggingface":
        return write_unigram.dump(model) if is_unigram else write_llama.dump(model)
    if format == "gguf":
        return write_gguf.dump_code_points(model)
    if format not in FORMATS:
        raise FormatError(choose_one_of("format", format, _CODE_POINT_FORMATS))
    raise FormatError(
        f"format={format!r} cannot store a vocabulary of code points; choose one of "
        f"{', '.join(map(repr, _CODE_POINT_FORMATS))}"
    )


def _native(tokenizer: Exportable) -> Files:
    return native.dump(model_of(tokenizer))


def _tiktoken(tokenizer: Exportable) -> Files:
    return tiktoken.dump(_ranked_tokens(tokenizer, "a .tiktoken file"), _empty(tokenizer))


def _empty(tokenizer: Exportable) -> int | None:
    """Return the id of the empty token; None if no token is empty."""
    found: int | None = model_of(tokenizer).huggingface.get("empty_token")
    return found


def _tekken(tokenizer: Exportable) -> Files:
    tokens, model = _ranked_tokens(tokenizer, "a tekken.json"), model_of(tokenizer)
    return tekken.dump(tokens, resolve_pattern(model.pattern)[1], model.special_tokens)


def _ranked_tokens(tokenizer: Exportable, what: str) -> list[bytes]:
    """List the tokens by rank, for a format that stores only ranks. Raises FormatError if it cannot store all."""
    model, vocabulary = model_of(tokenizer), tokenizer._family.vocabulary
    step_objects.check_plain(model, what)
    if model.drops_bytes:
        raise FormatError(
            f"{what} needs a token for every byte, but this tokenizer lacks some; export this tokenizer as native "
            "or huggingface"
        )
    if merges_by_rank(vocabulary, model):
        return vocabulary.tokens()
    tiktoken.check_tokens(vocabulary.tokens(), what)
    ranked = model._replace(
        tokens=vocabulary.tokens(), tables=None, merges=b"", merges_rule="ranks", whole_piece_first=True
    )
    raise FormatError(
        f"this vocabulary merges by a list of pairs; {what} stores only ranks, which would give other ids"
        f"{_witness(tokenizer, ranked)}: export this tokenizer as native or huggingface"
    )


def _gpt2(tokenizer: Exportable) -> Files:
    model, vocabulary = model_of(tokenizer), tokenizer._family.vocabulary
    step_objects.check_plain(model, "GPT-2's files")
    return gpt2.dump(vocabulary.tokens(), _merges_alone(tokenizer), model.special_tokens, _empty(tokenizer))


def _minbpe(tokenizer: Exportable) -> Files:
    model = model_of(tokenizer)
    step_objects.check_plain(model, "minbpe's file")
    _, pattern = resolve_pattern(model.pattern)
    listed = _merges_alone(tokenizer)
    if not minbpe.is_learned(listed):
        # The file has one merge for each id. A tokenizer.json may list more: "a bc" and "ab c" both make "abc".
        listed = _made_by_merging(tokenizer)
    return minbpe.dump(tokenizer._family.vocabulary.tokens(), listed, pattern, model.special_tokens)


def _huggingface(tokenizer: Exportable) -> Files:
    model, vocabulary = model_of(tokenizer), tokenizer._family.vocabulary
    made = made_by(vocabulary, model)
    listed = model.merge_list()
    merges = list(made.values()) if listed is None else [(left, right) for left, right, _ in listed]
    steps = step_objects.described_splitting(model, vocabulary)
    all_made = not unmade(vocabulary, made)
    return write.dump(model, vocabulary.tokens(), merges, steps, made=made.keys(), all_made=all_made)


def _gguf(tokenizer: Exportable) -> Files:
    model, vocabulary = model_of(tokenizer), tokenizer._family.vocabulary
    step_objects.check_plain(model._replace(added_tokens=()), "a GGUF file")  # which stores added tokens
    names = split_patterns.names_of(model.pattern)
    if not names:
        known = ", ".join(name for name, pattern in PATTERNS.items() if split_patterns.names_of(pattern))
        raise FormatError(
            "a GGUF file names its split pattern, but llama.cpp has no name for the pattern of this tokenizer. "
            f"llama.cpp knows {known} and some others; export this tokenizer as native or huggingface"
        )
    whole = {name: split_patterns.PRE_TOKENIZERS[name].whole_piece_first for name in names}
    alike = next((name for name in names if whole[name] == vocabulary.whole_piece_first), None)
    if alike is None and not vocabulary.whole_piece_first:
        raise FormatError(
            f"with the split pattern {names[0]}, llama.cpp first looks up whole pieces, but this tokenizer "
            "merges them; export this tokenizer as native or huggingface"
        )
    # If llama.cpp only merges, but this tokenizer looks up whole pieces first, merging must make every token.
    listed = model.merge_list() if alike else _made_by_merging(tokenizer)
    pairs = (
        list(made_by(vocabulary, model).values())
        if listed is None
        else [(left, right) for left, right, _ in listed]
    )
    return write_gguf.dump_byte_level(
        vocabulary.tokens(),
        pairs,
        alike or names[0],
        model.special_tokens,
        model.added_tokens,
        tokenizer.n_vocab,
        tokenizer._roles,
        model.template,
    )


def _boundless(tokenizer: Exportable) -> Files:
    from fastbpe.formats import boundless_model  # here: few files have this format
    from fastbpe.tokenizer.export.certain_matches import perhaps_unmatched

    model, vocabulary = model_of(tokenizer), tokenizer._family.vocabulary
    step_objects.check_plain(model, "a .model of BoundlessBPE")
    if isinstance(model.pattern, (list, tuple)):
        raise FormatError(
            "a .model of BoundlessBPE stores one split pattern, but this tokenizer has several; export this "
            "tokenizer as native"
        )
    _, pattern = resolve_pattern(model.pattern)
    assert pattern is None or isinstance(pattern, str)
    if pattern is not None and (character := perhaps_unmatched(pattern)):
        raise FormatError(
            "BoundlessBPE drops text that the split pattern of its .model does not match, and this one may not "
            rf"match {character!r} everywhere; export this tokenizer as native, or train with |[\s\S] at its end"
        )
    words = _merges_alone(tokenizer)
    special = model.special_tokens
    return boundless_model.dump(vocabulary.tokens(), words, model.supermerges, pattern or r"(?s:.+)", special)


_EXPORTERS: Mapping[str, Callable[[Exportable], Files]] = {
    "native": _native,
    "tiktoken": _tiktoken,
    "gpt2": _gpt2,
    "minbpe": _minbpe,
    "tekken": _tekken,
    "huggingface": _huggingface,
    "gguf": _gguf,
    "boundless": _boundless,
}

#: Formats of byte-level tokenizers.
FORMATS = tuple(_EXPORTERS)
_A_TABLE = "a table of ids, which may give one id to several pieces"
_CODE_POINT_FORMATS = ("native", "sentencepiece", "huggingface", "gguf")
#: Formats of models that do not merge, in addition to native and huggingface.
_MORE_FORMATS = {"Unigram": ("sentencepiece", "gguf"), "WordPiece": ("gguf",)}


def _merges_alone(tokenizer: Exportable) -> list[tuple[int, int, int]]:
    """List merges, best first, with which a library that never looks up whole pieces returns the same ids.

    Raises FormatError as `_made_by_merging` does, for a tokenizer that looks up whole pieces first.
    """
    whole_piece_first = tokenizer._family.vocabulary.whole_piece_first
    listed = None if whole_piece_first else model_of(tokenizer).merge_list()
    return _made_by_merging(tokenizer) if listed is None else listed


def _made_by_merging(tokenizer: Exportable) -> list[tuple[int, int, int]]:
    """List the merges that are enough to produce all ids, best first: (left id, right id, merged id).

    Raises FormatError if there is no such list, because some tokens are found only by looking up whole pieces.
    Tokens that are not UTF-8 do not matter: they are not a piece of any text.
    """
    model, vocabulary = model_of(tokenizer), tokenizer._family.vocabulary
    made = made_by(vocabulary, model)
    tokens = vocabulary.tokens()
    lost = (
        [i for i in unmade(vocabulary, made) if decoded(tokens[i]) is not None]
        if vocabulary.whole_piece_first
        else []
    )
    if lost:
        some = ", ".join(f"{tokens[i]!r} ({i})" for i in lost[:3])
        merging = model._replace(whole_piece_first=False)
        raise FormatError(
            f"no merge produces {len(lost)} of this tokenizer's tokens, {some}{', ...' if len(lost) > 3 else ''}: "
            "they only match whole pieces, which a list of merges cannot express"
            f"{_witness(tokenizer, merging)}; export this tokenizer as native, tiktoken or huggingface"
        )
    return [(left, right, merged) for merged, (left, right) in made.items()]


def _witness(tokenizer: Exportable, other: Model) -> str:
    """Return a phrase with a text for which another model has other ids; "" if the probe has no such text."""
    difference = verify_export.differ(tokenizer, tokenizer._remake(other))
    if difference is None:
        return ""
    text, expected, found = difference
    return f" (the text {shown_text(text)} is {shown_ids(expected)} and would be {shown_ids(found)})"
