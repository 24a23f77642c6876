r"""Split patterns by the names of `tokenizer.ggml.pre`, as llama.cpp's src/llama-vocab.cpp has them.

The regexes come from the models' own tokenizer.json. Where llama.cpp runs another one that only comes near,
since its regex engine lacks a term (gpt-4o, tekken), the model's own counts. Names that it has and that are not
here (afmoe, chameleon, deepseek-llm, exaone-moe, gemma4, jais-2, kimi-k2, laguna, superbpe, tiny_aya, youtu, ...)
split by code of its own, or stand for few models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fastbpe.patterns import PATTERNS, Pattern, PatternLike, resolve_pattern

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_BLOOM = " ?[^(\\s|.,!?…。，、।۔،)]+"


class PreTokenizer(NamedTuple):
    """Steps before merging, and defaults, that a name stands for.

    Attributes:
        pattern: split pattern.
        whole_piece_first: a piece that is a token is that id, without merging ("ignore_merges").
        adds_bos: the default of tokenizer.ggml.add_bos_token.
    """

    pattern: Pattern
    whole_piece_first: bool = False
    adds_bos: bool = False


def _named(names: str, pattern: Pattern, *, whole: bool = False, bos: bool = False) -> dict[str, PreTokenizer]:
    return dict.fromkeys(names.split(), PreTokenizer(pattern, whole, bos))


def _digits_first(pattern: str) -> tuple[str, ...]:
    return (r"\p{N}", pattern)


_GPT2 = PATTERNS["gpt2"]
assert isinstance(_GPT2, str)

#: Name → what it stands for. The first name of a pattern is the one that is written.
PRE_TOKENIZERS: Mapping[str, PreTokenizer] = {
    **_named(
        "gpt-2 phi-2 jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code roberta-bpe gigachat a.x-4.0 "
        "mellum modern-bert mpt olmo jais trillion granite-docling exaone4",
        _GPT2,
    ),
    **_named(
        "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
        PATTERNS["llama3"],
        whole=True,
        bos=True,
    ),
    **_named("dbrx smaug-bpe glm4 chatglm-bpe", PATTERNS["llama3"]),
    **_named("qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 megrez hunyuan solar-open grok-2", PATTERNS["qwen2"]),
    **_named("gpt-4o llama4 kanana2 talkie minimax-m2", PATTERNS["o200k"]),
    **_named("tekken", PATTERNS["tekken"], whole=True, bos=True),
    **_named("deepseek-v3 hunyuan-dense joyai-llm hy_v4", PATTERNS["deepseek_v3"]),
    **_named("starcoder refact command-r smollm codeshell exaone minerva-7b mellum2", _digits_first(_GPT2)),
    **_named("falcon", (r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]")),
    **_named("deepseek-coder", (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}")),
    **_named(
        "qwen35",
        rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
        rf"| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_SPACES}",
    ),
    **_named(
        "bailingmoe bailingmoe2 llada-moe",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]"
        r"|\s+(?!\S)|\s+",
    ),
    **_named("seed-coder", rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{_SPACES}"),
    **_named("ufakzeka", rf"{_WORDS}|\p{{N}}|{_SIGNS}|{_SPACES}"),
    **_named("minicpm5", (r"\p{N}{1,3}", rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}+|{_SIGNS}|{_SPACES}"), whole=True),
    **_named("bloom poro-chat gpt3-finnish", _BLOOM),
    **_named("viking", (_BLOOM, r"\p{N}")),
}


def names_of(pattern: PatternLike) -> list[str]:
    """List the first name for each kind of merging that goes with a split pattern.

    >>> names_of(PATTERNS["llama3"]), names_of(None)
    (['llama-bpe', 'dbrx'], [])
    """
    wanted = resolve_pattern(pattern)[1]
    found: dict[bool, str] = {}
    for name, one in PRE_TOKENIZERS.items():
        if one.pattern == wanted:
            found.setdefault(one.whole_piece_first, name)
    return list(found.values())
