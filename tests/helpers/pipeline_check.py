"""One tokenizer.json in fastbpe and in tokenizers: the same ids, offsets, words and texts, or what differs."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import tokenizers as stock

import fastbpe
import fastbpe.tokenizers as face
from fastbpe.tokenizer.internals import find_words
from helpers.random_pipelines import Json, damaged, flat, is_panic, normalized_by, random_pipeline, random_texts

MAX_TRIES = 3000  # smaller files and texts that are tried for one difference
SHARE_OF_DAMAGED = 0.1
EQUAL = "equal"
#: Errors of fastbpe for files that it does not run, while tokenizers has an answer.
REFUSALS = (ImportError, fastbpe.FormatError, fastbpe.PatternError)


class Found(NamedTuple):
    """Result of a comparison.

    kind: EQUAL, "refused: …" by fastbpe only, "refused by both", or the name of the difference.
    text: the text that shows it.
    detail: what fastbpe and tokenizers give.
    """

    kind: str
    text: str | None = None
    detail: str = ""

    @property
    def differs(self) -> bool:
        """Tell whether fastbpe and tokenizers differ, other than by a refusal."""
        return self.kind != EQUAL and not self.kind.startswith("refused")


class Face(NamedTuple):
    """Functions of one of fastbpe's interfaces.

    load: takes the JSON of a file.
    encode: tokenizer, text, tokens of tokenizers → ids, offsets, words.
    decode: tokenizer, ids, skip → text.
    counts: tokenizer, text → whether `count` gives the number of ids, or raises the error of encoding.
    """

    load: Callable[[str], Any]
    encode: Callable[[Any, str, Sequence[str]], dict[str, Any]]
    decode: Callable[[Any, list[int], bool], str]
    counts: Callable[[Any, str], bool]


def _load(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastbpe.FormatWarning)
        return fastbpe.load(text.encode())


def _load_face(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastbpe.FormatWarning)  # an added token may get another id
        return face.Tokenizer.from_str(text)


def _encode(tokenizer: Any, text: str, tokens: Sequence[str]) -> dict[str, Any]:
    ids = tokenizer.encode(text, allowed_special="all")
    traced, offsets = tokenizer.encode_with_offsets(text, allowed_special="all")
    made = {"ids": ids, "ids with offsets": traced, "offsets": [tuple(span) for span in offsets]}
    if len(tokens) == len(ids):
        words = find_words(tokenizer, text, ids, dict(zip(ids, tokens, strict=True)), "all")
        if words is not None:
            made["words"] = words.numbers
    return made


def _counts(tokenizer: Any, text: str) -> bool:
    ids, error = outcome(tokenizer.encode_ordinary, text)
    found, other = outcome(tokenizer.count, text)
    return type(error) is type(other) and (error is not None or found == len(ids))


def _encode_face(tokenizer: Any, text: str, tokens: Sequence[str]) -> dict[str, Any]:
    made = tokenizer.encode(text, add_special_tokens=False)
    return {"ids": made.ids, "offsets": made.offsets, "words": made.word_ids, "tokens": made.tokens}


FACES = {
    "load": Face(
        _load,
        _encode,
        lambda tokenizer, ids, skips: tokenizer.decode(ids, skip_special_tokens=skips),
        _counts,
    ),
    "tokenizers": Face(
        _load_face,
        _encode_face,
        lambda tokenizer, ids, skips: tokenizer.decode(ids, skip_special_tokens=skips),
        lambda tokenizer, text: True,
    ),
}


def outcome(call: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, BaseException | None]:
    """Return the result of a call, or the exception that it raised."""
    try:
        return call(*args, **options), None
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
            raise
        return None, error


def shown(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def compare(made: Json, texts: Sequence[str], face: Face, seed: int = 0) -> Found:
    """Compare a file in fastbpe and in tokenizers on some texts."""
    described = json.dumps(made, ensure_ascii=False)
    theirs, refused = outcome(stock.Tokenizer.from_str, described)
    ours, error = outcome(face.load, described)
    if refused is not None:
        return Found("refused by both") if error is not None else Found("loaded", None, shown(refused))
    if error is not None:
        if not isinstance(error, (fastbpe.FastbpeError, ImportError)):
            return Found("crash of load", None, shown(error))
        return Found(f"refused: {_cut_down(str(error))}", None, shown(error))
    rng = random.Random(seed)
    ids_of_vocab = [*theirs.get_vocab().values()]
    for text in texts:
        encoding, failed = outcome(theirs.encode, text, add_special_tokens=False)
        if failed is not None and is_panic(failed):
            continue
        tokens = [] if failed is not None else encoding.tokens
        found, error = outcome(face.encode, ours, text, tokens)
        if failed is None and isinstance(error, REFUSALS):
            return Found(f"refused: {_cut_down(str(error))}", text, shown(error))
        if failed is not None or error is not None:
            if failed is None or error is None or not isinstance(error, Exception):
                got = found["ids"] if error is None else shown(error)
                return Found("error", text, f"{got} is not {encoding.ids if failed is None else shown(failed)}")
            continue
        expected = {"ids": encoding.ids, "offsets": encoding.offsets, "words": encoding.word_ids}
        expected |= {"ids with offsets": encoding.ids, "tokens": encoding.tokens}
        for name, value in found.items():
            if value != expected[name]:
                return Found(name, text, f"{value} is not {expected[name]}; tokens {encoding.tokens}")
        right, error = outcome(face.counts, ours, text)
        if error is not None or not right:
            return Found("count", text, "" if error is None else shown(error))
        for ids in (encoding.ids, rng.choices(ids_of_vocab, k=rng.randint(0, 6)) if ids_of_vocab else []):
            if wrong := _decoded(ours, theirs, ids, face):
                return wrong._replace(text=text)
    return Found(EQUAL)


def _decoded(ours: Any, theirs: Any, ids: list[int], face: Face) -> Found | None:
    for skips in (False, True):
        expected, failed = outcome(theirs.decode, ids, skip_special_tokens=skips)
        if failed is not None and is_panic(failed):
            continue
        found, error = outcome(face.decode, ours, ids, skips)
        if failed is None and isinstance(error, REFUSALS):
            return Found(f"refused: {_cut_down(str(error))}", None, shown(error))
        if (failed is None) != (error is None) or found != expected:
            got, wanted = (shown(e) if e else repr(v) for v, e in ((found, error), (expected, failed)))
            return Found("decode", None, f"{ids}, skip_special_tokens={skips}: {got} is not {wanted}")
    return None


def _cut_down(message: str) -> str:
    """Return a message without what differs from file to file."""
    message = re.sub(r"^\S+: ", "", message)
    return re.sub(r"\[\d+\]|\d+", "[…]", re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", message))[:100]


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Let Rust's panics write nothing to standard error."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def check(
    seed: str,
    face: str = "load",
    counts: Counter[str] | None = None,
    *,
    model: str = "BPE",
    shrinks: bool = True,
) -> str:
    """Compare a random file on 30 texts, and describe the difference; "" stands for equal.

    Args:
        seed: of the file.
        face: key of FACES.
        counts: kinds of what was found → how often.
        model: type of the file's model.
        shrinks: look for the smallest file and text that show the difference.
    """
    rng = random.Random(seed)
    with silent():
        made = random_pipeline(rng, model)
        texts = random_texts(rng, made)
        if rng.random() < SHARE_OF_DAMAGED:
            made = damaged(rng, made)
        found = compare(made, texts, FACES[face])
        if counts is not None:
            counts[found.kind] += 1
        if not found.differs:
            return ""
        if shrinks and made.get("model", {}).get("vocab"):
            made, found = shrink(made, found, FACES[face])
    return f"{found.kind}: {found.text!a}: {found.detail}\n{json.dumps(plain(made))}"


def plain(made: Json) -> Json:
    """Return the file without what is null or false."""
    model = {key: value for key, value in made.get("model", {}).items() if value not in (None, False)}
    return {key: value for key, value in made.items() if value not in (None, [])} | {"model": model}


# The smallest case


def shrink(made: Json, found: Found, face: Face) -> tuple[Json, Found]:
    """Leave out parts of a file and of a text while something of the same kind differs."""
    tries = 0
    while tries < MAX_TRIES:
        for smaller, text in _smaller(made, found.text):
            tries += 1
            if not _is_sound(smaller):
                continue
            again = compare(smaller, [] if text is None else [text], face)
            if again.kind == found.kind:
                made, found = smaller, again
                break
            if tries >= MAX_TRIES:
                break
        else:
            break
    return made, found


def _is_sound(made: Json) -> bool:
    """Tell whether tokenizers can look for the added tokens: each stays different and not empty if normalized."""
    peer, error = outcome(stock.Tokenizer.from_str, json.dumps({**made, "added_tokens": []}))
    if error is not None:
        return True
    contents = [
        normalized_by(peer.normalizer, one["content"]) if one.get("normalized") else one["content"]
        for one in made["added_tokens"]
        if "content" in one  # `damaged` takes fields away
    ]
    return "" not in contents and len({*contents}) == len(contents)


def _smaller(made: Json, text: str | None) -> Iterator[tuple[Json, str | None]]:
    """Yield smaller cases, those that leave out most first."""
    if text:
        half = len(text) // 2
        yield from ((made, part) for part in (text[:half], text[half:]) if part != text)
    keys = {
        "normalizer": "normalizers",
        "pre_tokenizer": "pretokenizers",
        "decoder": "decoders",
        "post_processor": "processors",
    }
    for part, key in keys.items():
        if made[part] is not None:
            yield {**made, part: None}, text
            steps = [*flat(made[part], key)]
            for i in range(len(steps)):
                rest = steps[:i] + steps[i + 1 :]
                yield {**made, part: rest[0] if len(rest) == 1 else {"type": "Sequence", key: rest}}, text
            if len(steps) == 1 and made[part] != steps[0]:
                yield {**made, part: steps[0]}, text
    tokens = made["added_tokens"]
    for i, token in enumerate(tokens):
        yield {**made, "added_tokens": tokens[:i] + tokens[i + 1 :]}, text
        for flag in ("special", "normalized", "lstrip", "rstrip", "single_word"):
            if token.get(flag):
                changed = copy.deepcopy(tokens)
                changed[i][flag] = False
                yield {**made, "added_tokens": changed}, text
    model = made["model"]
    for option in ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(option) is not None:
            yield {**made, "model": {**model, option: None}}, text
    for option in ("fuse_unk", "byte_fallback", "ignore_merges"):
        if model.get(option):
            yield {**made, "model": {**model, option: False}}, text
    yield from ((with_model(made, merges=merges), text) for merges in _parts(model.get("merges", [])))
    vocab = model["vocab"]
    for kept in _parts([*vocab.items()] if isinstance(vocab, dict) else vocab):
        yield with_model(made, vocab=dict(kept) if isinstance(vocab, dict) else kept), text
    if text and len(text) < 200:
        yield from ((made, text[:i] + text[i + 1 :]) for i in range(len(text)))


def with_model(made: Json, **parts: Any) -> Json:
    return {**made, "model": {**made["model"], **parts}}


def _parts(items: list[Any]) -> Iterator[list[Any]]:
    """Yield the list without one of 1, 2, 4, … parts."""
    n = len(items)
    while n >= 1:
        for start in range(0, len(items), n):
            yield items[:start] + items[start + n :]
        n //= 2
