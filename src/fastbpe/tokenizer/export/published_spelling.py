r"""Split patterns as their publishers write them in a tokenizer.json, and back.

Libraries without a regex engine (tokenizers 1.0, gigatoken) recognise a pattern by its exact text. Some published
texts differ from the text in `PATTERNS`:

- DeepSeek's and Seed-Coder's files have the characters CR and LF themselves in their classes, not `\r\n`. In the
  syntax of tokenizers, the `$` of DeepSeek LLM also matches before a line feed, with the same pieces as a result.
- Falcon's and Tiny Aya's files write the same patterns in other ways. In the syntax of tokenizers, the `\b` of
  Tiny Aya has another set of word characters, with the same pieces as a result.
- cl100k's files have the regex of the first publication, with Split(behavior="Removed", invert=True). In
  tiktoken's regex, white space at the end of a text is one piece; in the first regex, a piece ends after its last
  line feed. Ids are the same if no token crosses that place and merging produces each token of white space: then
  the two pieces merge as they would within one. `cl100k_keeps_ids` checks that; otherwise nothing is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from fastbpe._core.merge.merge_piece import merge_pieces
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.patterns import PATTERNS, Pattern
from fastbpe.splitting.oniguruma import from_oniguruma
from fastbpe.splitting.steps import ByteLevel, Split, Step

#: The regex of cl100k's files.
CL100K = str(PATTERNS["llama3"])
_CL100K_STEPS = [Split(pattern=CL100K, behavior="removed", invert=True), ByteLevel(use_regex=False)]


def _bare(name: str) -> tuple[str, ...]:
    """Return the regexes of a pattern in `PATTERNS`, with the characters themselves in place of escapes."""
    pattern = PATTERNS[name] or ()
    regexes = (pattern,) if isinstance(pattern, str) else pattern
    return tuple(regex.replace(r"\r", "\r").replace(r"\n", "\n").replace(r"\"", '"') for regex in regexes)


_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
#: Pattern in `PATTERNS` → its regexes as they are published, where these differ.
PUBLISHED: Mapping[Pattern, tuple[str, ...]] = {
    **{PATTERNS[name]: _bare(name) for name in ("deepseek_v3", "deepseek-llm", "deepseek-coder", "seed-coder")},
    PATTERNS["falcon"]: (r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]"),
    PATTERNS["tiny_aya"]: (r"\d{1,3}(?=(?:\d{3})*\b)", str(PATTERNS["o200k"])),
}


@cache
def _as_read() -> Mapping[Pattern, Pattern]:
    read = {named: tuple(map(from_oniguruma, regexes)) for named, regexes in PUBLISHED.items()}
    # cl100k's own, as `to_oniguruma` writes it.
    read[PATTERNS["cl100k"]] = (str(PATTERNS["cl100k"]).replace("{1,3}+", "{1,3}").replace("$", r"\z"),)
    return {regexes[0] if len(regexes) == 1 else regexes: named for named, regexes in read.items()}


def as_named(pattern: Pattern) -> Pattern:
    """Return a pattern from a tokenizer.json in the form used in `PATTERNS`."""
    return pattern if pattern in PATTERNS.values() else _as_read().get(pattern, pattern)


# The last line end of a token, and after it bytes of other white space.
_OVER_A_LINE_END = re.compile(rb"[\r\n][\t\v\f \xc2\x85\xa0\xe1\x9a\x80-\x8a\xe2\xa8\xa9\xaf\x9f\xe3]+\Z")


def is_cl100k(steps: Sequence[Step], vocabulary: Vocabulary) -> bool:
    """Tell whether a tokenizer.json has the steps of cl100k's files, and the same ids as with cl100k's pattern."""
    return list(steps) == _CL100K_STEPS and cl100k_keeps_ids(vocabulary)


def cl100k_keeps_ids(vocabulary: Vocabulary) -> bool:
    """Tell whether the regex of cl100k's files leads to the same ids as tiktoken's pattern; see the module."""
    tokens = vocabulary.tokens()
    if any((b"\n" in token or b"\r" in token) and _OVER_A_LINE_END.search(token) for token in tokens):
        return False
    if not vocabulary.whole_piece_first:
        return True
    spaces = [token for token in tokens if len(token) > 1 and not token.decode(errors="replace").strip()]
    return all(len(ids) == 1 for ids in merge_pieces(vocabulary, spaces))
