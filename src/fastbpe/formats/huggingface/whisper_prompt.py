"""Prompt of WhisperTokenizer: the tokens that it puts before texts, with the language and the task of a folder.

tests/conformance/test_folder_classes.py compares the prompts with transformers 5.24.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastbpe.errors import FormatError
from fastbpe.formats.huggingface.class_settings import WAY_OUT

# Code and English name of each language, in the order of their tokens.
_LANGUAGES = (
    "en english zh chinese de german es spanish ru russian ko korean fr french ja japanese pt portuguese "
    "tr turkish pl polish ca catalan nl dutch ar arabic sv swedish it italian id indonesian hi hindi fi finnish "
    "vi vietnamese he hebrew uk ukrainian el greek ms malay cs czech ro romanian da danish hu hungarian ta tamil "
    "no norwegian th thai ur urdu hr croatian bg bulgarian lt lithuanian la latin mi maori ml malayalam cy welsh "
    "sk slovak te telugu fa persian lv latvian bn bengali sr serbian az azerbaijani sl slovenian kn kannada "
    "et estonian mk macedonian br breton eu basque is icelandic hy armenian ne nepali mn mongolian bs bosnian "
    "kk kazakh sq albanian sw swahili gl galician mr marathi pa punjabi si sinhala km khmer sn shona yo yoruba "
    "so somali af afrikaans oc occitan ka georgian be belarusian tg tajik sd sindhi gu gujarati am amharic "
    "yi yiddish lo lao uz uzbek fo faroese ht haitian_creole ps pashto tk turkmen nn nynorsk mt maltese "
    "sa sanskrit lb luxembourgish my myanmar bo tibetan tl tagalog mg malagasy as assamese tt tatar haw hawaiian "
    "ln lingala ha hausa ba bashkir jw javanese su sundanese yue cantonese"
)
_OTHER_NAMES = (
    "burmese my valencian ca flemish nl haitian ht letzeburgesch lb pushto ps panjabi pa moldavian ro moldovan ro "
    "sinhalese si castilian es mandarin zh"
)
_TASKS = ("translate", "transcribe")
_START, _NO_TIMES = "<|startoftranscript|>", "<|notimestamps|>"


def tokens(config: Mapping[str, Any], where: str, find: Callable[[str], int]) -> list[str]:
    """Return the names of the tokens of a prompt.

    config: content of the tokenizer_config.json.
    find: function from the name of a token to the id that transformers takes for it.

    Raises:
        FormatError: transformers has no such prompt, or fastbpe cannot name one of its tokens.
    """
    names = [_START]
    language, task = config.get("language"), config.get("task")
    if language is not None:
        names.append(_language(language, where, find))
    if task is not None:
        if task not in _TASKS:
            raise _unknown(where, "task", task, _TASKS)
        names.append(f"<|{task}|>")
    return names if config.get("predict_timestamps") else [*names, _NO_TIMES]


def _language(value: object, where: str, find: Callable[[str], int]) -> str:
    """Return the token of a language.

    Raises:
        FormatError: Whisper does not have the language, or the token does not have the id that transformers
            computes from the place of the language in _LANGUAGES.
    """
    words = _LANGUAGES.split()
    codes, others = words[::2], _OTHER_NAMES.split()
    by_name = {name.replace("_", " "): code for name, code in zip(words[1::2], codes, strict=True)}
    by_name |= dict(zip(others[::2], others[1::2], strict=True))
    asked = value.lower() if isinstance(value, str) else None
    code = asked if asked in codes else by_name.get(asked or "")
    if code is None:
        raise _unknown(where, "language", value, codes)
    name, expected = f"<|{code}|>", find(_START) + 1 + codes.index(code)
    if find(name) != expected:
        raise FormatError(
            f"{where}: language: transformers puts the id {expected} before texts for {value!r:.40}, but "
            f"{name} does not have this id; {WAY_OUT}"
        )
    return name


def _unknown(where: str, key: str, value: object, known: tuple[str, ...] | list[str]) -> FormatError:
    return FormatError(f"{where}: {key}: Whisper has no {key} {value!r:.40}; it has {', '.join(known)}")
