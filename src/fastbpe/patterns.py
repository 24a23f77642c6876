"""Split patterns by name (`PATTERNS`), and the interpretation of the argument `pattern=`.

>>> import fastbpe
>>> list(fastbpe.PATTERNS)  # doctest: +ELLIPSIS
['gpt2', 'cl100k', 'o200k', 'llama3', 'llama4', 'qwen2', 'tekken', 'deepseek_v3', 'qwen35', 'kimi', ..., 'none']
>>> fastbpe.train(["one two"], vocab_size=257, pattern="gpt2", progress=False).pattern == fastbpe.PATTERNS["gpt2"]
True
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from fastbpe.errors import PatternError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

#: A split pattern. str: a regex. tuple: several regexes; each splits the pieces of the regex before it. None: no
#: splitting.
Pattern: TypeAlias = str | tuple[str, ...] | None
#: A split pattern as an argument: a name in `PATTERNS`, a regex, a sequence of these, or None.
PatternLike: TypeAlias = str | Sequence[str] | None

_CASED_WORDS = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
)
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_LINES = r"\s*[\r\n]+"
_SPACES = rf"{_LINES}|\s+(?!\S)|\s+"
_SIGNS_THEN_SLASHES = r" ?[^\s\p{L}\p{N}]+[\r\n/]*"
_SIGNS_THEN_LINES = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_O200K_WORDS = tuple(words + _CONTRACTIONS + "?" for words in _CASED_WORDS)
_O200K = "|".join([*_O200K_WORDS, r"\p{N}{1,3}", _SIGNS_THEN_SLASHES, _SPACES])
_LLAMA3 = "|".join([_CONTRACTIONS, _WORDS, r"\p{N}{1,3}", _SIGNS_THEN_LINES, _SPACES])
_TEKKEN = "|".join([*_CASED_WORDS, r"\p{N}", _SIGNS_THEN_SLASHES, _SPACES])
_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
_CHINESE_JAPANESE = "[一-龥぀-ゟ゠-ヿ]+"
_DEEPSEEK_WORDS = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+",
    r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+",
)
_BLOOM = " ?[^(\\s|.,!?…。，、।۔،)]+"
# Cased letters of Latin, Greek, Cyrillic and other scripts, as DeepSeek LLM lists them.
_DEEPSEEK_LLM_LETTERS = (
    ""  # keeps the long literal alone in its line, where the linter accepts it
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbeῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)
# For "superbpe": llama.cpp's regex matches no text, and splits where the rest of a number has 3, 6, 9 … digits.
# The regexes here match the text between two such places.
_THREES_TO_THE_END = "(?=(?:[0-9]{3})+(?![0-9]))"
_NO_THREE = "(?:[^0-9]|(?<![0-9])[0-9]{1,2}(?![0-9]))"  # another character, or a whole number of 1 or 2 digits
_FIRST_OF_THREES = "(?<![0-9])[0-9]{1,2}" + _THREES_TO_THE_END  # the digits of a longer number before its threes
# As DeepSeek writes it: Chinese, and all other characters from U+0800 to U+D7FF except U+9FA6 to U+ABFF.
_DEEPSEEK_CHINESE = "[一-龥ࠀ-一가-\ud7ff]+"


class NamedPatterns(Mapping[str, Pattern]):
    """Read-only mapping of names to split patterns, with a repr of its names and completion in IPython.

    >>> NamedPatterns({"words": r"\\w+", "none": None})
    <fastbpe.PATTERNS: words, none>
    """

    def __init__(self, patterns: Mapping[str, Pattern]) -> None:
        self._patterns = dict(patterns)

    def __getitem__(self, name: str) -> Pattern:
        return self._patterns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._patterns)

    def __len__(self) -> int:
        return len(self._patterns)

    def __repr__(self) -> str:
        return f"<fastbpe.PATTERNS: {', '.join(self._patterns)}>"

    def _ipython_key_completions_(self) -> list[str]:
        return [*self._patterns]


#: GPT-4's split pattern, as minbpe and rustbpe spell it.
GPT4_SPLIT_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)
#: Read-only mapping of names to split patterns; "none" means no splitting. Names with a hyphen are values of
#: llama.cpp's `tokenizer.ggml.pre`.
PATTERNS: Mapping[str, Pattern] = NamedPatterns({
    # GPT-2 (2019), in tiktoken's spelling; also r50k, p50k, whisper, phi-2.
    "gpt2": _GPT2,
    # GPT-3.5 and GPT-4 (2022), in tiktoken's spelling.
    "cl100k": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    # GPT-4o and later (2024), gpt-oss: a word ends between a small and a capital letter.
    "o200k": _O200K,
    # Llama 3 (2024): cl100k as first published; a run of line ends is one piece.
    "llama3": _LLAMA3,
    # Llama 4 (2025): the same regex as o200k.
    "llama4": _O200K,
    # Qwen 1 to 3 (from 2023): llama3, except that each digit is a piece.
    "qwen2": "|".join([_CONTRACTIONS, _WORDS, r"\p{N}", _SIGNS_THEN_LINES, _SPACES]),
    # Mistral NeMo and later (2024): o200k, except that contractions are split and each digit is a piece.
    "tekken": _TEKKEN,
    # DeepSeek V3 and R1 (2024): splits at numbers, then at Chinese and Japanese, then the rest. A punctuation
    # mark or symbol may begin a word.
    "deepseek_v3": (
        r"\p{N}{1,3}",
        _CHINESE_JAPANESE,
        "|".join([*_DEEPSEEK_WORDS, r" ?[\p{P}\p{S}]+[\r\n]*", _SPACES]),
    ),
    # Qwen 3.5 (2026): qwen2, except that combining marks belong to words.
    "qwen35": "|".join([
        _CONTRACTIONS,
        r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+",
        r"\p{N}",
        r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*",
        _SPACES,
    ]),
    # Kimi K2 and later, Moonlight (2025), from their tokenization_kimi.py: o200k, but Chinese is split off.
    "kimi": "|".join([
        r"[\p{Han}]+",
        *(words.replace(r"\p{M}]", r"\p{M}&&[^\p{Han}]]") for words in _O200K_WORDS),
        r"\p{N}{1,3}",
        _SIGNS_THEN_LINES,
        _SPACES,
    ]),
    # Nemotron 3 (2025): the same regex as tekken.
    "nemotron": _TEKKEN,
    # OLMo 2 and 3 (2024, dolma2): the same regex as llama3.
    "olmo3": _LLAMA3,
    # DeepSeek LLM (2023).
    "deepseek-llm": (
        r"[\r\n]",
        rf"\s?[{_DEEPSEEK_LLM_LETTERS}]+",
        r"\s?[!-/:-~！-／：-～‘-‟\u3000-。]+",
        r"\s+$",
        _DEEPSEEK_CHINESE,
        r"\p{N}",
    ),
    # DeepSeek Coder (2023).
    "deepseek-coder": (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _DEEPSEEK_CHINESE, r"\p{N}"),
    # StarCoder (2023), SmolLM, Granite 3, Command R: each digit, then gpt2.
    "starcoder": (r"\p{N}", _GPT2),
    # Falcon (2023): punctuation, then gpt2, then digits by threes.
    "falcon": (r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]"),
    # BLOOM (2022).
    "bloom": _BLOOM,
    # Viking (2024): bloom, then each digit.
    "viking": (_BLOOM, r"\p{N}"),
    # Ling, Ring (2025), LLaDA-MoE.
    "bailingmoe": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]"
        r"|\s+(?!\S)|\s+"
    ),
    # Seed-Coder (2025): qwen2, except that line ends do not follow signs.
    "seed-coder": "|".join([_CONTRACTIONS, _WORDS, r"\p{N}", r" ?[^\s\p{L}\p{N}\r\n]+", _SPACES]),
    # qwen2 without contractions, for Turkish (2026).
    "ufakzeka": "|".join([_WORDS, r"\p{N}", _SIGNS_THEN_LINES, _SPACES]),
    # MiniCPM 5 (2026): numbers by threes from the left, then llama3.
    "minicpm5": (r"\p{N}{1,3}", "|".join([_CONTRACTIONS, _WORDS, r"\p{N}+", _SIGNS_THEN_LINES, _SPACES])),
    # Jais 2 (2025): llama3, except that spaces are split by powers of two.
    "jais-2": "|".join([
        _CONTRACTIONS,
        _WORDS,
        r"\p{N}{1,3}",
        _SIGNS_THEN_LINES,
        _LINES,
        *(rf"\s{{{n}}}(?!\S)" for n in (512, 256, 128, 64, 32, 16, 8, 4)),
        r"\s{1,2}(?!\S)",
        r"\s{1}",
    ]),
    # Youtu (2025): splits at Korean, East Asian signs, bopomofo, Chinese and Japanese; then o200k, except that
    # each digit is a piece.
    "youtu": (
        rf"[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|{_CHINESE_JAPANESE}",
        "|".join([*_O200K_WORDS, r"\p{N}", _SIGNS_THEN_SLASHES, _SPACES]),
    ),
    # Tiny Aya, Command A+ (2026): numbers by threes from the right, then o200k. The negative lookahead is
    # Oniguruma's `\b` after a digit: the class has its word characters.
    "tiny_aya": (r"\d{1,3}(?=(?:\d{3})*(?![\p{Alphabetic}\p{M}\p{Nd}\p{Pc}²³¹¼½¾]))", _O200K),
    # EXAONE MoE (2025): several words may be a piece.
    "exaone-moe": "|".join([
        _CONTRACTIONS,
        r"[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+",
        r"\p{N}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]?",
        r"\s*[\r\n]",
        r"\s+(?!\S)",
        r"\s+",
    ]),
    # Laguna (2026): lines, then qwen2.
    "laguna": (r"[^\n]+|[\n]+", "|".join([_CONTRACTIONS, _WORDS, r"\p{N}", _SIGNS_THEN_LINES, _SPACES])),
    # SuperBPE (2025), as its script trains: words (o200k without contractions), then lines, in which three digits
    # and runs of punctuation are pieces of their own.
    "superbpe_words": "|".join([*_CASED_WORDS, r"\p{N}{1,3}", _SIGNS_THEN_SLASHES, _SPACES]),
    "superbpe_lines": r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)",
    # SuperBPE (2025), as llama.cpp splits: numbers by threes from the right; a piece contains many words.
    "superbpe": (
        r"\p{N}+",
        "|".join([
            "(?<=[0-9])[0-9]{3}(?=[0-9])",
            "[0-9]{3}" + _THREES_TO_THE_END,
            f"(?:[0-9]{{3}}(?![0-9])|{_NO_THREE}){_NO_THREE}*+(?:{_FIRST_OF_THREES})?",
            _FIRST_OF_THREES,
        ]),
    ),
    # Trinity (2025), as llama.cpp splits: numbers by threes from the right (the first digits of a number are in a
    # piece with the text before it, until later regexes split it); then scripts without spaces, then deepseek_v3.
    "afmoe": (
        r"(?<=\p{N})\p{N}{3}|\P{N}*+\p{N}{1,3}(?=(?:\p{N}{3})*+(?!\p{N}))|\P{N}++",
        "[一-鿿㐀-䶿\u8c48-\ufaff぀-ゟ゠-ヿ･-ﾟ\u2f00-\u2fdfเ-\u0e7f\u0e80-\u0effក-\u17ffက-႟ꩠ-ꩿ\ua9e0-\ua9ff가-\ud7afᄀ-ᇿ]+",
        "|".join([*_DEEPSEEK_WORDS, r" ?[\p{P}\p{S}]+[\r\n]*", _SPACES]),
    ),
    # Spark 2.5 (2026): deepseek_v3, except that each line end and each digit is a piece.
    "spark2_5": (
        r"\p{N}{1,3}",
        _CHINESE_JAPANESE,
        "|".join([*_DEEPSEEK_WORDS, r" ?[\p{P}\p{S}]+", r"[\r\n]", r"\s+(?!\S)", r"\s+"]),
        r"\p{N}",
    ),
    # Chameleon (2024): names of images, white space, each digit and each punctuation mark, then gpt2.
    "chameleon": (
        "<sentinel:[0-9]+>",
        "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
        r"([\t\n]|    |  )",
        r"\p{N}",
        r"[\p{P}!-/:-@\[-`{-~]",
        _GPT2,
    ),
    "none": None,
})  # fmt: skip

_NAMES_BY_PATTERN = {
    "gpt2": "gpt-2 phi-2 jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code roberta-bpe gigachat "
    "a.x-4.0 mellum modern-bert mpt olmo jais trillion granite-docling exaone4 whisper",
    "llama3": "llama-bpe llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano dbrx smaug-bpe glm4 "
    "chatglm-bpe glm5 olmo2",
    "qwen2": "deepseek-r1-qwen kormo f2llmv2 stablelm2 megrez hunyuan solar-open grok-2",
    "o200k": "gpt-4o kanana2 talkie minimax-m2 granite-embed-multi-97m",
    "deepseek_v3": "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
    "kimi": "kimi-k2",
    "deepseek-llm": "deepseek_llm",
    "deepseek-coder": "deepseek_coder",
    "starcoder": "refact command-r smollm codeshell exaone minerva-7b mellum2",
    "bailingmoe": "bailingmoe2 llada-moe",
    "bloom": "poro-chat gpt3-finnish",
    "tiny_aya": "cohere2moe",
}
#: Further names → names in `PATTERNS`: other values of llama.cpp's `tokenizer.ggml.pre` that mean the same.
OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {name: known for known, names in _NAMES_BY_PATTERN.items() for name in names.split()}
)

# Names in other libraries → names here, for suggestions in errors.
_ALSO_CALLED = {
    "r50k": "gpt2",
    "p50k": "gpt2",
    "gpt3": "gpt2",
    "gpt35turbo": "cl100k",
    "gpt4": "cl100k",
    "gpt4o": "o200k",
    "gptoss": "o200k",
    "o200kharmony": "o200k",
    "qwen": "qwen2",
    "qwen3": "qwen2",
    "deepseek": "deepseek_v3",
    "deepseekr1": "deepseek_v3",
}
_MAX_NAME_CHARACTERS = 64  # a longer pattern of letters is a regex, not a misspelt name
_MAX_SHOWN = 60  # characters of a pattern in an error
_NO_PATTERN = 'are sentencepiece models, which no pattern splits: train with mode="codepoint"'
# Families whose models split text in several ways, or do not split it; and the patterns that their names may mean.
_FAMILIES = {
    "mistral": f"Mistral NeMo and later have 'tekken'; the models before {_NO_PATTERN}",
    "mixtral": f"its models {_NO_PATTERN}; Mistral NeMo and later have 'tekken'",
    "phi": f"Phi-2 has 'gpt2', Phi-4 'llama3'; Phi-3's {_NO_PATTERN}",
    "gemma": f"its models {_NO_PATTERN}",
    "gemini": f"its models {_NO_PATTERN}",
    "llama": f"Llama 3 has 'llama3', Llama 4 'llama4'; Llama 1 and 2 {_NO_PATTERN}",
    "llama2": f"Llama 1 and 2 {_NO_PATTERN}",
    "t5": f"its models {_NO_PATTERN}",
    "sentencepiece": f"its models {_NO_PATTERN}",
    "spm": f"such models {_NO_PATTERN}",
    "granite": "Granite 3 has 'starcoder'",
    "claude": "Claude 2's tokenizer, the last published one, splits by 'gpt2' after NFKC",
    "whitespace": r"to split at white space, pass the regex '\S+|\s+'; for no splitting, pass 'none'",
}


def resolve_pattern(pattern: PatternLike) -> tuple[str | None, Pattern]:
    r"""Find the name and the regexes for an argument `pattern=`.

    Args:
        pattern: name, regex, list of these, or None. A list of one item means that item. Names in llama.cpp's
            `tokenizer.ggml.pre` (`OTHER_NAMES`) mean the equivalent named pattern. Another str of 2 to 64 letters,
            digits and `_`, not only of digits and `_`, is an unknown name. So is one with `-` that has a digit or
            `_`, or is similar to a known name. For a regex that matches such a text, write `(?:gpt9)`.

    Returns:
        (first name of the pattern in `PATTERNS` or None, pattern). "llama4" is the same text as "o200k", so its
        name is "o200k": files store the text alone.

    Raises:
        PatternError: the argument is an unknown name or an empty list. Regexes are not parsed here.
        TypeError: the argument has another type, or an item of the list is not a str.

    >>> resolve_pattern("gpt2")[0], resolve_pattern("phi-2")[0], resolve_pattern(r"\w+|\W+"), resolve_pattern(None)
    ('gpt2', 'gpt2', (None, '\\w+|\\W+'), ('none', None))

    >>> resolve_pattern([r"\d", "gpt2"]) == (None, (r"\d", PATTERNS["gpt2"]))
    True
    """
    if pattern is None:
        return "none", None
    if not isinstance(pattern, str):
        return _resolve_several(pattern)
    pattern = str.__str__(pattern)  # an instance of a subclass becomes a plain str
    known = OTHER_NAMES.get(pattern, pattern)
    if known in PATTERNS:
        return first_name(PATTERNS[known]), PATTERNS[known]
    if (meant := _mistaken_name(pattern)) is not None:
        raise PatternError(
            f"there is no split pattern named {pattern!r}{meant} fastbpe knows {', '.join(PATTERNS)}; or pass a "
            f"regex: '(?:{pattern})' matches the text {pattern!r} itself"
        )
    return first_name(pattern), pattern


def first_name(pattern: Pattern) -> str | None:
    """Return the first name of a pattern's text in `PATTERNS`; None if it has no name.

    >>> first_name(PATTERNS["llama4"]), first_name("a+")
    ('o200k', None)
    """
    return next((name for name, text in PATTERNS.items() if text == pattern), None)


def shown_pattern(pattern: Pattern, n_characters: int) -> str:
    """Return a pattern for an error or repr, shortened to n_characters."""
    if pattern is None:
        return "none"
    return repr(pattern[:n_characters]) if isinstance(pattern, str) else repr(list(pattern))[:n_characters]


def told_apart(pattern: PatternLike, other: PatternLike) -> tuple[str, str] | None:
    """Return two patterns as an error shows them; None if they are the same.

    A pattern with a name is shown by its name, any other from shortly before the first difference.

    >>> told_apart("gpt2", "cl100k"), told_apart("gpt2", PATTERNS["gpt2"])
    (('gpt2', 'cl100k'), None)
    """
    resolved = [resolve_pattern(one) for one in (pattern, other)]
    if resolved[0][1] == resolved[1][1]:
        return None
    texts = [shown_pattern(one, sys.maxsize) for _, one in resolved]
    n_same = next((i for i, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    start = max(n_same - _MAX_SHOWN // 3, 0)
    mine, theirs = (
        name or f"{'…' * (start > 0)}{text[start : start + _MAX_SHOWN]}{'…' * (len(text) > start + _MAX_SHOWN)}"
        for (name, _), text in zip(resolved, texts, strict=True)
    )
    return mine, theirs


def _resolve_several(patterns: Sequence[str]) -> tuple[str | None, Pattern]:
    """Resolve a list of patterns into one tuple of regexes. An item "none" adds no regex."""
    texts: list[str] = []
    for pattern in patterns if isinstance(patterns, (list, tuple)) else (patterns,):
        if not isinstance(pattern, str):
            raise TypeError(
                "pattern must be a name or a regex (str), a list of them, or None, and not "
                + ("a list with " if isinstance(patterns, (list, tuple)) else "")
                + type(pattern).__name__
            )
        text = resolve_pattern(pattern)[1]
        texts += (text,) if isinstance(text, str) else text or ()
    if not texts:
        raise PatternError('a list of split patterns must not be empty; for no splitting, pass "none"')
    whole = texts[0] if len(texts) == 1 else tuple(texts)
    return first_name(whole), whole


def as_regex(text: str) -> str:
    """Return the text of a regex from a file in a form that `resolve_pattern` does not treat as a name.

    >>> as_regex("kimi"), as_regex("a|b")
    ('(?:kimi)', 'a|b')
    """
    return f"(?:{text})" if _is_word(text) or text in PATTERNS or text in OTHER_NAMES else text


def _is_word(text: str) -> bool:
    letters = text.replace("-", "").replace("_", "")
    return 1 < len(text) <= _MAX_NAME_CHARACTERS and letters.isalnum() and not letters.isdecimal()


def _mistaken_name(text: str) -> str | None:
    """Return a phrase about the likely meaning of an unknown name; None if the text does not look like a name.

    The phrase comes after the name in an error, and ends with a punctuation mark; without a guess it is only that.
    """
    if not _is_word(text):
        return None
    plain = text.lower().removesuffix("_base").replace("_", "").replace("-", "")
    family = _FAMILIES.get(plain) or _FAMILIES.get(plain.rstrip("0123456789"))
    if family and plain not in PATTERNS:  # Llama-3 is llama3
        return f": {family};"
    import difflib  # imported here: the import is slow, and only errors need it

    names = [*PATTERNS, *OTHER_NAMES]  # so many that only a closer one counts, as command-r for command-q
    close = difflib.get_close_matches(plain, PATTERNS, n=1, cutoff=0.7) or difflib.get_close_matches(
        text.lower(), names, n=1, cutoff=0.8
    )
    if near := _ALSO_CALLED.get(plain) or next(iter(close), ""):
        return f", did you mean {near!r}?"
    # Words joined by hyphens are a regex, unless they have a digit or `_`, as names of models do.
    return ";" if "-" not in text or not set("0123456789_").isdisjoint(text) else None
