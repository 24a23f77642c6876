"""Vocabularies by name: found on this machine, checked, and never downloaded."""

import hashlib
import json
import os
import pickle
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tiktoken.model

import fastbpe
from fastbpe import FastbpeError, FormatError, Tokenizer, known_vocabularies
from fastbpe.cli import main
from fastbpe.errors import DownloadError, VocabularyNotFoundError
from fastbpe.formats.tiktoken import dump
from fastbpe.known_vocabularies import VOCABULARIES, KnownFile, KnownVocabulary
from fastbpe.patterns import PATTERNS
from fastbpe.published import find
from fastbpe.published.downloads import fetch
from fastbpe.tokenizer.loading import check_published
from helpers.shared_data import BYTES, data_file

TOKENS = [*BYTES, b"ab", b"abc"]
DATA = dump(TOKENS)
SPECIAL = {"<|endoftext|>": 258, "<|pad|>": 260}
FILE = KnownFile(
    name="small.tiktoken",
    sha256=hashlib.sha256(DATA).hexdigest(),
    n_bytes=len(DATA),
    n_lines=len(TOKENS),
    url="https://example.org/small.tiktoken",
)
SMALL = KnownVocabulary(name="small", file=FILE, pattern="cl100k", special_tokens=lambda: dict(SPECIAL))
PLAIN = Tokenizer.from_ranks(
    {token: i for i, token in enumerate(TOKENS)}, pattern="cl100k", special_tokens=SPECIAL
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, empty caches, no network, and a small published vocabulary."""
    for variable in ("FASTBPE_VOCAB_DIR", "DATA_GYM_CACHE_DIR", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "tiktoken"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    monkeypatch.setattr(find, "user_cache", lambda: str(tmp_path / "user"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setitem(VOCABULARIES, "small", SMALL)  # type: ignore[arg-type]

    def forbidden(*arguments: Any, **options: Any) -> None:
        raise AssertionError("a socket is opened")

    monkeypatch.setattr(socket, "socket", forbidden)
    monkeypatch.setattr(socket, "getaddrinfo", forbidden)
    return tmp_path


def write_file(folder: Path, name: str, data: bytes = DATA) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    return folder / name


# Folders that are searched.


@pytest.mark.parametrize("place", ["vocab", "user", "tiktoken"])
def test_published_vocabulary_is_found_by_name_in_each_cache(
    place: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FASTBPE_VOCAB_DIR", os.pathsep.join([str(here / "absent"), str(here / "vocab")]))
    file = hashlib.sha1(str(FILE.url).encode()).hexdigest() if place == "tiktoken" else FILE.name
    write_file(here / place, file)
    tokenizer = fastbpe.load("small")
    assert tokenizer == PLAIN
    assert (tokenizer.name, tokenizer.pattern) == ("small", fastbpe.PATTERNS["cl100k"])
    assert fastbpe.load("small", special_tokens={"<x>": 300}).special_tokens == {"<x>": 300}
    assert fastbpe.load("small", special_tokens=["<x>", "<|pad|>"]).special_tokens == {**SPECIAL, "<x>": 261}
    assert fastbpe.load("small", pattern="gpt2").pattern == fastbpe.PATTERNS["gpt2"]


def test_existing_path_wins_over_vocabulary_name(here: Path) -> None:
    write_file(here / "user", FILE.name)
    Tokenizer.from_ranks(BYTES, pattern=None).export("small", format="native")
    assert fastbpe.load("small").vocab_size == 256
    with pytest.raises(FileNotFoundError) as error:
        fastbpe.load(Path("elsewhere"))  # a Path is never a name
    assert not isinstance(error.value, FastbpeError)


def test_native_file_or_folder_of_the_name_is_used(here: Path) -> None:
    (here / "user").mkdir()
    PLAIN.save(here / "user" / "small.fbpe")
    assert fastbpe.load("small") == PLAIN
    (here / "user" / "small.fbpe").unlink()
    PLAIN.export(here / "user" / "small", format="gpt2")
    config = {"tokenizer_class": "GPT2Tokenizer", "extra_special_tokens": [*SPECIAL]}
    (here / "user" / "small" / "tokenizer_config.json").write_text(json.dumps(config))
    message = "small: not small as published: its split pattern is not cl100k; load this file by its path"
    with pytest.raises(FormatError, match=message):
        fastbpe.load("small")


@pytest.mark.parametrize(
    ("ranks", "pattern", "special", "message"),
    [
        (
            [*BYTES, b"ab", b"ac"],
            "cl100k",
            SPECIAL,
            "its ranks have the SHA-256 [0-9a-f]{64}, but the published ranks have",
        ),
        (TOKENS, "gpt2", SPECIAL, "its split pattern is not cl100k"),
        (TOKENS, "cl100k", {"<|pad|>": 300}, "its special tokens differ"),
    ],
)
def test_native_file_that_differs_from_the_published_vocabulary_is_refused(
    ranks: list[bytes], pattern: str, special: Mapping[str, int], message: str, here: Path
) -> None:
    (here / "user").mkdir()
    other = {token: i for i, token in enumerate(ranks)}
    Tokenizer.from_ranks(other, pattern=pattern, special_tokens=special).save(here / "user" / "small.fbpe")
    with pytest.raises(FormatError, match=f"small.fbpe: not small as published: {message}"):
        fastbpe.load("small")


def test_file_with_wrong_hash_is_refused_and_named(here: Path) -> None:
    path = write_file(here / "user", FILE.name, DATA[:-1])
    with pytest.raises(FormatError) as error:
        fastbpe.load("small")
    found = hashlib.sha256(DATA[:-1]).hexdigest()
    assert str(error.value) == (
        f"small: {path} has the SHA-256 {found}, but the published small.tiktoken has {FILE.sha256}: a file with "
        "another hash is damaged or is not that file; download it: fastbpe fetch small"
    )
    write_file(here / "tiktoken", hashlib.sha1(str(FILE.url).encode()).hexdigest())
    assert fastbpe.load("small") == PLAIN  # a correct copy in another folder is used


def test_published_copy_has_the_published_bytes(here: Path) -> None:
    write_file(here / "user", FILE.name, DATA.replace(b"\n", b"\r\n"))
    assert find.published_copy(str(FILE.url), FILE.sha256) is None
    write_file(here / "user", FILE.name)
    assert find.published_copy(str(FILE.url), FILE.sha256) == DATA


def test_not_found_error_tells_hash_and_command_and_counts_places(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FASTBPE_VOCAB_DIR", str(here / "mine"))
    with pytest.raises(FileNotFoundError) as error:
        fastbpe.load("small")
    assert isinstance(error.value, VocabularyNotFoundError)
    sha1 = hashlib.sha1(str(FILE.url).encode()).hexdigest()
    places = [here / "mine" / FILE.name, here / "user" / FILE.name, here / "tiktoken" / sha1]
    places += [here / folder / name for folder in ("mine", "user") for name in ("small.fbpe", "small")]
    assert error.value.looked_at == tuple(map(str, places))
    assert str(error.value) == (
        "small: no such file or folder, and its vocabulary small is not on this machine; download it: fastbpe "
        f"fetch small, or put small.tiktoken (SHA-256 {FILE.sha256}) into a folder that FASTBPE_VOCAB_DIR names "
        "(`fastbpe fetch --list small` shows the 7 places searched)"
    )
    copy = pickle.loads(pickle.dumps(error.value))
    assert (str(copy), copy.looked_at) == (str(error.value), error.value.looked_at)
    places[1].parent.mkdir()
    places[1].touch()
    assert main(["fetch", "--list", "small"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "small:",
        *(f"  {'there ' if place == places[1] else 'absent'}  {place}" for place in places),
    ]


def test_places_of_another_spelling_include_those_of_the_known_name(here: Path) -> None:
    found = find.places("SMALL")
    own = [str(here / "user" / name) for name in ("SMALL.fbpe", "SMALL")]
    assert (found[:2], found[3:]) == (own, find.places("small"))  # read tries the own files first
    assert found[2].endswith("models--SMALL")


def test_unknown_name_error_lists_the_known_names(here: Path) -> None:
    with pytest.raises(VocabularyNotFoundError) as error:
        fastbpe.load("llama2")
    assert str(error.value).startswith(
        "llama2: no such file or folder, and no vocabulary of this name on this machine"
    )
    assert "; known names are gpt2, " in str(error.value)
    assert "OpenAI's models, and ORG/NAME, a repository on huggingface.co (`fastbpe" in str(error.value)
    assert "did you mean" not in str(error.value)  # another model is no misspelling
    with pytest.raises(VocabularyNotFoundError) as error:
        fastbpe.load("org/some-1.5b")
    assert str(here / "huggingface" / "hub" / "models--org--some-1.5b") in error.value.looked_at
    assert ": fastbpe fetch org/some-1.5b (" in str(error.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt4o", "gpt-4o"),
        ("gpt_4o", "gpt-4o"),
        ("gtp-4o", "gpt-4o"),
        ("gpt 4o", "gpt-4o"),
        ("gpt-4o ", "gpt-4o"),
        ("gpt-3.5-trubo", "gpt-3.5 or gpt-3.5-turbo"),
        ("llama-3", "llama3"),
        ("Llama-3.1-8B", "llama3"),
        ("llama", "llama3 or llama4"),
        ("o200k", "o200k_base or o200k_harmony"),
        ("cl100k-base", "cl100k_base"),
        ("deepseek-v3", "deepseek_v3"),
        ("tekken", "mistral_tekken_v3"),
        ("gpt-oss", "gpt-oss-20b or gpt-oss-120b"),
        ("azure/gpt-4o", "gpt-4o"),
        ("azure/gpt4o", "gpt-4o"),
        ("openai:gpt-4o-mini", "gpt-4o-mini"),
        ("openrouter/openai/GPT-4o", "gpt-4o"),
    ],
)
def test_misspelt_name_error_suggests_the_known_one(name: str, meant: str) -> None:
    with pytest.raises(VocabularyNotFoundError) as error:
        fastbpe.load(name)
    assert f"; did you mean {meant}?" in str(error.value)
    assert len(str(error.value)) < 300
    if not find.is_name(name) or "/" in name:
        return
    with pytest.raises(DownloadError, match=f"did you mean {meant}\\? fastbpe knows gpt2, "):
        fetch(name)


@pytest.mark.parametrize("name", ["llama2", "bert-base", "claude-3", "org/llama-3-8b-tuned", "x" * 10_000])
def test_other_names_get_no_suggestion(name: str) -> None:
    with pytest.raises((OSError, VocabularyNotFoundError)) as error:
        fastbpe.load(name)
    assert "did you mean" not in str(error.value)


def test_case_of_a_known_name_does_not_matter(here: Path) -> None:
    write_file(here / "user", FILE.name)
    assert fastbpe.load("Small") == fastbpe.load("SMALL") == PLAIN
    Tokenizer.from_ranks(BYTES, pattern=None).save(here / "user" / "Small.fbpe")
    assert fastbpe.load("Small").vocab_size == 256  # a file of exactly this name comes first


def test_addresses_are_refused_with_a_way_out(here: Path) -> None:
    with pytest.raises(VocabularyNotFoundError, match="load reads no addresses: download the file, or pass its"):
        fastbpe.load("s3://bucket/tokenizer.json")
    tokenizer = fastbpe.Tokenizer.from_merges([(97, 98)], pattern="gpt2")
    for write in (tokenizer.save, tokenizer.export):
        with pytest.raises(FileNotFoundError, match="then upload the file: 's3"):
            write("s3://bucket/tokenizer.json")


def test_list_of_known_names_shows_their_files(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_file(here / "user", FILE.name)
    assert main(["fetch", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*VOCABULARIES]
    assert f"small              {path}" in lines
    assert "p50k_edit          not on this machine  (text-davinci-edit-001, code-davinci-edit-001)" in lines
    assert main(["fetch", "--list", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["small"]["path"], rows["gpt2"]["path"]) == (str(path), None)
    assert "gpt-4o" in rows["o200k_base"]["models"]
    assert main(["fetch", "--list", "--json", "gpt4o"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["name"], [place["exists"] for place in row["places"]]) == ("gpt4o", [False] * 3)


@pytest.mark.parametrize("path", ["a.fbpe", "a/b/c", "../a", "a b", "/a", "a/b.json", "", "a\0b", "a/../b"])
def test_str_that_cannot_be_a_name_is_a_path(path: str, here: Path) -> None:
    assert not find.is_name(path)
    with pytest.raises((OSError, ValueError)) as error:
        fastbpe.load(path)
    assert not isinstance(error.value, FastbpeError)


# Repositories.


def snapshot(here: Path, folder: str, revision: str, main: str | None) -> Path:
    repository = here / folder / "models--org--some-1.5b"
    (repository / "snapshots" / revision).mkdir(parents=True)
    if main is not None:
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text(main)
    PLAIN.export(repository / "snapshots" / revision / "tokenizer.json", format="huggingface")
    return repository


@pytest.mark.parametrize("main", ["abc123", None])
def test_repository_in_the_hugging_face_cache_is_found(main: str | None, here: Path) -> None:
    snapshot(here, "huggingface/hub", "abc123", main)
    assert fastbpe.load("org/some-1.5b").encode("abc") == PLAIN.encode("abc")


def test_hugging_face_environment_variables_select_the_cache(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(here / "hub"))
    repository = snapshot(here, "hub", "abc123", "../../../elsewhere")
    with pytest.raises(VocabularyNotFoundError):
        fastbpe.load("org/some-1.5b")
    (repository / "refs" / "main").write_text("abc123\n")
    monkeypatch.setenv("HERE", str(here))
    monkeypatch.setenv("HF_HUB_CACHE", "$HERE/hub")
    assert fastbpe.load("org/some-1.5b").vocab_size == PLAIN.vocab_size
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.delenv("HF_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "caches"))
    (here / "caches" / "huggingface").mkdir(parents=True)
    (here / "hub").rename(here / "caches" / "huggingface" / "hub")
    assert fastbpe.load("org/some-1.5b").vocab_size == PLAIN.vocab_size


def test_vocabulary_folder_may_hold_repositories_and_native_files(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FASTBPE_VOCAB_DIR", str(here / "mine"))
    (here / "mine" / "org" / "some").mkdir(parents=True)
    PLAIN.export(here / "mine" / "org" / "some" / "tokenizer.json", format="huggingface")
    assert fastbpe.load("org/some").vocab_size == PLAIN.vocab_size
    PLAIN.save(here / "mine" / "mine.fbpe")
    assert fastbpe.load("mine") == PLAIN


# Published facts.


def test_openai_model_names_map_to_encodings_as_in_tiktoken() -> None:
    for model in [*tiktoken.model.MODEL_TO_ENCODING, "gpt-4o-2024-05-13", "ft:gpt-4:x", "gpt-oss-20b"]:
        vocabulary = find.vocabulary_of(model)
        assert vocabulary is not None
        assert vocabulary.name == tiktoken.encoding_name_for_model(model)


@pytest.mark.daily
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [name for name in VOCABULARIES if name != "gpt2"])
def test_published_vocabulary_loads_by_name_with_its_pattern_and_special_tokens(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    vocabulary = VOCABULARIES[name]
    path = data_file("vocab", vocabulary.file.name)
    monkeypatch.setenv("FASTBPE_VOCAB_DIR", str(path.parent))
    tokenizer = fastbpe.load(name)
    data = path.read_bytes()
    assert (len(data), data.count(b"\n")) == (vocabulary.file.n_bytes, vocabulary.file.n_lines)
    assert (tokenizer.name, tokenizer.pattern) == (name, PATTERNS[vocabulary.pattern])
    special = tokenizer.special_tokens
    assert {text: i for text, i in special.items() if i >= vocabulary.n_leading} == vocabulary.special_tokens()
    assert sorted(special.values())[: vocabulary.n_leading] == [*range(vocabulary.n_leading)]
    for text, token_id in [*special.items()][:: max(1, len(special) // 50)]:
        assert tokenizer.encode(f"a{text}b", allowed_special={text})[1] == token_id
    check_published(tokenizer, vocabulary, str(path), special_tokens_too=True)
    if known_vocabularies.recognise(data) is vocabulary:
        assert fastbpe.load(path) == tokenizer
        assert fastbpe.load(data.replace(b"\n", b"\r\n")) == tokenizer


def test_leading_ranks_of_known_files_become_special_tokens() -> None:
    tekken = fastbpe.load(data_file("vocab", "mistral_tekken_v3.tiktoken"))
    assert (tekken.vocab_size, len(tekken.special_tokens), tekken.n_vocab) == (131072, 1000, 131072)
    assert [tekken.special_tokens[name] for name in ("<s>", "</s>", "[INST]", "<SPECIAL_999>")] == [1, 2, 3, 999]
    assert tekken.encode("<s>a", allowed_special="all")[0] == 1
    assert 1 not in tekken.encode_ordinary("<s>a")
    deepseek = fastbpe.load(data_file("vocab", "deepseek_v3.tiktoken"))
    assert [*deepseek.special_tokens.values()] == [0, 1, 2]
    assert deepseek.decode([0]) == "<\uff5cbegin\u2581of\u2581sentence\uff5c>"


def test_leading_ranks_stay_ordinary_if_special_tokens_are_given() -> None:
    tokenizer = fastbpe.load(data_file("vocab", "deepseek_v3.tiktoken"), special_tokens={"<x>": 128000})
    assert tokenizer.special_tokens == {"<x>": 128000}
    assert tokenizer.token_to_id("<\uff5cbegin\u2581of\u2581sentence\uff5c>") == 0


def test_llama_vocabularies_have_their_special_tokens() -> None:
    special = VOCABULARIES["llama3"].special_tokens()
    assert [*special.values()] == [*range(128000, 128256)]
    assert special["<|begin_of_text|>"] == 128000
    assert special["<|eot_id|>"] == 128009
    assert special["<|reserved_special_token_245|>"] == 128255
    llama4 = VOCABULARIES["llama4"].special_tokens()
    assert [*llama4.values()] == [*range(200000, 202048)]
    assert (llama4["<|image_start|>"], llama4["<|reasoning_thinking_end|>"]) == (200080, 201143)


def test_gpt2_is_found_in_the_tiktoken_cache(here: Path) -> None:
    (here / "tiktoken").mkdir()
    files = (
        (known_vocabularies.GPT2_MERGES, "gpt2_vocab.bpe"),
        (known_vocabularies.GPT2_IDS, "gpt2_encoder.json"),
    )
    for file, name in files:
        with pytest.raises(VocabularyNotFoundError):
            fastbpe.load("gpt2")
        data = data_file("vocab", name).read_bytes()
        assert (len(data), data.count(b"\n")) == (file.n_bytes, file.n_lines)
        write_file(here / "tiktoken", hashlib.sha1(str(file.url).encode()).hexdigest(), data)
    gpt2 = fastbpe.load("gpt-2")
    assert (gpt2.name, gpt2.special_tokens) == ("gpt2", {"<|endoftext|>": 50256})
    assert gpt2 == fastbpe.load(data_file("vocab", "r50k_base.tiktoken"))


@pytest.mark.parametrize("name", ["/no/such/folder", "./a/b", "a/b/c", "nothing"])
def test_path_that_is_no_repository_is_not_to_be_fetched(name: str) -> None:
    with pytest.raises(FileNotFoundError, match="no such folder; pass a folder, or ORG/NAME"):
        find.find_local(name)
    with pytest.raises(FileNotFoundError, match="fastbpe fetch no-such/repository"):
        find.find_local("no-such/repository")


def test_tiktoken_face_finds_gpt2_where_load_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tiktoken downloads two other files for GPT-2; their tokens are those of r50k_base."""
    (tmp_path / "r50k_base.tiktoken").symlink_to(data_file("vocab", "r50k_base.tiktoken"))
    monkeypatch.setenv("FASTBPE_VOCAB_DIR", str(tmp_path))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("FASTBPE_OFFLINE", "1")
    monkeypatch.setattr(fastbpe.tiktoken.registry, "ENCODINGS", {})
    encoding = fastbpe.tiktoken.get_encoding("gpt2")
    assert (encoding.name, encoding.n_vocab) == ("gpt2", 50257)
    assert encoding.encode("low lower") == fastbpe.load("gpt2").encode("low lower")
    arguments = fastbpe.tiktoken.registry._find_constructors()["gpt2"]()
    assert arguments["mergeable_ranks"] == encoding._mergeable_ranks
