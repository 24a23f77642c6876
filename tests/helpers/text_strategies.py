"""Hypothesis strategies for text: every script, white space, surrogates and other hard characters."""

from hypothesis import strategies as st

#: The 25 characters of White_Space, and those that only look as if they belonged to them.
SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
SPACES += "\u2028\u2029\u202f\u205f\u3000"
NEARLY_SPACES = "\x1c\x1d\x1e\x1f\u180e\u200b\u200d\u2060\ufeff"

_SCRIPTS = {
    "ASCII": (0x20, 0x7E),
    "controls": (0x00, 0x1F),
    "Latin": (0xA0, 0x24F),
    "Greek": (0x370, 0x3FF),
    "Cyrillic": (0x400, 0x52F),
    "Hebrew": (0x590, 0x5FF),
    "Arabic": (0x600, 0x6FF),
    "Devanagari": (0x900, 0x97F),
    "Thai": (0xE00, 0xE7F),
    "Georgian": (0x10A0, 0x10FF),
    "Jamo": (0x1100, 0x11FF),
    "Cherokee": (0x13A0, 0x13FF),
    "Georgian capitals": (0x1C80, 0x1CBF),
    "Greek extended": (0x1F00, 0x1FFF),
    "punctuation": (0x2000, 0x206F),
    "numbers and signs": (0x2070, 0x218F),
    "kana": (0x3000, 0x30FF),
    "Han": (0x4E00, 0x4EFF),
    "Hangul": (0xAC00, 0xACFF),
    "forms": (0xFE00, 0xFFFF),
    "Deseret": (0x10400, 0x104FF),
    "Garay and newer": (0x10D40, 0x10D8F),
    "mathematical letters": (0x1D400, 0x1D7FF),
    "emoji": (0x1F300, 0x1F6FF),
    "tags": (0xE0000, 0xE01EF),
}

_words = st.sampled_from(
    [
        "hello",
        "HELLO",
        "HelloWorld",
        "camelCase",
        "don't",
        "I'LL",
        "we'Ve",
        "'tis",
        "it'ſ",
        "123456789",
        "١٢٣",
        "½Ⅷ",
        "naïve",
        "café",
        "Straße",
        "ǅa",
        "’s",
        "...",
        "//",
        "///",
        "---",
        "<|endoftext|>",
        "<|sep|>",
        "<|",
        "안녕",
        "日本語",
        "👨\u200d👩\u200d👧",
        "1️⃣",
    ]
)
_scripts = st.sampled_from(sorted(_SCRIPTS)).flatmap(
    lambda name: st.text(
        st.characters(min_codepoint=_SCRIPTS[name][0], max_codepoint=_SCRIPTS[name][1], exclude_categories=["Cs"]),
        min_size=1,
        max_size=8,
    )
)
_marks = st.text(st.characters(min_codepoint=0x300, max_codepoint=0x36F), min_size=1, max_size=4)
_white = st.text(st.sampled_from(SPACES + NEARLY_SPACES), min_size=1, max_size=6)
_runs = st.builds(lambda c, n: c * n, st.sampled_from(" \n\ta1'é/\0-"), st.integers(1, 40))
_lines = st.text(st.sampled_from("\r\n \t"), min_size=1, max_size=8)
_anything = st.text(max_size=8)
_sound = (_words, _scripts, _marks, _white, _runs, _lines, _anything)
_surrogates = st.text(st.sampled_from("\ud800\udbff\ud83d\udc4d\udc00\udfffa "), min_size=1, max_size=4)

#: Texts that UTF-8 can hold.
sound_texts = st.lists(st.one_of(*_sound), max_size=10).map("".join)
#: Texts that may hold surrogates, in pairs and lone.
texts = st.lists(st.one_of(*_sound, _surrogates), max_size=10).map("".join)


def as_utf8(text: str) -> bytes:
    """Encode a text as UTF-8: surrogate pairs are joined, lone ones become U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
