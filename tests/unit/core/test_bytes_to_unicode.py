"""GPT-2's table of bytes and characters."""

from tokenizers.pre_tokenizers import ByteLevel

from fastbpe._core.text.bytes_to_unicode import bytes_to_unicode
from fastbpe.formats.byte_level import bytes_of, text_of
from reference import STAND_IN_ORDER


def test_table_has_the_characters_of_tokenizers() -> None:
    table = bytes_to_unicode()
    assert {*table.values()} == {*ByteLevel.alphabet()}
    assert list(table) == list(STAND_IN_ORDER) == sorted(range(256), key=table.__getitem__)


def test_every_byte_comes_back_from_its_character() -> None:
    every = bytes(range(256))
    assert text_of(every) == "".join(map(bytes_to_unicode().__getitem__, every))
    assert bytes_of(text_of(every)) == every


def test_other_characters_stand_for_no_byte() -> None:
    for text in (" ", "\xad", "\u0144", "a\n", "é日"):
        assert bytes_of(text) is None
