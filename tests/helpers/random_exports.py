"""Random small vocabularies of all kinds; `check` writes one in every format and compares the ids."""

from __future__ import annotations

import base64
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import sentencepiece
import tiktoken
import tokenizers
from tokenizers import models, pre_tokenizers

import fastbpe
from fastbpe import FormatError, Tokenizer
from fastbpe._utils.choices import Format
from fastbpe.formats import gpt2
from fastbpe.model import AddedToken as Added
from fastbpe.model import Model, PieceType, pack_merges
from fastbpe.tokenizer.export import verify_export
from helpers import tokenizer_json
from helpers.codepoint_models import model_of
from helpers.shared_data import BYTES

BYTE_FORMATS: tuple[Format, ...] = ("native", "tiktoken", "gpt2", "minbpe", "tekken", "huggingface", "gguf")
POINT_FORMATS: tuple[Format, ...] = ("native", "sentencepiece", "huggingface", "gguf")
FILES = {
    "native": "a.fbpe",
    "tiktoken": "a.tiktoken",
    "gpt2": "folder",
    "minbpe": "minbpe.model",
    "tekken": "tekken.json",
    "gguf": "a.gguf",
    "huggingface": "tokenizer.json",
    "sentencepiece": "a.model",
}
LETTERS = ("ab", "abc", "a", "ab ", "aé", "é漢", "abcd", "a1 .")
PATTERNS = (None, None, None, "gpt2", r"\w+|\W+", r"[ab]+|.", ["gpt2", r"\d"])
NAMES = ("<s>", "<|end|>", "[SEP]", "END", "a=b", "<x y>", "ab", "a", "Ġ", "<é>", "é", "<b>", "漢")
WITNESS = re.compile(r"the text ('|\")")


def check(seed: int, counts: Counter[tuple[str, str, str]], *, owners: bool) -> list[str]:
    """Write one vocabulary in every format, and say what is wrong; counts: kind, format, outcome → how often.

    owners: the originals judge as well.
    """
    rng = random.Random(seed)
    kind, tokenizer = draw(rng)
    texts = sorted({*own_texts(rng, tokenizer)})
    expected = tokenizer.encode_ordinary_batch(texts)
    wrong = []
    for format in BYTE_FORMATS if tokenizer.mode == "byte" else POINT_FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, FILES[format])
            try:
                tokenizer.export(path, format=format)
            except FormatError as error:
                said = "refused with a text" if WITNESS.search(str(error)) else "refused"
                said = "caught" if verify_export._WAY_OUT in str(error) else said
                counts[kind, format, said] += 1
                if list(Path(folder).iterdir()):
                    wrong.append(f"seed {seed}, {kind} as {format}: files are left")
                continue
            counts[kind, format, "written"] += 1
            needed = verify_export.arguments(format, tokenizer.pattern, tokenizer.special_tokens)
            found = fastbpe.load(path, **needed).encode_ordinary_batch(texts)
            judges: list[tuple[str, list[list[int]]]] = [("fastbpe", found)]
            if owners and (judge := owner(path, format, tokenizer)):
                name, encode = judge
                judges.append((name, [encode(text) for text in texts]))
                if name == "tokenizers" and _finds_names(path):
                    names = [*tokenizer.special_tokens]
                    judges[-1][1][:] = [
                        ids if any(special in text for special in names) else found
                        for text, ids, found in zip(texts, expected, judges[-1][1], strict=True)
                    ]
        for name, ids in judges:
            counts[kind, format, f"compared by {name}"] += len(texts)
            bad = [i for i, (one, other) in enumerate(zip(expected, ids, strict=True)) if one != other]
            if bad:
                i = bad[0]
                wrong.append(
                    f"seed {seed}, {kind} as {format}, in {name}: {len(bad)} texts; {texts[i]!r} is "
                    f"{expected[i]} and became {ids[i]}"
                )
    return wrong


def own_texts(rng: random.Random, tokenizer: Tokenizer) -> Iterator[str]:
    """Texts made of a tokenizer's own tokens."""
    parts = [verify_export.text_of(token) for token in tokenizer.vocab if len(token) > 1]
    characters = sorted({character for part in parts for character in part}) or ["a"]
    for n in range(1, 5 if len(characters) < 4 else 3):
        yield from map("".join, product(characters, repeat=n))
    parts += characters
    for _ in range(150):
        yield "".join(rng.choices(parts, k=rng.randint(1, 6)))
    for _ in range(30):
        yield "".join(rng.choices(characters, k=rng.randint(5, 80)))


# What is drawn


def draw(rng: random.Random) -> tuple[str, Tokenizer]:
    """A kind of vocabulary, and one of it."""
    while True:
        kind = rng.choice([*_KINDS])
        try:
            made = _KINDS[kind](rng)
        except fastbpe.FastbpeError:  # two special tokens that clash, and the like
            continue
        if made.mode != "character":  # files of characters, which `random_pipelines` draws
            return kind, made


def random_tokens(rng: random.Random) -> list[bytes]:
    """Different tokens of several bytes; some end or begin within a character, many cannot be made by merging."""
    letters = rng.choice(LETTERS)
    drawn = []
    for _ in range(rng.randint(1, 14)):
        token = "".join(rng.choices(letters, k=rng.randint(1, 6))).encode()
        drawn.append(token[:-1] if rng.random() < 0.1 else token)
    tokens = [token for token in dict.fromkeys(drawn) if len(token) > 1]
    if rng.random() < 0.4:
        tokens.sort(key=len)
    return tokens


def random_special(rng: random.Random, first: int) -> dict[str, int]:
    """Special tokens with ids after the vocabulary's, now and then with a gap."""
    names = rng.sample(NAMES, rng.choice([0, 0, 0, 1, 2, 3]))
    gap = rng.choice([0, 0, 0, 5])
    return {name: first + gap + i for i, name in enumerate(names)}


def ranks(rng: random.Random) -> Tokenizer:
    """As tiktoken has them, bytes in order or not, with gaps or without."""
    base = [*BYTES]
    if rng.random() < 0.2:
        rng.shuffle(base)
    gap = rng.choice([0, 0, 0, 0, 3])
    order = [*base, *random_tokens(rng)]
    if rng.random() < 0.1:
        rng.shuffle(order)
    ids = {token: i + (gap if i > 257 else 0) for i, token in enumerate(order)}
    special = random_special(rng, max(ids.values()) + 1)
    return Tokenizer.from_ranks(ids, pattern=rng.choice(PATTERNS), special_tokens=special)


def merges(rng: random.Random) -> Tokenizer:
    """As minbpe has them; some make a token that there is already."""
    pairs: list[tuple[int, int]] = []
    some = [*rng.choice(["ab", "abc", "aé"]).encode()]
    for _ in range(rng.randint(1, 10)):
        pair = (rng.choice(some), rng.choice(some))
        if pair not in pairs:
            some.append(256 + len(pairs))
            pairs.append(pair)
    special = random_special(rng, 256 + len(pairs))
    return Tokenizer.from_merges(pairs, pattern=rng.choice(PATTERNS), special_tokens=special)


def listed(rng: random.Random) -> Tokenizer:
    """A list of merges with several for a token, or none, in any order, whole pieces first or not."""
    tokens = random_tokens(rng)
    ids = {token: i for i, token in enumerate([*BYTES, *tokens])}
    splits = [
        (ids[token[:cut]], ids[token[cut:]], ids[token])
        for token in tokens
        for cut in range(1, len(token))
        if token[:cut] in ids and token[cut:] in ids
    ]
    kept = [split for split in splits if rng.random() < rng.choice([1, 1, 0.8])]
    if rng.random() < 0.4:
        rng.shuffle(kept)
    added: tuple[Added, ...] = ()
    special = random_special(rng, len(ids))
    if rng.random() < 0.2 and special:
        name = next(iter(special))
        added = (Added(name, special[name], special=True, lstrip=rng.random() < 0.5),)
    model = Model(
        tokens=[*ids],
        pattern=rng.choice(PATTERNS),
        special_tokens=special,
        merges=pack_merges(kept),
        merges_rule="merges",
        whole_piece_first=rng.random() < 0.5,
        added_tokens=added,
    )
    return Tokenizer(model)


def document(rng: random.Random) -> Tokenizer:
    """A tokenizer.json with normalizers, added tokens and pre-tokenizers of many kinds."""
    made = tokenizer_json.random_document(rng)
    return fastbpe.load(tokenizer_json.dumped(made))


def points(rng: random.Random) -> Tokenizer:
    """A model as sentencepiece has them: any scores, ties among them."""
    letters = rng.choice(["ab", "a▁", "ab▁", "é漢a", "a"])
    pieces = {"<unk>": (0.0, PieceType.UNKNOWN), "<s>": (0.0, PieceType.CONTROL)}
    has_bytes = rng.random() < 0.5
    if has_bytes:
        pieces |= {f"<0x{byte:02X}>": (0.0, PieceType.BYTE) for byte in range(256)}
    tokens = {"".join(rng.choices(letters, k=rng.randint(2, 6))) for _ in range(rng.randint(1, 12))}
    scores = [float(-i) for i in range(len(tokens))]
    if rng.random() < 0.3:
        scores = [float(rng.randint(-3, 0)) for _ in tokens]
    rng.shuffle(scores)
    kinds = [PieceType.NORMAL] * 12 + [PieceType.UNUSED] * (rng.random() < 0.2)
    kinds += [PieceType.USER_DEFINED] * (rng.random() < 0.2)
    for token, score in zip(sorted(tokens), scores, strict=True):
        pieces[token] = (score, rng.choice(kinds))
    for letter in letters:
        if rng.random() < 0.95:
            pieces.setdefault(letter, (-100.0 - len(pieces), PieceType.NORMAL))
    pieces.setdefault("▁", (-1000.0, PieceType.NORMAL))
    data = model_of(
        [(text.encode(), score, type_) for text, (score, type_) in pieces.items()],
        {"byte_fallback": has_bytes, "unk_id": 0, "bos_id": 1, "eos_id": -1, "pad_id": -1},
        {"name": "identity", "add_dummy_prefix": rng.random() < 0.5, "remove_extra_whitespaces": False},
    )
    return fastbpe.load(data)


def llama(rng: random.Random) -> Tokenizer:
    """A tokenizer.json of the Llama kind, with merges of its own."""
    letters = rng.choice(["ab", "ab▁", "é漢a"])
    tokens = {"".join(rng.choices(letters, k=rng.randint(2, 5))) for _ in range(rng.randint(1, 10))}
    vocab = {text: i for i, text in enumerate(dict.fromkeys(["<unk>", "▁", *letters, *sorted(tokens)]))}
    pairs = [
        f"{token[:cut]} {token[cut:]}"
        for token in tokens
        for cut in range(1, len(token))
        if token[:cut] in vocab and token[cut:] in vocab and rng.random() < 0.9
    ]
    if rng.random() < 0.5:
        rng.shuffle(pairs)
    return fastbpe.load(json.dumps(tokenizer_json.llama_document(vocab, pairs)).encode())


_KINDS: Mapping[str, Callable[[random.Random], Tokenizer]] = {
    "ranks": ranks,
    "merges": merges,
    "listed": listed,
    "document": document,
    "points": points,
    "llama": llama,
}


# Who judges


def owner(path: Path, format: str, tokenizer: Tokenizer) -> tuple[str, Callable[[str], list[int]]] | None:
    """The original that reads a format, and how it encodes; special tokens are text."""
    if format == "huggingface":
        made = tokenizers.Tokenizer.from_file(str(path))
        made.encode_special_tokens = True
        return "tokenizers", lambda text: made.encode(text, add_special_tokens=False).ids
    if format == "sentencepiece":
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        return "sentencepiece", lambda text: processor.encode(text)
    pattern = tokenizer.pattern
    if format == "tiktoken" and not isinstance(pattern, tuple):
        lines = (line.split() for line in path.read_bytes().splitlines())
        peer = tiktoken.Encoding(
            "x",
            pat_str=r"[\s\S]+" if pattern is None else rf"{pattern}|[\s\S]",
            mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in lines},
            special_tokens={},
        )
        return "tiktoken", peer.encode_ordinary
    if format == "gpt2" and not isinstance(pattern, tuple):
        names = [str(path / name) for name in gpt2.NAMES]
        reader = tokenizers.Tokenizer(models.BPE.from_file(*names))
        steps: list[Any] = [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        if pattern is not None:
            steps.insert(0, pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"))
        reader.pre_tokenizer = pre_tokenizers.Sequence(steps)
        return "tokenizers", lambda text: reader.encode(text, add_special_tokens=False).ids
    if format == "minbpe":
        return "minbpe's rule", minbpe_rule(path, fastbpe.load(path))
    return None


def _finds_names(path: Path) -> bool:
    """Tell whether tokenizers finds special tokens even as text: with ignore_merges, those in the vocabulary."""
    if not path.is_file():
        return False
    made = json.loads(path.read_text(encoding="utf-8"))
    listed = any(token["special"] and token["content"] in made["model"]["vocab"] for token in made["added_tokens"])
    return listed and bool(made["model"].get("ignore_merges"))


def minbpe_rule(path: Path, tokenizer: Tokenizer) -> Callable[[str], list[int]]:
    """Merge all occurrences of the pair that was learned first in one step, and repeat."""
    lines = path.read_text(encoding="utf-8").splitlines()
    first = 3 + int(lines[2])
    learned = {tuple(map(int, line.split())): 256 + i for i, line in enumerate(lines[first:])}

    def merge(piece: str) -> list[int]:
        ids = [*piece.encode()]
        while found := [(learned[pair], pair) for pair in pairwise(ids) if pair in learned]:
            merged, pair = min(found)
            out: list[int] = []
            at = 0
            while at < len(ids):
                is_pair = tuple(ids[at : at + 2]) == pair
                out.append(merged if is_pair else ids[at])
                at += 1 + is_pair
            ids = out
        return ids

    return lambda text: [i for start, end in tokenizer.pieces(text) for i in merge(text[start:end])]
