"""patch(), unpatch(), streams, servers and programs that one cannot edit."""

from __future__ import annotations

import copy
import functools
import pickle
import random
import subprocess
import sys
import threading
import types
import weakref
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

import tokenizers
import transformers
from tokenizers import models

import fastbpe.transformers as door
from fastbpe.transformers import accelerating, decode_stream, patching, sglang, vllm
from fastbpe.transformers.classes import ENGINE
from fastbpe.transformers.engine import WAITS
from fastbpe.transformers.snapshot import alive
from helpers.sampling import SEED
from helpers.transformers_grid import FILES, TEXTS, TRAINED, make, random_texts

Stock = tokenizers.decoders.DecodeStream


@pytest.fixture(autouse=True)
def unpatched() -> Iterator[None]:
    yield
    door.unpatch()


def is_accelerated(tokenizer: Any) -> bool:
    return bool(door.status(tokenizer)["accelerated"])


def test_patch_accelerates_what_is_made_afterwards(tmp_path: Path) -> None:
    before = make("small_bytes")
    door.patch()
    made = make("small_bytes")
    made.save_pretrained(tmp_path)
    loaded = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert not is_accelerated(before)
    assert is_accelerated(made)
    assert is_accelerated(loaded)
    assert loaded(TEXTS)["input_ids"] == before(TEXTS)["input_ids"]


def test_first_short_calls_after_patch_stay_with_the_backend() -> None:
    stock = make("small_bytes")
    door.patch()
    calls = [
        lambda t: t("Hello"),
        lambda t: t.encode("Hello"),
        lambda t: t.batch_decode([[5, 6], [7]]),
        lambda t: t(["Hello"] * 2),
        lambda t: t.decode([5]),
    ]
    made = make("small_bytes")
    engine = made.__dict__[ENGINE]
    for number, call in enumerate(calls):
        assert call(made) == call(stock)
        engine = made.__dict__[ENGINE]
        assert engine.waits == (number < 3)
    assert (engine.calls["encode", WAITS], engine.calls["decode", WAITS]) == (2, 2)
    assert door.status(made)["native"] == {"encode": 1, "decode": 1}


def test_copies_wait_after_patch_but_not_unpickled_ones() -> None:
    door.patch()
    made = make("small_bytes")
    assert copy.deepcopy(made).__dict__[ENGINE].waits
    assert not pickle.loads(pickle.dumps(made)).__dict__[ENGINE].waits


@pytest.mark.parametrize("text", ["long " * 3000, ["long "] * 3000, ["long " * 2000] * 2])
def test_a_long_text_after_patch_is_native_at_once(text: Any) -> None:
    door.patch()
    made = make("small_bytes")
    made(text)
    assert door.status(made)["native"] == {"encode": 1}


def test_accelerate_after_patch_makes_the_first_call_native() -> None:
    door.patch()
    made = door.accelerate(make("small_bytes"))
    made("short")
    assert door.status(made)["native"] == {"encode": 1}


def test_patch_takes_existing_tokenizers_on_request() -> None:
    before = make("small_bytes")
    door.patch(existing=True)
    assert is_accelerated(before)


def test_unpatch_gives_everything_back() -> None:
    init = transformers.PreTrainedTokenizerFast.__init__
    kept = door.accelerate(make("small_bytes"))
    door.patch()
    door.patch()
    made = make("small_bytes")
    ids = made(TEXTS)["input_ids"]
    door.unpatch()
    assert transformers.PreTrainedTokenizerFast.__init__ is init
    assert tokenizers.decoders.DecodeStream is Stock
    assert not is_accelerated(made)
    assert is_accelerated(kept)
    assert not is_accelerated(make("small_bytes"))
    assert made(TEXTS)["input_ids"] == ids


class _Interrupt(BaseException):
    pass


def _interrupted(call: Any, module: Any, name: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt a call when it calls a function of a module for the n-th time, as Ctrl-C or a fork may."""
    whole, calls = getattr(module, name), []

    def interrupting(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == n:
            raise _Interrupt
        return whole(*args)

    with monkeypatch.context() as patched:
        patched.setattr(module, name, interrupting)
        with pytest.raises(_Interrupt):
            call()


def test_patch_and_unpatch_complete_an_interrupted_call(monkeypatch: pytest.MonkeyPatch) -> None:
    init = transformers.PreTrainedTokenizerFast.__init__
    _interrupted(door.patch, patching, "_taking", 1, monkeypatch)
    door.patch()
    assert is_accelerated(make("small_bytes"))
    _interrupted(door.unpatch, patching, "_swap_streams", 1, monkeypatch)
    door.patch()
    assert is_accelerated(make("small_bytes"))
    _interrupted(door.unpatch, patching, "_swap_streams", 1, monkeypatch)
    door.unpatch()
    assert transformers.PreTrainedTokenizerFast.__init__ is init
    assert tokenizers.decoders.DecodeStream is Stock


def _printed_beside_stock_methods(code: str, cwd: Path) -> str:
    """Run code in a process that then prints whether the methods of tokenizers are the same as before."""
    methods = "(tokenizers.Tokenizer.add_tokens, tokenizers.Tokenizer.model)"
    done = run("-c", f"import tokenizers\nstock = {methods}\n{code}print({methods} == stock)\n", cwd=cwd)
    assert not done.returncode, done.stderr
    return done.stdout


def test_watching_completes_an_interrupted_start(tmp_path: Path) -> None:
    code = (
        "from fastbpe.transformers import watching\n"
        "made = tokenizers.Tokenizer(tokenizers.models.BPE())\n"
        "whole, watching._replace_setter = watching._replace_setter, None\n"
        "try: watching.watch(made)\n"
        "except TypeError: pass\n"
        "watching._replace_setter = whole\n"
        "counter = watching.watch(made)\n"
        "made.add_tokens(['a'])\n"
        "made.model = tokenizers.models.BPE()\n"
        "print(counter)\n"
        "watching.stop_watching(lambda tokenizer: False)\n"
    )
    assert _printed_beside_stock_methods(code, tmp_path) == "[2]\nTrue\n"


def test_members_are_listed_beside_a_thread_that_adds_some() -> None:
    members: weakref.WeakKeyDictionary[Any, None] = weakref.WeakKeyDictionary()
    kept = [_Registry() for _ in range(50)]
    members.update(dict.fromkeys(kept))
    done = threading.Event()

    def add() -> None:
        while not done.is_set():
            members[_Registry()] = None

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=add)
    thread.start()
    try:
        assert all({*kept} <= {*alive(members)} for _ in range(2000))
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(before)


@pytest.mark.daily
def test_methods_of_tokenizers_are_stock_again_without_accelerated_ones(tmp_path: Path) -> None:
    code = (
        "import gc\n"
        "from tokenizers import models\n"
        "from transformers import PreTrainedTokenizerFast\n"
        "import fastbpe.transformers as door\n"
        "door.patch()\n"
        "made = PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(models.BPE()))\n"
        "made('a')\n"
        "print(tokenizers.Tokenizer.add_tokens is stock[0])\n"
        "del made\n"
        "gc.collect()\n"
        "door.unpatch()\n"
    )
    assert _printed_beside_stock_methods(code, tmp_path) == "False\nTrue\n"


@pytest.mark.parametrize(
    "model",
    [
        models.WordLevel({"a": 0, "[UNK]": 1, "ab": 2}, unk_token="[UNK]"),
        models.WordPiece({"a": 0, "[UNK]": 1, "##b": 2}, unk_token="[UNK]"),
        models.Unigram([("<unk>", 0.0), ("a", -1.0), ("ab", -1.5), ("b", -2.0)], unk_id=0),
    ],
    ids=["WordLevel", "WordPiece", "Unigram"],
)
def test_models_of_other_types_answer_like_stock(model: Any) -> None:
    backend = tokenizers.Tokenizer(model)
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    stock = transformers.PreTrainedTokenizerFast(tokenizer_object=backend)
    made = door.accelerate(transformers.PreTrainedTokenizerFast(tokenizer_object=backend))
    assert is_accelerated(made)
    for text in ("a ab", "b abab", "", "\u4e16 a"):
        assert made(text).data == stock(text).data
        assert made.tokenize(text) == stock.tokenize(text)
        assert made.decode(made.encode(text)) == stock.decode(stock.encode(text))
        offsets = [tokenizer(text, return_offsets_mapping=True).data for tokenizer in (made, stock)]
        assert offsets[0] == offsets[1]
    assert door.status(made)["reason"] == door.status(door.accelerate(make("small_bytes")))["reason"]


@pytest.mark.parametrize("kind", ["WordLevel", "WordPiece", "Unigram", "BPE"])
@pytest.mark.parametrize("is_setting", [False, True])
def test_decoded_texts_are_cleaned_up_like_stock(kind: str, is_setting: bool) -> None:
    tokens = ["[UNK]", "it", "'s", ".", "n't", "a"]
    vocab = {token: i for i, token in enumerate(tokens)}
    made: Any = {
        "WordLevel": lambda: models.WordLevel(vocab, unk_token="[UNK]"),
        "WordPiece": lambda: models.WordPiece(vocab, unk_token="[UNK]"),
        "Unigram": lambda: models.Unigram([(token, -1.0) for token in tokens], unk_id=0),
        "BPE": lambda: models.BPE(vocab, []),
    }
    backend = tokenizers.Tokenizer(made[kind]())
    options = {"clean_up_tokenization_spaces": True}
    ours, stock = (
        transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **options if is_setting else {})
        for _ in range(2)
    )
    door.accelerate(ours)
    for ids in ([1, 2, 5, 3], [5, 4], 3, []):
        for given in ({}, options, {"clean_up_tokenization_spaces": False}):
            assert ours.decode(ids, **given) == stock.decode(ids, **given)
    assert ours.batch_decode([[1, 2, 3], [5, 3]], **options) == stock.batch_decode([[1, 2, 3], [5, 3]], **options)


def test_accelerate_leaves_what_is_no_tokenizer() -> None:
    assert door.accelerate("no tokenizer") == "no tokenizer"


def test_accelerate_again_changes_nothing() -> None:
    made = door.accelerate(make("small_bytes"))
    cls = type(made)
    assert door.accelerate(made) is made
    assert type(made) is cls
    assert isinstance(made, transformers.PreTrainedTokenizerFast)


def test_unknown_interface_leaves_tokenizers_stock(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(accelerating.DEFAULTS, "an_argument", None)
    door.patch()
    assert "leaves transformers as it is" in caplog.text
    made = make("small_bytes")
    assert not is_accelerated(door.accelerate(made))


@pytest.mark.daily
@pytest.mark.parametrize("name", [*TRAINED, *FILES])
@pytest.mark.sample(3)
def test_streams_decode_like_stock(name: str) -> None:
    stock = make(name)
    door.patch()
    ours = make(name)
    rng = random.Random(f"{SEED} {name}")
    lists = [stock(text)["input_ids"] for text in random_texts(rng, 40) + TEXTS]
    lists += [[rng.randrange(len(stock)) for _ in range(30)] for _ in range(20)]
    for ids in lists:
        for skips in (False, True):
            results = []
            for cls, tokenizer in ((Stock, stock), (tokenizers.decoders.DecodeStream, ours)):
                cut = len(ids) % 7  # a prompt, which may end within a character
                stream, out = cls(ids[:cut], skips) if cut else cls(skip_special_tokens=skips), []
                try:
                    for i, token_id in enumerate(ids[cut:]):
                        out.append(stream.step(tokenizer._tokenizer, token_id))
                        if i == 4:
                            stream = copy.copy(stream)
                        if i == 8:
                            out.append(stream.step(tokenizer._tokenizer, ids[:3]))
                except Exception as error:
                    out.append(repr(error))
                results.append(out)
            assert results[0] == results[1], ids


def test_streams_continue_after_ids_and_notice_changes() -> None:
    stock = make("small_bytes")
    door.patch()
    ours = make("small_bytes")
    ids = stock("some text for a stream", add_special_tokens=False)["input_ids"]
    results = []
    for cls, tokenizer in ((Stock, stock), (tokenizers.decoders.DecodeStream, ours)):
        stream, out = cls(ids=ids[:2]), []
        out += [stream.step(tokenizer._tokenizer, i) for i in ids[2:6]]
        tokenizer._tokenizer.decoder = tokenizers.decoders.Fuse()
        stream = cls()
        out += [stream.step(tokenizer._tokenizer, i) for i in ids[6:]]
        results.append(out)
    assert results[0] == results[1]
    with pytest.raises(TypeError):
        tokenizers.decoders.DecodeStream().step("no tokenizer", 1)


@pytest.mark.parametrize("ids", [None, [0], [0, 1]])
def test_streams_ask_a_backend_that_panics_without_ids_for_no_text_of_none(ids: Any) -> None:
    decoders = tokenizers.decoders
    backend = tokenizers.Tokenizer(models.BPE({"x": 0, "y": 1, "z": 2}, []))
    backend.decoder = decoders.Sequence([decoders.Fuse(), decoders.Strip(" ", 0, 1)])
    door.patch()
    for cls in (Stock, tokenizers.decoders.DecodeStream):
        stream = cls(ids, False)
        assert [stream.step(backend, i) for i in (0, 1, 2)] == ["x", "y", "z"]


def test_names_imported_before_are_replaced_and_given_back() -> None:
    module = types.ModuleType("imported_before")
    module.DecodeStream = Stock  # type: ignore[attr-defined]
    sys.modules["imported_before"] = module
    try:
        door.patch()
        assert module.DecodeStream is not Stock
        door.unpatch()
        assert module.DecodeStream is Stock
    finally:
        del sys.modules["imported_before"]


def test_sglang_door_serves_its_calls() -> None:
    stock = make("small_bytes")
    sglang.patch_transformers()
    ours = copy.deepcopy(make("small_bytes"))
    assert is_accelerated(ours)  # asking for the status makes the tables: the calls below do not wait
    assert ours(TEXTS)["input_ids"] == stock(TEXTS)["input_ids"]
    assert [ours.encode(text) for text in TEXTS] == [stock.encode(text) for text in TEXTS]
    assert ours.batch_decode(ours(TEXTS)["input_ids"]) == stock.batch_decode(stock(TEXTS)["input_ids"])
    assert not door.status(ours)["handed_over"]


def test_sglang_plugin_patches_where_the_environment_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    sglang.register()
    assert not is_accelerated(make("small_bytes"))
    monkeypatch.setenv("FASTBPE_PATCH", "others, transformers")
    sglang.register()
    assert is_accelerated(make("small_bytes"))


def test_plugins_of_servers_name_functions_that_exist() -> None:
    """vLLM and SGLang find these entry points by their groups, in the metadata of the installed package."""
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    for group, module in (("vllm.general_plugins", vllm), ("sglang.srt.plugins", sglang)):
        assert f'[project.entry-points."{group}"]\nfastbpe = "{module.__name__}:register"' in text
        assert callable(module.register)


class _Registry:
    def __init__(self) -> None:
        self.modes: dict[str, tuple[str, str]] = {}

    def register(self, mode: str, module: str, class_name: str) -> None:
        self.modes[mode] = (module, class_name)


@pytest.mark.parametrize("has_renderers", [True, False])
def test_vllm_door_registers_a_class_that_loads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_renderers: bool
) -> None:
    """The stub has the shape of vLLM: registries of (mode, module, class), and get_tokenizer.

    `.ci/servers` runs the door with vLLM itself.
    """
    loaders, renderers = _Registry(), _Registry()

    def get_tokenizer(path: str, *args: Any, tokenizer_mode: str, **options: Any) -> Any:
        assert tokenizer_mode == "hf"
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)

        class Cached(type(tokenizer)):  # type: ignore[misc]
            def __reduce__(self) -> Any:
                return functools.partial(get_tokenizer, tokenizer_mode="hf"), (path,)

        tokenizer.__class__ = Cached
        return tokenizer

    names = ["vllm", "vllm.tokenizers", "vllm.renderers", "vllm.renderers.registry"][: 4 if has_renderers else 2]
    modules = {name: types.ModuleType(name) for name in names}
    modules["vllm.tokenizers"].__dict__.update(TokenizerRegistry=loaders, get_tokenizer=get_tokenizer)
    modules.get("vllm.renderers.registry", types.ModuleType("")).__dict__["RENDERER_REGISTRY"] = renderers
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    vllm.register()
    assert renderers.modes == ({"fastbpe": ("vllm.renderers.hf", "HfRenderer")} if has_renderers else {})
    module_name, class_name = loaders.modes["fastbpe"]
    make("small_bytes").save_pretrained(tmp_path)
    loader = getattr(__import__(module_name, fromlist=[class_name]), class_name)
    loaded = loader.from_pretrained(str(tmp_path), trust_remote_code=False)
    assert is_accelerated(loaded)
    assert loaded.encode(TEXTS[0]) == make("small_bytes").encode(TEXTS[0])
    copied = copy.deepcopy(loaded)
    assert is_accelerated(copied)
    assert copied.encode(TEXTS[0]) == loaded.encode(TEXTS[0])


def test_vllm_door_does_nothing_without_vllm() -> None:
    vllm.register()


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, check=False)


@pytest.mark.daily
def test_scripts_run_patched(tmp_path: Path) -> None:
    make("small_bytes").save_pretrained(tmp_path / "model")
    script = (
        "import sys, helper\n"
        "from transformers import AutoTokenizer\n"
        "from fastbpe.transformers import status\n"
        "if __name__ == '__main__':\n"
        "    tokenizer = AutoTokenizer.from_pretrained('model')\n"
        "    print(status(tokenizer)['accelerated'], len(tokenizer('Hi')['input_ids']) > 2, sys.argv)\n"
        "    sys.exit(3)\n"
    )
    (tmp_path / "script.py").write_text(script)
    (tmp_path / "helper.py").write_text("")
    done = run("-m", "fastbpe.transformers", "script.py", "--epochs", "1", cwd=tmp_path)
    assert done.stdout == "True True ['script.py', '--epochs', '1']\n", done.stderr
    assert done.returncode == 3
    done = run("-m", "fastbpe.transformers", "-m", "script", cwd=tmp_path)
    assert done.stdout.startswith("True True"), done.stderr


@pytest.mark.daily
def test_scripts_find_modules_in_the_same_folders_as_under_python(tmp_path: Path) -> None:
    for place in ("own/script.py", "folder/__main__.py"):
        (tmp_path / place).parent.mkdir()
        (tmp_path / place).write_text("import sys; print(sys.path)")
    with zipfile.ZipFile(tmp_path / "zipped", "w") as file:
        file.write(tmp_path / "own/script.py", "__main__.py")
    (tmp_path / "link.py").symlink_to("own/script.py")
    flags = ["-P"] if sys.version_info >= (3, 11) else ["-I"]
    for *options, program in (["own/script.py"], [*flags, "own/script.py"], ["link.py"], ["folder"], ["zipped"]):
        path = str(tmp_path / program)
        expected = run(*options, path, cwd=tmp_path).stdout
        assert run(*options, "-m", "fastbpe.transformers", path, cwd=tmp_path).stdout == expected


@pytest.mark.parametrize("arguments", [[], ["-x"], ["-m"], ["no_such_file.py"]])
def test_wrong_usage_ends_with_status_2(arguments: list[str], tmp_path: Path) -> None:
    done = run("-m", "fastbpe.transformers", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "python -m fastbpe.transformers" in done.stderr
    assert "Traceback" not in done.stderr


def test_import_of_fastbpe_does_not_import_transformers(tmp_path: Path) -> None:
    code = "import sys, fastbpe; print('transformers' in sys.modules, 'tokenizers' in sys.modules)"
    assert run("-c", code, cwd=tmp_path).stdout == "False False\n"


def test_unpatching_leaves_our_own_modules_as_they_are() -> None:
    own = decode_stream.DecodeStream
    door.patch()
    door.unpatch()
    assert decode_stream.DecodeStream is own
    assert own is not decode_stream.STOCK


class Words(str):
    """A str of another type, which the original must judge."""


@pytest.mark.parametrize("text", ["some text", Words("some text")])
def test_call_keeps_its_settings_beside_calls_of_other_threads(text: str) -> None:
    """Another thread once changed truncation and padding after a call had set them, and before it encoded."""
    stock = make("small_bytes")
    short: dict[str, Any] = {"max_length": 3, "truncation": True}
    padded: dict[str, Any] = {"max_length": 40, "truncation": True, "padding": "max_length"}
    wanted = [stock(text, **options)["input_ids"] for options in (short, padded)]
    door.patch()
    ours = make("small_bytes")
    for _ in range(5):
        ours(text)  # the first calls are the original's
    found: list[Any] = []
    threads: list[threading.Thread] = []
    set_once = ours.set_truncation_and_padding

    def other() -> None:
        found.append(ours(text, **padded)["input_ids"])

    def set_and_wait(*args: Any, **options: Any) -> None:
        set_once(*args, **options)
        if not threads:
            threads.append(threading.Thread(target=other))
            threads[0].start()
            threads[0].join(0.5)

    ours.set_truncation_and_padding = set_and_wait
    assert ours(text, **short)["input_ids"] == wanted[0]
    threads[0].join()
    assert found == [wanted[1]]
