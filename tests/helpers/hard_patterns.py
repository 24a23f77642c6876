"""Split patterns that are hard to match, and short texts for them."""

from __future__ import annotations

import random

TRICKY = [
    # Order of alternatives, and later parts that make earlier parts backtrack.
    "a|ab|c", "ab|a|c", "(?:a|ab)(?:c|bcd)", "(?:a|ab|abc)c", "(?:ab|a)(?:bc|c)?", "(?:a|b|ab)+c", "a|é|漢|b+",
    "(?:é|漢)a|é", "(?:aa|a)(?:aa|a)a", "(?:|a)b", "(?:a||b)c", "abc|abd|ab.", "(?:a|[ab]b|abc){2}",
    # Greedy, lazy and possessive quantifiers.
    "a+?b?", "a??b", "a*?b", "a{2}", "a{2,}", "a{1,3}b", "a{1,2}+a", "a{2,3}?b", "a++b", "a*+a|b",
    "[ab]+?c", "[ab]*ab", "[^a]*?a", "[^a]{2,4}a", ".{1,3}?c", "(?:ab){2}", "(?:ab){1,2}+ab",
    "(?:ab){0,2}?c", "(?:ab)*+ab|a",
    "(?:ab|c){2,3}", "(?:a{2}){2,}", "(?:a{1,2}){3}b", "x?[ab]?[bc]?c", "[ab]+[bc]+[cé]+", "(?:a+b?)+c",
    # Repetition of parts that may match the empty string.
    "(a|b?)+c", "(?:a*)*b", "(?:a*)+b", "(?:a*?)*?b", "(?:a?b?)*c", "(?:a?){3}b", "(?:a?){0,3}ab", "(?:(?=a)|b)+a",
    "(?:|a)+b", "(?:a|)+b", "(?:(?:a?)*b?)*c", "(?:\\b|a)+b", "(?:a*b*)*+c", "(?:(?:a|b?)+c?)+é",
    # Nested repetitions.
    "(a+)+$", "(?:a+|b)+c", "(?:(?:ab)+c?)+", "(?:(?:a|b)+c)+", "(?:a+?b?)+?c", "(?:(?:a{2})+b)*c", "(?:[ab]c?)+é",
    "(?:a+){2,}b|.", "(?:a{2,})*b", "(?:a*){2,}b",
    # Groups, atomic groups.
    "(a)(b)?", "(?P<x>a|b)c", "(?>a|ab)c|b", "(?>a+)b", "(?>a*)(?>b*)c", "(?>(?:a|ab)(?>c|b))b", "(?>a?b?)+c",
    "(?>a|b)++c", "(?>a+?)b|a",
    # Look-arounds.
    "a(?=b)", "a(?!b)", "(?=ab)a", "(?=a*)a", "(?=(?:a|ab)c)ab?", "(?!ab|ba)[ab]+", "a+(?=ab)", "a+(?!a)",
    "a*(?=a)a",
    "[ab]+(?=c(?!c))", "(?=a(?=b))ab", "(?!(?!a))a", "(?=(?>a+)b)a", "(?:(?!bc).)+", "(?:(?=.b)a|b)+", ".(?=.*c)",
    "(?<=a)b", "(?<!a)b", "(?<=ab)c", "(?<=a|bc)c", "(?<!a|bc).", "(?<=[aé].)b", "(?<=^|c)a", "(?<![^c])a+",
    "(?<=(?=ab)a)b", "(?<!(?<!a)b)c", "(?<=a{2})b", "(?<=(?>a|b)c)a", "(?<=漢)é|a(?<=éa)",
    # Anchors and word boundaries.
    "^a", r"\Aab?", "a$", r"a\z", r"a\Z", "(?m)^a", "(?m)a$", "(?m)^.+$", "^a|b$", "a$|^b|c", r"\s+$|\s",
    r"\n+\Z|.",
    r"\ba", r"a\b", r"\Ba", r"\b\w+\b", r"\<\w|\w\>", r"(?:\b\w|\B\w)+?\b", r"\b{start}a+|b\b{end}",
    # Classes, ignored case, characters of every length in UTF-8.
    "[^a]", ".", "(?s).", "[^a]|[^b]", r"\w\W", r"[\w--b]+", "(?i:aß|É)", "(?i)k+", "[é漢]+a", "漢+", "[^漢]+",
    "[\U00010000-\U0010ffff]+", "a\U0001f600|\U0001f600+", r"\R", r"[^\x00-\x{10FFFF}]|b", r"\p{L}\p{M}*+",
]  # fmt: skip
TEXTS = [
    "", "a", "b", "ab", "ba", "aab", "aaab", "abc", "abcc", "aabbcc", "cba", "ababab", "ababc", "aaaaab", "bcbcbc",
    "abab\nab", "a\n", "a\n\n", "\na", "a b  c", "  a", "a  ", "éa漢b", "漢漢éé", "aé", "éab", "a😀b", "😀😀a",
    "K\u212ak",
    "aßÉé", "a\r\nb\r\n", "\r\n\n\r", "a\u0301e\u0301\u0302", "cacbca", "accab", "x" * 70 + "ab", "ab" * 8 + "c",
    "a" * 14, "ab c" * 30, "é" * 40 + "a", "ab,c.ab", "a_b1",
]  # fmt: skip
ALPHABET = "aaabbcé漢 \n"


def random_pattern(generator: random.Random, depth: int) -> str:
    """Make a random pattern that the engine accepts. It uses few letters, so that most parts match something."""
    kind = generator.random()
    if depth == 0 or kind < 0.3:
        return generator.choice([*"abcé漢.", "[ab]", "[^a]", r"\s", r"\w", "ab", "[bé]"])

    def inner() -> str:
        return random_pattern(generator, depth - 1)

    if kind < 0.45:
        return inner() + inner()
    if kind < 0.6:
        return f"(?:{'|'.join(inner() for _ in range(generator.randrange(2, 4)))})"
    if kind < 0.85:
        count = generator.choice(["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "{1,3}"])
        return f"(?:{inner()}){count}{generator.choice(['', '', '?', '+'])}"
    if kind < 0.97:
        return f"({generator.choice(['', '', '?>', '?=', '?!', '?='])}{inner()})"
    return generator.choice([
        r"\b", r"\B", "^", "$", "(?m:^)", "(?m:$)", r"\Z", "(?<=a)", "(?<!b)", "(?<=ab|é)", "(?<!^|c)", "(?:|a)",
    ])  # fmt: skip
