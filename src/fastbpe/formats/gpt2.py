"""GPT-2's two files: `vocab.json`, an object of tokens and ids, and `merges.txt`, one merge per line in order.

They were first published as `encoder.json` and `vocab.bpe`. A visible character represents each byte (see
`byte_level`). The files contain no split pattern, and do not say which tokens are special.
"""

from __future__ import annotations

import json
import os
import re
import sys
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.errors import FormatError
from fastbpe.formats import _gpt2
from fastbpe.formats.byte_level import bytes_of, text_of
from fastbpe.formats.json_object import loads
from fastbpe.formats.limits import check_entries, check_spread
from fastbpe.model import AddedToken, Buffer, Model, pack_merges, pack_pieces
from fastbpe.patterns import PATTERNS, Pattern, PatternLike

if TYPE_CHECKING:  # imported at run time where a folder is read
    from fastbpe.formats.huggingface.class_settings import Settings
    from fastbpe.formats.huggingface.named_tokens import NamedTokens

VOCAB_FILE, MERGES_FILE = NAMES = ("vocab.json", "merges.txt")
ALL_NAMES = (NAMES, ("encoder.json", "vocab.bpe"))
#: Marks of words in vocabularies of characters: at the end, or before the first character.
WORD_END, SPACE = "</w>", "\u2581"
_MAX_ID = (1 << 24) - 1  # the core's limit: ids index flat arrays
_OF_CHARACTERS = (
    "so this is a vocabulary of characters, but fastbpe loads vocab.json and merges.txt only if the characters of "
    "their tokens stand for bytes; load the tokenizer with transformers, and save it as a tokenizer.json"
)
_OF_CODES = (
    '; codes of subword-nmt come without ids: write this vocab.json yourself, as {"lo@@": 0, ...}, and a '
    'tokenizer_config.json beside it, as {"tokenizer_class": "CTRLTokenizer"}, then load the folder'
)
_VERSION = "#version"  # begins the first line of merges.txt, which is not a merge

# SHA-256 of published merges → name of the vocabulary, name of its pattern.
_KNOWN: Mapping[str, tuple[str, str]] = {
    "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5": ("gpt2", "gpt2"),
    "b8e04af9c950e393054010dcef499c3f005e803e9b2da1a09b96a26c33266eb1": ("qwen2", "qwen2"),
}
# Start of a vocab.json, and a line of merges.txt: two texts of the characters that stand for bytes.
_ENTRY = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)+"\s*:\s*[0-9]+\s*[,}]')
_LINE = re.compile(r"[!-~¡-¬®-ÿĀ-Ń]+ [!-~¡-¬®-ÿĀ-Ń]+\r?")
# One character in a JSON string: ASCII or UTF-8, a surrogate pair, or another escape.
_CHARACTER = (
    rb'(?:[^"\\\x80-\xff]|[\xc2-\xf4][\x80-\xbf]+'
    rb'|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|\\u[0-9a-fA-F]{4}|\\["\\/bfnrt])'
)
# Keys of vocab.json that are one character, alone and with `</w>`.
_SINGLE = re.compile(rb'"%s"\s*:' % _CHARACTER)
_MARKED = re.compile(rb'"(%s)</w>"\s*:' % _CHARACTER)
# A token that no merge makes is special if it looks like this. Other tokens without a merge fill up a vocabulary,
# or lost their merges when it was cut: no text becomes them.
_SPECIAL = re.compile(rb"<[!-;=?-~]+>|\[[A-Z_]+[0-9]*\]")


def recognise_vocab(data: Buffer) -> bool:
    """Tell whether a file begins like a JSON object of strings and numbers."""
    return _ENTRY.match(bytes(data[:4096])) is not None


def recognise_merges(data: Buffer) -> bool:
    """Tell whether the first line that is not blank (in 4,096 bytes) is a version line or looks like a merge."""
    for line in bytes(data[:4096]).decode(errors="replace").split("\n"):
        if line.strip():
            return line.startswith(_VERSION) or _LINE.fullmatch(line) is not None
    return False


def marks_words(vocab: bytes, merges: bytes) -> bool:
    """Tell whether two files mark the end of a word with `</w>`, or its beginning with U+2581.

    Such tokens exist before any merge. If a vocabulary has only learned the text `</w>`, merges make them.
    """
    end = WORD_END.encode()
    if SPACE.encode() in merges:
        return True
    if end not in merges and end not in vocab:
        return False
    made, used = set(), set()
    for line in merges.split(b"\n"):
        pair = line.split()
        if len(pair) == 2:
            made.add(b"".join(pair))
            used.update(pair)
    if any(token.endswith(end) and token != end for token in used - made):
        return True
    marked = (_unescaped(match[1]) for match in _MARKED.finditer(vocab))
    bases = [character for character in marked if character + end not in made]
    # Fewer are tokens that lost their merges when a byte-level vocabulary was cut.
    return bool(bases) and 2 * len(bases) >= len(_SINGLE.findall(vocab))


def _unescaped(character: bytes) -> bytes:
    """Return the UTF-8 of a character that _CHARACTER matches."""
    if character[:1] != b"\\":
        return character
    text: str = json.loads(b'"%s"' % character)
    return text.encode("utf-8", "surrogatepass")


def sibling(path: str, data: Buffer, *, is_vocab: bool) -> str:
    """Return the path of the other file of a pair: in the same folder, with the matching name.

    data: bytes of the file at `path`.
    is_vocab: `path` is the file of ids, not of merges.

    Raises:
        FormatError: there is no such file.
    """
    folder, name = os.path.split(path)
    tried = []
    for pair in ALL_NAMES:
        own, other = pair if is_vocab else pair[::-1]
        if name.endswith(own):  # names may have a prefix: "qwen2_vocab.json"
            tried.append(os.path.join(folder, name.removesuffix(own) + other))
            if os.path.isfile(tried[-1]):
                return tried[-1]
    what, other_what = ("the ids", "the merges") if is_vocab else ("the merges", "the ids")
    raise FormatError(
        f"{path}: it contains {what} of a vocabulary, but {' or '.join(tried) or f'a file with {other_what}'} is "
        f"missing; put the two files into one folder, as {VOCAB_FILE} and {MERGES_FILE}"
        f"{_OF_CODES if not is_vocab and WORD_END.encode() in bytes(data[:4096]) else ''}"
    )


class Contents(NamedTuple):
    """Contents of the two files.

    Attributes:
        token_bytes, token_ends: as in the core's `Vocabulary`.
        merges: as in `Model`.
        names: text → id, for each token whose text does not represent bytes.
        unmade: ids of tokens with several bytes that no merge makes.
        empty: id of the empty token; None: no such token.
    """

    token_bytes: bytes
    token_ends: bytes
    merges: bytes
    names: dict[str, int]
    unmade: Sequence[int]
    empty: int | None = None

    def token(self, token_id: int) -> bytes:
        """Return the bytes of an id; b"" if no token has it."""
        ends = memoryview(self.token_ends).cast("I")
        if not 0 <= token_id < len(ends):
            return b""
        return self.token_bytes[ends[token_id - 1] if token_id else 0 : ends[token_id]]

    def tokens(self) -> list[bytes]:
        """Return the bytes of each id, in order; b"" for an id that no token has."""
        ends = memoryview(self.token_ends).cast("I")
        return [self.token_bytes[start:end] for start, end in zip(chain((0,), ends), ends, strict=False)]


def parse(
    vocab: Buffer,
    merges: Buffer,
    where: tuple[str, str],
    *,
    pattern: PatternLike,
    special_tokens: Mapping[str, int] | None,
    named: NamedTokens | None = None,
    settings: Settings | None = None,
) -> Model:
    """Read the model in the bytes of two files.

    Args:
        vocab, merges: bytes of vocab.json and of merges.txt; `where` has their names.
        pattern: split pattern; None: the pattern of the published vocabulary with these merges, or of the class.
        special_tokens: they replace the tokens of the files that seem special.
        settings: settings of the class that the folder names. With them, only named tokens are special.

    Raises:
        FormatError: a damaged file, tokens of characters instead of bytes, or no split pattern is known.
    """
    import hashlib  # here: importing it takes time

    check_entries(vocab, where[0], b":")
    check_entries(merges, where[1], b"\n")
    name, known_pattern = _KNOWN.get(hashlib.sha256(merges).hexdigest(), (None, None))
    if settings is not None and settings.pattern:
        known_pattern = settings.pattern
    steps = settings.pre_tokenizers if settings is not None and pattern is None else ()
    if pattern is None and known_pattern is None:
        raise FormatError(
            f"{where[1]}: a list of merges does not store its split pattern, and this one is not a published "
            f"vocabulary that fastbpe knows; pass its pattern by name ({', '.join(PATTERNS)}) or as a regex: "
            'pattern=...; "none" means no splitting'
        )
    contents = _read(vocab, merges, where)
    if not contents.token_bytes and not contents.names:
        raise FormatError(f"{where[0]}: it contains no tokens; copy the file again or recreate it")
    _refuse_characters(contents, named, where)
    added: Sequence[AddedToken] = ()
    kept: Mapping[str, Any] = {}
    if special_tokens is None and named is not None:
        special_tokens, added, dropped, kept = _with_named(contents, named, settings)
        if settings is not None:
            contents = _with_plain_names(contents, named, where[0])
    else:
        if special_tokens is None:
            special_tokens = _special_tokens(contents)
        dropped = sorted(
            # The caller's ids are checked later.
            {i for text, i in special_tokens.items() if isinstance(i, int) and contents.token(i) == text.encode()}
        )
    flat, ends = contents.token_bytes, contents.token_ends
    if dropped:
        flat, ends = _gpt2.without(flat, ends, dropped)
    places = memoryview(ends).cast("I")
    ends = ends[: 4 * (bisect_left(places, places[-1]) + 1)]  # no gaps for special tokens at the end
    return Model(
        tokens=None,
        tables={"token_bytes": flat, "token_ends": ends},
        pattern=None if steps else known_pattern if pattern is None else pattern,
        pre_tokenizers=steps,
        special_tokens=special_tokens,
        added_tokens=added,
        normalizers=() if settings is None else settings.normalizers,
        huggingface=kept if contents.empty is None else {**kept, "empty_token": contents.empty},
        drops_bytes=_misses_bytes(flat, ends),
        merges=contents.merges,
        merges_rule="merges",
        whole_piece_first=False,
        name=name,
    )


def _misses_bytes(flat: bytes, ends: bytes) -> bool:
    """Tell whether some byte has no token. Encoding leaves such bytes out, as tokenizers does."""
    places = memoryview(ends).cast("I")
    found = {flat[end - 1] for start, end in zip(chain((0,), places), places, strict=False) if end == start + 1}
    return len(found) < 256


def _refuse_characters(contents: Contents, named: NamedTokens | None, where: tuple[str, str]) -> None:
    """Refuse a vocabulary whose characters do not represent bytes."""
    added = set() if named is None else {token.content for token in (*named.decoder.values(), *named.extra)}
    for text, token_id in contents.names.items():
        if len(text) == 1 and text not in added and not text.isascii() and not text.isspace():
            raise FormatError(
                f"{where[0]}: token {token_id}, {text!r}, is a character that stands for no byte, {_OF_CHARACTERS}"
            )


def _with_plain_names(contents: Contents, named: NamedTokens, where: str) -> Contents:
    """Return contents in which texts that no file names as a token are ordinary tokens, which no merge makes.

    So a text does not become such a token, but the token decodes to its own text, as in transformers.

    Raises FormatError for a text of one byte, unless the right spelling of this byte has a lower id, which counts.
    """
    listed = {*named.names()}
    plain = {name: i for name, i in contents.names.items() if name not in listed}
    if not plain:
        return contents
    tokens = contents.tokens()
    for name, i in plain.items():
        token = name.encode()
        if len(token) == 1 and token not in tokens[:i]:
            raise FormatError(
                f"{where}: token {i}, {name!r}, is not spelled in GPT-2's characters for bytes, as "
                f"{text_of(token)!r}"
            )
        tokens[i] = token
    token_bytes, token_ends = pack_pieces(tokens)
    return contents._replace(token_bytes=token_bytes, token_ends=token_ends)


def _with_named(
    contents: Contents, named: NamedTokens, settings: Settings | None
) -> tuple[dict[str, int], list[AddedToken], list[int], dict[str, Any]]:
    """Return (special tokens, added tokens, ids whose ordinary tokens are left out, parts of a tokenizer.json)."""
    from fastbpe.formats.huggingface import byte_vocabulary  # here: in most folders there are no other files

    tokens = contents.tokens()
    ids = {text_of(token): i for i, token in enumerate(tokens) if token} | contents.names
    guessed = {} if settings is not None else _special_tokens(contents)
    own = [AddedToken(name, i, special=True) for name, i in guessed.items()]
    added = named.add(own, ids.get, len(ids) + (contents.empty is not None))
    in_no_merge = {*contents.unmade}.difference(memoryview(contents.merges).cast("I"))
    by_name = {*byte_vocabulary.found_by_name(added)}
    dropped = [
        token.id
        for token in added
        if token.content in by_name and token.id in in_no_merge and contents.token(token.id)
    ]
    ordinary = {i for i, token in enumerate(tokens) if token}.difference(dropped)
    special, others = byte_vocabulary.plain_special(added, ids.get, ordinary)
    kept = byte_vocabulary.kept_parts(added, () if settings is None else settings.normalizers)
    return special, others, sorted(dropped), kept


def published_pattern(merges: Buffer) -> Pattern:
    """Return the split pattern of a published list of merges; None for other lists."""
    import hashlib  # here, as in parse

    _, name = _KNOWN.get(hashlib.sha256(merges).hexdigest(), (None, "none"))
    return PATTERNS[name]


def _special_tokens(contents: Contents) -> dict[str, int]:
    """Return the tokens that seem special.

    They are not written in GPT-2's characters for bytes, or no merge makes them and they look like special tokens.
    """
    found = dict(contents.names)
    for token_id in contents.unmade:
        token = contents.token(token_id)
        if _SPECIAL.fullmatch(token):
            found[token.decode()] = token_id
    return found


def are_known(special_tokens: Iterable[str]) -> bool:
    """Tell whether all these texts, if written to the files, would be recognised as special tokens."""
    tokens = {name: bytes_of(name) for name in special_tokens}
    return all(
        token is None or (_SPECIAL.fullmatch(token) and token == name.encode()) for name, token in tokens.items()
    )


def _read(vocab: Buffer, merges: Buffer, where: tuple[str, str]) -> Contents:
    plain = _gpt2.read(vocab, merges)
    if plain is not None:
        token_bytes, token_ends, triples, named, unmade = plain
        try:
            names = {loads(text): token_id for text, token_id in named}
        except ValueError:
            names = {}
        if len(names) == len(named):  # else a text appears twice: the slow reader tells which
            return Contents(token_bytes, token_ends, triples, names, unmade)
    return read_slowly(bytes(vocab), bytes(merges), where)


def read_slowly(vocab: bytes, merges: bytes, where: tuple[str, str]) -> Contents:
    """Read any two files, or raise an error for the first fault. The slow counterpart of `_gpt2.read`."""
    ids, names = _read_vocab(vocab, where[0])
    empty = names.pop("", None)  # Whisper has an empty token, which no text becomes
    triples = _read_merges(merges, ids, where[1])
    tokens = [b""] * (max((*ids.values(), *names.values()), default=-1) + 1)
    for token, token_id in ids.items():
        tokens[token_id] = token
    made = {merged for _, _, merged in triples}
    unmade = [i for i, token in enumerate(tokens) if len(token) > 1 and i not in made]
    ends, end = bytearray(), 0
    for token in tokens:
        end += len(token)
        ends += end.to_bytes(4, sys.byteorder)
    return Contents(b"".join(tokens), bytes(ends), pack_merges(triples), names, unmade, empty)


def _read_vocab(data: bytes, where: str) -> tuple[dict[bytes, int], dict[str, int]]:
    """Return (token → id, text → id for each text that does not represent bytes)."""
    tokens: dict[bytes, int] = {}
    names: dict[str, int] = {}
    texts: dict[int, str] = {}
    for text, token_id in _entries(data, where):
        if type(token_id) is not int or not 0 <= token_id <= _MAX_ID:
            raise FormatError(
                f"{where}: token {text!r} has the id {token_id!r:.40}, which is not an integer from 0 to {_MAX_ID}"
            )
        if texts.setdefault(token_id, text) != text:
            raise FormatError(f"{where}: tokens {texts[token_id]!r} and {text!r} have the same id {token_id}")
        token = bytes_of(text) if text else None
        known = names.setdefault(text, token_id) if token is None else tokens.setdefault(token, token_id)
        if known != token_id:
            raise FormatError(f"{where}: token {text!r} appears twice, with the ids {known} and {token_id}")
    if texts:
        last = max(texts)
        check_spread(last, len(texts), f"{where}: token {texts[last]!r}: the id")
    return tokens, names


def _entries(data: bytes, where: str) -> Iterable[tuple[str, object]]:
    try:
        entries = loads(data, object_pairs_hook=_Pairs)
    except RecursionError:
        raise FormatError(f"{where}: it is nested too deeply for an object of tokens and ids") from None
    except ValueError as error:
        raise FormatError(f"{where}: not JSON: {error}") from None
    if not isinstance(entries, _Pairs):
        raise FormatError(f"{where}: expected a JSON object of tokens and ids, found {type(entries).__name__}")
    return entries


class _Pairs(list[tuple[str, object]]):
    """Keys and values of a JSON object, including repeated keys."""

    def __repr__(self) -> str:
        return "{...}"  # for the error about an object in place of an id


def _read_merges(data: bytes, ids: Mapping[bytes, int], where: str) -> list[tuple[int, int, int]]:
    triples: list[tuple[int, int, int]] = []
    lines_of: dict[tuple[int, int], int] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        line = line.removesuffix(b"\r")
        if not line or line.startswith(_VERSION.encode()):
            continue
        left, right, merged = _parse_merge(line, ids, f"{where}:{number}")
        if lines_of.setdefault((left, right), number) != number:
            raise FormatError(f"{where}:{number}: this merge is already on line {lines_of[left, right]}")
        triples.append((left, right, merged))
    return triples


def _parse_merge(line: bytes, ids: Mapping[bytes, int], where: str) -> tuple[int, int, int]:
    try:
        texts = line.decode().split(" ")
    except UnicodeDecodeError:
        raise FormatError(f"{where}: not UTF-8: {line[:80]!r}") from None
    tokens = [bytes_of(text) for text in texts]
    if len(texts) == 2 and all(texts) and not all(tokens):
        text = texts[tokens.index(None)]
        raise FormatError(f"{where}: {text[:80]!r} has a character that stands for no byte, {_OF_CHARACTERS}")
    if len(texts) != 2 or not all(tokens):
        raise FormatError(f"{where}: expected two tokens with a space between, found {line.decode()[:80]!r}")
    left, right = (token or b"" for token in tokens)
    for token, text in ((left, texts[0]), (right, texts[1]), (left + right, "".join(texts))):
        if token not in ids:
            raise FormatError(f"{where}: {text[:80]!r} is not a token of the vocabulary")
    return ids[left], ids[right], ids[left + right]


def dump(
    tokens: Sequence[bytes],
    merges: Sequence[tuple[int, int, int]],
    special_tokens: Mapping[str, int],
    empty: int | None = None,
) -> dict[str, bytes]:
    """Return the two files by name, as tokenizers writes them: special tokens are entries like all other tokens.

    empty: id of the empty token; None: no such token.

    Raises FormatError if such files cannot store the vocabulary.
    """
    texts = [text_of(token) for token in tokens]
    entries = {text: token_id for token_id, text in enumerate(texts) if text}
    for text, token_id in ((text, token_id) for token_id, text in enumerate(texts) if text):
        if entries[text] != token_id:
            raise FormatError(
                f"the ids {token_id} and {entries[text]} are both the token {tokens[token_id]!r}, but "
                f"{VOCAB_FILE} can store a token only once; export this tokenizer as native"
            )
    for name, token_id in special_tokens.items():
        if name in entries:
            raise FormatError(
                f"in {VOCAB_FILE}, the special token {name!r} and the token {tokens[entries[name]]!r} (id "
                f"{entries[name]}) would have the same text; rename the special token"
            )
        token = bytes_of(name)
        if token not in (None, name.encode()):
            raise FormatError(
                f"in {VOCAB_FILE}, the special token {name!r} would mean the bytes {token!r}; rename it"
            )
        entries[name] = token_id
    if empty is not None:
        entries[""] = empty
    in_order = dict(sorted(entries.items(), key=lambda entry: entry[1]))
    lines = [f"{_VERSION}: 0.2", *(f"{texts[left]} {texts[right]}" for left, right, _ in merges)]
    return {
        VOCAB_FILE: json.dumps(in_order, ensure_ascii=False, separators=(",", ":")).encode(),
        MERGES_FILE: ("\n".join(lines) + "\n").encode(),
    }
