"""Blocks of pages and examples of docstrings that need Spark or Ray run as printed."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from cluster.conftest import Cluster
from helpers.doc_blocks import DOCS, blocks_of, run_blocks

pytestmark = [pytest.mark.sample(1), pytest.mark.filterwarnings("ignore")]  # of the engines

PACKAGES = {"spark": "pyspark", "ray": "ray"}
PAGES = {
    page.relative_to(DOCS).with_suffix("").as_posix(): {block.needs for block in blocks_of(page) if block.needs}
    for page in sorted(DOCS.rglob("*.md"))
}


@pytest.mark.parametrize(
    "name", [name for name in PAGES if {*" ".join(PAGES[name]).split()} & {*PACKAGES.values()}]
)
def test_blocks_that_need_the_engine_run_as_printed(
    cluster: Cluster, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    needs = " ".join(some for some in PAGES[name] if PACKAGES[cluster.name] in some.split())
    assert needs
    run_blocks(DOCS / f"{name}.md", needs)


def test_examples_of_the_module_do_what_they_show(cluster: Cluster) -> None:
    results = doctest.testmod(cluster.module)
    assert not results.failed
    assert results.attempted > len(cluster.module.__all__)
