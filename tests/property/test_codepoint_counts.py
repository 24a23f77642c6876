"""Words counted in shards, saved, loaded and added teach the same model as the whole text, for every option."""

from __future__ import annotations

import random
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, OptionError, PieceCounts, TrainingError, count_pieces
from fastbpe.errors import SpecError
from fastbpe.formats import piece_counts_file as counts_format
from fastbpe.training.codepoint_counts import COUNTING_NAMES
from fastbpe.training.codepoint_options import NAMES
from helpers.random_training import Options, peer_trained, random_options, random_sentences, twin_pieces
from helpers.sampling import rounds, share_of

LINES = [f"low lower lowest {i} новый 新しい" for i in range(9)]


def count(source: Any, **options: Any) -> PieceCounts:
    return count_pieces(source, mode="codepoint", progress=False, **options)


def model_bytes(source: Any, folder: Path, **options: Any) -> bytes | str:
    """Train in code-point mode; return the .model file, or the error."""
    try:
        tokenizer = fastbpe.train(source, mode="codepoint", progress=False, **options)
    except (SpecError, TrainingError, OptionError) as error:
        return str(error)
    tokenizer.export(folder / "m.model", format="sentencepiece", verify=False)
    return (folder / "m.model").read_bytes()


def counted_in_shards(rng: random.Random, documents: list[Any], folder: Path, options: Options) -> PieceCounts:
    """Count random parts of the documents, some through a file, and add the counts in a random order."""
    shards: list[list[Any]] = [[] for _ in range(rng.randint(1, 4))]
    for document in documents:
        rng.choice(shards).append(document)
    made = []
    for shard in shards:
        counts = count(iter(shard), num_threads=rng.choice([1, 2]), **options)
        if rng.random() < 0.5:
            counts.save(folder / "shard.pieces")
            counts = PieceCounts.load(folder / "shard.pieces")
        made.append(counts)
    rng.shuffle(made)
    return reduce(add, made)


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_random_shards_teach_the_model_of_the_whole_to_the_byte(tmp_path: Path) -> None:
    n_models = n_peers = 0
    refusals = []
    for number in rounds(60, 2000):
        rng = random.Random(f"codepoint counts {number}")
        sentences = [s.replace(b"\n", b" ").replace(b"\r", b" ") for s in random_sentences(rng)]
        sentences = [s.decode(errors="replace").encode() for s in sentences]
        options = random_options(rng, sentences)
        if rng.random() < 0.1:
            options["input_format"] = rng.choice(["text", "tsv"])
            if options["input_format"] == "tsv":
                sentences = [b"%s\t%d" % (s.replace(b"\t", b" "), rng.randint(1, 4)) for s in sentences]
        for_counts = {name: value for name, value in options.items() if name in COUNTING_NAMES}
        for_learning = {name: value for name, value in options.items() if name not in COUNTING_NAMES}
        if rng.random() < 0.2:  # what was said at counting may be said again
            for_learning = options
        whole = model_bytes(iter(sentences), tmp_path, **options)
        try:
            counts = counted_in_shards(rng, sentences, tmp_path, for_counts)
        except (SpecError, TrainingError) as error:
            refusals.append((str(error), str(whole)))
            continue
        assert model_bytes(counts, tmp_path, **for_learning) == whole, (sentences, options)
        n_models += isinstance(whole, bytes)
        if isinstance(whole, bytes) and "input_format" not in options:
            assert whole == peer_trained(sentences, options), (sentences, options)
            n_peers += 1
    for found, expected in refusals:
        assert found.split(", ")[0] == expected.split(", ")[0]  # one of the two knows vocab_size
    assert n_models > share_of(4)
    assert n_peers > share_of(3)


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_random_shards_teach_the_pieces_of_the_slow_twin(tmp_path: Path) -> None:
    n_done = 0
    for number in rounds(10, 300):
        rng = random.Random(f"counts and twin {number}")
        sentences = [s.replace(b"\n", b" ").replace(b"\r", b" ") for s in random_sentences(rng)[:4]]
        sentences = [s.decode(errors="replace").encode() for s in sentences]
        options = random_options(rng, sentences) | {"hard_vocab_limit": False, "byte_fallback": False}
        options["vocab_size"] = 60
        for_counts = {name: value for name, value in options.items() if name in COUNTING_NAMES}
        for_learning = {name: value for name, value in options.items() if name not in COUNTING_NAMES}
        try:
            counts = counted_in_shards(rng, sentences, tmp_path, for_counts)
            tokenizer = fastbpe.train(counts, mode="codepoint", progress=False, **for_learning)
        except (SpecError, TrainingError):
            continue
        model = tokenizer._family.own  # type: ignore[attr-defined]
        found = [p.decode() for p, kind in zip(model.pieces, model.types, strict=True) if kind == 1]
        assert found == twin_pieces(sentences, options), (sentences, options)
        n_done += 1
    assert n_done > 0


@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_shards_teach_what_follows_a_base(tmp_path: Path) -> None:
    base = fastbpe.train(
        LINES,
        mode="codepoint",
        vocab_size=50,
        user_defined_symbols=["<x>"],
        progress=False,
        hard_vocab_limit=False,
    )
    for number in rounds(8, 300):
        rng = random.Random(f"counts and base {number}")
        lines = [f"low{c} {c * 2}lowest <x> {c}" for c in rng.choices("abcdя新1", k=6)]
        options = {"split_digits": rng.random() < 0.5, "split_by_whitespace": rng.random() < 0.5}
        learning = {"vocab_size": "+15", "hard_vocab_limit": False, "base": base}
        counts = counted_in_shards(rng, lines, tmp_path, {"base": base, **options})
        whole = fastbpe.train(iter(lines), mode="codepoint", progress=False, **learning, **options)
        assert fastbpe.train(counts, mode="codepoint", progress=False, **learning) == whole
    with pytest.raises(TrainingError, match="symbols differ"):
        fastbpe.train(count(LINES), mode="codepoint", progress=False, **learning)
    with pytest.raises(OptionError, match="cannot be changed with base="):
        count(LINES, base=base, byte_fallback=True)
    with pytest.raises(TrainingError, match="a tokenizer of mode='byte'"):
        count(LINES, base=fastbpe.train(["ab"], vocab_size=256, progress=False))


def test_rules_of_a_file_are_part_of_the_counts(tmp_path: Path) -> None:
    rules = tmp_path / "rules.tsv"
    rules.write_text("6C\t4C\n")  # l becomes L
    options = {"normalization_rule_tsv": str(rules)}
    whole = model_bytes(LINES, tmp_path, vocab_size=60, **options)
    counts = count(LINES[:3], **options) + count(LINES[3:], **options)
    counts.save(tmp_path / "counts.pieces")
    rules.unlink()
    loaded = PieceCounts.load(tmp_path / "counts.pieces")
    assert b"Low" in b"".join(loaded)
    assert model_bytes(loaded, tmp_path, vocab_size=60) == whole


def test_counts_of_sentences_may_come_from_a_mapping(tmp_path: Path) -> None:
    source = {"low lower": 3, "новый": 2}
    options = {"vocab_size": 26, "hard_vocab_limit": False}
    assert model_bytes(count(source), tmp_path, **options) == model_bytes(source, tmp_path, **options)


@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_saved_counts_keep_options_and_numbers(tmp_path: Path) -> None:
    counts = count([*LINES, "", "x" * 5000, "▅"], split_digits=True, normalization_rule_name="identity")
    counts.save(tmp_path / "a.pieces")
    loaded = PieceCounts.load(tmp_path / "a.pieces")
    assert loaded == counts
    assert loaded.mode == "codepoint"
    assert loaded.options == {"split_digits": True}
    assert loaded._plain() == counts._plain()
    learned = [fastbpe.train(c, mode="codepoint", vocab_size=50, progress=False) for c in (counts, loaded)]
    assert learned[0].training_report == learned[1].training_report
    assert learned[0].training_report["n_too_long"] == learned[0].training_report["n_reserved"] == 1


def test_pruned_words_still_count_for_the_alphabet() -> None:
    counts = count(["low " * 5, "Ω" * 5])
    pruned = counts.pruned(2)
    assert (counts.n_pruned, pruned.n_pruned) == (0, 1)
    assert len(pruned) == len(counts) - 1
    for source in (counts, pruned, pruned + PieceCounts.pruned(count(["x"]), 1)):
        tokenizer = fastbpe.train(
            source, mode="codepoint", vocab_size="characters", character_coverage=1.0, progress=False
        )
        assert tokenizer.token_to_id("Ω") is not None
    assert pruned != counts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"character_coverage": 1.0}, "pass it to train"),
        ({"required_chars": "x"}, "pass it to train"),
        ({"model_type": "word"}, "mode= decides it; fastbpe.sentencepiece trains word and char models from text$"),
        ({"vocab_size": 5}, "not an option of counting"),
        ({"input_sentence_size": 500}, "sample the text first"),
        ({"shuffle_input_sentence": False}, "sample the text first"),
        ({"model_prefix": "x"}, "not an option of counting"),
        ({"pattern": "gpt2"}, "pattern"),
        ({"special_tokens": ["<x>"]}, "control_symbols"),
    ],
)
def test_option_of_learning_is_refused_by_name(options: Options, message: str) -> None:
    with pytest.raises(OptionError, match=message) as raised:
        count(LINES, **options)
    assert next(iter(options)) in str(raised.value)


def test_option_of_code_points_is_refused_in_byte_mode() -> None:
    with pytest.raises(OptionError, match="byte_fallback"):
        count_pieces(LINES, byte_fallback=True)


def test_counts_take_every_option_that_training_has() -> None:
    """Each is an option of counting, or one that train takes with counts."""
    for name in sorted(NAMES - COUNTING_NAMES):
        with pytest.raises(OptionError):
            count(LINES, **{name: "1"})


@pytest.mark.parametrize("mode", ["codepoint", "unigram"])
def test_counts_of_lines_and_of_sentences_with_counts_can_be_added(mode: Any, tmp_path: Path) -> None:
    lines, sentences = (count_pieces(source, mode=mode, progress=False) for source in (["a b\na b"], {"a b": 2}))
    assert lines == sentences
    assert lines + sentences == sentences + lines == 2 * lines
    for number, counts in enumerate((lines, sentences)):
        counts.save(tmp_path / f"{number}.pieces")
    PieceCounts.merge(tmp_path, tmp_path / "sum", progress=False)
    assert PieceCounts.load(tmp_path / "sum") == 2 * lines
    count_pieces(["c"], mode=mode, progress=False).save(tmp_path / "2.pieces")
    PieceCounts.merge(tmp_path, tmp_path / "sum", min_count=2, progress=False)
    words = PieceCounts.load(tmp_path / "sum")._words
    assert words is not None
    assert words.characters == {ord("\u2581"): 1, ord("c"): 1}  # of the dropped word, and of no other


def test_training_may_name_the_format_and_the_rules_that_counts_have_by_default() -> None:
    options: Any = {"mode": "codepoint", "vocab_size": 20, "hard_vocab_limit": False, "progress": False}
    again: Any = {"input_format": "text", "normalization_rule_name": ""}
    counts = count(["low lower"])
    assert fastbpe.train(counts, **options, **again).vocab == fastbpe.train(counts, **options).vocab


def test_counts_made_with_other_options_are_refused() -> None:
    counts = count(LINES)
    for options, name in (
        ({"split_digits": True}, "split_digits"),
        ({"normalization_rule_name": "identity"}, "other normalization rules|normalization_rule_name='nmt_nfkc'"),
        ({"add_dummy_prefix": False}, "add_dummy_prefix"),
        ({"byte_fallback": True}, "symbols"),
    ):
        with pytest.raises(TrainingError, match=name):
            counts + count(LINES, **options)
        with pytest.raises(TrainingError, match=name):
            fastbpe.train(counts, mode="codepoint", vocab_size=50, progress=False, **options)
    with pytest.raises(TrainingError, match="input_sentence_size=200"):
        fastbpe.train(counts, mode="codepoint", vocab_size=50, progress=False, input_sentence_size=200)
    with pytest.raises(TrainingError, match="cannot combine counts of mode="):
        counts + PieceCounts({"a": 1})
    assert counts != PieceCounts(dict(counts))
    with pytest.raises(TrainingError, match='pass mode="codepoint"'):
        fastbpe.train(counts, mode="byte", vocab_size=300, progress=False)
    with pytest.raises(TrainingError, match="counted already"):
        count(counts)
    with pytest.raises(TrainingError, match="leave out text_field="):
        fastbpe.train(counts, mode="codepoint", vocab_size=50, text_field="x")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": {"split_digits": "maybe"}}, "no valid 'options'"),
        ({"normalizer": {"colour": 1}}, "unknown option 'colour'"),
        ({"normalizer": {"add_dummy_prefix": {}}}, "or 'normalizer': add_dummy_prefix={}: must be"),
        ({"normalizer": {"name": "\ud800"}}, r"name='\\ud800': must be text"),
        ({"symbols": [5]}, "no valid 'symbols'"),
        ({"numbers": dict.fromkeys(counts_format.SENTENCE_NUMBERS, "x")}, "no valid 'n_sentences'"),
        ({"characters": b"\0\0\0\0"}, "do not match"),
        ({"characters": b"\xff" * 4, "character_counts": b"\1" + bytes(7)}, "an invalid character"),
        ({"characters": b"a\0\0\0", "character_counts": bytes(8)}, "a count below 1"),
    ],
)
def test_inconsistent_file_of_words_raises_format_error(change: Options, message: str, tmp_path: Path) -> None:
    plain = count(LINES)._plain()
    assert plain.words is not None
    plain = plain._replace(words=plain.words._replace(**change))
    (tmp_path / "a.pieces").write_bytes(b"".join(counts_format.dump(plain)))
    with pytest.raises(FormatError, match=message):
        PieceCounts.load(tmp_path / "a.pieces")


@pytest.mark.daily
def test_spilled_words_equal_words_in_memory() -> None:
    lines = [f"word{i * 7919 % 50_000} wörter{i}" for i in range(60_000)]
    whole = count(iter(lines), num_threads=1)
    assert count(iter(lines), num_threads=2, max_memory_bytes=1 << 19) == whole
    assert count(iter(lines[::-1]), num_threads=3) == whole
