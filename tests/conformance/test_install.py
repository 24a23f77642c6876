"""install() and uninstall(): faces under the names of other modules, for programs that are not edited.

Programs run in processes of their own, since modules that import the originals would keep them.
"""

from __future__ import annotations

import importlib.util
import pickle
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import fastbpe
from fastbpe import drop_ins
from fastbpe._compiled import CompiledModules
from helpers.child_processes import run_python
from helpers.shared_data import data_file

pytestmark = pytest.mark.daily

NAMES = ("tiktoken", "sentencepiece", "rustbpe", "tokenizers")


@pytest.fixture(autouse=True)
def _put_back() -> Iterator[None]:
    yield
    fastbpe.uninstall()


def modules() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name.split(".")[0] in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_import_gives_the_face_and_later_the_original(name: str) -> None:
    original = importlib.import_module(name)
    face = importlib.import_module(f"fastbpe.{name}")
    fastbpe.install(name)
    installed = importlib.import_module(name)
    assert installed is not original
    assert all(getattr(installed, public) is getattr(face, public) for public in face.__all__)
    fastbpe.uninstall(name)
    assert importlib.import_module(name) is original


def test_uninstall_restores_modules_and_finders_to_the_very_same_objects() -> None:
    import sentencepiece  # noqa: F401
    import tiktoken.load
    import tokenizers  # noqa: F401

    before, finders = modules(), list(sys.meta_path)
    for _ in range(2):  # again changes nothing
        fastbpe.install(*NAMES)
    assert sys.modules["tiktoken.load"] is fastbpe.tiktoken.load
    assert len(sys.meta_path) == len(finders) + 1
    for _ in range(2):
        fastbpe.uninstall()
    assert modules() == before
    assert sys.meta_path == finders
    assert sys.modules["tiktoken.load"] is tiktoken.load


def test_uninstall_of_one_drop_in_keeps_the_others() -> None:
    fastbpe.install(*NAMES)
    fastbpe.uninstall("rustbpe")
    import rustbpe
    import tiktoken

    assert not rustbpe.__file__.startswith(str(Path(fastbpe.__file__).parent))
    assert tiktoken.Encoding is fastbpe.tiktoken.Encoding


def test_borrowed_module_may_have_submodules_and_draws_encodings_of_the_face() -> None:
    code = (
        "from {module} import Tokenizer, models\n"
        "from tokenizers.tools import Annotation, EncodingVisualizer\n"
        "tokenizer = Tokenizer(models.BPE({{'a': 0, 'b': 1, 'ab': 2}}, [('a', 'b')]))\n"
        "draw = EncodingVisualizer(tokenizer, default_to_notebook=False)\n"
        "print(draw('abba', annotations=[Annotation(0, 2, 'x')]))"
    )
    original = run_python(code.format(module="tokenizers"))
    swap = "import fastbpe; fastbpe.install('tokenizers')\n"
    assert "abba" not in original
    assert "</html>" in original
    assert run_python(swap + code.format(module="tokenizers")) == original  # the program is not edited
    assert run_python(code.format(module="fastbpe.tokenizers")) == original  # one import is edited


def test_pickled_stand_in_is_the_module_of_that_name() -> None:
    """Dataset.map, Ray and joblib pickle functions with the modules that they use."""
    fastbpe.install("tiktoken")
    import tiktoken

    data = pickle.dumps(tiktoken)
    assert pickle.loads(data) is tiktoken
    fastbpe.uninstall()
    assert pickle.loads(data) is importlib.import_module("tiktoken") is not tiktoken


def test_import_of_fastbpe_swaps_nothing() -> None:
    code = "import sys, fastbpe, fastbpe.tiktoken, fastbpe.sentencepiece, fastbpe.rustbpe, fastbpe.drop_ins\n"
    code += "print([m for m in sys.modules if m.split('.')[0] in ('tiktoken', 'sentencepiece', 'rustbpe')])\n"
    code += "print([f.__name__ for f in sys.meta_path if 'fastbpe' in str(f)])"
    assert run_python(code).split() == ["[]", "['CompiledModules']"]


def test_names_that_have_no_face_are_refused_and_nothing_is_installed() -> None:
    with pytest.raises(
        ValueError,
        match="fastbpe cannot replace the module 'torch': choose from minbpe, rustbpe, sentencepiece, tik",
    ):
        fastbpe.install("tiktoken", "torch")
    with pytest.raises(ValueError, match="fastbpe cannot replace the module 'torch'"):
        fastbpe.uninstall("torch")
    with pytest.raises(ValueError, match="needs at least one module name"):
        fastbpe.install()
    with pytest.raises(TypeError, match="str, not list"):
        fastbpe.install(["tiktoken"])  # type: ignore[arg-type]
    assert [finder for finder in sys.meta_path if "fastbpe" in str(finder)] == [CompiledModules]


def test_missing_submodules_and_names_are_errors_that_name_the_way_out() -> None:
    fastbpe.install(*NAMES)
    import tiktoken

    for statement in ("import tiktoken._tiktoken", "from tiktoken import _tiktoken", "import rustbpe.rustbpe"):
        with pytest.raises(ModuleNotFoundError, match=r"if it is installed, call fastbpe.uninstall\('"):
            exec(statement)
    with pytest.raises(AttributeError, match=r"has no attribute 'CoreBPE': fastbpe\.tiktoken stands in"):
        _ = tiktoken.CoreBPE  # type: ignore[attr-defined]


def test_submodules_and_star_imports_work() -> None:
    fastbpe.install(*NAMES)
    names: dict[str, object] = {}
    exec("from tiktoken import *\nfrom tiktoken.load import load_tiktoken_bpe\nimport tiktoken.registry", names)
    assert names["Encoding"] is fastbpe.tiktoken.Encoding
    assert names["load_tiktoken_bpe"] is fastbpe.tiktoken.load.load_tiktoken_bpe
    exec("from tiktoken._educational import SimpleBytePairEncoding\nimport tiktoken.model as model", names)
    assert names["model"] is fastbpe.tiktoken.model


def test_find_spec_and_reload_and_a_dropped_module_keep_the_face() -> None:
    fastbpe.install("tiktoken")
    import tiktoken

    assert importlib.util.find_spec("tiktoken") is not None
    assert importlib.reload(tiktoken).Encoding is fastbpe.tiktoken.Encoding
    own_spec = fastbpe.tiktoken.core.__spec__
    for name in ("tiktoken.core", "tiktoken"):
        del sys.modules[name]
        module = importlib.import_module(name)
        assert module.Encoding is fastbpe.tiktoken.Encoding
    assert fastbpe.tiktoken.core.__spec__ is own_spec


def test_original_that_is_not_installed_is_not_needed() -> None:
    code = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tiktoken", "sentencepiece", "rustbpe"):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Hidden())
import fastbpe
fastbpe.install("tiktoken", "sentencepiece", "rustbpe")
import tiktoken, sentencepiece, rustbpe, importlib.util
print(tiktoken.Encoding.__module__, bool(importlib.util.find_spec("sentencepiece")))
fastbpe.uninstall()
try:
    import tiktoken
except ModuleNotFoundError:
    print("gone")
"""
    assert run_python(code).split() == ["fastbpe.tiktoken.core", "True", "gone"]


def test_protobuf_messages_of_sentencepiece_come_from_the_original() -> None:
    """Programs read model files with them; they need nothing else of sentencepiece."""
    pytest.importorskip("google.protobuf")
    fastbpe.install("sentencepiece")
    spec = importlib.util.find_spec("sentencepiece.sentencepiece_model_pb2")
    assert spec is not None
    assert spec.origin is not None
    assert not spec.origin.startswith(str(Path(fastbpe.__file__).parent))
    from sentencepiece import sentencepiece_model_pb2

    assert sentencepiece_model_pb2.ModelProto().pieces is not None


@pytest.mark.parametrize("hidden", ["google", "sentencepiece"])
def test_model_files_are_read_without_protobuf_or_the_original(hidden: str) -> None:
    printed = run_python(
        f"""
import importlib.machinery, io, sys
class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] == {hidden!r} else super().find_spec(name, path, target)
sys.meta_path[:] = [Finder if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path]
import fastbpe, fastbpe.drop_ins
fastbpe.drop_ins.PathFinder = Finder
fastbpe.install("sentencepiece")
from sentencepiece import SentencePieceTrainer, sentencepiece_model_pb2 as pb2
file = io.BytesIO()
SentencePieceTrainer.train(sentence_iterator=iter(["ab"]), model_writer=file, model_type="bpe", vocab_size=6)
model = pb2.ModelProto()
model.ParseFromString(file.getvalue())
print(pb2.__name__, model.trainer_spec.vocab_size, len(model.pieces))
"""
    )
    assert printed == "fastbpe.sentencepiece.sentencepiece_model_pb2 6 6\n"


def test_pickles_of_tiktoken_load_as_the_face() -> None:
    import tiktoken

    ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256}
    encoding = tiktoken.Encoding("t", pat_str=r"\w+|\W+", mergeable_ranks=ranks, special_tokens={"<e>": 257})
    data = pickle.dumps(encoding)
    fastbpe.install("tiktoken")
    loaded = pickle.loads(data)
    assert type(loaded) is fastbpe.tiktoken.Encoding
    assert loaded.encode("abc <e>", allowed_special="all") == [256, 99, 32, 257]
    assert loaded.name == "t"
    assert pickle.loads(pickle.dumps(loaded)).encode("ab") == [256]


def test_pickle_of_a_registered_encoding_of_tiktoken_loads_by_its_name() -> None:
    path = data_file("vocab", "r50k_base.tiktoken")
    code = f"""
import pickle, tiktoken.registry
from tiktoken.load import load_tiktoken_bpe
ranks = load_tiktoken_bpe({str(path)!r})
e = tiktoken.Encoding("r50k_base", pat_str=r"\\w+|\\W+", mergeable_ranks=ranks, special_tokens={{}})
tiktoken.registry.ENCODINGS["r50k_base"] = e
data = pickle.dumps(e)
assert len(data) < 200
import fastbpe
fastbpe.install("tiktoken")
loaded = pickle.loads(data)
print(type(loaded).__module__, loaded.encode("hello"), loaded.eot_token)
"""
    folder = str(path.parent)
    assert run_python(code, FASTBPE_VOCAB_DIR=folder).split() == ["fastbpe.tiktoken.core", "[31373]", "50256"]


def test_threads_never_find_the_name_without_a_module() -> None:
    fastbpe.install("tiktoken")
    fastbpe.uninstall()
    stop = threading.Event()
    errors: list[BaseException] = []

    def look() -> None:
        while not stop.is_set():
            try:
                assert sys.modules["tiktoken"].Encoding
                exec("import tiktoken.load\nfrom tiktoken import Encoding")
            except BaseException as error:
                errors.append(error)

    def swap() -> None:
        for _ in range(100):
            fastbpe.install("tiktoken", "rustbpe")
            fastbpe.uninstall("tiktoken")

    threads = [threading.Thread(target=look)] + [threading.Thread(target=swap) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads[1:]:
        thread.join()
    stop.set()
    threads[0].join()
    assert not errors


MISTRAL = """
import sys
if sys.argv[1] == "ours":
    import fastbpe
    fastbpe.install("tiktoken", "sentencepiece")
from importlib.resources import files
from mistral_common.protocol.instruct.messages import AssistantMessage, UserMessage
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
texts = ["Hello, wörld! 你好 12345\\n\\n  code()", "<s>[INST] no </s>", "", "🌍 e\\u0301 I'm DON'T"]
request = ChatCompletionRequest(messages=[UserMessage(content=texts[0]), AssistantMessage(content=texts[1]),
                                          UserMessage(content=texts[3])])
for name in ["tekken_240911.json", "tokenizer.model.v1", "mistral_instruct_tokenizer_240323.model.v3"]:
    tokenizer = MistralTokenizer.from_file(str(files("mistral_common") / "data" / name))
    inner = tokenizer.instruct_tokenizer.tokenizer
    print(name, tokenizer.encode_chat_completion(request).tokens)
    for text in texts:
        ids = inner.encode(text, bos=True, eos=True)
        print(ids, ascii(inner.decode(ids)), [ascii(inner.id_to_piece(i)) for i in ids[:9]])
used = [type(getattr(inner, "_model", None)).__module__]
print("module", used, file=sys.stderr)
assert used[0].startswith("fastbpe" if sys.argv[1] == "ours" else "sentencepiece"), used
"""


def test_mistral_common_gives_the_same_ids_over_the_faces() -> None:
    pytest.importorskip("mistral_common")
    assert run_python(MISTRAL, "ours") == run_python(MISTRAL, "original")


GGUF = """
import sys
from pathlib import Path
if sys.argv[1] == "ours":
    import fastbpe
    fastbpe.install("sentencepiece")
from gguf.vocab import SentencePieceVocab, SentencePieceProcessor
vocab = SentencePieceVocab(Path(sys.argv[2]))
print(vocab.vocab_size, vocab.vocab_size_base)
for text, score, kind in vocab.all_tokens():
    print(text, score, int(kind))
assert SentencePieceProcessor.__module__.startswith("fastbpe") == (sys.argv[1] == "ours")
"""


def test_gguf_reads_a_model_file_through_the_face(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    model = fastbpe.train(
        ["the cat sat on the mat"] * 20,
        mode="codepoint",
        vocab_size=300,
        byte_fallback=True,
        control_symbols=["<c>"],
        hard_vocab_limit=False,
        progress=False,
    )
    model.export(tmp_path / "tokenizer.model", format="sentencepiece")
    folder = str(tmp_path)
    printed = run_python(GGUF, "ours", folder)
    assert printed == run_python(GGUF, "original", folder)
    assert len(printed.splitlines()) == model.vocab_size + 1


def test_module_swaps_hold_no_module_after_uninstall() -> None:
    fastbpe.install(*NAMES)
    fastbpe.uninstall()
    assert not drop_ins._replaced


TRANSFORMERS = """
import sys
if sys.argv[1] == "ours":
    import fastbpe
    fastbpe.install("tokenizers")
import copy, pickle, tempfile
import tokenizers, transformers
assert tokenizers.Tokenizer.__module__.startswith("fastbpe") == (sys.argv[1] == "ours")
bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
bpe.pre_tokenizer, bpe.decoder = tokenizers.pre_tokenizers.ByteLevel(), tokenizers.decoders.ByteLevel()
trainer = tokenizers.trainers.BpeTrainer(
    vocab_size=280, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
bpe.train_from_iterator(["the cat sat on the mat"] * 5, trainer)
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, pad_token="!")
texts = ["the cat", "a mat \u4e16 e\u0301", "<zz> sat"]
options = dict(padding=True, truncation=True, max_length=6, return_offsets_mapping=True, return_tensors="np")
batch = tokenizer(texts, **options)
print(batch, batch.tokens(1), batch.word_ids(1), batch.char_to_token(0, 2), tokenizer("a", "b").sequence_ids())
tokenizer.add_tokens(["<zz>"])
for other in (tokenizer, copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
    print(other(texts), other.batch_decode(other(texts)["input_ids"]), other.tokenize(texts[2]))
with tempfile.TemporaryDirectory() as folder:
    tokenizer.save_pretrained(folder)
    print(transformers.AutoTokenizer.from_pretrained(folder)(texts))
print(tokenizer.train_new_from_iterator(["the dog"] * 9, 260, show_progress=False)(texts))
"""


def test_transformers_gives_the_same_over_the_face_of_tokenizers() -> None:
    pytest.importorskip("transformers")
    assert run_python(TRANSFORMERS, "ours") == run_python(TRANSFORMERS, "original")


ACCELERATED = """
import fastbpe, sys
fastbpe.install("tokenizers")
import tokenizers, transformers
made = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
over_face = transformers.PreTrainedTokenizerFast(tokenizer_object=made)
fastbpe.transformers.accelerate(over_face)
print(fastbpe.transformers.status(over_face)["reason"], over_face("abb")["input_ids"])
unigram = tokenizers.Tokenizer(tokenizers.models.Unigram([("a", -1.0), ("b", -2.0)]))
print(type(unigram).__module__, unigram.encode("ab").ids)
fastbpe.uninstall()
for name in [name for name in sys.modules if name.split(".")[0] == "transformers"]:
    del sys.modules[name]
import tokenizers, transformers
trained = fastbpe.train(["ab"] * 9, vocab_size=257, progress=False)
trained.export("tokenizer.json")
stock = fastbpe.transformers.accelerate(transformers.PreTrainedTokenizerFast(tokenizer_file="tokenizer.json"))
print(fastbpe.transformers.status(stock)["accelerated"])
"""


def test_accelerate_knows_the_original_while_the_face_stands_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    assert run_python(ACCELERATED).splitlines() == [
        "its backend is Tokenizer, not a tokenizers.Tokenizer [2, 1]",
        "fastbpe.tokenizers.pipeline_tokenizer [0, 1]",
        "True",
    ]
