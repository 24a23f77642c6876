"""Character sets: set algebra, and the facts of Unicode 16.0.0 that split patterns depend on."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.splitting.charset import ANY, CharSet
from fastbpe.splitting.set_tables import N_BLOCKS, SetTables

small_sets = st.builds(
    CharSet.from_ranges,
    st.lists(
        st.tuples(st.integers(0xD7F0, 0xE010), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair))),
        max_size=5,
    ),
)


def test_ranges_are_sorted_merged_and_without_surrogates():
    assert CharSet.from_ranges([(5, 6), (1, 2), (3, 3), (6, 9)]).ranges == ((1, 3), (5, 9))
    assert CharSet.from_ranges([(0xD7FF, 0xE000)]).ranges == ((0xD7FF, 0xD7FF), (0xE000, 0xE000))
    assert len(ANY) == 1_112_064


@pytest.mark.parametrize("ends", [(2, 1), (-1, 1), (0, 0x110000)])
def test_impossible_range_is_refused(ends):
    with pytest.raises(ValueError, match="is not a range"):
        CharSet.from_ranges([ends])


@pytest.mark.daily
@given(small_sets, small_sets)
def test_set_operations_equal_the_operations_of_python_sets(one, two):
    mine, theirs = set(one), set(two)
    assert set(one | two) == mine | theirs
    assert set(one & two) == mine & theirs
    assert set(one - two) == mine - theirs
    assert set(one ^ two) == mine ^ theirs
    assert len(~one) == 1_112_064 - len(mine)
    assert ~~one == one
    assert not (one & ~one)
    assert (one == two) == (mine == theirs)
    assert one != two or hash(one) == hash(two)


@given(small_sets, st.integers(0xD7E0, 0xE020))
def test_charset_contains_exactly_the_listed_characters(characters, code_point):
    expected = code_point in {ord(character) for character in characters}
    assert (code_point in characters) == expected
    assert (chr(code_point) in characters) == expected


def test_charset_is_immutable():
    with pytest.raises(AttributeError, match="does not change"):
        ANY.ranges = ()


def test_charset_pickles_and_has_a_short_repr():
    letters = CharSet.category("L")
    assert pickle.loads(pickle.dumps(letters)) == letters
    assert repr(CharSet.of("abcé")) == "CharSet('a-c U+00E9')"
    assert repr(letters).endswith("669 ranges more)")
    assert CharSet.of("a") != "a"


@pytest.mark.parametrize(
    ("names", "size"),
    [
        (("L", "l", "Letter", "gc=L", "isLetter"), 141_028),
        (("Lu", "Uppercase_Letter", "uppercase letter"), 1_858),
        (("LC", "Cased-Letter"), 4_147),
        (("Nd", "Decimal_Number", "digit"), 760),
        (("Zs", "Space_Separator"), 17),
        (("Cs",), 0),
        (("White_Space", "space"), 25),
        (("Greek", "Grek", "script=Greek", "sc:Grek"), 518),
        (("Any",), 1_112_064),
        (("ASCII",), 128),
    ],
)
def test_all_spellings_of_a_property_give_the_same_set(names, size):
    assert {len(CharSet.property(name)) for name in names} == {size}


def test_negated_property_is_the_complement():
    assert CharSet.property("gc!=L") == ~CharSet.category("L")


@pytest.mark.parametrize("name", ["", "Klingon", "L&", "block=Greek", "gc=Greek", "sc=L", "Lx"])
def test_unknown_property_is_a_key_error(name):
    with pytest.raises(KeyError):
        CharSet.property(name)


def test_every_character_has_one_category():
    categories = """Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So
        Zs Zl Zp Cc Cf Co Cn"""
    assert sum(len(CharSet.category(name)) for name in categories.split()) == 1_112_064
    assert CharSet.category("C") == CharSet.from_ranges(
        each for name in ("Cc", "Cf", "Co", "Cn") for each in CharSet.category(name).ranges
    )


def test_tables_have_the_categories_of_unicode_16():
    assert "\u1c89" in CharSet.category("Lu")  # new in Unicode 16
    assert "\u20c1" in CharSet.category("Cn")  # new in Unicode 17
    assert "\u0295" in CharSet.category("Ll")  # category Lo from Unicode 17 on


def test_white_space_excludes_separator_controls_and_zero_width_characters():
    assert "\x85" in CharSet.white_space()
    assert not CharSet.of("\u180e\x1c\x1d\x1e\x1f\u200b\ufeff") & CharSet.white_space()


def test_word_includes_marks_joiners_and_letter_like_symbols():
    assert CharSet.of("aé_1\u0301\u200c\u200d\u203fⓐ٣Ⅷ") - CharSet.word() == CharSet(())
    assert not CharSet.of("-²½\u200b") & CharSet.word()


@pytest.mark.parametrize(
    "alike",
    [
        "kK\u212a",
        "sS\u017f",
        "iI",
        "ßẞ",
        "σςΣ",
        "ǆǅǄ",
        "θϑΘϴ",
        "вВᲀ",
        "ﬅﬆ",
        "ᾳᾼ",
        "\u0390\u1fd3",
        "ı",
        "İ",
        "1",
    ],
)
def test_case_closure_contains_all_case_variants(alike):
    for character in alike:
        assert CharSet.of(character).case_closure() == CharSet.of(alike)


def test_case_closure_is_idempotent():
    letters = CharSet.category("Ll").case_closure()
    assert letters.case_closure() == letters
    assert CharSet.word().case_closure() == CharSet.word()


@pytest.mark.daily
@given(small_sets, st.sampled_from([CharSet(()), CharSet.of("aé漢😀"), CharSet.category("L"), ANY]))
def test_tables_of_a_set_have_exactly_its_members(characters, more):
    tables = SetTables()
    tables.number(CharSet.of("x"))  # other sets share its blocks
    both = characters | more
    number = tables.number(both)
    answers, index = tables.bytes[256 * number :], tables.index[N_BLOCKS * number :]
    bits = tables.blocks.tobytes()
    for code_point in [*range(0x400), *range(0x3FF0, 0x4010), *range(0xD7E0, 0xE020), 0x1F600, 0x10FFFF]:
        if 0xD800 <= code_point < 0xE000:
            continue
        utf8 = chr(code_point).encode()
        answer, byte = answers[utf8[0]], 32 * index[code_point >> 8] + (code_point & 0xFF) // 8
        assert bits[byte] >> (code_point & 7) & 1 == (code_point in both)
        assert answer == 5 or answer == (len(utf8) if code_point in both else 0)
