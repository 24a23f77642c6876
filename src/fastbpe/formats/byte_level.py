"""Tokens as GPT-2 writes them: one visible character per byte (`bytes_to_unicode`), such as "Ġ" for a space."""

from __future__ import annotations

from fastbpe._core.text.bytes_to_unicode import bytes_to_unicode

#: The byte that each of the 256 characters represents.
BYTE_OF_CHARACTER = {character: byte for byte, character in bytes_to_unicode().items()}
_CHARACTERS = {byte: character for byte, character in bytes_to_unicode().items() if chr(byte) != character}


def bytes_of(text: str) -> bytes | None:
    """Return the bytes that a text represents; None if one of its characters represents no byte.

    >>> bytes_of("Ġhello"), bytes_of("<|im start|>")
    (b' hello', None)
    """
    if is_visible_ascii(text):
        return text.encode()
    try:
        return bytes([BYTE_OF_CHARACTER[character] for character in text])
    except KeyError:
        return None


def text_of(token: bytes) -> str:
    """Return the text that represents these bytes.

    >>> text_of(b" hello")
    'Ġhello'
    """
    text = token.decode("latin-1")
    return text if is_visible_ascii(text) else text.translate(_CHARACTERS)


def is_visible_ascii(text: str) -> bool:
    """Tell whether all characters are visible ASCII, which GPT-2 writes unchanged. (Most added tokens are.)"""
    return text.isascii() and text.isprintable() and " " not in text
