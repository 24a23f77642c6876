"""Named patterns, and the meaning of the `pattern` argument."""

import re

import pytest

from fastbpe import Tokenizer, load, train
from fastbpe.errors import PatternError
from fastbpe.patterns import OTHER_NAMES, PATTERNS, resolve_pattern
from fastbpe.splitting import make_splitter
from helpers.shared_data import BYTES

TEXT = "I'LL say it's 1234 — naïveXMLParser...\n\n\tdone//\n  "
PIECES = {
    "deepseek_v3": "I|'LL| say| it|'s| |123|4| —| naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "gpt2": "I|'|LL| say| it|'s| 1234| —| naïveXMLParser|...|\n\n|\t|done|//|\n  ",
    "cl100k": "I|'LL| say| it|'s| |123|4| —| naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "o200k": "I'LL| say| it's| |123|4| —| naïve|XMLParser|...\n\n|\tdone|//\n|  ",
    "llama3": "I|'LL| say| it|'s| |123|4| —| naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "llama4": "I'LL| say| it's| |123|4| —| naïve|XMLParser|...\n\n|\tdone|//\n|  ",
    "qwen2": "I|'LL| say| it|'s| |1|2|3|4| —| naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "tekken": "I|'LL| say| it|'s| |1|2|3|4| —| naïve|XMLParser|...\n\n|\tdone|//\n|  ",
    "qwen35": "I|'LL| say| it|'s| |1|2|3|4| —| naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "kimi": "I'LL| say| it's| |123|4| —| naïve|XMLParser|...\n\n|\tdone|//\n|  ",
    "nemotron": "I|'LL| say| it|'s| |1|2|3|4| —| naïve|XMLParser|...\n\n|\tdone|//\n|  ",
    "olmo3": "I|'LL| say| it|'s| |123|4| —| naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "deepseek-llm": "I|'|LL| say| it|'|s| |1|2|3|4| |—| na|ï|veXMLParser|...|\n|\n|\tdone|//|\n|  ",
    "deepseek-coder": "I|'|LL| say| it|'|s| |1|2|3|4| |—| naïveXMLParser|...|\n|\n|\tdone|//|\n|  ",
    "starcoder": "I|'|LL| say| it|'s| |1|2|3|4| —| naïveXMLParser|...|\n\n|\t|done|//|\n  ",
    "falcon": "I|'|LL| say| it|'|s| |123|4| |—| naïveXMLParser|...|\n\n|\t|done|//|\n  ",
    "bloom": "I'LL| say| it's| 1234| —| naïveXMLParser|...\n\n\t|done//|\n  ",
    "viking": "I'LL| say| it's| |1|2|3|4| —| naïveXMLParser|...\n\n\t|done//|\n  ",
    "bailingmoe": "I|'LL| say| it|'s| |1|2|3|4| —| naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "seed-coder": "I|'LL| say| it|'s| |1|2|3|4| —| naïveXMLParser|...|\n\n|\tdone|//|\n|  ",
    "ufakzeka": "I|'LL| say| it|'s| |1|2|3|4| —| naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "minicpm5": "I|'LL| say| it|'s| |123|4| —| naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "jais-2": "I|'LL| say| it|'s| |123|4| —| naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "youtu": "I'LL| say| it's| |1|2|3|4| |—| naïve|XMLParser|...\n\n|\tdone|//\n|  ",
    "tiny_aya": "I'LL| say| it's| |1|234| —| naïve|XMLParser|...\n\n|\tdone|//\n|  ",
    "exaone-moe": "I|'LL| say it|'s| |1|2|3|4| —| naïveXMLParser|...\n|\n|\tdone|//\n|  ",
    "laguna": "I|'LL| say| it|'s| |1|2|3|4| —| naïveXMLParser|...|\n\n|\tdone|//|\n|  ",
    "superbpe_words": "I|'LL| say| it|'s| |123|4| —| naïve|XMLParser|...\n\n|\tdone|//\n|  ",
    "superbpe_lines": "I'LL say it's |123|4| — naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "superbpe": "I'LL say it's |1|234| — naïveXMLParser...\n\n\tdone//\n  ",
    "afmoe": "I|'LL| say| it|'s| |1|234| —| naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "spark2_5": "I|'LL| say| it|'s| |1|2|3|4| —| naïveXMLParser|...|\n|\n|\tdone|//|\n|  ",
    "chameleon": "I|'|LL| say| it|'|s| |1|2|3|4| |—| naïveXMLParser|.|.|.|\n|\n|\t|done|/|/|\n|  ",
}


@pytest.mark.parametrize("name", PIECES)
def test_named_pattern_splits_the_example(name):
    found = make_splitter(PATTERNS[name]).pieces(TEXT)
    assert [TEXT.encode()[start:end].decode() for start, end in found] == PIECES[name].split("|")


def test_every_named_pattern_has_an_example():
    assert set(PATTERNS) == {*PIECES, "none"}


def test_table_of_patterns_is_read_only():
    with pytest.raises(TypeError):
        PATTERNS["gpt2"] = "a"


#: Names of a text that has an earlier name in PATTERNS → that name.
LATER_NAMES = {"llama4": "o200k", "olmo3": "llama3", "nemotron": "tekken"}


@pytest.mark.parametrize("name", PATTERNS)
def test_pattern_name_resolves_to_its_pattern(name):
    assert resolve_pattern(name) == (LATER_NAMES.get(name, name), PATTERNS[name])


@pytest.mark.parametrize(("name", "first"), LATER_NAMES.items())
def test_reprs_show_the_first_name_of_a_pattern(name, first, tmp_path):
    trained = train(["ab ab"], vocab_size=257, pattern=name, progress=False)
    made = Tokenizer.from_ranks(BYTES, pattern=name)
    made.save(tmp_path / "a.fbpe")
    for tokenizer in (trained, made, load(tmp_path / "a.fbpe")):
        assert f", pattern {first} (" in repr(tokenizer)


def test_text_of_a_named_pattern_resolves_to_its_name():
    assert resolve_pattern(PATTERNS["cl100k"]) == ("cl100k", PATTERNS["cl100k"])
    assert resolve_pattern(PATTERNS["llama4"])[0] == "o200k"  # the same text: the first name wins


def test_pattern_none_resolves_to_no_splitting():
    assert resolve_pattern(None) == ("none", None)


@pytest.mark.parametrize("regex", [r"\w+|\W+", "(?:the)", "(?:gpt9)", "a|b", "a+", "12", "_", "a", "a-z", "."])
def test_regex_resolves_to_itself_without_a_name(regex):
    assert resolve_pattern(regex) == (None, regex)


@pytest.mark.parametrize(
    ("mistake", "meant"),
    [
        ("cl100k_base", "cl100k"),
        ("o200k_harmony", "o200k"),
        ("r50k_base", "gpt2"),
        ("GPT-2", "gpt2"),
        ("gpt4", "cl100k"),
        ("lama3", "llama3"),
        ("Llama-3", "llama3"),
        ("teken", "tekken"),
        ("qwen", "qwen2"),
        ("kimi2", "kimi"),
        ("deepseek-lm", "deepseek-llm"),
        ("smolm", "smollm"),
    ],
)
def test_misspelt_pattern_name_error_suggests_the_nearest(mistake, meant):
    with pytest.raises(
        PatternError, match=rf"named '{mistake}', did you mean '{meant}'\? fastbpe knows gpt2, cl100k"
    ):
        resolve_pattern(mistake)


def test_unknown_pattern_name_error_lists_the_known_names():
    with pytest.raises(PatternError, match="named 'deepmind_9'; fastbpe knows gpt2"):
        resolve_pattern("deepmind_9")


@pytest.mark.parametrize("word", ["the", "Ωmega", "words", "kimmmy"])
def test_single_word_is_an_unknown_name_and_not_a_regex(word):
    with pytest.raises(
        PatternError, match=rf"named '{word}'.*fastbpe knows gpt2.*regex: '\(\?:{word}\)' matches the text"
    ):
        resolve_pattern(word)


@pytest.mark.parametrize(
    ("family", "told"),
    [
        ("mistral", "Mistral NeMo and later have 'tekken'"),
        ("phi", "Phi-2 has 'gpt2'"),
        ("gemma", 'sentencepiece models, which no pattern splits: train with mode="codepoint"'),
        ("granite", "Granite 3 has 'starcoder'"),
        ("claude", "'gpt2' after NFKC"),
        ("whitespace", "for no splitting, pass 'none'"),
        ("llama2", "no pattern splits"),
        ("llama1", "Llama 1 and 2"),
        ("gemma_3", "no pattern splits"),
    ],
)
def test_name_of_a_family_tells_what_its_models_have(family, told):
    with pytest.raises(PatternError, match=re.escape(told)):
        train(["some text"], vocab_size=260, pattern=family)


@pytest.mark.parametrize(
    ("other", "name"),
    [("kimi-k2", "kimi"), ("whisper", "gpt2"), ("olmo", "gpt2"), ("phi-2", "gpt2"), ("glm4", "llama3"),
     ("deepseek-v3", "deepseek_v3"), ("deepseek_llm", "deepseek-llm"), ("smollm", "starcoder")],
)  # fmt: skip
def test_other_name_stands_for_its_pattern(other, name):
    assert resolve_pattern(other) == (name, PATTERNS[name])


def test_every_other_name_stands_for_a_named_pattern():
    assert {*OTHER_NAMES.values()} <= PATTERNS.keys()
    assert not OTHER_NAMES.keys() & PATTERNS.keys()


@pytest.mark.parametrize("word", ["kimi", "gpt2", "the"])
def test_word_as_the_regex_of_a_file_stays_a_regex(word, tmp_path):
    """A file's pattern is a regex, whatever its text."""
    (tmp_path / "a.model").write_text(f"minbpe v1\n{word}\n0\n")
    tokenizer = load(tmp_path / "a.model")
    assert tokenizer.pattern == f"(?:{word})"
    assert tokenizer.pieces(f"x{word}y") == [(0, 1), (1, len(word) + 1), (len(word) + 1, len(word) + 2)]
    tokenizer.save(tmp_path / "a.fbpe")
    assert load(tmp_path / "a.fbpe") == tokenizer
    tokenizer.export(tmp_path / "a.json", format="huggingface")
    assert load(tmp_path / "a.json").pattern == tokenizer.pattern
