"""Special tokens are found like the longest literal found by `re`, on every SIMD path."""

from helpers.child_processes import run_python

# Tokens with common or different beginnings, of one, two or many bytes; texts around multiples of 32 bytes.
FINDING = r"""
import hashlib, random, re
from fastbpe._core.text.special_tokens import SpecialMatcher
rng, seen = random.Random(11), hashlib.sha256()
alphabets = [b" \t", b"<|>e", b"ab", bytes(range(256)), "é日本 😀".encode()]
for number in range(1500):
    alphabet = rng.choice(alphabets)
    longest = rng.choice([1, 2, 3, 4, 9])
    tokens = sorted({
        bytes(rng.choices(alphabet, k=rng.randint(1, longest))) for _ in range(rng.choice([1, 2, 5, 20, 300]))
    })
    ids = [rng.randrange(1000) for _ in tokens]
    matcher = SpecialMatcher(tokens, ids)
    longest_first = sorted(tokens, key=len, reverse=True)
    pattern = re.compile(b"|".join(map(re.escape, longest_first)), re.DOTALL)
    for _ in range(8):
        parts = [rng.choice(tokens)[: rng.randint(0, 9)], bytes(rng.choices(alphabet, k=rng.randint(0, 40)))]
        parts += [b"some words " * rng.randint(0, 9), b"." * rng.choice([0, 29, 30, 31, 32, 33, 64, 65])]
        rng.shuffle(parts)
        text = b"".join(parts)
        try:
            text.decode()
        except UnicodeDecodeError:
            text = text.decode(errors="ignore").encode()
        expected = [(*m.span(), ids[tokens.index(m[0])]) for m in pattern.finditer(text)]
        assert matcher.find_all(text) == expected, (tokens, text)
        assert matcher.search(text) == (expected[0] if expected else None)
        seen.update(repr(expected).encode())
print(seen.hexdigest())
"""


def test_special_tokens_are_found_alike_with_and_without_vectors() -> None:
    assert run_python(FINDING) == run_python(FINDING, FASTBPE_SIMD="scalar")
