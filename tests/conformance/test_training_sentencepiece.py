"""Training by sentencepiece and by fastbpe.sentencepiece: the files are equal to the byte."""

import io
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

import fastbpe.sentencepiece
from fastbpe._utils.progress import Reporter
from fastbpe.corpus.corpora import ReadingOptions
from fastbpe.training.codepoint_model import vocabulary_text
from fastbpe.training.codepoints import learn_source
from fastbpe.training.options import Run
from helpers.random_training import difference
from helpers.sampling import n_rounds
from helpers.shared_data import corpus, data_file

Trainer = Callable[..., Any]
PEERS: tuple[Trainer, Trainer] = (
    sentencepiece.SentencePieceTrainer.train,
    fastbpe.sentencepiece.SentencePieceTrainer.train,
)
QUIET = {"model_type": "bpe", "hard_vocab_limit": False, "minloglevel": 2}
SENTENCES = ["ab ab abc", "abcd ab"]


def files(trainer: Trainer, folder: Path, **options: Any) -> tuple[bytes, bytes]:
    """Train in a folder under a fixed name, and return the model and vocabulary files."""
    here = Path.cwd()
    os.chdir(folder)
    try:
        assert trainer(**{**QUIET, "model_prefix": "m", **options}) is None
        return Path("m.model").read_bytes(), Path("m.vocab").read_bytes()
    finally:
        os.chdir(here)


def assert_same_files(folder: Path, **options: Any) -> None:
    assert files(PEERS[0], folder, **options) == files(PEERS[1], folder, **options)


OPTIONS: dict[str, dict[str, Any]] = {
    "whole sentences": {"split_by_whitespace": False},
    "whole sentences, suffix": {"split_by_whitespace": False, "treat_whitespace_as_suffix": True},
    "digits": {"split_digits": True},
    "numbers": {"split_by_number": False},
    "scripts": {"split_by_unicode_script": False},
    "suffix": {"treat_whitespace_as_suffix": True},
    "runs": {"allow_whitespace_only_pieces": True},
    "runs kept": {"allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False},
    "runs, suffix": {"allow_whitespace_only_pieces": True, "treat_whitespace_as_suffix": True},
    "runs, whole sentences": {"allow_whitespace_only_pieces": True, "split_by_whitespace": False},
    "spaces kept": {"remove_extra_whitespaces": False},
    "short": {"max_sentencepiece_length": 4},
    "fallback": {"byte_fallback": True},
    "fallback, little coverage": {"byte_fallback": True, "character_coverage": 0.98},
    "all characters": {"character_coverage": 1.0},
    "required": {"required_chars": "€xyz漢"},
    "symbols": {"user_defined_symbols": ["the", "▁Red", ","], "control_symbols": ["<a>", "<b>"]},
    "identity": {"normalization_rule_name": "identity"},
    "nfkc": {"normalization_rule_name": "nfkc"},
    "cased": {"normalization_rule_name": "nmt_nfkc_cf"},
    "no prefix": {"add_dummy_prefix": False},
    "moved ids": {"unk_id": 5, "bos_id": 1, "eos_id": 100, "pad_id": 0},
    "short sentences": {"max_sentence_length": 60},
    "delimiter": {"pretokenization_delimiter": "e"},
    "delimiter with a mark": {"pretokenization_delimiter": "▁t"},
    "first sentences": {"input_sentence_size": 500, "shuffle_input_sentence": False},
    "one letter symbols": {"character_coverage": 0.99, "user_defined_symbols": ["e", "t"]},
    "hard": {"hard_vocab_limit": True},
    "no scores": {"vocabulary_output_piece_score": False},
    "names": {"unk_piece": "[U]", "bos_piece": "[B]", "eos_piece": "[E]", "pad_id": 3, "unk_surface": " ?? "},
}


@pytest.mark.sample(7)
@pytest.mark.parametrize("name", OPTIONS)
def test_models_of_all_options_equal_sentencepiece(name: str, tmp_path: Path) -> None:
    options = {"vocab_size": 2000, **OPTIONS[name]}
    assert_same_files(tmp_path, input=str(data_file("corpus", "botchan.txt")), **options)


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("file", "vocab_size"),
    [
        *(("botchan.txt", size) for size in (500, 8000, 18000, 30000)),
        *(("wagahaiwa_nekodearu.txt", size) for size in (3500, 6000, 8000)),
    ],
)
def test_models_of_books_equal_sentencepiece(file: str, vocab_size: int, tmp_path: Path) -> None:
    assert_same_files(tmp_path, input=str(data_file("corpus", file)), vocab_size=vocab_size)


def test_vocabulary_of_characters_equals_sentencepiece(tmp_path: Path) -> None:
    """All characters of a text, with U+2581 for spaces and without line ends, and three symbols: no merges."""
    path = data_file("corpus", "tinyshakespeare.txt")
    options = {"normalization_rule_name": "identity", "character_coverage": 1.0}
    model, report = learn_source(path, None, Run("characters", options, ReadingOptions(), Reporter(False)))
    assert {piece.decode() for piece in model.pieces[3:]} == set(path.read_text(encoding="utf-8")) - set(" \n") | {
        "▁"
    }
    assert (report.n_merges, report.left_out, model.n_pieces) == (0, {}, 67)
    files_of_peer = files(PEERS[0], tmp_path, input=str(path), vocab_size=67, **options)
    assert vocabulary_text(model) == files_of_peer[1]


@pytest.mark.daily
@pytest.mark.parametrize("vocab_size", [6000, 8000])
def test_byte_fallback_of_japanese_equals_sentencepiece(vocab_size: int, tmp_path: Path) -> None:
    path = str(data_file("corpus", "wagahaiwa_nekodearu.txt"))
    assert_same_files(
        tmp_path, input=path, vocab_size=vocab_size, byte_fallback=True, character_coverage=0.98, split_digits=True
    )


@pytest.mark.daily
def test_many_pieces_across_scripts_equal_sentencepiece(tmp_path: Path) -> None:
    lines = corpus("wagahaiwa_nekodearu.txt", 60_000).splitlines()
    for options in ({"split_by_unicode_script": False}, {"split_by_number": False}):
        assert_same_files(tmp_path, input=save(tmp_path, lines), vocab_size=20_000, **options)


SIZES = {"english.txt": [8000, 1000, 32000], "multilingual.txt": [16000, 8000, 32000]}


@pytest.mark.daily
@pytest.mark.parametrize(
    ("file", "vocab_size"), [(file, size) for file, sizes in SIZES.items() for size in sizes[: n_rounds(1, 3)]]
)
def test_models_of_large_corpora_equal_sentencepiece(file: str, vocab_size: int, tmp_path: Path) -> None:
    lines = corpus(file, n_rounds(1_000_000, 5_000_000)).splitlines()
    assert_same_files(tmp_path, input=save(tmp_path, lines), vocab_size=vocab_size)


def test_character_coverage_is_a_32_bit_float(tmp_path: Path) -> None:
    """1999 of 2000 characters are 0.9995 as a 32-bit float, the default, but less as a double."""
    options = {"vocab_size": 30, "add_dummy_prefix": False}
    assert_same_files(tmp_path, input=save(tmp_path, ["a" * 1999, "q"]), **options)
    assert b"q" not in files(PEERS[1], tmp_path, input="text.txt", **options)[1]


@pytest.mark.daily
def test_model_of_json_and_yaml_equals_sentencepiece(tmp_path: Path) -> None:
    assert_same_files(tmp_path, input=str(data_file("corpus", "json_yaml.txt")), vocab_size=8000)


@pytest.mark.daily
@pytest.mark.parametrize("options", [{}, {"byte_fallback": True, "split_digits": True}])
def test_models_of_hard_lines_equal_sentencepiece(options: dict[str, Any], tmp_path: Path) -> None:
    for rules in ("identity", "nmt_nfkc"):
        path = str(data_file("corpus", "emoji_mixed.txt"))
        assert_same_files(
            tmp_path, input=path, vocab_size=9000, character_coverage=1.0, normalization_rule_name=rules, **options
        )


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize("first", range(0, n_rounds(240, 2000), 40))
def test_models_of_random_corpora_equal_sentencepiece(first: int) -> None:
    for seed in range(first, first + 40):
        assert difference(seed) is None
        assert difference(seed, model_type="unigram") is None


def save(folder: Path, lines: list[str]) -> str:
    (folder / "text.txt").write_text("\n".join(lines), encoding="utf-8", newline="")
    return "text.txt"


# The interface.


def builtin(error: Exception) -> type:
    """Return the builtin class of an error: those of fastbpe are also FastbpeErrors."""
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def outcome(trainer: Trainer, *arguments: Any, **options: Any) -> Any:
    """Return the model that a call writes, or the class and message of its error."""
    model = io.BytesIO()
    try:
        if not arguments:
            defaults = {"sentence_iterator": iter(SENTENCES), "model_writer": model, "vocab_size": 12}
            options = {**QUIET, **defaults, **options}
        trainer(*arguments, **options)
    except (RuntimeError, ValueError, TypeError, AttributeError, KeyError) as error:
        return builtin(error), str(error)
    return model.getvalue()


def assert_same_outcome(*arguments: Any, make: Callable[[], dict[str, Any]] = dict, **options: Any) -> None:
    expected = outcome(PEERS[0], *arguments, **{**options, **make()})
    found = outcome(PEERS[1], *arguments, **{**options, **make()})
    if isinstance(expected, bytes):
        assert found == expected
        return
    # A message begins with a line of sentencepiece's source and a condition.
    tail = re.sub(r"^INTERNAL: src/\S+ (\[.*\] (?=\S))?", "", expected[1])
    tail = re.sub(r" in /\S+$", "", tail)  # the folder of its rules
    assert found[0] is expected[0]
    # Its threads decide which of several samples it names.
    said, tail = (re.sub(r"sample \d+: joined='.*', original='.*'", "a sample", text) for text in (found[1], tail))
    assert said.endswith(tail), (found, expected)


@pytest.mark.parametrize(
    "options",
    [
        *(
            {"vocab_size": value}
            for value in (0, -1, 3, 5, 8, "x", 12.0, " +12 ", "0x10", 1 << 31, "", None, True)
        ),
        *({"character_coverage": value} for value in (0.5, 1.01, "x", "1e0", "nan", " 1. ", "0x1p0", "", "1_0")),
        *({"split_digits": value} for value in ("yes", "TRUE", "y", "n", "f", "", "on", 2, 0, None, " true")),
        *({"max_sentencepiece_length": value} for value in (0, 1, 512, 513)),
        *({"max_sentence_length": value} for value in (9, 10, 1 << 30, (1 << 30) + 1)),
        *({"input_sentence_size": value} for value in (-1, 0, 50, 100, "+101", (1 << 64) - 1, 1 << 64)),
        *(
            {name: 0}
            for name in ("num_threads", "num_sub_iterations", "shrinking_factor", "seed_sentencepiece_size")
        ),
        *({f"{name}_piece": ""} for name in ("unk", "bos", "eos", "pad")),
        *({"unk_id": value} for value in (-1, 1, 5, 12)),
        *({"bos_id": value} for value in (-5, 0, 11, 12)),
        *({"bos_piece": value} for value in ("<unk>", "</s>", "x")),
        {"unk_id": -1, "byte_fallback": True, "vocab_size": 300},
        *(
            {"control_symbols": value}
            for value in ([], "", "a,b", '"a,b",c', "a,,b", ["a,b", 'q"q'], "a,", '"a"b,c')
        ),
        *({"control_symbols": [name]} for name in ("<unk>", "<s>", "<pad>", "", "a\nb")),
        *({"user_defined_symbols": names} for names in (["<s>"], ["x", "x"], ["ab"], ["▁"], ["<0x41>"])),
        {"user_defined_symbols": ["<0x41>"], "byte_fallback": True, "vocab_size": 300},
        {"user_defined_symbols": ["a"], "required_chars": "a"},
        {"user_defined_symbols": ["A", "B", "C"], "bos_id": 25, "vocab_size": 30},
        *({"required_chars": text} for text in ("xyz", "x y", "▅", "\0", "a\tz", "▁", "\x1f", "aa")),
        *({"normalization_rule_name": name} for name in ("", "nfc", "NFKC", "a.b", "nfkc_cf")),
        *({"normalization_rule_tsv": name} for name in ("", "/no/such/file")),
        {"denormalization_rule_tsv": "/no/such/file"},
        {"escape_whitespaces": False},
        {"name": "nfkc"},
        *({"model_type": name} for name in ("BPE", "bpee", "2", "")),
        *({"input_format": name} for name in ("", "text", "TEXT", "tsv")),
        {"use_all_vocab": True},
        {"seed_sentencepieces_file": "x"},
        {"model_type": "unigram", "seed_sentencepiece_size": -1},
        {"auto_character_coverage": True},
        {"auto_character_coverage": True, "byte_fallback": True, "required_chars": "a"},
        {"auto_character_coverage": True, "model_type": "unigram"},
        *({name: "x"} for name in ("foo", "accept_language", "self_test_sample_size", "minloglevel")),
        {"train_extremely_large_corpus": "x", "enable_differential_privacy": 1, "mining_sentence_size": 3},
        {"vocab_size": 100, "hard_vocab_limit": True},
        {"vocab_size": 16, "hard_vocab_limit": True},
        {"input": "x"},
        {"model_prefix": "x"},
        {"sentence_iterator": None},
        {"model_writer": None},
        {"model_writer": 3},
        {"sentence_iterator": 3},
        {"sentence_iterator": ["ab"]},
        {"sentence_iterator": None, "input": "/no/such/file"},
        {"sentence_iterator": None, "input": "/"},
        {"model_writer": None, "model_prefix": "/no/such/folder/m"},
        {"normalizer": 5},
        {"normalizer": sentencepiece.SentencePieceNormalizer(rule_name="nfkc", add_dummy_prefix=False)},
        {"normalizer": sentencepiece.SentencePieceNormalizer(norm_map=[("a", "b")])},
        {"normalizer": sentencepiece.SentencePieceNormalizer(rule_name="nfkc"), "add_dummy_prefix": True},
        {"allow_inconsistent_pretokenization": True},
    ],
    ids=lambda options: re.sub(" at 0x[0-9a-f]+", "", str(options)),  # the same name in each process of a run
)
def test_options_and_their_errors_equal_sentencepiece(options: dict[str, Any]) -> None:
    assert_same_outcome(make=lambda: {"sentence_iterator": iter(SENTENCES), **options})


@pytest.mark.parametrize(
    "sentences",
    [
        *([], [""], [" "], ["▅"], ["\0"], ["\x1f"], ["a" * 5000], ["ab", "", "ab▅", "\n"], [b"ab\xffab ab"]),
        *(["ab\n", "ab\r\n"], ["a\nb ab"], [1], ["ab", None], ["ab", bytearray(b"x")], ["�a"]),
    ],
    ids=str,
)
def test_sentences_and_their_errors_equal_sentencepiece(sentences: list[Any]) -> None:
    assert_same_outcome(make=lambda: {"sentence_iterator": iter(sentences)})


@pytest.mark.parametrize("model_type", ["bpe", "unigram", "word", "char"])
@pytest.mark.parametrize("sentences", [[], ["  "], ["ab"], ["ab ab ab"]], ids=str)
@pytest.mark.parametrize("required", ["\u2585", " ", " \u2585", "ab\u2581\u2585", "ab\u2581 "])
def test_required_characters_are_checked_when_taken_as_in_sentencepiece(
    model_type: str, sentences: list[str], required: str
) -> None:
    assert_same_outcome(
        make=lambda: {"sentence_iterator": iter(sentences)},
        model_type=model_type,
        required_chars=required,
        vocab_size=9,
        hard_vocab_limit=False,
    )


@pytest.mark.parametrize("model_type", ["bpe", "unigram", "word", "char"])
def test_names_of_all_meta_pieces_in_text_are_replaced_as_in_sentencepiece(model_type: str) -> None:
    names = ["<unk>", "<s>", "</s>", "<pad>", "<c>", "<u>", "<0x41>"]
    sentences = [f"ab{name}cd {name}ef<gh>" for name in names] * 3
    options: dict[str, Any] = {"pad_id": 3, "control_symbols": ["<c>"], "user_defined_symbols": ["<u>"]}
    options |= {"byte_fallback": model_type == "bpe", "hard_vocab_limit": False}
    options |= {"vocab_size": 300, "model_type": model_type}
    assert_same_outcome(make=lambda: {"sentence_iterator": iter(sentences)}, **options)


@pytest.mark.parametrize("model_type", ["bpe", "unigram", "word", "char"])
def test_reserved_character_in_the_alphabet_is_sentencepieces_error(model_type: str, tmp_path: Path) -> None:
    (tmp_path / "rules.tsv").write_text("61\t2585\n")  # "a" becomes U+2585
    assert_same_outcome(model_type=model_type, normalization_rule_tsv=str(tmp_path / "rules.tsv"))


def test_lone_surrogates_raise_runtime_error() -> None:
    for trainer in PEERS:
        assert outcome(trainer, sentence_iterator=iter(["\ud800"]))[0] is RuntimeError


@pytest.mark.parametrize(
    "lines",
    [
        *(["ab\t3", "cd\t1"], ["ab\t0"], ["ab\t-1"], ["ab\tx"], ["ab\t"], ["ab\t3\t4"], ["", "ab\t3"], ["\t3"]),
        *(["ab\t 3 "], ["ab\t+3"], ["ab\t3.0"], ["▅\tx"], ["▅\t2", "ab\t1"], ["ab\t99999999999"]),
    ],
    ids=str,
)
def test_tsv_lines_and_their_errors_equal_sentencepiece(lines: list[str]) -> None:
    assert_same_outcome(make=lambda: {"sentence_iterator": iter(lines)}, input_format="tsv")


def test_failing_iterator_raises_its_error_or_runtime_error() -> None:
    def failing(n: int) -> Iterator[str]:
        yield from ["ab"] * n
        raise KeyError("boom")

    assert outcome(PEERS[1], sentence_iterator=failing(0)) == (KeyError, "'boom'")
    assert outcome(PEERS[1], sentence_iterator=failing(1)) == (RuntimeError, "INTERNAL: KeyError: 'boom'")


FLAGS = "--input=c.txt --model_prefix=m --vocab_size=12 --model_type=bpe --hard_vocab_limit=false --minloglevel=2"


@pytest.mark.parametrize(
    "flags",
    [
        *(
            FLAGS,
            FLAGS.replace("--", ""),
            FLAGS + " -split_digits",
            "--model_type=bpe",
            FLAGS + " ",
            " " + FLAGS,
            FLAGS + " --",
        ),
        *(f"{FLAGS} --split_digits", f"{FLAGS} --split_digits=", f"{FLAGS} --split_digits=no --split_digits=yes"),
        *(
            f"{FLAGS} --unk_piece=a=b",
            f"{FLAGS} --foo=1",
            f"{FLAGS} --control_symbols=a,b",
            f"{FLAGS} --model_writer=1",
        ),
        *(f"{FLAGS} --input=d.txt", f'{FLAGS} --unk_surface="a b"', FLAGS.replace("c.txt", '"c.txt",d.txt')),
    ],
)
def test_flags_in_a_string_equal_sentencepiece(
    flags: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.txt").write_text("ab ab abc\nabcd ab\n", encoding="utf-8")
    Path("d.txt").write_text("\n\nxy xy", encoding="utf-8")
    found = []
    for trainer in PEERS:
        for name in ("m.model", "m.vocab"):
            Path(name).unlink(missing_ok=True)
        try:
            found.append([trainer(flags), Path("m.model").read_bytes(), Path("m.vocab").read_bytes()])
        except (RuntimeError, ValueError) as error:
            found.append([builtin(error), str(error).removeprefix("INTERNAL: ").rpartition("] ")[2]])
    assert found[0] == found[1]


def test_lists_and_paths_of_files_equal_sentencepiece(tmp_path: Path) -> None:
    for name in ("c.txt", "d d.txt", "a,b.txt"):
        (tmp_path / name).write_text(f"ab ab {name}\n", encoding="utf-8")
    for value in (["c.txt", "d d.txt"], "c.txt,d d.txt", ["a,b.txt"], Path("c.txt")):
        assert_same_files(tmp_path, input=value, vocab_size=30)


def test_train_has_both_names() -> None:
    trainer = fastbpe.sentencepiece.SentencePieceTrainer
    assert trainer.Train is trainer.train


def test_skipped_sentences_are_written_to_the_logstream(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w+", encoding="utf-8") as log:
        outcome(PEERS[1], sentence_iterator=iter([*SENTENCES, "x" * 5000]), logstream=log)
        log.seek(0)
        assert "left out: 1 of" in log.read()


CUTS: dict[str, Callable[[str], Any]] = {
    "whole": lambda text: [text],
    "two": lambda text: [text[:3], text[3:]],
    "characters": list,
    "empty parts": lambda text: ["", text, ""],
    "bytes": lambda text: [text.encode()],
    "other text": lambda text: [text.upper(), "xyz"],
    "nothing": lambda text: [],
    "no list": lambda text: None,
    "no text": lambda text: [1],
    "failing": lambda text: [][1],
}


@pytest.mark.parametrize("name", CUTS)
@pytest.mark.parametrize("allow", [False, True])
def test_pretokenizers_and_their_errors_equal_sentencepiece(name: str, allow: bool) -> None:
    sentences = ["ab ab abc", "abcd ab<s>", "", "  ", "▅", "qab", *["ab abcab"] * 20]
    options: dict[str, Any] = {"pretokenizer": CUTS[name], "allow_inconsistent_pretokenization": allow}
    options |= {"vocab_size": 60, "character_coverage": 0.98}
    make = {"make": lambda: {"sentence_iterator": iter(sentences)}}
    if name in ("no list", "no text", "failing"):
        found = outcome(PEERS[1], **make["make"](), **options)
        assert found[0] is outcome(PEERS[0], **make["make"](), **options)[0] is RuntimeError
        assert found[1].startswith("Pretokenizer failed: ")
    else:
        assert_same_outcome(**make, **options)


def test_pretokenizer_with_a_delimiter_raises_as_in_sentencepiece() -> None:
    make = {"make": lambda: {"sentence_iterator": iter(SENTENCES)}}
    assert_same_outcome(**make, pretokenizer=list, pretokenization_delimiter="x")


def test_trained_model_runs_in_sentencepiece() -> None:
    model = outcome(PEERS[1], byte_fallback=True, vocab_size=300, user_defined_symbols=["abc"])
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    assert processor.decode(processor.encode("ab abc é")) == "ab abc é"
