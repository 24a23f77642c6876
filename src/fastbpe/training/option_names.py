"""Check of the names of options. An error suggests the most similar name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from fastbpe._utils.suggestions import choose_one_of
from fastbpe.errors import OptionError, TrainingError
from fastbpe.training.options import ByteKeywords, RunKeywords

_MODES = ("byte", "codepoint", "unigram", "ids")
# Names of options in other libraries → their names here, for suggestions in errors.
_NAMES_ELSEWHERE = {
    "min_frequency": "min_count",
    "max_token_length": "max_token_bytes",
    "pat_str": "pattern",
    "split_pattern": "pattern",
    "show_progress": "progress",
}


def check_names(mode: str, options: Iterable[str]) -> None:
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
        raise OptionError(f"{name!r} is not an option of training in {mode} mode: {near}")
