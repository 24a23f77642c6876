"""Random small corpora and options for code-point training by fastbpe, sentencepiece and the slow twin."""

import io
import random
from typing import Any

import sentencepiece

from fastbpe._utils.progress import Reporter
from fastbpe.corpus.corpora import ReadingOptions
from fastbpe.errors import SpecError
from fastbpe.formats.sentencepiece import model_file as sentencepiece_format
from fastbpe.model import CodePointModel, PieceType, Spec
from fastbpe.training import codepoints, unigram
from fastbpe.training.codepoint_options import CodePointOptions
from fastbpe.training.sentences import SentenceSource
from helpers.codepoint_twins import training_arguments
from reference.sentencepiece_training import Trainer

sentencepiece.set_min_log_level(2)

Sentences = list[bytes]
Options = dict[str, Any]

# Words are made of a few of these: of one script, of several, with digits, marks, spaces and what is not text.
SETS = (
    "a",
    "ab",
    "abc",
    "abcd",
    "ab1",
    "a1２あ",
    "aаあ漢ーア.",
    "a\u0301あ\u0301",
    "a▁b",
    "a b\u3000\t",
    "ab.,'",
    "aB<>s/unk",
    "ab\0\x1f",
    "ａＡﬁ①",
    "กำกa",
)
BITS = ("<s>", "</s>", "<unk>", "<0x41>", "▁", "▅", "\ufffd", "\r", "\n", "\x01", "𝒜", "👍🏽", "\u0640", "ꟲ")
BAD = (b"\xff", b"\xe3\x81", b"\xed\xa0\x80", b"\xf0\x9f")


def random_sentences(rng: random.Random) -> Sentences:
    characters = rng.choice(SETS)
    longest = rng.choice([2, 4, 9, 30])
    words = ["".join(rng.choices(characters, k=rng.randint(1, longest))) for _ in range(rng.randint(1, 8))]
    words += ["".join(rng.choices(words, k=2)) for _ in range(rng.randint(0, 3))]
    if rng.random() < 0.3:
        words += rng.choices(BITS, k=2)
    encoded = [word.encode() for word in words]
    if rng.random() < 0.1:
        encoded.append(rng.choice(BAD))
    spaces = rng.choice([[b" "], [b"", b" "], [b" ", b"  ", b"\t"], [b"\xe2\x96\x81", b" "]])
    return [
        b"".join(rng.choice(encoded) + rng.choice(spaces) for _ in range(rng.randint(0, 8)))
        for _ in range(rng.randint(1, 12))
    ]


def random_options(rng: random.Random, sentences: Sentences) -> Options:
    text = b" ".join(sentences).decode(errors="replace")
    options: Options = {"vocab_size": rng.choice([20, 40, 100, 1000]), "hard_vocab_limit": rng.random() < 0.1}
    flags = [
        "split_by_whitespace",
        "split_by_number",
        "split_by_unicode_script",
        "remove_extra_whitespaces",
        "add_dummy_prefix",
        "split_digits",
        "allow_whitespace_only_pieces",
        "treat_whitespace_as_suffix",
    ]
    for name in rng.sample(flags, rng.choice([0, 1, 2, 3, 5])):
        options[name] = rng.random() < 0.5
    if rng.random() < 0.7:
        rules = ["identity", "identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"]
        options["normalization_rule_name"] = rng.choice(rules)
    if rng.random() < 0.3:
        options["character_coverage"] = rng.choice([0.98, 0.985, 0.99, 0.999, 1.0])
    if rng.random() < 0.3:
        options["max_sentencepiece_length"] = rng.choice([1, 2, 3, 4, 7, 40])
    if rng.random() < 0.2:
        options["max_sentence_length"] = rng.choice([10, 20, 50])
    if rng.random() < 0.2:
        options["byte_fallback"] = True
        options["vocab_size"] += 256
    for name in ("user_defined_symbols", "control_symbols"):
        if rng.random() < 0.2:
            options[name] = [random_part(rng, text) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.1:
        options["required_chars"] = random_part(rng, text + "zZ").replace(" ", "")
    if rng.random() < 0.1:
        options["pretokenization_delimiter"] = random_part(rng, text)
    if rng.random() < 0.2:
        options |= {name: rng.choice([-1, 0, 1, 3, 5, 17]) for name in ("bos_id", "pad_id", "eos_id", "unk_id")}
    return options


def random_unigram_options(rng: random.Random) -> Options:
    options: Options = {"model_type": "unigram", "vocab_size": rng.choice([12, 20, 30, 60, 300])}
    options["hard_vocab_limit"] = rng.random() < 0.3
    for name, values in (
        ("num_threads", (1, 2, 3, 16)),
        ("seed_sentencepiece_size", (0, 5, 50, 500)),
        ("shrinking_factor", (0.5, 0.6, 0.9)),
        ("num_sub_iterations", (1, 3)),
    ):
        if rng.random() < 0.4:
            options[name] = rng.choice(values)
    return options


def random_part(rng: random.Random, text: str) -> str:
    text = text.replace("\0", "") + "x"  # sentencepiece ends a symbol at its NUL
    at = rng.randrange(len(text))
    return text[at : at + rng.randint(1, 3)]


def peer_trained(sentences: Sentences, options: Options) -> bytes | str:
    """Train with sentencepiece: return the file, or the error."""
    file = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences), model_writer=file, **{"model_type": "bpe", **options}
        )
    except (RuntimeError, ValueError) as error:
        return str(error)
    return file.getvalue()


def trained(sentences: Sentences, options: Options, num_threads: int = 1) -> bytes | str:
    """Train with fastbpe: return the file, or the end of the error that sentencepiece raises."""
    learn = unigram.learn_unigram if options.get("model_type") == "unigram" else codepoints.learn_model
    try:
        model, _ = learn(
            SentenceSource(texts=[sentence.rstrip(b"\r\n") for sentence in sentences], are_sentences=True),
            CodePointOptions.of(options, model_types=("bpe", "unigram")),
            ReadingOptions(num_threads=num_threads),
            Reporter(False),
        )
    except SpecError as error:
        return error.detail
    return sentencepiece_format.dump(model)


def learned_pieces(sentences: Sentences, options: Options) -> list[str]:
    """The learned pieces and the alphabet; SpecError where fastbpe refuses the options."""
    model, _ = codepoints.learn_model(
        SentenceSource(texts=[sentence.rstrip(b"\r\n") for sentence in sentences], are_sentences=True),
        CodePointOptions.of(options),
        ReadingOptions(num_threads=1),
        Reporter(False),
    )
    return [p.decode() for p, t in zip(model.pieces, model.types, strict=True) if t == PieceType.NORMAL]


def twin_pieces(sentences: Sentences, options: Options) -> list[str]:
    """The learned pieces and the alphabet, by the slow twin, from options that work."""
    checked = CodePointOptions.of(options)
    twin, kept = _twin(
        sentences, checked.trainer, checked.normalizer, [name for name, _ in checked.metas.values()]
    )
    n_pieces = checked.trainer["vocab_size"] - len(checked.metas)
    return twin.train([(sentence, 1) for sentence in kept], n_pieces=n_pieces)


def twin_trainer(sentences: Sentences, model: CodePointModel) -> tuple[Trainer, list[str], list[bytes]]:
    """Give the slow twin that extends a model, the model's symbols, and the sentences that are kept."""
    names = [p.decode() for p, t in zip(model.pieces, model.types, strict=True) if t != PieceType.NORMAL]
    twin, kept = _twin(sentences, model.trainer, model.normalizer, names)
    return twin, names, kept


def _twin(
    sentences: Sentences, trainer: Spec, normalizer: Spec, symbols: list[str]
) -> tuple[Trainer, list[bytes]]:
    """Make a slow twin, and choose the sentences that sentencepiece does not leave out."""
    kept = [sentence.rstrip(b"\r\n") for sentence in sentences]
    kept = [s for s in kept if s and len(s) <= trainer["max_sentence_length"] and "▅".encode() not in s]
    return Trainer(**training_arguments(Trainer, trainer, normalizer), symbols=symbols), kept


def difference(seed: int, *, model_type: str = "bpe", with_twin: bool = False) -> str | None:
    """List the differences for the corpus and the options of a seed.

    with_twin: compare with the slow twin of "bpe", too.
    """
    rng = random.Random(seed)
    sentences = random_sentences(rng)
    options = random_options(rng, sentences)
    if model_type == "unigram":
        options |= random_unigram_options(rng)
    expected, found = peer_trained(sentences, options), trained(sentences, options, rng.choice([1, 3]))
    where = f"seed {seed}: {options} {sentences}"
    if isinstance(expected, str) or isinstance(found, str):
        same = isinstance(expected, str) and isinstance(found, str) and expected.endswith(found)
        return None if same else f"{where}\nsentencepiece: {shown(expected)}\nfastbpe: {shown(found)}"
    if expected != found:
        return f"{where}\nsentencepiece: {shown(expected)}\nfastbpe: {shown(found)}"
    if with_twin:
        learned, pieces = learned_pieces(sentences, options), twin_pieces(sentences, options)
        return None if learned == pieces else f"{where}\nfastbpe: {learned}\ntwin: {pieces}"
    return None


def shown(result: bytes | str) -> str:
    if isinstance(result, str):
        return result
    model = sentencepiece_format.parse(result, "trained")
    spec = {k: v for k, v in model.normalizer.values.items() if k != "precompiled_charsmap"}
    pieces = [piece.decode() for piece in model.pieces if not piece.startswith(b"<0x")]
    return f"{pieces} {dict(model.trainer.values)} {spec}"
