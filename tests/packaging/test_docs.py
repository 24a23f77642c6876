"""The Python and shell blocks of the pages in docs/ run as printed, in order, each page in one namespace.

Blocks run in a folder of their own, which earlier blocks of the page fill. After ```python, `needs torch` names
packages and commands. Such a block runs in a test of its own, with the blocks of its page that need no more; the
test is skipped where one of them is missing. Shell blocks with `needs`, or with a published vocabulary, do not
run; the arguments of `fastbpe` in them are checked.
"""

import re
from pathlib import Path

import pytest

import fastbpe
from helpers.doc_blocks import DOCS, ENGINES, blocks_of, missing, run_blocks, token_rows
from helpers.shared_data import DATA

VOCABULARIES = DATA / "vocab"
PAGES = {path.relative_to(DOCS).with_suffix("").as_posix(): path for path in sorted(DOCS.rglob("*.md"))}
NEEDS = sorted(
    {
        (name, block.needs)
        for name, page in PAGES.items()
        for block in blocks_of(page)
        if block.language == "python" and block.needs
    }
)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if VOCABULARIES.is_dir():  # pages that look for a published vocabulary find it there
        monkeypatch.setenv("FASTBPE_VOCAB_DIR", str(VOCABULARIES))


@pytest.mark.daily
@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if blocks_of(page)])
def test_blocks_of_a_page_run_as_printed(name: str) -> None:
    run_blocks(PAGES[name])


@pytest.mark.daily
@pytest.mark.parametrize(("name", "needs"), NEEDS)
def test_blocks_that_need_a_package_run_as_printed(name: str, needs: str) -> None:
    if ENGINES & {*needs.split()}:
        pytest.skip(f"tests/cluster/test_documentation.py runs what needs {needs}")
    if gone := missing(needs):
        pytest.skip(f"{gone} is not installed")
    run_blocks(PAGES[name], needs)


@pytest.mark.daily
@pytest.mark.parametrize(
    ("model", "tokens"), [(model, tokens) for page in PAGES.values() for model, tokens in token_rows(page)]
)
def test_tokens_of_a_picture_are_those_of_the_vocabulary(model: str, tokens: list[bytes]) -> None:
    if missing(model):
        pytest.skip(f"the vocabulary {model} is not on this machine")
    tokenizer = fastbpe.load(model)
    ids = tokenizer.encode_ordinary(b"".join(tokens).decode(errors="ignore"))
    assert tokenizer.decode_tokens_bytes(ids) == tokens


@pytest.mark.parametrize(
    ("model", "size"),
    re.findall(r"\| `(\w+)` \| ([\d,]+) \|", PAGES["which-vocabulary"].read_text(encoding="utf-8")),
)
def test_size_in_the_table_of_vocabularies_is_that_of_the_vocabulary(model: str, size: str) -> None:
    if missing(model):
        pytest.skip(f"the vocabulary {model} is not on this machine")
    assert fastbpe.load(model).n_vocab == int(size.replace(",", ""))
