"""Checks of `train`'s arguments that need more than one of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from itertools import chain
from typing import Any

from fastbpe._utils.suggestions import choose_one_of
from fastbpe.errors import OptionError, TrainingError
from fastbpe.tokenizer.own_tokens import check_roles
from fastbpe.training.base_vocabulary import check_base_special, check_mode
from fastbpe.training.named_sources import check_named, check_not_named
from fastbpe.training.options import ByteKeywords, Run, RunKeywords
from fastbpe.training.piece_counts import PieceCounts

_MODES = ("byte", "codepoint", "unigram", "ids")
# Names of options in other libraries → their names here, for suggestions in errors.
_NAMES_ELSEWHERE = {
    "min_frequency": "min_count",
    "max_token_length": "max_token_bytes",
    "pat_str": "pattern",
    "split_pattern": "pattern",
    "show_progress": "progress",
}

_META = {"unk": "<unk>", "bos": "<s>", "eos": "</s>", "pad": "<pad>"}  # names in code-point mode, by role


def check_arguments(
    source: Any,
    base: Any,
    mode: str,
    run: Run,
    roles: Mapping[str, str] | None,
    counted: Collection[PieceCounts],
) -> None:
    """Check the arguments of `train` against each other, before hours of training.

    Args:
        source, base, roles: arguments of `train`.
        mode: mode of the run, not checked yet.
        run: the other arguments of `train`.
        counted: the `PieceCounts` among the sources.

    Raises the errors of `train` that are about names of options, the mode, the base, named sources and roles.
    """
    _check_options(mode, run.options)
    superwords = run.options.get("superwords")
    if run.vocab_size == "characters" and mode != "codepoint":
        raise TrainingError(
            f'vocab_size="characters" works only with mode="codepoint", not "{mode}"; pass a number of ids'
        )
    if base is not None and mode != "unigram":
        check_mode(base, mode)
    if run.base_special is not None:
        check_base_special(run.base_special, base, mode, superwords)
    if run.has_names:
        _check_named(source, base, mode, run)
    elif mode != "ids" and not counted:
        check_not_named(source)
    if roles is None:
        return
    if mode == "ids":
        raise TrainingError(
            'roles= is for tokenizers of text, but mode="ids" learns from integers; leave roles= out'
        )
    argument = "special_tokens" if mode == "byte" else "control_symbols"
    check_roles(roles, _names_of(mode, base, run.options, counted).__contains__, f"add it with {argument}=")


def _check_named(source: Any, base: object, mode: str, run: Run) -> None:
    """Check a mapping of named sources, and that the run can share merges or weight counts."""
    from fastbpe.training.parity import Parity, check_run  # here: few programs need it

    parity = run.parity
    check_named(source, f"the source of a run with {'weights' if parity is None else 'parity'}=")
    if parity is not None:
        if not isinstance(parity, Parity):
            raise TypeError(f"parity must be a fastbpe.Parity, not {type(parity).__name__}")
        check_run(parity, source, mode, base, run.options)
    if mode in ("unigram", "ids"):
        raise TrainingError(
            f"weights= cannot be used with mode={mode!r}; to weight a source, list it more than once"
        )


def _names_of(mode: str, base: Any, options: Mapping[str, Any], counted: Iterable[PieceCounts]) -> set[str]:
    """Return the names of the special tokens that the trained tokenizer will have."""
    meta = _META if mode in ("codepoint", "unigram") and base is None else {}
    named = [options.get(f"{role}_piece") or name for role, name in meta.items()]
    listed = [options.get(key) or () for key in ("special_tokens", "control_symbols")]
    found = [",".join(names).split(",") if isinstance(names, str) else names for names in listed]
    of_counts = [counts.special_tokens for counts in counted]
    return {*named, *chain.from_iterable([*found, *of_counts]), *(() if base is None else base.special_tokens)}


def _check_options(mode: str, options: Iterable[str]) -> None:
    """Check the names of options.

    Raises:
        TrainingError: there is no such mode.
        OptionError: the mode has no such option; the message says what to pass instead.
    """
    if mode not in _MODES:
        raise TrainingError(choose_one_of("mode", mode, _MODES, '; "ids" is for integers'))
    of_bytes = {*ByteKeywords.__annotations__}
    if mode == "byte" and of_bytes.issuperset(options):
        return
    from difflib import get_close_matches  # this and the next imports are here since byte mode does not need them

    from fastbpe.formats.sentencepiece.specs import OF_UNIGRAM, WITHOUT_EFFECT
    from fastbpe.training.codepoint_options import NAMES
    from fastbpe.training.ids import SequenceOptions

    of_modes = {
        "byte": of_bytes,
        "codepoint": NAMES,
        "unigram": {*NAMES, *OF_UNIGRAM},
        "ids": {field.name for field in fields(SequenceOptions)},
    }
    of_mode = of_modes[mode]
    for name in options:
        if name in of_mode:
            continue
        if mode in ("codepoint", "unigram") and name in WITHOUT_EFFECT:
            raise OptionError(f"fastbpe's train has no option {name!r}: {WITHOUT_EFFECT[name]}")
        if others := [other for other in _MODES if name in of_modes[other]]:
            near = f"it is available only with {' or '.join(f'mode={other!r}' for other in others)}"
            if name == "special_tokens" and mode in ("codepoint", "unigram"):
                near += "; use control_symbols= or user_defined_symbols= here"
        else:
            alike = {*of_mode, *RunKeywords.__annotations__, "vocab_size", "mode", "base", "base_special", "roles"}
            matches = (
                [_NAMES_ELSEWHERE[name]] if name in _NAMES_ELSEWHERE else get_close_matches(name, sorted(alike))
            )
            listed = ", ".join(sorted(of_mode))
            near = f"did you mean {' or '.join(matches)}?" if matches else f"the options are {listed}"
        raise OptionError(f"{name}= is not an option of training in {mode} mode: {near}")
