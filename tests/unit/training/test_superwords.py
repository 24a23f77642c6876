"""Superwords: options, sources, bases, reports and errors."""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import Superwords, Tokenizer, TrainingError, TrainingWarning, train
from fastbpe._core.text.bytes_to_unicode import bytes_to_unicode
from fastbpe._core.train.token_limits import TokenLimits
from fastbpe.cli.command_line import main
from fastbpe.model import Model, pack_merges

TEXTS = ["in the end of the day, the end of the week: the end\n"] * 5
WORDS = r" ?[a-z]+|\s+|[^a-z\s]+"


def superwords_of(tokenizer: Tokenizer) -> list[bytes]:
    return [token for token in tokenizer.vocab if b" " in token.strip()]


def learned(source: Any = TEXTS, *, start: float | None = 265, vocab_size: Any = 275, **options: Any) -> Tokenizer:
    keywords = {name: options.pop(name) for name in ("max_words", "forbid", "documents") if name in options}
    return train(source, vocab_size=vocab_size, superwords=Superwords(start, **keywords), **options)


def test_tokens_span_words_and_no_more_words_than_allowed() -> None:
    found = superwords_of(learned(max_words=2))
    assert b" of the" in found
    assert max(len(token.split()) for token in found) == 2
    assert max(len(token.split()) for token in superwords_of(learned(max_words=None, vocab_size=281))) > 4


def test_first_tokens_of_a_base_may_have_no_bytes() -> None:
    """The ids of special tokens lack bytes. UBSan would report a copy to a null pointer."""
    for tokens in ([b""], [b"", b"", b"a"]):
        assert TokenLimits(tokens).tokens() == tokens


def test_forbidden_texts_are_in_no_new_token() -> None:
    assert any(b": " in token for token in learned(forbid=[], vocab_size=278).vocab)
    assert not any(b": " in token for token in learned(vocab_size=278).vocab)
    for forbid in (["e"], [*map(chr, range(0x100, 0x180)), "e"]):
        assert not any(b"e" in token for token in learned(forbid=forbid, vocab_size=271).vocab[265:])


def test_lines_are_documents_or_not() -> None:
    text = "the end\nthe end\nthe end\n" * 3 + "then an eel\n"
    assert not any(b"\nt" in token for token in learned([text], start=260, vocab_size=263).vocab)
    assert any(b"\nt" in token for token in learned([text], start=260, vocab_size=263, documents="whole").vocab)


def test_special_tokens_cut_texts_and_come_last() -> None:
    texts = ["the end<|x|>of the end<|x|>of\n"] * 4
    tokenizer = train(texts, vocab_size=266, special_tokens=["<|x|>"], superwords=Superwords(262))
    assert tokenizer.special_tokens == {"<|x|>": 265}
    assert superwords_of(tokenizer)
    assert not any(b"endof" in token or b"<|" in token for token in tokenizer.vocab[256:-1])
    assert tokenizer.decode(tokenizer.encode(texts[0], allowed_special="all")) == texts[0]


def test_all_kinds_of_sources_give_the_same(tmp_path: Path) -> None:
    lines = ["".join(TEXTS), "of the day\nof the week"]
    expected = learned(lines)
    (tmp_path / "a.txt").write_text(lines[0])
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": lines[1]}) + "\n")

    class Again:
        def __iter__(self) -> Iterator[str]:
            return iter(lines)

    for source in (iter(lines), (line.encode() for line in lines), Again(), tuple(lines), tmp_path):
        assert learned(source).vocab == expected.vocab
    paths = (path for path in [tmp_path / "a.txt", tmp_path / "b.jsonl"])
    assert learned(paths, text_field="text").vocab == expected.vocab


@pytest.mark.parametrize("superwords", ["words", "boundless", Superwords(257)])
def test_iterator_is_stored_with_surrogates_and_counts_what_it_skips(superwords: Any, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.jsonl").write_text('{"text": "the end of the end"}\n{broken\n')
    (tmp_path / "a" / "unread.md").write_text("prose")
    documents = [tmp_path / "a", "of the \ud800 end \ud83d\ude00"]
    options: Any = {"vocab_size": 260, "superwords": superwords, "on_error": "skip"}
    of_list, of_iterator = (train(source, **options) for source in (documents, iter(documents)))
    assert of_iterator.vocab == of_list.vocab
    for tokenizer in (of_list, of_iterator):
        assert tokenizer.training_report["n_skipped"] == tokenizer.training_report["n_files_left_out"] == 1


def test_long_documents_are_divided_after_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    from fastbpe.training import runs

    text = "".join(TEXTS) + "the end of all"
    expected = learned([text]).vocab
    monkeypatch.setattr(runs, "_BLOCK_UNITS", 7)
    for document in (text, text.encode()):
        assert [*runs._cut_after_line_feeds([document])] != [document]
        assert document[:0].join(runs._cut_after_line_feeds([document])) == document  # type: ignore[arg-type]
        assert learned([document]).vocab == expected
    assert [*runs._cut_after_line_feeds(["", "\n\n"])] == ["", "\n\n"]


def test_a_base_keeps_its_ids_and_gets_superwords() -> None:
    base = train(TEXTS, vocab_size=268, pattern=WORDS, special_tokens=["<|x|>"])
    with pytest.warns(TrainingWarning, match="texts may get other ids"):
        extended = learned(start=None, vocab_size="+4", base=base)
    assert extended.vocab[:268] == base.vocab
    assert extended.special_tokens == base.special_tokens
    assert superwords_of(extended)[:2] == [b" the end", b" of the"]
    assert extended.vocab_size == 272
    assert extended.training_report["base"] == base.fingerprint
    with pytest.raises(TrainingError, match="already has superwords"):
        learned(start=None, vocab_size="+1", base=extended)


def changed_base(folder: Path, **changes: Any) -> Tokenizer:
    """Return a byte-level tokenizer with other members of its tokenizer.json."""
    train(["ab"], vocab_size=257, pattern="gpt2").export(folder / "tokenizer.json")
    document = json.loads((folder / "tokenizer.json").read_bytes())
    (folder / "tokenizer.json").write_text(json.dumps({**document, **changes}))
    return fastbpe.load(folder / "tokenizer.json")


@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_superwords_cross_the_pre_tokenizers_of_the_base(tmp_path: Path) -> None:
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    steps = [{"type": "Digits", "individual_digits": True}, byte_level]
    base = changed_base(tmp_path, pre_tokenizer={"type": "Sequence", "pretokenizers": steps})
    extended = train(["ab12"], vocab_size="+2", base=base, superwords=Superwords(pattern=None))
    assert extended.vocab[258:] == [b"ab12"]
    assert extended.encode("ab12") == [258]


@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_superword_is_no_special_token_that_normalization_spells(tmp_path: Path) -> None:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    special = {"id": 257, "content": "<s>", "special": True, **flags}
    base = changed_base(tmp_path, normalizer={"type": "NFKC"}, added_tokens=[special])
    extended = train(["\uff1cs\uff1e"], vocab_size="+2", base=base, superwords=Superwords(pattern=None))
    assert extended.vocab[257:] == [b"<s>", b"<s"]


@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_base_of_superwords_may_lack_a_byte_that_no_text_has(tmp_path: Path) -> None:
    names = [name for byte, name in bytes_to_unicode().items() if byte != 0xC0]
    (tmp_path / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate([*names, "ab"])}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n")
    base = fastbpe.load(tmp_path, pattern="gpt2")
    extended = train(["ab ab"], vocab_size="+1", base=base, superwords=Superwords(pattern=None))
    assert extended.vocab[256:] == [b" ab"]


def test_files_hold_superwords(tmp_path: Path) -> None:
    tokenizer = learned()
    text = "of the day, the end of the week"
    for name in ("t.fbpe", "tokenizer.json", "t.tiktoken"):
        tokenizer.export(tmp_path / name)
        loaded = fastbpe.load(tmp_path / name, **({"pattern": tokenizer.pattern} if "tiktoken" in name else {}))
        assert loaded._pipeline.phases is not None
        assert loaded.encode(text) == tokenizer.encode(text)


def test_a_gguf_file_holds_superwords_if_llama_cpp_knows_the_pattern(tmp_path: Path) -> None:
    with pytest.raises(fastbpe.FormatError, match=r"llama\.cpp has no name"):
        learned().export(tmp_path / "t.gguf")
    tokenizer = train(TEXTS, vocab_size=275, superwords=Superwords(265, "superbpe"))
    tokenizer.export(tmp_path / "t.gguf")
    assert fastbpe.load(tmp_path / "t.gguf").encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])


def test_superbpe_s_published_pre_tokenizers_become_llama_cpp_s_name(tmp_path: Path) -> None:
    regexes = (r"\p{N}+", r"(?=(\d{3})+(?!\d))")
    split = {"type": "Split", "behavior": "Isolated", "invert": False}
    splits = [{**split, "pattern": {"Regex": regex}} for regex in regexes]
    steps = [*splits, {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]
    learned().export(tmp_path / "tokenizer.json")
    described = json.loads((tmp_path / "tokenizer.json").read_text())
    described["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    (tmp_path / "tokenizer.json").write_text(json.dumps(described))
    published = fastbpe.load(tmp_path / "tokenizer.json")
    with pytest.warns(fastbpe.FormatWarning, match="digits 0 to 9"):
        published.export(tmp_path / "t.gguf")
    loaded = fastbpe.load(tmp_path / "t.gguf")
    assert loaded.pattern == fastbpe.PATTERNS["superbpe"]
    for text in (TEXTS[0], "in 1234567 of 12, 1234 the end", "x1y22\n\n", ""):
        assert loaded.encode(text) == published.encode(text)


def test_the_report_says_what_was_learned() -> None:
    tokenizer = learned()
    report = tokenizer.training_report
    assert report["superwords"]["start"] == 265
    assert report["n_merges"] == len(tokenizer.merges) == 19
    assert report["n_superword_merges"] == 10 + report["n_dropped_merges"]
    assert json.dumps(report)


def test_progress_names_each_phase() -> None:
    phases: list[str] = []
    learned(progress=lambda phase, done, total: phases.append(phase))
    assert [*dict.fromkeys(phases)] == [
        "counting", "learning", "counting neighbours", "counting runs", "learning superwords"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Superwords(0), TrainingError, "start=0"),
        (lambda: learned(start=255), TrainingError, "start=255 puts .* but the bytes .* raise start=$"),
        (lambda: learned(start=None), TrainingError, "at id 247, but the bytes .* raise start=, or vocab_size="),
        (lambda: Superwords(1.5), TrainingError, "start=1.5"),
        (lambda: Superwords("x"), TypeError, "start"),
        (lambda: Superwords(max_words=0), TrainingError, "max_words=0"),
        (lambda: Superwords(forbid="x"), TrainingError, "must be a list"),
        (lambda: Superwords(forbid=[""]), TrainingError, "empty text"),
        (lambda: Superwords(forbid=[1]), TypeError, "int"),
        (lambda: Superwords(forbid=["\ud800"]), UnicodeEncodeError, "surrogates"),
        (lambda: Superwords(documents="line"), TrainingError, "did you mean 'lines'"),
        (lambda: Superwords(pattern="superbpe_line"), fastbpe.PatternError, "superbpe_lines"),
        (lambda: learned(start=275), TrainingError, "start=275"),
        (lambda: train(TEXTS, vocab_size=270, superwords=4), TypeError, "must be a Superwords"),
        (lambda: learned({"a": 1}), TrainingError, "needs the texts"),
        (lambda: learned(fastbpe.count_pieces(TEXTS)), TrainingError, "needs the texts"),
        (lambda: learned(ties="first"), TrainingError, 'ties="first"'),
        (lambda: learned(mode="codepoint"), fastbpe.OptionError, "mode='byte'"),
        (lambda: learned(base=train(TEXTS, vocab_size=258)), TrainingError, "without a start"),
        (lambda: learned([]), TrainingError, "no text"),
    ],
)  # fmt: skip
def test_errors_name_the_option_and_the_way_out(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_too_little_text_warns() -> None:
    with pytest.warns(TrainingWarning, match="^max_words=4 and forbid=.* leave no pair to merge"):
        tokenizer = learned(["ab\n"], start=257, vocab_size=300)
    assert tokenizer.vocab_size == 258


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({}, "no pair is left to merge: "),
        ({"min_count": 2}, "min_count=2 leaves no pair to merge: "),
        ({"forbid": ["x"]}, r"forbid=\['x'\] leaves no pair to merge: "),
        ({"max_token_bytes": 9, "max_words": 2}, "max_token_bytes=9 and max_words=2 leave no pair to merge: "),
    ],
)
def test_warning_of_few_merges_names_the_limits_of_the_run(options: dict[str, Any], cause: str) -> None:
    with pytest.warns(
        TrainingWarning, match=f"^{cause}the vocabulary has 25[68] entries, not the 300 asked for; "
    ):
        learned(["ab\n"], start=257, vocab_size=300, **{"max_words": None, "forbid": (), **options})


def test_the_command_learns_superwords(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.txt").write_text("".join(TEXTS))
    common = ["train", str(tmp_path / "t.txt"), "-o", str(tmp_path / "t.fbpe"), "--vocab-size", "275", "--force"]
    assert main([*common, "--superwords", "265", "--superwords-max-words", "2", "--superwords-forbid", "x"]) == 0
    expected = learned(max_words=2, forbid=["x"])
    assert fastbpe.load(tmp_path / "t.fbpe").vocab == expected.vocab
    assert main(["info", str(tmp_path / "t.fbpe")]) == 0
    n_superwords = len(superwords_of(expected))
    assert f"{n_superwords} tokens that span several words" in capsys.readouterr().out
    assert main([*common, "--superwords-max-words", "2"]) == 1
    assert "--superwords N" in capsys.readouterr().err
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main([*common, "--superwords", "0.97"]) == 0


def test_an_early_merge_may_join_a_token_that_a_later_one_makes() -> None:
    tokens = [*(bytes([byte]) for byte in range(256)), b"xy", b"xya", b" b", b"a b"]
    merges = [(256, 97, 257), (32, 98, 258), (97, 258, 259), (120, 121, 256)]
    model = Model(
        tokens=tokens,
        pattern=None,
        special_tokens={},
        merges=pack_merges(merges),
        merges_rule="merges",
        whole_piece_first=False,
    )
    assert Tokenizer(model).encode("xya b xy") == [256, 259, 32, 256]


def test_special_tokens_from_an_iterator_count_in_both_stages() -> None:
    texts = ["the end<stop>of the day<stop>of the end"] * 9
    options: dict[str, Any] = {"vocab_size": 265, "superwords": Superwords(start=262), "progress": False}
    listed, iterated = (
        fastbpe.train(texts, special_tokens=names, **options) for names in (["<stop>"], iter(["<stop>"]))
    )
    assert iterated.training_report == listed.training_report
    assert iterated == listed
