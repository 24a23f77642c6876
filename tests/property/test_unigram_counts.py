"""Words counted for unigram models teach the same model as the text, in one part or in many, for every option."""

from __future__ import annotations

import random
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, OptionError, PieceCounts, TrainingError, count_pieces
from fastbpe._core.train.sentence_store import SentenceStore
from fastbpe.errors import SpecError
from fastbpe.formats import piece_counts_file as counts_format
from fastbpe.training import counting_threads, sentences, unigram
from fastbpe.training.codepoint_counts import COUNTING_NAMES
from helpers.random_training import (
    Options,
    peer_trained,
    random_options,
    random_sentences,
    random_unigram_options,
)
from helpers.sampling import rounds, share_of

LINES = [f"low lower lowest {i} новый 新しい" for i in range(9)]
#: Options with which the order of sentences matters.
OF_ORDER = {"split_by_whitespace": False, "treat_whitespace_as_suffix": True, "add_dummy_prefix": False}


def count(source: Any, **options: Any) -> PieceCounts:
    return count_pieces(source, mode="unigram", progress=False, **options)


def model_bytes(source: Any, folder: Path, **options: Any) -> bytes | str:
    """Train a unigram model; return the .model file, or the error."""
    try:
        tokenizer = fastbpe.train(source, mode="unigram", progress=False, **options)
    except (SpecError, TrainingError, OptionError) as error:
        return str(error)
    tokenizer.export(folder / "m.model", format="sentencepiece", verify=False)
    return (folder / "m.model").read_bytes()


def random_case(rng: random.Random) -> tuple[list[bytes], Options, Options]:
    """Return sentences, options of counting and options of learning."""
    sentences = [s.replace(b"\n", b" ").replace(b"\r", b" ") for s in random_sentences(rng)]
    sentences = [s.decode(errors="replace").encode() for s in sentences]
    for _ in range(rng.choice([0, 0, 1, 3])):
        sentences.insert(rng.randint(0, len(sentences)), rng.choice([b" ", b"", b"\t "]))
    options = random_options(rng, sentences) | random_unigram_options(rng)
    for name in (*OF_ORDER, "model_type", "num_threads"):
        options.pop(name, None)
    for_counts = {name: value for name, value in options.items() if name in COUNTING_NAMES}
    for_learning = {name: value for name, value in options.items() if name not in COUNTING_NAMES}
    return sentences, for_counts, for_learning


def in_order_of_counts(shards: list[list[bytes]], options: Options) -> list[bytes]:
    """Return the sentences of shards without those that normalization leaves empty, the last one at the end.

    The last one is that of the last shard, as sentencepiece would have it for this shard alone.
    """

    def is_used(sentence: bytes) -> bool:
        words = count([sentence], **options)._plain().words
        return words is not None and words.numbers["n_sentences"] == 1

    full = [[sentence for sentence in shard if len(count([sentence], **options))] for shard in shards]
    number = max((i for i, some in enumerate(full) if some), default=None)
    if number is None:
        return []
    shard, some = [s for s in shards[number] if is_used(s)], full[number]
    last = next(i for i, s in enumerate(shard) if i >= len(some) - 1 and s in some)
    some.remove(shard[last])
    return [*(s for part in full for s in part), shard[last]]


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_random_counts_teach_the_model_of_the_text_to_the_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text has empty sentences too, and many threads count batches of a few characters."""
    n_models = 0
    for number in rounds(100, 3000):
        rng = random.Random(f"unigram counts {number}")
        sentences, for_counts, for_learning = random_case(rng)
        monkeypatch.setattr(counting_threads, "BATCH_UNITS", rng.choice([1, 20, 1 << 18]))
        whole = model_bytes(iter(sentences), tmp_path, **for_counts, **for_learning)
        try:
            counts = count(iter(sentences), num_threads=rng.choice([1, 3]), **for_counts)
        except (SpecError, TrainingError):
            assert isinstance(whole, str)
            continue
        found = model_bytes(counts, tmp_path, **for_learning)
        if isinstance(found, str) and found.startswith("U+2581"):
            continue  # counts of words do not tell their order
        assert found == whole, (sentences, for_counts, for_learning)
        if isinstance(whole, bytes):
            options = {**for_counts, **for_learning, "model_type": "unigram"}
            assert whole == peer_trained(sentences, options), (sentences, options)
            n_models += 1
    assert n_models > share_of(20)


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_random_shards_teach_the_model_of_the_whole_to_the_byte(tmp_path: Path) -> None:
    n_models = 0
    for number in rounds(60, 2000):
        rng = random.Random(f"unigram shards {number}")
        sentences, for_counts, for_learning = random_case(rng)
        cuts = sorted(rng.choices(range(len(sentences) + 1), k=rng.randint(0, 3)))
        shards = [sentences[a:b] for a, b in zip([0, *cuts], [*cuts, len(sentences)], strict=True)]
        try:
            made = [count(iter(shard), **for_counts) for shard in shards]
        except (SpecError, TrainingError):
            continue  # compared above
        for i in range(len(made)):
            made[i].save(tmp_path / f"{i}.pieces")
        paths = [tmp_path / f"{i}.pieces" for i in range(len(made))]
        PieceCounts.merge(paths, tmp_path / "all", progress=False)
        counts = reduce(add, made)
        counts.save(tmp_path / "sum")
        assert (tmp_path / "all").read_bytes() == (tmp_path / "sum").read_bytes()
        counts = rng.choice([counts, PieceCounts.load(tmp_path / "all")])
        found = model_bytes(counts, tmp_path, **for_learning)
        if isinstance(found, str):
            continue
        ordered = in_order_of_counts(shards, for_counts)
        options = {**for_counts, **for_learning, "model_type": "unigram"}
        assert found == peer_trained(ordered, options), (shards, options)
        n_models += 1
    assert n_models > share_of(10)


def test_counts_of_sentences_may_come_from_a_mapping(tmp_path: Path) -> None:
    source = {"low lower": 3, "новый": 2, " ": 4, "low": 2}
    options = {"vocab_size": 26, "hard_vocab_limit": False}
    counts = count(source)
    assert counts[b"\xe2\x96\x81lower\xff"] == 3
    assert counts[b"\xe2\x96\x81low\xff"] == 2
    assert model_bytes(counts, tmp_path, **options) == model_bytes(source, tmp_path, **options)


@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_saved_counts_keep_mode_options_and_last_word(tmp_path: Path) -> None:
    counts = count([*LINES, "", "x" * 5000, "▅"], split_digits=True)
    counts.save(tmp_path / "a.pieces")
    loaded = PieceCounts.load(tmp_path / "a.pieces")
    assert loaded == counts
    assert loaded._plain() == counts._plain()
    assert (loaded.mode, loaded.options) == ("unigram", {"split_digits": True})
    assert "mode='unigram'" in repr(loaded)
    learned = [fastbpe.train(c, vocab_size=50, hard_vocab_limit=False, progress=False) for c in (counts, loaded)]
    assert learned[0].training_report == learned[1].training_report
    assert learned[0].model_type == "Unigram"
    assert learned[0].training_report["n_too_long"] == 1


def test_pruned_words_still_count_for_the_alphabet() -> None:
    counts = count(["low " * 5] * 2 + ["Ω"])
    pruned = counts.pruned(2)
    assert pruned.n_pruned == 1
    tokenizer = fastbpe.train(pruned, vocab_size=9, character_coverage=1.0, progress=False)
    assert tokenizer.token_to_id("Ω") is not None


@pytest.mark.parametrize(("name", "value"), OF_ORDER.items())
def test_option_of_order_is_refused_by_name(name: str, value: bool) -> None:
    with pytest.raises(TrainingError, match=f"{name}={value}: .* order of the sentences"):
        count(LINES, **{name: value})


def test_counts_of_another_mode_are_refused() -> None:
    counts, words = count(LINES), count_pieces(LINES, mode="codepoint")
    learning = {"vocab_size": 50, "progress": False}
    for mode, some in (("unigram", words), ("unigram", count_pieces(LINES)), ("codepoint", counts)):
        with pytest.raises(TrainingError, match=f"count with mode='{mode}', or pass the text"):
            fastbpe.train(some, mode=mode, **learning)
    with pytest.raises(TrainingError, match='pass mode="unigram"'):
        fastbpe.train(counts, mode="byte", **learning)
    with pytest.raises(TrainingError, match="cannot combine counts of mode="):
        counts + words
    assert counts != words
    for options, name in (
        ({"split_digits": True}, "split_digits"),
        ({"normalization_rule_name": "identity"}, "other normalization rules|normalization_rule_name='nmt_nfkc'"),
        ({"treat_whitespace_as_suffix": True}, "treat_whitespace_as_suffix"),
        ({"input_sentence_size": 200}, "input_sentence_size"),
    ):
        with pytest.raises(TrainingError, match=name):
            fastbpe.train(counts, **learning, **options)
    with pytest.raises(TrainingError, match="leave out text_field="):
        fastbpe.train(counts, text_field="x", **learning)
    with pytest.raises(TrainingError, match="a unigram model has no merges"):
        count(LINES, base=fastbpe.train(LINES, mode="codepoint", vocab_size=40, progress=False))
    with pytest.raises(OptionError, match=r"in unigram mode: .* pass it to train"):
        count(LINES, character_coverage=1.0)


def test_file_without_last_word_raises_format_error(tmp_path: Path) -> None:
    path = tmp_path / "a.pieces"
    count(LINES).save(path)
    plain = count(LINES)._plain()
    assert plain.words is not None
    data = b"".join(counts_format.dump(plain._replace(words=plain.words._replace(last_word=5))))  # type: ignore[arg-type]
    path.write_bytes(data)
    with pytest.raises(FormatError, match="last_word"):
        PieceCounts.load(path)


@pytest.mark.parametrize("words", [{b"\xff": 1}, {b"\xff\xff": 2, b"a\xffb": 1, b"\xf0": 3}])
def test_damaged_words_do_no_harm(words: dict[bytes, int]) -> None:
    """Files may hold any bytes; training on these works, but is of no use."""
    from fastbpe._core.train.sentence_store import CountedSentences
    from fastbpe.training.piece_counts import table_of

    sentences = CountedSentences(table_of(PieceCounts(words)), b"a\xffb", [0x61, 0x2581])
    assert sum(count for _, count in sentences.units(0, 1)[0].items()) == sum(words.values())
    assert sentences.words().n_pieces <= len(words)
    assert set(sentences.characters()) <= {0x61}


def test_spaces_outside_of_the_alphabet_are_refused(tmp_path: Path) -> None:
    """Without U+2581 in the alphabet, sentences are not cut at spaces, and words do not tell what follows them."""
    sentences = ["".join(chr(0x4E00 + i) for i in range(200)) * 5]
    options = {
        "vocab_size": 300,
        "hard_vocab_limit": False,
        "character_coverage": 0.99,
        "max_sentence_length": 9999,
    }
    for_counts = {"max_sentence_length": options.pop("max_sentence_length")}
    with pytest.warns(fastbpe.TrainingWarning):
        whole = model_bytes(sentences, tmp_path, **options, **for_counts)
    assert isinstance(whole, bytes)
    found = model_bytes(count(sentences, **for_counts), tmp_path, **options)
    assert str(found).startswith("U+2581, which stands for spaces, is not in the alphabet.")


def test_counts_of_more_than_a_chunk_of_text_warn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unigram, "CHUNK_BYTES", 100)
    with pytest.warns(fastbpe.TrainingWarning, match="in parts of 100 bytes"):
        fastbpe.train(count(LINES), vocab_size=60, hard_vocab_limit=False, progress=False)


def test_spilled_words_equal_words_in_memory() -> None:
    lines = [f"word{i * 7919 % 50_000} wörter{i}" for i in range(60_000)]
    whole = count(iter(lines), num_threads=1)
    spilled = count(iter(lines), num_threads=2, max_memory_bytes=1 << 19)
    assert spilled == whole
    assert spilled._plain().words == whole._plain().words


def test_empty_sentences_of_a_text_of_several_chunks_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "_ONE_CHUNK_BYTES", 0)
    last_words = sentences.LastWords()
    for _ in range(9):
        store = SentenceStore()
        store.append(b"", 1)
        last_words.take(store, 1)
    assert len(last_words._stores) == 1


def test_counts_without_sentences_have_no_last_word() -> None:
    counts, none = (count_pieces([text], mode="unigram", progress=False) for text in ("a b", ""))
    for both in (counts + none, none + counts):
        assert both._words is not None
        assert both._words.last_word == "\u2581b".encode()
