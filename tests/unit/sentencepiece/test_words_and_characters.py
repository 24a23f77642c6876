"""Models of type word and char in fastbpe.sentencepiece, without sentencepiece."""

import io
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe.errors import SpecError
from fastbpe.formats.sentencepiece import model_file
from fastbpe.model import PieceType
from fastbpe.sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from helpers.segmented_models import unigram_model

SENTENCES = ["hello . world", "hello . test", "a b a"]
TEXTS = ["hello . world", "hello zz qq world", " a  b", "日本 a", "", "x"]


def trained(model_type: str, **options: Any) -> bytes:
    file = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_writer=file,
        **{"model_type": model_type, "vocab_size": 20, "hard_vocab_limit": False, **options},
    )
    return file.getvalue()


def processor(model_type: str, **options: Any) -> SentencePieceProcessor:
    return SentencePieceProcessor(model_proto=trained(model_type, **options))


def model_of(pieces: Any, trainer: Any, normalizer: Any = None) -> bytes:
    return model_file.dump(unigram_model(pieces, trainer, normalizer))


def test_words_are_the_pieces_of_a_word_model() -> None:
    made = processor("word")
    assert made.id_to_piece(list(range(3, len(made)))) == ["▁.", "▁a", "▁hello", "▁b", "▁test", "▁world"]
    assert made.encode("hello world", out_type=str) == ["▁hello", "▁world"]
    assert made.decode(made.encode("hello . world")) == "hello . world"


def test_characters_are_the_pieces_of_a_char_model() -> None:
    made = processor("char")
    assert made.encode("hello", out_type=str) == ["▁", "h", "e", "l", "l", "o"]
    assert made.decode(made.encode("hello . world")) == "hello . world"
    assert made.get_score(3) > made.get_score(len(made) - 1)


def test_user_defined_symbol_is_a_word_of_its_own() -> None:
    made = processor("word", user_defined_symbols=["."], bos_id=-1, eos_id=-1)
    assert made.encode("hello . world", out_type=str) == ["▁hello", "▁.", "▁world"]
    assert made.encode("a . b") == [3, 2, 4]


def test_user_defined_symbol_is_found_among_characters() -> None:
    assert processor("char", user_defined_symbols=["ell"]).encode("hello", out_type=str) == ["▁", "h", "ell", "o"]


def test_unknown_words_in_a_row_are_one_id_with_their_text() -> None:
    made = processor("word")
    assert made.encode("hello zz qq world") == [5, 0, 8]
    assert made.encode("hello zz qq world", return_type="offset_mapping") == {
        "ids": [5, 0, 8],
        "pieces": ["▁hello", "▁zz▁qq", "▁world"],
        "offsets": [(0, 5), (5, 11), (11, 17)],
    }
    assert made.encode("日本 a", return_type="offset_mapping")["offsets"] == [(0, 2), (2, 4)]
    assert made.encode("日本 a".encode(), return_type="offset_mapping")["offsets"] == [(0, 6), (6, 8)]


def test_unknown_word_becomes_bytes_with_byte_fallback() -> None:
    made = processor("word", byte_fallback=True, vocab_size=300)
    assert made.encode("é hello", out_type=str) == [
        *("<0xE2>", "<0x96>", "<0x81>", "<0xC3>", "<0xA9>"),
        "▁hello",
    ]
    assert made.encode("é hello", return_type="offset_mapping")["offsets"] == [(0, 0)] * 4 + [(0, 1), (1, 7)]
    assert made.decode(made.encode("hello é")) == "hello▁é"  # as sentencepiece: bytes of U+2581 are not space


@pytest.mark.parametrize("model_type", ["word", "char"])
def test_every_form_of_output_tells_the_same_ids(model_type: str) -> None:
    made = processor(model_type)
    for text in TEXTS:
        ids = made.encode(text)
        assert made.encode(text.encode()) == ids
        assert made.encode([text], num_threads=2) == [ids]
        assert made.encode(text, return_type="offset_mapping")["ids"] == ids
        assert made.encode(text, add_bos=True, reverse=True) == [1, *ids[::-1]]
        assert len(made.encode(text, out_type=str)) == len(made.encode(text, out_type=bytes)) == len(ids)
        assert made.decode(made.encode(text, out_type=str), out_type=bytes).decode() == made.decode(
            made.encode(text, out_type=str)
        )


@pytest.mark.parametrize("model_type", ["word", "char"])
def test_numpy_output_holds_the_ids_and_is_read_only(model_type: str) -> None:
    pytest.importorskip("numpy")
    made = processor(model_type)
    arrays = made.encode(TEXTS, return_type="numpy")
    assert [array.tolist() for array in arrays] == made.encode(TEXTS)
    one = made.encode(TEXTS[0], return_type="numpy")
    assert one.tolist() == made.encode(TEXTS[0])
    assert not one.flags.writeable


@pytest.mark.parametrize("model_type", ["word", "char"])
def test_ids_equal_plain_look_ups(model_type: str) -> None:
    made = processor(model_type)
    ids = {made.id_to_piece(i): i for i in range(3, len(made))}
    rng = random.Random(7)
    for _ in range(300):
        text = made.normalize("".join(rng.choices(["hello", " ", "a", "world", ".", "zz", "é", "▁"], k=9)))
        words = [f"▁{word}" for word in text.split("▁")[1:]] if model_type == "word" else list(text)
        expected: list[int] = []
        for word in words:
            found = ids.get(word, 0)
            if found or not (expected and expected[-1] == 0):
                expected.append(found)
        assert made.encode(text) == expected


@pytest.mark.parametrize("model_type", ["word", "char"])
def test_sampling_and_nbest_raise_runtime_error(model_type: str) -> None:
    made = processor(model_type)
    with pytest.raises(RuntimeError, match="SampleEncode is not available for the current model"):
        made.encode("hello", enable_sampling=True, nbest_size=-1, alpha=0.1)
    with pytest.raises(RuntimeError, match="NBestEncode is not available for the current model"):
        made.nbest_encode("hello", nbest_size=2)


@pytest.mark.parametrize("model_type", ["word", "char"])
def test_surrogates_raise_as_with_bpe_models(model_type: str) -> None:
    with pytest.raises(RuntimeError, match="surrogates"):
        processor(model_type).encode("a\ud800")


@pytest.mark.parametrize("model_type", ["word", "char"])
def test_pickles_keep_the_model(model_type: str) -> None:
    made = processor(model_type)
    twin = pickle.loads(pickle.dumps(made))
    assert twin.encode(TEXTS) == made.encode(TEXTS)
    assert twin.serialized_model_proto() == made.serialized_model_proto()


def test_processor_takes_models_of_all_types_in_turn() -> None:
    made = processor("word")
    for model_type in ("char", "word", "bpe", "word"):
        data = trained(model_type)
        made.load(model_proto=data)
        assert made.encode(TEXTS) == SentencePieceProcessor(model_proto=data).encode(TEXTS)
    with pytest.raises(RuntimeError):
        made.load(model_proto=b"xx")
    with pytest.raises(RuntimeError, match="not initialized"):
        made.encode("a")


def test_load_names_the_face_that_runs_a_word_model(tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(trained("word"))
    with pytest.raises(fastbpe.FormatError, match=r"type word, which only fastbpe.sentencepiece runs: fastbpe\."):
        fastbpe.load(path)


@pytest.mark.parametrize("model_type", ["word", "char"])
def test_train_names_the_face_that_trains_the_model(model_type: str) -> None:
    with pytest.raises(SpecError, match=r"fastbpe\.sentencepiece trains word and char models"):
        fastbpe.train(SENTENCES, mode="codepoint", vocab_size=20, model_type=model_type, progress=False)


@pytest.mark.parametrize("format", ["native", "sentencepiece"])
def test_load_runs_a_char_model_as_the_face_does(format: Any, tmp_path: Path) -> None:
    data = trained("char")
    face, tokenizer = SentencePieceProcessor(model_proto=data), fastbpe.load(data)
    tokenizer.export(tmp_path / "x.model", format=format)
    again = fastbpe.load(tmp_path / "x.model")
    assert again == tokenizer
    assert tokenizer.model_type == again.model_type == "Char"
    assert tokenizer.merges == []
    for text in TEXTS:
        ids = face.encode(text)
        assert tokenizer.encode_ordinary(text) == again.encode_ordinary(text) == ids
        assert tokenizer.decode(ids) == face.decode(ids)
        assert tokenizer.encode_with_offsets(text, disallowed_special=())[0] == ids
        assert tokenizer.encode(text, dropout=0.5, disallowed_special=()) == ids
    with pytest.raises(fastbpe.TrainingError, match="base= is a Char model, which has no merges to add to"):
        fastbpe.train(SENTENCES, base=tokenizer, vocab_size=len(tokenizer.vocab) + 3, progress=False)


@pytest.mark.parametrize("format", ["huggingface", "gguf"])
def test_characters_do_not_merge_in_other_formats(format: Any, tmp_path: Path) -> None:
    bytes_ = [(b"<0x%02X>" % byte, 0.0, PieceType.BYTE) for byte in range(256)]
    texts = [(text, -float(i), PieceType.NORMAL) for i, text in enumerate(["▁".encode(), b"a", b"b"])]
    plain = {"remove_extra_whitespaces": False}
    options = {"model_type": "char", "byte_fallback": True}
    unknown = [(b"<unk>", 0.0, PieceType.UNKNOWN)]
    tokenizer = fastbpe.load(model_of([*unknown, *texts, *bytes_], options, plain))
    tokenizer.export(tmp_path / "x.json", format=format)
    assert fastbpe.load(tmp_path / "x.json").encode("ab é") == tokenizer.encode("ab é")
    longer = fastbpe.load(model_of([*unknown, *texts, (b"ab", -9.0, PieceType.NORMAL), *bytes_], options, plain))
    assert longer.encode("ab") == [1, 2, 3]
    if format == "gguf":
        with pytest.raises(fastbpe.FormatError, match=r"llama\.cpp would merge"):
            longer.export(tmp_path / "y.json", format=format)
        return
    longer.export(tmp_path / "y.json", format=format)
    assert fastbpe.load(tmp_path / "y.json").encode("ab") == [1, 2, 3]


@pytest.mark.parametrize("model_type", ["word", "char"])
def test_piece_of_text_may_equal_a_name(model_type: str) -> None:
    """sentencepiece 0.2.3 loads it. A piece that is not UTF-8 is never found."""
    pieces = [
        (b"<unk>", 0.0, PieceType.UNKNOWN),
        (b"a", 0.0, PieceType.CONTROL),
        (b"a", -1.0, PieceType.NORMAL),
        ("▁".encode(), -1.0, PieceType.NORMAL),
        ("▁a".encode(), -1.0, PieceType.NORMAL),
        (b"\xff", -1.0, PieceType.NORMAL),
    ]
    made = SentencePieceProcessor(model_proto=model_of(pieces, {"model_type": model_type}))
    assert made.encode("a aa") == ([4, 0] if model_type == "word" else [3, 2, 3, 2, 2])
    assert made.piece_to_id("a") == 1


@pytest.mark.parametrize("model_type", ["word", "char"])
def test_files_hold_the_model_and_its_vocabulary(model_type: str, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(SENTENCES))
    prefix = tmp_path / "m"
    options = f"--model_type={model_type} --vocab_size=20 --hard_vocab_limit=false"
    assert SentencePieceTrainer.train(f"--input={text} --model_prefix={prefix} {options}")
    made = SentencePieceProcessor(model_file=f"{prefix}.model")
    lines = (tmp_path / "m.vocab").read_text(encoding="utf-8").split("\n")
    assert [line.split("\t")[0] for line in lines[:-1]] == made.id_to_piece(list(range(len(made))))
    assert lines[3].split("\t")[1].startswith("-1.")
