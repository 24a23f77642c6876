"""One whole run: extend a model by Japanese, prune it, resize the embedding, and ask the original libraries."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from helpers.shared_data import corpus, data_file

np = pytest.importorskip("numpy")
pytest.importorskip("sentencepiece")

ENGLISH = "The cat has no name yet, and it does not know where it was born. It cried.\n" * 9
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたか頓と見当がつかぬ。\n" * 9


def tool() -> Any:
    path = Path(__file__).resolve().parents[2] / "tools" / "extend_llama.py"
    spec = importlib.util.spec_from_file_location("extend_llama", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def inputs(kind: str) -> tuple[fastbpe.Tokenizer, str, str, int]:
    """Give a model, Japanese and English text, and a number of new pieces: Llama 2 and a novel, or small ones."""
    if kind == "small":
        base = fastbpe.train(
            iter([ENGLISH]),
            mode="codepoint",
            vocab_size=330,
            byte_fallback=True,
            remove_extra_whitespaces=False,
            normalization_rule_name="identity",
            progress=False,
        )
        return base, JAPANESE, ENGLISH, 60
    base = fastbpe.load(data_file("vocab", "llama2_tokenizer.model"))
    japanese = corpus("wagahaiwa_nekodearu.txt", 200_000).replace("\r\n", "\n")
    return base, japanese, corpus("taylorswift.txt", 60_000), 2000


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", ["small", "llama2"])
def test_model_extended_by_japanese_from_end_to_end(kind: str, tmp_path: Path) -> None:
    base, japanese, english, n_new = inputs(kind)
    done = tool().run(base, japanese, english, n_new)
    assert done.longer.n_vocab == base.n_vocab + n_new
    assert done.longer.vocab[: base.n_vocab] == base.vocab
    assert not done.changes.texts, "English keeps its ids"
    assert done.longer.count(japanese) < 0.7 * base.count(japanese)

    small, id_map = done.small, done.id_map
    assert small.n_vocab < done.longer.n_vocab
    for text in (japanese, english):
        assert small.count(text) == done.longer.count(text)
        assert small.decode(small.encode(text)) == base.decode(base.encode(text))
    old_to_new = id_map.old_to_new
    assert [old_to_new[i] for i in base.encode(english)] == small.encode(english)

    for new, old in enumerate(id_map.new_to_old.tolist()):
        rows = done.embedding[[old]] if old >= 0 else done.embedding[[*id_map.init_from[new]]]
        assert len(rows), "each new piece starts from old ones"
        assert np.allclose(done.resized[new], rows.mean(axis=0), atol=1e-6)
    assert done.resized.shape == (small.n_vocab, 64)

    agreeing = tool().check_owners(small, tmp_path, japanese + english)
    assert {"sentencepiece", "fastbpe (.model)", "fastbpe (tokenizer.json)"} <= {*agreeing}
