r"""Split patterns by their names in `tokenizer.ggml.pre`, which llama.cpp defines in src/llama-vocab.cpp.

`fastbpe.patterns` has the regexes, which come from the models' own tokenizer.json. llama.cpp's regex engine lacks
classes such as \p{Lu}: for gpt-4o and tekken, only A-Z are upper case there, and "éÉ" stays one piece. fastbpe
uses the model's own regex, also for the other names for which docs/formats.md says that llama.cpp differs.
Names for character-level files, such as gemma4, are in `characters`.
"""

from __future__ import annotations

from collections.abc import Mapping

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.patterns import OTHER_NAMES, PATTERNS, Pattern, PatternLike, resolve_pattern


class PreTokenizer(NamedTuple):
    """Steps before merging, and defaults, that belong to a name.

    Attributes:
        pattern: split pattern.
        whole_piece_first: a piece that is a token gets its id without merging ("ignore_merges").
        adds_bos: the default of tokenizer.ggml.add_bos_token.
    """

    pattern: Pattern
    whole_piece_first: bool = False
    adds_bos: bool = False


# Names that look pieces up whole first, and names that put the bos token first by default.
_WHOLE = (
    "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano tekken minicpm5 youtu "
    "granite-embed-multi-97m glm4 glm5"
)
_BOS = "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano tekken chameleon"
# Names in `PATTERNS` that llama.cpp does not have. It has llama4, which `_NAMES` adds last: files get the first
# name of a pattern, and older versions of llama.cpp know only gpt-4o.
_OWN = (
    *("gpt2", "cl100k", "o200k", "llama4", "deepseek_v3", "kimi", "nemotron", "olmo3", "none"),
    *("superbpe_words", "superbpe_lines"),  # of SuperBPE's script, not of the published models
)
# Names in `OTHER_NAMES` that llama.cpp does not have.
_OWN_OTHER = ("whisper", "olmo2", "deepseek_llm", "deepseek_coder")

# Never written to a file, since few versions of llama.cpp know it. It would be the name for o200k with
# whole_piece_first; without it, such a tokenizer is written as gpt-4o if merging alone makes every token.
_ONLY_READ = "granite-embed-multi-97m"

DEFAULT = "default"

_NAMES = {
    "llama-bpe": "llama3",
    **{name: name for name in PATTERNS if name not in _OWN},
    **{name: known for name, known in OTHER_NAMES.items() if name not in _OWN_OTHER},
    "llama4": "llama4",
}

#: Name → steps and defaults. If a pattern has several names, files get the first.
PRE_TOKENIZERS: Mapping[str, PreTokenizer] = {
    name: PreTokenizer(PATTERNS[known], name in _WHOLE.split(), name in _BOS.split())
    for name, known in _NAMES.items()
} | {
    # A file without a name also has these steps.
    DEFAULT: PreTokenizer((r"[\p{P}\$\+<=>\^~\|]+", str(PATTERNS["gpt2"]), r"\p{N}+", "[0-9][0-9][0-9]")),
}


def names_of(pattern: PatternLike) -> list[str]:
    """List the names for a split pattern: the first one for each value of whole_piece_first.

    >>> names_of(PATTERNS["llama3"]), names_of(None)
    (['llama-bpe', 'dbrx'], [])
    """
    wanted = resolve_pattern(pattern)[1]
    found: dict[bool, str] = {}
    for name, one in PRE_TOKENIZERS.items():
        if one.pattern == wanted and name != _ONLY_READ:
            found.setdefault(one.whole_piece_first, name)
    return list(found.values())
